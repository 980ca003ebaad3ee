"""Small workspaces for tests of the graph context, through the real sources: an export, a vault, a repository."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.config import Folders
from satchel.system.locations import Registry, WorkspaceType
from satchel.testing import TinyRepository

DAY = 86_400.0
NOW = 1_800_000_000.0 // DAY * DAY


class Export:
    """A Tana export, node by node."""

    def __init__(self) -> None:
        self._docs: dict[str, dict[str, Any]] = {}
        self._tags: dict[str, str] = {}

    def node(
        self,
        key: str,
        name: str | None,
        *,
        owner: str = "",
        tags: Sequence[str] = (),
        fields: Mapping[str, Sequence[str]] | None = None,
        references: Sequence[str] = (),
        days_old: float | None = None,
        text: str = "",
    ) -> Export:
        """A node below `owner`; a value of a field that is the key of a node refers to it."""
        props: dict[str, Any] = {"name": name, "_ownerId": owner} if owner else {"name": name}
        if text:
            props["description"] = text
        row = self._put(key, props)
        row["children"] += references
        if days_old is not None:
            row["modifiedTs"] = [(NOW - days_old * DAY) * 1000]
            props["created"] = (NOW - days_old * DAY) * 1000
        if owner:
            self._docs[owner]["children"].append(key)
        if tags:
            self._tag(key, row, tags)
        for number, (label, values) in enumerate((fields or {}).items()):
            self._field(key, row, number, label, values)
        return self

    def _put(self, key: str, props: dict[str, Any]) -> dict[str, Any]:
        row = self._docs[key] = {"id": key, "props": props, "children": []}
        return row

    def _tag(self, key: str, row: dict[str, Any], tags: Sequence[str]) -> None:
        meta, pair = f"{key}-meta", f"{key}-tags"
        row["props"]["_metaNodeId"] = meta
        self._put(meta, {"_docType": "metanode", "_ownerId": key})["children"] = [pair]
        listed = self._put(pair, {"_docType": "tuple", "_ownerId": meta})["children"]
        listed.append("SYS_A13")
        for tag in tags:
            if tag not in self._tags:
                self._tags[tag] = f"tag-{tag}"
                self._put(f"tag-{tag}", {"name": tag, "_docType": "tagDef"})
            listed.append(self._tags[tag])

    def _field(self, key: str, row: dict[str, Any], number: int, label: str, values: Sequence[str]) -> None:
        pair, name = f"{key}-field{number}", f"label-{label}"
        if name not in self._docs:
            self._put(name, {"name": label, "_docType": "attrDef"})
        self._put(pair, {"_docType": "tuple", "_ownerId": key})["children"] = [name]
        row["children"].append(pair)
        for place, value in enumerate(values):
            names = value in self._docs
            target = value if names else f"{pair}-{place}"
            if not names:
                self._put(target, {"name": value, "_ownerId": pair})
            self._docs[pair]["children"].append(target)

    def open(self, folder: Path, name: str = "export.json", **options: Any) -> Satchel:
        """Write the export and open it, indexed."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(json.dumps({"formatVersion": 1, "docs": list(self._docs.values())}), encoding="utf-8")
        satchel = Satchel.open(root=path, **options)
        satchel.index()
        return satchel


def open_vault(folder: Path, files: Mapping[str, str], **options: Any) -> Satchel:
    """A vault with these files, known as a workspace of that type, opened and indexed."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    registry = Registry(Folders.from_environment())
    name = f"v{abs(hash(str(folder)))}"
    registry.add(name, folder, WorkspaceType.VAULT)
    satchel = Satchel.open(root=folder, **options)
    satchel.index()
    return satchel


SHOP = {
    "shop/errors.py": '"""Errors."""\n\n\nclass ShopError(Exception):\n    """Base of all."""\n',
    "shop/client.py": (
        "from shop.errors import ShopError\n\n\nclass LateError(ShopError):\n    pass\n\n\n"
        "class Client:\n    def send_order(self, order):\n        return backoff(order)\n\n\n"
        "def backoff(order):\n    raise LateError(order)\n"
    ),
    "shop/main.py": "from shop.client import Client\n\n\ndef run_shop(order):\n    return Client().send_order(order)\n",
    "tests/test_client.py": ("from shop.client import backoff\n\n\ndef test_backoff_waits():\n    assert backoff(1)\n"),
}


def open_shop(folder: Path, **options: Any) -> Satchel:
    """A repository with two commits, opened and indexed."""
    repository = TinyRepository(folder)
    repository.commit("Add the shop", SHOP)
    repository.commit("Say how long a late order waits", {"shop/client.py": SHOP["shop/client.py"] + "\n\nWAIT = 3\n"})
    satchel = Satchel.open(root=folder, **options)
    satchel.index()
    return satchel
