"""Every line of every note of a vault is in an answer of a graph that covers the note."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.sources.front_matter import front_matter_lines
from tests.graph.workspaces import open_vault

NOTES = 60
WORDS = ("Budget", "Termin", "Übergang", "Kunde", "Server", "Vertrag", "Ablauf", "Datenbank", "Entscheidung")
LINES = (
    "{w} wird am Montag abgeschaltet (budget:: {n} EUR) und niemand darf ihn danach benutzen.",
    "- [ ] {w} informieren [due:: 2026-12-{d}]",
    "- [x] {w} bestellt ✅ 2026-11-{d}",
    "- [/] {w} prüfen 📅 2026-12-{d} ⏫ #arbeit",
    "owner:: [[{o}]]",
    "- status:: offen {n}",
    "status:: {long}",
    "Siehe [[{o}|{w}]] und ![[{o}#Ziele]] sowie [link]({o}.md).",
    "> {w} sagt: nicht {n}, sondern {d} ^block{n}",
    "| {w} | [[{o}\\|hier]] | {n} |",
    "```dataview\nTABLE due:: FROM #{w}\n```",
    "  * tief:: {n} mit [key:: {w}] und (andere:: {d})",
    "# {w} {n}",
    "### Ziele",
    "{w}:: kein Feld:: oder doch {n}",
    "",
)


def note(choice: random.Random, number: int) -> str:
    heads = ("", "---\ntitle: Notiz\ntags: [a, b/c]\naliases: N{n}\ndue: 2026-12-01\n---\n", "---\nkaputt: [\n---\n")
    body = [choice.choice(LINES) for _ in range(choice.randint(3, 25))]
    return "\n".join(
        line.format(
            w=choice.choice(WORDS),
            n=choice.randint(100, 999),
            d=choice.randint(10, 28),
            o=f"Note{choice.randrange(NOTES)}",
            long="sehr " * 60 + str(number),
        )
        for line in body
    ).join((choice.choice(heads).replace("{n}", str(number)), "\n"))


def answered(engine: Satchel, path: str) -> Counter[str]:
    """The lines that a graph around a note shows of it: the texts of its nodes, and its fields."""
    context = engine.graph(path, depth=2, max_tokens=60_000, lens="general")
    shown: Counter[str] = Counter()
    for item in context.items:
        node = item.metadata["node"]
        if node.get("location", {}).get("file") == path:
            shown.update(line.strip() for line in item.content.splitlines())
            for name, value in node.get("fields", {}).items():
                values = [value] if isinstance(value, str) else value
                shown.update(f"{name}:: {one}" for one in values)
    return shown


def test_every_line_of_sixty_notes_is_in_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    choice = random.Random(1)
    notes = {f"{choice.choice(('', 'work/'))}Note{number}.md": note(choice, number) for number in range(NOTES)}
    checked = 0
    with open_vault(tmp_path / "vault", notes) as engine:
        for path, text in notes.items():
            lines = text.split("\n")
            shown = answered(engine, path)
            for line in lines[front_matter_lines(lines) :]:
                bare = line.strip().removeprefix("- ").removeprefix("* ").replace("[[", "").replace("]]", "")
                checked += 1
                assert not line.strip() or shown[line.strip()] or shown[bare], (path, line)
    assert checked > 500
