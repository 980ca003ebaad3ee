"""Documents for store tests, made by the real extraction from real text."""

from __future__ import annotations

from satchel import text as text_module
from satchel.store.extract import extract
from satchel.store.records import NewDocument
from satchel.types import Definition, EdgeType, Import, Kind, Outline, Part, Reference, Role

SOURCE = """import os


def read_config(path):
    return parse(open(path).read())


def parse(text):
    return text.split()
"""


def file_document(path: str, text: str = SOURCE, *, content_hash: str = "h1") -> NewDocument:
    """A file of two functions behind an import, or other text as one gap."""
    count = text.count("\n") + 1
    parts: tuple[Part, ...] = (Part(Role.GAP, "", 1, count),)
    imports: tuple[Import, ...] = ()
    if text == SOURCE:
        parts = (
            Part(Role.GAP, "", 1, 3),
            Part(
                Role.FUNCTION, "read_config", 4, 7, "def read_config(path)", "",
                (Definition("read_config", "", 4),), (Reference(EdgeType.CALLS, "parse"),),
            ),
            Part(Role.FUNCTION, "parse", 8, count, "def parse(text)", "", (Definition("parse", "", 8),)),
        )  # fmt: skip
        imports = (Import("os", ("os",), 1, 1),)
    outline = Outline("python", parts, imports)
    return NewDocument(
        kind=Kind.CODE,
        key=path,
        text=text,
        extraction=extract(text, outline),
        path_terms=text_module.count_terms(text_module.words(path)),
        content_hash=content_hash,
        size=len(text),
        mtime_ns=1,
        changed_ns=2,
        title=path,
    )


def record_document(key: str, text: str, *, kind: Kind = Kind.COMMIT, files: tuple[str, ...] = ()) -> NewDocument:
    """A record of one part."""
    outline = Outline("", (Part(Role.RECORD, "", 1, text.count("\n") + 1),))
    return NewDocument(
        kind=kind,
        key=key,
        text=text,
        extraction=extract(text, outline),
        path_terms={},
        title=text.split("\n", 1)[0],
        tags=("one", "two"),
        fields={"author": "Ada"},
        references=tuple(Reference(EdgeType.TOUCHES, path) for path in files),
        created=1_700_000_000.0,
        importance=0.5,
        origin="test",
    )
