"""Regular expressions are compiled once for all processes, and are what `re` makes of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from satchel import expressions as module
from satchel.expressions import FILE_NAME, Expressions, read

TEXTS: tuple[tuple[str | bytes, int], ...] = (
    (r"(?P<letter>[a-z]+)|(?P<number>\d+)|(-)", re.IGNORECASE),
    (rb"^[ \t]*(?:def|class)\b", re.MULTILINE),
    ("[\ud800-\udfffÄ-Ü]\\w+(?i:strasse)", 0),
    (r"(?x) (?<!a) b{2,3}+ \Z  # twice", 0),
    (r"\d+(?=\w)", re.ASCII),
)


def write(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)


def of_process(folder: Path, *texts: tuple[Any, int]) -> tuple[Expressions, list[re.Pattern[Any]]]:
    """The expressions of a new process that uses a folder, and those of the texts."""
    expressions = Expressions()
    expressions.use(folder)
    return expressions, [expressions.compiled(text, flags) for text, flags in texts]


def kept(folder: Path) -> Path:
    """The file that a first process has written."""
    of_process(folder, *TEXTS)[0].keep(write)
    return folder / FILE_NAME


def compiled_here(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is compiled from now on."""
    seen: list[Any] = []
    original = re.compile

    def compile_and_tell(text: Any, flags: int = 0) -> re.Pattern[Any]:
        seen.append(text)
        return original(text, flags)

    monkeypatch.setattr(re, "compile", compile_and_tell)
    return seen


def test_a_kept_expression_is_the_one_that_re_compiles(tmp_path: Path) -> None:
    kept(tmp_path)
    for (text, flags), made in zip(TEXTS, of_process(tmp_path, *TEXTS)[1], strict=True):
        fresh = re.compile(text, flags)
        assert (made, made.flags, made.groups, dict(made.groupindex)) == (
            fresh, fresh.flags, fresh.groups, dict(fresh.groupindex),
        )  # fmt: skip


def test_the_next_process_compiles_nothing_and_has_nothing_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path)
    seen = compiled_here(monkeypatch)
    expressions, made = of_process(tmp_path, *TEXTS)
    match = made[0].match("Ab12")
    assert match is not None
    assert match.groupdict() == {"letter": "Ab", "number": None}
    assert (seen, expressions.is_file_wanted) == ([], False)


def test_what_another_process_wrote_meanwhile_stays_in_the_file(tmp_path: Path) -> None:
    first, _ = of_process(tmp_path, TEXTS[0])
    second, _ = of_process(tmp_path, TEXTS[1])
    assert first.is_file_wanted
    assert second.is_file_wanted
    first.keep(write)
    second.keep(write)
    assert {key[2] for key in read(tmp_path / FILE_NAME)} == {re.IGNORECASE, re.MULTILINE}


@pytest.mark.parametrize("damage", ["cut", "changed", "of another version", "empty"])
def test_a_file_that_is_damaged_or_of_another_version_is_made_anew(damage: str, tmp_path: Path) -> None:
    file = kept(tmp_path)
    raw = file.read_bytes()
    file.write_bytes({
        "cut": raw[:-1], "changed": raw[:-1] + bytes([raw[-1] ^ 1]), "of another version": b"x" + raw, "empty": b"",
    }[damage])  # fmt: skip
    expressions, made = of_process(tmp_path, *TEXTS)
    assert made == [re.compile(text, flags) for text, flags in TEXTS]
    assert expressions.is_file_wanted
    expressions.keep(write)
    assert len(read(file)) == len(TEXTS)


def test_a_python_with_another_machine_compiles_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path)

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    expressions, made = of_process(tmp_path, *TEXTS)
    assert made == [re.compile(text, flags) for text, flags in TEXTS]
    before = file.read_bytes()
    expressions.keep(write)
    assert file.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    def refused(_path: Path, _raw: bytes) -> None:
        raise PermissionError

    expressions, made = of_process(tmp_path, *TEXTS)
    expressions.keep(refused)
    assert len(made) == len(TEXTS)
    assert not (tmp_path / FILE_NAME).exists()
