"""`satchel premortem`: what went wrong before in this kind of work."""

from __future__ import annotations

from typing import Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.session import opened
from satchel.cli.unasked import given, packing_options, show
from satchel.vocabulary import Domain, Strategy


@click.command("premortem", context_settings=HELP_OPTIONS)
@click.option("--domain", required=True, metavar="D", help=f"The kind of work: one of {', '.join(Domain)}.")
@click.option("--strategy", metavar="S", help=f"How it is gone about: one of {', '.join(Strategy)}.")
@packing_options
@json_option("the premortem with its items, signals, overflow and usage")
@common_options
@pass_invocation
def command(
    invocation: Invocation, /, *, domain: str, strategy: str | None, as_json: bool, strict: bool, **options: Any
) -> int:
    """Show what went wrong before in this kind of work.

    Past failures, how the strategy went, surprises, root causes and principles, from the experiences that are
    remembered here; each is shown once. The budget is 1,500 tokens.
    """
    with opened(invocation) as satchel:
        request = satchel.premortem_request(domain, strategy, **given(options))
        context = satchel.answer(request)
    if as_json:
        from satchel.envelope import context_envelope

        streams.write_json(context_envelope(context, request))
    else:
        streams.write_text(context.text)
    nothing = f"no experience of {domain} failed here yet: keep them with `satchel experience start`"
    return show(context, nothing, color=invocation.color, strict=strict)
