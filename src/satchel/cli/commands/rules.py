"""`satchel rules`: which instruction files and contexts there are, which apply, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.files import escape_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from satchel.rules.check import Finding, Report
    from satchel.rules.instructions import Applied

FOUND_SOMETHING = 1

TEXT_SHOWN = 100
"""Characters of a line that is quoted."""


@click.group("rules", context_settings=HELP_OPTIONS)
@common_options
def command() -> None:
    """Say which instruction files apply, and what is wrong with them.

    Known are AGENTS.md, CLAUDE.md, CLAUDE.local.md, .claude/rules/*.md, .cursor/rules/*.mdc and context.yaml.
    """


@command.command("check", context_settings=HELP_OPTIONS)
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "--task", default="", metavar="TEXT", help="What is to be done, for files that say in words when to apply."
)
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@click.option("--strict", is_flag=True, help="End with 1 if there is something to mend.")
@json_option("what applies and why, and every finding")
@common_options
@pass_invocation
def check(
    invocation: Invocation, *, files: Sequence[str], task: str, refresh: bool, strict: bool, as_json: bool
) -> int:
    """Say which instruction files apply to FILEs and why, and what is wrong with any of them.

    Told are files that never apply, lines that contradict or repeat each other, and paths and symbols that are named
    and do not exist any more.
    """
    with Interrupt() as interrupt, opened(invocation) as satchel:
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        report = satchel.check_rules(files, task=task, refresh=False, notes=notes)
        trusted = satchel.trusted
    if as_json:
        streams.write_json(report_data(report, trusted=trusted))
    else:
        for line in report_lines(report, trusted=trusted):
            streams.write_line(escape_name(line))
        for note in report.notes:
            streams.failure(note, color=invocation.color)
    return FOUND_SOMETHING if strict and (report.findings or report.notes) else 0


@command.command("list", context_settings=HELP_OPTIONS)
@json_option("every instruction file and every context")
@common_options
@pass_invocation
def listed(invocation: Invocation, *, as_json: bool) -> int:
    """List every instruction file and every context, and when each applies."""
    with opened(invocation) as satchel:
        rows, contexts, notes = satchel.list_rules()
        trusted = satchel.trusted
    if as_json:
        from satchel.envelope import failure_data

        streams.write_json(
            {
                "trusted": trusted,
                "instructions": [row_data(row) for row in rows],
                "contexts": [
                    {"path": one.context.path, "name": one.context.name, "type": one.context.type,
                     "extends": list(one.context.chain[:-1]), "behavior_rules": len(one.context.behavior),
                     "injection_rules": len(one.context.injection)}
                    for one in contexts
                ],
                "failures": [failure_data(note) for note in notes],
            }
        )  # fmt: skip
        return 0
    for row in rows:
        streams.write_line(escape_name(f"{row.instruction.path}: {row.reason}{_twin(row)}"))
    for one in contexts:
        rules = f"{len(one.context.behavior)} behavior rules, {len(one.context.injection)} injection rules"
        streams.write_line(escape_name(f"{one.context.path or '.'}/context.yaml: {one.context.name}, {rules}"))
    if not rows and not contexts:
        streams.note("there is no instruction file and no context.yaml here", color=invocation.color)
    for note in notes:
        streams.failure(note, color=invocation.color)
    return 0


def _twin(row: Applied) -> str:
    return f" (stands for {row.instruction.stands_for})" if row.instruction.stands_for else ""


def report_lines(report: Report, *, trusted: bool) -> list[str]:
    """The report for people: what applies in its order, then what to look at."""
    applying = [row for row in report.instructions if row.applies]
    lines = (
        [f"applies ({'as guidance' if trusted else 'as data: `satchel trust` makes it guidance'}):"] if applying else []
    )
    lines += [f"  {row.rank}. {row.instruction.path}: {row.reason}{_twin(row)}" for row in applying]
    others = [row for row in report.instructions if not row.applies]
    lines += ["does not apply:"] if others else []
    lines += [f"  {row.instruction.path}: {row.reason}" for row in others]
    lines += ["rules of the root's context:"] if report.evaluated else []
    lines += [f"  {row.rule.label} ({row.rule.place}): {row.verdict}, {row.reason}" for row in report.evaluated]
    lines += ["to look at:"] if report.findings else []
    lines += [f"  {finding_line(finding)}" for finding in report.findings]
    return lines or ["there is no instruction file here"]


def finding_line(finding: Finding) -> str:
    """`CLAUDE.md:3: contradicts AGENTS.md:2: "Use spaces" / "Use tabs"`."""
    other = f" {finding.other_path}:{finding.other_line}" if finding.other_path else ""
    quoted = [text for text in (finding.text, finding.other_text) if text and finding.other_path]
    said = " / ".join(f'"{text[:TEXT_SHOWN]}"' for text in quoted)
    return f"{finding.path}:{finding.line}: {finding.message}{other}{f': {said}' if said else ''}"


def row_data(row: Applied) -> dict[str, Any]:
    """An instruction file as plain values."""
    one = row.instruction
    return {
        "path": one.path,
        "form": one.form.value,
        "folder": one.folder,
        "globs": list(one.globs),
        "description": one.description,
        "stands_for": one.stands_for,
        "imports": list(one.imports),
        "applies": row.applies,
        "rank": row.rank,
        "reason": row.reason,
    }


def finding_data(one: Finding) -> dict[str, Any]:
    """A finding as plain values; `other` is None where there is no second place."""
    other = {"path": one.other_path, "line": one.other_line, "text": one.other_text} if one.other_path else None
    return {"path": one.path, "line": one.line, "text": one.text, "message": one.message, "other": other}


def report_data(report: Report, *, trusted: bool) -> dict[str, Any]:
    """The report as plain values."""
    from satchel.envelope import failure_data

    def rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
        return [finding_data(one) for one in findings]

    return {
        "files": list(report.situation.files),
        "task": report.situation.task,
        "trusted": trusted,
        "instructions": [row_data(row) for row in report.instructions],
        "rules": [
            {"rule": row.rule.label, "place": row.rule.place, "verdict": row.verdict.value, "reason": row.reason}
            for row in report.evaluated
        ],
        "never": rows(report.never),
        "contradictions": rows(report.contradictions),
        "repeats": rows(report.repeats),
        "missing": rows(report.missing),
        "failures": [failure_data(note) for note in report.notes],
    }
