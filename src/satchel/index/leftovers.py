"""What reading many files leaves in memory, and how it is given back before the first question."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import TYPE_CHECKING

from satchel import text
from satchel.embed.static import StaticTable
from satchel.store import extract

if TYPE_CHECKING:
    from satchel.embed import Embedder

MANY_FILES = 100
"""Files of a run, from which on it is worth it: those of a saved file are needed again at the next one."""


def give_back(embedder: Embedder | None) -> None:
    """Forget what words mean, which takes microseconds a word to find again, and return free pages to the system."""
    extract.forget()
    text.forget()
    if isinstance(embedder, StaticTable):
        embedder.forget()
    with suppress(OSError, AttributeError):  # only the allocator of glibc keeps pages until it is asked
        ctypes.CDLL(None).malloc_trim(0)
