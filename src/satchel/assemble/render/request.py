"""What the frame of a context says besides its items."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from satchel.types import Failure, Kind, Omission, ShownBefore, View

DEFAULT_TITLE = "Context"


class Stop(StrEnum):
    """Why nothing more was put into an answer, as its footer says it."""

    NOT_WORTH_IT = "the rest was not worth it"
    FULL = "full"
    COMPLETE = "everything relevant is shown"


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """The frame of one answer. Every part of it costs tokens and is therefore counted.

    `show_sources` adds the list of the first ten sources; `show_code` false leaves files without their lines, as
    locations and names; `group_by_type` puts the items under the four titles by type instead of one section a kind.
    With `overview` the files are named first, best first, where there are more than two; `limit`, the budget in
    tokens, bounds that list. The best few of `overflow` are named with their handles, the others are a number. All
    `failures` share one line; `summary` is one line. `show_handles` lists the handles of what is shown in part. With
    a `tokenizer` (its name as the footer shows it) the footer also says how many items there are of each type.
    `query` appears in JSON only, and only if it is short. `lead` is the kind whose section comes first; with
    `has_guidance` the notice says that records titled Guidance are to be followed. `title` stands above everything;
    with `based_on` the footer counts only what is shown of that kind: `Based on 3 past experiences`. `shown_before`
    are the references to what a session has already, a line each, and `shown_before_more` the number of those not
    named. `not_found` are telling words of the question that occur nowhere; `weak` says that nothing shown answers it
    well; `call_sites` are lines that list who calls what it asks about. With `used` (the tokens of the text itself,
    see `render_with_usage`) the footer says how much of `limit` was used and why it `stopped` there.
    """

    query: str = ""
    show_sources: bool = False
    show_code: bool = True
    group_by_type: bool = False
    overflow: tuple[Omission, ...] = ()
    failures: tuple[Failure, ...] = ()
    truncated: bool = False
    summary: str = ""
    tokenizer: str = ""
    view: View = View.SECTIONS
    show_handles: bool = False
    lead: Kind | None = None
    has_guidance: bool = False
    title: str = DEFAULT_TITLE
    based_on: Kind | None = None
    shown_before: tuple[ShownBefore, ...] = ()
    shown_before_more: int = 0
    overview: bool = True
    not_found: tuple[str, ...] = ()
    weak: bool = False
    call_sites: tuple[str, ...] = ()
    limit: int = 0
    used: int = 0
    stopped: str = ""
