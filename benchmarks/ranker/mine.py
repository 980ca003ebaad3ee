"""Fix-like commits of public repositories as questions: message -> lines that the fix changed, at its parent.

    python -m ranker.mine --repos DIR --out fixes.jsonl

DIR has one git repository a project with its history, named OWNER+NAME. Each line of the output has the fields of
`code_localization_dev.jsonl`. The repositories are those of the development issues and `REPOSITORIES`; no others: the
rest of the world stays for testing. The messages are cleaned so that they read like questions: without prefixes
such as `fix(x):`, numbers and trailers, and in half of the instances without the names of the changed files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from localization.dataset import load_instances, load_scorer

from satchel.evaluation import fixes
from satchel.evaluation.fixes import Fix, mine
from satchel.sources.code.languages import kind_of, language_of
from satchel.sources.commits import read_commits
from satchel.sources.roles import peripheral_role
from satchel.system.git import Repository, find_repository, run
from satchel.types import Kind

REPOSITORIES = (
    "pydantic/pydantic-ai",
    "mem0ai/mem0",
    "yamadashy/repomix",
    "encode/starlette",
    "encode/httpx",
    "psf/black",
    "pallets/click",
    "pallets/jinja",
    "aio-libs/aiohttp",
    "tornadoweb/tornado",
    "celery/celery",
    "Textualize/rich",
    "pypa/pip",
    "redis/redis-py",
    "expressjs/express",
    "axios/axios",
    "chartjs/Chart.js",
    "vitejs/vite",
    "reduxjs/redux",
    "gin-gonic/gin",
    "spf13/cobra",
    "gohugoio/hugo",
    "etcd-io/etcd",
    "serde-rs/serde",
    "clap-rs/clap",
    "starship/starship",
    "square/okhttp",
    "junit-team/junit5",
    "redis/redis",
    "curl/curl",
    "nlohmann/json",
    "catchorg/Catch2",
    "jekyll/jekyll",
    "laravel/framework",
    "dotnet/efcore",
)
"""Public repositories beside those of the development issues, in ten languages."""

FIXES = 110
"""Most fixes of a repository, of the newest `READ`: neighbouring states share nearly all files, so each costs little to
index."""

READ = 260
TELLING_WORDS = 9
"""Messages with this many words come first: issues say more than `Fix errorhandler type check`."""

FEWEST_WORDS = 4

COMMITS, MOST_PAGES, MOST_LINES = 40, 3, 100
"""Commits of a repository, the newest, and the most pages and lines of documentation that one may change."""

_PREFIX = re.compile(r"^\s*(?:\[[^\]\n]{1,40}\]\s*)?(?:[A-Za-z]{2,12}(?:\([^)\n]*\))?!?:\s+)?(?:\[[^\]\n]{1,40}\]\s*)?")
_NUMBER = re.compile(r"\s*\(?(?:[A-Za-z-]+/[\w.-]+)?#\d+\)?|https?://\S+")
_TRAILER = re.compile(r"^\s*(?:[A-Z][\w-]*-by|Change-Id|PiperOrigin-RevId|Cherry-picked|\(cherry picked)\b.*$", re.M)


def question_of(fix: Fix) -> str:
    """Return the message as a question."""
    text = _TRAILER.sub("", _NUMBER.sub("", _PREFIX.sub("", fix.question, count=1)))
    if hashlib.sha256(fix.sha.encode()).digest()[0] % 2:
        for path in fix.gold:
            name = PurePosixPath(path)
            for word in (path, name.name, name.stem if len(name.stem) > 3 else ""):
                if word:
                    text = re.sub(rf"(?<![\w/.-]){re.escape(word)}(?![\w/-])", "", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return text[:1].upper() + text[1:]


def fixes_of(repos: Path, repo: str, most: int, work: Path) -> Iterator[dict[str, Any]]:
    """Yield the instances of one repository, the newest first."""
    origin = load_scorer().git_directory(repos, repo)
    if origin is None:
        return
    clone = work / repo.replace("/", "+")
    command = ["git", "clone", "-q", "--shared", "--no-checkout", str(origin), str(clone)]
    subprocess.run(command, check=True)
    repository = find_repository(clone)
    assert repository is not None
    repository = replace(repository, partial=True)  # a stored copy may lack a few large files
    asked = [(fix, question_of(fix)) for fix in mine(repository, limit=max(READ, most)).fixes]
    asked = [row for row in asked if len(row[1].split()) >= FEWEST_WORDS]
    chosen = sorted(asked, key=lambda row: len(row[1].split()) < TELLING_WORDS)[:most]
    for fix, question in sorted(chosen, key=lambda row: -row[0].time):
        languages = Counter(language_of(path) or "" for path in fix.gold)
        yield {
            "id": f"{repo.replace('/', '__')}-m{fix.sha[:10]}", "repo": repo, "lang": languages.most_common(1)[0][0],
            "source": "mined", "base_commit": fix.parent, "query": question, "gold_files": sorted(fix.gold),
            "gold_lines": {path: [list(span) for span in spans] for path, spans in fix.gold.items()},
            "gold_functions": [], "path_in_query": any(path.rsplit("/", 1)[-1] in question for path in fix.gold),
            "time": fix.time,
        }  # fmt: skip


def documented(repository: Repository) -> Iterator[Fix]:
    """The newest commits that changed code and up to three pages that explain the product; `gold` is in the pages."""
    count, parents = 0, fixes._parents(repository)
    for commit in read_commits(repository, limit=fixes.COMMITS_READ, merges=True):
        parent = parents.get(commit.sha, ())
        if count == COMMITS:
            return
        pages = [path for path in commit.files if explains(path)]
        if len(parent) != 1 or not 1 <= len(pages) <= MOST_PAGES or fixes.unusable(commit) not in ("", "no fix"):
            continue
        patch = run(
            repository, "diff-tree", "-r", "-p", "-U0", "--no-renames", "--end-of-options", parent[0], commit.sha
        )
        gold = {path: ranges for path, ranges in fixes.changed_lines(patch)[0].items() if path in pages}
        if gold and sum(last - first + 1 for rows in gold.values() for first, last in rows) <= MOST_LINES:
            question = fixes.question_of(commit.message)
            count += 1
            yield Fix(commit.sha, parent[0], commit.time, commit.subject, question, gold)


def explains(path: str) -> bool:
    """Whether a file is documentation, and no list of changes, licence, page for contributors or translation."""
    suffix = path.rpartition(".")[2]
    return (
        suffix in ("md", "rst", "txt")
        and kind_of(path, language_of(path)) is Kind.DOC
        and peripheral_role(path, is_prose=True) is None
    )


def main() -> int:
    """Mine all repositories that are there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=FIXES, help="fixes of a repository")
    parser.add_argument("--only", default="", help="regular expression on the repository's name")
    options = parser.parse_args()
    issues = load_instances()
    bases = {row["base_commit"] for row in issues}
    names = sorted({row["repo"] for row in issues} | set(REPOSITORIES))
    total = 0
    with tempfile.TemporaryDirectory(prefix="satchel-mine-") as work, options.out.open("a", encoding="utf-8") as out:
        for repo in names:
            if not re.search(options.only, repo):
                continue
            rows = [
                row
                for row in fixes_of(options.repos, repo, options.most, Path(work))
                if row["base_commit"] not in bases
            ]
            out.writelines(json.dumps(row) + "\n" for row in rows)
            out.flush()
            total += len(rows)
            print(f"{repo:32s} {len(rows):4d} fixes, {total:5d} in all", file=sys.stderr, flush=True)
    return 0 if total else 1


if __name__ == "__main__":
    sys.exit(main())
