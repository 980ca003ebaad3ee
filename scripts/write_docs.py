"""Write the generated parts of the documentation, or check that they are up to date.

    python scripts/write_docs.py [--check]

docs/cli.md is the help of every command; the tables of docs/configuration.md list every setting, those of
docs/sources/memories.md every choice, those of docs/mcp.md every tool with its arguments,
docs/sources/languages.md what is known of each language, with the figures of benchmarks/results/relations*.json,
docs/architecture.md the rooms and how they import each other, docs/clients.md and docs/hooks.md the clients. With
`--check` nothing is written, and the exit status is 1 when a page differs from what would be written.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from satchel.operations.operation import Parameter, Shape

DOCS = Path(__file__).resolve().parents[1] / "docs"
SOURCE = DOCS.parent / "src" / "satchel"

WIDTH = 100
"""Columns of the help texts, so that the page does not depend on who writes it."""

CLI_HEAD = """# Command line

Written by `make docs` from the help; `satchel COMMAND --help` shows all options of a command in one place. Text for
people and programs goes to standard output, everything else to standard error. Exit codes: 0 an answer (an empty one
too), 1 and 3 as each command says, 2 a wrong call, 10 no folder that could be indexed, 11 another process holds the
index, 130 interrupted.
"""

SHARED_HEAD = """## Options that several commands share

Every command accepts `--root`, `--workspace`, `--color` and `--help`, which are explained above. A section below names
those of the following that its command accepts. One without a usage line has options alone.
"""

SHARED_BY = 2
"""Commands that have an option with the same help, from which on the page explains it once."""

Option = tuple[str, str]
"""How an option is written, and its help."""


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command and all below it, in the order of the help; hidden ones are left out."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from commands(child, _context(child, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _options(command: click.Command, context: click.Context) -> list[Option]:
    """The options of a command with their help; of `--json`, whose help differs everywhere, with one for all."""
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    options = [(name, " ".join(text.split())) for name, text in filter(None, records) if text]
    return [(name, "Print the result as one JSON object." if name == "--json" else text) for name, text in options]


def shared_options(listed: Iterable[Sequence[Option]]) -> list[Option]:
    """The options that several commands have: under each name the help that most of them give."""
    counts = Counter(option for options in listed for option in options)
    commonest: dict[str, Option] = {}
    for option, count in counts.items():
        if count >= SHARED_BY and count > counts[commonest.get(option[0], ("", ""))]:
            commonest[option[0]] = option
    return sorted(commonest.values(), key=lambda option: option[0].lstrip("-"))


def _block(formatter: click.HelpFormatter) -> str:
    lines = (line.rstrip() for line in formatter.getvalue().strip("\n").splitlines())
    return "\n".join(["```text", *lines, "```", ""])


def command_section(
    command: click.Command, context: click.Context, shared: Sequence[Option], of_all: Sequence[Option]
) -> str:
    """The help of a command, with only the names of the options that several commands share."""
    formatter = context.make_formatter()
    if command.collect_usage_pieces(context) != ["[OPTIONS]"]:
        command.format_usage(context, formatter)
    command.format_help_text(context, formatter)
    options = [option for option in _options(command, context) if option not in of_all]
    if special := [option for option in options if option not in shared]:
        with formatter.section("Options"):
            formatter.write_dl(special)
    if names := [re.findall(r"--[a-z-]+", name)[0] for name, text in options if (name, text) in shared]:
        formatter.write_paragraph()
        formatter.write_text(f"Shared options: {', '.join(names)}")
    return _block(formatter)


def cli_page() -> str:
    """The whole of docs/cli.md."""
    from satchel.cli.application import application

    root, *others = commands(application, _context(application, "satchel"))
    of_all = _options(*root)
    shared = shared_options([option for option in _options(*other) if option not in of_all] for other in others)
    formatter = root[1].make_formatter()
    formatter.write_dl(shared)
    help_of_all = "\n".join(line.rstrip() for line in root[1].get_help().splitlines())
    parts = [CLI_HEAD, f"## `satchel`\n\n```text\n{help_of_all}\n```\n", f"{SHARED_HEAD}\n{_block(formatter)}"]
    twins: dict[str, str] = {}
    for command, context in others:
        path = context.command_path
        text = command_section(command, context, shared, of_all)
        twin = twins.setdefault(text.replace(path, "satchel"), path)
        parts.append(f"## `{path}`\n\n{text}" if twin == path else f"## `{path}`\n\nThe same as `{twin}`.\n")
    return "\n".join(parts)


SHORT = re.compile(r"^(an? (whole )?number from |one of |an? )|at most 1,000 ")
"""What a table leaves out of the allowed values of a setting."""

WEIGHTS = "context.weights."
"""Beginning of the settings with one share for each type, which have one row."""


def settings_table() -> str:
    """Every setting as a row of a table."""
    from satchel.settings import SETTINGS

    rows = ["| setting | default | allowed | what it means, and why |", "|---|---|---|---|"]
    weights = {row.key.rpartition(".")[2]: row for row in SETTINGS.values() if row.key.startswith(WEIGHTS)}
    for row in SETTINGS.values():
        key, default, meaning = row.key, "auto" if row.default is None else json.dumps(row.default), row.meaning
        if row.key.startswith(WEIGHTS):
            if row is not next(iter(weights.values())):
                continue
            key, meaning = f"{WEIGHTS}TYPE", meaning.replace(row.key.removeprefix(WEIGHTS), "a type")
            default = "`, `".join(f"{name} {weight.default}" for name, weight in weights.items())
        mark = "" if row.safe else " \\*"
        rows.append(f"| `{key}`{mark} | `{default}` | {SHORT.sub('', row.allowed)} | {meaning}: {row.reason} |")
    return "\n".join(rows)


def vocabulary_table() -> str:
    """Every choice of a memory or an experience, and every limit, as rows of two tables."""
    from satchel import vocabulary

    kinds = {
        "category": vocabulary.MemoryCategory,
        "provenance": vocabulary.Provenance,
        "domain": vocabulary.Domain,
        "strategy": vocabulary.Strategy,
        "outcome": vocabulary.OutcomeStatus,
        "root cause": vocabulary.RootCauseCategory,
        "tier": vocabulary.ConfidenceTier,
    }
    limits = {
        "a memory": f"{vocabulary.MEMORY_CHARACTERS:,} characters",
        "tags of a memory": f"{vocabulary.MAX_TAGS}, each of {vocabulary.TAG_CHARACTERS} characters",
        "importance": f"0 to 1, {vocabulary.DEFAULT_IMPORTANCE} by default",
        "goal, hypothesis, action, prediction": f"{vocabulary.STATEMENT_CHARACTERS:,} characters each",
        "result, surprise, root cause, lesson, takeaway, note": f"{vocabulary.REPORT_CHARACTERS:,} characters each",
    }
    rows = ["| word | values |", "|---|---|"]
    rows += [f"| {name} | {', '.join(f'`{value}`' for value in kind)} |" for name, kind in kinds.items()]
    rows += ["", "| text | limit |", "|---|---|", *(f"| {name} | {limit} |" for name, limit in limits.items())]
    return "\n".join(rows)


MANY_CHOICES = 7
"""Number of allowed words above which a table of tools links to the page that lists them."""


def _argument(parameter: Parameter) -> str:
    """An argument of a tool as a row of a table."""
    spelled = "".join(f", `{alias}`" for alias in parameter.aliases)
    needed = " **Needed.**" if parameter.is_required else ""
    default = "" if parameter.default is None else f" Default: `{json.dumps(parameter.default)}`."
    values = f" One of {', '.join(f'`{choice}`' for choice in parameter.choices)}." if parameter.choices else ""
    if len(parameter.choices) > MANY_CHOICES:
        values = " One of [these](sources/memories.md#words-and-limits)."
    return f"| `{parameter.name}`{spelled} | {parameter.shape} | {parameter.meaning}{values}{default}{needed} |"


def _named(parameter: Parameter, flags: Sequence[str]) -> str:
    """An argument that an option explains: its names, whether it is a list or an object, the option of another name."""
    shape = {Shape.TEXTS: "list", Shape.OBJECT: "object", Shape.COUNTS: "object"}.get(parameter.shape, "")
    option = "" if flags[-1] == f"--{parameter.name.replace('_', '-')}" else f"`{flags[-1]}`"
    details = ", ".join(filter(None, (shape, option)))
    names = " or ".join(f"`{name}`" for name in (parameter.name, *parameter.aliases))
    return f"{names} ({details})" if details else names


def tool_tables() -> str:
    """Every tool with what it does and its arguments: in a table those that no option of the command line explains."""
    from satchel.cli.application import application
    from satchel.operations.registry import TOOLS

    explained = {
        (flag, text)
        for command, context in commands(application, _context(application, "satchel"))
        for name, text in _options(command, context)
        for flag in re.findall(r"--[a-z-]+", name)
    }
    parts = []
    for tool in TOOLS:
        hints = "" if tool.hints.is_read_only else " It changes what is remembered."
        rows, names = ["| argument | type | what it means |", "|---|---|---|"], []
        for parameter in tool.parameters:
            flags = parameter.flags or (f"--{parameter.name.replace('_', '-')}",)
            meaning = parameter.meaning.rstrip(".")
            if any(flag in flags and text.startswith(meaning) for flag, text in explained):
                names.append(_named(parameter, flags))
            else:
                rows.append(_argument(parameter))
        table = ["\n".join(rows)] if len(rows) > 2 else []
        options = [f"As on the command line: {', '.join(names)}."] if names else []
        parts.append("\n\n".join([f"### `{tool.name}`", tool.description + hints, *table, *options]))
    return "\n\n".join(parts)


LANGUAGE_NAMES = {
    "cpp": "C++", "csharp": "C#", "javascript": "JavaScript", "php": "PHP", "tsx": "TSX", "typescript": "TypeScript",
}  # fmt: skip
"""Names that are not those of languages.txt with a capital letter."""

WITHOUT_HEIRS = frozenset({"lua"})
"""Languages with bases that are written as calls: their heirs are not told."""


def judged_sites() -> dict[str, Counter[str]]:
    """Sum the counts of judged call sites by the name of their language."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted((DOCS.parent / "benchmarks" / "results").glob("relations*.json")):
        groups = json.loads(path.read_text(encoding="utf-8")).get("groups", {})
        for name, figures in groups.items():
            counts[name].update({key: figures[key] for key in ("sites", "inside", "links", "right") if key in figures})
    return counts


def language_table() -> str:
    """Every language with a grammar: what is known of its code, and how many calls are resolved rightly."""
    from satchel.sources.code.imports import WITH_IMPORTS
    from satchel.sources.code.languages import GRAMMARS, RULES, Mark, grammar

    judged = judged_sites()
    head = ("language", "outline", "imports", "calls by name", "calls on values", "implementations")
    rows = [f"| {' | '.join(head)} | judged sites | precision | recall |", "|---" * 9 + "|"]
    for language in sorted(GRAMMARS, key=lambda one: (LANGUAGE_NAMES.get(one) or one).lower()):
        marks, is_named = grammar(language).marks, "named" in RULES.get(language, ())
        has_values = Mark.INHERIT in marks and not is_named
        known = [True, language in WITH_IMPORTS, not is_named, has_values]
        known.append(has_values and language not in WITHOUT_HEIRS)
        name = LANGUAGE_NAMES.get(language, language.capitalize())
        counts = judged.get(name, Counter())
        figures = [
            f"{counts['right'] / counts[of]:.2f}".removeprefix("0") if counts[of] else "" for of in ("links", "inside")
        ]
        cells = [name, *("yes" if one else "no" for one in known), str(counts["sites"] or ""), *figures]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def room_imports() -> dict[str, set[str]]:
    """Map each room (folder) to the rooms that its modules import, without `safety` and `system`, which all use."""
    graph: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).parts
        if len(parts) == 1 or parts[0] in {"safety", "system"}:
            continue
        rooms = graph.setdefault(parts[0], set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            rooms |= {name.split(".")[1] for name in names if name.startswith("satchel.")} - {parts[0]}
    graph["engine"] = {"services"}
    return {room: targets & graph.keys() for room, targets in graph.items()}


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def room_diagram() -> str:
    """Draw the rooms with an arrow for each import that no chain of other arrows implies."""
    graph = room_imports()
    lines = ["```mermaid", "graph TD"]
    for room in sorted(graph):
        below = [_reachable(graph, target) for target in graph[room]]
        implied = set().union(*(rooms for rooms in below if room not in rooms))
        lines += [f"    {room} --> {target}" for target in sorted(graph[room] - implied)]
    return "\n".join([*lines, "```"])


def room_table() -> str:
    """Every room with the first sentence of its docstring, and a drawing of their imports."""
    rows = ["| room | what is in it |", "|---|---|"]
    for path in sorted(SOURCE.glob("*/__init__.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        rows.append(f"| `{path.parent.name}/` | {' '.join(docstring.split(chr(10) * 2)[0].split())} |")
    return "\n".join([*rows, "", room_diagram()])


SHOWN_FOLDERS = {
    "$state/": "~/", "$claude/": "~/.claude/", "$codex/": "~/.codex/", "$copilot/": "~/.copilot/",
    "$zed/": "~/.config/zed/", "$config/": "~/.config/", "$code/User/": "$code/",
}  # fmt: skip
"""Beginning of a path in a record of a client -> how a table shows it: the usual place on Linux."""


def _files(files: Mapping[str, str]) -> str:
    """The file of each scope; one that several scopes share once, with all of them."""
    scopes: dict[str, list[str]] = {}
    for scope, path in files.items():
        start = next((start for start in SHOWN_FOLDERS if path.startswith(start)), "")
        scopes.setdefault(SHOWN_FOLDERS.get(start, "") + path.removeprefix(start), []).append(scope)
    return "<br>".join(f"{', '.join(names)}: `{path}`" for path, names in scopes.items())


def client_table() -> str:
    """Every client with its files, and where their format was read."""
    from satchel.clients.records import CLIENTS

    rows = ["| client | server | hooks (`--with-hooks`) | source of the format |", "|---|---|---|---|"]
    for name, client in CLIENTS.items():
        hooks = "none" if client.hooks is None else _files(client.hooks.files)
        hooks = "the same files" if client.hooks and client.hooks.files == client.files else hooks
        rows.append(f"| {client.title}: `{name}` | {_files(client.files)} | {hooks} | {client.source} |")
    return "\n".join(rows)


def host_table() -> str:
    """Every client whose hooks set-up writes, with the events at which it accepts context."""
    from satchel.clients.records import CLIENTS
    from satchel.hooks.hosts import HOSTS, Event

    at = {Event.SESSION_START: "session start", Event.PROMPT: "prompt", Event.BEFORE_TOOL: "before a tool",
          Event.AFTER_TOOL: "after a tool"}  # fmt: skip
    rows = ["| host | accepts context at | notes |", "|---|---|---|"]
    for host in sorted(HOSTS, key=lambda host: [*CLIENTS].index(host.name)):
        if (hooks := CLIENTS[host.name].hooks) is not None:
            accepted = {host.events[name] for name in host.injecting}
            moments = ", ".join(text for event, text in at.items() if event in accepted)
            rows.append(f"| {CLIENTS[host.name].title} | {moments} | {hooks.note} |")
    return "\n".join(rows)


PARTS: Mapping[str, tuple[str, Callable[[], str]]] = {
    "configuration.md": ("settings", settings_table),
    "sources/memories.md": ("vocabulary", vocabulary_table),
    "mcp.md": ("tools", tool_tables),
    "sources/languages.md": ("languages", language_table),
    "architecture.md": ("rooms", room_table),
    "clients.md": ("clients", client_table),
    "hooks.md": ("hosts", host_table),
}
"""Page -> the name of its generated part, and what writes it."""


def page(file: str) -> str:
    """Return a page as it is, with its generated part new."""
    name, table = PARTS[file]
    begin, end = f"<!-- {name}: begin, written by `make docs` -->", f"<!-- {name}: end -->"
    before, _, rest = (DOCS / file).read_text(encoding="utf-8").partition(begin)
    _, is_ended, after = rest.partition(end)
    assert is_ended, f"docs/{file} has no part of generated {name}"
    return f"{before}{begin}\n\n{table()}\n\n{end}{after}"


def main() -> int:
    """Write or check every generated page."""
    pages = {DOCS / "cli.md": cli_page(), **{DOCS / file: page(file) for file in PARTS}}
    stale = [path for path, text in pages.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        name = path.relative_to(DOCS.parent)
        if "--check" in sys.argv[1:]:
            print(f"{name} is out of date: run `make docs`", file=sys.stderr)
        else:
            path.write_text(pages[path], encoding="utf-8")
            print(f"wrote {name}")
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
