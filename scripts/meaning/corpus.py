"""Sentences to distil from: the texts of Python, of the packages beside it, of Debian and of WordNet on this machine.

Only text that is installed is read; nothing is fetched. A package whose repository serves a measurement is left out by
name, so that no figure in the documentation comes from text that the table has seen.
"""

from __future__ import annotations

import gzip
import html
import random
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

MEASURED = frozenset([
    "abseil", "absl", "aeson", "aiohttp", "alamofire", "astropy", "axum", "bats", "cats", "chi", "click",
    "cobra", "commons-lang", "curl", "dapper", "dask", "dayjs", "django", "ecto", "exposed", "express",
    "fastapi", "flask", "fmt", "fmtlib", "gin", "grpc", "gson", "hono", "jq", "kotlinx", "ktor", "laravel",
    "lazy", "libuv", "locomo", "matplotlib", "model2vec", "monolog", "newtonsoft", "nvm", "octocode", "pandoc",
    "phoenix", "plug", "pydantic", "pylint", "pytest", "rack", "rails", "redux", "requests", "ripgrep",
    "satchel", "scikit-learn", "seaborn", "semble", "serde", "sinatra", "sklearn", "sphinx", "sqlfluff",
    "sympy", "telescope", "tokio", "trpc", "uv", "vapor", "vdirsyncer", "vitest", "xarray", "xmonad",
    "zig-clap", "zls", "zod",
])  # fmt: skip
"""Repositories that satchel is measured with, now or in a published set."""

NOT_DEBIAN = ("gcloud", "google-cloud", "kubectl", "bq", "gsutil")
"""Beginnings of the names of packages and manual pages that did not come from Debian's own archive."""

MAX_PER_SOURCE = 2_500
"""Sentences per package, so that no package decides what words mean."""

QUOTAS = {"python": 50_000, "doc": 35_000, "man": 15_000, "wordnet": 65_000}
"""Sentences per origin: about 60 % of how programs are described, 40 % of everyday English."""

MAX_FILE_BYTES = 2_000_000


class Sentence(NamedTuple):
    """One sentence and what it comes from: `python`, `doc`, `man` or `wordnet`."""

    origin: str
    text: str


def is_measured(name: str) -> bool:
    """Return whether a package, folder or page belongs to a measured repository: `libcurl4`, `_pytest`, `jq.1`."""
    lowered = name.lower()
    parts = [part for part in re.split(r"[-_.\s]+", lowered) if part]
    forms = {*parts, *(f"{first}-{second}" for first, second in pairwise(parts))}
    forms |= {form.removeprefix("lib") for form in forms}
    forms |= {re.sub(r"[0-9]+$", "", form) for form in forms}
    return not MEASURED.isdisjoint(forms)


def sentences(seed: int = 1) -> list[Sentence]:
    """Return the sentences of this machine without repetitions, in an order that depends on `seed` alone."""
    shuffler = random.Random(seed)
    listed: list[Sentence] = []
    seen: set[str] = set()
    for origin, sources in (("python", _python()), ("doc", _documents()), ("man", _pages())):
        for texts in sources:
            kept = [text for text in map(cleaned, texts) if text]
            shuffler.shuffle(kept)
            listed += [Sentence(origin, text) for text in _first_seen(kept, seen, MAX_PER_SOURCE)]
    listed += [Sentence("wordnet", text) for text in _first_seen(_wordnet(), seen, sys.maxsize)]
    shuffler.shuffle(listed)
    remaining = dict(QUOTAS)
    chosen: list[Sentence] = []
    for sentence in listed:
        if remaining[sentence.origin]:
            remaining[sentence.origin] -= 1
            chosen.append(sentence)
    return chosen


def _first_seen(texts: Iterable[str], seen: set[str], most: int) -> Iterator[str]:
    count = 0
    for text in texts:
        key = text.lower()
        if count < most and key not in seen:
            seen.add(key)
            count += 1
            yield text


def cleaned(text: str) -> str:
    """Return a sentence without marks and addresses, nothing if it is not one: too short, too long, mostly signs."""
    text = re.sub(r"https?://\S+|[*`_|]{1,3}|[(#]*\b(?:Closes|LP|bpo|gh)?:? ?#\d+\)?", " ", text)
    text = re.sub(r"\s+", " ", text).strip(" */#-\"':.•")
    if not 12 <= len(text) <= 220 or text.count(" ") < 2 or not text.isascii() or "Node: " in text:
        return ""
    letters = sum(character.isalpha() or character == " " for character in text)
    return text if letters >= 0.85 * len(text) else ""


_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[A-Z(\"'])")


def _split(paragraph: str) -> list[str]:
    return _SENTENCE_END.split(paragraph)


# Python: first sentences of docstrings, and comments

_DOCSTRING = re.compile(r'(?:def|class)\s+\w+[^\n]*(?:\n[^\n]*){0,6}?:\s*\n\s*[rRuU]?"""(.*?)"""', re.DOTALL)
_COMMENT = re.compile(r"((?:^[ \t]*#[ \t]+[^\n]+\n)+)", re.MULTILINE)
_NOT_SOURCE = re.compile(r"(^|/)(site-packages|tests?|testing|_vendor|vendor|idlelib|lib2to3|__pycache__)/")


def _python() -> Iterator[list[str]]:
    paths = sysconfig.get_paths()
    standard = Path(paths["stdlib"])
    for folder in sorted([*standard.iterdir(), *Path(paths["purelib"]).iterdir()]):
        if folder.name in {"site-packages", "test", "idlelib", "__pycache__"} or is_measured(folder.stem):
            continue
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder] if folder.suffix == ".py" else []
        texts: list[str] = []
        for file in files:
            if not _NOT_SOURCE.search(file.relative_to(folder.parent).as_posix()):
                texts += _python_texts(_read(file))
        yield texts


def _python_texts(source: str) -> Iterator[str]:
    for body in _DOCSTRING.findall(source):
        yield _split(" ".join(body.split("\n\n")[0].split()))[0]
    for block in _COMMENT.findall(source):
        joined = " ".join(line.strip().lstrip("#").strip() for line in block.splitlines())
        if "copyright" not in joined.lower():
            yield _split(joined)[0]


# Debian: documents, change logs, manual pages


def _documents() -> Iterator[list[str]]:
    for root in (Path("/usr/share/doc"), Path("/usr/share/info"), Path("/usr/share/vim")):
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            if folder.is_symlink() or is_measured(folder.name) or folder.name.startswith(NOT_DEBIAN):
                continue
            files = [folder] if folder.is_file() else sorted(file for file in folder.rglob("*") if file.is_file())
            texts: list[str] = []
            for file in files:
                if "copyright" not in file.name.lower() and not is_measured(file.name):
                    texts += _document_texts(file)
            yield texts


_PROSE_NAME = re.compile(r"\.(txt|md|rst|html|info(-\d+)?)$|^(readme|news|changes|changelog|todo|faq|history)", re.I)


def _document_texts(file: Path) -> list[str]:
    name = file.name.removesuffix(".gz")
    if not _PROSE_NAME.search(name):
        return []
    text = _read(file)
    if name.endswith(".html"):
        parts = re.findall(r"<(?:p|li|dd)\b[^>]*>(.*?)</(?:p|li|dd)>", text, re.DOTALL)
        return [
            line for part in parts for line in _split(" ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split()))
        ]
    if re.match(r"changelog|news|changes|history", name, re.I):
        # An entry is one line of work, as a subject of a commit is.
        return [
            " ".join(entry.split())
            for entry in re.findall(r"^[ \t]*[*+-] ((?:.+\n)(?:[ \t]{3,}[^*\s+-].*\n)*)", text, re.M)
        ]
    return [line for part in re.split(r"\n\s*\n", text) for line in _split(" ".join(_without_code(part).split()))]


def _without_code(paragraph: str) -> str:
    lines = paragraph.splitlines()
    is_code = all(line.startswith(("    ", "\t", ">", "<", "|", ".. ", "!", "[")) for line in lines)
    return "" if is_code else re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)


def _pages() -> Iterator[list[str]]:
    for section in (1, 2, 3, 4, 5, 6, 7, 8):
        for page in sorted(Path(f"/usr/share/man/man{section}").glob("*.gz")):
            if not is_measured(page.name) and not page.name.startswith(NOT_DEBIAN) and not page.is_symlink():
                yield _page_texts(_read(page))


_FONT = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\[&/,^|%]|\\s[-+]?\d")
_TEXT_MACRO = re.compile(r"\.(?:B|I|BR|RB|IR|RI|BI|IB|SM)\s+(.*)")


def _page_texts(source: str) -> list[str]:
    """Return the sentences of a manual page: text and words in another font. Any other request ends a paragraph."""
    paragraphs: list[str] = []
    current: list[str] = []
    for line in source.splitlines():
        macro = _TEXT_MACRO.match(line)
        if macro:
            words = re.findall(r'"[^"]*"|\S+', macro[1])
            current.append((" " if line.startswith((".B ", ".I ", ".SM ")) else "").join(w.strip('"') for w in words))
        elif line.startswith((".", "'", " ", "\t")) or not line.strip():
            paragraphs.append(" ".join(current))
            current = []
        else:
            current.append(line)
    paragraphs.append(" ".join(current))
    plain = (re.sub(r"\\\(..|\\\[\w+\]|\\.", " ", _FONT.sub("", p).replace("\\-", "-")) for p in paragraphs)
    return [line for paragraph in plain for line in _split(" ".join(paragraph.split()))]


def _wordnet() -> list[str]:
    """Return the examples and the definitions of WordNet: `car, auto: a motor vehicle with four wheels`."""
    texts: list[str] = []
    for part in ("noun", "verb", "adj", "adv"):
        for line in Path(f"/usr/share/wordnet/data.{part}").read_text(encoding="latin-1").splitlines():
            if line.startswith("  "):  # the licence at the head
                continue
            data, gloss = line.split(" | ", 1)
            fields = data.split()
            names = [fields[4 + 2 * number].replace("_", " ").split("(")[0] for number in range(int(fields[3], 16))]
            texts += [text for text in re.findall(r'"([^"]{15,160})"', gloss) if text.count(" ") > 2]
            definition = re.sub(r'"[^"]*"', "", gloss).strip(" ;\n").split(";")[0]
            is_name = part == "noun" and names[0][:1].isupper()
            if 15 < len(definition) < 160 and not is_name:
                texts.append(f"{', '.join(names[:2])}: {definition}")
    return [text for text in texts if text.isascii()]


def _read(file: Path) -> str:
    """Return the text of a file, unpacked if its name ends in `.gz`, at most `MAX_FILE_BYTES`."""
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
        return stream.read(MAX_FILE_BYTES).decode("utf-8", "replace")
