"""From results to the candidates that are packed, and contexts of the results of a foreign searcher.

A candidate shows real lines of real files, else the content of the result. A result of a searcher is a mapping or an
object with the names of the first specification (`content`, `category`, `importance`; `goal`, `hypothesis` ... of an
experience; `sha`, `author`, `message` of a commit), there or in its `metadata`, or one of our own findings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from satchel.answer.candidates import SHRINK_SHARES, Candidate, Step
from satchel.answer.companions import ImportIndex, binding
from satchel.answer.file_candidates import lines_size, shortened_steps, signature_range
from satchel.answer.fill_policy import FillPolicy
from satchel.answer.fitting import fit
from satchel.answer.plans import Plan, PlannedSection
from satchel.answer.record_candidates import NOTE_TOKENS, cut_note, line_steps
from satchel.answer.render.labels import group_of
from satchel.answer.request import AssembleRequest, Budget, start_of_day
from satchel.answer.sections import Group, Section
from satchel.answer.source_lines import FileLines, Lines, Unreadable, without_blank_ends
from satchel.answer.text_lines import TextLines
from satchel.answer.truncation import (
    CHARACTERS_PER_TOKEN,
    LADDER,
    SIGNATURE_FIRST,
    TruncationStrategy,
    excerpt,
    strategy,
)
from satchel.answer.write import Filling, Marking, context_of
from satchel.codec import iso_time
from satchel.errors import UsageError
from satchel.results.entities import (
    SOURCE,
    WHOLE_FILES,
    Entity,
    EntityPlace,
    locate,
    read_results,
    relative_path,
    value_of,
)
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.search.chunks import GIVEN_ORIGIN
from satchel.search.rank_records import beside_words
from satchel.sources.code.languages import kind_of, language_of
from satchel.sources.experiences import lesson_line, shown_text
from satchel.types import (
    Chunk,
    Context,
    Data,
    Detail,
    Failure,
    Freshness,
    Hit,
    Json,
    Kind,
    Location,
    Outline,
    Part,
    Range,
    Role,
    ScoredSpan,
    Signal,
)
from satchel.vocabulary import parse_moment

RANK_STEP = 10.0
"""Distance of two ranks in log value: more than the effect of any difference in size, so that the order is kept."""

_GROUP_KINDS = {"code": Kind.CODE, "documentation": Kind.DOC, "conversation": Kind.CONVERSATION, "other": Kind.NOTE}
_ROLES = {"function": Role.FUNCTION, "method": Role.METHOD, "class": Role.CLASS, "section": Role.SECTION}


@dataclass(slots=True)
class EntityCandidates:
    """The candidates of entities, the lines of their files, and notes about unreadable ones.

    `whole_files` are the candidates that are files with other entities among the results.
    """

    candidates: list[Candidate] = field(default_factory=list)
    whole_files: list[Candidate] = field(default_factory=list)
    lines: dict[str, Lines] = field(default_factory=dict)
    outlines: dict[str, Outline] = field(default_factory=dict)
    imports: dict[str, ImportIndex] = field(default_factory=dict)
    notes: list[Failure] = field(default_factory=list)

    def section(self, whole_files: Sequence[Candidate], *, imports: bool) -> Section:
        """Return one section with the candidates and these files, in one order over all types."""
        every = tuple(sorted([*self.candidates, *whole_files], key=lambda candidate: -candidate.value))
        return Section(
            Kind.CODE, 1.0, every, self.lines, max(len(every), 1), find_companions=self._imports if imports else None
        )

    def max_tokens(self, size: float, room: float, budget: Budget) -> float:
        """Return the tokens for a shortened entity of this size in this room: half, or what the others leave of it."""
        others = sum(file.size for file in (*self.candidates, *self.whole_files)) - size
        # Largest share of the budget for one shortened entity, so that there is room for a second; more if that is
        # small
        return min(max(budget.max_tokens * 0.5, budget.max_tokens - others), room)

    def _imports(self, candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
        outline = self.outlines.get(candidate.group)
        if group.lines is None or outline is None or candidate.companion_of is not None:
            return []
        imports = self.imports.setdefault(candidate.group, ImportIndex(outline))
        ranges = binding(group.lines.lines, imports, step.ranges)
        return [_import(candidate, group.lines, start, end) for start, end in ranges]


def supply(entities: Sequence[Entity], budget: Budget, root: Path, files: FileLines) -> EntityCandidates:
    """Return the candidates of entities, which are in order, best first."""
    supplied = EntityCandidates()
    paths = [relative_path(entity.path, root) if entity.path else "" for entity in entities]
    shared = {path for path, entity in zip(paths, entities, strict=True) if path and entity.type not in WHOLE_FILES}
    for rank, (path, entity) in enumerate(zip(paths, entities, strict=True)):
        candidate = _candidate(entity, path, rank, budget, files, supplied)
        if candidate is not None:
            is_whole = entity.type in WHOLE_FILES and candidate.group in shared
            (supplied.whole_files if is_whole else supplied.candidates).append(candidate)
    return supplied


def _candidate(
    entity: Entity, path: str, rank: int, budget: Budget, files: FileLines, supplied: EntityCandidates
) -> Candidate | None:
    reason = ""
    if path:
        lines = supplied.lines.get(path) or files.read(path)
        if isinstance(lines, Unreadable):
            reason = f"{entity.path} cannot be read: {lines.reason}"
        else:
            outline = supplied.outlines.setdefault(path, files.outline(lines))
            place = locate(entity, lines.lines, outline)
            if isinstance(place, EntityPlace):
                supplied.lines[path] = lines
                return _located(entity, rank, lines, place, budget, supplied)
            reason = f"{entity.path} {place}"
    if not entity.content.strip() and not entity.summary.strip():
        note = Failure(SOURCE, f"{entity.label} is left out: {reason}", "give its content or correct lines")
        supplied.notes.append(note)
        return None
    if reason:
        supplied.notes.append(Failure(SOURCE, f"{entity.label}: {reason}", "the content of the result is shown"))
    return _record(entity, rank, budget, supplied, is_stale=bool(reason))


def _kind(entity: Entity, language: str | None = None) -> Kind:
    if entity.type in set(Kind):
        return Kind(entity.type)
    group = group_of(entity.type)
    if group is None and entity.path:
        return kind_of(entity.path, language)
    return _GROUP_KINDS[group or "other"]


def _located(
    entity: Entity, rank: int, lines: Lines, place: EntityPlace, budget: Budget, supplied: EntityCandidates
) -> Candidate:
    language = language_of(lines.path) or ""
    location = Location(lines.path, place.start, place.end, lines.content_hash)
    hit = _hit(entity, rank, _kind(entity, language), location, place, language)
    whole = without_blank_ends(lines.lines, place.start, place.end)
    size = lines_size(lines, *whole)
    first, last = max(whole[0] - budget.context_lines, 1), min(whole[1] + budget.context_lines, len(lines.lines))
    around = without_blank_ends(lines.lines, first, last)
    steps = [Step(Detail.FULL, (around,))]
    if around != whole:
        steps.append(Step(Detail.FULL, (whole,)))

    def shrink(room: float) -> list[Step]:
        signature = signature_range(hit.chunk, lines)
        first = Step(Detail.LINE, ((whole[0], whole[0]),))
        last_resort = first if signature is None else Step(Detail.SIGNATURE, (signature,))
        most = supplied.max_tokens(size, room, budget)
        forms = shortened_steps(_shortener(budget), lines, language, whole, most)
        beginnings = _beginnings(lines, whole, room) if budget.strategy == LADDER else []
        return [*forms, *beginnings, last_resort]

    return Candidate(hit, hit.score, size, whole[0], lambda: steps, shrink=shrink)


def _beginnings(lines: Lines, whole: Range, room: float) -> list[Step]:
    """Return the first lines that fit of a definition without parts, such as one statement below a long doc comment."""
    lasts = []
    for share in SHRINK_SHARES:
        last = whole[0]
        while last < whole[1] and lines_size(lines, whole[0], last + 1) <= room * share:
            last += 1
        lasts.append(last)
    return [Step(Detail.SPAN, ((whole[0], last),)) for last in dict.fromkeys(lasts) if last > whole[0]]


def _shortener(budget: Budget) -> TruncationStrategy:
    """Return the strategy of the options. The default ladder needs matched lines, so signature-first replaces it."""
    return strategy(budget.strategy) or SIGNATURE_FIRST


def _record(entity: Entity, rank: int, budget: Budget, supplied: EntityCandidates, *, is_stale: bool) -> Candidate:
    place = EntityPlace(0, 0, Freshness.STALE if is_stale else None)
    hit = _hit(entity, rank, _kind(entity), None, place, language_of(entity.path) or "" if entity.path else "")
    body = (entity.content if entity.content.strip() else entity.summary).strip("\n")
    size = len(body) / CHARACTERS_PER_TOKEN
    language = str(hit.chunk.fields["language"])
    short = (entity.summary.strip() or body).strip().split("\n", 1)[0]
    note = f"\n{cut_note(hit.chunk)}" if entity.id.startswith(f"{hit.chunk.kind}:") else ""

    def shrink(room: float) -> list[Step]:
        if hit.chunk.kind is Kind.EXPERIENCE and entity.fields.get("goal"):
            moment = entity.fields.get("timestamp")
            day = iso_time(moment)[:10] if moment else ""
            return [*line_steps(lambda most: lesson_line(entity.fields, most, day))]
        if language:
            steps = _shortened_texts(body, language, supplied.max_tokens(size, room, budget), budget)
        else:
            rooms = (max(room * share - (NOTE_TOKENS if note else 0), 0) for share in SHRINK_SHARES)
            passages = (excerpt(body, frozenset(), tokens * CHARACTERS_PER_TOKEN) for tokens in rooms)
            steps = [Step(Detail.SPAN, text=passage + note) for passage in passages if passage and passage != body]
        return steps + ([Step(Detail.LINE, text=short)] if short != body else [])

    return Candidate(hit, hit.score, size, 0, lambda: [Step(Detail.FULL, text=body)], shrink=shrink)


def _shortened_texts(body: str, language: str, most: float, budget: Budget) -> list[Step]:
    """Return shortened forms of code that came as text."""
    lines, steps = Lines("", TextLines(body)), []
    for step in shortened_steps(_shortener(budget), lines, language, (1, len(lines.lines)), most):
        pieces = [(start, "\n".join(lines.lines[start - 1 : end])) for start, end in step.ranges]
        pieces += [(remark.start, remark.text) for remark in step.remarks]
        steps.append(Step(Detail.SPAN, text="\n".join(text for _, text in sorted(pieces))))
    return steps


def _hit(entity: Entity, rank: int, kind: Kind, location: Location | None, place: EntityPlace, language: str) -> Hit:
    part = place.part or Part(Role.TEXT, "", 0, 0)
    title = entity.qualified_name or part.name or entity.name
    # Longest summary of an entity that is shown, on one line.
    summary, origin = clean_field(entity.summary, 500), ""
    if location is None:
        origin = GIVEN_ORIGIN
        title += f" (as given, not as in {entity.path})" if place.freshness is Freshness.STALE else ""
        summary = summary if entity.content.strip() else ""  # it is the text of the record
    elif entity.type in WHOLE_FILES:
        title = location.path
    fields = {
        **entity.fields,
        "type": entity.type or kind.value,
        "language": language,
        "name": entity.name,
        "summary": part.summary,
    }
    given = {
        "given_qualified_name": entity.given_name,
        "given_summary": summary,
        "freshness": place.freshness,
        "sources": list(entity.sources),
        "twins": list(entity.twins),
    }
    fields |= {name: value for name, value in given.items() if value}
    role = _ROLES.get(entity.type, part.role)
    chunk = Chunk(entity.id, kind, title, "", location, role, part.signature, fields=fields, origin=origin)
    span = ScoredSpan(place.start, place.end, -RANK_STEP * rank)
    return Hit(
        chunk, entity.score, span.value, (span,), (Signal("given", entity.score, 1.0), *entity.signals), 1 / (1 + rank)
    )


def _import(companion_of: Candidate, lines: Lines, start: int, end: int) -> Candidate:
    """Return a candidate for import lines, shown only beside the code that uses them, and next to it in rank."""
    chunk = Chunk(
        f"{companion_of.kind}:{lines.path}#L{start}-{end}",
        companion_of.kind,
        "",
        "",
        Location(lines.path, start, end, lines.content_hash),
        Role.GAP,
        fields={"type": "import", "language": companion_of.chunk.fields.get("language", "")},
    )
    value = companion_of.value - RANK_STEP / 4
    hit = Hit(chunk, companion_of.hit.relevance, value, (ScoredSpan(start, end, value),))
    steps = [Step(Detail.FULL, ((start, end),))]
    return Candidate(hit, value, lines_size(lines, start, end), start, lambda: steps, companion_of=companion_of)


_CONTENT = ("content", "text", "message", "body", "code", "signature")
"""Names of the text of a result, in the first specification and its implementations."""

_FIELDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.MEMORY: ("category", "importance", "created_at", "tags"),
    Kind.EXPERIENCE: (
        "domain", "strategy", "goal", "hypothesis", "action", "prediction", "outcome_status", "outcome_result",
        "surprise", "root_cause", "lesson", "confidence_tier", "iteration_count", "created_at",
    ),
    Kind.VALUE: ("axis", "cluster_id", "cluster_size", "similarity_to_centroid", "member_ids"),
    Kind.COMMIT: ("author", "timestamp", "insertions", "deletions", "file_count"),
    Kind.CONVERSATION: ("created_at", "branch"),
}  # fmt: skip
"""Fields of each kind besides its text; the metadata of the items."""

_IDS: Mapping[Kind, tuple[str, ...]] = {Kind.COMMIT: ("sha", "id"), Kind.EXPERIENCE: ("id", "ghap_id")}

_TIMES = ("timestamp", "committed_at", "created_at", "created")
"""Names of the time of a result."""

Rows = Sequence[tuple[PlannedSection, Iterable[object]]]


def searched_context(
    request: AssembleRequest,
    plan: Plan,
    rows: Rows,
    marking: Marking,
    root: Path,
    files: FileLines,
    failures: Sequence[Failure] = (),
) -> Context:
    """Return the context of results by section, best first; where records are unique, each in its first section."""
    sections, notes = [], [*failures]
    seen: set[str] = set()
    for planned, results in rows:
        entities, problems = _entities(planned.kind, results, marking.allow, request.asked.now)
        notes += problems
        if plan.unique:
            entities = [entity for entity in entities if entity.id not in seen]
            seen |= {entity.id for entity in entities}
        supplied = supply(entities, request.budget, root, files)
        notes += supplied.notes
        supplied.candidates += supplied.whole_files
        whole = supplied.section((), imports=request.budget.imports)
        if whole.candidates:
            sections.append(
                replace(whole, kind=planned.kind, weight=planned.weight, item_limit=planned.limit, title=planned.title)
            )
    policy = FillPolicy(shares=True, is_strict=False)
    filling = Filling(request.asked, request.budget, request.form, marking, sections, notes, plan, policy=policy)
    return context_of(filling, fit(filling), {"view": request.form.view})


def _entities(
    kind: Kind, results: Iterable[object], allow: Sequence[str], now: float
) -> tuple[list[Entity], list[Failure]]:
    """Return the results of a kind as entities of that kind, best first, with its fields."""
    named = [(_identity(kind, result, number), result) for number, result in enumerate(results, 1)]
    read, notes = read_results([_renamed(kind, identity, result) for identity, result in named], allow)
    notes += _date_notes(named) if kind in _FIELDS else ()
    defined = {identity: _defined(kind, result, allow) for identity, result in named}
    moment = now or start_of_day()
    entities = [_adjusted(kind, replace(entity, fields=defined.get(entity.id, {})), moment) for entity in read]
    entities.sort(key=lambda entity: -_rank(entity))
    return entities, [structs.replace(note, source=kind.plural) for note in notes]


def _adjusted(kind: Kind, entity: Entity, now: float) -> Entity:
    """Return a result with the signals beside its score, as in our search."""
    fields = entity.fields
    importance = fields.get("importance")
    weight = importance if isinstance(importance, int | float) and math.isfinite(importance) else None
    signals = beside_words(kind, fields.get("confidence_tier"), weight, seconds(fields.get("timestamp")), now)
    return replace(entity, signals=signals)


def _rank(entity: Entity) -> float:
    """Return the rank of a result (log): its score and its signals."""
    boosts = sum(signal.value * signal.weight for signal in entity.signals)
    # The score of a result without one: the logarithm needs a positive value.
    return math.log(max(entity.score, 1e-6)) + boosts


def seconds(moment: object) -> float:
    """Return a number or an ISO 8601 text as seconds since the epoch; 0 for anything else."""
    with suppress(UsageError):
        return parse_moment(moment)
    return 0.0


def _moment(result: object) -> object:
    """Return the time of a result as written, None if it has none."""
    return next((value for name in _TIMES if (value := value_of(result, name)) is not None), None)


def _date_notes(named: Iterable[tuple[str, object]]) -> Iterator[Failure]:
    """Yield a note for each result whose time is not one."""
    for identity, result in named:
        written = _moment(result)
        if written and not seconds(written):
            shown = sanitize.line(repr(written), 60)
            yield Failure("", f"{identity}: {shown} is not a date", "it is shown without a date")


def _identity(kind: Kind, result: object, number: int) -> str:
    """Return the id of a result in our form: `commit:1a2b3c`; its number if it has none."""
    identity = _first(result, *_IDS.get(kind, ("id",))) or number
    written = str(identity).partition("::")[0] if kind is Kind.EXPERIENCE else str(identity)
    return written if written.startswith(f"{kind}:") else f"{kind}:{written}"


def _first(result: object, *names: str) -> Any:
    """Return the first value of these names that is not empty."""
    return next(filter(None, (value_of(result, name) for name in names)), None)


def _content(kind: Kind, result: object) -> str:
    if kind is Kind.EXPERIENCE and value_of(result, "goal"):
        return shown_text({name: _plain(value_of(result, name)) for name in _FIELDS[kind]})
    return next((value for name in _CONTENT if isinstance(value := value_of(result, name), str) and value), "")


def _renamed(kind: Kind, identity: str, result: object) -> Data:
    """Return a result with the names of `read_results`; an experience is named by how it ended."""
    content, type_ = _content(kind, result), str(_first(result, "type", "unit_type") or "").lower()
    is_code = kind is Kind.CODE and group_of(type_) == "code"
    entity = {
        "id": identity,
        "type": type_ if is_code else kind.value,
        "name": value_of(result, "name", "title", "goal") or content.split("\n", 1)[0],
        "qualified_name": value_of(result, "qualified_name"),
        "content": content,
        "file_path": value_of(result, "file_path"),
        "start_line": _first(result, "start_line", "line_start"),
        "end_line": _first(result, "end_line", "line_end"),
    }
    return {"entity": entity, "score": value_of(result, "score", "relevance")}


def _defined(kind: Kind, result: object, allow: Sequence[str]) -> Json:
    fields = {name: value for name in _FIELDS.get(kind, ()) if (value := value_of(result, name)) is not None}
    if kind is Kind.COMMIT:
        fields["files"] = list(value_of(result, "files_changed", "files") or ())
    fields.pop("timestamp", None)
    if moment := seconds(_moment(result)) if kind in _FIELDS else 0.0:
        fields["timestamp"] = moment
    cleaned: Json = sanitize.value({name: _plain(value) for name, value in fields.items()}, allow)
    return cleaned


def _plain(value: Any) -> Any:
    """Return a part of a result as plain values: a root cause may be an object, a time a date."""
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    parts = {name: value_of(value, name) for name in ("category", "description", "what_worked", "takeaway")}
    values = {name: _plain(inner) for name, inner in parts.items() if inner is not None}
    return values or str(value)
