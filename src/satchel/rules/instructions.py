"""Instruction files that agents already have: what each says, and which files it is about.

Known are `AGENTS.md`, `CLAUDE.md` (also in `.claude/`), `CLAUDE.local.md`, `.claude/rules/**/*.md` with `paths:`, and
`.cursor/rules/**/*.mdc` with `globs:` and `alwaysApply:`. A file belongs to the folder that holds it, or that holds its
`.claude` or `.cursor`; it is about what lies below that folder, and its globs are relative to it.

`CLAUDE.md` and its relatives may import others (`@docs/style.md`), five hops deep, never from outside the root. A file
that is a link to another one, or holds nothing but the path of one (so git writes links where it cannot make them),
stands for that one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from satchel import files, outside
from satchel.errors import UnsafePathError
from satchel.rules.paths import Globs, parent_of, problem_of, resolved
from satchel.types import Failure

INSTRUCTIONS = "instructions"
"""The source that notes about instruction files name."""

LARGEST_FILE = 256_000
"""Bytes of one file; agents themselves warn above 40,000 characters."""

MOST_HOPS = 5
"""Imports of imports that are followed, as Claude Code does."""

LONGEST_WITH_IMPORTS = 500_000
"""Characters of a file with everything that it imports."""

MOST_RULE_FILES = 500
DEEPEST_RULES = 5
"""Rule files of one folder, and folders within `rules`."""


class Form(StrEnum):
    """What kind of file it is. The order is the precedence within a folder, the strongest first."""

    LOCAL = "CLAUDE.local.md"
    CLAUDE_RULE = ".claude/rules"
    CLAUDE = "CLAUDE.md"
    AGENTS = "AGENTS.md"
    CURSOR_RULE = ".cursor/rules"


PRECEDENCE = tuple(Form)

_PLAIN = {
    Form.LOCAL: ("CLAUDE.local.md",),
    Form.CLAUDE: ("CLAUDE.md", ".claude/CLAUDE.md"),
    Form.AGENTS: ("AGENTS.md",),
}
_RULES = {Form.CLAUDE_RULE: (".claude/rules", ".md"), Form.CURSOR_RULE: (".cursor/rules", ".mdc")}
_IMPORTING = frozenset({Form.LOCAL, Form.CLAUDE, Form.CLAUDE_RULE})

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)(?:\n---[ \t]*(?:\n|\Z))", re.DOTALL)
_FIELD = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_IMPORT = re.compile(r"(?<![\w@/.`])@((?:\./|\.\./|~/|/)?[\w.-]+(?:/[\w.-]+)*)")
_CODE = re.compile(r"`[^`\n]*`")
_FENCE = re.compile(r"\s*(```|~~~)")
_SUFFIX = re.compile(r"\.[A-Za-z]{1,8}\Z")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction file.

    `folder` is what it is about ("" is the root); `globs` are relative to it and empty for everything below. A file
    with `description` alone is meant to be chosen by what it says, one that is `by_hand` only by a person. `stands_for`
    is the path of the file that it is a link to; `line` is the line on which `text` begins.
    """

    path: str
    folder: str
    form: Form
    text: str
    globs: tuple[str, ...] = ()
    description: str = ""
    by_hand: bool = False
    stands_for: str = ""
    imports: tuple[str, ...] = ()
    line: int = 1
    notes: tuple[Failure, ...] = field(default=())

    def relative(self, path: str) -> str | None:
        """A path as its globs see it, None for one that it is not about."""
        if not self.folder:
            return path
        return path[len(self.folder) + 1 :] if path.startswith(f"{self.folder}/") else None


class Instructions:
    """Reads instruction files below one root."""

    def __init__(self, root: Path, allow: Sequence[str] = ()) -> None:
        self._root, self._allow = root, tuple(allow)

    def of_folder(self, folder: str) -> tuple[list[Instruction], list[Failure]]:
        """The instruction files that belong to a folder, strongest first, and what could not be read."""
        found: list[Instruction] = []
        notes: list[Failure] = []
        for form in PRECEDENCE:
            for path in self._paths(folder, form):
                try:
                    found.append(self._read(path, folder, form))
                except files.Skipped as skipped:
                    notes.append(_note(path, f"cannot be read: {skipped}", "the others count"))
        return found, [*notes, *(note for one in found for note in one.notes)]

    def _paths(self, folder: str, form: Form) -> Iterator[str]:
        prefix = f"{folder}/" if folder else ""
        if form in _PLAIN:
            yield from (f"{prefix}{name}" for name in _PLAIN[form] if os.path.lexists(self._root / f"{prefix}{name}"))
            return
        below, suffix = _RULES[form]
        yield from self._listed(f"{prefix}{below}", suffix, DEEPEST_RULES)

    def _listed(self, folder: str, suffix: str, depth: int) -> list[str]:
        """The files with a suffix below a folder that is reached without links, in their order."""
        if depth == 0 or any((self._root / step).is_symlink() for step in [*_steps(folder)]):
            return []
        try:
            names = sorted(path.name for path in (self._root / folder).iterdir())[:MOST_RULE_FILES]
        except OSError:
            return []
        found: list[str] = []
        for name in names:
            path = f"{folder}/{name}"
            if name.endswith(suffix):
                found.append(path)
            elif "." not in name:
                found += self._listed(path, suffix, depth - 1)
        return found[:MOST_RULE_FILES]

    def _text(self, path: str) -> str:
        """The text of a file, clean and redacted. Raises Skipped."""
        decoded = files.decode(files.read_bytes(self._root, path, limit=LARGEST_FILE).raw)
        if decoded is None:
            raise files.Skipped(files.SkipReason.BINARY)
        return outside.text(decoded[0], self._allow)

    def _read(self, path: str, folder: str, form: Form) -> Instruction:
        target = self._link(path)
        text = self._text(target or path)
        named = self._named(text, target or path)
        if named and named != path:
            target, text = named, self._text(named)
        fields, body, line = front_matter(text)
        globs, notes = _globs(fields, path)
        imports: dict[str, None] = {}
        if form in _IMPORTING:
            body = self._with_imports(body, target or path, imports, notes, MOST_HOPS)
        said = {
            "folder": folder, "form": form, "text": body.strip("\n"), "stands_for": target,
            "imports": tuple(imports)[1:], "line": line, "notes": tuple(notes),
        }  # fmt: skip
        if form is not Form.CURSOR_RULE:
            return Instruction(path, globs=globs, **said)  # type: ignore[arg-type]
        always = _first(fields, "alwaysApply").casefold() == "true"
        described = outside.line(_first(fields, "description"), allow=self._allow)
        return Instruction(
            path,
            globs=() if always else globs,
            description="" if always or globs else described,
            by_hand=not (always or globs or described),
            **said,  # type: ignore[arg-type]
        )

    def _link(self, path: str) -> str:
        """What a link leads to, below the root; empty for a file. Raises Skipped for one that leads outside."""
        if not (self._root / path).is_symlink():
            return ""
        try:
            return resolved((self._root / path).readlink().as_posix(), parent_of(path))
        except UnsafePathError:
            raise files.Skipped(files.SkipReason.OUTSIDE_ROOT) from None

    def _named(self, text: str, path: str) -> str:
        """The file that a text is nothing but the path of, empty for any other text. Raises Skipped if it is gone."""
        said = text.strip()
        if "\n" in said or " " in said or not _SUFFIX.search(said) or len(said) > 300:
            return ""
        try:
            named = resolved(said, parent_of(path))
        except UnsafePathError:
            return ""
        if files.stamp(self._root, named) is None:
            raise files.Skipped(files.SkipReason.VANISHED, f"it leads to {outside.line(named)}, which is not there")
        return named

    def _with_imports(self, text: str, path: str, seen: dict[str, None], notes: list[Failure], hops: int) -> str:
        """The text with what it imports: in the place of a line that is nothing else, else behind it all."""
        seen.setdefault(path, None)
        lines: list[str] = []
        behind: list[str] = []
        fence = ""
        for number, line in enumerate(text.split("\n"), 1):
            mark = _FENCE.match(line)
            if mark is not None:
                fence = "" if fence == mark[1] else fence or mark[1]
            names = [] if fence or mark is not None else _IMPORT.findall(_CODE.sub("", line))
            brought = [self._imported(name, f"{path}:{number}", path, seen, notes, hops) for name in names]
            texts = [one for one in brought if one is not None]
            is_alone = len(names) == 1 and line.strip().lstrip("-* ").strip() == f"@{names[0]}"
            if is_alone and brought[0] is not None:
                lines.append(brought[0])
                continue
            lines.append(line)
            behind += texts
        joined = "\n".join([*lines, *behind])
        if len(joined) > LONGEST_WITH_IMPORTS:
            notes.append(
                _note(path, f"has more than {LONGEST_WITH_IMPORTS:,} characters with its imports", "the rest is cut")
            )
        return joined[:LONGEST_WITH_IMPORTS]

    def _imported(
        self, name: str, where: str, path: str, seen: dict[str, None], notes: list[Failure], hops: int
    ) -> str | None:
        """The text of an import, None where it is none; one that came before says nothing again."""
        looks_like_file = _SUFFIX.search(name) is not None
        try:
            target = resolved(name, parent_of(path))
        except UnsafePathError as error:
            notes.append(_note(where, f"@{name}: {error}", "nothing is imported from there"))
            return None
        if target in seen:
            return ""
        if files.stamp(self._root, target) is None:
            if looks_like_file:
                notes.append(_note(where, f"@{name}: there is no such file", "nothing is imported from there"))
            return None
        if hops == 0:
            notes.append(_note(where, f"@{name}: more than {MOST_HOPS} imports deep", "it is not imported"))
            return None
        try:
            text = self._text(target)
        except files.Skipped as skipped:
            notes.append(_note(where, f"@{name}: cannot be read: {skipped}", "it is not imported"))
            return None
        return self._with_imports(front_matter(text)[1].strip("\n"), target, seen, notes, hops - 1)


def _note(where: str, problem: str, hint: str) -> Failure:
    return Failure(INSTRUCTIONS, f"{outside.line(where, 1_000)}: {problem}", hint)


def _steps(folder: str) -> Iterator[str]:
    steps = folder.split("/")
    return ("/".join(steps[:count]) for count in range(1, len(steps) + 1))


def front_matter(text: str) -> tuple[dict[str, list[str]], str, int]:
    """The fields between the dashes at the top, the text below them, and its first line.

    It is read line by line and not as YAML: `globs: *.ts` is what people write, and YAML takes that for an alias.
    """
    found = _FRONT.match(text)
    if found is None:
        return {}, text, 1
    fields: dict[str, list[str]] = {}
    name = ""
    for line in found[1].split("\n"):
        entry = line.strip()
        if entry.startswith("- ") and name:
            fields[name].append(_unquoted(entry[2:]))
        elif (match := _FIELD.fullmatch(entry)) is not None and not line.startswith((" ", "\t")):
            name = match[1]
            fields[name] = [match[2].strip()] if name == "description" else _listed(match[2])
    fields = {key: [entry for entry in map(_unquoted, entries) if entry] for key, entries in fields.items()}
    return fields, text[found.end() :], found[0].count("\n") + (1 if found[0].endswith("\n") else 2)


def _listed(text: str) -> list[str]:
    """The entries of `a, b`, `[a, b]` or `a`: commas within braces do not part."""
    text = text.strip().removeprefix("[").removesuffix("]")
    parts, depth, current = [], 0, ""
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [_unquoted(part) for part in (*parts, current)]


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _first(fields: dict[str, list[str]], name: str) -> str:
    return next(iter(fields.get(name, ())), "")


def _globs(fields: dict[str, list[str]], path: str) -> tuple[tuple[str, ...], list[Failure]]:
    found: list[str] = []
    notes: list[Failure] = []
    for glob in (*fields.get("paths", ()), *fields.get("globs", ())):
        problem = problem_of(glob)
        if problem:
            notes.append(_note(path, f"the pattern {outside.line(glob, 60)!r} {problem}", "the pattern is left out"))
        else:
            found.append(glob)
    if notes and not found:
        found = ["!*"]  # every pattern was wrong: then it applies to nothing, not to everything
    return tuple(found), notes


def matching(instruction: Instruction, paths: Sequence[str]) -> tuple[str, str] | None:
    """(path, glob) of the first of these paths that an instruction file is about; the glob may be empty."""
    for path in paths:
        relative = instruction.relative(path)
        if relative is None:
            continue
        if not instruction.globs:
            return path, ""
        glob = Globs(instruction.globs).matching(relative)
        if glob:
            return path, glob
    return None
