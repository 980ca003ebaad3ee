"""Files that change between the index and the answer: every line that is shown is real, or says that it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.operations.json import HIT, hit_list
from satchel.operations.registry import OPERATIONS
from satchel.system import files
from satchel.testing import TinyRepository
from satchel.types import Context, ContextItem, Format, Freshness
from tests.e2e.sample import CLIENT, ERRORS, GUIDE, PRICES, sample_repository
from tests.rendered import parse

FRESH_EDITS = Path(__file__).parents[2] / "benchmarks" / "fresh_edits.py"
QUESTION = "backoff of send_order in the Client, RetryError, discount price percent"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        opened.index()
        yield opened


def ask(satchel: Satchel, question: str = QUESTION, **options: object) -> Context:
    """An answer from the index as it is."""
    return satchel.assemble(question, refresh=False, **{"types": ["code"], "max_tokens": 2000, "fill": True, **options})  # type: ignore[arg-type]


def of(context: Context, path: str) -> list[ContextItem]:
    return [item for item in context.items if item.title == path]


def marks(item: ContextItem) -> dict[str, str]:
    """What is said of each named piece."""
    return {piece.name: str(piece.freshness or "") for piece in item.pieces if piece.name}


def assert_real(item: ContextItem, text: str) -> None:
    """Every piece is what the text has at its lines."""
    lines = text.split("\n")
    for piece in item.pieces:
        assert piece.text == "\n".join(lines[piece.start - 1 : piece.end])


def test_a_list_of_hits_has_the_present_lines_and_says_how_they_differ(
    repository: TinyRepository, satchel: Satchel
) -> None:
    def listed() -> list[str]:
        hits = satchel.search("backoff of the RetryError", types=["code"], refresh=False)
        return [line for line in hit_list(hits) if "backoff" in line.split(":")[0] or "RetryError" in line]

    indexed = listed()
    assert "  26-28  backoff: 26 def backoff(attempt: int) -> float:" in indexed
    repository.write(
        {"shop/client.py": "import sys\n" + CLIENT.replace("0.1 * 2", "0.3 * 2"), "shop/errors.py": "# gone\n"}
    )
    changed = listed()
    assert "  27-29  changed backoff: 27 def backoff(attempt: int) -> float:" in changed
    assert "  1-2  stale RetryError" in changed
    (hit,) = [hit for hit in satchel.search("backoff", refresh=False) if hit.chunk.title == "backoff"]
    assert HIT.data(hit)["metadata"] == {"freshness": "changed"}


def test_an_unchanged_file_says_nothing_about_its_freshness(satchel: Satchel) -> None:
    context = ask(satchel)
    assert all("freshness" not in item.metadata for item in context.items)
    assert all(piece.freshness is None for item in context.items for piece in item.pieces)


def test_shifted_lines_are_found_again_with_their_new_numbers(satchel: Satchel, repository: TinyRepository) -> None:
    edited = "# a line\n" * 3 + CLIENT
    repository.write({"shop/client.py": edited})
    (item,) = of(ask(satchel), "shop/client.py")
    assert_real(item, edited)
    assert item.metadata["freshness"] == "moved"
    assert marks(item)["backoff"] == "moved"


def test_a_changed_definition_shows_its_new_text_and_says_so(satchel: Satchel, repository: TinyRepository) -> None:
    edited = CLIENT.replace("0.1 * 2**attempt", "0.5 * 3**attempt")
    repository.write({"shop/client.py": edited})
    context = ask(satchel)
    (item,) = of(context, "shop/client.py")
    assert_real(item, edited)
    assert "0.5 * 3**attempt" in context.text
    assert "0.1 * 2**attempt" not in context.text
    assert item.metadata["freshness"] == "changed"
    assert marks(item) == {
        "Client": "", "Client.__init__": "", "Client.send_order": "", "Client._post": "", "backoff": "changed"
    }  # fmt: skip


def test_a_large_definition_that_changed_shows_its_declaration_only(tmp_path: Path) -> None:
    body = "".join(f"    total_{number} = price_{number} * percent\n" for number in range(200))
    repository = TinyRepository(tmp_path / "large")
    repository.commit("Add", {"a.py": f"def discount(price):\n{body}", "guide.md": f"# Discount\n\n{body}"})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        repository.write({"a.py": f"x = 1\n\n\ndef discount(price, percent):\n{body}    return 0\n"})
        repository.write({"guide.md": f"# Discount\n\n{body}\nmore\n"})
        context = ask(satchel, "discount of price percent total_7", types=["code", "docs"])
    code, guide = of(context, "a.py"), of(context, "guide.md")
    assert [(piece.text, piece.start, piece.freshness) for piece in code[0].pieces if piece.name] == [
        ("def discount(price, percent):", 4, Freshness.CHANGED)
    ]
    assert [(piece.text, piece.freshness) for piece in guide[0].pieces] == [("# Discount", Freshness.CHANGED)]


def test_a_definition_that_is_gone_is_shown_as_it_was_beside_what_is_real(
    satchel: Satchel, repository: TinyRepository
) -> None:
    edited = "import os\n" + CLIENT.replace("def backoff(", "def pause(")
    repository.write({"shop/client.py": edited})
    real, stale = of(ask(satchel), "shop/client.py")
    if real.metadata["freshness"] == "stale":
        real, stale = stale, real
    assert_real(real, edited)
    assert_real(stale, CLIENT)
    assert marks(stale) == {"backoff": "stale"}
    assert real.id != stale.id
    assert real.handle != stale.handle


def test_a_deleted_file_is_shown_as_it_was(satchel: Satchel, repository: TinyRepository) -> None:
    repository.remove("shop/prices.py")
    (item,) = of(ask(satchel), "shop/prices.py")
    assert_real(item, PRICES)
    assert item.metadata["freshness"] == "stale"


def test_a_renamed_file_is_shown_under_its_new_name(satchel: Satchel, repository: TinyRepository) -> None:
    repository.write({"shop/copy.py": ERRORS.replace("Every", "Very1")})
    (repository.root / "shop/errors.py").rename(repository.root / "shop/failures.py")
    context = ask(satchel)
    assert not of(context, "shop/errors.py")
    (item,) = of(context, "shop/failures.py")
    assert_real(item, ERRORS)
    assert item.metadata["freshness"] == "moved"


def test_a_twin_that_was_always_there_is_not_taken_for_a_renamed_file(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "twins")
    repository.commit("Add", {"a/prices.py": PRICES, "b/prices.py": PRICES})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        repository.remove("a/prices.py")
        os.utime(repository.root / "b/prices.py", (1, 1))
        context = ask(satchel, "discount price percent in a/prices.py")
    found = {item.title: item.metadata.get("freshness") for item in context.items}
    assert found.items() <= {("a/prices.py", "stale"), ("b/prices.py", None)}


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def binary(path: Path) -> None:
    path.write_bytes(b"\0\1\2")


def huge(path: Path) -> None:
    path.write_bytes(b"x" * 5_000_000)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("turn", [nothing, binary, huge, link, pipe, folder, Path.unlink])
def test_a_file_that_became_something_else_is_shown_as_it_was(
    satchel: Satchel, repository: TinyRepository, turn: Callable[[Path], None]
) -> None:
    turn(repository.root / "shop/prices.py")
    (item,) = of(ask(satchel), "shop/prices.py")
    assert_real(item, PRICES)
    assert {piece.freshness for piece in item.pieces} == {Freshness.STALE}


def test_a_file_that_shrank_shows_what_is_left_and_marks_the_rest(satchel: Satchel, repository: TinyRepository) -> None:
    left = CLIENT.partition("    def _post")[0]
    repository.write({"shop/client.py": left})
    items = of(ask(satchel), "shop/client.py")
    (real,) = [item for item in items if item.metadata.get("freshness") != "stale"]
    (stale,) = [item for item in items if item.metadata.get("freshness") == "stale"]
    assert_real(real, left)
    assert_real(stale, CLIENT)
    assert "backoff" in marks(stale)


def test_a_branch_switch_is_survived_without_a_new_index(satchel: Satchel, repository: TinyRepository) -> None:
    repository.checkout("HEAD~2")
    context = ask(satchel, types=["code", "docs"])
    (client,) = of(context, "shop/client.py")
    assert_real(client, CLIENT.replace("2**attempt", "attempt"))
    assert marks(client)["backoff"] == "changed"


def test_what_is_stale_is_withheld_where_that_is_wanted(repository: TinyRepository) -> None:
    with Satchel.open(repository.root, settings={"context.stale": "withhold"}) as satchel:
        satchel.index()
        repository.remove("shop/prices.py")
        repository.write({"shop/client.py": CLIENT.replace("def backoff(", "def pause(")})
        context = ask(satchel)
        assert not of(context, "shop/prices.py")
        assert {piece.freshness for item in context.items for piece in item.pieces} <= {None, Freshness.MOVED}
        messages = [failure.message for failure in context.failures]
        assert messages == [
            "shop/client.py: 1 part withheld, no longer in the file",
            "shop/prices.py: 1 part withheld, the file is vanished",
        ]
        assert of(ask(satchel, stale="mark"), "shop/prices.py")
    with pytest.raises(UsageError, match="mark, withhold"):
        satchel.request(QUESTION, stale="hide")


def test_a_file_that_may_not_be_read_is_shown_as_it_was_with_a_note(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = files.read_bytes

    def refuse(root: Path, relative: str, *, limit: int, head: int = 0) -> files.FileBytes:
        if relative == "shop/prices.py":
            raise files.Skipped(files.SkipReason.UNREADABLE, "Permission denied")
        return read(root, relative, limit=limit, head=head)

    monkeypatch.setattr(files, "read_bytes", refuse)
    context = ask(satchel)
    assert of(context, "shop/prices.py")[0].metadata["freshness"] == "stale"
    assert "unreadable" in context.failures[0].message


def test_new_text_is_redacted_before_it_is_shown(satchel: Satchel, repository: TinyRepository) -> None:
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    edited = CLIENT.replace("return 0.1", f'key = "{secret}"\n    return 0.1')
    repository.write({"shop/client.py": edited})
    context = ask(satchel)
    assert marks(of(context, "shop/client.py")[0])["backoff"] == "changed"
    assert secret not in context.text


@pytest.mark.parametrize("layout", list(Format))
def test_every_format_says_it_and_reads_back(satchel: Satchel, repository: TinyRepository, layout: Format) -> None:
    repository.write({"shop/client.py": "# new\n" + CLIENT.replace("2**attempt", "3**attempt")})
    repository.remove("shop/prices.py")
    context = ask(satchel, format=str(layout))
    assert all(word in context.text for word in ("moved", "changed", "stale"))
    written = {
        (item.title, line): piece.freshness
        for item in context.items
        for piece in item.pieces
        for line in range(piece.start, piece.end + 1)
    }
    read = {
        (item.path, line): piece.freshness
        for item in parse(context.text, layout)
        for piece in item.pieces
        for line in range(piece.start, piece.end + 1)
    }
    assert read == written


def test_a_mismatch_brings_the_index_up_to_date_without_a_pause(
    satchel: Satchel, repository: TinyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.services.open_root.REFRESH_PAUSE_SECONDS", 3_600.0)
    repository.write({"shop/client.py": CLIENT.replace("backoff", "pause_between")})
    assert satchel.refresh() == []
    assert any(item.metadata.get("freshness") for item in ask(satchel).items)
    text = satchel.assemble("pause_between attempts", types=["code"]).text
    assert "def pause_between" in text
    assert not any(word in text for word in ("stale", "changed"))


@pytest.mark.parametrize("way", ["assemble", "operation", "search"])
def test_before_something_is_not_found_the_tree_is_compared_without_a_pause(
    way: str, satchel: Satchel, repository: TinyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.services.open_root.REFRESH_PAUSE_SECONDS", 3_600.0)
    assert satchel.refresh() == []
    repository.write({"shop/tare.py": "def weigh_parcel(parcel):\n    return parcel.tare\n"})
    ways: dict[str, Callable[..., str]] = {
        "assemble": lambda **refresh: satchel.assemble("weigh_parcel", **refresh).text,
        "operation": lambda **refresh: (
            OPERATIONS["context_query"].run(satchel, {"question": "weigh_parcel", **refresh}).text
        ),
        "search": lambda **refresh: str(satchel.search("weigh_parcel", **refresh)),
    }
    assert "tare.py" not in ways[way](refresh=False)
    assert "tare.py" in ways[way](refresh=True)


def test_a_section_of_a_guide_is_found_again(satchel: Satchel, repository: TinyRepository) -> None:
    edited = GUIDE.replace("# Guide\n", "# Guide\n\nFirst of all.\n")
    repository.write({"docs/guide.md": edited})
    (item,) = of(ask(satchel, "discount is given in percent", types=["docs"]), "docs/guide.md")
    assert_real(item, edited)
    assert marks(item)["Guide > Prices"] == "moved"


SOURCES = {
    "src/shop.go": 'package shop\n\nimport "fmt"\n\n// Price says what it costs.\nfunc Price(amount int) int {\n'
    "\treturn amount * 2\n}\n\nfunc Order(count int) error {\n\treturn fmt.Errorf(\"none\")\n}\n",
    "src/shop.rs": "use std::fmt;\n\npub struct Price {\n    amount: u32,\n}\n\nimpl Price {\n"
    "    pub fn double(&self) -> u32 {\n        self.amount * 2\n    }\n}\n",
    "src/Shop.java": "package shop;\n\nimport java.util.List;\n\nclass Shop {\n    int price(int amount) {\n"
    "        return amount * 2;\n    }\n\n    int order(List<Integer> counts) {\n        return counts.size();\n    }\n"
    "}\n",
    "src/shop.ts": 'import { post } from "./post";\n\nexport function price(amount: number): number {\n'
    "  return amount * 2;\n}\n\nexport class Order {\n  send(): void {\n    post(price(1));\n  }\n}\n",
    "src/notes.txt": "".join(f"The price of order {number} is known.\n" for number in range(60)),
}  # fmt: skip


@pytest.mark.usefixtures("unmeasured")
def test_random_edits_of_a_small_repository_show_no_wrong_line(tmp_path: Path) -> None:
    """A small run of the benchmark: the stored result in `benchmarks/results` is of 2,000 edits of real ones."""
    repository = sample_repository(tmp_path / "shop")
    repository.commit("Add the other languages", SOURCES)
    out = tmp_path / "result.json"
    command = [sys.executable, str(FRESH_EDITS), "--repos", str(repository.root), "--edits", "60", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert (result["edits"], result["wrong_slices"], result["wrong_labels"]) == (60, 0, 0)
    assert set(result["pieces_by_mark"]) == {"unmarked", "moved", "changed", "stale"}
