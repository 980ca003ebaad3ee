"""Clients: `satchel setup` and `remove`, the servers `mcp` and `proxy`, and `hook`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Function, Invocation, command, group
from satchel.cli.session import NOTHING_FOUND, PARTLY_DONE, collect_seldom, report
from satchel.clients.records import CLIENTS
from satchel.errors import NoIndexError, UsageError

if TYPE_CHECKING:
    from satchel.clients.setup import FileChange
    from satchel.clients.targets import ClientPlaces
    from satchel.engine import Satchel

PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
"""Environment variable of the host with the folder in which its user works."""


@command("mcp", epilog="`satchel setup CLIENT` adds it to a client; in any other one the command is `satchel mcp`.")
def mcp_command(invocation: Invocation) -> int:
    """Serve a folder to an MCP client over standard input and output.

    A client starts and stops this command. The folder is --root, else CLAUDE_PROJECT_DIR, else the git work tree around
    the current folder. Tools: context_query, graph_context, premortem, situation_context, search,
    expand, remember, experience.
    """
    from satchel.mcp.pipes import take_pipes

    pipes = take_pipes()  # before a library may write to standard output
    from satchel.cli.resident import Resident
    from satchel.mcp.stdio import run

    root = invocation.root
    around = os.environ.get(PROJECT_VARIABLE) or "."
    with Resident(lambda: _opened(around, root), around, root) as resident:
        is_closed = run(resident.engine, pipes, before_close=resident.close)
    if not is_closed:  # a running thread would keep the process alive; the store survives this
        streams.note("ended while a call was running", color=invocation.color)
        os._exit(0)
    return 0


def _opened(around: str, root: Path | None) -> Satchel:
    """Return the engine, imported for the first question, so that the list of tools does not wait for it."""
    from satchel.engine import Satchel

    satchel = Satchel.open(around, root=root)
    collect_seldom()
    return satchel


MAX_TOKENS = 1_000
"""Default budget of one context: a quarter of a question's, because every result of the chosen tools has one."""

MIN_TOKENS = 50
"""Smallest budget: the frame of a context needs it."""


@command("proxy", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--tools", "globs", metavar="GLOB", multiple=True,
              help="Tools whose results get context, as in 'edit_*'.")  # fmt: skip
@click.option("--max-tokens", type=int, default=MAX_TOKENS, show_default=True, metavar="N",
              help="The budget of one context.")  # fmt: skip
@click.option("--session", metavar="ID", help="Do not repeat what this session already received, unless it changed.")
@click.option("--context", metavar="FOLDER", help="The folder of the current context.yaml (that nearest to the files).")
@click.argument("server", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def proxy_command(
    invocation: Invocation,
    /,
    server: Sequence[str],
    *,
    globs: Sequence[str],
    max_tokens: int,
    session: str | None,
    context: str | None,
) -> int:
    """Run another MCP server and add context to the results of the tools you choose.

    COMMAND starts a server that speaks over standard input and output. Everything is passed on unchanged, in both
    directions and in every version of the protocol; only a successful result of a tool that matches --tools gets one
    more item of text: the instructions and history that apply to this call, as `satchel situation` packs them. If no
    context is ready in time, the result is passed on unchanged. Exits with the exit code of the server.
    """
    chosen = [glob for text in globs for glob in text.split(",") if glob]
    if not chosen:
        raise UsageError("no tool is chosen: name some with --tools 'edit_*' (repeat it), or all with --tools '*'")
    if not server:
        raise UsageError("there is no command: write it after `--`, as in `satchel proxy --tools '*' -- npx SERVER`")
    if max_tokens < MIN_TOKENS:
        raise UsageError(f"--max-tokens is {max_tokens}: give {MIN_TOKENS} or more, {MAX_TOKENS:,} is the default")
    root = invocation.root
    from satchel.mcp.proxy import ProxyContexts, has_standard_streams, run_proxy

    if not has_standard_streams():
        raise UsageError("standard input or output is closed: an MCP client starts this command with both")

    is_ending = threading.Event()
    contexts = ProxyContexts(lambda: _opened(".", root), max_tokens, is_ending, session or "", context or "")
    return run_proxy(server, chosen, contexts, is_ending)


EVENTS = (
    "session-start", "subagent-start", "prompt", "before-tool", "after-tool", "before-compaction", "session-end",
)  # fmt: skip


@group("hook", context_settings={**HELP_OPTIONS, "max_content_width": 100}, invoke_without_command=True,
             subcommand_metavar="EVENT | log",
             epilog=f"Events: {', '.join(EVENTS)}. A client runs `satchel hook EVENT` and writes JSON to its standard "
             "input; the answer is one JSON object, or nothing. It always exits with 0, within two seconds (five "
             "where a server runs on a busy machine). "
             "SATCHEL_HOOKS=0 switches all events off.")  # fmt: skip
@click.pass_context
def hook_command(context: click.Context) -> None:
    """Answer an event of a client; show what was injected.

    `satchel setup CLIENT --with-hooks` makes a client report its events. The answer is a brief when a session starts,
    the few items that are relevant to a prompt, and after a failed test or build what failed like this before.
    """
    if context.invoked_subcommand is None:
        streams.say(context.get_help())


@command("log", hook_command, shows="the events, also those without an effect,")
@click.option("-n", "--limit", "most", type=click.IntRange(min=1), default=20, metavar="N",
              help="The newest N events (20).")  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Also the events without an effect.")
def log(invocation: Invocation, *, most: int, everything: bool) -> int:
    """Show what hooks injected, when, and what it cost.

    The log has the ids of what was injected, but not the text.
    """
    from satchel import config
    from satchel.system import telemetry

    state = config.Folders.from_environment(os.environ).state
    entries = telemetry.hook_entries(state)
    if invocation.as_json:
        streams.write_json({"entries": entries[-most:], "file": str(telemetry.hook_log_file(state))})
        return 0
    telling = entries if everything else [entry for entry in entries if entry.get("outcome") != telemetry.NOTHING]
    if telling:
        streams.write_line("\n".join(line for entry in telling[-most:] for line in lines_of(entry)))
    silent = len(entries) - len(telling)
    if not entries:
        streams.note("no event was answered yet: `satchel setup CLIENT --with-hooks` makes a client report some",
                     color=invocation.color)  # fmt: skip
    elif silent:
        streams.say(f"{silent} more had no effect: `satchel hook log --all` says why", color=invocation.color, dim=True)
    return 0


def lines_of(entry: Mapping[str, Any]) -> list[str]:
    """Return an event with its outcome and cost, and a line for each item."""
    cost = f"{entry.get('tokens', 0):,} tokens, {entry.get('ms', 0):,} ms"
    who = " ".join(filter(None, (str(entry.get("host", "")), str(entry.get("session", "")))))
    head = (f"{entry.get('at', '')}  {entry.get('event', ''):<17}  {entry.get('outcome', ''):<8}  {cost:>22}  "
            f"{entry.get('reason', '')}" + (f"  [{who}]" if who else ""))  # fmt: skip
    return [head, *(f"    {item.get('tokens', 0):>5}  {item.get('id', '')}" for item in entry.get("items", ()))]


def client_options(function: Function, *, is_needed: bool = True) -> Function:
    """CLIENT, --scope, --force and --dry-run."""
    for option in reversed(
        (
            click.argument("client", type=click.Choice([*CLIENTS]), required=is_needed,
                           metavar="CLIENT" if is_needed else "[CLIENT]"),
            click.option("--scope", type=click.Choice(["local", "project", "user"]),
                         help="Whose settings: yours here (local), everybody's here (project), or yours (user)."),
            click.option("--force", is_flag=True, help="Overwrite an entry of this name that satchel did not write."),
            click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


def places_of(invocation: Invocation, *, needs_root: bool) -> ClientPlaces:
    """Return where the files lie. The folder is looked for only where one of them is in it: `user` works everywhere."""
    from satchel.clients.targets import ClientPlaces
    from satchel.config import home_of
    from satchel.system.locations import find_root

    home = home_of(os.environ)
    root = find_root(Path(), invocation.root) if needs_root else Path()
    return ClientPlaces(home, root, os.environ)


def change_data(changes: Sequence[FileChange], *, is_dry: bool) -> dict[str, Any]:
    """Return the changes of files as plain JSON values."""
    from satchel.clients.edits import diff

    names = [(str(change.target.file), change) for change in changes]
    rows = [
        {"file": name, "action": change.action, "diff": diff(name, change.before, change.after)}
        for name, change in names
    ]
    return {"written": not is_dry and any(change.is_change for change in changes), "changes": rows}


def show_diffs(invocation: Invocation, changes: Sequence[FileChange]) -> None:
    """Write the diff of each file to standard output, unless the answer is JSON."""
    from satchel.clients.edits import diff, display

    for change in () if invocation.as_json else changes:
        if shown := diff(display(change.target.file), change.before, change.after):
            streams.write_line(_colored(shown, invocation.color))


def say_done(changes: Sequence[FileChange], *, is_dry: bool, color: str) -> None:
    """Say on standard error what was done with each file."""
    from satchel.clients.edits import display

    for change in changes:
        streams.say(f"{_WORDS[change.action][is_dry]} {display(change.target.file)}", color=color)


_WORDS = {
    "added": ("added to", "would add to"),
    "updated": ("updated", "would update"),
    "removed": ("removed from", "would remove from"),
    "unchanged": ("already set up in",) * 2,
    "absent": ("not set up in",) * 2,
}
"""Action -> what was done with the file, and what would be."""

_WHOSE = {"local": "for you in this folder", "project": "for everybody in this folder", "user": "for you everywhere"}
_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def _colored(text: str, choice: str) -> str:
    if not streams.wants_color(sys.stdout, choice):
        return text
    return "\n".join(click.style(line, fg=_COLORS.get(line[:1])) for line in text.split("\n"))


def _default_scopes() -> str:
    """Return the clients of each default scope: `local for claude-code, project for the others`."""
    clients: dict[str, list[str]] = {}
    for name, client in CLIENTS.items():
        clients.setdefault(next(iter(client.files)), []).append(name)
    *few, most = sorted(clients, key=lambda scope: len(clients[scope]))
    return ", ".join([*(f"{scope} for {' and '.join(clients[scope])}" for scope in few), f"{most} for the others"])


@command(
    "setup",
    shows="the files, their diffs and the next steps",
    epilog=f"Clients: {', '.join(CLIENTS)}. Default scope: {_default_scopes()}.",
)
@partial(client_options, is_needed=False)
@click.option("--with-hooks", is_flag=True, help="Also install hooks: the client reports events to satchel.")
@click.option("--command", "command_text", metavar="TEXT", help="The command that starts satchel (the one used now).")
def setup_command(
    invocation: Invocation,
    /,
    *,
    client: str | None,
    scope: str | None,
    with_hooks: bool,
    command_text: str | None,
    force: bool,
    dry_run: bool,
) -> int:
    """Add satchel to a client: its MCP server and, if you want, its hooks.

    Without CLIENT it finds the clients that are installed; on a terminal it shows the change for each one and asks
    before it writes, elsewhere it lists the commands. Then it starts the server once, as the client will, and exits
    with status 3 if that fails.

    The difference is shown first; everything else in the file stays as it was, comments and order included. With
    hooks, the client sends your prompts to satchel on this machine, so they need --with-hooks. `satchel remove CLIENT`
    undoes all of it.
    """
    clients = _offered(invocation) if client is None else [client]
    given: dict[str, Any] = {"with_hooks": with_hooks, "command_text": command_text, "force": force, "is_dry": dry_run}
    return max((_set_up(invocation, other, scope, is_asked=not client, **given) for other in clients), default=0)


def _set_up(
    invocation: Invocation,
    client: str,
    scope: str | None,
    *,
    with_hooks: bool,
    command_text: str | None,
    force: bool,
    is_dry: bool,
    is_asked: bool,
) -> int:
    """Set satchel up in one client, after a yes if a person is asked; returns the exit code."""
    from satchel.clients import setup, targets
    from satchel.config import Folders

    chosen = targets.check_scope(client, scope)
    places = places_of(invocation, needs_root=chosen != "user")
    started = (
        targets.parse_command(command_text, is_shared=targets.is_shared(chosen))
        if command_text is not None
        else targets.find_launch(is_shared=targets.is_shared(chosen))
    )
    state = Folders.from_environment(os.environ).state
    wanted_targets = targets.targets(client, chosen, places, started, with_hooks=with_hooks)
    changes = [setup.planned(target, state, force=force) for target in wanted_targets]
    tools, fault = 0, ""
    show_diffs(invocation, changes)
    question = f"Add satchel to {client} {_WHOSE[chosen]}?"
    if is_asked and not is_dry and not click.confirm(question, default=True, err=True):
        return 0
    if not is_dry:
        setup.apply(changes, state)
        tools, fault = setup.start_once(wanted_targets[0], places)
    steps = targets.next_steps(client, chosen, with_hooks=with_hooks)
    code = PARTLY_DONE if fault else 0
    if invocation.as_json:
        data = {"client": client, "scope": chosen, "command": list(started.words)}
        data |= {**change_data(changes, is_dry=is_dry), "notes": list(started.notes), "next": list(steps)}
        streams.write_json(data if is_dry else {**data, "started": {"tools": tools, "fault": fault}})
        return code
    say_done(changes, is_dry=is_dry, color=invocation.color)
    for note in started.notes:
        streams.note(note, color=invocation.color)
    if fault:
        streams.note(f"the server was started once and does not work: {fault}", color=invocation.color)
    elif not is_dry:
        streams.say(f"started the server once: it answers and lists {tools} tools", color=invocation.color)
        streams.say("\n".join(["to see that it works:", *(f"  {step}" for step in steps)]), color=invocation.color)
    return code


def _offered(invocation: Invocation) -> list[str]:
    """Return the installed clients without satchel for a person at the terminal; elsewhere list them and return none.

    Raises UsageError if no client is installed.
    """
    from satchel.clients import setup, targets

    places = places_of(invocation, needs_root=True)
    rows = {client: setup.is_set_up(client, places) for client in targets.installed(places)}
    if not rows:
        raise UsageError(f"no client was found on this machine: name the one to set up, one of {', '.join(CLIENTS)}")
    if invocation.as_json or not all(map(streams.is_terminal, (sys.stdin, sys.stderr))):
        data = [{"client": name, "is_set_up": done, "command": f"satchel setup {name}"} for name, done in rows.items()]
        width = max(map(len, rows))
        lines = [f"{row['client']:<{width}}  {'is set up' if row['is_set_up'] else row['command']}" for row in data]
        if not invocation.as_json:
            streams.note(
                "clients found on this machine; a terminal is needed to set up all at once", color=invocation.color
            )
        report(invocation, {"clients": data}, lines)
        return []
    for client in filter(rows.get, rows):
        streams.say(f"{client} is set up already", color=invocation.color)
    return [*filterfalse(rows.get, rows)]


@command("remove", shows="the files and their diffs")
@client_options
def remove_command(invocation: Invocation, /, *, client: str, scope: str | None, force: bool, dry_run: bool) -> int:
    """Remove satchel from a client.

    Removes the server and the hooks from every scope unless --scope names one, and the mappings and lists around them
    that are then empty; every other byte of the file stays. Memories are not touched. Exits with status 1 if there is
    nothing to remove.
    """
    from satchel.clients import setup, targets
    from satchel.clients.edits import display
    from satchel.config import Folders

    scopes, places = _scopes_to_clear(invocation, client, scope)
    state = Folders.from_environment(os.environ).state
    wanted_targets = [target for chosen in scopes for target in targets.all_targets(client, chosen, places)]
    changes = setup.removals(wanted_targets, state, force=force)
    show_diffs(invocation, changes)
    if not dry_run:
        setup.apply(changes, state)
    if scope is None:
        changes = [change for change in changes if change.is_change]
    if invocation.as_json:
        data = {"client": client, "scopes": list(scopes), **change_data(changes, is_dry=dry_run)}
        streams.write_json(data | {"elsewhere": [str(file) for file in setup.files_set_up(state)]})
    else:
        say_done(changes, is_dry=dry_run, color=invocation.color)
        if not changes:
            streams.say(f"satchel is not set up in {client}", color=invocation.color)
        if not dry_run and (others := setup.files_set_up(state)):
            listed = ", ".join(display(file) for file in others)
            streams.note(f"still set up in {listed}: run `satchel remove` for that client, in that folder")
    return 0 if any(change.is_change for change in changes) else NOTHING_FOUND


def _scopes_to_clear(invocation: Invocation, client: str, scope: str | None) -> tuple[tuple[str, ...], ClientPlaces]:
    """Return the scopes to remove satchel from, all of them without `scope`, and where their files are."""
    from satchel.clients import targets

    scopes = tuple(CLIENTS[client].files) if scope is None else (targets.check_scope(client, scope),)
    try:
        return scopes, places_of(invocation, needs_root=scopes != ("user",))
    except NoIndexError:
        if scope is not None or "user" not in scopes:
            raise
        streams.note("there is no project here: only your settings for every folder are checked")
        return ("user",), places_of(invocation, needs_root=False)
