"""Prepare pages for the site (a hook of mkdocs): links to files outside docs/ become plain text.

A file of the repository that is not a page has no address on the site. Its link keeps its text, followed by the path.
With `SITE_REPOSITORY=https://.../blob/main` in the environment the link leads to that file instead. A link to a file
that does not exist fails the build.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s#]+)\)")


def outside(text: str, folder: Path) -> str:
    """The Markdown of a page in `folder` with every link that leaves docs/ rewritten."""

    def rewrite(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        if target.is_relative_to(DOCS):
            return match[0]
        path = target.relative_to(ROOT).as_posix()
        if not target.exists():
            raise FileNotFoundError(f"a page in {folder.name}/ links to {path}, which does not exist")
        repository = os.environ.get("SITE_REPOSITORY")
        return f"[{match[1]}]({repository}/{path})" if repository else f"{match[1]} (`{path}`)"

    return LINK.sub(rewrite, text)


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Called by mkdocs with each page before it is rendered."""
    return outside(markdown, (DOCS / page.file.src_uri).parent)
