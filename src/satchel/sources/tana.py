"""Read a Tana export as notes."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from html.parser import HTMLParser
from itertools import chain
from typing import Any

import msgspec

from satchel.errors import UsageError
from satchel.sources.notes import Link, Note
from satchel.text import word_lists
from satchel.types import Data, EdgeType

NameOf = Callable[[str], str | None]
"""The name of a node as written, None for one that does not exist."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str | tuple[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the target of a tag; its style is dropped."""
        for name, value in attrs:
            if name == "data-inlineref-node" and value:
                self.parts.append((value,))
            elif name == "data-inlineref-date" and value:
                self.parts.append(_date(value))
        if tag == "br":
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        """Add the text."""
        self.parts.append(data)


def _date(value: str) -> str:
    """`{"dateTimeString": "2025-12-05", ...}` as `2025-12-05`; a text that is no such object stays as it is."""
    try:
        data = json.loads(value)
    except ValueError:
        return value
    return str(data.get("dateTimeString", "")) if isinstance(data, dict) else str(data)


@lru_cache(4_000)  # size of the cache of parsed names: each is used three times or more, mostly soon
def _parts(name: str) -> Sequence[str | tuple[str]]:
    reader = _Reader()
    reader.feed(name)
    reader.close()
    return reader.parts


def inline_references(name: str | None) -> list[str]:
    """Return ids of the nodes that a name refers to, in order."""
    if not name or "data-inlineref-node" not in name:
        return []
    return [part[0] for part in _parts(name) if isinstance(part, tuple)]


# Maximum depth of names inside names; deeper ones are circular or unreadable.
def plain_text(name: str | None, name_of: NameOf, depth: int = 3) -> str:
    """Return a name as plain text; references by the name of what they refer to, by its id where there is none."""
    if not name:
        return ""
    if "<" not in name:
        return (html.unescape(name) if "&" in name else name).strip()
    pieces = []
    for part in _parts(name):
        if isinstance(part, str):
            pieces.append(part)
            continue
        (identity,) = part
        inner = name_of(identity)
        pieces.append(plain_text(inner, name_of, depth - 1) if inner and depth else identity)
    return "".join(pieces).strip()


UNTITLED = "(untitled)"

_NAMES = word_lists("tana.txt")
MACHINERY = frozenset(_NAMES["machinery"])
"""Types of nodes for display or configuration, with all nodes below them."""

TAG, TAG_DEFINITION, FIELD_DEFINITION, TYPE_CHOICE = "SYS_A13", "SYS_T01", "SYS_T02", "SYS_A02"

SYSTEM_FIELDS, FIELD_TYPES = (
    {identity: name.replace("_", " ") for identity, _, name in (word.partition(":") for word in _NAMES[heading])}
    for heading in ("fields", "types")
)


@dataclass(slots=True)
class Node:
    """The used properties of one node of the export. Times are in seconds; `done` is a time, True, or None."""

    id: str
    name: str | None
    description: str | None
    type: str
    owner: str
    meta: str
    source: str
    children: tuple[str, ...]
    created: float
    updated: float
    done: float | bool | None


class _Export(msgspec.Struct):
    """The two shapes of an export: the list of nodes at the top, or below `storeData`."""

    docs: list[msgspec.Raw] | None = None
    storeData: _Export | None = None  # noqa: N815 - the name in the file


def items_of(raw: bytes) -> Iterator[Any]:
    """Yield the items of the list `docs`, decoded one at a time for large exports. Raises UsageError without one."""
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        export = msgspec.json.decode(raw, type=_Export)
    except msgspec.ValidationError:
        export = _Export()
    except (msgspec.DecodeError, RecursionError):
        export = _lenient(raw)
    lists = [part.docs for part in (export, export.storeData) if part is not None and part.docs is not None]
    if not lists:
        raise UsageError("there is no list 'docs' in it: satchel does not know this kind of export")
    for item in chain.from_iterable(lists):
        yield json.loads(bytes(item).decode("utf-8", "replace")) if isinstance(item, msgspec.Raw) else item


def _lenient(raw: bytes) -> _Export:
    """Decode what is not strict JSON, such as half of a surrogate pair, with all of it in memory."""
    try:
        whole = json.loads(raw.decode("utf-8", "replace"))
        outer = whole if isinstance(whole, dict) else {}
        return _Export(_list(outer, "docs"), _Export(_list(outer.get("storeData"), "docs")))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"this is not JSON: {error}") from error


def _list(value: Any, name: str) -> list[Any] | None:
    items = value.get(name) if isinstance(value, dict) else None
    return items if isinstance(items, list) else None


def read_nodes(raw: bytes) -> dict[str, Node]:
    """Return the nodes of an export by id, in order, without damaged parts. Raises UsageError for another file."""
    ids: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for data in items_of(raw):
        if isinstance(data, dict) and isinstance(data.get("id"), str) and data["id"]:
            node = _node(data, ids)
            nodes[node.id] = node
    return nodes


def _node(data: Data, ids: dict[str, str]) -> Node:
    """Return the node of a JSON object. `ids` shares equal ids: an export repeats each about three times."""
    props = data.get("props")
    props = props if isinstance(props, dict) else {}

    def identity(value: Any) -> str:
        return ids.setdefault(value, value) if isinstance(value, str) else ""

    children = data.get("children")
    created = _seconds(props.get("created"))
    done = props.get("_done")
    return Node(
        id=identity(data["id"]),
        name=_text(props.get("name")),
        description=_text(props.get("description")),
        type=identity(props.get("_docType")),
        owner=identity(props.get("_ownerId")),
        meta=identity(props.get("_metaNodeId")),
        source=identity(props.get("_sourceId")),
        children=tuple(identity(child) for child in children if isinstance(child, str)) if isinstance(children, list)
        else (),
        created=created,
        updated=max(_modified(data.get("modifiedTs")), created),
        done=done if isinstance(done, bool) else _seconds(done) or None,
    )  # fmt: skip


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _seconds(value: Any) -> float:
    """Milliseconds as seconds, 0 for what is not a time."""
    return value / 1000 if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e14 else 0.0


def _modified(value: Any) -> float:
    """Return the last change; the times are a list, or a list written as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return 0.0
    return max(map(_seconds, value), default=0.0) if isinstance(value, list) else 0.0


def _day(done: float | bool) -> str:
    """`2025-12-05` (UTC), or `yes` where the time is unknown."""
    return "yes" if isinstance(done, bool) else f"{datetime.fromtimestamp(done, UTC):%Y-%m-%d}"


class TanaWorkspace:
    """The nodes of one export and their classification; `notes` yields its notes."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._owners = {node.id: node.owner for node in nodes.values() if node.owner}
        for node in nodes.values():
            if node.type != "tuple":  # a value of a field may be any node: it does not belong there for that
                for child in node.children:
                    self._owners.setdefault(child, node.id)
        self._deleted: dict[str, bool] = {}
        self._hidden: dict[str, bool] = {}
        self._referred = self._referred_values()
        self._children: dict[str, list[str]] = {}
        self.keys = {node.id for node in nodes.values() if self._is_note(node)}
        """Ids of the nodes that are notes."""
        for key in filter(self.keys.__contains__, nodes):
            if parent := self.parent(key):
                self._children.setdefault(parent, []).append(key)

    def notes(self) -> Iterator[Note]:
        """Yield every note, in the order of the export."""
        for node in self._nodes.values():
            if node.id in self.keys:
                yield self._note(node)

    def text(self, identity: str) -> str:
        """Return the name of a node as plain text, empty where there is none."""
        node = self._nodes.get(identity)
        return plain_text(node.name, self._name) if node is not None else ""

    def _name(self, identity: str) -> str | None:
        node = self._nodes.get(identity)
        return node.name if node is not None else None

    def owner(self, identity: str) -> Node | None:
        """Return the node that a node belongs to."""
        return self._nodes.get(self._owners.get(identity, ""))

    def parent(self, identity: str) -> str:
        """Return the parent of a note: its owner, or the note with it as a field value; empty if there is none."""
        owner = self.owner(identity)
        if owner is not None and owner.type == "tuple":
            owner = self.owner(owner.id)
        return owner.id if owner is not None and owner.id in self.keys else ""

    def is_deleted(self, identity: str) -> bool:
        """Return whether a node is the trash or inside it, at any depth."""
        return self._holds(identity, self._deleted, lambda node, _: "TRASH" in node)

    def _is_machinery(self, identity: str) -> bool:
        """Return whether a node is not content, or below such a node; tuples do not count for their values."""
        return self._holds(
            identity, self._hidden, lambda _, node: node is not None and node.type in MACHINERY - {"tuple"}
        )

    def _holds(self, identity: str, memo: dict[str, bool], test: Any) -> bool:
        """Return whether the test is true for a node or one of its owners; circles end."""
        path: list[str] = []
        result, at = False, identity
        seen: set[str] = set()
        while at and at not in seen:
            if at in memo:
                result = memo[at]
                break
            path.append(at)
            seen.add(at)
            if test(at, self._nodes.get(at)):
                result = True
                break
            at = self._owners.get(at, "")
        memo.update(dict.fromkeys(path, result))
        return result

    def _referred_values(self) -> set[str]:
        """Return the children of tuples that they do not own, and the targets of references in names."""
        ids: set[str] = set()
        for node in self._nodes.values():
            if node.type == "tuple":
                ids.update(child for child in node.children[1:] if self._owners.get(child) != node.id)
            elif node.name and "data-inlineref-node" in node.name:
                ids.update(inline_references(node.name))
        return ids

    def _is_note(self, node: Node) -> bool:
        if node.id.startswith("SYS") or node.type in MACHINERY:
            return False
        if not (node.name or node.description or self._has_lines(node)):
            return False
        if self.is_deleted(node.id) or self._is_machinery(node.id):
            return False
        owner = self.owner(node.id)
        if owner is not None and owner.type == "tuple":
            return self._has_lines(node) or node.id in self._referred
        return True

    def _has_lines(self, node: Node) -> bool:
        """Return whether there is anything below a node that is not machinery."""
        children = (self._nodes.get(child) for child in node.children)
        return any(child is not None and child.type not in MACHINERY for child in children)

    def _note(self, node: Node) -> Note:
        own = self._tags(node)
        inherited = [tag for tag in self._inherited(own) if tag not in own]
        fields, field_links = self._fields(node)
        title = self.text(node.id)
        description = plain_text(node.description, self._name)
        return Note(
            key=node.id,
            title=title or UNTITLED,
            body="\n".join(part for part in (title, description) if part) or UNTITLED,
            tags=tuple(dict.fromkeys(filter(None, map(self.text, (*own, *inherited))))),
            inherited=tuple(dict.fromkeys(filter(None, map(self.text, inherited)))),
            fields=fields,
            links=tuple(dict.fromkeys((*self._tree(node), *self._references(node), *field_links))),
            type=node.type,
            created=node.created,
            updated=node.updated,
        )

    def _tuples(self, owner: str) -> Iterator[Node]:
        """Yield the tuples below a node, without too large ones."""
        node = self._nodes.get(owner)
        for child in node.children if node is not None else ():
            row = self._nodes.get(child)
            # Maximum children of a tuple that is a field: importers of daily briefings write flat lists as tuples.
            if row is not None and row.type == "tuple" and len(row.children) <= 50:
                yield row

    def _tags(self, node: Node) -> list[str]:
        """Return ids of the tags that were put on a node."""
        tags = []
        for row in self._tuples(node.meta):
            if TAG in row.children and not {TAG_DEFINITION, FIELD_DEFINITION} & set(row.children):
                tags += [child for child in row.children if not child.startswith("SYS")]
        return list(dict.fromkeys(tag for tag in tags if not self.is_deleted(tag)))

    def _extended(self, tag: str) -> list[str]:
        node = self._nodes.get(tag)
        tags = []
        for row in self._tuples(node.meta) if node is not None else ():
            if TAG in row.children and TAG_DEFINITION in row.children:
                tags += [child for child in row.children if not child.startswith("SYS") and child != tag]
        return tags

    def _inherited(self, tags: Sequence[str]) -> list[str]:
        """Return ids of all that these tags extend, nearest first; circles end."""
        inherited: dict[str, None] = {}
        pending = list(tags)
        for tag in pending:
            for above in self._extended(tag):
                if above not in inherited and not self.is_deleted(above):
                    inherited[above] = None
                    pending.append(above)
        return list(inherited)

    def _fields(self, node: Node) -> tuple[dict[str, list[Any]], list[Link]]:
        """Return the fields of a node, and the links of those values that are notes."""
        fields: dict[str, list[Any]] = {}
        links: list[Link] = []
        for row in self._tuples(node.id):
            name = self._label(row)
            if not name or self.is_deleted(row.id):
                continue
            for child in row.children[1:]:
                value, targets = self._value(child)
                if value not in ("", None):
                    fields.setdefault(name, []).append(value)
                links += [(EdgeType.FIELD, target) for target in targets]
        if node.done:
            fields.setdefault("Done", []).append(_day(node.done))
        if node.type == "attrDef" and (kind := self._field_type(node)):
            fields.setdefault("Field type", []).append(kind)
        return fields, links

    def _label(self, row: Node) -> str:
        """Return the name of the field that a tuple is, empty for what is not a field of the user."""
        label = row.children[0] if row.children else ""
        return SYSTEM_FIELDS.get(label, "") if label.startswith("SYS") else self.text(label)

    def _value(self, child: str) -> tuple[Any, list[str]]:
        """Return a value of a field, and the notes it is or refers to."""
        node = self._nodes.get(child)
        if node is None:
            return (FIELD_TYPES.get(child), []) if child.startswith("SYS") else ({"name": "", "id": child}, [child])
        if self.is_deleted(child) or node.type in MACHINERY:
            return None, []
        text = self.text(child)
        referred = self._linkable(inline_references(node.name))
        if child in self.keys:
            return {"name": text or UNTITLED, "id": child}, [child]
        if len(referred) == 1 and text == self.text(referred[0]):
            return {"name": text, "id": referred[0]}, referred
        return text, referred

    def _linkable(self, identities: Sequence[str]) -> list[str]:
        """Return the ids of notes, and of nodes that are missing in the export: they are still links."""
        return [identity for identity in identities if identity in self.keys or self._is_missing(identity)]

    def _is_missing(self, identity: str) -> bool:
        return identity not in self._nodes and not identity.startswith("SYS") and not self.is_deleted(identity)

    def _field_type(self, definition: Node) -> str:
        """Return what values a field takes: `date`, `options`."""
        for row in self._tuples(definition.id):
            if row.children[:1] == (TYPE_CHOICE,) or row.source == TYPE_CHOICE:
                for child in row.children:
                    if child in FIELD_TYPES:
                        return FIELD_TYPES[child]
        return ""

    def _tree(self, node: Node) -> Iterator[Link]:
        """Yield what a note is below, and the notes below it."""
        parent = self.parent(node.id)
        if parent:
            yield EdgeType.PARENT, parent
        for child in self._children.get(node.id, ()):
            yield EdgeType.CHILD, child

    def _references(self, node: Node) -> Iterator[Link]:
        """Yield what the text refers to, the notes shown below it that belong elsewhere, and the tags a tag extends."""
        for target in self._linkable([*inline_references(node.name), *inline_references(node.description)]):
            yield EdgeType.REFERENCE, target
        for child in node.children:
            if self._owners.get(child) != node.id or child not in self._nodes:
                for target in self._linkable([child]):
                    yield EdgeType.REFERENCE, target
        for above in self._extended(node.id):
            if above in self.keys:
                yield EdgeType.REFERENCE, above
