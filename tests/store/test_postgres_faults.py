"""What goes wrong with a server is one sentence that says what to do, never shows a password, and loses nothing."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from satchel import Satchel, doctor
from satchel.cli.commands.maintain import setting_lines
from satchel.config import load_settings
from satchel.errors import (
    ConfigError,
    MissingExtraError,
    SatchelError,
    StoreError,
    UnreachableStoreError,
    UsageError,
)
from satchel.index.build import clean
from satchel.store.place import StorePlace
from satchel.store.protocol import Store
from satchel.testing import TinyRepository
from satchel.types import Kind
from tests.contracts.documents import record_document
from tests.postgres import data_folder, environment, postgres_store, server_url

SECRET = "sesame"


def sql(*statements: str, database: str = "postgres") -> None:
    import psycopg

    with psycopg.connect(server_url(), dbname=database, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def reload_settings() -> None:
    """Have the server read its settings, and wait until it has."""
    import psycopg

    def read_at() -> object:
        with psycopg.connect(server_url(), autocommit=True) as connection:
            return connection.execute("SELECT pg_conf_load_time()").fetchone()

    before = read_at()
    sql("SELECT pg_reload_conf()")
    while read_at() == before:
        pass


def url_of(user: str, database: str = "postgres", password: str = SECRET) -> str:
    """The address of the test server for another user."""
    return f"postgresql://{user}:{password}@/{database}?host={quote(str(data_folder()), safe='')}"


@pytest.fixture
def user() -> Iterator[str]:
    """A user without any rights on the store."""
    with closing(postgres_store(Path("rights"))) as store, store.write() as writer:
        writer.put([record_document("c1", "alpha")])
    sql("DROP ROLE IF EXISTS ada", f"CREATE ROLE ada LOGIN PASSWORD '{SECRET}'")
    yield "ada"
    sql("DROP OWNED BY ada", "DROP ROLE ada")


def opened(url: str, root: str = "rights") -> None:
    """Open a store and write to it."""
    with closing(StorePlace(Path(), url=url, root=root).open()) as store, store.write() as writer:
        writer.set_meta("a", "b")


def refusal(url: str, error: type[SatchelError] = StoreError) -> str:
    """The sentence about a store that cannot be used; nothing about the error has the password."""
    with pytest.raises(error) as caught:
        opened(url)
    cause: BaseException | None = caught.value
    while cause is not None:
        assert SECRET not in f"{cause} {cause!r}"
        cause = cause.__cause__
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_server_that_does_not_answer() -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    assert refusal(f"postgresql://ada:{SECRET}@127.0.0.1:1/shop").startswith(
        "cannot reach postgresql://127.0.0.1:1/shop: connection to server"
    )


def test_an_address_that_is_none() -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    for url in (
        f"mysql://ada:{SECRET}@host", f"postgresql://ada:{SECRET}@host:port:{SECRET}/x", SECRET,
        f"postgresql://ada:p@{SECRET}@host/x", f"postgresql://ada:1/{SECRET}@host/x",
    ):  # fmt: skip
        assert "write postgresql://USER@HOST:PORT/DATABASE" in refusal(url, ConfigError)


def test_a_wrong_password(user: str) -> None:
    rules = data_folder() / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all {user} scram-sha-256\n{before}")
    reload_settings()
    try:
        assert "the password or the user name is wrong" in refusal(url_of(user, password=f"{SECRET}-2"))
        assert "wants a password" in refusal(url_of(user, password=""))
    finally:
        rules.write_text(before)
        reload_settings()


def test_a_user_without_rights(user: str) -> None:
    assert "does not give this user the rights that satchel needs: permission denied" in refusal(url_of(user))
    sql("CREATE DATABASE bare")
    try:
        assert "permission denied for database bare" in refusal(url_of(user, "bare"))
    finally:
        sql("DROP DATABASE bare")


def test_the_rights_that_init_gives_are_enough(user: str) -> None:
    with closing(StorePlace(Path(), url=server_url(), root="rights").on_server()) as store:
        store.allow(user, writes=True)
    opened(url_of(user), "rights")
    opened(url_of(user), "new")


def test_a_user_who_may_only_read(user: str) -> None:
    sql(
        f"GRANT USAGE ON SCHEMA satchel, satchel_root, satchel_both TO {user}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA satchel, satchel_root, satchel_both TO {user}",
        f"ALTER ROLE {user} SET default_transaction_read_only = on",
    )
    with closing(StorePlace(Path(), url=url_of(user), root="rights").open()) as store:
        assert store.keys(Kind.COMMIT) == {"c1"}
    assert "is read-only, perhaps a standby: nothing was changed" in refusal(url_of(user))


@pytest.mark.parametrize(
    ("mode", "reason"), [("on", "is read-only"), ("off", "does not give this user the rights that satchel needs")]
)
def test_who_may_only_read_is_answered_from_what_the_role_indexed_before(
    user: str, tmp_path: Path, mode: str, reason: str
) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Start", {"a.py": "def load():\n    return 1\n"})
    shared = {"SATCHEL_STORE_NAME": str(tmp_path), "SATCHEL_KEY": "ab" * 32}
    tables = "ON ALL TABLES IN SCHEMA satchel, satchel_root, satchel_both"
    sql(
        f"GRANT USAGE ON SCHEMA satchel, satchel_root, satchel_both TO {user}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE {tables} TO {user}",
    )
    builder = environment(tmp_path / "ci", SATCHEL_STORE=url_of(user), **shared)
    with Satchel.open(repository.root, environ=builder) as engine:
        engine.index()
    sql(
        f"REVOKE INSERT, UPDATE, DELETE {tables} FROM {user}",
        f"ALTER ROLE {user} SET default_transaction_read_only = {mode}",
    )
    repository.write({"a.py": "def load():\n    return 2\n", "b.py": "def save():\n    return 3\n"})
    reader = environment(tmp_path / "reader", SATCHEL_STORE=url_of(user), **shared)
    with Satchel.open(repository.root, environ=reader) as engine:
        context = engine.assemble("load")
        assert "return 2" in context.text  # shown lines are those of the file
        (failure,) = [one for one in context.failures if one.source == "index"]
        assert reason in failure.message
        assert failure.hint == "the answer comes from the index as it was before"
        with pytest.raises(StoreError, match=reason):
            engine.index()


def test_a_server_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    url = server_url()
    monkeypatch.setattr("satchel.store.postgres.connection.OLDEST_SERVER", 990_000)
    assert refusal(url).endswith("is PostgreSQL 16: satchel needs 99 or newer")


def test_a_store_of_a_newer_satchel(monkeypatch: pytest.MonkeyPatch) -> None:
    postgres_store(Path("newer")).close()
    monkeypatch.setattr("satchel.store.postgres.connection.STEPS", ())
    assert "has schema 4, this satchel knows up to 0: upgrade satchel" in refusal(server_url())


def test_the_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("satchel.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    message = refusal("postgresql://host/x", MissingExtraError)
    assert message.startswith("store.url needs psycopg: ")
    assert "[postgres]" in message


def test_tls_is_asked_for_and_a_server_without_it_is_named() -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            taken, _ = listener.accept()
            with taken:
                if taken.recv(8)[4:] == bytes.fromhex("04d2162f"):  # the driver asks for TLS first
                    taken.sendall(b"N")

        server = threading.Thread(target=answer)
        server.start()
        url = f"postgresql://ada:{SECRET}@127.0.0.1:{listener.getsockname()[1]}/shop?sslmode=require"
        assert refusal(url).endswith("/shop: the server does not speak TLS, which sslmode asks for")
        server.join()


def test_a_statement_that_takes_too_long_is_stopped_and_changes_nothing(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store:
        assert store._rows("SELECT current_setting('statement_timeout')") == [("1min",)]
        with pytest.raises(StoreError, match="longer than 60 s for a statement: nothing"), store.write() as writer:  # noqa: PT012 - stopped within
            writer.set_meta("a", "b")
            store._writing.focus.both().script("SET LOCAL statement_timeout = 1; SELECT pg_sleep(60)")
        assert (store.revision, store.meta("a")) == ("0", None)


def test_what_the_address_says_about_tls_reaches_the_driver() -> None:
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    from satchel.store.postgres.connection import Server

    server = Server(f"postgresql://ada:{SECRET}@db/x?sslmode=verify-full&sslrootcert=/ca.pem&connect_timeout=9")
    assert "sslmode=verify-full" in server._conninfo
    assert "sslrootcert=/ca.pem" in server._conninfo
    assert "connect_timeout=9" in server._conninfo
    assert repr(server) == "Server(postgresql://db:5432/x)"
    assert "connect_timeout=2" in Server("postgresql://ada@db/x")._conninfo
    assert "connect_timeout=5" in Server("postgresql://ada@db/x")._writable
    assert "connect_timeout=9" in server._writable
    assert Server("postgresql://ada@one:1,two:2/x").name == "postgresql://one:1,two:2/x"
    assert Server("postgresql://ada@/x?host=one,two").name == "postgresql://one:5432,two:5432/x"


def test_no_output_shows_the_password(tmp_path: Path) -> None:
    TinyRepository(tmp_path / "shop").commit("Start", {"a.py": "a = 1\n"})
    for url in (f"postgresql://ada:{SECRET}@127.0.0.1:1/x", f"postgresql://127.0.0.1:1/x?user=a&password=p%40{SECRET}"):
        variables = environment(tmp_path, SATCHEL_STORE=url)
        loaded = load_settings(tmp_path / "shop", variables)
        lines = setting_lines(loaded, origin=True)
        assert any("store.url" in line and "***" in line and "SATCHEL_STORE" in line for line in lines)
        pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
        checks = list(doctor.examine(tmp_path / "shop", None, variables))
        assert any(check.name == "store" and "cannot reach" in check.message for check in checks)
        assert SECRET not in f"{lines} {loaded!r} {checks}"


def test_a_repository_cannot_choose_the_server(tmp_path: Path) -> None:
    (tmp_path / ".satchel.toml").write_text('[store]\nurl = "postgresql://evil/x"\nname = "x"\n')
    loaded = load_settings(tmp_path, environment(tmp_path))
    assert (loaded.settings.store_url, loaded.settings.store_name) == ("", "")
    assert sum("only the user may set it" in note.message for note in loaded.notes) == 2


def test_roots_do_not_see_each_other(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path / "a")) as one, closing(postgres_store(tmp_path / "b")) as other:
        for store, key in ((one, "c1"), (other, "c2")):
            with store.write() as writer:
                writer.put([record_document(key, "alpha")])
        assert (one.keys(Kind.COMMIT), other.keys(Kind.COMMIT)) == ({"c1"}, {"c2"})
        assert one.remove() > 0
        assert (one.keys(Kind.COMMIT), other.keys(Kind.COMMIT), one.revision) == (set(), {"c2"}, "0")


def test_a_connection_that_the_server_ended_is_replaced(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store:
        with store.write() as writer:
            writer.put([record_document("c1", "alpha")])
        sql(LOSE)
        assert store.keys(Kind.COMMIT) == {"c1"}
        with pytest.raises(StoreError, match="cannot reach"), store.write() as writer:  # noqa: PT012 - lost within
            writer.put([record_document("c2", "beta")])
            sql(LOSE)
        assert store.keys(Kind.COMMIT) == {"c1"}


def test_an_interrupt_that_closes_a_connection_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(postgres_store(tmp_path)) as store:
        from satchel.store.postgres.connection import ServerConnection  # here, because the extra may not be installed

        script, calls = ServerConnection.script, []

        def interrupted(self: ServerConnection, sql: str) -> list[tuple[object, ...]]:
            calls.append(sql)
            if len(calls) > 1:
                return script(self, sql)
            self.raw.close()
            raise KeyboardInterrupt

        assert store.keys(Kind.COMMIT) == set()
        monkeypatch.setattr(ServerConnection, "script", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.keys(Kind.COMMIT)
        assert store.keys(Kind.COMMIT) == set()


def test_what_the_server_refuses_is_told_and_changes_nothing(tmp_path: Path) -> None:
    key = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(3_000))  # too long for an index
    with closing(postgres_store(tmp_path)) as store:
        with pytest.raises(StoreError, match="refused a statement: index row"), store.write() as writer:
            writer.put([record_document(key, "alpha")])
        assert store.keys(Kind.COMMIT) == set()


def test_a_memory_on_a_server_is_not_restored_from_a_file(tmp_path: Path) -> None:
    with Satchel.open(
        tmp_path, environ=environment(tmp_path, SATCHEL_STORE=server_url(), SATCHEL_STORE_NAME=str(tmp_path))
    ) as satchel:
        satchel.memories.add("A fact")
        with pytest.raises(UsageError, match="restore one of those"):
            satchel.memory.restore()


def test_too_many_questions_at_once_are_told_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_url()
    monkeypatch.setattr("satchel.store.postgres.connection.MAX_CONNECTIONS", 1)
    with (
        closing(postgres_store(tmp_path, timeout_ms=1)) as store,
        store.snapshot(),
        pytest.raises(SatchelError, match="busy: try again later"),
        store.snapshot(),
    ):
        pass


def test_a_damaged_index_is_put_aside_and_built_again_and_clean_removes_it(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Start", {"a.py": "def load():\n    return 1\n"})
    variables = environment(tmp_path, SATCHEL_STORE=server_url(), SATCHEL_STORE_NAME=str(tmp_path))
    with Satchel.open(repository.root, environ=variables) as engine:
        engine.index()
        sql("UPDATE satchel.segments SET columns = '\\x00' WHERE root IN (SELECT id FROM satchel.roots WHERE name LIKE "
            f"'index/{tmp_path}/%')")  # fmt: skip
        sql("UPDATE satchel.meta SET value = '99' WHERE key = 'revision' AND root IN (SELECT id FROM satchel.roots "
            f"WHERE name LIKE 'index/{tmp_path}/%')")  # fmt: skip
        context = engine.assemble("load")
        assert "def load" in context.text
        assert any("was damaged: it was put aside as index/" in failure.message for failure in context.failures)
        assert engine.status().sizes["index"] > 0
    assert clean(repository.root, environ=variables).size > 0
    with Satchel.open(repository.root, environ=variables) as engine:
        assert engine.store.revision == "0"


LOSE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'satchel'"


def several(role: str, **options: str) -> str:
    """The address of the test server as two hosts, for a role."""
    folder, more = quote(str(data_folder()), safe=""), "".join(f"&{name}={value}" for name, value in options.items())
    return f"postgresql://{role}@/postgres?host={folder},{folder}{more}"


@pytest.fixture
def reader(user: str) -> str:
    """A user for whom the server is as a standby is: nothing can be written."""
    with closing(StorePlace(Path(), url=server_url(), root="rights").on_server()) as store:
        store.allow(user, writes=True)
    sql(f"ALTER ROLE {user} SET default_transaction_read_only = on")
    return user


@pytest.mark.parametrize("options", [{}, {"target_session_attrs": "read-write"}])
def test_while_no_server_takes_writes_another_one_is_read(reader: str, options: dict[str, str]) -> None:
    with closing(StorePlace(Path(), url=several(reader, **options), root="rights").open()) as store:
        assert store.keys(Kind.COMMIT) == {"c1"}
        with (
            pytest.raises(UnreachableStoreError, match=r"cannot reach .* nothing was changed, try again"),
            store.write() as writer,
        ):
            writer.set_meta("a", "b")
        sql(f"ALTER ROLE {reader} RESET default_transaction_read_only")
        with store.write() as writer:
            writer.set_meta("a", "b")
        assert store.meta("a") == "b"


def test_writes_go_to_a_leader_where_an_address_asks_for_standbys() -> None:
    url = several("postgres", target_session_attrs="prefer-standby")
    with closing(StorePlace(Path(), url=url, root="standby").on_server()) as store:
        assert "target_session_attrs=prefer-standby" in store._server._conninfo
        assert "target_session_attrs=read-write" in store._server._writable
        with store.write() as writer:
            writer.put([record_document("c1", "alpha")])
        assert store.keys(Kind.COMMIT) == {"c1"}


def test_an_answer_goes_on_after_the_server_was_lost_unless_something_was_published(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store, closing(postgres_store(tmp_path)) as other:
        with store.write() as writer:
            writer.put([record_document("c1", "alpha")])
        with store.snapshot() as state:
            sql(LOSE)
            assert state.keys(Kind.COMMIT) == {"c1"}
            sql(LOSE)
            assert state.statistics().documents
        with pytest.raises(UnreachableStoreError, match="cannot reach"), store.snapshot() as state:  # noqa: PT012 - both
            with other.write() as writer:
                writer.put([record_document("c2", "beta")])
            sql(LOSE)
            state.document_ids(Kind.COMMIT, ["c1"])
        assert store.keys(Kind.COMMIT) == {"c1", "c2"}


def test_what_was_cached_from_a_lost_server_is_read_again(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store:
        with store.write() as writer:
            writer.put([record_document("c1", "alpha")])
        assert store.keys(Kind.COMMIT) == {"c1"}
        # Another server may have the same revision with other rows, if it never got the last write.
        root = f"(SELECT id FROM satchel.roots WHERE name = '{tmp_path}')"
        sql(f"UPDATE satchel.documents SET key = 'c2' WHERE root = {root}")
        assert store.keys(Kind.COMMIT) == {"c1"}
        sql(LOSE)
        assert store.keys(Kind.COMMIT) == {"c2"}


def test_a_write_whose_end_is_not_known_is_told_so(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store:
        function = "RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END$$"
        at_commit = "AFTER INSERT ON ends DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.fall()"
        with pytest.raises(StoreError, match="look whether it was stored before"), store.write() as writer:  # noqa: PT012 - lost at its end
            writer._connection.execute("CREATE TEMP TABLE ends(a int)")
            writer._connection.execute(f"CREATE FUNCTION pg_temp.fall() {function}")
            writer._connection.execute(f"CREATE CONSTRAINT TRIGGER falls {at_commit}")
            writer._connection.execute("INSERT INTO ends VALUES (1)")
        assert store.revision == "0"


def test_a_write_that_no_standby_confirmed_is_not_said_to_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(postgres_store(tmp_path)) as store:
        from satchel.store.postgres import connection  # here, because the extra may not be installed

        monkeypatch.setattr(connection, "STATEMENT_SECONDS", 0.1)

        def write_often() -> None:
            for number in range(100_000):  # until the process of the server that looks after standbys knows it, too
                with store.write() as writer:
                    writer.set_meta("a", str(number))

        sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        reload_settings()
        try:
            with pytest.raises(StoreError, match="look whether it was stored"):
                write_often()
        finally:
            sql("ALTER SYSTEM RESET synchronous_standby_names")
            reload_settings()


def test_a_question_is_asked_again_where_its_server_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Start", {"a.py": "def load():\n    return 1\n"})
    variables = environment(tmp_path, SATCHEL_STORE=server_url(), SATCHEL_STORE_NAME=str(tmp_path))
    with Satchel.open(repository.root, environ=variables) as engine:
        engine.index()
        snapshot = engine.store.snapshot
        for lost in ("_scan", "enter_context"):
            met: list[str] = []

            @contextmanager
            def losing(lost: str = lost, met: list[str] = met) -> Iterator[Store]:
                caller = sys._getframe(2).f_code.co_name
                with snapshot() as state:
                    yield state
                    if caller == lost and not met:
                        met.append(caller)
                        raise UnreachableStoreError("gone")

            monkeypatch.setattr(engine.store, "snapshot", losing)
            monkeypatch.setattr("satchel.services.open_root.REFRESH_PAUSE_SECONDS", 0.0)
            context = engine.assemble("load")
            assert met == [lost]
            assert "def load" in context.text
            assert not context.failures


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_store_every_text_is_refused_in_one_sentence(encoding: str) -> None:
    import psycopg

    name = f"in_{encoding.lower()}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'".encode()
        )
    assert refusal(server_url().replace("/postgres?", f"/{name}?")).endswith(
        f"has the encoding {encoding}, in which not every text can be stored: make one with "
        "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
    )


def test_a_question_waits_two_seconds_for_a_slow_server_and_everything_else_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = postgres_store(Path("slow"))
    from satchel.store.postgres.connection import ASKING_SECONDS, SlowStoreError

    assert ASKING_SECONDS == 2
    monkeypatch.setattr("satchel.store.postgres.ASKING_SECONDS", 0.03)
    with store.hurried() as state, pytest.raises(SlowStoreError, match="did not answer in time"):
        state._rows("SELECT pg_sleep(60)")
    with store.hurried() as state:
        for statement in ("SELECT pg_sleep(60)", "SELECT 1"):  # the second might be of another thread
            with pytest.raises(SlowStoreError, match="did not answer in time"):
                state._rows(statement)
    with store.snapshot() as state:
        assert state._rows("SELECT 4 FROM pg_sleep(0.05)") == [(4,)]
    monkeypatch.setattr("satchel.store.postgres.ASKING_SECONDS", ASKING_SECONDS)
    ticks = count(step=0.75 * ASKING_SECONDS)
    monkeypatch.setattr("satchel.store.postgres.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    with store.hurried() as state:
        assert state._rows("SELECT 1") == [(1,)]
        assert state._rows("SELECT 2") == [(2,)]
        with pytest.raises(SlowStoreError, match="did not answer in time"):
            state._rows("SELECT 3")
    store.close()
