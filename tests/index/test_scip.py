"""Exact references from an index of SCIP take the place of those that syntax tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel, UsageError
from satchel.cli.commands.maintain import scip_summary
from satchel.index.run import ScipReport
from satchel.search.relations import CallSite, Relations
from satchel.testing import TinyRepository

FILES = {
    "shop/client.py": "class Client:\n    def send(self): ...\n\n\nclass Queue:\n    def send(self): ...\n",
    "shop/use.py": "def run(é, one, two):\n    é; one.send()\n    two.send()\n    # Queue\n",
}
CLIENT, QUEUE = "py shop 1 `shop.client`/Client#send().", "py shop 1 `shop.client`/Queue#send()."


def number(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 127 | 128]), value >> 7
    return head + bytes([value])


def field(place: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return number(place << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(place << 3 | 2) + number(len(data)) + data


def occurrence(symbol: str, *numbers: int, roles: int = 0) -> bytes:
    return field(2, field(1, b"".join(map(number, numbers))) + field(2, symbol) + field(3, roles))


def index_of(root: Path, uses: bytes, *, encoding: int = 0, before: str = "shop/", symbols: bytes = b"") -> bytes:
    defined = symbols + occurrence(CLIENT, 1, 8, 12, roles=1) + occurrence(QUEUE, 5, 8, 5, 12, roles=1)
    documents = field(1, f"{before}client.py") + defined, field(1, f"{before}use.py") + uses + field(6, encoding)
    return field(1, field(3, root.as_uri())) + b"".join(field(2, one) for one in documents)


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Add the shop", FILES)
    return made


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    home = repository.root.parent / "home"
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(home)}) as opened:
        opened.index()
        yield opened


def calls(satchel: Satchel, name: str) -> list[CallSite]:
    with satchel.store.snapshot() as store:
        relations = Relations(store)
        target = relations.named("shop/client.py", name)
        assert target is not None
        return list(relations.callers(target).sites)


def read(satchel: Satchel, data: bytes) -> ScipReport:
    path = satchel.opened.places.root.parent / "index.scip"
    path.write_bytes(data)
    return satchel.import_scip(path)


@pytest.mark.parametrize(("encoding", "column"), [(0, 11), (1, 12), (3, 11)])
def test_references_are_exact_until_their_file_changes(
    satchel: Satchel, repository: TinyRepository, encoding: int, column: int
) -> None:
    assert calls(satchel, "Client.send") == []
    uses = occurrence(CLIENT, 1, column, column + 4) + occurrence(QUEUE, 2, 8, 12)
    assert read(satchel, index_of(repository.root, uses, encoding=encoding)) == ScipReport(2, 2, 0)
    assert [(one.line, one.exact) for one in calls(satchel, "Client.send")] == [(2, True)]
    assert [(one.line, one.exact) for one in calls(satchel, "Queue.send")] == [(3, True)]
    assert "Call sites of Client.send: 1 in 1 file, 1 of them exact" in satchel.assemble("who calls Client.send").text
    repository.write({"shop/use.py": f"\n{FILES['shop/use.py']}"})
    satchel.index()
    assert calls(satchel, "Client.send") == []


def test_a_name_from_elsewhere_and_one_that_moved_are_told_apart(satchel: Satchel, repository: TinyRepository) -> None:
    other = "py lib 2 `lib`/Socket#send()."
    uses = occurrence(other, 1, 11, 15) + occurrence(CLIENT, 2, 7, 11) + occurrence("local 3", 2, 4, 7)
    assert read(satchel, index_of(repository.root, uses)) == ScipReport(2, 1, 1)
    assert calls(satchel, "Client.send") == []


def test_an_index_of_a_folder_below_or_above_counts(satchel: Satchel, repository: TinyRepository) -> None:
    uses = occurrence(CLIENT, 1, 11, 15)
    elsewhere = Path("/builds/shop")
    for root, before in ((repository.root.parent, "shop/shop/"), (repository.root / "shop", ""), (elsewhere, "shop/")):
        assert read(satchel, index_of(root, uses, before=before)) == ScipReport(2, 1, 0)
    assert read(satchel, index_of(elsewhere, uses, before="depot/")) == ScipReport(0, 0, 0)
    assert calls(satchel, "Client.send") == []


def test_an_implementation_that_no_syntax_tells_counts_while_both_files_are_as_they_were(
    satchel: Satchel, repository: TinyRepository
) -> None:
    repository.write({"shop/port.py": "class Port:\n    def send(self): ...\n"})
    satchel.index()
    port = "py shop 1 `shop.port`/Port#"
    method = field(1, CLIENT) + field(4, field(1, f"{port}send().") + field(2, 1) + field(3, 1))
    owner = field(1, CLIENT.removesuffix("send().")) + field(4, field(1, port) + field(3, 1))
    user = field(1, QUEUE) + field(4, field(1, f"{port}send().") + field(2, 1))
    defined = occurrence(port, 0, 6, 10, roles=1) + occurrence(f"{port}send().", 1, 8, 12, roles=1)
    symbols = b"".join(field(3, one) for one in (method, owner, user))
    symbols += occurrence(CLIENT.removesuffix("send()."), 0, 6, 12, roles=1)
    more = field(2, field(1, "shop/port.py") + defined)
    uses = occurrence(f"{port}send().", 1, 11, 15) + occurrence("py shop 1 `shop.port`/", 1, 0, 1)
    assert read(satchel, index_of(repository.root, uses, symbols=symbols) + more) == ScipReport(3, 1, 0)
    with satchel.store.snapshot() as store:
        relations = Relations(store)
        base, heir = relations.named("shop/port.py", "Port"), relations.named("shop/client.py", "Client")
        assert base is not None
        assert heir is not None
        assert (relations.heirs(base), relations.bases(heir)) == ([heir], [base])
        send = relations.named("shop/port.py", "Port.send")
        assert send is not None
        assert [one.qualified for one in relations.heirs(send)] == ["Client.send"]
    assert [(one.line, one.through) for one in calls(satchel, "Client.send")] == [(2, "Port.send")]
    assert calls(satchel, "Queue.send") == []
    text = satchel.graph("Port", lens="implementations").markdown
    assert "class Client" in text
    repository.write({"shop/client.py": f"\n{FILES['shop/client.py']}"})
    satchel.index()
    assert calls(satchel, "Client.send") == []


def test_a_bad_file_is_named_and_what_was_there_stays(satchel: Satchel, repository: TinyRepository) -> None:
    whole = index_of(repository.root, occurrence(CLIENT, 1, 11, 15))
    read(satchel, whole)
    for bad in (
        whole[:-3],
        b"",
        b"no index at all",
        b"\xff" * 64 + b"\x01",
        field(2, 7),
        field(2, field(2, field(1, b"\x01"))),
    ):
        with pytest.raises(UsageError, match="is not a whole index of SCIP"):
            read(satchel, bad)
    with pytest.raises(UsageError, match="cannot read"):
        satchel.import_scip(repository.root / "missing.scip")
    with pytest.raises(UsageError, match="cannot read /dev/zero: not a regular file"):
        satchel.import_scip(Path("/dev/zero"))
    pipe = repository.root / "pipe.scip"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"pipe\.scip: not a regular file"):
        satchel.import_scip(pipe)
    assert [one.exact for one in calls(satchel, "Client.send")] == [True]


def test_the_command_says_what_was_read() -> None:
    assert scip_summary(None) == ""
    assert scip_summary(ScipReport(2, 1200, 0)) == "; exact references: 1,200 in 2 files"
    assert scip_summary(ScipReport(2, 1200, 3)) == "; exact references: 1,200 in 2 files, 3 out of date"
