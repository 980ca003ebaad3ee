"""The projects of the ranking check: a folder of files, what is remembered of it, and questions with right answers.

A project is `tests/ranking/NAME.toml`, its files are below `tests/ranking/corpora/NAME/` (a vault of notes if there is
a folder `.obsidian`). The file has settings of the
project, what is set up before the questions, and the questions:

    corpus = "garden"                    # folder below corpora/, by default the name of the file
    now = "2026-03-01"                   # the moment of every question, this day by default
    synonyms = {fetch = "load"}          # with an embedder: `fetch` means the same as `load`

    [[commit]]                           # oldest first; the first commit, before these, adds the whole corpus
    key = "pool"                         # how the questions name it: `commit:pool`
    date = "2025-11-20"
    message = "Close idle connections\n\nThe server ran out of them."
    files = ["net/pool.py"]              # files of the corpus that it changes
    text = {"old/a.py" = "x = 1\n"}      # optional: contents of files, an empty text deletes the file

    author = "renovate[bot]"             # optional
    others = 40                          # optional: how many files that are not indexed it changes, too

    [[patch]]                            # made in the work tree after indexing, for the door `change`
    path = "net/pool.py"
    old = "limit = 10"
    new = "limit = 20"

    [[memory]]                           # `memory:pool` in the questions
    key = "pool"
    date = "2025-12-01"                  # when it was written; without a date, at `now`
    content = "The pool is never larger than 20 connections"
    category = "fact"                    # optional, as importance, tags and replaced_by (a key)

    [[experience]]                       # `experience:leak` in the questions
    key = "leak"
    date = "2025-12-02"
    goal = "Find the leak"               # all else is optional: domain, strategy, hypothesis, action, prediction,
    status = "confirmed"                 # result, surprise, cause, lesson, takeaway, tier

    [[value]]                            # `value:pools`
    key = "pools"
    content = "Bound every pool"
    size = 5                             # experiences that it rests on; how many are of each kind of work:
    domains = {debugging = 4, testing = 1}

    [[conversation]]                     # `conversation:standup/1` is its first turn
    key = "standup"
    turns = ["Mara: Who closes the pool?", "Jon: The janitor does."]

Each line of a table that is named like a door is a question, whose key is its id:

    [search]
    idle-limit = {ask = "where are idle connections closed", first = "net/pool.py", line = "if idle > limit:"}

`ask` and the expectations (see `expectations.py`) are fixed names; any other key is passed to the door as an option
(`max_tokens = 500`, `types = ["docs"]`). The doors are in `doors.py`. Questions that satchel answers wrongly today are
kept in tables `[not_yet.DOOR]`: they are read and checked for their form, and do not fail.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from satchel import Satchel
from satchel.config import Folders
from satchel.system.locations import Registry, WorkspaceType, guess_type
from satchel.testing import HashEmbedder
from tests.ranking.records import remember, write_history

FOLDER = Path(__file__).parent
CORPORA = FOLDER / "corpora"
NOT_YET = "not_yet"
SETUP = frozenset({"corpus", "now", "synonyms", "commit", "patch", "memory", "experience", "value", "conversation"})
"""Keys of a project that are not doors."""

ROWS: Mapping[str, tuple[str, str]] = {
    "commit": ("date message", "key author files text others"),
    "patch": ("path old new", ""),
    "memory": ("key content", "date category importance tags replaced_by"),
    "experience": (
        "key goal",
        "date domain strategy hypothesis action prediction status result surprise cause lesson takeaway tier",
    ),
    "value": ("key content", "date size domains strategies"),
    "conversation": ("key turns", "date"),
}
"""Table of the set-up -> the keys that each of its rows needs, and those that it may have."""

NOW = "2026-03-01"

KEY = "5" * 64
"""The same marks around the blocks of every answer: with a key of each home, tokens differed from run to run."""


class Question(NamedTuple):
    """One line of a table: what is asked at which door, with which options, and what a right answer has."""

    id: str
    door: str
    ask: str
    expected: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Project:
    """A project as its file describes it, with its questions and those that are answered wrongly today."""

    name: str
    setup: Mapping[str, Any]
    questions: tuple[Question, ...]
    not_yet: tuple[Question, ...]

    @property
    def now(self) -> float:
        """The moment of every question, in seconds since the epoch."""
        return moment_of(self.setup.get("now", NOW))


@dataclass(frozen=True, slots=True)
class OpenProject:
    """A project with its index. `names` maps the id of each record to the name that questions use."""

    project: Project
    satchel: Satchel
    names: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The folder of the files."""
        return self.satchel.places.root


def moment_of(date: str) -> float:
    """Return the seconds since the epoch of a date, at noon UTC."""
    return datetime.fromisoformat(date).replace(hour=12, tzinfo=UTC).timestamp()


def project_names() -> list[str]:
    """Return the names of all projects, in order."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read_project(name: str) -> Project:
    """Read and check a project. Raises ValueError for what is not TOML, and for a word or value that nobody knows."""
    if name not in project_names():
        raise ValueError(f"there is no project {name!r}: choose from {', '.join(project_names())}")
    try:
        data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ValueError(f"{name}.toml: {problem}") from problem
    setup = {key: data.pop(key) for key in SETUP & data.keys()}
    _check_setup(name, setup)
    not_yet = _questions(name, data.pop(NOT_YET, {}))
    questions = _questions(name, data)
    twice = {one.id for one in questions} & {one.id for one in not_yet}
    if twice:
        raise ValueError(f"{name}: {', '.join(sorted(twice))} are both expected and not yet right: keep one of them")
    if not questions:
        raise ValueError(f"{name}: there is no question: write one below a door, as [search]")
    return Project(name, setup, questions, not_yet)


def _check_setup(project: str, setup: Mapping[str, Any]) -> None:
    corpus = CORPORA / setup.get("corpus", project)
    if "corpus" in setup and not corpus.is_dir():
        raise ValueError(f"{project}: there is no folder {corpus.name!r} below corpora")
    for table, (needed, others) in ROWS.items():
        for row in setup.get(table, ()):
            missing = [key for key in needed.split() if key not in row]
            unknown = sorted(row.keys() - {*needed.split(), *others.split()})
            if missing or unknown:
                wrong = f"without {', '.join(missing)}" if missing else f"with an unknown {', '.join(unknown)}"
                raise ValueError(f"{project}: [[{table}]] {row.get('key', '')} {wrong}: its keys are {needed} {others}")
            if "date" in row:
                _check_date(f"{project}: [[{table}]] {row.get('key', '')}", row["date"])
    _check_date(f"{project}: now", setup.get("now", NOW))
    for patch in setup.get("patch", ()):
        file = corpus / patch["path"]
        if not file.is_file() or patch["old"] not in file.read_text(encoding="utf-8"):
            raise ValueError(f"{project}: [[patch]] {patch['path']} has no text {patch['old']!r} to replace")


def _check_date(place: str, date: Any) -> None:
    try:
        moment_of(date)
    except (TypeError, ValueError):
        raise ValueError(f'{place}: {date!r} is no date: write one like "2026-03-01"') from None


def _questions(project: str, tables: Mapping[str, Mapping[str, Any]]) -> tuple[Question, ...]:
    from tests.ranking.doors import DOORS, OPTIONS
    from tests.ranking.expectations import EXPECTATIONS, form_of, has_form

    made = []
    for door, rows in tables.items():
        if door not in DOORS:
            raise ValueError(f"{project}: unknown door {door!r}: choose from {', '.join(DOORS)}")
        for key, row in rows.items():
            if not isinstance(row, Mapping):
                raise ValueError(f"{project}: {door}.{key} is no table: write {{ask = ..., first = ...}}")
            expected = {name: row[name] for name in EXPECTATIONS if name in row}
            options = {name: value for name, value in row.items() if name != "ask" and name not in EXPECTATIONS}
            if not expected or not isinstance(row.get("ask"), str):
                raise ValueError(f"{project}: {door}.{key} needs `ask` and one of {', '.join(EXPECTATIONS)}")
            if unknown := sorted(options.keys() - OPTIONS):
                known = ", ".join([*EXPECTATIONS, *sorted(OPTIONS)])
                raise ValueError(f"{project}: {door}.{key} has an unknown {', '.join(unknown)}: choose from {known}")
            for name, value in expected.items():
                if not has_form(name, value):
                    raise ValueError(f"{project}: {door}.{key}: {name} = {value!r} is not {form_of(name)}")
            made.append(Question(f"{project}/{door}/{key}", door, row["ask"], expected, options))
    return tuple(made)


def open_project(project: Project, folder: Path) -> OpenProject:
    """Copy the files of a project below `folder`, write its history and its records, index it, and open it."""
    root, home = folder / project.name / "root", folder / project.name / "home"
    corpus = CORPORA / project.setup.get("corpus", project.name)
    if corpus.is_dir():
        shutil.copytree(corpus, root)
    else:
        root.mkdir(parents=True)
    names = write_history(root, project.setup.get("commit", ()), moment_of)
    synonyms = project.setup.get("synonyms")
    environ = {
        "SATCHEL_HOME": str(home),
        "SATCHEL_KEY": KEY,
        "HOME": str(home),
        "PATH": "/usr/bin:/bin:/usr/local/bin",
    }
    if guess_type(root) is WorkspaceType.VAULT:
        Registry(Folders.from_environment(environ)).add(project.name, root)
    satchel = Satchel.open(
        root,
        root=root,
        environ=environ,
        settings={"embed.provider": "off", "index.workers": 1},
        embedder=None if synonyms is None else HashEmbedder(synonyms=synonyms),
    )
    satchel.index()
    names |= remember(satchel, project.setup, project.now, moment_of)
    if synonyms is not None:
        satchel.embed()
    for patch in project.setup.get("patch", ()):
        path = root / patch["path"]
        path.write_text(path.read_text(encoding="utf-8").replace(patch["old"], patch["new"]), encoding="utf-8")
    return OpenProject(project, satchel, names)


def all_projects(names: Sequence[str] = ()) -> list[Project]:
    """Read the projects of these names, by default all."""
    return [read_project(name) for name in names or project_names()]
