"""Everything your agent should know, packed to fit.

from satchel import Satchel

with Satchel.open(".") as satchel:
    context = satchel.assemble("why is the session closed twice?", max_tokens=4000)
    print(context.markdown)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satchel.engine import Satchel
    from satchel.types import Context, ContextItem, Hit

__version__ = "0.1.0"

__all__ = ["Context", "ContextItem", "Hit", "Satchel", "__version__"]

_HOMES = {"Satchel": "engine", "Context": "types", "ContextItem": "types", "Hit": "types"}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: `import satchel` itself stays cheap."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"satchel.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'satchel' has no attribute {name!r}")
