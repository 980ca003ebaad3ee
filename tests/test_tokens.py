"""Counting: exact where it says exact, never under where it says estimate."""

from __future__ import annotations

import base64
import random
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import tokens
from satchel.errors import UsageError
from satchel.tokens import DEFAULT_TOKENIZER, TOKENIZERS, count_within, counter, first_within
from tests.oracle import cl100k, o200k

ORACLES: dict[str, Callable[[str], int]] = {"o200k_base": o200k, "cl100k_base": cl100k}

HARD_TEXTS = {
    "empty": "",
    "one space": " ",
    "special tokens as text": "<|endoftext|><|fim_prefix|> <|endofprompt|>",
    "nul": "a\x00b\x00\x00",
    "control characters": "".join(map(chr, range(32))),
    "carriage returns": "a\r\nb\r\r\n",
    "deep indentation": "\n" + " " * 300 + "x\n\t\t\t\ty",
    "contractions": "I'M they'Ll we've IT'S",
    "digits": "1234567890" * 7,
    "emoji with joiners": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd",
    "chinese": "上下文引擎需要精确的计数。" * 5,
    "arabic": "السياق الدقيق مهم جدا" * 5,
    "combining marks": "e\u0301\u0302\u0303" * 20,
    "code": "def f(self, *, value: int = 0) -> None:\n    return {k: v for k, v in self.items()}\n",
    "long run": "a" * 10_000,
    "punctuation run": "=" * 1_000 + "-" * 1_000,
    "base64": base64.b64encode(random.Random(0).randbytes(600)).decode(),
}


@pytest.mark.parametrize("text", HARD_TEXTS.values(), ids=HARD_TEXTS.keys())
@pytest.mark.parametrize("name", ORACLES)
def test_exact_counters_agree_with_the_reference_on_hard_texts(name: str, text: str) -> None:
    assert counter(name).exact
    assert counter(name).count(text) == ORACLES[name](text)


@pytest.mark.parametrize("name", ORACLES)
@given(text=st.text(max_size=200))
def test_exact_counters_agree_with_the_reference_on_any_unicode(name: str, text: str) -> None:
    assert counter(name).count(text) == ORACLES[name](text)


@given(text=st.text(alphabet=" \t\n\r'sStTabAB1.,(){}/_-=é中\U0001f600", max_size=300))
def test_exact_counters_agree_where_the_splitting_rules_meet(text: str) -> None:
    assert counter("o200k_base").count(text) == o200k(text)


LINE_PARTS = st.sampled_from(
    ["\n", "\n\n", "\n ", "\n\t\r", "\r", "\r\n", "\n/", "\n /", "//", "{", ");", "a", "Name", "'s", " ", "    ",
     "\x0b", "\x1c", "\x85", "\u2028", "\u3000", "0", "=====", "*/", "中", "\U0001f600", "\u0301", "\N{NO-BREAK SPACE}"]
)  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
@given(parts=st.lists(LINE_PARTS, min_size=30, max_size=120))
def test_the_count_of_many_lines_is_that_of_the_whole_text(name: str, parts: list[str]) -> None:
    text = "".join(parts)
    assert counter(name).count(text) == ORACLES[name](text)


def test_counts_are_forgotten_before_they_need_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_LINES", 9)
    lines = tokens._LineTokens(len)
    for number in range(100):
        text = f"line {number}\n" * 20
        assert lines.of(text) == len(text)
        assert 0 < len(lines) <= 9
    assert lines.of("x" * 2_000 + "\n") == 2_001
    assert "x" * 2_000 not in lines


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "\ud83d\ude00", "\udcff" * 40 + "x"])
def test_a_lone_surrogate_counts_like_in_the_reference(name: str, text: str) -> None:
    assert counter(name).count(text) == ORACLES[name](text)


@given(text=st.text(alphabet=st.characters(), max_size=80))
def test_no_text_makes_a_counter_raise(text: str) -> None:
    for name in TOKENIZERS:
        assert counter(name).count(text) >= 0
        assert (counter(name).count(text) == 0) == (text == "")


@given(text=st.text(max_size=200))
def test_the_character_estimate_is_never_under_an_exact_count(text: str) -> None:
    estimate = counter("chars")
    assert not estimate.exact
    assert estimate.count(text) >= max(o200k(text), cl100k(text))


@pytest.mark.parametrize(("size", "expected"), [(0, 0), (1, 2), (4, 7), (5, 9)])
def test_the_claude_estimate_is_the_o200k_count_times_1_75_rounded_up(size: int, expected: int) -> None:
    text = " hello" * size
    assert o200k(text) == size
    estimate = counter("claude")
    assert not estimate.exact
    assert estimate.count(text) == expected


def test_an_unknown_name_is_answered_with_the_names_that_exist() -> None:
    with pytest.raises(UsageError, match=r"'gpt-9'.*o200k_base, cl100k_base, claude, chars"):
        counter("gpt-9")


def test_the_default_is_the_first_name() -> None:
    assert counter().name == DEFAULT_TOKENIZER == TOKENIZERS[0]


def test_choosing_a_counter_loads_nothing_and_counting_loads_no_heavy_module() -> None:
    program = (
        "import sys; from satchel.tokens import counter; c = counter(); assert 'rs_bpe' not in sys.modules;"
        "c.count('x'); heavy = {'numpy', 'tiktoken', 'regex', 'rich', 'structlog'} & set(sys.modules); assert not heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_constants_of_the_tokenizer_are_given_back_and_read_again() -> None:
    script = """
from satchel import tokens
count = tokens.counter("o200k_base").count
count("a")
resident = {}
for line in open("/proc/self/smaps"):
    words = line.split()
    if "-" in words[0] and words[-1].startswith("/"):
        path = words[-1]
    elif words[0] == "Rss:" and "rs_bpe" in path:
        resident[path] = resident.get(path, 0) + int(words[1])
print(max(resident.values()) < 16_000, count("def f(): return 1"))
"""
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert shown.split() == ["True", str(o200k("def f(): return 1"))]


@pytest.mark.parametrize(("count", "limit", "fitting"), [(10, 25, 5), (10, 4, 0), (3, 100, 3), (0, 9, 0), (7, 35, 7)])
def test_as_many_parts_fit_as_a_counted_text_has_room_for(count: int, limit: int, fitting: int) -> None:
    assert count_within(count, limit, lambda parts: 5 * parts) == fitting


def test_few_texts_are_counted_to_know_how_many_parts_fit() -> None:
    asked: list[int] = []

    def tokens_with(parts: int) -> int:
        asked.append(parts)
        return parts

    assert count_within(1_000, 333, tokens_with) == 333
    assert len(asked) <= 10


@pytest.mark.parametrize(
    ("sizes", "room", "fitting"), [([3, 4, 5], 7, 2), ([9, 1], 8, 0), ([], 5, 0), ([2.5, 2.5], 5, 2)]
)
def test_the_first_texts_fit_until_one_does_not(sizes: list[float], room: float, fitting: int) -> None:
    assert first_within(sizes, room) == fitting
