"""`--diff` and `--staged`: the context of a change that is under way."""

from __future__ import annotations

import click

from satchel.cli.options import Function

HEAD = "HEAD"

UNASKED = "what does this change concern"
"""Stands for the question until the change is read, where nobody asks one."""

_DIFF = click.option(
    "--diff",
    "revision",
    is_flag=False,
    flag_value=HEAD,
    metavar="[REV]",
    help="What your changes since REV (HEAD by default) concern: callers, tests, commits. A question is optional.",
)
_STAGED = click.option("--staged", is_flag=True, help="The same for what is staged.")


def change_options(function: Function) -> Function:
    """Add `--diff [REV]`, which arrives as `revision`, and `--staged`."""
    return _DIFF(_STAGED(function))


def separated(words: list[str], revision: str | None, *, staged: bool) -> tuple[list[str], str | None]:
    """The words of the question and the revision. `--diff 'a question'` has no revision: those contain no blanks.

    Raises click.UsageError where there is neither a question nor a change.
    """
    if revision is not None and " " in revision.strip():
        words, revision = [revision, *words], HEAD
    if not words and revision is None and not staged:
        raise click.UsageError("Missing argument 'QUESTION|-'.")
    return words, revision or (HEAD if staged else None)
