"""Everything your agent should know, packed to fit.

from satchel import Satchel

with Satchel.open(".") as satchel:
    context = satchel.assemble("why is the session closed twice?", max_tokens=4000)
    print(context.markdown)
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than a hook that a resident process answers
if TYPE_CHECKING:
    from typing import Any

    from satchel.answer.shapes import as_blocks, as_sources
    from satchel.engine import Satchel
    from satchel.errors import (
        ConfigError,
        ContextAssemblyError,
        EmbeddingError,
        GitError,
        InvalidContextTypeError,
        LockedError,
        MissingExtraError,
        NoIndexError,
        SatchelError,
        StoreError,
        UnsafePathError,
        UsageError,
    )
    from satchel.results.assembler import ContextAssembler
    from satchel.results.searcher import AssemblyOptions, Finding, Searcher
    from satchel.results.tools import create_context_aware_tools
    from satchel.types import Context, ContextItem, Hit

__version__ = "0.2.0"

__all__ = [
    "AssemblyOptions", "ConfigError", "Context", "ContextAssembler", "ContextAssemblyError", "ContextItem",
    "EmbeddingError", "Finding", "GitError", "Hit", "InvalidContextTypeError", "LockedError", "MissingExtraError",
    "NoIndexError", "Satchel", "SatchelError", "Searcher", "StoreError", "UnsafePathError", "UsageError",
    "__version__", "as_blocks", "as_sources", "create_context_aware_tools",
]  # fmt: skip

_HOMES = {
    "AssemblyOptions": "results.searcher",
    "Context": "types",
    "ContextAssembler": "results.assembler",
    "ContextItem": "types",
    "Finding": "results.searcher",
    "Hit": "types",
    "Satchel": "engine",
    "Searcher": "results.searcher",
    "as_blocks": "answer.shapes",
    "as_sources": "answer.shapes",
    "create_context_aware_tools": "results.tools",
    **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "errors"),
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: `import satchel` itself stays cheap."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"satchel.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'satchel' has no attribute {name!r}")
