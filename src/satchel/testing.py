"""For tests: a tiny repository builder, a counter of characters, and a hash embedder.

Shipped with the package, so that extensions can be tested in the same way as satchel itself.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satchel.embed import Vectors

FIRST_COMMIT_TIME = 1_700_000_000
"""Commits of a tiny repository start here (seconds, UTC) and are one hour apart."""


@dataclass(frozen=True, slots=True)
class CharacterCounter:
    """A token counter whose tokens are characters: budgets in tests can be read off the text."""

    name: str = "characters"
    exact: bool = True

    def count(self, text: str) -> int:
        """Return the number of characters."""
        return len(text)


class HashEmbedder:
    """An embedder that needs no model: each word is a pseudo-random direction, a text the sum of its words.

    Texts that share words are near each other, and `synonyms` (word -> the word that it counts as) make texts near
    that share none. `texts` counts what was embedded, `fails` makes every call fail.
    """

    def __init__(self, *, revision: str = "1", dimension: int = 64, synonyms: Mapping[str, str] | None = None) -> None:
        self.id = f"hash@{revision}"
        self.dimension = dimension
        self.max_tokens = 1_000
        self.is_quick, self.is_table = True, False
        self.fails = False
        self.texts = 0
        self._synonyms = synonyms or {}

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 for each text. Raises EmbeddingError while `fails` is set."""
        import numpy as np

        vectors = [self.embed_query(text) for text in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(texts), self.dimension)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of one text. Raises EmbeddingError while `fails` is set."""
        import numpy as np

        from satchel.embed import normalised
        from satchel.errors import EmbeddingError
        from satchel.text import words

        if self.fails:
            raise EmbeddingError("the hash embedder was told to fail")
        self.texts += 1
        total = np.zeros(self.dimension, dtype=np.float32)
        for word in words(text):
            total += self._direction(self._synonyms.get(word, word))
        return normalised(total)

    def _direction(self, word: str) -> Vectors:
        import hashlib

        import numpy as np

        digest = hashlib.shake_128(f"{self.id}/{word}".encode()).digest(self.dimension)
        return (np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5) / 127.5


class TinyRepository:
    """A git repository in a folder, written file by file and commit by commit, the same bytes every time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._commits = 0
        root.mkdir(parents=True, exist_ok=True)
        self._git("init", "-q", "-b", "main")

    def write(self, files: Mapping[str, str]) -> None:
        """Write files, creating their folders."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def remove(self, path: str) -> None:
        """Delete a file."""
        (self.root / path).unlink()

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        """Write files, commit everything, and return the commit id."""
        self.write(files or {})
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", message)
        self._commits += 1
        return self._git("rev-parse", "HEAD").strip()

    def checkout(self, revision: str) -> None:
        """Move HEAD and the work tree, detached."""
        self._git("checkout", "-q", "--detach", revision)

    def _git(self, *arguments: str) -> str:
        when = f"{FIRST_COMMIT_TIME + 3600 * self._commits} +0000"
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.root),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_COMMITTER_DATE": when,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout
