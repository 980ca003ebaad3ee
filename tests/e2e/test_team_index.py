"""A team's index is published once, and each machine starts from it and follows its own files."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.e2e.command import Satchel
from tests.e2e.test_siblings import fresh, indexed, parsed
from tests.postgres import server_url
from tests.repositories import commit, git, new_repository

WORDS = ["apple", "birch", "cedar", "daisy", "elder", "fern", "grape", "hazel", "iris", "juniper"]

pytestmark = pytest.mark.files("names the server itself, in every run")


def module(number: int, body: str) -> str:
    function = f'def part_{number}():\n    return "{body}"\n'
    return f'"""Part {number}."""\n\n\n{function}\n\nclass Part{number}:\n    value = {number}\n'


@pytest.fixture
def team(tmp_path: Path) -> dict[str, str]:
    return {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_EMBED_PROVIDER": "off"}


@pytest.fixture
def ci(tmp_path: Path) -> Satchel:
    """The clone of the build machine, at a commit of the main branch."""
    root = new_repository(tmp_path / "ci")
    commit(root, "Add parts", {f"src/part{number}.py": module(number, word) for number, word in enumerate(WORDS)})
    commit(root, "Add a guide", {"docs/guide.md": "# Guide\n\nPart 3 is the daisy.\n"})
    return Satchel(root, tmp_path / "ci_home")


def developer(ci: Satchel, name: str = "developer") -> Satchel:
    """A clone at another path, with its own folders."""
    git(ci.root.parent, "clone", "-q", str(ci.root), name)
    return Satchel(ci.root.with_name(name), ci.home.with_name(f"{name}_home"))


def test_a_developer_reads_only_what_differs_from_the_published_commit(ci: Satchel, team: dict[str, str]) -> None:
    done = ci("index", "--publish", **team)
    assert done.code == 0, done.err
    assert f"published {git(ci.root, 'rev-parse', 'HEAD')[:12]}" in done.out + done.err
    mine = developer(ci)
    (mine.root / "src/part1.py").write_text(module(1, "walnut"))
    (mine.root / "src/own.py").write_text(module(99, "quince"))
    (mine.root / "src/part2.py").unlink()
    assert parsed(indexed(mine, **team)) == ["src/own.py", "src/part1.py"]
    assert mine.faults() == []
    assert mine.contents() == fresh(mine)
    assert "walnut" in mine("context", "what does part_1 return?", **team).out
    assert "quince" in mine("context", "part_99", **team).out
    assert "cedar" not in mine("context", "part_2", "--types", "code", **team).out
    assert mine("search", "daisy", "--json", **team).json["hits"]
    # The next commit is published from another clone, which reads only what is new in it.
    commit(ci.root, "Change a part", {"src/part4.py": module(4, "acorn")})
    again = developer(ci, "ci2")
    assert parsed(indexed(Satchel(again.root, ci.home), "--publish", **team)) == ["src/part4.py"]
    assert parsed(indexed(developer(ci, "other"), **team)) == []
    # What is here needs no server.
    away = {**team, "SATCHEL_STORE": "postgresql://127.0.0.1:1/shop"}
    answer = mine("context", "what does part_1 return?", **away)
    assert "walnut" in answer.out
    assert "cannot reach postgresql://127.0.0.1:1/shop" in answer.out + answer.err


def test_random_edits_are_shown_as_they_are(ci: Satchel, team: dict[str, str]) -> None:
    from satchel import Satchel as Engine

    assert ci("index", "--publish", **team).code == 0
    mine, chance = developer(ci), random.Random(7)
    environ = {"SATCHEL_HOME": str(mine.home), "SATCHEL_KEY": "07" * 32, "HOME": str(mine.home), "PATH": "", **team}
    with Engine.open(mine.root, environ=environ) as engine:
        assert type(engine.store).__name__ == "SqliteStore"
        for number in range(40):
            paths = sorted(path for path in (mine.root / "src").glob("*.py"))
            path, word = chance.choice(paths), f"{chance.choice(WORDS)}{number}"
            kind = chance.choice(("change", "shift", "new", "delete", "rename"))
            if kind == "change":
                path.write_text(module(number, word))
            elif kind == "shift":
                path.write_text(f"# {word}\n\n" + path.read_text())
            elif kind == "new" or len(paths) < 4:
                (mine.root / f"src/new{number}.py").write_text(module(number + 100, word))
            elif kind == "delete":
                path.unlink()
            else:
                path.rename(path.with_name(f"renamed{number}.py"))
            engine.opened._refreshed = -9.0  # as if some seconds had passed
            context = engine.assemble(f"{word} part value", types=["code"], max_tokens=4_000, min_score=0.0)
            assert context.items
            for item in context.items:
                assert item.location is not None
                lines = (mine.root / item.location.path).read_text().split("\n")
                for piece in item.pieces:
                    assert piece.freshness is None
                    assert piece.text.split("\n") == lines[piece.start - 1 : piece.end]


def test_only_a_whole_clean_commit_is_published(ci: Satchel, team: dict[str, str], tmp_path: Path) -> None:
    nameless = {name: value for name, value in team.items() if name != "SATCHEL_STORE_NAME"}
    assert "set store.url and store.name" in ci("index", "--publish", **nameless).err
    (ci.root / "notes.md").write_text("mine\n")
    (ci.root / "src/part0.py").write_text("mine = 1\n")
    refused = ci("index", "--publish", **team)
    assert (refused.code, "not in the commit: notes.md, src/part0.py; publish" in refused.err) == (2, True)
    git(ci.root, "stash", "-q", "-u")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{ci.root}", "shallow")
    shallow = Satchel(tmp_path / "shallow", tmp_path / "shallow_home")
    assert "whole history" in shallow("index", "--publish", **team).err
    shutil.rmtree(ci.root / ".git")
    assert "whole history" in ci("index", "--publish", **team).err


def test_another_key_reads_all_files_and_says_why(ci: Satchel, team: dict[str, str]) -> None:
    assert ci("index", "--publish", **team).code == 0
    mine = developer(ci)
    done = indexed(mine, SATCHEL_KEY="08" * 32, **team)
    assert len(parsed(done)) == len(WORDS) + 1
    assert "the team's index was not used: it was made with another key" in done.err
    assert "part_3" in mine("context", "part_3", SATCHEL_KEY="08" * 32, **team).out
