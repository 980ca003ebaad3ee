"""Settings: later sources win, mistakes are named, and a repository can neither break nor reach anything."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import Satchel
from satchel.config import PROJECT_NOTES, Folders, LoadedSettings, load_settings, user_file
from satchel.errors import ConfigError
from satchel.safety.sanitize import clean_field
from satchel.settings import SETTINGS, Settings, attribute
from satchel.types import CONTEXT_TYPES, Kind


class Place:
    """A home and a root of one test."""

    def __init__(self, folder: Path) -> None:
        self.environ = {"SATCHEL_HOME": str(folder / "home"), "HOME": str(folder)}
        self.folders = Folders.from_environment(self.environ)
        self.user_file = user_file(self.folders)
        self.user_file.parent.mkdir(parents=True)
        self.root = folder / "root"
        self.root.mkdir()
        self.project_file = self.root / ".satchel.toml"

    def load(self, environ: Mapping[str, str] | None = None, **overrides: object) -> LoadedSettings:
        flags = {name.replace("__", "."): value for name, value in overrides.items()}
        return load_settings(self.root, {**self.environ, **(environ or {})}, flags)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_any_source_every_setting_has_its_default(place: Place) -> None:
    loaded = place.load()
    assert loaded.settings == Settings()
    assert set(loaded.origins) == set(SETTINGS)
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.notes == ()


def test_later_sources_win_and_say_so(place: Place) -> None:
    key = "context.limit"
    seen = []
    for step in (
        lambda: None,
        lambda: place.user_file.write_text("[context]\nlimit = 11\n"),
        lambda: place.project_file.write_text("context.limit = 12\n"),
        lambda: place.environ.update(SATCHEL_CONTEXT_LIMIT="13"),
    ):
        step()
        loaded = place.load()
        seen.append((loaded.settings.context_limit, loaded.origins[key]))
    loaded = place.load(context__limit=14)
    seen.append((loaded.settings.context_limit, loaded.origins[key]))
    assert seen == [
        (20, "default"),
        (11, str(place.user_file)),
        (12, ".satchel.toml"),
        (13, "SATCHEL_CONTEXT_LIMIT"),
        (14, "flag"),
    ]


def test_a_flag_that_was_not_given_changes_nothing(place: Place) -> None:
    assert place.load(context__limit=None).origins["context.limit"] == "default"


def test_values_of_every_type_come_from_a_file(place: Place) -> None:
    place.user_file.write_text(
        """
        redact.allow = ["^AKIA.*EXAMPLE$"]
        [budget]
        max_tokens = 8_000
        tokenizer = "claude"
        [context]
        min_score = 0
        sources = true
        exclude = ["docs/**", "*.lock"]
        [context.weights]
        code = 4
        """
    )
    settings = place.load().settings
    assert settings.budget_max_tokens == 8000
    assert settings.budget_tokenizer == "claude"
    assert settings.context_min_score == 0.0
    assert settings.context_sources is True
    assert settings.context_exclude == ("docs/**", "*.lock")
    assert settings.context_weights[Kind.CODE] == 4.0
    assert settings.redact_allow == ("^AKIA.*EXAMPLE$",)


def test_values_of_every_type_come_from_the_environment(place: Place) -> None:
    settings = place.load(
        {
            "SATCHEL_BUDGET_MAX_TOKENS": "8_000",
            "SATCHEL_CONTEXT_FORMAT": "xml",
            "SATCHEL_CONTEXT_GATHER_DEADLINE_S": "2",
            "SATCHEL_CONTEXT_MIN_SCORE": "auto",
            "SATCHEL_CONTEXT_SOURCES": "Yes",
            "SATCHEL_CONTEXT_EXCLUDE": "docs/**, *.lock,",
            "SATCHEL_INDEX_INCLUDE": '["{a,b}/**"]',
            "SATCHEL_CONTEXT_WEIGHTS_CODE": "0.5",
            "SATCHEL_UI_COLOR": "",
        }
    ).settings
    assert settings.budget_max_tokens == 8000
    assert settings.context_format == "xml"
    assert settings.context_gather_deadline_s == 2.0
    assert settings.context_min_score is None
    assert settings.context_sources is True
    assert settings.context_exclude == ("docs/**", "*.lock")
    assert settings.index_include == ("{a,b}/**",)
    assert settings.context_weights_code == 0.5
    assert settings.ui_color == "auto"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("budget.max_tokens = 0", r"budget.max_tokens is 0, but must be a whole number from 1 to 10,000,000"),
        ("budget.max_tokens = '4000'", r"budget.max_tokens is '4000', but must be a whole number"),
        ("budget.max_tokens = true", r"budget.max_tokens is True"),
        ("budget.max_tokens = 1.5", r"budget.max_tokens is 1.5"),
        ("budget.max_tokens = {a = 1}", r"budget.max_tokens is {'a': 1}"),
        ("context.min_score = 1.01", r"a number from 0.0 to 1.0, or auto"),
        ("context.min_score = nan", r"context.min_score is nan"),
        ("context.sources = 'yes'", r"must be true or false"),
        ("context.format = 'html'", r"'html', but must be one of markdown, xml, plain, json"),
        ("context.exclude = 'docs'", r"must be a list of at most 1,000 texts"),
        ("context.exclude = [1]", r"must be a list of at most 1,000 texts"),
        ("redact.allow = ['(']", r"regular expressions; '\(' has a mistake"),
        ("\nbudget.max_tokens = 1 2", r"cannot be parsed: Expected newline .* \(at line 2"),
        ("a = " + "[" * 5000, r"cannot be parsed: .*"),
    ],
)
def test_an_impossible_value_of_the_user_is_an_error_with_file_key_value_and_range(
    place: Place, line: str, message: str
) -> None:
    place.user_file.write_text(line)
    with pytest.raises(ConfigError, match=message) as caught:
        place.load()
    assert str(place.user_file) in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_impossible_value_in_the_environment_names_the_variable(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"SATCHEL_INDEX_WORKERS: index.workers is 'many', but must be"):
        place.load({"SATCHEL_INDEX_WORKERS": "many"})
    with pytest.raises(ConfigError, match=r"SATCHEL_CONTEXT_EXCLUDE"):
        place.load({"SATCHEL_CONTEXT_EXCLUDE": "[docs"})


def test_an_impossible_flag_is_an_error(place: Place) -> None:
    with pytest.raises(ConfigError, match=r"flag: budget.max_tokens is -1"):
        place.load(budget__max_tokens=-1)
    with pytest.raises(ConfigError, match=r"unknown setting 'budget.max_token': did you mean budget.max_tokens\?"):
        place.load(budget__max_token=1)


def test_an_unreadable_file_of_the_user_is_an_error(place: Place) -> None:
    place.user_file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        place.load()


def test_an_unknown_setting_of_the_user_is_a_note_with_the_nearest_name(place: Place) -> None:
    place.user_file.write_text("context.limits = 5\nsomething = 1\n")
    first, second, third = place.load({"SATCHEL_BUDGET_MAXTOKENS": "5", "SATCHEL_EVAL": "x"}).notes
    assert "unknown setting context.limits" in first.message
    assert first.hint == "did you mean context.limit?"
    assert "unknown setting something" in second.message
    assert "SATCHEL_BUDGET_MAXTOKENS" in third.message
    assert third.hint == "did you mean SATCHEL_BUDGET_MAX_TOKENS?"


def test_a_byte_order_mark_is_no_mistake(place: Place) -> None:
    place.user_file.write_bytes(b"\xef\xbb\xbfcontext.limit = 5\n")
    assert place.load().settings.context_limit == 5


@pytest.mark.parametrize("key", [key for key, setting in SETTINGS.items() if not setting.safe])
def test_a_repository_cannot_set_what_costs_the_user(place: Place, key: str) -> None:
    setting = SETTINGS[key]
    value = {int: "1", float: "1.0", str: f"'{(setting.choices or ('x',))[-1]}'", tuple: "['.*']", bool: "false"}[
        setting.type
    ]
    place.project_file.write_text(f"{key} = {value}\n")
    loaded = place.load()
    assert loaded.settings == Settings()
    (note,) = loaded.notes
    assert key in note.message
    assert setting.variable in note.hint


@pytest.mark.parametrize(
    "content",
    [
        b"context.limit = 'many'",
        b"context.limit = 10000000",
        b"context = 5",
        b"not toml",
        b"\xff\xfe",
        b"a = " + b"[" * 30_000,
        b"a" + b".a" * 20_000 + b" = 1",
        b"# " + b"x" * 70_000,
    ],
    ids=["type", "range", "table", "syntax", "encoding", "nested lists", "nested tables", "size"],
)
def test_a_broken_file_of_a_repository_is_a_note_and_changes_nothing(place: Place, content: bytes) -> None:
    place.project_file.write_bytes(content)
    loaded = place.load()
    assert loaded.settings == Settings()
    (note,) = loaded.notes
    assert note.source == "config"
    assert ".satchel.toml" in note.message
    assert len(note.message) < 300


def test_a_repository_keeps_its_good_settings_beside_bad_ones(place: Place) -> None:
    place.project_file.write_text("[index]\nworkers = 9\nexclude = ['vendor/**']\nexcluded = 1\n")
    loaded = place.load()
    assert loaded.settings.index_exclude == ("vendor/**",)
    assert [note.hint for note in loaded.notes] == [
        "to accept it, write it into your own satchel.toml or set SATCHEL_INDEX_WORKERS",
        "did you mean index.exclude?",
    ]


def test_a_repository_cannot_flood_the_notes_or_hide_words_in_them(place: Place) -> None:
    place.project_file.write_text("\n".join(f'"k{number}\\u202e\\u001b[2J" = 1' for number in range(2_000)))
    notes = place.load().notes
    assert len(notes) == PROJECT_NOTES + 1
    assert notes[-1].message == ".satchel.toml: 1990 more settings are ignored"
    assert all(clean_field(note.message) == note.message for note in notes)


def test_a_settings_file_that_leads_out_of_the_repository_is_not_read(place: Place, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text("context.limit = 5")
    place.project_file.symlink_to(tmp_path / "outside.toml")
    loaded = place.load()
    assert loaded.settings.context_limit == 20
    assert [note.message for note in loaded.notes] == [".satchel.toml is ignored: it is not read (symlink)"]


def test_a_fifo_as_settings_file_does_not_hang(place: Place) -> None:
    os.mkfifo(place.project_file)
    assert "special-file" in place.load().notes[0].message


@given(content=st.binary(max_size=60) | st.text(alphabet="context.limit = [{'\"\n#5}]", max_size=60).map(str.encode))
def test_no_file_of_a_repository_raises(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / ".satchel.toml").write_bytes(content)
    load_settings(root, {"HOME": str(root / "nobody")})


def test_the_home_variable_moves_all_folders(tmp_path: Path) -> None:
    folders = Folders.from_environment({"SATCHEL_HOME": str(tmp_path), "XDG_CACHE_HOME": "/elsewhere", "HOME": "/h"})
    assert folders == Folders(tmp_path / "config", tmp_path / "data", tmp_path / "state", tmp_path / "cache")


def test_the_home_variable_may_start_at_the_home_folder() -> None:
    assert Folders.from_environment({"SATCHEL_HOME": "~/s", "HOME": "/h"}).data == Path("/h/s/data")


@pytest.mark.parametrize("home", ["s", ".", "./s", "~s", "/"])
def test_no_store_is_put_into_the_repository_or_the_root_folder_by_a_wrong_folder_of_satchel(home: str) -> None:
    with pytest.raises(ConfigError, match=r"SATCHEL_HOME is .*: set it to the absolute path"):
        Folders.from_environment({"SATCHEL_HOME": home, "HOME": "/h"})


@pytest.mark.parametrize("home", ["rel", "./rel", "/"])
def test_no_store_is_put_into_the_repository_or_the_root_folder_by_a_wrong_home(home: str) -> None:
    with pytest.raises(ConfigError, match="set it to the absolute path of your home folder"):
        Folders.from_environment({"HOME": home})
    with pytest.raises(ConfigError, match="HOME is"):
        Folders.from_environment({"HOME": home, "SATCHEL_HOME": "~/s"})
    assert Folders.from_environment({"HOME": home, "SATCHEL_HOME": "/s"}).data == Path("/s/data")


def test_without_a_home_the_folder_of_the_account_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd", reason="Windows has no list of users of this kind")
    user = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _number: user)
    for environ in ({}, {"HOME": ""}):
        assert Folders.from_environment(environ).data == Path(user.pw_dir) / ".local/share/satchel"

    def unknown(_number: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match="there is no home folder"):
        Folders.from_environment({"HOME": ""})


def test_the_folders_follow_xdg_where_it_says_something_usable() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "", "XDG_CACHE_HOME": "relative"}
    assert Folders.from_environment(environ) == Folders(
        config=Path("/c/satchel"),
        data=Path("/h/.local/share/satchel"),
        state=Path("/h/.local/state/satchel"),
        cache=Path("/h/.cache/satchel"),
    )


def test_every_row_of_the_table_is_complete_and_its_default_possible() -> None:
    assert len({setting.variable for setting in SETTINGS.values()}) == len(SETTINGS)
    for name, (key, setting) in zip(Settings.__struct_fields__, SETTINGS.items(), strict=True):
        assert name == attribute(key)
        assert setting.checked(setting.default) == setting.default == Settings().shown(key)
        assert setting.meaning[0].islower()
        assert len(setting.reason) > 10
        assert setting.allowed


def test_every_context_type_has_a_weight() -> None:
    assert set(Settings().context_weights) == set(CONTEXT_TYPES.values())


def test_an_unknown_key_has_no_value() -> None:
    with pytest.raises(KeyError):
        Settings().shown("context.weights")


@pytest.mark.usefixtures("unmeasured")
def test_loading_settings_imports_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys; from satchel.config import load_settings; load_settings(None, {'HOME': '/nowhere'});"
        "print(sorted({'tomllib', 'difflib', 'structlog', 'rs_bpe', 'numpy', 'click'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert ast.literal_eval(answer.stdout) == []


def test_a_setting_of_the_repository_that_may_hide_is_named_in_every_answer(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "app.py").write_text("def load_parcels():\n    return 1\n")
    (root / ".satchel.toml").write_text('[context]\nmin_score = 1.0\nlimit = 9\n[index]\nexclude = ["evil.py"]\n')
    with Satchel.open(root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.memories.add("Parcels are loaded at night")
        for context in (satchel.assemble("load parcels"), satchel.graph("load_parcels")):
            said = " ".join(failure.message for failure in context.failures)
            assert "context.limit = 9; index.exclude = ('evil.py',)" in said
        assert {item.source for item in satchel.assemble("load parcels").items} == {"code", "memory"}
        assert satchel.settings.context_min_score is None
