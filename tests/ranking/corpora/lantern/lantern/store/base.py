"""What every store can do."""

import abc


class Store(abc.ABC):
    """Keeps the text of jobs by their number."""

    @abc.abstractmethod
    def save(self, number, text):
        """Keep a text."""

    @abc.abstractmethod
    def load(self, number):
        """Return a text. Raises KeyError."""

    @abc.abstractmethod
    def remove(self, number):
        """Forget a text."""
