"""A prompt: the little that is relevant to it, or nothing."""

from __future__ import annotations

import re
import time
from functools import partial
from hashlib import blake2b

from satchel import hook_log
from satchel.hooks.desk import INDEX_NAME, Answer, Desk, nothing
from satchel.hooks.loaded import excluded, mentioned, without_mentions
from satchel.text import STOP_WORDS, WORD
from satchel.types import Context

PROMPT_CHARACTERS = 20_000
"""Of a prompt so much is asked about, from its beginning: a pasted log repeats itself."""

KEPT_CHARACTERS = 200
"""Of the first line of a prompt, kept for after a compaction."""

DUPLICATE_SECONDS = 10.0

STALE_SECONDS = 30.0
"""An index that was looked after more recently is taken as it is; what is shown is compared with its file anyway."""

FEWEST_WORDS = 3
"""Words with a meaning of their own that a prompt has, unless it names something in code; a question has one less."""

_CHATTER = """
    again agree ahead alright anything apply approve back bad best better bit bye change check cheers commit confirm
    continue cool correct done easy else enough everything exactly example exit explain far finally fine finish first
    fix forward good great happy hello help hey hi idea issue keep know last later leave lgtm little long look looks lot
    love maybe mean minute moment nah need new next nice nope nothing now okay ok old option part perfect point possible
    problem proceed question quick quickly ready really redo retry revert review right run second simple someone
    something sorry start step still stop stuff summarise summarize super sure take task tell test tests thing things
    think thought time today tomorrow try undo understand use wait want weird well wonderful word work works worse write
    wrong yeah yep yes yesterday yet
"""

CHATTER = STOP_WORDS.union(_CHATTER.split())
"""Words that say nothing about code when they stand alone, whatever code they also occur in."""

_NAMED = re.compile(
    r"`[^`\n]+`|\b[\w.-]+/[\w./-]+|\b\w+\.\w{1,5}\b(?!\.)|\b[A-Za-z]+_\w+|\b[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+|\w\(\)|--\w"
)
"""What is written as a name: in backquotes, a path, a file, snake_case, camelCase, a call, an option."""

_QUESTION = re.compile(r"\b(?:where|how|why)\b", re.IGNORECASE)
"""Who asks like this looks for something: "where are retries handled?" has two words to look for, and is a question."""

_COMMAND = re.compile(r"^(?:/[a-z][\w:-]*(?=\s|$)|[!#<])")
"""A prompt that is meant for the host: `/compact`, `!ls`, `#remember this`, or a message that it wrote itself."""


def answer(desk: Desk) -> Answer:
    """Context for the prompt, where there is some that is relevant enough."""
    prompt = desk.happening.prompt.strip()
    if not prompt:
        return nothing("the host sent no prompt")
    if _COMMAND.match(prompt):
        return nothing("the prompt is a command of the host")
    if desk.session is not None:
        desk.session.note_prompt(desk.safe_line(prompt, KEPT_CHARACTERS))
    if not desk.happening.injects:
        return nothing("the host takes no context with a prompt")
    if not asks_something(prompt):
        return nothing("the prompt names nothing to look for")
    if not desk.settings.hooks_prompt_tokens:
        return nothing("hooks.prompt_tokens is 0")
    if not desk.claim(f"prompt:{_digest(prompt)}", DUPLICATE_SECONDS):
        return nothing("the same prompt was answered a moment ago")
    if not desk.has_index:
        return _without_index(desk)
    if is_stale(desk):
        desk.refresh()
    return desk.packed(lambda tokens: _packed(desk, prompt, tokens), desk.settings.hooks_prompt_tokens)


def asks_something(prompt: str) -> bool:
    """Whether a prompt names something, or has words enough to look for."""
    if _NAMED.search(prompt) or mentioned(prompt):
        return True
    return telling_words(prompt) >= FEWEST_WORDS - bool(_QUESTION.search(prompt))


def telling_words(prompt: str) -> int:
    """How many different words of a prompt say something."""
    words = {word.lower() for word in WORD.findall(prompt[:PROMPT_CHARACTERS])}
    return len({word for word in words if len(word) > 2} - CHATTER)


def best_relevance(context: Context) -> float:
    """The relevance that decides whether an answer is worth an interruption: what is beside its best may be less."""
    return max((item.relevance for item in context.items), default=0.0)


def is_stale(desk: Desk) -> bool:
    """Whether nobody has looked for changes lately."""
    try:
        last = (desk.places.index / "index.lock").stat().st_mtime
    except OSError:
        last = 0.0
    return desk.is_project and not 0 <= time.time() - last < STALE_SECONDS


def _without_index(desk: Desk) -> Answer:
    if not desk.is_project:
        return nothing("this folder is no project: it is indexed when somebody asks (satchel index)")
    is_first = desk.refresh()
    notice = "satchel is indexing this folder; prompts get context as soon as it is done"
    return nothing(f"the index is being built ({INDEX_NAME} is not there yet)", notice if is_first else "")


def _packed(desk: Desk, prompt: str, tokens: int) -> Answer:
    attached = [*mentioned(prompt), *desk.happening.attached]
    least = desk.settings.hooks_min_relevance
    options = desk.options(max_tokens=max(tokens, 1), exclude=excluded(desk.places.root, desk.folder, attached))
    engine = desk.engine
    request = engine.request(without_mentions(prompt)[:PROMPT_CHARACTERS], **options)
    context = engine.unrecorded(request)
    if not context.items or best_relevance(context) < least:
        has_it = bool(context.shown_before)
        return nothing("the session has what is relevant" if has_it else f"nothing is relevant enough ({least:.2f})")
    return Answer(
        hook_log.INJECTED,
        "relevant to the prompt",
        context.text,
        "",
        context.usage.used,
        (context,),
        (partial(engine.deliver, request, context),),
    )


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
