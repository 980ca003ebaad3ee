"""Search results from anywhere, packed into a context by the same pipeline that answers questions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from satchel import config
from satchel.assemble.candidates import Candidate
from satchel.assemble.given import GIVEN, Given, read_results
from satchel.assemble.items import entity_row
from satchel.assemble.options import AssemblyOptions
from satchel.assemble.pack import pack
from satchel.assemble.section import Section, subtract
from satchel.assemble.source_lines import FileLines, without_blank_ends
from satchel.assemble.supply import Supply, supply
from satchel.assemble.thresholds import FillPolicy
from satchel.errors import UsageError
from satchel.keys import load_key
from satchel.settings import Settings
from satchel.types import Context, ContextItem, Failure, Omission, View

MOST_NOTES = 10
"""Notes about single results that an answer carries: each is paid for, and a thousand would be all there is."""


class ResultAssembler:
    """Packs search results into contexts. Holds a cache of the files it read; safe to share between threads.

    `options` are those of every call that brings none. `allow` are regular expressions of texts that look like secrets
    and are none.
    """

    def __init__(
        self,
        *,
        options: AssemblyOptions | None = None,
        allow: Sequence[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.options = options or AssemblyOptions()
        self.allow = tuple(allow)
        folders = config.Folders.from_environment(os.environ if environ is None else environ)
        self.key = load_key(folders.state)
        self._files: dict[Path, FileLines] = {}
        self._guard = threading.Lock()

    async def assemble(self, results: Iterable[object], options: AssemblyOptions | None = None) -> Context:
        """A context of these results: `assemble_now` without blocking the event loop."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(self.assemble_now, list(results), options)

    def assemble_now(self, results: Iterable[object], options: AssemblyOptions | None = None) -> Context:
        """A context of these results, best score first, inside the budget.

        A result is a mapping or object with an `entity` (id, name, type, qualified_name, content, file_path,
        start_line, end_line, metadata), a `score` and a `source`; our own hits are results too. The same entity counts
        once. What is wrong with a result is a named failure of the answer. Raises UsageError for impossible options.
        """
        started = time.monotonic()
        chosen = options or self.options
        given = read_results(_checked(results), self.allow)
        supplied = supply(given.entities, chosen, self._files_of(Path(chosen.project_root).resolve()))
        problems = _bounded([*given.notes, *supplied.notes])
        context = self._packed(supplied, chosen, problems)
        meta = {
            "timings": {"assemble_ms": round((time.monotonic() - started) * 1000, 2)},
            "given": _counts(given, supplied),
        }
        return replace(context, meta={**context.meta, **meta})

    def format(self, context: Context, format: str | None = None, view: str | None = None) -> str:  # noqa: A002
        """The text of a context; in another format or view its items are written again, without counting them."""
        from satchel.assemble.render import RenderRequest, render
        from satchel.assemble.request import parse_format, parse_view

        wanted = context.format if format is None else parse_format(format)
        layout = View(context.meta.get("view", View.SECTIONS)) if view is None else parse_view(view)
        if (wanted, layout.value) == (context.format, context.meta.get("view", View.SECTIONS)):
            return context.text
        frame = RenderRequest(
            query=context.query, group_by_type=layout is View.ENTITIES, failures=context.failures, view=layout
        )
        return render(frame, context.items, format=wanted) if context.items else ""

    def clear_cache(self) -> None:
        """Forget every file that was read."""
        with self._guard:
            self._files.clear()

    def _files_of(self, root: Path) -> FileLines:
        with self._guard:
            known = self._files.get(root)
            if known is None:
                known = self._files[root] = FileLines(root, self.key, Settings().index_max_file_bytes, self.allow)
            return known

    def _packed(self, supplied: Supply, options: AssemblyOptions, problems: Sequence[Failure]) -> Context:
        """Fit and render. A whole file of which parts are given takes part only if none of its parts is shown."""
        request = options.request()
        kept: list[Candidate] = []
        while True:
            section = supplied.section(kept, imports=options.include_imports)
            given = [section] if section.candidates else []
            context = pack(request, given, self, problems, {"view": request.view}, policy=FillPolicy(is_strict=False))
            shown = {item.location.path for item in context.items if item.location is not None}
            waiting = [one for one in supplied.whole_files if one.group not in shown and one not in kept]
            if not waiting:
                break
            kept += waiting
        dropped = [one for one in supplied.whole_files if one not in kept]
        overflow = [*_without_covered(context.overflow, section), *(_parts_shown(one) for one in dropped)]
        return replace(context, items=_with_covered(context.items, section), overflow=tuple(overflow))


def _checked(results: Iterable[object]) -> Iterable[object]:
    if isinstance(results, str | bytes | Mapping):
        raise UsageError(f"results is one {type(results).__name__}: give a list of results")
    return results


def _bounded(notes: Sequence[Failure]) -> tuple[Failure, ...]:
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    return (*notes[:MOST_NOTES], Failure(GIVEN, f"{len(notes) - MOST_NOTES} more notes of this kind"))


def _counts(given: Given, supplied: Supply) -> dict[str, int]:
    return {"results": given.results, "entities": len(given.entities), "files_read": len(supplied.lines)}


def _is_covered(candidate: Candidate, section: Section) -> bool:
    """Whether all lines of a candidate that is not shown itself stand in what is shown of its file."""
    group = section.groups.get(candidate.group)
    location = candidate.document.location
    if group is None or location is None or candidate in section.shown:
        return False
    whole = without_blank_ends(section.lines[candidate.group].lines, location.start_line, location.end_line)
    return not subtract([whole], group.ranges)


def _with_covered(items: Sequence[ContextItem], section: Section) -> tuple[ContextItem, ...]:
    """The items with the entities that stand inside others: a method whose class is shown whole."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for candidate in section.candidates:
        if candidate.leader is None and _is_covered(candidate, section):
            rows.setdefault(candidate.group, []).append(entity_row(candidate))
    return tuple(_with_rows(item, rows.get(item.title, [])) for item in items)


def _with_rows(item: ContextItem, rows: Sequence[Mapping[str, Any]]) -> ContextItem:
    if not rows or item.location is None:
        return item
    known = {row["id"] for row in item.metadata["entities"]}
    more = [row for row in rows if row["id"] not in known]
    return replace(item, metadata={**item.metadata, "entities": [*item.metadata["entities"], *more]})


def _without_covered(overflow: Sequence[Omission], section: Section) -> list[Omission]:
    covered = {c.document.id for c in section.candidates if _is_covered(c, section)}
    return [omission for omission in overflow if omission.id not in covered]


def _parts_shown(candidate: Candidate) -> Omission:
    document = candidate.document
    return Omission(
        document.id, candidate.kind.value, document.title, candidate.hit.relevance, "parts", 0, candidate.group
    )
