"""Bringing the index up to date before a question, with a sign of life where that takes a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.progress import PATIENCE_SECONDS, watch

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.types import Failure


def refresh_first(satchel: Satchel, interrupt: Interrupt, color: str) -> list[Failure]:
    """Refresh the index and return what the answer has to note."""
    started = time.monotonic()
    with watch(color=color) as progress:
        notes = satchel.refresh(progress=progress, should_stop=interrupt.requested)
    seconds = time.monotonic() - started
    if seconds > PATIENCE_SECONDS:
        done = "stopped updating the index after" if interrupt.requested() else "brought the index up to date in"
        streams.say(f"{done} {seconds:.1f} s", color=color, dim=True)
    return notes
