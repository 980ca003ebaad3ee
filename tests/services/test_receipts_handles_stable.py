"""A handle means one thing for good: used ten times, in another process, after later answers and after edits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.services.receipts import handles_of
from satchel.testing import TinyRepository
from satchel.types import Context, HandleTarget, Range
from tests.e2e.command import Satchel as Command

ALGORITHMS = ("RS256", "ES256", "EdDSA", "HS256")

CHECKS = "\n".join(f"  check(header.claim{number}, payload.claim{number}, token)" for number in range(30))

TOKENS = "import { sign } from './jws'\n\n" + "\n".join(
    f"""export const verify{name} = async (token: string, publicKey: SignatureKey) => {{
  const {{ header, payload }} = decode(token, '{name}')
{CHECKS}
  if (payload.exp <= now) {{
    throw new JwtTokenExpired(token, '{name}')
  }}
  return payload
}}
"""
    for name in ALGORITHMS
)
QUESTION = "jwt verify token expired"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "hono")
    types = "export class JwtTokenExpired extends Error {\n  constructor(token: string) {\n    super(token)\n  }\n}\n"
    guide = "# Tokens\n\nThe middleware verifies the jwt of a request.\n\n## Expired\n\nAn expired token is refused.\n"
    repository.commit(
        "Add tokens", {"src/jwt/jwt.ts": TOKENS, "src/jwt/types.ts": types, "docs/jwt.md": guide, "src/x.ts": "1\n"}
    )
    return repository


@pytest.fixture
def satchel(repository: TinyRepository, tmp_path: Path) -> Iterator[Satchel]:
    with Satchel.open(repository.root, environ=environment(tmp_path)) as opened:
        yield opened


def environment(tmp_path: Path) -> dict[str, str]:
    # On a machine that stops for seconds no source may be left out.
    patient = {"SATCHEL_CONTEXT_GATHER_DEADLINE_S": "600"}
    return {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_KEY": "07" * 32, **patient}


Shown = list[tuple[str, tuple[Range, ...], str]]


def shown(context: Context) -> Shown:
    return [(item.title, item.spans, item.content) for item in context.items]


def all_handles(satchel: Satchel, budget: int) -> list[HandleTarget]:
    handles = handles_of(satchel.assemble(QUESTION, max_tokens=budget))
    return list({row.handle: row for row in handles}.values())


@pytest.mark.parametrize("budget", [400, 1500])
def test_each_handle_of_an_answer_gives_the_same_lines_ten_times(satchel: Satchel, budget: int) -> None:
    handles = all_handles(satchel, budget)
    assert any(row.ranges for row in handles)
    first = {row.handle: shown(satchel.expand([row.handle])) for row in handles}
    for row in handles:
        if row.ranges:
            lines = {line for _, spans, _ in first[row.handle] for a, b in spans for line in range(a, b + 1)}
            assert lines == {line for a, b in row.ranges for line in range(a, b + 1)}
    for turn in range(2, 11):
        for row in handles:
            satchel.expand([row.handle], max_tokens=100 + 20 * turn)
            satchel.receipts.document(row.id)
            assert shown(satchel.expand([row.handle])) == first[row.handle], (turn, row)
        satchel.assemble(f"{QUESTION} {ALGORITHMS[turn % 4]}", max_tokens=300 * turn)
        satchel.graph("src/jwt/jwt.ts", max_tokens=300 * turn)


def test_the_handle_of_a_file_differs_from_one_of_its_lines(satchel: Satchel) -> None:
    targets: dict[str, set[tuple[str, str, tuple[Range, ...]]]] = {}
    for budget in (200, 400, 800, 1500, 4000):
        for row in all_handles(satchel, budget):
            targets.setdefault(row.handle, set()).add((row.path, row.content_hash, row.ranges))
    assert all(len(meant) == 1 for meant in targets.values())


def test_another_process_gives_the_same_after_an_edit(
    satchel: Satchel, repository: TinyRepository, tmp_path: Path
) -> None:
    handle = next(row.handle for row in all_handles(satchel, 400) if row.ranges and row.path == "src/jwt/jwt.ts")
    before = satchel.expand([handle]).text
    command = Command(repository.root, tmp_path / "home")
    assert command("expand", handle).out.rstrip("\n") == before.rstrip("\n")
    repository.write({"src/jwt/jwt.ts": "// a new first line\n" + TOKENS.replace("payload.exp", "claims.exp")})
    satchel.index()
    satchel.assemble(QUESTION)
    after = satchel.expand([handle])
    assert after.items[0].metadata["origin"] == "git"
    assert after.items[0].content in TOKENS
    assert after.items[0].content in before


def test_a_node_of_a_graph_has_another_handle_after_an_edit(satchel: Satchel, repository: TinyRepository) -> None:
    node = satchel.graph("verifyRS256", max_tokens=3000).items[0]
    before = shown(satchel.expand([node.handle]))
    repository.write({"src/jwt/jwt.ts": TOKENS.replace("'RS256'", "'PS512'")})
    satchel.index()
    again = satchel.graph("verifyRS256", max_tokens=3000).items[0]
    assert again.handle != node.handle
    assert "'PS512'" in satchel.expand([again.handle]).text
    assert shown(satchel.expand([node.handle])) == before


def test_a_handle_that_is_too_old_is_a_clear_message(repository: TinyRepository, tmp_path: Path) -> None:
    command = Command(repository.root, tmp_path / "home")
    handle = command("context", QUESTION, "--json").json["items"][0]["handle"]
    (ledger,) = (tmp_path / "home").glob("**/handles/*.jsonl")
    ledger.unlink()
    ran = command("expand", handle)
    assert (ran.code, ran.out) == (2, "")
    assert f"unknown handle {handle}: ask the question again" in ran.err
