"""Opening the engine for one command."""

from __future__ import annotations

import gc
import sys
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
    with _engine().open(path, root=invocation.root) as satchel:
        invocation.color = invocation.color or satchel.settings.ui_color
        if not quiet:
            for failure in satchel.loaded.notes:
                streams.failure(failure, color=invocation.color)
        yield satchel


def _engine() -> type[Satchel]:
    """The engine, loaded without looking for garbage: all that an import makes stays, for as long as the process.

    Looking through it, then and later, would be a tenth of what a question takes.
    """
    is_first = "satchel.engine" not in sys.modules and gc.isenabled()
    if is_first:
        gc.disable()
    try:
        from satchel.engine import Satchel
    finally:
        if is_first:
            gc.freeze()
            gc.enable()
    return Satchel
