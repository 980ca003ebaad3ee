"""Guidance in one root: contexts and instruction files for a situation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Unpack

from msgspec import structs

from satchel import codec
from satchel.answer.pins import Pin
from satchel.answer.request import AssembleRequest, PackingOptions, make_request
from satchel.answer.resources import Resources
from satchel.answer.session import Account
from satchel.answer.situation import Guide, MakeEntries, situation_context, situation_request
from satchel.errors import ConfigError, ContextFileError, UsageError
from satchel.guidance import texts as guide_texts
from satchel.guidance import weights
from satchel.guidance.bound import SIGNAL, bound_records
from satchel.guidance.context_files import CONTEXTS, file_of
from satchel.guidance.inheritance import ContextTree
from satchel.guidance.injection import ActiveContext, Guidance, Guides, KeyRegistry, Sources, Supplies, gather, supplied
from satchel.guidance.instructions import Applied, Instructions, folders_below
from satchel.guidance.judge import AnyJudge, VerdictFiles, judged
from satchel.guidance.situation import Situation, make_situation
from satchel.intent import Intent, intent_of
from satchel.safety import sanitize
from satchel.safety.trust import GUIDANCE_ORIGIN, is_trusted, trust_of
from satchel.search import weights as search_weights
from satchel.search.chunks import chunk_of, stored_rows, with_former_names
from satchel.services.answer import settings_mark
from satchel.services.open_root import OpenRoot, attempts, resources_of
from satchel.services.receipts import ReceiptService, with_account, with_guide_handles
from satchel.services.why import saved_request
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.types import MEMORY_KINDS, Context, EdgeType, Failure, HandleTarget, Hit, Kind, ScoredSpan, Signal, Trust

ITEMS = 5
"""Items of each kind beside the guides of a situation: only the few that matter."""

HISTORY_KINDS = (Kind.MEMORY, Kind.EXPERIENCE, Kind.COMMIT)
"""Kinds that are searched for the history of a situation."""

HISTORY_ORIGIN = "situation"
"""The origin of the item with the situation itself, the words of the caller."""

Judging = tuple[AnyJudge | None, list[Failure]]
"""The active judge, None if words decide, and problems with its settings."""


class GuidanceService:
    """The guidance of one opened root."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root = root
        self._receipts = receipts
        self._allow = root.settings.redact_allow
        self._model_judge: AnyJudge | None = None

    @cached_property
    def guides(self) -> Guides:
        """The `context.yaml` files, the instruction files, and the keys that rules can inject."""
        root = self._root.places.root
        return Guides(ContextTree(root, self._allow), Instructions(root, self._allow), KeyRegistry())

    def situation_answer(
        self,
        situation: Mapping[str, Any] | Situation | None = None,
        *,
        context: str | None = None,
        judge: AnyJudge | None = None,
        refresh: bool = True,
        notes: Sequence[Failure] = (),
        **options: Unpack[PackingOptions],
    ) -> tuple[Context, AssembleRequest]:
        """Return the answer of `Satchel.situation` and its request. `notes` are earlier failures."""
        if isinstance(situation, Mapping) and "context" in situation:
            context = situation["context"] or context
            situation = {name: value for name, value in situation.items() if name != "context"}
        if context is not None and not isinstance(context, str):
            raise UsageError(f"context of the situation is {context!r:.60}: give the folder of a context.yaml")
        moment = make_situation(situation, self._allow, self._root.places.root)
        options.setdefault("limit", ITEMS)
        request = make_request(moment.purpose, self._root.settings, options)
        account = self._receipts.account_of(request)
        before = [*notes, *(self._root.refresh() if refresh else ())]
        with self._receipts.traced() as tell:
            answer, final, handles = self._assembled(moment, request, context, judge, before, account)
            tell(answer)
        return self._receipts.keep(answer, account, handles), final

    def guides_for(self, task: str, now: float) -> tuple[list[Guide], list[Failure]]:
        """Return the contexts and instruction files that apply to a task at a time, without what their rules inject."""
        moment = make_situation({"task": task}, self._allow)
        judge, notes = self._judging(None)
        verdicts = VerdictFiles(self._root.places.state, self._root.key)
        judge_all = partial(judged, situation=moment, judge=judge, memory=verdicts, embedder=self._root.embedder)
        gathered = gather(self.guides, None, moment, judge_all, now)
        guides = [guide for guide in self._guides_of(gathered, moment) if guide.origin != HISTORY_ORIGIN]
        return guides, [*notes, *gathered.notes]

    def replayed(self, saved: Mapping[str, Any], notes: Sequence[Failure]) -> tuple[Context, AssembleRequest]:
        """Answer a saved situation (an envelope of `satchel situation --json`) again; its rules are judged again, too.

        Raises UsageError for a damaged envelope. The handles of the answer are not stored.
        """
        meta = saved["meta"]
        if not isinstance(meta["situation"], Mapping):
            raise UsageError("the saved situation is damaged: save it again with `satchel situation --json`")
        moment = make_situation(meta["situation"], self._allow)
        plain, final = make_request(moment.purpose, self._root.settings, {}), saved_request(saved, self._allow)
        # These fields of the request are derived from the situation again.
        asked = replace(final.asked, query=moment.purpose, pins=plain.asked.pins)
        request = replace(final, asked=asked, scope=replace(final.scope, kinds=plain.scope.kinds))
        path = meta.get("context")
        context = path if isinstance(path, str) else None
        account = self._receipts.account_of(request)
        answer, final, _ = self._assembled(moment, request, context, None, notes, account)
        return with_account(answer, account, ()), final

    def _assembled(
        self,
        moment: Situation,
        request: AssembleRequest,
        context: str | None,
        judge: AnyJudge | None,
        notes: Sequence[Failure],
        account: Account | None,
    ) -> tuple[Context, AssembleRequest, list[HandleTarget]]:
        """Return the answer to a situation, the request with the additions of rules, and the handles of the answer."""
        judging = self._judging(judge)
        verdicts = VerdictFiles(self._root.places.state, self._root.key)
        judge_all = partial(judged, situation=moment, judge=judging[0], memory=verdicts, embedder=self._root.embedder)
        gathered = gather(self.guides, context, moment, judge_all, request.asked.now)
        guides = self._guides_of(gathered, moment)
        named = sanitize.value(context, self._allow)
        meta = {"settings": settings_mark(self._root.settings), "context": named, **_meta(gathered, moment)}

        for attempt in attempts(self._root):
            with attempt as states:
                resources = resources_of(states, notes, account)
                supply = self._supply(gathered, moment, request, resources)
                kinds = [kind for kind in HISTORY_KINDS if resources.kinds().get(kind)]
                final = situation_request(request, kinds, [Pin(path) for path in supply.paths])
                final = final if kinds else replace(final, asked=replace(final.asked, query=""))
                every = dict.fromkeys([*resources.notes, *judging[1], *gathered.notes, *supply.notes])
                all_guides = [*guides, *self._own_guides(supply)]
                hits = [*supply.hits, *self._history(moment, final, kinds, resources)]
                noted = structs.replace(resources, notes=tuple(every))
                answer = situation_context(
                    final, noted, all_guides, hits, {"revision": resources.revision} | meta, moment.files
                )
        files = {guide.id: guide.fields["file"] for guide in guides if "file" in guide.fields}
        limit = self._root.settings.index_max_file_bytes
        answer, handles = with_guide_handles(answer, files, self._root.places.root, self._root.key, limit)
        return answer, final, handles

    def _supply(
        self, gathered: Guidance, moment: Situation, request: AssembleRequest, resources: Resources
    ) -> Supplies:
        """Return the hits, files and records of injection rules."""
        available = resources.kinds()

        def store_of(kind: Kind) -> Store | None:
            is_kept = kind not in MEMORY_KINDS or resources.memory is not None
            return resources.store_of(kind) if available.get(kind) and is_kept else None

        sources = Sources(store_of, self._root.places.root, self._allow, self.guides.registry)
        return supplied(gathered.keys, moment, sources, request.asked.now)

    def _history(
        self, moment: Situation, request: AssembleRequest, kinds: Sequence[Kind], resources: Resources
    ) -> list[Hit]:
        """Return commits that touched the files of a situation, and records that are bound to them.

        Records that only name a file count unless the task leaves the behaviour as it is, as for lessons in general.
        """
        files = moment.files[:20]  # files of a situation whose history is searched
        # Records of each kind from the history of the files if the situation also has words to search for
        limit = min(3, request.scope.limit) if request.asked.query else request.scope.limit
        naming = not request.asked.query or intent_of(request.asked.query.split("\n", 1)[0]) is Intent.CHANGES
        hits: list[Hit] = []
        for kind in kinds if files else ():
            store = resources.store_of(kind)
            hits += (
                commits_of(store, files, limit)
                if kind is Kind.COMMIT
                else bound_records(store, kind, files, resources.store, request.asked.now, naming=naming)[:limit]
            )
        return hits

    def list_rules(self) -> tuple[list[Applied], list[ActiveContext], list[Failure]]:
        """Return every instruction file, strongest first, every context of the root by path, and problems with them."""
        folders, notes = folders_below(self._root.places.root)
        instructions, unread = self.guides.instructions.of_folders(folders)
        notes = [*notes, *unread]
        contexts: list[ActiveContext] = []
        for folder in filter(self.guides.tree.exists, folders):
            try:
                context = self.guides.tree.load(folder)
            except ContextFileError as error:
                notes.append(Failure(CONTEXTS, str(error), "nothing of this context is used"))
                continue
            notes += context.notes
            contexts.append(ActiveContext(context, None, "", ()))
        rules = [Applied(instruction, applies=True, reason=instruction.condition) for instruction in instructions]
        return rules, contexts, list(dict.fromkeys(notes))

    def _judging(self, judge: AnyJudge | None) -> Judging:
        if judge is not None:
            return judge, []
        settings = self._root.settings
        if self._model_judge is None and settings.judge_endpoint:
            from satchel.guidance.judge import model_judge

            try:
                self._model_judge = model_judge(settings, self._root.environ)
            except ConfigError as error:
                return None, [Failure("judge", str(error), "words decide until then")]
        return self._model_judge, []

    def _guides_of(self, gathered: Guidance, situation: Situation) -> list[Guide]:
        """Return guides for the situation itself, the active contexts, and the instruction files that apply."""
        trusted = is_trusted(self._root.places.root, self._root.places.state)
        trust = trust_of(Kind.CONTEXT, GUIDANCE_ORIGIN, trusted=trusted)
        guides = [_situation_guide(situation, self._allow)] if situation.lines() else []
        weigh = guide_texts.weigher(situation)
        shown: list[ActiveContext] = []
        for active in gathered.contexts:
            lines = guide_texts.context_lines(active, situation, shown)
            shown.append(active)
            if lines.text or not active.distance:
                texts = [
                    lines.text or guide_texts.NOTHING,
                    sanitize.line(lines.goal or guide_texts.title_of(active), guide_texts.LINE_CHARACTERS),
                ]
                entries = guide_texts.clean_entries(partial(guide_texts.context_entries, lines, weigh), self._allow)
                guides.append(_context_guide(active, _shorter(texts, self._allow), entries, trust))
        applying = [applied for applied in gathered.instructions if applied.applies]
        return [*guides, *(self._instructions(applied, len(applying), weigh, trust) for applied in applying)]

    def _instructions(self, applied: Applied, count: int, weigh: guide_texts.Weigh, trust: Trust) -> Guide:
        """Return the guide of one of `count` files that apply: the nearest has the priority of a parent context."""
        instruction, nearness = applied.instruction, (count - applied.rank + 1) / count
        full = instruction.text.strip() or "(empty)"
        base, rules = weights.PRIORITIES["base"], weights.PRIORITIES["rules"]
        return Guide(
            id=f"context:{instruction.path}",
            title=sanitize.line(instruction.path, 1_000, self._allow),
            texts=_shorter([full, full.split("\n", 1)[0][: guide_texts.LINE_CHARACTERS]], self._allow),
            priority=base + rules + nearness,
            signals=(Signal("base", base, 1.0), Signal("rules", rules, 1.0), Signal("near", round(nearness, 4), 1.0)),
            trust=trust,
            fields={
                "path": instruction.path,
                "role": "instructions",
                "reason": applied.reason,
                "rank": applied.rank,
                "file": instruction.stands_for or instruction.path,
            },
            origin=GUIDANCE_ORIGIN,
            entries=guide_texts.clean_entries(partial(guide_texts.markdown_entries, full, weigh), self._allow),
        )

    def _own_guides(self, supply: Supplies) -> list[Guide]:
        """Return the records of registered keys, each also as its first line."""
        guides = []
        for number, (key, record) in enumerate(supply.own, 1):
            first = record.text.strip().split("\n", 1)[0][: guide_texts.LINE_CHARACTERS]
            texts, fields = _shorter([record.text, first], self._allow), {"role": "injected"}
            guides.append(Guide(f"context:{key}#{number}", record.title, texts, 1.0, fields=fields))
        return guides


def _context_guide(active: ActiveContext, texts: tuple[str, ...], entries: MakeEntries, trust: Trust) -> Guide:
    context = active.context
    return Guide(
        id=f"context:{context.path or '.'}",
        title=guide_texts.title_of(active),
        texts=texts,
        priority=active.priority,
        signals=tuple(Signal(term.name, term.value, 1.0) for term in active.terms),
        trust=trust,
        fields={
            "path": context.path,
            "role": "current" if active.distance == 0 else "ancestor" if active.distance else "injected",
            "distance": active.distance,
            "wanted_by": active.wanted_by,
            "inheritance_chain": list(context.chain[:-1]),
            "file": file_of(context.path),
        },
        updated=context.updated,
        origin=GUIDANCE_ORIGIN,
        entries=entries,
    )


def _situation_guide(situation: Situation, allow: Sequence[str]) -> Guide:
    limit = 200  # length limit of a line of a shortened situation
    lines = situation.lines()
    short = [line if len(line) <= limit else f"{line[: limit - 1]}…" for line in lines]
    texts = _shorter(["\n".join(lines), "\n".join(short), short[0]], allow)
    return Guide("context:situation", "Situation", texts, 10.0, origin=HISTORY_ORIGIN, must=True)


def _shorter(texts: Sequence[str], allow: Sequence[str]) -> tuple[str, ...]:
    """Return the redacted texts, without those that are not shorter than the one before."""
    kept: list[str] = []
    for text in (sanitize.text(other, allow) for other in texts):
        if not kept or len(text) < len(kept[-1]):
            kept.append(text)
    return tuple(kept)


def _meta(gathered: Guidance, situation: Situation) -> dict[str, Any]:
    """Return the contexts, the rules with their verdicts, and the instruction files of an answer."""
    return {
        "situation": {name: value for name, value in codec.plain(situation).items() if value},
        "contexts": [
            {"path": context.context.path, "name": context.context.name, "distance": context.distance,
             "wanted_by": context.wanted_by, "priority": round(context.priority, 4)}
            for context in gathered.contexts
        ],
        "rules": [
            {"rule": rule.rule.label, "from": rule.rule.origin, "place": rule.rule.place,
             "verdict": rule.verdict.value, "reason": rule.reason}
            for rule in gathered.evaluated
        ],
        "instructions": [
            {"path": rule.instruction.path, "applies": rule.applies, "reason": rule.reason}
            for rule in gathered.instructions
        ],
    }  # fmt: skip


def commits_of(store: Store, files: Sequence[str], limit: int) -> list[Hit]:
    """Return the newest visible commits that touched these files; those of many files come last."""
    if not files:
        return []
    touching = store.edges_to(with_former_names(files, store), [EdgeType.TOUCHES])
    rows = stored_rows(store, sorted({row for row, *_ in touching}))
    visible = frozenset(store.iterate_keys(Kind.COMMIT)) if rows else frozenset()
    # Each commit once, with its first part.
    commits = {
        document.id: (document, part)
        for document, part in reversed(rows.values())
        if document.kind is Kind.COMMIT and document.key in visible
    }

    def order(commit: tuple[Document, StoredChunk]) -> tuple[bool, float, int]:
        document, _ = commit
        return document.fields.get("file_count", 0) > search_weights.SWEEP_FILES, -document.created, document.id

    return [
        Hit(chunk_of(document, part), 1.0, 0.0, (ScoredSpan(part.start, part.end, 0.0),), (SIGNAL,))
        for document, part in sorted(commits.values(), key=order)[:limit]
    ]
