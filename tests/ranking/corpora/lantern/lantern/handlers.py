"""Handlers: the functions that do the work of a job, by name."""

from lantern.errors import UnknownHandler

_REGISTERED = {}


class HandlerBase:
    """What handlers that are classes share."""

    name = ""

    def __call__(self, **arguments):
        raise NotImplementedError

    def describe(self):
        """Return the first line of the doc string."""
        return (self.__doc__ or "").strip().split("\n")[0]


class Handler(HandlerBase):
    """A handler around a plain function."""

    def __init__(self, name, function):
        self.name = name
        self.function = function

    def __call__(self, **arguments):
        return self.function(**arguments)


def register(name):
    """Register a function under a name, as a decorator."""

    def keep(function):
        _REGISTERED[name] = Handler(name, function)
        return function

    return keep


def find_handler(name):
    """Return the handler of a name. Raises UnknownHandler."""
    if name not in _REGISTERED:
        raise UnknownHandler(name)
    return _REGISTERED[name]
