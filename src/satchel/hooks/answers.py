"""Answers to a prompt and to the events of a session.

A prompt gets relevant context, without files that the host loads itself, or nothing. A session gets its brief at the
start and its checkpoint after a compaction; its transcript may be stored at the end. What is injected unasked has to be
right, or nothing: `certainty` says whether a prompt is about this project.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from satchel.errors import SatchelError
from satchel.hooks import background, hosts, weights
from satchel.hooks.event_context import INDEX_NAME, Answer, EventContext, counted, injected, nothing
from satchel.hooks.hosts import Start
from satchel.intent import Intent, intent_of, works_of
from satchel.system import telemetry
from satchel.system.locations import as_listed
from satchel.text import CHATTER, GREETINGS, STOP_WORDS, stem, term_of, words
from satchel.tokens import counter
from satchel.types import Context, Kind
from satchel.vocabulary import CLIENT_SESSION, FIND, WORK_SHARE

if TYPE_CHECKING:
    from satchel.engine import Satchel

MIN_STRENGTH = 0.001
"""Least strength, and least distance of it from 1: their log odds are not infinite."""

HOST_FILES = (
    "CLAUDE.md", "*/CLAUDE.md", "CLAUDE.local.md", "*/CLAUDE.local.md", ".claude/*", "*/.claude/*",
    "AGENTS.md", "*/AGENTS.md", "AGENTS.override.md", ".codex/*", "*/.codex/*",
    ".cursor/*", "*/.cursor/*", ".cursorrules", "*/.cursorrules", ".windsurf/*",
    "GEMINI.md", "*/GEMINI.md", ".github/copilot-instructions.md", ".github/instructions/*",
    "MEMORY.md", "*/MEMORY.md",
)  # fmt: skip
"""Globs of the instruction files that hosts read when a session starts or a folder is entered, and of their memory."""

_MENTION = re.compile(r"""(?:^|(?<=[\s(\["'`]))@(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`()\[\],;]+))""")
_LINES = re.compile(r"(?:#L?\d+(?:-L?\d+)?|:\d+(?:-\d+)?)$")

PROMPT_CHARACTERS = 20_000
"""Characters at the beginning of a prompt that are searched for: pasted logs repeat themselves."""

PROMPT_TOKENS = 800
"""Tokens of context with a prompt: two or three places to begin with; an agent that wants more asks for it."""

DUPLICATE_SECONDS = 10.0
"""Time in which a second equal event is a duplicate: hooks can be configured in two places."""

STALE_SECONDS = 30.0
"""Age from which an index is updated; shown text is compared with its file anyway."""

INSIGNIFICANT = STOP_WORDS | GREETINGS | CHATTER
"""Words that are not significant in a prompt, even if they occur in code."""

_NAMED = re.compile(
    r"`[^`\n]+`|\b[\w.-]+/[\w./-]+|\b\w+\.\w{1,5}\b(?!\.)|\b[A-Za-z]+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+|\w\(\)|--\w"
)
"""Names of code: in backquotes, a path, a file, snake_case, camelCase, a call, an option."""

_QUESTION = re.compile(r"\b(?:where|how|why)\b", re.IGNORECASE)
"""Words of questions: "where are retries handled?" has only two significant words."""

_COMMAND = re.compile(r"^(?:/[a-z][\w:-]*(?=\s|$)|[!#<])")
"""A prompt that is meant for the host: `/compact`, `!ls`, `#remember this`, or a message that it wrote itself."""


def at_prompt(hook: EventContext) -> Answer:
    """Return context for the prompt if some is relevant enough."""
    prompt = hook.event.prompt.strip()
    if not prompt:
        return nothing("the host sent no prompt")
    if _COMMAND.match(prompt):
        return nothing("the prompt is a command of the host")
    if hook.session is not None:
        # Length of the first line of a prompt that is kept for after a compaction
        hook.session.note_prompt(hook.safe_line(prompt, 200))
    if not hook.event.injects:
        return nothing("the host takes no context with a prompt")
    if not (asks_something(prompt) or is_short_request(prompt)):
        return nothing("the prompt names nothing to look for")
    digest = blake2b(prompt.encode("utf-8", "replace"), digest_size=8).hexdigest()
    if not hook.claim(f"prompt:{digest}", DUPLICATE_SECONDS):
        return nothing("the same prompt was answered a moment ago")
    if not hook.has_index:
        return _without_index(hook)
    if is_stale(hook):
        hook.refresh()
    return hook.packed(lambda tokens: _prompt_context(hook, prompt, tokens), PROMPT_TOKENS)


def asks_something(prompt: str) -> bool:
    """Return whether a prompt names something in code, or has enough words to search for."""
    if _NAMED.search(prompt) or mentioned(prompt):
        return True
    # Significant words that a prompt without names of code needs; a question needs one less
    return telling_words(prompt) >= 3 - bool(_QUESTION.search(prompt))


def is_short_request(prompt: str) -> bool:
    """Return whether a short prompt may be about what is remembered, if not about code.

    "deploy to staging" and "write tests for it" are kinds of work, "who looks at the dead letters?" is a question.
    """
    if "\n" in prompt:
        return False
    if intent_of(prompt) is Intent.CHANGES:
        return telling_words(prompt) > 0 or bool(works_of(stem(word.lower()) for word in words(prompt)))
    # Significant words of a question that a record has to have
    return telling_words(prompt) >= 2


def telling_words(prompt: str) -> int:
    """Count the different significant words of a prompt."""
    every = {word.lower() for word in words(prompt[:PROMPT_CHARACTERS])}
    return len({word for word in every if len(word) > 2} - INSIGNIFICANT)


def is_stale(hook: EventContext) -> bool:
    """Return whether the index was not updated in the last `STALE_SECONDS`."""
    try:
        last = (hook.places.index / "index.lock").stat().st_mtime
    except OSError:
        last = 0.0
    return hook.is_project and not 0 <= time.time() - last < STALE_SECONDS


def _without_index(hook: EventContext) -> Answer:
    if not hook.is_project:
        return nothing("this folder is not a project: it is indexed when somebody asks (satchel index)")
    is_first = hook.refresh()
    notice = "satchel is indexing this folder; prompts get context as soon as it is done"
    return nothing(f"the index is being built ({INDEX_NAME} is not there yet)", notice if is_first else "")


def _prompt_context(hook: EventContext, prompt: str, tokens: int) -> Answer:
    """Return the lessons that bear on a prompt, and the code that it is about if that is sure enough."""
    attached = [*mentioned(prompt), *hook.event.attached]
    least = hook.settings.hooks_min_relevance
    globs = excluded(hook.places.root, hook.folder, attached)
    options = hook.options(max_tokens=max(tokens, 1), exclude=globs)
    unasked, certainty = about_prompt(hook.engine, prompt, **options)
    lessons, context = unasked.lessons, unasked.context
    pairs = [(unasked.request, context)] if certainty >= least and asks_something(prompt) else []
    if not (pairs or lessons.items):
        has_it = bool(context.shown_before)
        return nothing("the session has what is relevant" if has_it else f"nothing is relevant enough ({least:.2f})")
    answer = injected(hook, "relevant to the prompt", pairs)
    if not lessons.items:
        return answer
    told = f"{counted(len(lessons.items))} remembered about such work"
    return replace(
        answer,
        reason=f"{told}; {answer.reason}" if pairs else told,
        text="\n\n".join(filter(None, (lessons.text, answer.text))),
        tokens=answer.tokens + lessons.usage.used,
        contexts=(lessons, *answer.contexts),
        deliver=(unasked.deliver, *answer.deliver),
    )


def about_prompt(engine: Satchel, prompt: str, **options: Any) -> tuple[Any, float]:
    """Return what a prompt gets (with options of `Satchel.request`), and how certain its context is, 0 to 1."""
    request = engine.request(without_mentions(prompt)[:PROMPT_CHARACTERS], purpose=FIND, **options)
    unasked = engine.answers.unasked(request)
    return unasked, prompt_certainty(prompt, unasked.context, engine)


def mentioned(prompt: str) -> list[str]:
    """Return the paths that a prompt attaches with `@`, as they are written, without line numbers."""
    mentions = (double or single or plain for double, single, plain in _MENTION.findall(prompt))
    stripped = (_LINES.sub("", path.rstrip(".:!?")) for path in mentions)
    return list(dict.fromkeys(path for path in stripped if path))[:100]  # most mentions


def without_mentions(prompt: str) -> str:
    """Return the prompt with each mention replaced by the name that it mentions."""
    return _MENTION.sub(lambda match: next(filter(None, match.groups())), prompt)


def excluded(root: Path, folder: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Return globs that are not to be shown: files that hosts load, and these paths of files or folders."""
    globs = [*HOST_FILES]
    for path in paths:
        for base in (folder, root):
            relative = below(root, base / path) if not path.startswith("~") else None
            if relative is not None:
                literal = re.sub(r"([*?\[])", r"[\1]", relative)
                globs += [literal, f"{literal}/*"]
    return tuple(dict.fromkeys(globs))


def below(root: Path, path: Path) -> str | None:
    """Return the path relative to the root; None outside the root and for the root itself."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if len(parts) > 1:
                parts.pop()
        elif part != ".":
            parts.append(part)
    try:
        relative = as_listed(Path(*parts)).relative_to(root).as_posix() if parts else "."
    except ValueError:
        return None
    return None if relative == "." else relative


BRIEF = "brief"

BRIEF_TOKENS = 300
"""Most tokens of the brief beside the checkpoint and the active experience: every session pays for it."""

CHECKPOINT_CHARACTERS = 2_400
"""Length limit of the checkpoint, a quarter of the limit of an answer."""

STATEMENT_CHARACTERS = 300
"""Length limit of each statement of the active experience: `satchel experience show` prints all of it."""

CHECKPOINT_TITLE = "# Before the conversation was compacted"
CHECKPOINT_NOTE = "What this session had been about; notes to go on from, not instructions."

NEVER, COMPACTION, ALWAYS = "never", "compaction", "always"
"""When a conversation is stored: never, when the host shortens it, or also when its session ends."""


def at_start(hook: EventContext) -> Answer:
    """Return the brief once per session, and again after the host has emptied or shortened the conversation."""
    start = hook.event.start or Start.STARTUP
    begins_anew = start in (Start.CLEAR, Start.COMPACT)
    if start == Start.FORK:
        hook.claim(BRIEF)
        return nothing("the session is a copy: it has what the other one had")
    is_due = hook.claim(f"{BRIEF}:{start}", DUPLICATE_SECONDS) if begins_anew else hook.claim(BRIEF)
    if not is_due:
        return nothing("the session has its brief")
    if begins_anew:
        forget(hook, everything=start == Start.CLEAR)
    if hook.session is not None:
        hook.session.prune()
    notice = ""
    if hook.is_project:
        is_new = not hook.has_index
        hook.refresh()
        notice = "satchel is indexing this folder; prompts get context as soon as it is done" if is_new else ""
    before = checkpoint(hook) if start == Start.COMPACT else ""
    return hook.packed(lambda tokens: _brief(hook, before, tokens, notice), 1_000)


def at_subagent_start(hook: EventContext) -> Answer:
    """Return the brief for an agent that the session starts, without a line for the person: there may be many."""
    return replace(at_start(hook), notice="")


def forget(hook: EventContext, *, everything: bool) -> None:
    """Allow items that the model has lost to be sent again. After a clear the whole state is reset."""
    hook.engine.forget_session(hook.event.session)
    if hook.session is not None:
        hook.session.forget("failure:")
        if everything:
            hook.session.restart()


def checkpoint(hook: EventContext) -> str:
    """List the last prompts, the changed files and the last failed check; empty if none is recorded."""
    if hook.session is None:
        return ""
    kept = hook.session.read()
    lines = [f"- asked: {line}" for line in kept["prompts"]]
    if kept["files"]:
        lines.append(f"- changed: {', '.join(kept['files'])}")
    if kept["failure"]:
        lines.append(f"- failing: {kept['failure']}")
    room = CHECKPOINT_CHARACTERS
    chosen: list[str] = []
    for line in reversed(lines):  # the last lines matter most
        shown = line.replace("`", "'")[:room]
        room -= len(shown) + 1
        if room < 0:
            break
        chosen.append(shown)
    return "\n".join([CHECKPOINT_TITLE, "", CHECKPOINT_NOTE, "", *reversed(chosen)]) if chosen else ""


def active_experience(hook: EventContext) -> str:
    """List the statements of the active experience; empty if there is none."""
    active = hook.active
    if active is None:
        return ""
    statements = {"goal": active.goal, "hypothesis": active.hypothesis, "action": active.action,
            "prediction": active.prediction}  # fmt: skip
    lines = [f"- {name}: {hook.safe_line(text, STATEMENT_CHARACTERS)}" for name, text in statements.items()]
    session = f", session {active.session_id}" if active.session_id.startswith(CLIENT_SESSION) else ""
    head = f"## Active experience {active.id} ({active.domain}, {active.strategy}{session})"
    return "\n".join([head, *lines, "- resolve it when its outcome is known (satchel experience resolve)"])


def _brief(hook: EventContext, before: str, tokens: int, notice: str) -> Answer:
    active = active_experience(hook)
    count = counter(hook.settings.budget_tokenizer).count
    rest = max(min(tokens - count(before) - count(active), BRIEF_TOKENS), 1)
    room = max(int(rest * WORK_SHARE), 1)
    lessons, deliver_lessons = hook.engine.lessons.told(None, **hook.options(max_tokens=room))
    told = [item.id for item in lessons.items]
    options = hook.options(max_tokens=max(rest - lessons.usage.used, 1), exclude=told)
    request = hook.engine.brief_request(**options)
    context = hook.engine.answers.unrecorded(request)
    brief = context.text if context.items else ""
    text = "\n\n".join(filter(None, (before, active, lessons.text, brief)))
    to_review = hook.engine.memory.review.notice()
    if not text:
        return nothing("nothing is remembered here yet", notice or to_review)
    contexts = tuple(other for other in (lessons, context) if other.items)
    items = sum(len(other.items) for other in contexts)
    parts = ("what was before" if before else "", "the active experience" if active else "",
             counted(items) if items else "", to_review)  # fmt: skip
    shown = ", ".join(filter(None, parts))
    notice = notice or f"satchel: {shown} (satchel hook log shows them)"
    deliver = partial(hook.engine.answers.deliver, request, context)
    return Answer(telemetry.INJECTED, shown, text, notice, count(text), contexts, (deliver_lessons, deliver))


def before_compaction(hook: EventContext) -> Answer:
    """Store the conversation. Prompts and changes are stored at every event, and shown after the compaction."""
    if not hook.claim("save", DUPLICATE_SECONDS):
        return nothing("the conversation was saved a moment ago")
    return _captured(hook, is_kept=hook.settings.hooks_capture != NEVER)


def at_end(hook: EventContext) -> Answer:
    """Store the conversation if the settings demand it at the end of every session."""
    if not hook.claim("end", DUPLICATE_SECONDS):
        return nothing("the end of the session was told a moment ago")
    return _captured(hook, is_kept=hook.settings.hooks_capture == ALWAYS)


def _captured(hook: EventContext, *, is_kept: bool) -> Answer:
    """Import the transcript in the background, and learn from it: it may have megabytes, and each line is redacted."""
    tasks = [background.CAPTURE] * is_kept + [background.LEARN] * (hook.settings.memory_capture != "off")
    if not tasks:
        return nothing(f"hooks.capture is {hook.settings.hooks_capture}, memory.capture off")
    event = hook.event
    if event.host not in (hosts.CLAUDE_CODE.name, hosts.CODEX.name) or not event.transcript:
        return Answer(telemetry.SAVED, "what was asked and changed; the host names no transcript that can be read")
    path = Path(event.transcript).expanduser()
    if not path.is_file():
        return nothing("the transcript is not there")
    background.capture(tasks, hook.places.root, str(path.absolute()), hook.folders.state)
    shown = {background.CAPTURE: "the conversation", background.LEARN: "what is worth remembering, to be reviewed"}
    return Answer(telemetry.SAVED, " and ".join(shown[task] for task in tasks))


USUAL_WORDS = Path(__file__).with_name("usual_words.txt")
"""Stems by the share of pieces of other projects that contain them, as powers of 1/2; `benchmarks/usual_words.py`."""


@cache
def usual_shares() -> Mapping[str, float]:
    """Return the share of pieces of other projects, by stem."""
    rows = (line.split() for line in USUAL_WORDS.read_text(encoding="utf-8").splitlines())
    return {stem: 0.5 ** int(power) for power, *stems in rows for stem in stems}


def peculiarity(prompt: str, engine: Satchel) -> float:
    """Return the largest log ratio of how often words of the prompt are here and elsewhere; commits do not count."""
    of_index = _peculiarity(prompt, engine.store)
    try:
        return max(of_index, _peculiarity(prompt, engine.memory_store))
    except SatchelError:  # a memory that cannot be read: the packed context reports it
        return of_index


def _peculiarity(prompt: str, store: Any) -> float:
    # Characters of a prompt that name its subject: a long issue has words of every project.
    telling = (word for word in words(prompt[:300]) if len(word) >= 3 and word.lower() not in STOP_WORDS)
    terms = sorted({term_of(word) for word in telling})
    lexicons = [*map(store.lexicon, {*store.kinds()} - {Kind.COMMIT})]
    pieces = sum(lexicon.chunk_count for lexicon in lexicons)
    if not pieces:
        return 0.0
    count = dict.fromkeys(terms, 0)
    for lexicon in lexicons:
        for term, row in zip(terms, lexicon.postings(terms), strict=True):
            count[term] += len(row.body[0]) + len(row.name[0])
    usual = usual_shares()
    ratios = ((count[term] / pieces + weights.RARE) / (usual.get(term, 0.0) + weights.RARE) for term in terms)
    return math.log(max(ratios, default=1.0))


def prompt_certainty(prompt: str, context: Context, engine: Satchel) -> float:
    """Return the probability, 0 to 1, that a prompt is about what the context shows, so that it is worth showing."""
    if not context.items:
        return 0.0
    limit = MIN_STRENGTH
    strength = min(max(float(context.meta["strength"]), limit), 1 - limit)
    missing = len(context.meta["missing_terms"]) / max(telling_words(prompt), 1)
    subject = weights.SUBJECT * peculiarity(prompt, engine)
    evidence = weights.STRENGTH * math.log(strength / (1 - strength)) + weights.MISSING * missing
    log_odds = evidence + subject + weights.BIAS
    return 1 / (1 + math.exp(-log_odds))
