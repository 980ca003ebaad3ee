"""What a pasted trace leads to comes first: the frames of this repository, by line or by function, and failed tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.strength import relevance_of
from satchel.testing import TinyRepository
from satchel.types import Hit

CLIENT = '''"""Talking to the server."""

from shop.errors import RefusedError


class Client:
    """Sends orders."""

    def send(self, order):
        """Send one order."""
        return self.post(order)

    def post(self, order):
        if not order:
            raise RefusedError(f"the order {order} was refused by the server")
        return "sent"
'''
GO_CLIENT = """package client

type Client struct{}

func (c *Client) Flush() error {
	return c.write()
}

type Buffer struct{}

func (b *Buffer) Flush() error {
	return nil
}
"""
FILES = {
    "shop/client.py": CLIENT,
    "shop/errors.py": "class RefusedError(Exception):\n    pass\n",
    "shop/main.py": "from shop.client import Client\n\n\ndef run_all(orders):\n    for order in orders:\n"
    "        Client().send(order)\n",
    "shop/words.py": "".join(
        f"def refused_{n}(server, order):\n    return server.refused(order)\n\n\n" for n in range(9)
    ),
    "tools/cli/client.py": "def send(order):\n    return order\n",
    "client/client.go": GO_CLIENT,
    "src/compose.ts": "export const compose = (list) => {\n  return dispatch(0)\n  function dispatch(i) {\n"
    "    return list[i](() => dispatch(i + 1))\n  }\n}\n",
    "src/compose.test.ts": "describe('compose', () => {\n  it('calls the next one once', () => {\n"
    "    compose([1])\n  })\n})\n",
    "tests/test_client.py": "from shop.client import Client\n\n\ndef test_empty_orders():\n    Client().send(None)\n",
    "docs/guide.md": "# Guide\n\nThe server refused the order when it was empty.\n",
}
ERROR = "shop.errors.RefusedError: the order None was refused by the server"
HEAD = "Traceback (most recent call last):\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> TinyRepository:
    made = TinyRepository(tmp_path_factory.mktemp("trace") / "shop")
    made.commit("Start the shop", FILES)
    return made


@pytest.fixture(scope="module")
def satchel(repository: TinyRepository, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    home = tmp_path_factory.mktemp("home")
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(home)}) as opened:
        opened.index()
        yield opened


def framed(satchel: Satchel, text: str) -> list[str]:
    """The chunks that the trace of a text leads to, in the order of the hits."""
    hits = satchel.search(text, types=["code"], limit=50, refresh=False)
    led = [hit for hit in hits if strength(hit)]
    assert led == hits[: len(led)]
    return [f"{hit.chunk.location.path} {hit.chunk.title}" for hit in led if hit.chunk.location is not None]


def strength(hit: Hit) -> float:
    return sum(signal.value for signal in hit.signals if signal.name == "trace")


def frame(path: str, line: int, function: str) -> str:
    return f'  File "{path}", line {line}, in {function}\n    pass\n'


def test_own_frames_come_first_and_the_innermost_before_the_others(satchel: Satchel) -> None:
    text = HEAD + "".join((
        frame("/srv/shop/main.py", 6, "run_all"), frame("/srv/shop/client.py", 11, "send"),
        frame("/srv/shop/client.py", 15, "post"), ERROR,
    ))  # fmt: skip
    hits = satchel.search(text, types=["code"], refresh=False)
    assert [hit.chunk.title for hit in hits[:3]] == ["Client.post", "Client.send", "run_all"]
    assert [hit.relevance for hit in hits[:3]] == sorted((hit.relevance for hit in hits[:3]), reverse=True)
    assert hits[0].relevance == relevance_of(1.0)
    assert hits[2].relevance >= relevance_of(0.6)
    assert max(hit.score for hit in hits[3:]) < min(span.value for hit in hits[:3] for span in hit.spans)


def test_a_line_that_drifted_is_found_by_its_function(satchel: Satchel) -> None:
    text = HEAD + frame("/srv/shop/client.py", 10, "post") + "KeyError"
    assert framed(satchel, text) == ["shop/client.py Client.post"]
    text = HEAD + frame("/srv/shop/client.py", 900, "send") + "KeyError"
    assert framed(satchel, text) == ["shop/client.py Client.send"]


def test_a_function_that_moved_is_found_in_another_file(satchel: Satchel) -> None:
    assert framed(satchel, HEAD + frame("/srv/shop/jobs.py", 6, "run_all") + "KeyError") == ["shop/main.py run_all"]
    assert framed(satchel, HEAD + frame("/srv/shop/jobs.py", 6, "send") + "KeyError") == []


def test_a_method_is_found_by_its_owner(satchel: Satchel) -> None:
    go = "panic: closed\n\ngoroutine 1 [running]:\nexample.org/shop/client.(*Buffer).Flush(0x1)\n\t{}:{} +0x1d\n"
    assert framed(satchel, go.format("/srv/x/old.go", 700)) == ["client/client.go Buffer.Flush"]
    assert framed(satchel, go.format("/srv/shop/client/client.go", 6)) == ["client/client.go Buffer.Flush"]
    rust = "thread 'main' panicked at 'closed', src/x.rs:1:1\n   3: shop::client::Client::Flush\n   4: std::rt::start"
    assert framed(satchel, rust) == ["client/client.go Client.Flush"]


def test_code_without_a_name_is_found_by_its_line(satchel: Satchel) -> None:
    assert framed(satchel, "shop/client.py:15:3: error: no such name") == ["shop/client.py Client.post"]
    assert framed(satchel, "Error: no\n    at Object.<anonymous> (/srv/src/compose.ts:4:5)") == [
        "src/compose.ts compose"
    ]


def test_a_compiled_file_leads_to_its_source_by_its_function(satchel: Satchel) -> None:
    assert framed(satchel, "Error: no\n    at dispatch (/srv/dist/compose.js:90:5)") == ["src/compose.ts compose"]
    assert framed(satchel, "Error: no\n    at /srv/dist/compose.js:1:5") == []


@pytest.mark.parametrize(
    "text",
    [
        HEAD + frame("/usr/lib/python3/site-packages/other/client.py", 11, "send") + "KeyError",
        HEAD + frame("/usr/lib/python3/site-packages/other/main.py", 6, "run_all") + "KeyError",
        HEAD + frame("/srv/venv/site-packages/main.py", 6, "<module>") + "KeyError",
        "Error: no\n    at dispatch (/srv/node_modules/x/compose.ts:4:5)",
    ],
    ids=["file name", "file name and function", "module", "node_modules"],
)
def test_a_library_is_not_taken_for_a_file_of_the_same_name(satchel: Satchel, text: str) -> None:
    assert framed(satchel, text) == []


def test_an_installed_copy_of_this_repository_leads_to_its_source(satchel: Satchel) -> None:
    text = HEAD + frame("/venv/site-packages/shop/client.py", 40, "post") + "KeyError"
    assert framed(satchel, text) == ["shop/client.py Client.post"]
    assert framed(satchel, HEAD + frame("/venv/site-packages/shop/client.py", 11, "gone") + "KeyError") == []


def test_the_place_that_raised_the_error_follows_the_frames(satchel: Satchel) -> None:
    assert framed(satchel, ERROR) == ["shop/client.py Client.post"]
    text = HEAD + frame("/srv/shop/main.py", 6, "run_all") + ERROR
    assert framed(satchel, text) == ["shop/main.py run_all", "shop/client.py Client.post"]
    assert framed(satchel, "KeyError: 'refused'") == []


def test_tests_that_failed_are_among_the_first(satchel: Satchel) -> None:
    text = f"FAILED tests/test_client.py::test_empty_orders - {ERROR}"
    assert framed(satchel, text) == ["tests/test_client.py test_empty_orders", "shop/client.py Client.post"]
    many = HEAD + frame("tests/test_client.py", 5, "test_empty_orders")
    many += (
        frame("shop/main.py", 6, "run_all") + frame("shop/client.py", 11, "send") + frame("shop/client.py", 15, "post")
    )
    assert framed(satchel, many + ERROR)[2] == "tests/test_client.py test_empty_orders"


def test_a_test_whose_name_is_a_sentence_is_found_by_its_words(satchel: Satchel) -> None:
    assert any("src/compose.test.ts" in row for row in framed(satchel, "\u25cf compose \u203a calls the next one once"))
    assert framed(satchel, "\u25cf compose \u203a calls nothing of the kind") == []


def test_a_large_function_is_wanted_around_its_line_or_where_it_raised_the_error(tmp_path: Path) -> None:
    body = "".join(f"    total = total + {n}\n" for n in range(200))
    body += '    raise ValueError("the total has grown beyond all limits")\n'
    made = TinyRepository(tmp_path / "large")
    made.commit("Start", {"a/large.py": f"def grow(total):\n{body}    return total\n", "a/other.py": "x = 1\n"})
    with Satchel.open(made.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        hit = opened.search(HEAD + frame("a/large.py", 101, "grow") + "KeyError", types=["code"])[0]
        error = "ValueError: the total has grown beyond all limits"
        raised = opened.search(HEAD + frame("a/large.py", 999, "grow") + error, types=["code"])[0]
    assert raised.spans[0].start <= 202 <= raised.spans[0].end
    best = hit.spans[0]
    assert best.start <= 101 <= best.end
    assert all(span.end - span.start < 24 for span in hit.spans)
    near = [span for span in hit.spans if span.value > best.value - 3]
    assert 2 <= len(near) <= 3
    assert max(abs(span.start - best.start) for span in near) <= 24


def test_without_names_a_trace_leads_nowhere(satchel: Satchel) -> None:
    text = HEAD + frame("shop/client.py", 15, "post") + ERROR
    hits = satchel.search(text, types=["code"], searches=["lexical"], refresh=False)
    assert not any(map(strength, hits))


def test_a_small_answer_shows_the_innermost_frame(satchel: Satchel) -> None:
    text = (
        "Exit code 1\n" + HEAD + frame("shop/main.py", 6, "run_all") + frame("shop/client.py", 12, "post") + "KeyError"
    )
    context = satchel.assemble(text, max_tokens=150, types=["code"], refresh=False)
    assert 'raise RefusedError(f"the order {order} was refused by the server")' in context.text
    assert any(signal.name == "trace" for item in context.items for signal in item.signals)


def test_a_failure_shows_the_failing_test_and_its_frames(satchel: Satchel) -> None:
    text = "Exit code 1\n" + HEAD + frame("tests/test_client.py", 5, "test_empty_orders")
    text += frame("shop/main.py", 6, "run_all") + frame("shop/client.py", 15, "post") + ERROR
    shown = satchel.brief(text, max_tokens=600).text
    assert "def post(self, order):" in shown
    assert "def run_all(orders):" in shown
    assert "def test_empty_orders():" in shown
