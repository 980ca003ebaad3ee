"""What the public can name is documented, and the documentation names only what exists."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import click

import satchel
from satchel.cli.application import COMMANDS, application
from satchel.settings import Settings
from satchel.types import CONTEXT_TYPES
from tests.architecture.tree import ROOT, modules, repository_files

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.DOTALL | re.MULTILINE)
DECISION = re.compile(r"docs/decisions/(\d{4})")
FILE_NAME = re.compile(r"(?<![\w:./-])[\w./-]*\w\.(?:py|js|json|txt|bin|scm)\b")
GONE = re.compile(r"`([^`]+)` is gone")
REPLACED = re.compile(r"\b[Rr]eplaces\b[^.]*")
MAKE_COMMAND = re.compile(r"`make ([a-z]+)")


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


def test_every_public_name_is_in_the_python_page() -> None:
    text = page("docs/python.md")
    missing = [name for name in satchel.__all__ if not re.search(rf"`{re.escape(name)}\b", text)]
    assert not missing, f"docs/python.md does not name {missing}"


def test_every_error_of_the_python_page_is_importable_from_the_package() -> None:
    names = re.findall(r"^\| `(\w+Error)` \|", page("docs/python.md").partition("## Errors")[2], re.MULTILINE)
    assert "UsageError" in names
    assert all(issubclass(getattr(satchel, name), satchel.SatchelError) for name in names)


def test_pages_agree_with_the_setting_on_what_has_no_vectors() -> None:
    assert set(CONTEXT_TYPES) - set(Settings().embed_kinds) == {"code", "commits"}
    for path in ("docs/python.md", "docs/vectors.md"):
        assert "code and commits have no vectors by default" in " ".join(page(path).lower().split()), path


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
    named = {number for module in modules("src") for number in DECISION.findall(module.text)}
    assert named <= notes


def decisions() -> dict[str, str]:
    """Path to text of every note on a decision, without the list of them."""
    notes = (path for path in repository_files() if path.startswith("docs/decisions/0"))
    return {path: page(path) for path in notes}


def test_a_file_that_the_architecture_or_a_decision_names_exists_or_is_said_to_be_gone() -> None:
    files = tuple(f"/{path}" for path in repository_files())
    wrong = [
        f"{path}: {name}"
        for path, text in {"docs/architecture.md": page("docs/architecture.md"), **decisions()}.items()
        for name in sorted({*FILE_NAME.findall(text)} - {*GONE.findall(text)})
        if not any(file.endswith(f"/{name.lstrip('./')}") for file in files)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_decision_that_a_later_one_replaces_names_it() -> None:
    notes = {path.rpartition("/")[2][:4]: text for path, text in decisions().items()}
    silent = [
        f"{earlier} does not name {later}"
        for later, text in notes.items()
        for sentence in REPLACED.findall(text)
        for earlier in re.findall(r"\b0\d{3}\b", sentence)
        if later not in notes[earlier]
    ]
    assert not silent, "\n".join(silent)


def test_every_make_command_that_a_page_names_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z]+):", page("Makefile"), re.MULTILINE))
    pages = [path for path in repository_files() if path.endswith(".md")]
    named = {word for path in pages for word in MAKE_COMMAND.findall(page(path))}
    assert named <= targets
