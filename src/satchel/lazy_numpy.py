"""numpy, loaded at the first use of a name: a command that reads no postings does without its 60 ms.

Use it as `from satchel import lazy_numpy as np`. Aliases of types must then be strings.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import *  # noqa: F403 - the names are those of numpy


def loaded() -> ModuleType | None:
    """Return numpy if something else loaded it: for what can be done without it in more time."""
    return sys.modules.get("numpy")


def __getattr__(name: str) -> Any:
    import numpy

    value = globals()[name] = getattr(numpy, name)
    return value
