"""The part of the engine that guides: contexts and instruction files for a situation, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from satchel import config, outside, telemetry
from satchel.assemble.gather import MEMORY_KINDS, Workbench
from satchel.assemble.pins import Pin
from satchel.assemble.receipts.guides import with_guide_handles
from satchel.assemble.receipts.ledger import Given, HandleLedger
from satchel.assemble.receipts.replay import saved_request, settings_mark
from satchel.assemble.receipts.sessions import reference_handles, with_account
from satchel.assemble.request import AssembleRequest, make_request
from satchel.errors import ConfigError, UsageError
from satchel.roots import Places
from satchel.store.protocol import Store
from satchel.trust import GUIDANCE_ORIGIN, is_trusted, trust_of
from satchel.types import Context, ContextItem, Failure, Kind, Signal, Trust

if TYPE_CHECKING:
    from satchel.assemble.receipts.session import Account
    from satchel.assemble.situation import Guide
    from satchel.rules.check import Report
    from satchel.rules.gather import ActiveContext, Gathered, Guides
    from satchel.rules.inheritance import ContextTree
    from satchel.rules.injection import Provider, Registry
    from satchel.rules.instructions import Applied
    from satchel.rules.judge import Judge
    from satchel.rules.situation import Situation

Answer = TypeVar("Answer")

HISTORY_KINDS = (Kind.MEMORY, Kind.EXPERIENCE, Kind.COMMIT)
"""What is searched for the history of a situation."""

HISTORY_ITEMS = 5
"""Items of each of them: a situation wants the few that matter, a question can ask for more."""

HISTORY_ORIGIN = "situation"
"""The origin of the record that shows the situation itself: it is what the caller said, and data."""


class Guided:
    """What guides the work in one root. `Satchel` is the way to get one."""

    places: Places
    loaded: config.LoadedSettings
    _key: bytes
    _environ: Mapping[str, str]
    _guides: Guides | None = None
    _judge: Judge | None = None

    if TYPE_CHECKING:  # what `Satchel` brings; at run time nothing here hides it

        @property
        def handles(self) -> HandleLedger:
            """The handles that answers about this root gave lately."""
            ...

        def refresh(self) -> Any:
            """Bring the index up to date; what an answer has to note."""
            ...

        def account(
            self, session: str, state: str = "", *, pins: Sequence[Pin] = (), is_kept: bool = True
        ) -> Account | None:
            """What a session has received."""
            ...

        def note_shown(self, session: str, account: Account | None, items: Sequence[ContextItem]) -> list[Failure]:
            """Add what was shown to the ledger of a session."""
            ...

        def _with_bench(self, work: Callable[[Workbench, Sequence[Failure]], Answer]) -> Answer:
            """What `work` makes of one published state of index and memory."""
            ...

    @property
    def registry(self) -> Registry:
        """The keys that rules can inject."""
        return self._guidance.registry

    @property
    def contexts(self) -> ContextTree:
        """The tree of `context.yaml` files: `load(path)` gives one with what it inherits."""
        return self._guidance.tree

    def register(self, key: str, provider: Provider) -> None:
        """Let injection rules name `key`: `provider` gives its records when a rule that applies wants them."""
        self.registry.register(key, provider)

    @property
    def _guidance(self) -> Guides:
        if self._guides is None:
            from satchel.rules.gather import Guides
            from satchel.rules.inheritance import ContextTree
            from satchel.rules.injection import Registry
            from satchel.rules.instructions import Instructions

            root, allow = self.places.root, self.loaded.settings.redact_allow
            self._guides = Guides(ContextTree(root, allow), Instructions(root, allow), Registry())
        return self._guides

    def situation(
        self,
        situation: Mapping[str, Any] | Situation | None = None,
        *,
        context: str | None = None,
        judge: Judge | None = None,
        refresh: bool = True,
        **options: Any,
    ) -> Context:
        """A packed context for what an agent is doing: what guides it, and what history knows of it.

        `situation` has any of tool, params, task, intent, files, language, error, agent, time and tags. `context` is
        the folder of the current `context.yaml`; without it the root's counts, if there is one. `judge` decides
        conditions in plain words in place of the configured one. Options are `max_tokens`, `format`, `tokenizer`,
        `limit`, `session` and `now`, as in `assemble`. What is wrong with a file is a failure in the answer, with
        file and line.
        """
        return self.situation_answer(situation, context=context, judge=judge, refresh=refresh, **options)[0]

    def situation_answer(
        self,
        situation: Mapping[str, Any] | Situation | None = None,
        *,
        context: str | None = None,
        judge: Judge | None = None,
        refresh: bool = True,
        notes: Sequence[Failure] = (),
        **options: Any,
    ) -> tuple[Context, AssembleRequest]:
        """`situation`, and the request that was made of it. `notes` are failures that happened before."""
        from satchel.rules.situation import make_situation  # here, as all of this room: a question needs no rules

        moment = make_situation(situation, self.loaded.settings.redact_allow)
        options.setdefault("limit", HISTORY_ITEMS)
        request = make_request(moment.question, self.loaded.settings, options)
        account = self.account(request.session, request.ledger, pins=request.pins)
        before = [*notes, *(self.refresh() if refresh else ())]
        source = self.places.index.name
        with telemetry.span(telemetry.RETRIEVAL, source, {telemetry.DATA_SOURCE: source}) as span:
            answered, asked, handles = self._situated(moment, request, context, judge, before, account)
            telemetry.tell(span, answered, content=self.loaded.settings.telemetry_content)
        self.handles.record([*handles, *reference_handles(answered)])
        return with_account(answered, account, self.note_shown(request.session, account, answered.items)), asked

    def replayed_situation(self, saved: Mapping[str, Any], notes: Sequence[Failure]) -> tuple[Context, AssembleRequest]:
        """A saved situation (an envelope of `satchel situation --json`) once more: its rules are judged again, too.

        Raises UsageError for a damaged envelope. Its handles lead nowhere.
        """
        meta, settings = saved["meta"], self.loaded.settings
        if not isinstance(meta["situation"], Mapping):
            raise UsageError("the saved situation is damaged: save it again with `satchel situation --json`")
        from satchel.rules.situation import make_situation

        moment = make_situation(meta["situation"], settings.redact_allow)
        plain, asked = make_request(moment.question, settings, {}), saved_request(saved)
        # What the situation itself brought into the request, it brings again.
        request = replace(asked, query=moment.question, kinds=plain.kinds, pins=plain.pins)
        context = meta.get("context")
        path = context if isinstance(context, str) else None
        account = self.account(request.session, request.ledger, pins=request.pins, is_kept=False)
        answered, asked, _ = self._situated(moment, request, path, None, notes, account)
        return with_account(answered, account, ()), asked

    def _situated(
        self,
        moment: Situation,
        request: AssembleRequest,
        context: str | None,
        judge: Judge | None,
        before: Sequence[Failure],
        account: Account | None,
    ) -> tuple[Context, AssembleRequest, list[Given]]:
        """The answer to a request about a situation, what was asked in the end, and what its handles stand for."""
        from satchel.assemble.situation import situation_context, situation_request
        from satchel.rules.gather import gather
        from satchel.rules.injection import Sources, supplied

        settings = self.loaded.settings
        before = [*before, *(account.failures if account is not None else ())]
        chosen, unusable = self._judging(judge)
        gathered = gather(
            self._guidance, context, moment, lambda asked: self._judged(asked, moment, chosen), request.now
        )

        def packed(bench: Workbench, found: Sequence[Failure]) -> tuple[Context, AssembleRequest, list[Given]]:
            bench = replace(bench, account=account)
            available = bench.kinds()

            def store_of(kind: Kind) -> Store | None:
                return bench.store_of(kind) if available.get(kind) and self._is_kept(kind, bench) else None

            sources = Sources(store_of, self.places.root, settings.redact_allow, self._guidance.registry)
            supply = supplied(gathered.keys, moment, sources, request.now)
            kinds = [kind for kind in HISTORY_KINDS if available.get(kind)]
            asked = situation_request(request, kinds, [Pin(path) for path in supply.paths])
            own = [(f"context:{key}#{number}", one.title, one.text) for number, (key, one) in enumerate(supply.own, 1)]
            guides = [*self._guides_of(gathered, moment), *(_own_guide(*row, settings.redact_allow) for row in own)]
            every = tuple(dict.fromkeys([*before, *found, *unusable, *gathered.notes, *supply.notes]))
            meta = {"revision": bench.revision, "settings": settings_mark(settings), "context": context}
            asked = asked if kinds else replace(asked, query="")
            found_context = situation_context(asked, bench, guides, supply.hits, every, meta | _meta(gathered, moment))
            files = {guide.id: guide.fields["file"] for guide in guides if "file" in guide.fields}
            limit = settings.index_max_file_bytes
            answered, handles = with_guide_handles(found_context, files, self.places.root, self._key, limit)
            return answered, asked, handles

        return self._with_bench(packed)

    async def asituation(self, situation: Mapping[str, Any] | Situation | None = None, **options: Any) -> Context:
        """`situation` as a coroutine."""
        import asyncio  # here, because it takes 0.05 s that no synchronous use needs

        return await asyncio.to_thread(self.situation, situation, **options)

    def check_rules(
        self,
        files: Sequence[str] = (),
        *,
        task: str = "",
        judge: Judge | None = None,
        refresh: bool = True,
        notes: Sequence[Failure] = (),
    ) -> Report:
        """What applies to these files and this task and why, what never applies, and what is wrong with the files.

        Contradictions, repeats, and names that do not exist any more are told of all instruction files.
        """
        from satchel.rules.check import check
        from satchel.rules.situation import make_situation

        situation = make_situation({"files": list(files), "task": task}, self.loaded.settings.redact_allow)
        before = [*notes, *(self.refresh() if refresh else ())]
        chosen, unusable = self._judging(judge)

        def checked(bench: Workbench, found: Sequence[Failure]) -> Report:
            every = [*before, *found, *unusable]
            return check(
                self._guidance, situation, bench.store, self.places.root,
                lambda asked: self._judged(asked, situation, chosen), every,
            )  # fmt: skip

        return self._with_bench(checked)

    def list_rules(self) -> tuple[list[Applied], list[ActiveContext], list[Failure]]:
        """Every instruction file and every context of the root, and what is wrong with them. Nothing is applied."""
        from satchel.rules.check import everything

        return everything(self._guidance, self.places.root)

    def _is_kept(self, kind: Kind, bench: Workbench) -> bool:
        return kind not in MEMORY_KINDS or bench.memory is not None

    def _judging(self, given: Judge | None) -> tuple[Judge | None, list[Failure]]:
        """The judge in force, None where words decide, and what is wrong with the settings for one."""
        if given is not None:
            return given, []
        if self._judge is None and self.loaded.settings.judge_endpoint:
            from satchel.rules.judge import model_judge

            try:
                self._judge = model_judge(self.loaded.settings, self._environ)
            except ConfigError as error:
                return None, [Failure("judge", str(error), "words decide until then")]
        return self._judge, []

    def _judged(self, conditions: Sequence[str], situation: Situation, judge: Judge | None) -> Any:
        from satchel.rules.judge import VerdictFiles, judged

        return judged(conditions, situation, judge, VerdictFiles(self.places.state, self._key))

    def _guides_of(self, gathered: Gathered, situation: Situation) -> list[Guide]:
        """The situation itself, the instruction files that apply, and the active contexts, each with its texts."""
        from satchel.assemble.situation import Guide
        from satchel.rules.context_files import file_of
        from satchel.rules.wording import essentials, full_text, instruction_texts, one_line, title_of

        allow = self.loaded.settings.redact_allow
        trusted = is_trusted(self.places.root, self.places.state)
        trust = trust_of(Kind.CONTEXT, GUIDANCE_ORIGIN, trusted=trusted)
        guides = [_situation_guide(situation, allow)] if situation.lines() else []
        current = next((one for one in gathered.contexts if one.distance == 0), None)
        shown = frozenset(current.context.behavior) if current is not None else frozenset()
        for active in gathered.contexts:
            said = frozenset() if active is current else shown
            texts = [full_text(active, situation, said), essentials(active, situation, said), one_line(active)]
            role = "current" if active.distance == 0 else "ancestor" if active.distance else "injected"
            guides.append(
                Guide(
                    id=f"context:{active.context.path or '.'}",
                    title=title_of(active),
                    texts=_shorter(texts, allow),
                    priority=active.priority,
                    signals=tuple(Signal(term.name, term.value, 1.0) for term in active.terms),
                    trust=trust,
                    fields={
                        "path": active.context.path, "role": role, "distance": active.distance,
                        "wanted_by": active.wanted_by, "inheritance_chain": list(active.context.chain[:-1]),
                        "file": file_of(active.context.path),
                    },
                    updated=active.context.updated,
                    origin=GUIDANCE_ORIGIN,
                )
            )  # fmt: skip
        applying = [row for row in gathered.instructions if row.applies]
        for row in applying:
            priority = _instruction_priority(row, len(applying))
            guides.append(
                Guide(
                    id=f"context:{row.instruction.path}",
                    title=outside.line(row.instruction.path, 1_000, allow),
                    texts=_shorter(instruction_texts(row.instruction, situation), allow),
                    priority=priority,
                    signals=(
                        Signal("base", 1.0, 1.0),
                        Signal("rules", 0.5, 1.0),
                        Signal("near", round(priority - 1.5, 4), 1.0),
                    ),
                    trust=trust,
                    fields={
                        "path": row.instruction.path,
                        "role": "instructions",
                        "reason": row.reason,
                        "rank": row.rank,
                        "file": row.instruction.stands_for or row.instruction.path,
                    },
                    origin=GUIDANCE_ORIGIN,
                )
            )
        return guides


def _shorter(texts: Sequence[str], allow: Sequence[str]) -> tuple[str, ...]:
    """The texts as they may be shown, without those that are no shorter than the one before."""
    kept: list[str] = []
    for text in (outside.text(one, allow) for one in texts):
        if not kept or len(text) < len(kept[-1]):
            kept.append(text)
    return tuple(kept)


def _instruction_priority(row: Applied, count: int) -> float:
    """As a context with rules has it; what is nearest counts like a parent, and the others less, by their rank."""
    return 1.5 + (count - row.rank + 1) / count


def _situation_guide(situation: Situation, allow: Sequence[str]) -> Guide:
    from satchel.assemble.situation import Guide

    lines = situation.lines()
    short = [line if len(line) <= 200 else f"{line[:199]}…" for line in lines]
    texts = _shorter(["\n".join(lines), "\n".join(short), short[0]], allow)
    return Guide("context:situation", "Situation", texts, 10.0, origin=HISTORY_ORIGIN, must=True)


def _own_guide(identity: str, title: str, text: str, allow: Sequence[str]) -> Guide:
    from satchel.assemble.situation import Guide

    first = text.strip().split("\n", 1)[0][:400]
    return Guide(identity, title, _shorter([text, first], allow), 1.0, trust=Trust.DATA, fields={"role": "injected"})


def _meta(gathered: Gathered, situation: Situation) -> dict[str, Any]:
    """What an answer says of how it came about: contexts, rules with their verdicts, instruction files."""
    return {
        "situation": {name: value for name, value in _situation_data(situation).items() if value},
        "contexts": [
            {"path": one.context.path, "name": one.context.name, "distance": one.distance,
             "wanted_by": one.wanted_by, "priority": round(one.priority, 4)}
            for one in gathered.contexts
        ],
        "rules": [
            {"rule": row.rule.label, "from": row.rule.origin, "place": row.rule.place,
             "verdict": row.verdict.value, "reason": row.reason}
            for row in gathered.evaluated
        ],
        "instructions": [
            {"path": row.instruction.path, "applies": row.applies, "reason": row.reason}
            for row in gathered.instructions
        ],
    }  # fmt: skip


def _situation_data(situation: Situation) -> dict[str, Any]:
    return {
        "tool": situation.tool, "params": dict(situation.params), "task": situation.task, "intent": situation.intent,
        "files": list(situation.files), "language": situation.language, "error": situation.error,
        "agent": situation.agent, "time": situation.time, "tags": list(situation.tags),
    }  # fmt: skip
