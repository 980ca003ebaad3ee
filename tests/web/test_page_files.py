"""The files of the page, without a browser: no way to markup, nothing inline or from elsewhere, enough contrast."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

FOLDER = files("satchel.web") / "page"
NAMES = sorted(entry.name for entry in FOLDER.iterdir() if entry.is_file())
SCRIPTS = [name for name in NAMES if name.endswith(".js")]
STYLES = [name for name in NAMES if name.endswith(".css")]

MAX_LINES = 400

WAYS_TO_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|"
    r"\beval\b|new Function|javascript:|srcdoc|\.cssText|setAttribute\(\s*[\"'](?:style|on|href|src)"
)
ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]", re.IGNORECASE)
SVG_NAMESPACE = "http://www.w3.org/2000/svg"

TEXT = 4.5
GRAPHIC = 3.0
"""Least contrast of texts, and of shapes and frames that say something (WCAG 2.2, 1.4.3 and 1.4.11, level AA)."""

KINDS = ("memory", "code", "experience", "value", "commit", "doc", "note", "conversation", "context")
PAIRS = [
    *[("ink", place, TEXT) for place in ("page", "surface", "sunken", "accent-soft", "bad-soft", "warn-soft")],
    *[("muted", place, TEXT) for place in ("page", "surface", "sunken", "accent-soft", "bad-soft", "warn-soft")],
    *[(state, f"{state}-soft", TEXT) for state in ("good", "warn", "bad")],
    *[(state, "accent-soft", TEXT) for state in ("good", "bad")],
    *[(state, "surface", GRAPHIC) for state in ("good", "warn", "bad", "focus", "control-line")],
    *[(f"code-{part}", "sunken", TEXT) for part in ("keyword", "text", "comment", "number")],
    *[("ink", f"tint-{kind}", TEXT) for kind in KINDS],
    *[(f"kind-{kind}", "surface", GRAPHIC) for kind in (*KINDS, "frame")],
    ("bad", "surface", TEXT),
    ("surface", "bad", TEXT),
    ("accent", "surface", TEXT),
    ("accent", "page", TEXT),
    ("on-accent", "accent", TEXT),
    ("focus", "page", GRAPHIC),
]


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


class Tags(HTMLParser):
    """Every start tag with its attributes, and what stands inside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags() -> Tags:
    parser = Tags()
    parser.feed(text_of("index.html"))
    return parser


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_has_a_way_from_a_text_to_markup(name: str) -> None:
    assert WAYS_TO_MARKUP.findall(text_of(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    assert ELSEWHERE.findall(text_of(name).replace(SVG_NAMESPACE, "")) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_short(name: str) -> None:
    assert len(text_of(name).splitlines()) <= MAX_LINES


def test_nothing_stands_inline_that_the_policy_forbids() -> None:
    for tag, attributes in tags().tags:
        assert tag != "style"
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        assert tag != "script" or attributes.get("src")
    assert "style=" not in "".join(text_of(name) for name in SCRIPTS)


def test_every_file_that_is_named_is_there() -> None:
    named = {
        value.removeprefix("/page/") for _, row in tags().tags for value in row.values() if value and "/page/" in value
    }
    imported = {found for name in SCRIPTS for found in re.findall(r'from "\./([^"]+)"', text_of(name))}
    assert named | imported <= set(NAMES)
    assert set(SCRIPTS) <= named | imported
    assert set(STYLES) <= named


def test_every_field_has_a_name_for_readers() -> None:
    labelled = {row.get("for") for tag, row in tags().tags if tag == "label"}
    wrapped = set(re.findall(r'<label class="check"><input type="checkbox" id="([^"]+)"', text_of("index.html")))
    for tag, row in tags().tags:
        if tag in {"input", "select", "textarea"}:
            assert row.get("aria-label") or row["id"] in labelled | wrapped, row


def test_ids_are_given_once_and_every_reference_finds_one() -> None:
    rows = [row for _, row in tags().tags]
    identities = [row["id"] for row in rows if "id" in row]
    assert len(identities) == len(set(identities))
    for name in ("aria-controls", "aria-labelledby", "aria-describedby", "for"):
        for row in rows:
            assert name not in row or row[name] in identities, row


def test_every_key_is_in_the_documentation() -> None:
    keys = re.findall(r'^  \["(.)", ', text_of("keys.js"), re.MULTILINE)
    told = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    assert len(keys) > 10
    assert [key for key in keys if f"`{key}`" not in told] == []


def colours() -> Iterator[tuple[str, tuple[str, str]]]:
    pattern = re.compile(r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
    for name, light, dark in pattern.findall(text_of("tokens.css")):
        yield name, (light, dark)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "back", "least"), PAIRS, ids=[f"{front}-on-{back}" for front, back, _ in PAIRS])
def test_colours_can_be_told_apart(front: str, back: str, least: float, theme: int) -> None:
    known = dict(colours())
    assert contrast(known[front][theme], known[back][theme]) >= least


def test_colours_are_named_in_one_place() -> None:
    loose = re.compile(r"#[0-9a-f]{3,8}\b", re.IGNORECASE)
    for name in STYLES:
        if name != "tokens.css":
            assert loose.findall(text_of(name)) == [], name
