"""A team on one server: what one role keeps to itself no other finds, what it shares all find, and nothing is lost."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

import satchel
from satchel import Satchel
from satchel.errors import ReadOnlyStoreError, SatchelError, UsageError
from satchel.sources.conversations import Exchange
from satchel.store.records import PUBLISHED
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import CONTEXT_TYPES
from tests.docs.pages import Command, steps
from tests.docs.project import make_project
from tests.docs.test_pages import Reader, is_ours
from tests.postgres import data_folder, environment, server_url
from tests.repositories import git

SECRET_WORD = "heliotrope"
NOW = 1_700_100_000.0
ROLES = ("ada", "grace")


def sql(statement: str, user: str = "postgres") -> list[tuple[object, ...]]:
    import psycopg

    with psycopg.connect(server_url(), user=user, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        while cursor.nextset():  # the rows of the last statement count
            pass
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "ci" / "shop")
    made.commit("Start", {"app.py": "def load():\n    return 1\n", "docs/guide.md": "# Guide\n\nLoad it.\n"})
    return made


@pytest.fixture
def team(repository: TinyRepository, tmp_path: Path) -> Iterator[Callable[..., Satchel]]:
    """Opens the engine of a role, which has its own clone and its own folders, and closes all in the end."""
    server_url()
    for role in ROLES:
        sql(f"CREATE ROLE {role} LOGIN")
    shared = {"SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_KEY": "ab" * 32}
    owner = {"SATCHEL_STORE": server_url(), **shared}
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci", **owner)) as engine:
        assert "(PostgreSQL 16." in engine.team.prepare([], ROLES)
    engines: list[Satchel] = []

    def opened(role: str, **variables: str) -> Satchel:
        root = tmp_path / role / "checkout"
        if not root.exists():
            shutil.copytree(repository.root, root)
        url = f"postgresql://{role}@/postgres?host={quote(str(data_folder()), safe='')}"
        environ = environment(tmp_path / role, SATCHEL_STORE=url, **shared, **variables)
        engines.append(Satchel.open(root, environ=environ, embedder=HashEmbedder()))
        return engines[-1]

    yield opened
    for one in engines:
        one.close()
    for role in ROLES:
        sql(f"DROP OWNED BY {role}")
        sql(f"DROP ROLE {role}")


def remembered(engine: Satchel, visibility: str, word: str) -> tuple[str, str]:
    """Keep a memory and an experience with a word; returns their ids."""
    memory = engine.memories.add(f"The {word} release waits for the load balancer", visibility=visibility).memory
    engine.experiences.start(
        domain="debugging", strategy="read-the-error", goal=f"load {word} faster", action="warm it",
        hypothesis=f"the {word} cache is cold", prediction="no wait", visibility=visibility, session=word,
    )  # fmt: skip
    done = engine.experiences.resolve(status="confirmed", result=f"{word} was warm", lesson=word, session=word)
    return memory.id, done.id


def doors(engine: Satchel, memory: str, experience: str, handles: list[str]) -> Mapping[str, Callable[[], object]]:
    """All ways to a record, by name."""
    question = "what release waits for the load balancer, and is the cache cold?"  # without the word, which is echoed
    return {
        "memory get": lambda: engine.memories.get(memory),
        "memory list": lambda: engine.memories.listed(superseded=True),
        "memory search": lambda: engine.memories.search(question),
        "memory similar": lambda: engine.memories.similar_to(f"The {SECRET_WORD} release waits for the load balancer"),
        "memory supersede": lambda: engine.memories.supersede(memory, "It is over"),
        "memory share": lambda: engine.memories.share([memory]),
        "memory forget": lambda: engine.memories.forget([memory]),
        "experience get": lambda: engine.experiences.get(experience),
        "experience list": lambda: [*engine.experiences.listed(), *engine.experiences.orphans()],
        "experience active": lambda: engine.experiences.active("still open"),
        "experience correct": lambda: engine.experiences.correct(experience, visibility="team"),
        "experience forget": lambda: engine.experiences.forget([experience]),
        "values": lambda: [engine.values.cluster(), engine.values.propose(), engine.values.listed()],
        "conversations": engine.conversations.listed,
        "export": lambda: list(engine.export_memory()),
        "context": lambda: engine.assemble(question, types=[*CONTEXT_TYPES][:-1], min_score=0.0, now=NOW).text,
        "search": lambda: engine.search(SECRET_WORD, now=NOW),
        "premortem": lambda: engine.premortem("debugging", "read-the-error", now=NOW).text,
        "expand": lambda: engine.expand(handles).text,
        "why": lambda: engine.why(f"memory:{memory}", "the load balancer"),
        "graph": lambda: engine.graph(f"memory:{memory}", now=NOW).text.replace(memory, ""),
        "document": lambda: engine.receipts.document(f"memory:{memory}"),
        "texts": lambda: engine.memory_store.texts(range(1 << 30, (1 << 30) + 20)),
        "words": lambda: [
            SECRET_WORD
            for _ in engine.memory_store._rows("SELECT 1 FROM postings WHERE term LIKE $1", (f"{SECRET_WORD[:-1]}%",))
            + engine.memory_store._rows("SELECT 1 FROM vectors")
        ],
        "meta": lambda: engine.memory_store._rows("SELECT * FROM meta"),
        "roots": engine.team.parts,
    }


def test_no_door_leads_another_role_to_a_private_record(team: Callable[..., Satchel]) -> None:
    ada, grace = team("ada"), team("grace")
    memory, experience = remembered(ada, "private", SECRET_WORD)
    ada.experiences.start(
        domain="debugging", strategy="read-the-error", goal=f"open {SECRET_WORD}", hypothesis="the lock is held",
        action="look", prediction="a holder", session="still open",
    )  # fmt: skip
    turn = Exchange("talk", "1", NOW - 50, f"is {SECRET_WORD} ready?", (f"Yes, {SECRET_WORD} is.",))
    ada.memory.remember_exchanges([turn], origin="a talk")
    ada.vectors.fill(None, lambda: False)
    grace.index()
    handles = [item.handle for item in ada.assemble("release of the load balancer", min_score=0.0).items]
    tried = doors(grace, memory, experience, handles)
    assert len(tried) >= 20
    for name, door in tried.items():
        try:
            shown = str(door())
        except SatchelError as error:
            shown = str(error)
        assert SECRET_WORD not in shown, name
        assert "of ada" not in shown, name
    own = doors(ada, memory, experience, handles)
    changing = {name for name in own if name.endswith(("correct", "forget", "share", "supersede"))}
    found = {name for name in own.keys() - changing if SECRET_WORD in _said(own[name])}
    assert found >= {"memory get", "memory list", "memory search", "experience list", "export", "context", "search",
                     "premortem", "expand", "conversations", "texts", "words"}  # fmt: skip
    # The server itself refuses: rows are not shown to another role, whatever it sets, and it writes none there.
    ((root,),) = sql("SELECT id FROM satchel.roots WHERE owner = 'ada' AND name LIKE 'memory/%'")
    chosen = f"SET satchel.root = '{root}'; SET satchel.shared = '{root}'; SET search_path = satchel_both, satchel_root"
    for table in ("documents", "texts", "chunks", "postings", "segments", "vectors", "meta"):
        assert sql(f"SELECT count(*) FROM satchel.{table} WHERE root = {root}")[0][0]  # as the superuser
        for place in (f"satchel.{table}", table):
            assert sql(f"{chosen}; SELECT count(*) FROM {place}", "grace") == [(0,)]
    import psycopg

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql(f"{chosen}; INSERT INTO satchel_root.meta VALUES ('a', 'b')", "grace")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql("INSERT INTO satchel.roots(name, owner) VALUES ('x', 'ada')", "grace")
    for attack in ("UPDATE satchel.version SET number = 99", "UPDATE satchel.roots SET owner = 'grace'"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            sql(attack, "grace")


def test_an_index_that_nobody_published_is_that_of_its_role(team: Callable[..., Satchel]) -> None:
    ada, grace = team("ada"), team("grace")
    sql(f"INSERT INTO satchel.roots(name) VALUES ('{ada.store._root}')")  # type: ignore[attr-defined]
    (Path(ada.places.root) / "secret.py").write_text(f"def {SECRET_WORD}():\n    return 1\n")
    ada.index()
    named = f"FROM satchel.roots WHERE name = '{ada.store._root}'"  # type: ignore[attr-defined]
    assert sql(f"SELECT owner {named}") == [("ada",)]
    ((root,),) = sql(f"SELECT id {named}")
    chosen = f"SET satchel.root = '{root}'; SET satchel.shared = '{root}'; SET search_path = satchel_both, satchel_root"
    for table in ("documents", "texts", "chunks", "definitions", "postings", "segments", "meta"):
        assert sql(f"{chosen}; SELECT count(*) FROM satchel_root.{table}", "ada")[0][0]
        for place in (f"satchel.{table}", f"satchel_root.{table}"):
            assert sql(f"{chosen}; SELECT count(*) FROM {place}", "grace") == [(0,)]
    assert sql(f"SELECT owner {named}", "grace") == []
    grace.index()
    assert "secret.py" not in str(grace.search(SECRET_WORD))
    assert "secret.py" in str(ada.search(SECRET_WORD))


def _said(door: Callable[[], object]) -> str:
    try:
        return str(door())
    except SatchelError as error:
        return str(error)


def test_what_is_shared_all_find_with_its_author(team: Callable[..., Satchel]) -> None:
    ada, grace = team("ada"), team("grace")
    memory, experience = remembered(ada, "team", "marigold")
    (found,) = grace.memories.listed()
    assert grace.memories.listed(scope="team") == [found]
    assert grace.memories.listed(scope="user") == []
    assert (found.id, found.author, found.visibility) == (memory, "ada", "team")
    assert "marigold" in grace.assemble("marigold release", now=NOW).text
    assert grace.experiences.get(experience).author == "ada"
    private, tried = remembered(ada, "private", SECRET_WORD)
    newer = ada.memories.supersede(private, f"The {SECRET_WORD} release is out").memory
    assert len(grace.memories.listed()) == 1
    with pytest.raises(UsageError, match="was replaced: share"):
        ada.memories.share([private])
    ada.memories.share([newer.id])
    ada.experiences.correct(tried, visibility="team")
    for engine in (ada, grace):
        assert {one.id for one in engine.memories.listed()} == {memory, newer.id}
        assert {one.id for one in engine.memories.listed(superseded=True)} == {memory, newer.id, private}
        assert {one.id for one in engine.experiences.listed()} == {experience, tried}
        assert engine.memories.search(f"{SECRET_WORD} release")[0].memory.id == newer.id
    answer = grace.memories.supersede(memory, "The marigold release is out").memory
    assert (answer.author, answer.visibility) == ("grace", "team")
    assert ada.memories.get(memory).superseded_by == answer.id
    grace.memories.forget([answer.id])
    assert {one.id for one in ada.memories.listed()} == {newer.id}


def test_many_records_of_both_kinds_keep_their_words_and_vectors(team: Callable[..., Satchel]) -> None:
    engines = {role: team(role) for role in ROLES}
    for number in range(24):  # more segments than are kept apart, so that they are merged
        role = ROLES[number % 2]
        visibility = ("private", "team")[number // 2 % 2]
        engines[role].memories.add(f"{role} word{number} is {visibility} in the release", visibility=visibility)
    for role, engine in engines.items():
        engine.vectors.fill(None, lambda: False)
        listed = {one.content for one in engine.memories.listed()}
        assert len(listed) == 18
        assert not any("private" in content and not content.startswith(role) for content in listed)
        for content in listed:
            assert engine.memories.search(content)[0].memory.content == content
        assert engine.team.check() == {"index": [], "memory": []}
        counts = engine.memory_store._rows(
            "SELECT id < 1073741824, count(*) FROM segments WHERE kind = 'memory' GROUP BY 1"
        )
        assert all(count <= 9 for _, count in counts), counts


@pytest.fixture
def run(repository: TinyRepository, tmp_path: Path) -> Callable[..., str]:
    """Runs the command line in the repository."""

    def ran(*arguments: str, code: int = 0, entered: str = "", **variables: str) -> str:
        environ = {**environment(tmp_path / "ci"), "SATCHEL_EMBED_PROVIDER": "off", **variables}
        environ["PYTHONPATH"] = str(Path(satchel.__file__).parents[1])
        done = subprocess.run(
            [sys.executable, "-m", "satchel", *arguments], cwd=repository.root, env=environ, input=entered,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    return ran


@pytest.mark.parametrize("kind", ["files", "server"])
def test_visibility_and_author_at_every_door(
    run: Callable[..., str], repository: TinyRepository, tmp_path: Path, kind: str
) -> None:
    store = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)} if kind == "server" else {}
    mark = "  (team, by postgres)" if kind == "server" else "  (team)"
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci", **store)) as engine:
        private = run("remember", "Deploy on Mondays", **store).splitlines()[0]
        shared = run("memory", "add", "Never on Fridays", "--visibility", "team", **store).splitlines()[0]
        assert {one.id: one.visibility for one in engine.memories.listed()} == {private: "private", shared: "team"}
        listed = run("memory", "list", **store)
        assert f"Never on Fridays{mark}" in listed
        assert "Mondays  (team" not in listed
        assert "visibility" in run("memory", "show", private, **store)
        assert f"Deploy on Mondays{mark}" in run("memory", "share", private, **store)
        assert json.loads(run("memory", "show", private, "--json", **store))["visibility"] == "team"
        assert "choose from private, team" in run("remember", "x y", "--visibility", "all", code=2, **store)
        lines = [line.encode() for line in engine.export_memory()]
    with Satchel.open(repository.root, environ=environment(tmp_path / "other")) as other:
        assert other.import_memory(lines).added == 2
        assert list(other.export_memory()) == [line.decode() for line in lines]


def test_a_store_moves_to_the_server_and_back_without_loss(
    run: Callable[..., str], repository: TinyRepository, tmp_path: Path
) -> None:
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci")) as engine:
        engine.index()
        for word in ("one", "two", "three"):
            remembered(engine, "team" if word == "two" else "private", word)
        old = engine.memories.add("Deploy on Mondays").memory
        engine.memories.supersede(old.id, "Deploy on Tuesdays")
        engine.memory.remember_exchanges([Exchange("talk", "1", NOW, "how long?", ("Two seconds.",))], origin="a talk")
        engine.experiences.start(domain="debugging", strategy="read-the-error", goal="a goal that is open",
                                 hypothesis="the lock is held", action="look", prediction="a holder")  # fmt: skip
        before = [json.loads(line) for line in engine.export_memory()]
        statistics = engine.store.statistics()
    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)}
    moved = run("store", "move", "--to", "server", **server)
    assert "memories: 5 of 5" in moved
    assert "experiences: 4 of 4" in moved
    assert "code: 1 of 1" in moved
    assert run("store", "check", **server) == "index: whole\nmemory: whole\n"
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci", **server)) as engine:
        there = [json.loads(line) for line in engine.export_memory()]
        assert engine.store.statistics() == statistics
        assert engine.index().added == 0
        assert {row.get("author") for row in there[1:] if row["type"] == "memory"} == {"postgres"}
    assert [_same(row) for row in there] == [_same(row) for row in before]
    run("memory", "add", "Only on the server", **server)
    shutil.rmtree(tmp_path / "ci" / "home")
    assert "memories: 6 of 6" in run("store", "move", "--to", "files", **server)
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci")) as engine:
        back = [json.loads(line) for line in engine.export_memory()]
        assert len(engine.memories.listed()) == 5
        assert engine.store.statistics() == statistics
    assert len(back) == len(before) + 1
    assert {_same(row) for row in back} >= {_same(row) for row in before}


def _same(row: Mapping[str, object]) -> str:
    """A record but for its author, and the name of its repository, which is another one on a server."""
    return json.dumps({name: value for name, value in row.items() if name not in {"author", "workspace"}})


def test_check_names_what_is_broken_in_both_stores(run: Callable[..., str], tmp_path: Path) -> None:
    import apsw

    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)}
    for store in ({}, server):
        run("index", **store)
        run("remember", "Deploy on Mondays", **store)
        assert run("store", "check", **store) == "index: whole\nmemory: whole\n"
    (file,) = (tmp_path / "ci").rglob("index.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("DELETE FROM segments WHERE kind = 'doc'")
    sql(f"DELETE FROM satchel.chunks WHERE root IN (SELECT id FROM satchel.roots WHERE name = 'memory/{tmp_path}')")
    sql("UPDATE satchel.postings SET body = '\\x00' WHERE root IN (SELECT id FROM satchel.roots WHERE name LIKE "
        f"'index/{tmp_path}%')")  # fmt: skip
    faults = run("store", "check", code=3)
    assert "index: 1 documents without words" in faults
    faults = run("store", "check", code=3, **server)
    assert "index: code: " in faults
    assert "memory: 1 documents without chunks" in faults


def test_what_a_store_cannot_do_is_one_sentence(run: Callable[..., str], tmp_path: Path) -> None:
    assert "store.url names a server" in run("store", "init", code=2)
    assert "store.url names a server" in run("store", "move", "--to", "server", code=2)
    word = "sesame"
    broken = f"postgresql://ada:{word}@127.0.0.1:1/shop"
    for command in (("init",), ("check",), ("move", "--to", "files"), ("status",)):
        said = run("store", *command, code=1, SATCHEL_STORE=broken)
        assert "cannot reach postgresql://127.0.0.1:1/shop" in said
        assert word not in said
    server = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path)}
    assert 'role "nobody-of-us" does not exist' in run("store", "init", "--writer", "nobody-of-us", code=1, **server)


def test_a_role_that_may_only_read_finds_what_is_shared_and_writes_nothing(team: Callable[..., Satchel]) -> None:
    ada = team("ada")
    memory, _ = remembered(ada, "team", "marigold")
    sql("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA satchel, satchel_root, satchel_both FROM grace")
    grace = team("grace")
    assert grace.memories.get(memory).author == "ada"
    with pytest.raises(ReadOnlyStoreError, match="does not give this user the rights"):
        grace.memories.add("Deploy on Mondays")


def test_others_are_told_to_ask_the_owner_for_newer_tables(
    team: Callable[..., Satchel], monkeypatch: pytest.MonkeyPatch
) -> None:
    team("ada").memories.add("Deploy on Mondays")
    from satchel.store.postgres.connection import STEPS

    newer = (*STEPS, "ALTER TABLE satchel.roots ADD COLUMN more text")
    monkeypatch.setattr("satchel.store.postgres.connection.STEPS", newer)
    with pytest.raises(ReadOnlyStoreError, match="their owner runs `satchel store init`"):
        team("grace").memories.listed()


PAGE = Path(__file__).parents[2] / "docs" / "team.md"


def test_the_page_leads_from_an_empty_server_to_a_shared_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_url()
    statements = PAGE.read_text().partition("```sql\n")[2].partition("```")[0].split("\n")
    for statement in filter(None, statements):
        sql(statement)
    try:
        project = make_project(tmp_path)
        clones = {role: tmp_path / role / "shop" for role in ("ci", "ada", "grace")}
        for clone in clones.values():
            git(tmp_path, "clone", "-q", str(project), str(clone))
        reader, done = Reader(), []

        def as_role(role: str) -> None:
            monkeypatch.chdir(clones[role])
            monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / role / "home"))
            url = f"postgresql://{role}@/satchel?host={quote(str(data_folder()), safe='')}"
            monkeypatch.setenv("SATCHEL_STORE", url)

        monkeypatch.setenv("SATCHEL_STORE_NAME", "shop-team")
        monkeypatch.setenv("SATCHEL_KEY", "ab" * 32)
        for step in steps(PAGE):
            assert isinstance(step, Command)
            if is_ours(step.line):
                as_role("ci" if "--publish" in step.line or "store init" in step.line else "ada")
                reader.follow(step)
                done.append(step.line.partition(" ")[2].partition(' "')[0].partition(" --writer")[0])
        assert done[:4] == ["store init", "index --publish", "context", "remember"]
        as_role("grace")
        with Satchel.open() as engine:
            assert "then support is told" in engine.assemble("for how long are orders sent again?").text  # of another
            assert "for attempt in range(5)" in engine.assemble("Client.send_order", types=["code"]).text  # here
            assert {one.author for one in engine.memories.listed()} == {"ada"}
            assert engine.store.meta(PUBLISHED) == "shop-team"
        assert len(list((tmp_path / "grace" / "home").rglob("index.db"))) == 1
    finally:
        sql("DROP DATABASE satchel WITH (FORCE)")
        for role in ("ci", "ada", "grace"):
            sql(f"DROP ROLE {role}")


def test_the_examples_of_services_use_options_that_exist(run: Callable[..., str]) -> None:
    pages = [PAGE, PAGE.with_name("http.md")]
    lines = [line for page in pages for line in page.read_text().splitlines() if "satchel serve --" in line]
    assert lines
    known = run("serve", "--help")
    for option in {option for line in lines for option in re.findall(r"--[a-z-]+", line)}:
        assert option in known


def published_root() -> int:
    ((number,),) = sql("SELECT id FROM satchel.roots WHERE name LIKE 'published/%' ORDER BY id DESC LIMIT 1")
    assert isinstance(number, int)
    return number


def publish(team: Callable[..., Satchel], repository: TinyRepository, tmp_path: Path) -> int:
    """Publish as the owner of the tables; returns the number of the root."""
    del team
    shared = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_KEY": "ab" * 32}
    with Satchel.open(repository.root, environ=environment(tmp_path / "ci", **shared)) as engine:
        engine.team.begin_publishing()
        engine.index()
    return published_root()


def test_only_the_owner_of_the_tables_writes_what_is_published(
    team: Callable[..., Satchel], repository: TinyRepository, tmp_path: Path
) -> None:
    import psycopg

    root = publish(team, repository, tmp_path)
    before = sql(f"SELECT document, body FROM satchel.texts WHERE root = {root} ORDER BY 1")
    chosen = f"SELECT set_config('satchel.root', '{root}', false); "
    assert before
    assert sql(f"{chosen} UPDATE satchel.texts SET body = 'forged' RETURNING 1", "grace") == []
    assert sql(f"{chosen} UPDATE satchel_root.texts SET body = 'forged' RETURNING 1", "grace") == []
    assert sql(f"{chosen} DELETE FROM satchel.documents RETURNING 1", "grace") == []
    assert sql(f"UPDATE satchel.roots SET name = 'gone' WHERE id = {root} RETURNING 1", "grace") == []
    assert sql(f"DELETE FROM satchel.roots WHERE id = {root} RETURNING 1", "grace") == []
    for statement in (
        f"{chosen} INSERT INTO satchel.texts VALUES ({root}, 99, 'forged')",
        f"{chosen} INSERT INTO satchel_root.texts VALUES (99, 'forged')",
        "INSERT INTO satchel.roots(name) VALUES ('published/other/x')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            sql(statement, "grace")
    assert sql(f"SELECT document, body FROM satchel.texts WHERE root = {root} ORDER BY 1") == before


def test_a_writer_can_rename_and_remove_no_root_of_the_team(team: Callable[..., Satchel]) -> None:
    team("ada").memories.add("Shared by ada", visibility="team")
    name = "name LIKE 'memory/%' AND owner = ''"
    assert sql(f"UPDATE satchel.roots SET name = 'gone' WHERE {name} RETURNING 1", "grace") == []
    assert sql(f"DELETE FROM satchel.roots WHERE {name} RETURNING 1", "grace") == []
    assert [one.content for one in team("grace").memories.listed()] == ["Shared by ada"]


def test_lines_of_a_file_are_those_of_the_file_whatever_the_published_text_says(
    team: Callable[..., Satchel], repository: TinyRepository, tmp_path: Path
) -> None:
    import zlib

    root = publish(team, repository, tmp_path)
    forged = zlib.compress(b"def load():\n    return evil()\n").hex()
    sql(
        f"SELECT set_config('satchel.root', '{root}', false); "
        f"UPDATE satchel.texts SET body = decode('{forged}', 'hex') WHERE root = {root} "
        f"AND document = (SELECT id FROM satchel.documents WHERE root = {root} AND key = 'app.py')"
    )
    ada = team("ada")
    ada.index()
    assert ada.store.meta(PUBLISHED) == str(tmp_path)
    assert "evil" in ada.store.text(1) + ada.store.text(2), "the copy has the forged text"
    answer = ada.assemble("what does load return", now=NOW)
    assert "return 1" in answer.text
    assert "evil" not in answer.text
    assert all("evil" not in str(match) for match in ada.search("load", now=NOW))


def test_a_reader_cannot_hold_up_writers(team: Callable[..., Satchel], tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(server_url(), autocommit=True) as owner:
        owner.execute(b"CREATE ROLE rita LOGIN")
    owner_settings = {"SATCHEL_STORE": server_url(), "SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_KEY": "ab" * 32}
    with Satchel.open(tmp_path / "ci" / "shop", environ=environment(tmp_path / "ci", **owner_settings)) as engine:
        engine.team.prepare(["rita"], [])
    name = f"satchel memory/{tmp_path}"
    try:
        with psycopg.connect(server_url(), user="rita") as rita:
            rita.execute(f"SELECT pg_advisory_lock(hashtextextended('{name}', 0))".encode())
            rita.execute(b"SELECT pg_advisory_lock(hashtextextended('satchel schema', 0))")
            for statement in (b"INSERT INTO satchel.locks VALUES ('x')", b"SELECT * FROM satchel.locks FOR UPDATE"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege), rita.transaction():
                    rita.execute(statement)
            ada = team("ada")
            ada.memory_store._timeout_ms = 100  # type: ignore[attr-defined]
            assert ada.memories.add("Not held up").memory.content == "Not held up"
    finally:
        sql("DROP OWNED BY rita; DROP ROLE rita")


def test_locked_tables_cost_a_question_the_memory_and_not_the_answer(
    team: Callable[..., Satchel], repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    publish(team, repository, tmp_path)
    monkeypatch.setattr(
        "satchel.store.postgres.connection._SESSION", f"{postgres_session()}; SET lock_timeout = '50ms'"
    )
    ada = team("ada")
    ada.memories.add("The load balancer waits for grace")
    assert "The load balancer waits" in ada.assemble("what does the load balancer wait for", now=NOW).text
    assert ada.store.meta(PUBLISHED) == str(tmp_path), "what is remembered before makes no index of its own"
    with psycopg.connect(server_url(), user="grace") as grace:
        grace.execute(b"LOCK TABLE satchel.documents IN ACCESS EXCLUSIVE MODE")
        answer = ada.assemble("what does load return", now=NOW)
        assert "return 1" in answer.text
        (failure,) = [one for one in answer.failures if one.source == "memory"]
        assert "another process has locked tables of" in failure.message
        fresh = team("ada")  # a process that opens the memory now
        assert "return 1" in fresh.assemble("what does load return", now=NOW).text


def postgres_session() -> str:
    from satchel.store.postgres import connection

    return connection._SESSION
