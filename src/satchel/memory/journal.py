"""Experiences from start to outcome: started with a hypothesis, updated as it changes, resolved with a result.

A session has at most one active experience. Active experiences are one `meta` value of the memory file and are not
searched; resolving one stores it as a record in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import UsageError
from satchel.memory.memories import checked_limit
from satchel.memory.model import (
    Attempt,
    Experience,
    Lesson,
    Outcome,
    RootCause,
    Started,
    experience_data,
    experience_from,
    tier_of,
)
from satchel.memory.records import experience_document, experience_of, value_document, value_of, without_evidence
from satchel.memory.scope import Notebook, near_ids
from satchel.store.protocol import Store
from satchel.types import Kind, never
from satchel.vocabulary import (
    ACTIVE,
    REPORT_CHARACTERS,
    STATEMENT_CHARACTERS,
    ConfidenceTier,
    Domain,
    Moment,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
    Visibility,
    checked_names,
    choices,
    parse_choice,
    parse_moment,
)

if TYPE_CHECKING:
    from satchel.store.writer import Writer

DEFAULT_SESSION = "default"
"""The session of callers that name none, one for each repository."""

SESSION_CHARACTERS = 100

ACTIVE_KEY = "active_experiences"
"""The `meta` key of the memory file for the active experiences of all repositories, a JSON list."""


_TEXTS = {
    **dict.fromkeys(("goal", "hypothesis", "action", "prediction"), STATEMENT_CHARACTERS),
    **dict.fromkeys(("result", "surprise", "note"), REPORT_CHARACTERS),
}
_CORRECTED = {
    *_TEXTS, "domain", "strategy", "status", "root_cause", "root_cause_description", "lesson", "takeaway",
    "visibility",
}  # fmt: skip


class _LastWordError(UsageError):
    """An error whose argument is named by the last occurrence of its name in the message."""

    def spelled(self, spelling: Callable[[str], str]) -> str:
        before, name, after = str(self).rpartition(self.arguments[0])
        return before + spelling(name) + after


class Journal:
    """The experiences of one root and those that belong everywhere. Every method reads the store anew.

    Raises UsageError for impossible values, StoreError and LockedError for an unusable file; a call that raises has
    changed nothing.
    """

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._store = notebook.store

    def start(
        self,
        *,
        domain: str,
        strategy: str,
        goal: str,
        hypothesis: str,
        action: str,
        prediction: str,
        session: str = DEFAULT_SESSION,
        visibility: str = Visibility.PRIVATE,
    ) -> Started:
        """Begin an experience. Raises UsageError, with its id, while the session has an active one."""
        notebook = self._notebook
        moment = notebook.now()
        begun = Experience(
            id=notebook.new_id("ghap", moment),
            domain=parse_choice(Domain, domain, "domain"),
            strategy=parse_choice(Strategy, strategy, "strategy"),
            goal=notebook.text_of("the goal", goal, STATEMENT_CHARACTERS),
            hypothesis=notebook.text_of("the hypothesis", hypothesis, STATEMENT_CHARACTERS),
            action=notebook.text_of("the action", action, STATEMENT_CHARACTERS),
            prediction=notebook.text_of("the prediction", prediction, STATEMENT_CHARACTERS),
            session_id=self._session(session),
            workspace=notebook.workspace,
            created=moment,
            updated=moment,
            visibility=parse_choice(Visibility, visibility, "visibility"),
            author=notebook.author,
        )
        with self._store.write() as writer:
            active = read_active(self._store)
            present = self._find(active, begun.session_id)
            if present is not None:
                raise _LastWordError(
                    f"session {begun.session_id!r} has an active experience, {present.id}: {present.goal}\n"
                    "resolve it first (`satchel experience resolve`), or name another session",
                    "session",
                )
            write_active(writer, [*active, begun])
        return Started(begun, tuple(self._orphans(active, begun.session_id)))

    def active(self, session: str = DEFAULT_SESSION) -> Experience | None:
        """Return the active experience of a session, None if it has none."""
        return self._find(read_active(self._store), self._session(session))

    def orphans(self, session: str = DEFAULT_SESSION) -> list[Experience]:
        """Return the active experiences of other sessions of this workspace, oldest first."""
        return self._orphans(read_active(self._store), self._session(session))

    def update(
        self,
        *,
        hypothesis: str | None = None,
        action: str | None = None,
        prediction: str | None = None,
        strategy: str | None = None,
        session: str = DEFAULT_SESSION,
    ) -> Experience:
        """Change hypothesis, action or prediction; the earlier attempt is added to the history and counted.

        A new strategy alone is not a new attempt. Raises UsageError without a change, or without an active experience.
        """
        notebook = self._notebook
        changes = {
            name: notebook.text_of(f"the {name}", text, STATEMENT_CHARACTERS)
            for name, text in (("hypothesis", hypothesis), ("action", action), ("prediction", prediction))
            if text is not None
        }
        chosen = parse_choice(Strategy, strategy, "strategy") if strategy is not None else None
        if not changes and chosen is None:
            raise UsageError("nothing to update: give a new hypothesis, action, prediction or strategy")
        moment = notebook.now()

        def changed(present: Experience) -> Experience:
            earlier = Attempt(moment, present.hypothesis, present.action, present.prediction)
            return replace(
                present,
                hypothesis=changes.get("hypothesis", present.hypothesis),
                action=changes.get("action", present.action),
                prediction=changes.get("prediction", present.prediction),
                strategy=chosen or present.strategy,
                history=(*present.history, earlier) if changes else present.history,
                iteration_count=present.iteration_count + bool(changes),
                updated=moment,
            )

        return self._change(session, changed)

    def note(self, text: str, *, session: str = DEFAULT_SESSION) -> Experience:
        """Add a note to the active experience."""
        note = self._notebook.text_of("the note", text, REPORT_CHARACTERS)
        moment = self._notebook.now()
        return self._change(session, lambda present: replace(present, notes=(*present.notes, note), updated=moment))

    def resolve(
        self,
        *,
        status: str,
        result: str,
        surprise: str | None = None,
        root_cause: str | None = None,
        root_cause_description: str | None = None,
        lesson: str | None = None,
        takeaway: str | None = None,
        session: str = DEFAULT_SESSION,
        auto_captured: bool = False,
    ) -> Experience:
        """End the active experience and store it as a searchable record.

        A falsified one needs the surprise and the root cause (category and description), unless the outcome was
        captured from a command (`auto_captured`). `lesson` is what worked; a takeaway needs one.
        """
        notebook = self._notebook
        ended = parse_choice(OutcomeStatus, status, "status")
        report = notebook.text_of("the result", result, REPORT_CHARACTERS)
        unexpected = notebook.optional_text("the surprise", surprise, REPORT_CHARACTERS)
        cause = self._root_cause(root_cause, root_cause_description)
        learned = self._lesson(lesson, takeaway)
        if ended is OutcomeStatus.FALSIFIED and not auto_captured:
            _check_falsified(unexpected, cause)
        moment = notebook.now()
        with self._store.write() as writer:
            active = read_active(self._store)
            present = self._present(active, self._session(session))
            tier = tier_of(ended, present.hypothesis, present.goal, auto_captured=auto_captured)
            done = replace(
                present,
                outcome=Outcome(ended, report, moment, auto_captured),
                surprise=unexpected,
                root_cause=cause,
                lesson=learned,
                confidence_tier=tier,
                updated=moment,
                origin=present.origin or "journal",
            )
            writer.put([experience_document(done)])
            writer.merge(never)
            write_active(writer, [other for other in active if other.id != done.id])
        return done

    def correct(self, identity: str, **changes: str) -> Experience:
        """Add to an ended experience, or correct it; what is not given stays as it is.

        `changes` are arguments of `start` and `resolve`, without a session, or a `note`, which is added to the notes.
        An outcome with another status no longer counts as captured. Raises UsageError for an active experience.
        """
        if not changes or not changes.keys() <= _CORRECTED:
            names = ", ".join(sorted(changes.keys() - _CORRECTED))
            raise UsageError(f"{names or 'nothing'} cannot be corrected: give some of {', '.join(sorted(_CORRECTED))}")
        moment = self._notebook.now()
        with self._store.write() as writer:
            old = self.get(identity)
            if old.outcome is None:
                raise UsageError(f"{old.id} is active: `update` changes it, and `resolve` ends it")
            changed = replace(self._corrected(old, old.outcome, changes), updated=moment)
            writer.put([experience_document(changed)])
            writer.merge(never)
        return changed

    def _corrected(self, old: Experience, outcome: Outcome, changes: Mapping[str, str]) -> Experience:
        said: dict[str, Any] = {
            name: self._notebook.text_of(f"the {name}", changes[name], limit)
            for name, limit in _TEXTS.items()
            if name in changes
        }
        status = parse_choice(OutcomeStatus, changes.get("status", outcome.status), "status")
        is_captured = outcome.auto_captured and status is outcome.status
        result, note = said.pop("result", outcome.result), said.pop("note", None)
        cause, lesson = old.root_cause, old.lesson
        if not changes.keys().isdisjoint(("root_cause", "root_cause_description")):
            category, description = (cause.category, cause.description) if cause else (None, None)
            cause = self._root_cause(
                changes.get("root_cause", category), changes.get("root_cause_description", description)
            )
        if not changes.keys().isdisjoint(("lesson", "takeaway")):
            worked, takeaway = (lesson.what_worked, lesson.takeaway) if lesson else (None, None)
            lesson = self._lesson(changes.get("lesson", worked), changes.get("takeaway", takeaway))
        changed = replace(
            old,
            **said,
            domain=parse_choice(Domain, changes.get("domain", old.domain), "domain"),
            strategy=parse_choice(Strategy, changes.get("strategy", old.strategy), "strategy"),
            visibility=parse_choice(Visibility, changes.get("visibility", old.visibility), "visibility"),
            outcome=Outcome(status, result, outcome.captured_at, is_captured),
            root_cause=cause,
            lesson=lesson,
            notes=(*old.notes, note) if note else old.notes,
        )
        if "status" in changes and status is OutcomeStatus.FALSIFIED and not is_captured:
            _check_falsified(changed.surprise, cause)
        tier = tier_of(status, changed.hypothesis, changed.goal, auto_captured=is_captured)
        return replace(changed, confidence_tier=tier)

    def forget(self, identities: Sequence[str]) -> list[Experience]:
        """Remove experiences for good, active ones too; values that rest on them no longer name them as evidence.

        Raises UsageError for an unknown id, and then removes none.
        """
        store = self._store
        with store.write() as writer:
            gone = {one.id: one for one in map(self.get, checked_names("ids", identities))}
            values = store.documents(store.document_ids(Kind.VALUE, store.keys(Kind.VALUE)).values()).values()
            resting = [value_of(document, store.text(document.id)) for document in values]
            writer.put(
                [
                    value_document(without_evidence(value, gone))
                    for value in resting
                    if not gone.keys().isdisjoint(value.member_ids)
                ]
            )
            writer.remove(Kind.EXPERIENCE, gone)
            writer.purge()
            write_active(writer, [one for one in read_active(store) if one.id not in gone])
        return list(gone.values())

    def listed(
        self,
        *,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        tier: str | None = None,
        since: Moment | None = None,
        limit: int | None = None,
    ) -> list[Experience]:
        """Return the visible experiences, newest first, including active ones; `outcome` may be `active`."""
        only_domain = parse_choice(Domain, domain, "domain") if domain is not None else None
        only_strategy = parse_choice(Strategy, strategy, "strategy") if strategy is not None else None
        only_tier = parse_choice(ConfidenceTier, tier, "tier") if tier is not None else None
        earliest = parse_moment(since, "since") if since is not None else 0.0
        if outcome not in {None, ACTIVE, *OutcomeStatus}:
            raise UsageError(f"unknown outcome {outcome!r}: choose from {', '.join((ACTIVE, *choices(OutcomeStatus)))}")
        chosen = [
            experience
            for experience in self._all()
            if only_domain in (None, experience.domain)
            and only_strategy in (None, experience.strategy)
            and only_tier in (None, experience.confidence_tier)
            and outcome in (None, experience.status)
            and experience.created >= earliest
        ]
        chosen.sort(key=lambda experience: (-experience.created, experience.id))
        return chosen if limit is None else chosen[: checked_limit(limit)]

    def get(self, identity: str) -> Experience:
        """Return the experience with this id, active or ended. Raises UsageError with near ids if there is none."""
        identity = identity.removeprefix(f"{Kind.EXPERIENCE}:").partition("::")[0]
        active = {experience.id: experience for experience in read_active(self._store)}
        document = self._store.document(Kind.EXPERIENCE, identity)
        if document is not None:
            return experience_of(self._notebook.shown(document))
        if identity not in active:
            near = near_ids(identity, self._store.keys(Kind.EXPERIENCE) | set(active))
            shown = self._notebook.safe_field(identity, SESSION_CHARACTERS)
            raise UsageError(f"there is no experience {shown!r}: {near}")
        return active[identity]

    def is_experience(self, identity: str) -> bool:
        """Return whether this is the id of an experience, active or ended."""
        is_ended = self._store.document(Kind.EXPERIENCE, identity) is not None
        return is_ended or any(one.id == identity for one in read_active(self._store))

    def require_active(self, session: str = DEFAULT_SESSION) -> Experience:
        """Return the active experience of a session. Raises UsageError, with the next step, if it has none."""
        return self._present(read_active(self._store), self._session(session))

    def _all(self) -> list[Experience]:
        store = self._store
        ids = store.document_ids(Kind.EXPERIENCE, store.iterate_keys(Kind.EXPERIENCE)).values()
        ended = [experience_of(self._notebook.shown(document)) for document in store.documents(ids).values()]
        return [*ended, *(entry for entry in read_active(store) if self._is_here(entry))]

    def _is_here(self, experience: Experience) -> bool:
        return experience.workspace in self._notebook.in_sight

    def _session(self, session: str) -> str:
        named = self._notebook.safe_field(session, SESSION_CHARACTERS)
        if not named:
            raise _LastWordError("the session is empty: leave session out, or give it a name", "session")
        return named

    def _find(self, active: Sequence[Experience], session: str) -> Experience | None:
        return next((entry for entry in active if self._is_here(entry) and entry.session_id == session), None)

    def _orphans(self, active: Sequence[Experience], session: str) -> list[Experience]:
        others = [entry for entry in active if self._is_here(entry) and entry.session_id != session]
        return sorted(others, key=lambda entry: (entry.created, entry.id))

    def _present(self, active: Sequence[Experience], session: str) -> Experience:
        present = self._find(active, session)
        if present is None:
            others = self._orphans(active, session)
            hint = f"; active in session {others[0].session_id!r}: {others[0].id}" if others else ""
            raise UsageError(
                f"session {session!r} has no active experience{hint}\nbegin one with `satchel experience start`"
            )
        return present

    def _change(self, session: str, change: Callable[[Experience], Experience]) -> Experience:
        named = self._session(session)
        with self._store.write() as writer:
            active = read_active(self._store)
            changed = change(self._present(active, named))
            write_active(writer, [changed if entry.id == changed.id else entry for entry in active])
        return changed

    def _root_cause(self, category: str | None, description: str | None) -> RootCause | None:
        if category is None and description is None:
            return None
        if category is None:
            raise UsageError(
                f"the root cause has no category: choose root_cause from {', '.join(choices(RootCauseCategory))}",
                "root_cause",
            )
        text = self._notebook.optional_text("the description of the root cause", description, REPORT_CHARACTERS)
        return RootCause(parse_choice(RootCauseCategory, category, "root cause"), text)

    def _lesson(self, worked: str | None, takeaway: str | None) -> Lesson | None:
        if worked is None and takeaway is None:
            return None
        if not worked:
            raise _LastWordError("a takeaway needs a lesson: say with lesson what worked", "lesson")
        notebook = self._notebook
        return Lesson(
            notebook.text_of("the lesson", worked, REPORT_CHARACTERS),
            notebook.optional_text("the takeaway", takeaway, REPORT_CHARACTERS),
        )


def _check_falsified(surprise: str, cause: RootCause | None) -> None:
    """Raise UsageError with the arguments that a falsified hypothesis lacks."""
    missing = {} if surprise else {"surprise": "what was surprising (surprise)"}
    if cause is None:
        missing["root_cause"] = f"the root cause (root_cause, one of {', '.join(choices(RootCauseCategory))})"
    if cause is None or not cause.description:
        missing["root_cause_description"] = "its description (root_cause_description)"
    if missing:
        message = f"a falsified hypothesis is only learned from with its reason: say {' and '.join(missing.values())}"
        raise UsageError(message, *missing)


def read_active(store: Store) -> list[Experience]:
    """Return the active experiences of all repositories, oldest first."""
    return [experience_from(data) for data in json.loads(store.meta(ACTIVE_KEY) or "[]")]


def write_active(writer: Writer, experiences: Sequence[Experience]) -> None:
    """Set the active experiences of all repositories."""
    data = [experience_data(experience) for experience in experiences]
    writer.set_meta(ACTIVE_KEY, json.dumps(data, ensure_ascii=False))
