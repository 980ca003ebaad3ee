"""Small Tana exports, written node by node."""

from __future__ import annotations

import json
from typing import Any

from satchel.sources.notes import Note
from satchel.sources.tana import TanaWorkspace, read_nodes


def node(identity: str, name: str | None = None, owner: str = "", *children: str, **more: Any) -> dict[str, Any]:
    """A node; `type`, `meta` and `top` (keys beside the properties) may be given."""
    props: dict[str, Any] = {"_ownerId": owner} if owner else {}
    props |= {"name": name} if name is not None else {}
    props |= {
        f"_{key}": more.pop(source) for key, source in (("docType", "type"), ("metaNodeId", "meta")) if source in more
    }
    return {"id": identity, "props": {**props, **more.pop("props", {})}, "children": list(children), **more}


def field(identity: str, owner: str, label: str, *values: str) -> dict[str, Any]:
    """The tuple that is a field."""
    return node(identity, None, owner, label, *values, type="tuple")


def tagged(identity: str, *rows: tuple[str, ...]) -> list[dict[str, Any]]:
    """The metanode `identity-meta` of a node, with a tuple for each row."""
    names = [f"{identity}-row{number}" for number in range(len(rows))]
    metanode = node(f"{identity}-meta", None, identity, *names, type="metanode")
    return [metanode, *(field(name, f"{identity}-meta", *row) for name, row in zip(names, rows, strict=True))]


def export(*nodes: dict[str, Any], wrapped: bool = False) -> bytes:
    """The bytes of an export."""
    dump = {"formatVersion": 1, "editors": [["a@b", 1]], "docs": list(nodes), "workspaces": {"x": "{}"}}
    return json.dumps({"storeData": dump} if wrapped else dump).encode()


def notes_of(*nodes: dict[str, Any]) -> dict[str, Note]:
    """The notes of an export, by key."""
    return {note.key: note for note in TanaWorkspace(read_nodes(export(*nodes))).notes()}
