"""A vault whose notes change at random, and its index."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.index.indexing import Index, build_options, fresh_contents

NAMES = ("Alpha", "alpha", "Beta", "Zoë", "Zoe\u0308", "Plan v1.2", "Log", "Empty")
FOLDERS = ("", "work", "work/old", "people")
FRAGMENTS = ("", "#Goals", "#Other > x", "#^b1")


class VaultIndex(Index):
    """The index of a vault."""

    def __init__(self, root: Path, path: Path) -> None:
        super().__init__(root, path)
        self.options = vault_options(root)


def vault_options(root: Path) -> Any:
    """Options by which Markdown files are notes, and without a history."""
    options = build_options(root)
    return replace(options, reading=replace(options.reading, vault=True))


def fresh_vault_contents(root: Path, folder: Path) -> dict[str, Any]:
    """What an index of the vault says that is built from nothing."""
    return fresh_contents(root, folder, vault_options(root))


class RandomVault:
    """A folder of notes. `change` does one thing to it and says what."""

    def __init__(self, root: Path, choice: random.Random) -> None:
        self.root, self._choice = root, choice
        root.mkdir(parents=True)
        for _ in range(6):
            self._write()

    def change(self) -> str:
        """Write, rename or delete a note, or a whole folder."""
        files = sorted(path for path in self.root.rglob("*") if path.is_file())
        action = self._choice.choice(("write", "write", "rename", "delete", "folder")) if files else "write"
        if action == "write":
            return self._write()
        path = self._choice.choice(files)
        if action == "delete":
            path.unlink()
            return f"delete {path.name}"
        if action == "folder" and path.parent != self.root:
            target = self.root / f"moved{self._choice.randrange(3)}"
            if not target.exists():
                path.parent.rename(target)
            return f"move {path.parent.name}"
        target = self._path()
        path.rename(target)
        return f"rename {path.name} to {target.name}"

    def _path(self) -> Path:
        folder = self.root / self._choice.choice(FOLDERS)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self._choice.choice(NAMES)}{self._choice.choice(('.md', '.md', '.txt'))}"

    def _write(self) -> str:
        path = self._path()
        path.write_text(self._text(), encoding="utf-8")
        return f"write {path.name}"

    def _link(self) -> str:
        choice = self._choice
        name = choice.choice((*NAMES, "Nobody", "work/Alpha", "./Beta", "Nick"))
        return f"{choice.choice(('', '!'))}[[{name}{choice.choice(FRAGMENTS)}{choice.choice(('', '|shown'))}]]"

    def _text(self) -> str:
        choice = self._choice
        head = choice.choice(("", "---\naliases: Nick\ntags: [a/b]\nowner: '[[Beta]]'\n---\n", "---\nbroken: [\n---\n"))
        status, text = f"status:: {self._link()}\n", f"text {self._link()} #tag/sub ^b1\n"
        blocks = ("# Top\n", "## Goals\n", "### Deep\n", status, text, "[path](../people/Beta.md)\n", "plain words\n")
        return head + "".join(choice.choices(blocks, k=choice.randrange(6)))
