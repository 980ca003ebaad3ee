"""What a name can mean: a definition, a module, or something outside of what is indexed."""

from __future__ import annotations

from enum import Enum

from satchel.search.resolve.code import Definition
from satchel.search.resolve.modules import Module


class Outside(Enum):
    """What is not in the index: the standard library, a dependency, a value that was passed in."""

    OUTSIDE = "outside"


OUTSIDE = Outside.OUTSIDE

Entity = Definition | Module | Outside
Entities = tuple[Entity, ...]
"""All that a name may mean; empty where nobody can tell by syntax."""
