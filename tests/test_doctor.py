from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel import doctor
from satchel.config import Folders, load_settings
from satchel.doctor import Check, Severity
from satchel.embed import minilm
from satchel.embed.static import StaticTable
from satchel.sources.code import languages, outline
from satchel.sources.code.languages import GRAMMARS
from tests import oracle


@pytest.mark.parametrize("check", doctor.MACHINE_CHECKS.values(), ids=doctor.MACHINE_CHECKS)
def test_all_is_well_where_the_tests_run(check: Callable[[], Any]) -> None:
    finding = check()
    assert finding.outcome is Severity.OK
    assert finding.fix == ""


def test_the_probe_was_counted_with_the_reference() -> None:
    probe = doctor.TOKENIZER_PROBE
    assert {"o200k_base": oracle.o200k(probe), "cl100k_base": oracle.cl100k(probe)} == doctor.PROBE_TOKENS


def test_a_tokenizer_that_counts_wrong_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TOKENIZER_PROBE", doctor.TOKENIZER_PROBE + " and more")
    finding = doctor.check_tokenizer()
    assert finding.outcome is Severity.FAIL
    assert "budgets would not hold" in finding.message


@pytest.mark.parametrize(
    ("version", "outcome"), [("3.51.2", Severity.FAIL), ("3.51.3", Severity.OK), ("4.0.0", Severity.OK)]
)
def test_a_sqlite_that_can_damage_stores_is_a_failure(
    version: str, outcome: Severity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)
    assert doctor.check_sqlite().outcome is outcome


def test_without_git_answers_lose_their_history_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    finding = doctor.check_git()
    assert finding.outcome is Severity.WARN
    assert finding.fix == "install git"


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [("git version 2.24.9", Severity.WARN), ("git version 2.39.5 (Apple Git-154)", Severity.OK), ("hm", Severity.WARN)],
)
def test_an_old_git_is_a_warning(printed: str, outcome: Severity, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess(["git"], 0, printed.encode(), b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert doctor.check_git().outcome is outcome


def test_a_system_without_guards_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_NOFOLLOW")
    finding = doctor.check_guards()
    assert finding.outcome is Severity.WARN
    assert "O_NOFOLLOW" in finding.message


@pytest.mark.parametrize(
    ("text", "numbers"), [("2.39.5 (Apple Git-154)", (2, 39, 5)), ("3.51.3", (3, 51, 3)), ("none", ()), ("v2", (2,))]
)
def test_versions_are_compared_as_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert doctor.numbers(text) == numbers


def test_a_folder_that_is_not_there_yet_is_well_where_it_can_be_made(tmp_path: Path) -> None:
    finding = doctor.check_folder("cache folder", tmp_path / "a" / "b")
    assert finding.outcome is Severity.OK
    assert not (tmp_path / "a").exists()


def test_a_folder_of_ones_own_is_well(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    assert doctor.check_folder("cache folder", folder).outcome is Severity.OK


def test_a_folder_that_others_can_open_is_a_warning_with_its_cure(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o755)
    finding = doctor.check_folder("cache folder", folder)
    assert finding.outcome is Severity.WARN
    assert finding.fix == f"chmod 700 {folder}"


def test_settings_may_be_seen_by_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert doctor.check_folder("config folder", tmp_path).outcome is Severity.OK


def test_a_file_in_the_place_of_a_folder_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("x")
    assert doctor.check_folder("cache folder", tmp_path / "cache").outcome is Severity.FAIL
    assert doctor.check_folder("cache folder", tmp_path / "cache" / "below").outcome is Severity.FAIL


def test_a_folder_that_cannot_be_written_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the superuser, as whom tests may run, writes everywhere
    assert doctor.check_folder("cache folder", tmp_path).fix == f"chmod u+rwx {tmp_path}"
    finding = doctor.check_folder("cache folder", tmp_path / "new")
    assert finding.outcome is Severity.FAIL
    assert "XDG_CACHE_HOME" in finding.fix


def test_every_home_is_checked(tmp_path: Path) -> None:
    names = [check.name for check in doctor.examine(tmp_path, environ={"SATCHEL_HOME": str(tmp_path / "home")})]
    assert [name for name in names if name.endswith("folder")] == [
        "config folder",
        "data folder",
        "state folder",
        "cache folder",
    ]


def test_every_grammar_finds_the_definition_in_its_sample() -> None:
    finding = doctor.check_grammars()
    assert finding.outcome is Severity.OK
    assert finding.message.startswith(f"{len(GRAMMARS)} languages")


def test_a_grammar_that_finds_nothing_fails_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(languages.SAMPLES, "go", "package a\n")
    finding = doctor.check_grammars()
    assert finding.outcome is Severity.FAIL
    assert "go finds no definition" in finding.message


def test_a_grammar_that_does_not_load_is_named_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ImportError("no module")

    monkeypatch.setattr(outline, "outline", broken)
    assert doctor.grammar_problem("rust") == "does not load (ImportError: no module)"


def vectors(tmp_path: Path, settings: Mapping[str, Any]) -> Check:
    homes = Folders(*(tmp_path / name for name in ("config", "data", "state", "cache")))
    return doctor.check_vectors(load_settings(None, {}, settings, homes), homes, {})


def test_without_a_model_the_table_is_named_and_one_that_was_asked_for_is_a_warning_with_the_way_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "find_spec", lambda _: None)
    finding = vectors(tmp_path, {"embed.provider": "auto"})
    assert (finding.outcome, finding.message) == (
        Severity.OK,
        f"made by {StaticTable().id}, the table that comes with satchel",
    )
    asked = vectors(tmp_path, {"embed.provider": "minilm"})
    assert (asked.outcome, asked.fix) == (Severity.WARN, minilm.install_command())


def test_a_model_that_is_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "missing_parts", lambda *_: [])
    finding = vectors(tmp_path, {"embed.provider": "auto"})
    assert (finding.outcome, finding.message) == (Severity.OK, "made by all-MiniLM-L6-v2-int8@1")


def test_without_vectors_on_purpose_all_is_well(tmp_path: Path) -> None:
    assert vectors(tmp_path, {"embed.provider": "off"}).outcome is Severity.OK


def test_an_endpoint_is_named_by_its_host_alone(tmp_path: Path) -> None:
    address = "http://somebody:word@localhost:11434/v1"
    finding = vectors(tmp_path, {"embed.endpoint": address, "embed.model": "nomic", "embed.dimension": 8})
    assert finding.outcome is Severity.OK
    assert finding.message.endswith("at localhost:11434")
    assert "word" not in finding.message
    half = vectors(tmp_path, {"embed.endpoint": address})
    assert half.outcome is Severity.WARN
    assert "embed.model is not set" in half.message
