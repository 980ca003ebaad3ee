"""An hour of work as a user lives it, with the real command: ask, fail, look back, fix, remember, and ask again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from values import lines  # benchmarks/ is on the path

from satchel.testing import TinyRepository
from tests.e2e.command import Satchel
from tests.e2e.sample import CLIENT, sample_repository
from tests.oracle import o200k

HYPOTHESIS = "The first wait of the backoff is too long"
CAUSE = "The exponent starts at one because attempts are counted from one"
CHECK = "from shop.client import backoff; assert backoff(0) == 0.05, f'backoff(0) is {backoff(0)}'"
FIXED = "    return min(0.05 * 2**attempt, 2.0)"
LATER = "why did the backoff of the client wait too long, and what did we decide about the first attempt"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Satchel:
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "off")  # the default install
    return Satchel(repository.root, tmp_path / "home")


def answered(satchel: Satchel, *arguments: str) -> str:
    """Run a command that succeeds, and return what it prints."""
    ran = satchel(*arguments)
    assert ran.code == 0, ran.err
    return ran.out


def fail(satchel: Satchel) -> None:
    """Try something that fails; satchel asks once for the cause, which is added."""
    started = satchel(
        "experience", "start", "--domain", "debugging", "--strategy", "root-cause-analysis",
        "--goal", "The first retry of an order comes sooner", "--hypothesis", HYPOTHESIS,
        "--action", "Run the check of the first wait", "--prediction", "The check passes",
    )  # fmt: skip
    assert started.code == 0
    captured = satchel("experience", "capture", "--", sys.executable, "-c", CHECK)
    assert captured.code == 1
    assert "AssertionError: backoff(0) is 0.1" in captured.err
    assert captured.err.count("satchel experience correct") == 1
    after = satchel("experience", "list", "--json").json["experiences"]
    identity = after[0]["id"]
    corrected = answered(
        satchel, "experience", "correct", identity, "--root-cause", "wrong-assumption",
        "--root-cause-description", CAUSE, "--json",
    )  # fmt: skip
    assert json.loads(corrected)["root_cause"]["description"] == CAUSE


def look_back(satchel: Satchel, log: Path) -> None:
    """Before the next try: what failed, with its cause. After a failure: the code of the trace."""
    premortem = answered(satchel, "premortem", "--domain", "debugging")
    assert HYPOTHESIS in premortem
    assert CAUSE in premortem
    frame = f'  File "{satchel.root}/shop/client.py", line 17, in send_order'
    error = "ValueError: sleep length must be non-negative"
    log.write_text(f"Traceback (most recent call last):\n{frame}\n    time.sleep(backoff(attempt))\n{error}\n")
    brief = answered(satchel, "brief", "--after-failure", str(log), "--max-tokens", "1200")
    assert "time.sleep(backoff(attempt))" in brief


def fix(satchel: Satchel, repository: TinyRepository) -> None:
    """Fix it, look at what the change concerns without another index run, and write down what was decided."""
    client = repository.root / "shop" / "client.py"
    client.write_text(CLIENT.replace("    return 0.1 * 2**attempt", FIXED))
    changed = answered(satchel, "context", "--diff", "--max-tokens", "1500")
    assert "test_backoff_doubles" in changed
    assert "time.sleep(backoff(attempt))" in changed
    answered(
        satchel, "remember", "The first attempt of the client waits 50 ms, and no attempt waits more than two seconds",
        "--category", "decision", "--importance", "0.9",
    )  # fmt: skip
    text = client.read_text()
    repository.commit(
        "Shorten the first wait of the backoff\n\nOrders waited for a tenth of a second.", {"shop/client.py": text}
    )


def learn(satchel: Satchel, team: Path) -> None:
    """Sixty experiences of the team arrive: groups by words of three themes, and a value for one of them."""
    team.write_text("".join(f"{json.dumps(line)}\n" for line in lines()[0]))
    answered(satchel, "import", str(team), "--here")
    answered(satchel, "values", "cluster")
    proposals = satchel("values", "propose", "--axis", "full", "--json").json["proposals"]
    assert {"slowsql", "encoding", "flaky"} <= {one["member"].partition("_")[0] for one in proposals}
    value = next(one for one in proposals if one["member"].startswith("slowsql"))
    answered(satchel, "values", "accept", value["text"], "--cluster", value["cluster"])
    slow = answered(satchel, "context", f"queries are slow: {value['text']}?")
    assert value["text"] in slow


def test_an_hour_of_work(satchel: Satchel, repository: TinyRepository, tmp_path: Path) -> None:
    assert "indexed" in satchel("index").err
    first = answered(satchel, "context", "how long does the client wait between attempts", "--max-tokens", "600")
    assert "return 0.1 * 2**attempt" in first
    assert o200k(first) <= 600
    fail(satchel)
    look_back(satchel, tmp_path / "log.txt")
    fix(satchel, repository)
    learn(satchel, tmp_path / "team.jsonl")
    final = satchel("context", LATER, "--max-tokens", "2000", "--json").json
    text = final["text"]
    for shown in (FIXED, "waits 50 ms", CAUSE):
        assert shown in text, shown
    assert "0.1 * 2**attempt" not in text
    assert final["usage"]["used"] == o200k(text) <= 2000
    assert "Shorten the first wait of the backoff" in answered(satchel, "history", "shop/client.py")
    assert satchel("doctor", "--json").code == 0
