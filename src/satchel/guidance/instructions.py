"""Instruction files of agents: their texts, the files they are about, and whether they apply.

These are `AGENTS.md`, `CLAUDE.md` (also in `.claude/`), `CLAUDE.local.md`, `GEMINI.md`, `.cursorrules`,
`.windsurfrules`, `.github/copilot-instructions.md`, `.claude/rules/**/*.md` with `paths:`,
`.cursor/rules/**/*.mdc` with `globs:` and `alwaysApply:`, `.github/instructions/**/*.instructions.md` with `applyTo:`,
and `.claude/skills/*/SKILL.md`, which a judge chooses by their description. A file belongs to its folder, or to the
folder around its `.claude`, `.cursor` or `.github`; it is about what is below that folder, and its globs are relative
to it.

`CLAUDE.md` and its relatives and `GEMINI.md` may import others (`@docs/style.md`), five hops deep, never from outside
the root. A file that is a link to another one, or contains only the path of one (git writes links so where there are
none), represents that other file.

The nearest folder wins, then the kind of file (`Form`), then the path. Of several files that represent the same file
only the strongest is used. A file without globs at the root always applies; one in a folder applies when the situation
names a file below that folder; one with globs when they match such a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from satchel.errors import UnsafePathError
from satchel.guidance.judge import Opinion, Verdict
from satchel.guidance.situation import folders_above, parent_of, resolved
from satchel.safety import sanitize
from satchel.sources.front_matter import rule_fields
from satchel.system import files
from satchel.system.globs import Globs, problem_of
from satchel.types import Failure

MAX_HOPS = 5
"""Limit of nested imports, that of Claude Code."""

LONGEST_WITH_IMPORTS = 500_000
"""Length limit of a file with its imports."""

MAX_RULE_FILES = 500

MAX_FOLDERS = 20_000
"""Limit of searched folders; a tree with more is a home folder or a disk."""

_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "venv", "__pycache__", "site-packages", "dist", "build", "target", "vendor", "third_party"}
)
"""Folders of third-party and generated files, whose instructions are not about this project."""


class Form(StrEnum):
    """The kind of a file, in the order of precedence within a folder, strongest first."""

    LOCAL = "CLAUDE.local.md"
    CLAUDE_RULE = ".claude/rules"
    CLAUDE = "CLAUDE.md"
    AGENTS = "AGENTS.md"
    GEMINI = "GEMINI.md"
    COPILOT_RULE = ".github/instructions"
    COPILOT = ".github/copilot-instructions.md"
    CURSOR_RULE = ".cursor/rules"
    CURSOR = ".cursorrules"
    WINDSURF = ".windsurfrules"
    CLAUDE_SKILL = ".claude/skills"


_FORMS = tuple(Form)
_PLAIN = {
    Form.LOCAL: ("CLAUDE.local.md",),
    Form.CLAUDE: ("CLAUDE.md", ".claude/CLAUDE.md"),
    **{form: (form.value,) for form in (Form.AGENTS, Form.GEMINI, Form.COPILOT, Form.CURSOR, Form.WINDSURF)},
}
_SUFFIXES = {Form.CLAUDE_RULE: ".md", Form.CURSOR_RULE: ".mdc", Form.COPILOT_RULE: ".instructions.md",
             Form.CLAUDE_SKILL: "/SKILL.md"}  # fmt: skip
_IMPORTING = frozenset({Form.LOCAL, Form.CLAUDE, Form.CLAUDE_RULE, Form.GEMINI})
_DESCRIBED = frozenset({Form.CURSOR_RULE, Form.COPILOT_RULE, Form.CLAUDE_SKILL})
"""Forms of files that apply only if their front matter says when."""

_ALL_FILES = frozenset({"*", "**", "**/*"})

_STEP = r"(?:[\w.-]|\\ )+"  # a blank in a name is written with a backslash
# A full stop at the end belongs to the sentence: `see @docs/style.md.`
_IMPORT = re.compile(rf"(?<![\w@/.`])@((?:\./|\.\./|~/|/)?{_STEP}(?:/{_STEP})*(?<!\.))")
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_FENCE = re.compile(r"\s*(?:(`{3,})(?=[^`]*$)|(~{3,}))[ \t]*(.*)")
_COMMENT_ENDS = re.compile(r"<!--|-->")
_SUFFIX = re.compile(r"\.[A-Za-z]{1,8}\Z")


class Instruction(NamedTuple):
    """One instruction file.

    `folder` is the folder it is about ("" is the root); `globs` are relative to it and empty for everything below. A
    file with only a `description` is chosen by the judge, one that is `by_hand` only by a person. `stands_for` is the
    path of the file that it is a link to; `line` is the first line of `text`.
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
    notes: tuple[Failure, ...] = ()

    @property
    def condition(self) -> str:
        """The condition under which it applies, in words."""
        below = f"below {self.folder}/" if self.folder else "everywhere"
        if self.by_hand:
            return "only by hand"
        if self.description:
            return f"when this is judged true: {sanitize.line(self.description)}"
        return f"for {', '.join(self.globs)} {below}" if self.globs else below

    def relative(self, path: str) -> str | None:
        """Return a path relative to the folder, empty for the folder itself, None for a path outside of it."""
        if not self.folder:
            return path
        if path.rstrip("/") == self.folder:
            return ""
        return path[len(self.folder) + 1 :] if path.startswith(f"{self.folder}/") else None

    def match(self, paths: Iterable[str]) -> tuple[str, str] | None:
        """Return the first of these paths that it is about, and the matching glob, empty without globs."""
        for path in paths:
            relative = self.relative(path)
            glob = Globs(self.globs).matching(relative) if relative is not None else ""
            if relative is not None and (glob or not self.globs):
                return path, glob
        return None


@dataclass(slots=True)
class _Import:
    """The files that one file imports, itself first, and problems."""

    paths: dict[str, None]
    notes: list[Failure]
    size: int = 0
    """Characters read so far."""


class Instructions:
    """Reads instruction files below one root."""

    def __init__(self, root: Path, allow: Sequence[str] = ()) -> None:
        self._root, self._allow = root, tuple(allow)

    def of_folders(self, folders: Iterable[str]) -> tuple[list[Instruction], list[Failure]]:
        """Return the instruction files of these folders, the strongest of each first, and notes on unreadable ones."""
        instructions: list[Instruction] = []
        notes: list[Failure] = []
        for folder in folders:
            rows = []
            for form in _FORMS:
                for path in self._paths(folder, form):
                    try:
                        rows.append(self._read(path, folder, form))
                    except files.Skipped as skipped:
                        notes.append(_note(path, f"cannot be read: {skipped}", "the others count"))
            notes += (note for row in rows for note in row.notes)
            instructions += rows
        return instructions, notes

    def near(self, paths: Sequence[str]) -> tuple[list[Instruction], list[Failure]]:
        """Return the instruction files of the root and of every folder that is or is above one of these paths."""
        own = (path.rstrip("/") for path in paths if os.path.isdir(self._root / path))  # noqa: PTH112 - any text is a path
        above = (folder for path in paths for folder in folders_above(path.rstrip("/")))
        return self.of_folders(dict.fromkeys(["", *above, *own]))

    def _paths(self, folder: str, form: Form) -> Sequence[str]:
        prefix = f"{folder}/" if folder else ""
        if form in _PLAIN:
            return [path for name in _PLAIN[form] if os.path.lexists(self._root / (path := f"{prefix}{name}"))]
        # Limits of the rule files of one folder, and of nested folders in `rules`
        return self._rule_files(f"{prefix}{form.value}", _SUFFIXES[form], 5)

    def _rule_files(self, folder: str, suffix: str, depth: int) -> list[str]:
        """Return the files with a suffix below a folder, sorted; no links are followed."""
        if depth == 0 or any((self._root / step).is_symlink() for step in [*folders_above(folder)[1:], folder]):
            return []
        try:
            names = sorted(path.name for path in (self._root / folder).iterdir())[:MAX_RULE_FILES]
        except OSError:
            return []
        paths: list[str] = []
        for name in names:
            path = f"{folder}/{name}"
            if path.endswith(suffix):
                paths.append(path)
            elif "." not in name:
                paths += self._rule_files(path, suffix, depth - 1)
        return paths[:MAX_RULE_FILES]

    def _text(self, path: str) -> str:
        """Return the text of a file, clean and redacted. Raises Skipped, also for everything below `.git`."""
        if ".git" in path.split("/"):
            raise files.Skipped(files.SkipReason.SECRET_FILE)
        # Size limit of a file in bytes; agents warn above 40,000 characters
        decoded = files.decode(files.read_bytes(self._root, path, limit=256_000).raw)
        if decoded is None:
            raise files.Skipped(files.SkipReason.BINARY)
        return sanitize.text(decoded[0], self._allow)

    def _read(self, path: str, folder: str, form: Form) -> Instruction:
        target = self._link(path)
        text = self._text(target or path)
        named = self._named(text, target or path, is_importing=form in _IMPORTING)
        if named and named != path:
            target, text = named, self._text(named)
        fields, body, line = rule_fields(text)
        globs, notes = _globs(fields, path)
        imported = _Import({}, notes)
        if form in _IMPORTING:
            body = self._with_imports(body, target or path, imported, MAX_HOPS)
        chosen_by = self._chosen_by(form, fields, globs) if form in _DESCRIBED else (globs, "", False)
        imports = tuple(imported.paths)[1:]
        return Instruction(path, folder, form, body.strip("\n"), *chosen_by, target, imports, line, tuple(notes))

    def _chosen_by(
        self, form: Form, fields: Mapping[str, Sequence[str]], globs: tuple[str, ...]
    ) -> tuple[tuple[str, ...], str, bool]:
        """Return the globs, else the description, that a file is chosen by, and whether only a person chooses it."""
        first = {name: entries[0] for name, entries in fields.items() if entries}
        is_copilot = form is Form.COPILOT_RULE
        is_always = first.get("alwaysApply", "").casefold() == "true"
        if is_always or (is_copilot and not _ALL_FILES.isdisjoint(globs)):
            return (), "", False
        if globs:
            return globs, "", False
        # Copilot only shows the description of its files; it does not choose by it.
        description = "" if is_copilot else sanitize.line(first.get("description", ""), allow=self._allow)
        return (), description, not description

    def _link(self, path: str) -> str:
        """Return the target of a link, below the root; empty for a file. Raises Skipped for a target outside."""
        if not (self._root / path).is_symlink():
            return ""
        try:
            return resolved((self._root / path).readlink().as_posix(), parent_of(path))
        except UnsafePathError:
            raise files.Skipped(files.SkipReason.OUTSIDE_ROOT) from None

    def _named(self, text: str, path: str, *, is_importing: bool) -> str:
        """Return the file whose path or import is the only text, else an empty text. Raises Skipped for a lost path."""
        name = text.strip()
        is_import = is_importing and name.startswith("@")
        name = name[1:] if is_import else name
        if "\n" in name or " " in name or not _SUFFIX.search(name) or len(name) > 300:
            return ""
        try:
            named = resolved(name, parent_of(path))
        except UnsafePathError:
            return ""
        if files.stamp(self._root, named) is None:
            if is_import:
                return ""
            raise files.Skipped(files.SkipReason.VANISHED, f"it leads to {sanitize.line(named)}, which is not there")
        return named

    def _with_imports(self, text: str, path: str, imported: _Import, hops: int) -> str:
        """Return the text with its imports: in place of a line that is only the import, else at the end."""
        imported.paths.setdefault(path, None)
        lines: list[str] = []
        behind: list[str] = []
        is_comment = False
        for number, line, is_code in unfenced(text):
            shown, is_comment = (line, is_comment) if is_code else _uncommented(_CODE.sub("", line), is_comment)
            names = [] if is_code else _IMPORT.findall(shown)
            plain = [name.replace("\\ ", " ") for name in names]
            texts = [self._imported(name, f"{path}:{number}", path, imported, hops) for name in plain]
            is_alone = len(names) == 1 and line.strip().lstrip("-* ").strip() == f"@{names[0]}"
            if is_alone and texts[0] is not None:
                lines.append(texts[0])
            else:
                lines.append(line)
                behind += [other for other in texts if other is not None]
        joined = "\n".join([*lines, *behind])
        if len(joined) > LONGEST_WITH_IMPORTS:
            problem = f"has more than {LONGEST_WITH_IMPORTS:,} characters with its imports"
            imported.notes.append(_note(path, problem, "the rest is cut"))
        return joined[:LONGEST_WITH_IMPORTS]

    def _imported(self, name: str, where: str, path: str, imported: _Import, hops: int) -> str | None:
        """Return the text of an import, None if it is not usable; empty for a file that was imported before."""
        problem, hint = "", "it is not imported"
        try:
            target = resolved(name, parent_of(path))
            if target in imported.paths:
                return ""
            if files.stamp(self._root, target) is None:
                is_file = _SUFFIX.search(name) is not None
                problem, hint = "there is no such file" if is_file else "", "nothing is imported from there"
            elif imported.size > LONGEST_WITH_IMPORTS:
                return None  # the file is cut, and a note says so
            elif hops == 0:
                problem = f"more than {MAX_HOPS} imports deep"
            else:
                text = rule_fields(self._text(target))[1].strip("\n")
                imported.size += len(text)
                return self._with_imports(text, target, imported, hops - 1)
        except UnsafePathError as error:
            problem, hint = str(error), "nothing is imported from there"
        except files.Skipped as skipped:
            problem = f"cannot be read: {skipped}"
        if problem and len(imported.notes) <= sanitize.MAX_NOTES:
            imported.notes.append(_note(where, f"@{sanitize.plain_name(name)}: {problem}", hint))
        return None


def _note(where: str, problem: str, hint: str) -> Failure:
    return Failure("instructions", f"{sanitize.line(where, 1_000)}: {problem}", hint)


def folders_below(root: Path) -> tuple[list[str], list[Failure]]:
    """Return the folders of a tree, the root ("") first, without hidden and skipped ones and nested repositories."""
    folders = [""]
    for place, names, _ in os.walk(root, followlinks=False):
        own = (name for name in names if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        names[:] = sorted(name for name in own if not os.path.lexists(Path(place) / name / ".git"))
        relative = Path(place).relative_to(root).as_posix()
        folders += [name if relative == "." else f"{relative}/{name}" for name in names]
        if len(folders) > MAX_FOLDERS:
            problem = f"there are more than {MAX_FOLDERS:,} folders"
            return folders[:MAX_FOLDERS], [Failure("rules", problem, "the others were not read")]
    return sorted(folders), []


def unfenced(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the lines of a Markdown text with their numbers, and whether each is in a fenced block or its mark."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _FENCE.match(line)
        mark = (match[1] or match[2]) if match is not None else ""
        was_open = bool(fence)
        if match is not None and not fence:
            fence = mark
        elif match is not None and mark.startswith(fence) and not match[3]:  # at least as long, and nothing behind it
            fence = ""
        yield number, line, was_open or bool(fence)


def _uncommented(line: str, is_comment: bool) -> tuple[str, bool]:
    """Return a line without its HTML comments, and whether one goes on; `is_comment` if it begins in one."""
    kept: list[str] = []
    start = 0
    for end in _COMMENT_ENDS.finditer(line):
        if is_comment == (end[0] == "-->"):
            kept += [] if is_comment else [line[start : end.start()]]
            is_comment, start = not is_comment, end.end()
    kept += [] if is_comment else [line[start:]]
    return " ".join(kept), is_comment


def _globs(fields: Mapping[str, Sequence[str]], path: str) -> tuple[tuple[str, ...], list[Failure]]:
    globs: list[str] = []
    notes: list[Failure] = []
    for glob in (name for key in ("paths", "globs", "applyTo") for name in fields.get(key, ())):
        problem = problem_of(glob)
        if problem:
            notes.append(_note(path, f"the pattern {sanitize.line(glob, 60)!r} {problem}", "the pattern is left out"))
        else:
            globs.append(glob)
    if notes and not globs:
        globs = ["!*"]  # with only wrong patterns it applies to nothing, not to everything
    return tuple(globs), notes


class Applied(NamedTuple):
    """An instruction file and whether it applies, with the reason. `rank` counts from 1 among those that apply."""

    instruction: Instruction
    applies: bool
    reason: str
    rank: int = 0


def to_judge(instructions: Iterable[Instruction], paths: Sequence[str]) -> list[str]:
    """Return the descriptions that a judge has to decide on: those of files without other conditions."""
    return [
        instruction.description
        for instruction in instructions
        if instruction.description
        and (not instruction.folder or any(instruction.relative(path) is not None for path in paths))
    ]


def applied(
    instructions: Iterable[Instruction], paths: Sequence[str], opinions: Mapping[str, Opinion]
) -> list[Applied]:
    """Return every instruction file with its verdict: first those that apply, strongest first, then the others by path.

    `opinions` are those on the descriptions of `to_judge`.
    """
    applying: list[Applied] = []
    others: list[Applied] = []
    strongest: dict[str, str] = {}
    for instruction in sorted(instructions, key=_strength):
        applies, reason = _decision(instruction, paths, opinions)
        target = instruction.stands_for or instruction.path
        if applies and target in strongest:
            applies, reason = False, f"says the same as {strongest[target]}, which applies"
        if applies:
            strongest[target] = instruction.path
            applying.append(Applied(instruction, applies, reason, len(strongest)))
        else:
            others.append(Applied(instruction, applies, reason))
    return applying + sorted(others, key=lambda row: row.instruction.path)


def _strength(instruction: Instruction) -> tuple[int, int, bool, str]:
    depth = instruction.folder.count("/") + 1 if instruction.folder else 0
    return -depth, _FORMS.index(instruction.form), bool(instruction.stands_for), instruction.path


def _decision(instruction: Instruction, paths: Sequence[str], opinions: Mapping[str, Opinion]) -> tuple[bool, str]:
    """Return whether a file applies, and the reason."""
    if instruction.by_hand:
        return False, "nothing in it says when it applies (globs, applyTo, a description, alwaysApply)"
    if instruction.description:
        opinion = opinions.get(instruction.description)
        if opinion is None:
            return False, f"no file of the situation lies below {instruction.folder}/"
        return opinion.verdict is Verdict.TRUE, f"its description is judged {opinion.verdict} ({opinion.reason})"
    if not instruction.globs and not instruction.folder:
        return True, "it is about the whole root"
    match = instruction.match(paths)
    if match is None:
        what = f"matches {', '.join(instruction.globs)}" if instruction.globs else "lies there"
        return False, f"no file of the situation below {instruction.folder or 'the root'} {what}"
    path, glob = match
    return True, f"{path} matches {glob}" if glob else f"{path} lies below {instruction.folder}/"
