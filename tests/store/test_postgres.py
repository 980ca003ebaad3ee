"""A store on a PostgreSQL server answers as the file does, byte for byte, and says in one sentence what is wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from equal_stores import measure

import satchel
from satchel import Satchel
from satchel.sources.conversations import Exchange
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import SEARCHED_TYPES
from tests.e2e.sample import sample_repository
from tests.e2e.test_resident import ALONE
from tests.postgres import environment, server_url

NOW = 1_700_100_000.0

QUESTIONS = (
    "where is the configuration read and parsed?", "retry with backoff", "TypeError in parse", "who calls load",
    "zürich naïve 'quoted' 100% sure?", "nothing at all like this",
)  # fmt: skip

FILES = {
    "src/app/config.py": 'from app.parse import parse\n\n\ndef load(path):\n    """Read the configuration."""\n'
    "    return parse(open(path).read())\n\n\nclass Settings:\n    def value(self, key):\n        return load(key)\n",
    "src/app/parse.py": "def parse(text):\n    # Zürich: 100% of the naïve lines\n    return text.split()\n",
    "src/app/retry.py": "def retry(work, times=3):\n    for _ in range(times):\n        work()\n",
    "tests/test_config.py": "from app.config import load\n\n\ndef test_load():\n    assert load('a')\n",
    "docs/guide.md": "# Guide\n\n## Configuration\n\nThe configuration is read by `load`.\n\n## Retry\n\nOften.\n",
    "data.bin": "\0\1\2",
}


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Start the shop", FILES)
    made.commit("Retry what fails with backoff", {"src/app/retry.py": FILES["src/app/retry.py"] + "\n\nWAIT = 2\n"})
    return made


@pytest.fixture
def engines(repository: TinyRepository, tmp_path: Path) -> Iterator[tuple[Satchel, Satchel]]:
    """One repository with its index in a file, and on the server."""
    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)}
    embedder = HashEmbedder(synonyms={"settings": "configuration"})
    with (
        Satchel.open(repository.root, environ=environment(tmp_path / "a"), embedder=embedder) as file,
        Satchel.open(repository.root, environ=environment(tmp_path / "a", **server), embedder=embedder) as remote,
    ):
        yield file, remote


def answers(engine: Satchel) -> list[str]:
    """The texts of contexts of every kind, and of searches."""
    texts = []
    for question in QUESTIONS:
        for types in ([*SEARCHED_TYPES], *([name] for name in SEARCHED_TYPES)):
            texts += [engine.assemble(question, types=types, now=NOW, max_tokens=1_500).text]
        texts.append(engine.graph(question, now=NOW).text)
        hits = engine.search(question, now=NOW)
        # But for the number of the row: a server has those of private records above all others.
        texts += [f"{replace(hit.chunk, document=0)} {hit.score}" for hit in hits]
    return texts


def test_processes_that_meet_a_new_server_together_make_the_tables_once() -> None:
    url, lock = server_url().replace("/postgres?", "/together?"), "(hashtextextended('satchel schema', 0))"
    import psycopg

    from satchel.store.postgres import PostgresStore

    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(b"CREATE DATABASE together")
    with ThreadPoolExecutor(3) as threads, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SELECT pg_advisory_lock{lock}".encode())
        stores = [threads.submit(PostgresStore, url, f"root {number}") for number in range(3)]
        waiting = b"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while connection.execute(waiting).fetchone() != (3,):  # each has seen that there is nothing
            assert not any(one.done() for one in stores)
        connection.execute(f"SELECT pg_advisory_unlock{lock}".encode())
        for one in stores:
            with closing(one.result()) as store:
                assert store.revision == "0"


def test_a_second_machine_of_one_name_and_key_finds_everything_there(
    repository: TinyRepository, tmp_path: Path
) -> None:
    shared = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_KEY": "ab" * 32}
    with Satchel.open(repository.root, environ=environment(tmp_path / "a", **shared)) as first:
        assert first.index().added == 5
        first.memories.add("Deploy on Mondays")
        texts = answers(first)
    with Satchel.open(repository.root, environ=environment(tmp_path / "b", **shared)) as second:
        assert answers(second) == texts
        report = second.index()
        assert (report.added, report.changed, report.unchanged) == (0, 0, 5)
    alone = {**shared, "SATCHEL_STORE_NAME": f"{tmp_path}/other"}
    with Satchel.open(repository.root, environ=environment(tmp_path / "b", **alone)) as third:
        assert (third.store.revision, third.memories.listed()) == ("0", [])


def test_commands_and_hooks_use_the_server_and_leave_no_file_with_the_password(
    repository: TinyRepository, tmp_path: Path
) -> None:
    url = server_url().replace("postgres:@", "postgres:sesame@")
    variables = {**environment(tmp_path, SATCHEL_STORE=url), "SATCHEL_EMBED_PROVIDER": "off"}
    variables["PYTHONPATH"] = str(Path(satchel.__file__).parents[1])

    def run(*arguments: str, entered: str = "") -> str:
        command = [*ALONE, *arguments]
        ran = subprocess.run(
            command, cwd=repository.root, env=variables, input=entered, capture_output=True, text=True, check=True
        )
        assert "sesame" not in ran.stdout + ran.stderr
        return ran.stdout

    run("index")
    assert "src/app/config.py" in run("search", QUESTIONS[0])
    run("remember", "Deploy on Mondays")
    assert "Deploy on Mondays" in run("memory", "list")
    event = {"session_id": "s", "cwd": str(repository.root), "prompt": "where does load in src/app/config.py read it?"}
    assert "def load" in run("hook", "prompt", entered=json.dumps(event))
    assert "store: postgresql://" in run("doctor")
    assert "***@" in run("config", "show")
    listed = json.loads(run("store", "status", "--json"))
    assert "(PostgreSQL 16." in listed["store"]
    assert any(row["name"].startswith("index/") and row["bytes"] for row in listed["roots"])
    files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert files
    assert not any(path.suffix == ".db" or b"sesame" in path.read_bytes() for path in files)
    del variables["SATCHEL_STORE"]
    assert run("store", "status").startswith("files on this machine\n")


def test_questions_of_every_kind_have_the_same_answers(tmp_path: Path) -> None:
    """A small run of the benchmark: the stored result in `benchmarks/results` is of 200 questions of each kind."""
    rows = measure(sample_repository(tmp_path / "shop").root, tmp_path, 6, server_url())
    assert {name: row["different"] for name, row in rows.items()} == {name: [] for name in rows}
    assert [name for name, row in rows.items() if not row["with_items"]] == []
    assert len(rows) == 14


def test_both_stores_give_the_same_answers(engines: tuple[Satchel, Satchel], repository: TinyRepository) -> None:
    for engine in engines:
        engine.index()
        engine.vectors.fill(None, lambda: False)
    file, remote = engines
    for text in ("The configuration is read once, at the start.", "Retry three times with backoff."):
        file.memories.add(text)
    file.experiences.start(
        domain="debugging", strategy="read-the-error", goal="retry waits", hypothesis="it does not wait",
        action="read retry", prediction="no sleep in it",
    )  # fmt: skip
    file.experiences.resolve(status="confirmed", result="there was no sleep")
    turn = Exchange("talk", "1", NOW - 50, "how long does retry wait?", ("Two seconds.",))
    file.memory.remember_exchanges([turn], origin="a talk")
    assert remote.import_memory([line.encode() for line in file.export_memory()]).added == 4
    assert list(remote.export_memory()) == list(file.export_memory())
    first = answers(remote)
    assert first == answers(file)
    for part in ("def load(path)", "Two seconds.", "there was no sleep", "Often."):
        assert any(part in text for text in first), part
    assert answers(remote) == answers(file)  # from what the first ones left in the process
    repository.commit("Rename", {"src/app/config.py": FILES["src/app/config.py"].replace("Settings", "Options")})
    repository.remove("docs/guide.md")
    for engine in engines:
        engine.index()
    assert answers(remote) == answers(file)
    assert remote.store.statistics() == file.store.statistics()
