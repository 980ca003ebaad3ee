"""Candidates from the entities of somebody else's results: real lines of real files, else the content of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from satchel.assemble.candidates import (
    CHARACTERS_PER_TOKEN,
    SHRINK_SHARES,
    Candidate,
    Step,
    lines_size,
    shortened_steps,
    signature_range,
)
from satchel.assemble.given import GIVEN, Entity
from satchel.assemble.imports import binding
from satchel.assemble.options import AssemblyOptions
from satchel.assemble.places import WHOLE_FILES, Standing, relative_path, stand
from satchel.assemble.render.layout import group_of
from satchel.assemble.section import Group, Section
from satchel.assemble.source_lines import FileLines, Lines, Unreadable, without_blank_ends
from satchel.assemble.truncation import SIGNATURE_FIRST, Strategy, excerpt, strategy
from satchel.sources.code.languages import kind_of, language_of
from satchel.types import Detail, Document, Failure, Freshness, Hit, Kind, Location, Outline, Role, Signal, Span

RANK_STEP = 10.0
"""Of the log value between two ranks: more than any difference in size makes, so that the order given is kept."""

SHORTENED_SHARE = 0.5
"""Of the budget that one shortened entity may take: there should be room for a second."""

_GROUP_KINDS = {"code": Kind.CODE, "documentation": Kind.DOC, "conversation": Kind.CONVERSATION, "other": Kind.NOTE}
_ROLES = {"function": Role.FUNCTION, "method": Role.METHOD, "class": Role.CLASS, "section": Role.SECTION}


@dataclass(slots=True)
class Supply:
    """The candidates of given entities, the lines they are in, and what could not be read.

    `whole_files` are the candidates that are files of which other entities are given too.
    """

    candidates: list[Candidate] = field(default_factory=list)
    whole_files: list[Candidate] = field(default_factory=list)
    lines: dict[str, Lines] = field(default_factory=dict)
    outlines: dict[str, Outline] = field(default_factory=dict)
    notes: list[Failure] = field(default_factory=list)

    def section(self, kept: Sequence[Candidate], *, imports: bool) -> Section:
        """One section with the candidates and these whole files: one order over all types, as it was given."""
        every = sorted([*self.candidates, *kept], key=lambda candidate: -candidate.value)
        return Section(Kind.CODE, 1.0, every, self.lines, max(len(every), 1), follow=self._imports if imports else None)

    def _imports(self, candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
        outline = self.outlines.get(candidate.group)
        if group.lines is None or outline is None or candidate.leader is not None:
            return []
        ranges = binding(group.lines.lines, outline, step.ranges)
        return [_import(candidate, group.lines, start, end) for start, end in ranges]


def supply(entities: Sequence[Entity], options: AssemblyOptions, files: FileLines) -> Supply:
    """Candidates for entities that are in order, best first."""
    made = Supply()
    root = Path(options.project_root)
    shared = _shared_paths(entities, root)
    for rank, entity in enumerate(entities):
        candidate = _candidate(entity, rank, root, options, files, made)
        if candidate is None:
            continue
        is_whole = entity.type in WHOLE_FILES and candidate.group in shared
        (made.whole_files if is_whole else made.candidates).append(candidate)
    return made


def _shared_paths(entities: Sequence[Entity], root: Path) -> set[str]:
    """Paths of which something else than the whole file is given."""
    return {relative_path(entity.path, root) for entity in entities if entity.path and entity.type not in WHOLE_FILES}


def _candidate(
    entity: Entity, rank: int, root: Path, options: AssemblyOptions, files: FileLines, made: Supply
) -> Candidate | None:
    reason = ""
    if entity.path:
        path = relative_path(entity.path, root)
        lines = made.lines.get(path) or files.read(path)
        if isinstance(lines, Unreadable):
            reason = f"{entity.path} cannot be read: {lines.reason}"
        else:
            outline = made.outlines.setdefault(path, files.outline(lines))
            standing = stand(entity, lines.lines, outline)
            if isinstance(standing, Standing):
                made.lines[path] = lines
                return _located(entity, rank, lines, standing, options)
            reason = f"{entity.path} {standing}"
    if not entity.content.strip() and not entity.summary.strip():
        made.notes.append(Failure(GIVEN, f"{entity.label} is left out: {reason}", "give its content or correct lines"))
        return None
    if reason:
        made.notes.append(Failure(GIVEN, f"{entity.label}: {reason}", "the content is shown as it was given"))
    return _record(entity, rank, options, is_stale=bool(reason))


def _kind(entity: Entity, language: str | None = None) -> Kind:
    if entity.type in set(Kind):
        return Kind(entity.type)
    group = group_of(entity.type)
    if group is None and entity.path:
        return kind_of(entity.path, language)
    return _GROUP_KINDS[group or "other"]


def _located(entity: Entity, rank: int, lines: Lines, standing: Standing, options: AssemblyOptions) -> Candidate:
    language = language_of(lines.path) or ""
    location = Location(lines.path, standing.start, standing.end, lines.content_hash)
    hit = _hit(entity, rank, _kind(entity, language), location, standing, language)
    whole = without_blank_ends(lines.lines, standing.start, standing.end)
    size = lines_size(lines, *whole)
    last = len(lines.lines)
    around = without_blank_ends(
        lines.lines, max(whole[0] - options.context_lines, 1), min(whole[1] + options.context_lines, last)
    )
    steps = [Step(Detail.FULL, (around,))]
    if around != whole:
        steps.append(Step(Detail.FULL, (whole,)))
    most = min(size / 2, options.max_tokens * SHORTENED_SHARE)

    def shrink(_room: float) -> list[Step]:
        signature = signature_range(hit.document, lines)
        first = Step(Detail.LINE, ((whole[0], whole[0]),))
        last_resort = first if signature is None else Step(Detail.SIGNATURE, (signature,))
        return [*shortened_steps(_shortener(options), lines, language, whole, most), last_resort]

    return Candidate(hit, hit.score, size, whole[0], lambda: steps, shrink=shrink)


def _shortener(options: AssemblyOptions) -> Strategy:
    """The strategy asked for; nothing matched in what is given, so the ladder has no window and takes the first."""
    return strategy(options.strategy) or SIGNATURE_FIRST


def _record(entity: Entity, rank: int, options: AssemblyOptions, *, is_stale: bool) -> Candidate:
    standing = Standing(0, 0, Freshness.STALE if is_stale else None)
    hit = _hit(entity, rank, _kind(entity), None, standing, language_of(entity.path) or "" if entity.path else "")
    body = (entity.content if entity.content.strip() else entity.summary).strip("\n")
    size = len(body) / CHARACTERS_PER_TOKEN
    language = str(hit.document.fields["language"])
    short = (entity.summary.strip() or body).strip().split("\n", 1)[0]

    def shrink(room: float) -> list[Step]:
        if language:
            steps = _shortened_texts(body, language, min(size / 2, options.max_tokens * SHORTENED_SHARE), options)
        else:
            passages = (excerpt(body, frozenset(), room * share * CHARACTERS_PER_TOKEN) for share in SHRINK_SHARES)
            steps = [Step(Detail.WINDOW, text=passage) for passage in passages if passage and passage != body]
        return steps + ([Step(Detail.LINE, text=short)] if short != body else [])

    return Candidate(hit, hit.score, size, 0, lambda: [Step(Detail.FULL, text=body)], shrink=shrink)


def _shortened_texts(body: str, language: str, most: float, options: AssemblyOptions) -> list[Step]:
    """The ways to shorten code that is given as text."""
    lines, steps = Lines("", tuple(body.split("\n"))), []
    for step in shortened_steps(_shortener(options), lines, language, (1, len(lines.lines)), most):
        pieces = [(start, "\n".join(lines.lines[start - 1 : end])) for start, end in step.ranges]
        pieces += [(remark.start, remark.text) for remark in step.remarks]
        steps.append(Step(Detail.WINDOW, text="\n".join(text for _, text in sorted(pieces))))
    return steps


def _hit(entity: Entity, rank: int, kind: Kind, location: Location | None, standing: Standing, language: str) -> Hit:
    part = standing.part
    title = entity.qualified_name or (part.name if part is not None and part.name else entity.name)
    if location is not None and entity.type in WHOLE_FILES:
        title = location.path
    role = _ROLES.get(entity.type, part.role if part is not None else Role.TEXT)
    if location is None and standing.freshness is Freshness.STALE:
        title = f"{title} (as given, not as in {entity.path})"
    fields = {
        **entity.fields,
        "type": entity.type or kind.value,
        "language": language,
        "name": entity.name,
        "summary": part.summary if part is not None else "",
        **({"freshness": standing.freshness} if standing.freshness is not None else {}),
        **({"sources": list(entity.sources)} if entity.sources else {}),
        **({"twins": list(entity.twins)} if entity.twins else {}),
    }
    signature = part.signature if part is not None else ""
    document = Document(entity.id, kind, title, "", location, role, signature, fields=fields)
    span = Span(standing.start, standing.end, -RANK_STEP * rank)
    return Hit(document, entity.score, span.value, (span,), (Signal("given", entity.score, 1.0),), 1.0 / (1 + rank))


def _import(leader: Candidate, lines: Lines, start: int, end: int) -> Candidate:
    """Import lines of a file, shown only beside the code that uses them, and right behind it in rank."""
    document = Document(
        f"{leader.kind}:{lines.path}#L{start}-{end}",
        leader.kind,
        "",
        "",
        Location(lines.path, start, end, lines.content_hash),
        Role.GAP,
        fields={"type": "import", "language": leader.document.fields.get("language", "")},
    )
    value = leader.value - RANK_STEP / 4
    hit = Hit(document, leader.hit.relevance, value, (Span(start, end, value),))
    steps = [Step(Detail.FULL, ((start, end),))]
    return Candidate(hit, value, lines_size(lines, start, end), start, lambda: steps, leader=leader)
