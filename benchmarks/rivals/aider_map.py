"""Aider's repository map for a question, no file in the chat: signatures only, by design up to 15 % over its budget."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from argparse import Namespace
from collections import defaultdict
from pathlib import Path

import tiktoken
from aider.repomap import RepoMap
from answer import ScoredSpan, Shown, main, print_answer, visible_spans

MINIMUM_STEM = 5
"""Aider takes a word of the question for a file only when it has this many letters."""


class Model:
    """The one method that the map asks of a language model."""

    def __init__(self) -> None:
        self._encoding = tiktoken.get_encoding("o200k_base")

    def token_count(self, text: str) -> int:
        """Tokens in o200k_base."""
        return len(self._encoding.encode_ordinary(text))


class Console:
    """Reads files as Aider's console does and keeps its messages off standard output."""

    def read_text(self, path: str) -> str | None:
        """The file's text, None when it is not UTF-8."""
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            return None

    def tool_output(self, *messages: str) -> None:
        """Say something."""
        print(*messages, file=sys.stderr)

    tool_warning = tool_error = tool_output


class Map(RepoMap):  # type: ignore[misc]
    """The map, remembering which lines it rendered last for each file."""

    def __init__(self, max_tokens: int) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aider-map" / Path.cwd().name
        self.TAGS_CACHE_DIR = str(cache)
        self.rendered: dict[tuple[str, tuple[int, ...]], set[int]] = {}
        super().__init__(map_tokens=max_tokens, root=str(Path.cwd()), main_model=Model(), io=Console())

    def render_tree(self, abs_fname: str, rel_fname: str, lois: list[int]) -> str:
        """Render as Aider does and keep the 1-based lines of the rendering."""
        text: str = super().render_tree(abs_fname, rel_fname, lois)
        key = (rel_fname, tuple(sorted(lois)))
        if key not in self.rendered:
            self.rendered[key] = {number + 1 for number in self.tree_context_cache[rel_fname]["context"].show_lines}
        return text


def mentioned(question: str, paths: list[str]) -> tuple[set[str], set[str]]:
    """Files and identifiers that the question names, by the rules of Aider's chat."""
    identifiers = set(re.split(r"\W+", question))
    words = {word.rstrip(",.!;:?").strip("\"'`*_") for word in question.split()}
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_name[Path(path).name].append(path)
    files = {path for path in paths if path in words}
    plain = re.compile(r"[._-]")
    files |= {found[0] for name, found in by_name.items() if len(found) == 1 and name in words and plain.search(name)}
    stems = {word.lower() for word in identifiers if len(word) >= MINIMUM_STEM}
    files |= {path for path in paths if Path(path).stem.lower() in stems}
    return files, identifiers


def printed(text: str, rendered: dict[tuple[str, tuple[int, ...]], set[int]]) -> Shown:
    """Paths in the order of the map, each with those of its rendered lines that the map prints in full."""
    sections = re.split(r"^(?=\S)(?![│⋮█])", text, flags=re.MULTILINE)
    lines: dict[str, set[int]] = defaultdict(set)
    for (path, _), numbers in rendered.items():
        lines[path] |= numbers
    shown: list[tuple[str, list[ScoredSpan]]] = []
    for section in sections:
        path = section.split("\n", 1)[0].rstrip(":")
        if path and Path(path).is_file():
            shown.append((path, visible_spans(path, lines.get(path, set()), section)))
    return shown


def ask(question: str, options: Namespace) -> None:
    """The map that Aider would send before the first message."""
    listed = subprocess.run(["git", "ls-files", "-z"], check=True, capture_output=True).stdout
    paths = [path for path in listed.decode("utf-8", "replace").split("\0") if path and Path(path).is_file()]
    files, identifiers = mentioned(question, paths)
    repository_map = Map(options.max_tokens)
    absolute = {str(Path.cwd() / path) for path in paths}
    text = repository_map.get_repo_map(set(), absolute, mentioned_fnames=files, mentioned_idents=identifiers) or ""
    shown = printed(text, repository_map.rendered)
    print_answer(text, shown, limit=options.max_tokens, used=Model().token_count(text))


if __name__ == "__main__":
    main(ask)
