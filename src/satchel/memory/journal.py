"""Experiences from start to outcome: started with a hypothesis, updated as it changes, resolved with a result.

A session has at most one active experience. Active experiences are one `meta` value of the memory file and are not
searched; resolving one stores it as a record in the same transaction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from satchel import vocabulary
from satchel.errors import UsageError
from satchel.memory import model
from satchel.memory.records import Records, discard, document_of, records_in, without_evidence
from satchel.memory.scope import without_none
from satchel.store.protocol import Store
from satchel.types import Kind, never

if TYPE_CHECKING:
    from satchel.store.writer import Writer

ACTIVE_KEY = "active_experiences"
"""The `meta` key of the memory file for the active experiences of all repositories, a JSON list."""

_CORRECTED = ("goal", "hypothesis", "action", "prediction", "surprise", "domain", "strategy", "visibility")
_OF_OUTCOME = ("status", "result")
_OF_CAUSE = {"root_cause": "category", "root_cause_description": "description"}
_OF_LESSON = {"lesson": "what_worked", "takeaway": "takeaway"}
_CORRECTABLE = sorted((*_CORRECTED, *_OF_OUTCOME, *_OF_CAUSE, *_OF_LESSON, "note"))


class _LastWordError(UsageError):
    """An error whose argument is named by the last occurrence of its name in the message."""

    def spelled(self, spelling: Callable[[str], str]) -> str:
        before, name, after = str(self).rpartition(self.arguments[0])
        return before + spelling(name) + after


class Journal(Records[model.Experience]):
    """The experiences of one root and those that belong everywhere. Every method reads the store anew.

    Raises UsageError for impossible values, StoreError and LockedError for an unusable file; a call that raises has
    changed nothing.
    """

    record = model.Experience

    def start(
        self,
        *,
        domain: str,
        strategy: str,
        goal: str,
        hypothesis: str,
        action: str,
        prediction: str,
        session: str = vocabulary.DEFAULT_SESSION,
        visibility: str = vocabulary.Visibility.PRIVATE,
        files: Iterable[str] = (),
    ) -> model.Started:
        """Begin an experience, about these `files` (globs). Raises UsageError while the session has an active one."""
        notebook = self._notebook
        moment = notebook.now()
        begun = model.Experience(
            id=notebook.new_id("ghap", moment),
            session_id=self._session(session),
            workspace=notebook.workspace,
            created=moment,
            updated=moment,
            author=notebook.author,
            files=notebook.files(files),
            **notebook.checked(
                model.Experience, domain=domain, strategy=strategy, goal=goal, hypothesis=hypothesis, action=action,
                prediction=prediction, visibility=visibility,
            ),
        )  # fmt: skip
        with self._store.write() as writer:
            active = read_active(self._store)
            present = self._in_session(active, begun.session_id)
            if present is not None:
                raise _LastWordError(
                    f"session {begun.session_id!r} has an active experience, {present.id}: {present.goal}\n"
                    "resolve it first (`satchel experience resolve`), or name another session",
                    "session",
                )
            write_active(writer, [*active, begun])
        return model.Started(begun, tuple(self._orphans(active, begun.session_id)))

    def active(self, session: str = vocabulary.DEFAULT_SESSION) -> model.Experience | None:
        """Return the active experience of a session, None if it has none."""
        return self._in_session(read_active(self._store), self._session(session))

    def orphans(self, session: str = vocabulary.DEFAULT_SESSION) -> list[model.Experience]:
        """Return the active experiences of other sessions of this workspace, oldest first."""
        return self._orphans(read_active(self._store), self._session(session))

    def update(
        self,
        *,
        hypothesis: str | None = None,
        action: str | None = None,
        prediction: str | None = None,
        strategy: str | None = None,
        session: str = vocabulary.DEFAULT_SESSION,
    ) -> model.Experience:
        """Change hypothesis, action or prediction; the earlier attempt is added to the history and counted.

        A new strategy alone is not a new attempt. Raises UsageError without a change, or without an active experience.
        """
        said = without_none(hypothesis=hypothesis, action=action, prediction=prediction, strategy=strategy)
        changes = self._notebook.checked(model.Experience, **said)
        if not changes:
            raise UsageError("nothing to update: give a new hypothesis, action, prediction or strategy")
        is_attempt = changes.keys() != {"strategy"}
        moment = self._notebook.now()

        def changed(present: model.Experience) -> model.Experience:
            earlier = model.Attempt(moment, present.hypothesis, present.action, present.prediction)
            return replace(
                present,
                history=(*present.history, earlier) if is_attempt else present.history,
                iteration_count=present.iteration_count + is_attempt,
                updated=moment,
                **changes,
            )

        return self._change(session, changed)

    def note(self, text: str, *, session: str = vocabulary.DEFAULT_SESSION) -> model.Experience:
        """Add a note to the active experience."""
        note = self._notebook.text_of("the note", text, vocabulary.REPORT_CHARACTERS)
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
        session: str = vocabulary.DEFAULT_SESSION,
        auto_captured: bool = False,
        files: Iterable[str] = (),
    ) -> model.Experience:
        """End the active experience and store it as a searchable record.

        A falsified one needs the surprise and the root cause (category and description), unless the outcome was
        captured from a command (`auto_captured`). `lesson` is what worked; a takeaway needs one. `files` are more globs
        of files that it is about.
        """
        notebook = self._notebook
        more = notebook.files(files)
        ending = notebook.checked(model.Outcome, status=status, result=result)
        learned = notebook.checked(model.Experience, **without_none(surprise=surprise or None))
        learned["root_cause"] = self._root_cause(root_cause, root_cause_description)
        learned["lesson"] = self._lesson(lesson, takeaway)
        moment = notebook.now()
        outcome = model.Outcome(**ending, captured_at=moment, auto_captured=auto_captured)
        with self._store.write() as writer:
            active = read_active(self._store)
            present = self._present(active, self._session(session))
            ended = replace(
                present, outcome=outcome, updated=moment, origin=present.origin or "journal",
                files=_joined(present.files, more), **learned,
            )  # fmt: skip
            done = _ranked(ended, outcome, is_new=True)
            writer.put([document_of(done)])
            writer.merge(never)
            write_active(writer, [other for other in active if other.id != done.id])
        return done

    def touch(self, identity: str, paths: Iterable[str]) -> None:
        """Add the paths of files that its session changed to an active experience, as many as it can have."""
        literal = [re.sub(r"([*?\[])", r"[\1]", path) for path in paths]
        with self._store.write() as writer:
            active = read_active(self._store)
            write_active(
                writer,
                [
                    replace(experience, files=_joined(experience.files, literal))
                    if experience.id == identity
                    else experience
                    for experience in active
                ],
            )

    def correct(self, identity: str, *, files: Iterable[str] = (), **changes: str) -> model.Experience:
        """Add to an ended experience, or correct it; what is not given stays as it is.

        `changes` are arguments of `start` and `resolve`, without a session, or a `note`, which is added to the notes,
        as `files` are to the files.
        An outcome with another status no longer counts as captured. Raises UsageError for an active experience.
        """
        more = self._notebook.files(files)
        if not (changes or more) or not changes.keys() <= {*_CORRECTABLE}:
            names = ", ".join(sorted(changes.keys() - _CORRECTABLE))
            raise UsageError(
                f"{names or 'nothing'} cannot be corrected: give some of {', '.join(sorted(_CORRECTABLE))}"
            )
        moment = self._notebook.now()
        with self._store.write() as writer:
            old = self.get(identity)
            if old.outcome is None:
                raise UsageError(f"{old.id} is active: `update` changes it, and `resolve` ends it")
            changed = replace(
                self._corrected(old, old.outcome, changes), updated=moment, files=_joined(old.files, more)
            )
            writer.put([document_of(changed)])
            writer.merge(never)
        return changed

    def _corrected(self, old: model.Experience, outcome: model.Outcome, changes: Mapping[str, str]) -> model.Experience:
        notebook = self._notebook
        said = notebook.checked(model.Experience, **{name: changes[name] for name in _CORRECTED if name in changes})
        ending = {name: changes[name] for name in _OF_OUTCOME if name in changes}
        ended = structs.replace(outcome, **notebook.checked(model.Outcome, **ending))
        if ended.status is not outcome.status:
            ended = structs.replace(ended, auto_captured=False)
        if not changes.keys().isdisjoint(_OF_CAUSE):
            said["root_cause"] = self._root_cause(*_completed(old.root_cause, _OF_CAUSE, changes))
        if not changes.keys().isdisjoint(_OF_LESSON):
            said["lesson"] = self._lesson(*_completed(old.lesson, _OF_LESSON, changes))
        if "note" in changes:
            said["notes"] = (*old.notes, notebook.text_of("the note", changes["note"], vocabulary.REPORT_CHARACTERS))
        return _ranked(replace(old, outcome=ended, **said), ended, is_new="status" in changes)

    def forget(self, identities: Sequence[str]) -> list[model.Experience]:
        """Put experiences into the trash, active ones too; values that rest on them no longer name them as evidence.

        Raises UsageError for an unknown id, and then removes none.
        """
        store = self._store
        with store.write() as writer:
            gone = {
                experience.id: experience for experience in map(self.get, vocabulary.checked_names("ids", identities))
            }
            resting = [
                value for value in records_in(store, model.Value) if not gone.keys().isdisjoint(value.member_ids)
            ]
            writer.put([document_of(without_evidence(value, gone)) for value in resting])
            writer.remove(Kind.EXPERIENCE, gone)
            discard(store, writer, gone.values(), self._notebook.now(), resting)
            write_active(writer, [experience for experience in read_active(store) if experience.id not in gone])
        return list(gone.values())

    def listed(
        self,
        *,
        domain: str | None = None,
        strategy: str | None = None,
        outcome: str | None = None,
        tier: str | None = None,
        since: vocabulary.Moment | None = None,
        limit: int | None = None,
    ) -> list[model.Experience]:
        """Return the visible experiences, newest first, including active ones; `outcome` may be `active`."""
        if outcome not in {None, vocabulary.ACTIVE, *vocabulary.OutcomeStatus}:
            outcomes = (vocabulary.ACTIVE, *vocabulary.choices(vocabulary.OutcomeStatus))
            raise UsageError(f"unknown outcome {outcome!r}: choose from {', '.join(outcomes)}")
        active = (entry for entry in read_active(self._store) if self._is_here(entry))
        experiences = (entry for entry in (*self._visible(), *active) if outcome in (None, entry.status))
        return self._listed(experiences, since, limit, domain=domain, strategy=strategy, confidence_tier=tier)

    def get(self, identity: str) -> model.Experience:
        """Return the experience with this id, active or ended. Raises UsageError with near ids if there is none."""
        key = identity.removeprefix(f"{Kind.EXPERIENCE}:").partition("::")[0]
        active = {experience.id: experience for experience in read_active(self._store)}
        here = (experience.id for experience in active.values() if self._is_here(experience))
        return active[key] if key in active and not self._holds(key) else self._find(key, here)

    def is_experience(self, identity: str) -> bool:
        """Return whether this is the id of an experience, active or ended."""
        return self._holds(identity) or any(experience.id == identity for experience in read_active(self._store))

    def require_active(self, session: str = vocabulary.DEFAULT_SESSION) -> model.Experience:
        """Return the active experience of a session. Raises UsageError, with the next step, if it has none."""
        return self._present(read_active(self._store), self._session(session))

    def _is_here(self, experience: model.Experience) -> bool:
        return experience.workspace in self._notebook.in_sight

    def _session(self, session: str) -> str:
        named = self._notebook.safe_field(session, 100)  # session characters
        if not named:
            raise _LastWordError("the session is empty: leave session out, or give it a name", "session")
        return self._notebook.session if named == vocabulary.DEFAULT_SESSION else named

    def _in_session(self, active: Sequence[model.Experience], session: str) -> model.Experience | None:
        return next((entry for entry in active if self._is_here(entry) and entry.session_id == session), None)

    def _orphans(self, active: Sequence[model.Experience], session: str) -> list[model.Experience]:
        others = [entry for entry in active if self._is_here(entry) and entry.session_id != session]
        return sorted(others, key=lambda entry: (entry.created, entry.id))

    def _present(self, active: Sequence[model.Experience], session: str) -> model.Experience:
        present = self._in_session(active, session)
        if present is None:
            others = self._orphans(active, session)
            hint = f"; active in session {others[0].session_id!r}: {others[0].id}" if others else ""
            raise UsageError(
                f"session {session!r} has no active experience{hint}\nstart one with `satchel experience start`"
            )
        return present

    def _change(self, session: str, change: Callable[[model.Experience], model.Experience]) -> model.Experience:
        named = self._session(session)
        with self._store.write() as writer:
            active = read_active(self._store)
            changed = change(self._present(active, named))
            write_active(writer, [changed if entry.id == changed.id else entry for entry in active])
        return changed

    def _root_cause(self, category: str | None, description: str | None) -> model.RootCause | None:
        if category is None and description is None:
            return None
        if category is None:
            categories = ", ".join(vocabulary.choices(vocabulary.RootCauseCategory))
            raise UsageError(f"the root cause has no category: choose root_cause from {categories}", "root_cause")
        said = without_none(description=description or None, category=category)
        return model.RootCause(**self._notebook.checked(model.RootCause, **said))

    def _lesson(self, worked: str | None, takeaway: str | None) -> model.Lesson | None:
        if worked is None and takeaway is None:
            return None
        if not worked:
            raise _LastWordError("a takeaway needs a lesson: say with lesson what worked", "lesson")
        said = without_none(what_worked=worked, takeaway=takeaway or None)
        return model.Lesson(**self._notebook.checked(model.Lesson, **said))


def _joined(files: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return globs with more of them, each once, as many as an experience can have."""
    return tuple(dict.fromkeys([*files, *more]))[: vocabulary.MAX_BOUND_FILES]


def _completed(part: object, names: Mapping[str, str], changes: Mapping[str, str]) -> list[str | None]:
    """Return the fields of a root cause or a lesson with what is changed."""
    return [changes.get(name, getattr(part, field, None)) for name, field in names.items()]


def _ranked(ended: model.Experience, outcome: model.Outcome, *, is_new: bool) -> model.Experience:
    """Return an ended experience with its tier. Raises UsageError if a new status lacks what is learned from it."""
    if is_new and outcome.status is vocabulary.OutcomeStatus.FALSIFIED and not outcome.auto_captured:
        _check_falsified(ended.surprise, ended.root_cause)
    tier = model.tier_of(outcome.status, ended.hypothesis, ended.goal, auto_captured=outcome.auto_captured)
    return replace(ended, confidence_tier=tier)


def _check_falsified(surprise: str, cause: model.RootCause | None) -> None:
    """Raise UsageError with the arguments that a falsified hypothesis lacks."""
    missing = {} if surprise else {"surprise": "what was surprising (surprise)"}
    if cause is None:
        missing["root_cause"] = (
            f"the root cause (root_cause, one of {', '.join(vocabulary.choices(vocabulary.RootCauseCategory))})"
        )
    if cause is None or not cause.description:
        missing["root_cause_description"] = "its description (root_cause_description)"
    if missing:
        message = f"a falsified hypothesis is only learned from with its reason: say {' and '.join(missing.values())}"
        raise UsageError(message, *missing)


def read_active(store: Store) -> list[model.Experience]:
    """Return the active experiences of all repositories, oldest first."""
    return [model.experience_from(data) for data in json.loads(store.meta(ACTIVE_KEY) or "[]")]


def write_active(writer: Writer, experiences: Sequence[model.Experience]) -> None:
    """Set the active experiences of all repositories."""
    data = [model.record_data(experience) for experience in experiences]
    writer.set_meta(ACTIVE_KEY, json.dumps(data, ensure_ascii=False))


def move_active(store: Store, writer: Writer, others: Collection[str], workspace: str, old: Path) -> int:
    """Give the active experiences of some workspaces, those of the folder `old`, to another one; returns their number.

    Raises UsageError for a session that has one in both.
    """
    active = read_active(store)
    theirs = {
        experience.id: replace(experience, workspace=workspace)
        for experience in active
        if experience.workspace in others
    }
    sessions = {their.session_id for their in theirs.values()}
    if clash := sessions.intersection(
        experience.session_id for experience in active if experience.workspace == workspace
    ):
        raise UsageError(
            f"session {min(clash)!r} has an active experience here and in {old}: resolve the one here "
            "(`satchel experience resolve`), then move the others"
        )
    write_active(writer, [theirs.get(experience.id, experience) for experience in active])
    return len(theirs)


def add_active(store: Store, writer: Writer, experiences: Sequence[model.Experience]) -> None:
    """Add active experiences. Raises UsageError for one whose session has another in its repository."""
    active = read_active(store)
    for experience in experiences:
        if any(
            (other.workspace, other.session_id) == (experience.workspace, experience.session_id) for other in active
        ):
            raise UsageError(f"session {experience.session_id!r} has another active experience: resolve it first")
    write_active(writer, [*active, *experiences])
