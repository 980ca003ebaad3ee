"""Rendering of items as text: pure functions, one module per format.

The text is the head, then for each section its opening, its items and its closing, then the tail.
The text parses back to the same items for any content (`tests/rendered.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, Protocol, cast

from msgspec.structs import replace

from satchel.answer import weights
from satchel.answer.render.frame import RenderRequest, Stop, counted
from satchel.answer.render.labels import ShownEntity, entities, quote, sections
from satchel.tokens import TokenCounter
from satchel.types import ContextItem, Format, View

__all__ = ["RenderRequest", "Stop", "body_parts", "call_site_lines", "render", "render_with_usage", "writer"]


class FormatWriter(Protocol):
    """The module of one format. `JOIN` separates the items of a section, and sections."""

    JOIN: str

    def head(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Return everything before the first section."""
        ...

    def section(self, title: str, *, grouped: bool) -> tuple[str, str]:
        """Return opening and closing of the section with this title. `grouped`: the sections are groups by type."""
        ...

    def item(self, request: RenderRequest, item: ContextItem) -> str:
        """Return one item with its frame."""
        ...

    def entity(self, request: RenderRequest, item: ContextItem, entity: ShownEntity) -> str:
        """Return one entity of an item with its frame, for a view other than sections."""
        ...

    def tail(self, request: RenderRequest, items: Sequence[ContextItem]) -> str:
        """Return everything after the last section."""
        ...


@cache
def writer(format: Format) -> FormatWriter:  # noqa: A002 - the name of the option
    """Return the module that writes a format, imported on first use: a process seldom needs two."""
    return cast(FormatWriter, import_module(f"{__name__}.{format.value}"))


def render(request: RenderRequest, items: Sequence[ContextItem], *, format: Format) -> str:  # noqa: A002
    """Return the context as text, without a line break at its end.

    Items keep their order inside a section; sections have a fixed order. Equal arguments give equal text.
    """
    return "".join(body_parts(request, items, format)) + writer(format).tail(request, items)


def body_parts(request: RenderRequest, items: Sequence[ContextItem], format: Format) -> Iterator[str]:  # noqa: A002
    """Yield the parts of the text before its tail: the head, then opening, items and closing of each section."""
    write = writer(format)
    grouped = request.form.group_by_type
    yield write.head(request, items)
    for number, section in enumerate(
        sections(items, group_by_type=grouped, view=request.form.view, first_kind=request.first_kind)
    ):
        opening, closing = write.section(section.title, grouped=grouped) if section.title else ("", "")
        yield write.JOIN + opening if number else opening
        for position, item in enumerate(section.items):
            if request.form.view is View.SECTIONS:
                text = write.item(request, item)
            else:
                text = write.JOIN.join(
                    write.entity(request, item, entity) for entity in entities(item, request.form.view)
                )
            yield write.JOIN + text if position else text
        yield closing


def render_with_usage(
    request: RenderRequest,
    items: Sequence[ContextItem],
    format: Format,  # noqa: A002
    count: Callable[[str], int],
) -> tuple[str, int]:
    """Return the context whose footer states how many tokens it has itself, by `count`, and that number.

    Where no number makes itself true, or the request has no limit, the footer states none.
    """
    body = "".join(body_parts(request, items, format))
    used = request.limit  # as many digits as the number may have
    # Most texts that are counted until the number in the footer is true: the first has as many digits as possible,
    # the second nearly always the true number.
    for _ in range(3 if used else 0):
        text = body + writer(format).tail(replace(request, used=used), items)
        counted = count(text)
        if counted == used:
            return text, used
        used = counted
    text = body + writer(format).tail(replace(request, used=0), items)
    return text, count(text)


LINES_SHOWN = 10
"""Lines named for each file; the others are counted, because a long list of calls in a test file does not help."""

FILES_SHOWN = 8
"""Files named for the lines that contain a call of the same name but could not be resolved."""

Listed = Mapping[str, Any]


def call_site_lines(listing: Sequence[Listed], counter: TokenCounter, max_tokens: int) -> tuple[str, ...]:
    """Return a line with the counts for each definition of a listing (`Impact.listing`), below it one for each file.

    Definitions of one name are told apart by their files, and the lines that could be calls of any of them are below
    the last one. Files without room are counted: `and 7 more in 3 files`.
    """
    room = max_tokens * weights.CALL_LINES_SHARE
    lines: list[str] = []
    every, listing = listing, _alike_once(_unresolved_once(listing))
    names = [target["name"] for target in every]
    for number, target in enumerate(listing):
        home = f" in {_homes(target)}" if names.count(target["name"]) > 1 else ""
        lines_of_target = _within(target, home, counter, room / (len(listing) - number))
        room -= sum(_size(line, counter) for line in lines_of_target)
        lines += lines_of_target
    return tuple(lines)


def elsewhere_line(target: Listed, counter: TokenCounter, max_tokens: int) -> str:
    """Return the line with the uses of a definition in other languages, as it is below its calls."""
    return _fitting(partial(_elsewhere, target), counter, max_tokens * weights.CALL_LINES_SHARE)


def _alike_once(listing: Sequence[Listed]) -> list[Listed]:
    """Return the definitions of a listing; those of Kotlin for several platforms, with calls in common, are one."""
    united: list[Listed] = []
    for target in listing:
        same = next((number for number, earlier in enumerate(united) if _is_alike(earlier, target)), None)
        if same is None:
            united.append(target)
        else:
            united[same] = _united(united[same], target)
    return united


def _is_alike(first: Listed, other: Listed) -> bool:
    """Return whether calls of one of these definitions of Kotlin are calls of the other one, too."""
    is_kotlin = all("told" not in target and target.get("path", "").endswith(".kt") for target in (first, other))
    return is_kotlin and first["name"] == other["name"] and not _lines_of(first).isdisjoint(_lines_of(other))


def _united(first: Listed, other: Listed) -> Listed:
    """Return two definitions with the calls of both, and their files as `homes`."""
    files = {file["path"]: file for file in first["files"]}
    for file in other["files"]:
        before = files.get(file["path"], file)
        fields = ("lines", "possible", "uses")
        files[file["path"]] = {**file, **{field: sorted({*before[field], *file[field]}) for field in fields}}
    listed = sorted(files.values(), key=lambda file: file["test"])
    return {
        **first,
        "files": listed,
        "calls": sum(len(file["lines"]) for file in listed),
        "possible": sum(len(file["possible"]) for file in listed),
        "unresolved": first.get("unresolved") or other.get("unresolved", ()),
        "homes": [*first.get("homes", [first["path"]]), other["path"]],
    }


def _lines_of(target: Listed) -> set[tuple[str, int]]:
    return {(file["path"], line) for file in target["files"] for line in file["lines"]}


def _homes(target: Listed) -> str:
    """`src/a.kt, src/b.kt`: the files of a definition that is written for several platforms."""
    return ", ".join(map(quote, target.get("homes", [target["path"]])))


def _unresolved_once(listing: Sequence[Listed]) -> list[Listed]:
    """Return the definitions of a listing; the last of one name has the lines that none of them resolves."""
    alike: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for number, target in enumerate(listing):
        if target.get("told") != "Callees":  # whose lines are its own
            name = target["name"].rpartition(".")[2]
            alike[name, target.get("told", ""), bool(target.get("named"))].append(number)
    targets = [*listing]
    for numbers in filter(lambda numbers: len(numbers) > 1, alike.values()):
        resolved, waiting = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
        for target in (listing[number] for number in numbers):
            for file in target["files"]:
                resolved[file["path"]] |= {*file["lines"], *file["uses"], *file.get("possible", ())}
            for file in target.get("unresolved", ()):
                waiting[file["path"]] |= {*file["lines"]}
        left = {path: sorted(lines - resolved[path]) for path, lines in waiting.items()}
        for number in numbers:
            targets[number] = {**listing[number], "unresolved": []}
        unresolved = [{"path": path, "lines": lines} for path, lines in left.items() if lines]
        targets[numbers[-1]] = {**listing[numbers[-1]], "unresolved": unresolved}
    return targets


def _within(target: Listed, home: str, counter: TokenCounter, room: float) -> list[str]:
    """Return the lines of one definition that fit; none if the counts do not fit."""
    files: Sequence[Listed] = target["files"]
    lines = [_counts(target, quote(target["name"]) + home)]
    room -= _size(lines[0], counter)
    if room < 0:
        return []
    if target.get("unresolved"):  # without them the counts would look complete
        lines.append(_fitting(partial(_unresolved, target), counter, room / 2))
        room -= _size(lines[-1], counter)
        if room < 0:
            return []
    if target.get("elsewhere"):
        lines.append(_fitting(partial(_elsewhere, target), counter, room / 2))
        room -= _size(lines[-1], counter)
        if room < 0:
            return lines[:-1]
    for shown, file in enumerate(files):
        line = _file_line(file)
        rest = _more(files[shown:], of_all=not shown)
        remaining = room - _size(line, counter)
        if remaining < (_size(rest, counter) if shown + 1 < len(files) else 0):
            return [*lines, rest] if _size(rest, counter) <= room else lines
        lines.append(line)
        room = remaining
    return lines


def _fitting(form: Callable[[int], str], counter: TokenCounter, room: float) -> str:
    forms = [form(limit) for limit in (FILES_SHOWN, 3, 1, 0)]
    return next((form for form in forms if _size(form, counter) <= room), forms[-1])


def _size(line: str, counter: TokenCounter) -> int:
    return counter.count(line) + 4  # tokens of each line besides its text: more in XML, fewer in Markdown


def _counts(target: Listed, name: str) -> str:
    """`Call sites of Blueprint.register: 12 in 5 files, 2 possible and 3 other uses`."""
    calls, possible, files = int(target["calls"]), int(target.get("possible", 0)), target["files"]
    uses = sum(len(file["uses"]) for file in files)
    calling = sum(bool(file["lines"]) for file in files)
    if "told" in target:  # what it calls, or extends, implements and overrides it
        least = "at least " if target["at_least"] else ""
        found = f"{least}{target['definitions']} in {counted(len(files), 'file')}" if files else "none resolved"
        return f"{target['told']} of {name}: {found}"
    unread = int(target["unread_files"])
    end = f"; {counted(unread, 'file')} not read" if unread else ""
    if target.get("by_text"):
        what, found = "Uses" if target.get("named") else "Calls", "" if target["unresolved"] else " none"
        return f"{what} of {name}, in {target['by_text']} found by text only{end}:{found}"
    if not files and target.get("unresolved"):
        return f"{'Uses' if target.get('named') else 'Calls'} of {name} that could not be resolved{end}:"
    if calls:
        counts = f"Call sites of {name}: {calls} in {counted(calling, 'file')}"
        counts += f", {possible} possible" if possible else ""
        counts += f" and {counted(uses, 'other use')}" if uses else ""
    elif possible:
        counts = f"Call sites of {name}: {possible} possible in {counted(len(files), 'file')}"
        counts += f" and {counted(uses, 'other use')}" if uses else ""
    elif uses:
        counts = f"Uses of {name}: {uses} in {counted(len(files), 'file')}"
    else:
        counts = f"Call sites of {name}: none resolved"
    return counts + end


def _elsewhere(target: Listed, limit: int) -> str:
    """`3 lines in other languages contain send, not resolved: web/a.vue: 3, 9; b.sql: 4`, with so many files."""
    files = target["elsewhere"]
    count, places = sum(len(file["lines"]) for file in files), _places(files, limit)
    name = quote(target["name"].rpartition(".")[2])
    contain = "lines in other languages contain" if count > 1 else "line in another language contains"
    return f"- {count} {contain} {name}, not resolved: {places}"


def _places(files: Sequence[Listed], limit: int) -> str:
    shown = [f"{quote(file['path'])}: {_numbers(file['lines'])}" for file in files[:limit]]
    rest = [f"{'and ' if shown else ''}{counted(len(files) - limit, 'file')}{' more' if shown else ''}"]
    return "; ".join(shown + (rest if len(files) > limit else []))


def _unresolved(target: Listed, limit: int) -> str:
    """`16 more lines contain send(, not resolved: src/a.py: 3, 9; src/b.py: 4`, with so many files."""
    files = target["unresolved"]
    count, places = sum(len(file["lines"]) for file in files), _places(files, limit)
    form = target.get("form") or target["name"].rpartition(".")[2]
    name = quote(form + ("" if "told" in target or target.get("named") else "("))
    if target.get("by_text"):
        return f"- {count} {'lines contain' if count > 1 else 'line contains'} {name}: {places}"
    if target.get("told") == "Callees":
        return f"- calls in {count} more line{'s' if count > 1 else ''} could not be resolved: {places}"
    return f"- {count} more {'lines contain' if count > 1 else 'line contains'} {name}, not resolved: {places}"


def _file_line(file: Listed) -> str:
    """`- src/a.py: 10, 44; possible 50; named 3`. The dash keeps a path from looking like a mark of the layout."""
    if file.get("definitions"):
        return f"- {quote(file['path'])}: {', '.join(f'{line} {quote(name)}' for line, name in file['definitions'])}"
    calls, uses = _numbers(file["lines"]), _numbers(file["uses"])
    possible = _numbers(file.get("possible", ()))
    shown = (calls, possible and f"possible {possible}", uses and f"named {uses}")
    return f"- {quote(file['path'])}: {'; '.join(filter(None, shown))}"


def _numbers(lines: Sequence[int]) -> str:
    more = len(lines) - LINES_SHOWN
    return ", ".join(map(str, lines[:LINES_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _more(files: Sequence[Listed], *, of_all: bool) -> str:
    if of_all:  # the line above has their number, and `more` would add to it
        return "no room for their lines"
    count = sum(len(file["lines"]) + len(file.get("possible", ())) + len(file["uses"]) for file in files)
    return f"and {count} more in {counted(len(files), 'file')}"
