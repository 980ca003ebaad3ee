"""Memories and conversations in the files of other programs, as lines of our export or as exchanges.

What is read of each is in docs/sources/memories.md. A record keeps its id as a hash, so that a second import of the
same file changes nothing; one without a date gets that of its first import. In another repository its id has an ending.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from satchel import vocabulary
from satchel.codec import iso_time
from satchel.errors import UsageError
from satchel.sources.conversations import Exchange
from satchel.types import Data, Json

FILE_BYTES = 512_000_000
"""Size limit of a file of another program."""

_CATEGORIES: Mapping[str, str] = {
    **{f"{name}{ending}": name for ending in ("s", "") for name in vocabulary.choices(vocabulary.MemoryCategory)},
    "bugfix": "error", "bug": "error", "discovery": "fact", "feature": "event", "change": "event", "refactor": "event",
    "human": "preference", "persona": "context", "episode": "event",
}  # fmt: skip
"""Category or type of another program -> ours."""

_CURSOR_HEAD = re.compile(r"# (?P<title>[^\n]*)\n_Exported on [^\n]* from Cursor[^\n]*_\n")
_CURSOR_TURN = re.compile(r"^---\n\n\*\*(User|Cursor)\*\*\n\n", re.MULTILINE)


class Foreign(NamedTuple):
    """What a file contains: memories as lines of an export, exchanges, and what was passed over, by reason."""

    memories: Sequence[Data] = ()
    exchanges: Sequence[Exchange] = ()
    passed_over: Mapping[str, int] = {}


class FileOptions(NamedTuple):
    """The options of a reader: the name of the folder (empty: all), and the column of each field."""

    project: str = ""
    columns: Mapping[str, str] = {}


def read_foreign(form: str, raw: bytes, options: FileOptions) -> Foreign:
    """Read a file of another program. Raises UsageError if it has another format."""
    if len(raw) > FILE_BYTES:
        raise UsageError(f"the file has {len(raw):,} bytes: at most {FILE_BYTES:,} are read")
    return _READERS[vocabulary.ImportFormat(form)](raw, options)


def _memory(form: str, content: object, identity: object = "", **fields: Any) -> Iterator[Data]:
    """Yield a memory as lines of an export, without a date if it has none, in parts if it is too long for one."""
    text = content.strip() if isinstance(content, str) else ""
    given = {name: value for name, value in fields.items() if value not in (None, "", [])}
    named = f"{identity}\n" if identity and "created_at" in given else f"{identity}\n{text}"
    digest = blake2b(named.encode(), digest_size=8).hexdigest()
    category = str(given.get("category", "")).strip().lower()
    tags = [*_listed(given.get("tags")), "" if category in _CATEGORIES else category]
    for number, part in enumerate(_parts(text)):
        yield {
            **given,
            "type": "memory",
            "id": f"mem_{form}_{digest}" + (f"-{number + 1}" if number else ""),
            "content": part,
            "category": _CATEGORIES.get(category, vocabulary.MemoryCategory.FACT.value),
            "tags": _tags(tags),
            "origin": form,
        }


def _tags(named: Iterable[str]) -> list[str]:
    """Return tags, each once, as many and as long as are kept."""
    stripped = (tag.strip()[: vocabulary.TAG_CHARACTERS] for tag in named)
    return list(dict.fromkeys(filter(None, stripped)))[: vocabulary.MAX_TAGS]


def _parts(text: str) -> list[str]:
    """Return a text in parts of the largest length of a memory, cut at paragraphs or lines; an empty one as it is."""
    parts = []
    while len(text) > vocabulary.MEMORY_CHARACTERS:
        cuts = (text.rfind(mark, 1, vocabulary.MEMORY_CHARACTERS) for mark in ("\n\n", "\n", " "))
        cut = next((place for place in cuts if place > 0), vocabulary.MEMORY_CHARACTERS)
        parts.append(text[:cut].strip())
        text = text[cut:].strip()
    return [*parts, text] if text or not parts else parts


def _listed(value: object) -> list[str]:
    """Return a list of texts, a JSON list in a text, or a text with commas or semicolons, as a list."""
    if isinstance(value, str) and value.startswith("["):
        value = _json(value.encode())
    if isinstance(value, str):
        return re.split(r"[,;]", value)
    return [str(part) for part in value] if isinstance(value, list | tuple) else []


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the file is not JSON: {error}") from None


def _mappings(data: object, *names: str) -> list[Data]:
    """Return the mappings of a list, or of the first of these names of a mapping that has a list."""
    if isinstance(data, Mapping):
        data = next((data[name] for name in names if isinstance(data.get(name), list)), [])
    return [mapping for mapping in data if isinstance(mapping, Mapping)] if isinstance(data, list) else []


def _first(entry: Data, *names: str) -> Any:
    return next((entry[name] for name in names if entry.get(name) not in (None, "")), None)


def _checked(memories: Iterable[Data], form: str, what: str) -> Foreign:
    rows = list(memories)
    if not rows:
        raise UsageError(f"there are no {what} in this file: is it {form}?")
    return Foreign(rows)


def _mem0(raw: bytes, _: FileOptions) -> Foreign:
    data = _json(raw)
    relations = data.get("relations") if isinstance(data, Mapping) else None
    passed_over = {"relations of its graph": len(relations)} if isinstance(relations, list) and relations else {}

    def memories() -> Iterator[Data]:
        for entry in _mappings(data, "results", "memories"):
            more = next(iter(_mappings([entry.get("metadata")])), {})
            listed = _listed(entry.get("categories"))
            known = next(iter(_CATEGORIES.keys() & {*listed[:1]}), None)
            yield from _memory(
                "mem0", _first(entry, "memory", "text", "data"), _first(entry, "id") or "",
                category=_first(more, "category") or known,
                tags=[*(tag for tag in listed if tag != known), *_listed(more.get("tags"))],
                importance=more.get("importance"), author=_first(entry, "agent_id", "user_id"),
                created_at=_first(entry, "created_at"), updated_at=_first(entry, "updated_at", "created_at"),
                valid_to=_first(entry, "expiration_date") or _first(more, "expiration_date"),
            )  # fmt: skip

    return _checked(memories(), "mem0", "memories")._replace(passed_over=passed_over)


def _graphiti(raw: bytes, _: FileOptions) -> Foreign:
    """Read the facts (edges) of a graph, with the time in which they were true, and the summaries of its entities."""
    data = _json(raw)
    episodes = len(_mappings(data, "episodes")) if isinstance(data, Mapping) else 0
    passed_over = {"episodes, whose facts are there": episodes} if episodes else {}
    return _checked((*_facts(data), *_summaries(data)), "graphiti", "facts")._replace(passed_over=passed_over)


def _facts(data: object) -> Iterator[Data]:
    for edge in _mappings(data, "edges", "facts"):
        ended, created = _first(edge, "invalid_at", "expired_at"), _first(edge, "created_at", "valid_at")
        yield from _memory(
            "graphiti", _first(edge, "fact", "content"), _first(edge, "uuid") or "", created_at=created,
            tags=[_first(edge, "name") or ""], valid_from=_first(edge, "valid_at"), valid_to=ended,
        )  # fmt: skip


def _summaries(data: object) -> Iterator[Data]:
    for node in _mappings(data, "nodes", "entities") if isinstance(data, Mapping) else ():
        if node.get("summary"):
            text = f"{node.get('name', '')}: {node['summary']}"
            identity, created = _first(node, "uuid") or "", _first(node, "created_at")
            yield from _memory("graphiti", text, identity, category="context", created_at=created)


def _letta(raw: bytes, _: FileOptions) -> Foreign:
    """Read the memory blocks and archival passages of an agent file, or of a list of either, as the API returns it."""
    data = _json(raw)
    if isinstance(data, list) or (isinstance(data, Mapping) and "results" in data):
        listed = _mappings(data, "results")
        data = {
            "blocks": [entry for entry in listed if "value" in entry],
            "passages": [entry for entry in listed if "value" not in entry],
        }
    agents = _mappings(data, "agents")
    blocks = [
        *_mappings(data, "blocks", "core_memory"),
        *(mapping for agent in agents for mapping in _mappings(agent, "core_memory")),
    ]
    passages = [mapping for name in ("passages", "archival_memory") for mapping in _named(data, agents, name)]

    def memories() -> Iterator[Data]:
        for block in blocks:
            label = str(block.get("label") or "")
            yield from _memory(
                "letta", block.get("value"), _first(block, "id") or label, category=label or None,
                created_at=_first(block, "created_at"), updated_at=_first(block, "updated_at"),
            )  # fmt: skip
        for entry in passages:
            yield from _memory(
                "letta", _first(entry, "text", "content"), _first(entry, "id") or "", tags=entry.get("tags"),
                created_at=_first(entry, "created_at", "timestamp"),
            )  # fmt: skip

    return _checked((memory for memory in memories() if memory["content"]), "letta", "memory blocks")


def _named(data: object, agents: Sequence[Data], name: str) -> Iterator[Data]:
    for agent in (data, *agents):
        if isinstance(agent, Mapping):
            yield from _mappings(agent.get(name))


def _claude_mem(raw: bytes, options: FileOptions) -> Foreign:
    """Read observations and summaries of sessions of the folder's project, or of all."""
    memories: list[Data] = []
    others = 0
    for table, entry in _rows(raw, ("observations", "session_summaries")):
        if options.project and entry.get("project") != options.project:
            others += 1
        else:
            memories += _observed(table, entry)
    return Foreign(memories, passed_over={"of another project": others} if others else {})


def _observed(table: str, entry: Data) -> Iterator[Data]:
    epoch = entry.get("created_at_epoch")
    # Milliseconds since 1970.
    created = iso_time(epoch / 1000) if isinstance(epoch, int | float) else entry.get("created_at")
    identity = f"{table} {entry.get('project')} {entry.get('id')}"
    if table == "session_summaries":
        said = {"Request": "request", "Learned": "learned", "Completed": "completed", "Next": "next_steps"}
        text = "\n".join(f"{label}: {entry[key]}" for label, key in said.items() if entry.get(key))
        return _memory("claude-mem", text, identity, category="event", created_at=created)
    facts = [f"- {fact}" for fact in _listed(entry.get("facts"))]
    text = "\n".join(filter(None, (entry.get("title"), entry.get("narrative") or entry.get("text"), *facts)))
    kind, tags = entry.get("type"), _listed(entry.get("concepts"))
    return _memory("claude-mem", text, identity, category=kind, tags=tags, created_at=created)


def _rows(raw: bytes, tables: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """Yield the rows of the tables that a database has. Raises UsageError for another file."""
    import apsw

    if not raw.startswith(b"SQLite format 3\0"):
        raise UsageError("the file is not a SQLite database: claude-mem keeps its own in ~/.claude-mem/claude-mem.db")
    connection = apsw.Connection(":memory:")
    try:
        # Bytes 18 and 19 say that there is a log beside the file, which a database in memory cannot have.
        connection.deserialize("main", raw[:18] + b"\1\1" + raw[20:])
        present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not present.intersection(tables):
            raise UsageError(f"the database has no table {' or '.join(tables)}: is it of claude-mem?")
        for table in (name for name in tables if name in present):
            cursor = connection.execute(f"SELECT * FROM {table} ORDER BY id")  # noqa: S608 - one of our names
            for row in cursor:
                yield table, dict(zip((column[0] for column in cursor.get_description()), row, strict=True))
    except apsw.Error as error:
        raise UsageError(f"the database cannot be read: {error}") from None
    finally:
        connection.close()


def _chatgpt(raw: bytes, _: FileOptions) -> Foreign:
    """Read the conversations of an export, each along its last branch."""
    exchanges: list[Exchange] = []
    for conversation in _mappings(_json(raw), "conversations"):
        session = str(_first(conversation, "conversation_id", "id", "title") or len(exchanges))
        exchanges += _paired("chatgpt", session, _turns(conversation))
    if not exchanges:
        raise UsageError("there are no conversations in this file: give conversations.json of the export")
    return Foreign(exchanges=exchanges)


def _turns(conversation: Data) -> list[tuple[str, float, str]]:
    """Return role, time and text of the messages from the first to the current one."""
    mapping = conversation.get("mapping")
    nodes = mapping if isinstance(mapping, Mapping) else {}
    turns, seen = [], set[str]()
    name = conversation.get("current_node") or next(reversed([*nodes]), None)
    while isinstance(name, str) and name in nodes and name not in seen:
        seen.add(name)
        node = nodes[name] if isinstance(nodes[name], Mapping) else {}
        turns.append(_message(node.get("message"), conversation))
        name = node.get("parent")
    return [turn for turn in reversed(turns) if turn[2]]


def _message(message: object, conversation: Data) -> tuple[str, float, str]:
    written = message if isinstance(message, Mapping) else {}
    author, content = written.get("author"), written.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    text = "\n".join(part for part in parts or () if isinstance(part, str)).strip()
    time = _first(written, "create_time") or _first(conversation, "create_time") or 0.0
    role = str(author.get("role")) if isinstance(author, Mapping) else ""
    return role, float(time) if isinstance(time, int | float) else 0.0, text


def _paired(form: str, session: str, turns: Iterable[tuple[str, float, str]]) -> Iterator[Exchange]:
    """Yield the exchanges of a conversation: a prompt with the replies to it."""
    name = f"{form}-{blake2b(session.encode(), digest_size=6).hexdigest()}"
    said, time, replies, number = "", 0.0, list[str](), 0
    for role, moment, text in (*turns, ("user", 0.0, "")):
        if role == "user":
            if said:
                yield Exchange(name, f"{number:08d}", time, said, tuple(replies))
                number += 1
            said, time, replies = text, moment, []
        elif role == "assistant":
            replies.append(text)


def _cursor(raw: bytes, _: FileOptions) -> Foreign:
    """Read chats that Cursor exported as Markdown. How it writes their date depends on the machine: it is left out."""
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    heads = [*_CURSOR_HEAD.finditer(text)]
    if not heads:
        raise UsageError("this is not a chat that Cursor exported: it begins with a title and `_Exported on ...`")
    exchanges: list[Exchange] = []
    for head, end in zip(heads, [*(other.start() for other in heads[1:]), len(text)], strict=True):
        pieces = _CURSOR_TURN.split(text[head.end() : end])[1:]
        roles = ("user" if role == "User" else "assistant" for role in pieces[::2])
        turns = [(role, 0.0, said.strip()) for role, said in zip(roles, pieces[1::2], strict=True)]
        first = turns[0][2] if turns else ""
        exchanges += _paired("cursor", f"{head['title']}\n{first}", turns)
    return Foreign(exchanges=exchanges)


def _csv(raw: bytes, options: FileOptions) -> Foreign:
    """Read a table whose first line has the names of its columns."""
    text = raw.decode("utf-8-sig", "replace")
    sample = text[:4_096]
    delimiter = max(",;\t", key=sample.split("\n", 1)[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    columns = _columns(_names(table), options.columns)
    memories: list[Data] = []
    for entry in _entries(table):
        given = {field: entry.get(name) for field, name in columns.items()}
        memories += _memory("csv", given.pop("content"), given.pop("id", None) or "", **_numbers(given))
    return _checked(memories, "csv", "lines")


def _names(table: csv.DictReader[str]) -> Sequence[str]:
    try:
        return table.fieldnames or ()
    except csv.Error as error:
        raise UsageError(f"the first line is not CSV ({error}): it has the names of the columns") from error


def _entries(table: csv.DictReader[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a table. Raises UsageError for one that the reader refuses, as it does a cell without end."""
    try:
        yield from table
    except csv.Error as error:
        raise UsageError(
            f"line {table.line_num} is not CSV ({error}): a cell has at most {csv.field_size_limit():,} characters, "
            "and each quotation mark that opens one needs another that closes it"
        ) from error


def _columns(present: Iterable[str], mapped: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each field that has one. Raises UsageError without one for the text or a mapped field."""
    names = {name.strip().lower(): name for name in present if name}
    wanted = {field: mapped.get(field, field).strip() for field in vocabulary.COLUMNS}
    columns = {field: names[name.lower()] for field, name in wanted.items() if name.lower() in names}
    missing = [f"{field}={wanted[field]}" for field in ("content", *mapped) if field not in columns]
    if missing:
        raise UsageError(
            f"no column for {', '.join(dict.fromkeys(missing))}: the file has {', '.join(names.values())}; "
            "map them with content=NAME"
        )
    return columns


def _numbers(given: Data) -> Json:
    """Return the fields of a line with a number as importance; another text is left as it is, and named later."""
    importance = str(given.get("importance") or "")
    is_number = re.fullmatch(r"\s*\d*[.,]?\d+\s*", importance) is not None
    return {**given, "importance": float(importance.replace(",", ".")) if is_number else importance}


_READERS: Mapping[vocabulary.ImportFormat, Callable[[bytes, FileOptions], Foreign]] = {
    vocabulary.ImportFormat(name): read
    for name, read in (
        ("mem0", _mem0), ("graphiti", _graphiti), ("letta", _letta), ("claude-mem", _claude_mem),
        ("chatgpt", _chatgpt), ("cursor", _cursor), ("csv", _csv),
    )
}  # fmt: skip
FOREIGN = frozenset(_READERS)


def write_foreign(form: str, memories: Iterable[Data]) -> str:
    """Return memories (lines of our export) as a file of another program: mem0 or CSV."""
    rows = list(memories)
    if form == vocabulary.ImportFormat.CSV:
        table = io.StringIO()
        writer = csv.DictWriter(table, vocabulary.COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "tags": ", ".join(row["tags"])} for row in rows)
        return table.getvalue()
    results = [
        {
            "id": row["id"], "memory": row["content"], "user_id": row.get("author") or None,
            "created_at": row["created_at"], "updated_at": row["updated_at"],
            **({"expiration_date": row["valid_to"][:10]} if row.get("valid_to") else {}),
            "categories": [row["category"], *row["tags"]],
            "metadata": {"category": row["category"], "importance": row["importance"], "tags": row["tags"]},
        }
        for row in rows
    ]  # fmt: skip
    return json.dumps({"results": results}, indent=2, ensure_ascii=False) + "\n"
