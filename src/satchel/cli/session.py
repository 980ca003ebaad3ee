"""Opening the engine for one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.cli import streams
from satchel.cli.options import Invocation

if TYPE_CHECKING:
    from satchel.engine import Satchel


@contextmanager
def opened(invocation: Invocation, path: str = ".", *, quiet: bool = False) -> Iterator[Satchel]:
    """The engine for the root around `path`, or for `--root`. Settings decide what no option says.

    What is wrong with the settings themselves is said once, unless `quiet`.
    """
    from satchel.engine import Satchel

    with Satchel.open(path, root=invocation.root) as satchel:
        invocation.color = invocation.color or satchel.settings.ui_color
        if not quiet:
            for failure in satchel.loaded.notes:
                streams.failure(failure, color=invocation.color)
        yield satchel
