"""What the public can name is documented, and the documentation names only what exists."""

from __future__ import annotations

import functools
import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import is_typeddict

import click

import satchel
from satchel.answer import request
from satchel.cli.application import COMMANDS, application
from satchel.graph import request as graph_request
from satchel.settings import Settings
from satchel.types import SEARCHED_TYPES
from tests.architecture.tree import ROOT, repository_files

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.DOTALL | re.MULTILINE)
DECISION = re.compile(r"docs/decisions/(\d{4})")
FILE_NAME = re.compile(r"(?<![\w:./-])[\w./-]*\w\.(?:py|js|json|txt|bin|scm)\b")
GONE = re.compile(r"`([^`]+)` is gone")
OPTIONS_ELSEWHERE = re.compile("`(assemble|graph|premortem|brief)`")
MAKE_COMMAND = re.compile(r"`make ([a-z-]+)")


def page(path: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def command_paths(command: click.Command, path: str) -> Iterator[str]:
    """`satchel`, `satchel index`, `satchel config show`: every command, hidden ones left out."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from command_paths(child, f"{path} {name}")


def test_every_public_name_has_a_docstring() -> None:
    for name in satchel.__all__:
        value = getattr(satchel, name)
        if isinstance(value, type) or callable(value):
            own = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
            assert own, f"satchel.{name} has no docstring"
            assert not own.startswith(f"{name}("), f"satchel.{name} has only the docstring that dataclass wrote"


def methods() -> dict[str, Callable[..., object]]:
    """The public methods of `Satchel` by name; of a class method its function."""
    members = {name: getattr(value, "__func__", value) for name, value in vars(satchel.Satchel).items()}
    return {name: value for name, value in members.items() if inspect.isfunction(value) and not name.startswith("_")}


def options_of(method: Callable[..., object]) -> frozenset[str]:
    """The names of the options of a method, from the TypedDict of its last parameter."""
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
            assert unpacked is not None, f"{method.__qualname__} takes {parameter}"
            table = getattr(graph_request, unpacked[1], None) or getattr(request, unpacked[1])
            assert is_typeddict(table)
            return frozenset(table.__annotations__)
    return frozenset()


def test_every_method_shows_its_parameters_and_says_what_it_does() -> None:
    assert {"open", "search", "answer", "graph", "asearch"} <= methods().keys()
    for name, method in methods().items():
        kinds = [parameter.kind for parameter in inspect.signature(method).parameters.values()]
        assert inspect.Parameter.VAR_POSITIONAL not in kinds, name
        assert inspect.getdoc(method), f"Satchel.{name} has no docstring"
        options_of(method)


def test_every_property_says_what_it_is() -> None:
    kinds = (property, functools.cached_property)
    assert all(value.__doc__ for value in vars(satchel.Satchel).values() if isinstance(value, kinds))


def test_the_help_of_a_method_names_its_options_or_the_method_that_does() -> None:
    for name, method in methods().items():
        shown = pydoc.plain(pydoc.render_doc(method))
        unnamed = [option for option in options_of(method) if f"`{option}`" not in shown]
        assert not unnamed or (name not in ("assemble", "graph") and re.search(OPTIONS_ELSEWHERE, shown)), name


def test_a_twin_has_the_parameters_of_its_method() -> None:
    twins = {name: method for name, method in methods().items() if inspect.iscoroutinefunction(method)}
    assert len(twins) == 12
    for name, twin in twins.items():
        assert inspect.signature(twin) == inspect.signature(methods()[name[1:]])
        assert twin.__name__ == name


def test_every_option_of_a_question_is_accepted_and_in_the_python_page() -> None:
    accepted = request.request_fields().keys() | {"purpose"}
    options = request.QuestionOptions.__annotations__.keys()
    assert options <= accepted
    text = page("docs/python.md")
    assert not [name for name in options if f"`{name}`" not in text]


def test_every_public_name_is_in_the_python_page() -> None:
    text = page("docs/python.md")
    missing = [name for name in satchel.__all__ if not re.search(rf"`{re.escape(name)}\b", text)]
    assert not missing, f"docs/python.md does not name {missing}"


def test_every_error_of_the_python_page_is_importable_from_the_package() -> None:
    names = re.findall(r"^\| `(\w+Error)` \|", page("docs/python.md").partition("## Errors")[2], re.MULTILINE)
    assert "UsageError" in names
    assert all(issubclass(getattr(satchel, name), satchel.SatchelError) for name in names)


def test_pages_agree_with_the_setting_on_what_has_no_vectors() -> None:
    assert set(SEARCHED_TYPES) - set(Settings().embed_kinds) == {"code", "commits"}
    for path in ("docs/python.md", "docs/vectors.md"):
        assert "commits have no vectors by default" in " ".join(page(path).lower().split()), path


def test_every_command_is_in_the_command_line_page() -> None:
    text = page("docs/cli.md")
    missing = [path for path in command_paths(application, "satchel") if f"\n## `{path}`\n" not in text]
    assert not missing, f"docs/cli.md does not name {missing}: run `make docs`"


def test_every_command_says_what_it_does() -> None:
    context = click.Context(application)
    silent = [name for name in COMMANDS if not getattr(application.get_command(context, name), "help", "")]
    assert not silent, f"no help text: {silent}"


def test_generated_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/write_docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_link_between_pages_leads_somewhere() -> None:
    links = [
        (path, target)
        for path in repository_files()
        if path.endswith(".md") and not path.startswith("tests/corpora/")
        for target in LINK.findall(FENCE.sub("", page(path)))
        if "://" not in target
    ]
    broken = [f"{path}: {target}" for path, target in links if not ((ROOT / path).parent / target).exists()]
    assert not broken, "\n".join(broken)


def test_every_decision_that_the_sources_name_is_written_down() -> None:
    notes = {path.rpartition("/")[2][:4] for path in repository_files() if path.startswith("docs/decisions/")}
    sources = [path for path in repository_files() if path.startswith("src/") and path.endswith(".py")]
    named = {number for path in sources for number in DECISION.findall(page(path))}
    assert named <= notes


def decisions() -> dict[str, str]:
    """Path to text of every note on a decision, without the list of them."""
    notes = (path for path in repository_files() if path.startswith("docs/decisions/0"))
    return {path: page(path) for path in notes}


def test_every_decision_is_in_the_list_and_has_its_parts() -> None:
    listed = page("docs/decisions/README.md")
    for path, text in decisions().items():
        name = path.rpartition("/")[2]
        assert f"[{name[:4]}]({name})" in listed
        assert text.startswith(f"# {name[:4]} ")
        assert all(f"**{part}" in text for part in ("Context.", "Decision.")), name


def test_a_file_that_the_architecture_or_a_decision_names_exists_or_is_said_to_be_gone() -> None:
    files = tuple(f"/{path}" for path in repository_files())
    wrong = [
        f"{path}: {name}"
        for path, text in {"docs/architecture.md": page("docs/architecture.md"), **decisions()}.items()
        for name in sorted({*FILE_NAME.findall(text)} - {*GONE.findall(text)})
        if not any(file.endswith(f"/{name.lstrip('./')}") for file in files)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_make_command_that_a_page_names_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", page("Makefile"), re.MULTILINE))
    pages = [path for path in repository_files() if path.endswith(".md")]
    named = {word for path in pages for word in MAKE_COMMAND.findall(page(path))}
    assert named <= targets
