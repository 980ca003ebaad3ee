"""What a change reaches: who uses the changed definitions, step by step, and the tests that run them.

Users are told for the first two steps. Tests are searched further, also over calls that are told by their names alone:
such a test is only possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.sources.code.languages import language_of
from satchel.sources.roles import file_role, is_inline_test

if TYPE_CHECKING:
    from satchel.search.relations import CallSite, Relations
    from satchel.search.resolve.code import CodeDefinition
    from satchel.sources.change import Change, ChangedFile

TOLD_STEPS, MAX_STEPS = 2, 6
"""Steps whose users are told, and steps over which tests are searched: a helper of a library is five calls away."""

MAX_EACH_STEP = 40
"""Definitions of each step that are followed, the first ones: a second of work in all."""

FILES_OF_ALL, FILES_OF_FURTHER, FEWEST_FILES = 250, 100, 10
"""Files parsed for the callers of the definitions of one step together, of a further step, and for each at least."""

MAX_NAMESAKES = 2
"""Definitions of one name in production code whose calls by name are followed: `get` may mean any of many."""

_SETUP = frozenset(
    {"setUp", "setUpClass", "setup", "setup_method", "setup_class", "asyncSetUp", "tearDown", "teardown"}
)
_NAMED_TEST = {
    "python": re.compile(r"(?:^|\.)test\w*$|(?:^|\.)Test\w+$"),
    "go": re.compile(r"(?:^|\.)(?:Test|Benchmark|Fuzz|Example)\w*$"),
    "ruby": re.compile(r"(?:^|\.)test_\w+$"),
}
"""Names of tests where they are told by their names; in other languages any definition of a test file may be one."""


class AffectedTest(NamedTuple):
    """One test: its file, its name inside it (empty for the file itself), and whether it is only a possible one."""

    path: str
    name: str
    step: int
    is_possible: bool

    @property
    def identity(self) -> str:
        """`tests/test_client.py::TestClient::test_send`, as pytest takes it."""
        return "::".join([self.path, *filter(None, self.name.split("."))])


class User(NamedTuple):
    """One use of a changed definition: the call or use, and over how many steps it is reached."""

    step: int
    site: CallSite
    target: CodeDefinition


class AffectedCode(NamedTuple):
    """What a change reaches: users of the first two steps, nearest first, and tests by step."""

    users: tuple[User, ...] = ()
    tests: tuple[AffectedTest, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return both as plain JSON values."""
        users = [
            {
                "step": user.step, "path": user.site.path, "line": user.site.line, "name": user.site.name,
                "uses": user.target.qualified, "how": user.site.how, "possible": user.site.certainty < 1.0,
            }
            for user in self.users
        ]  # fmt: skip
        tests = [{"test": test.identity, "step": test.step, "possible": test.is_possible} for test in self.tests]
        return {"users": users, "tests": tests}


def affected_by(relations: Relations, change: Change, targets: Sequence[CodeDefinition]) -> AffectedCode:
    """Return who uses these changed definitions in two steps, and the tests that reach them or that changed."""
    walk = _Walk(relations)
    for file in change.files:
        if file.status != "deleted" and is_test(file.path):
            walk.add_changed(file)
    walk.follow([target for target in targets if not is_test(target.path)])
    helpers = [
        target for target in targets if is_test(target.path) and not walk.is_named_test(target.path, target.qualified)
    ]
    for helper in helpers:
        for path, name in walk.with_parameter(helper.name, helper.path):
            walk.add_test(path, (name,), 1, is_possible=False)
    walk.follow(helpers)
    walk.by_file_name(change)
    tests = sorted(walk.tests.values(), key=lambda test: (test.is_possible, test.step, test.path, test.name))
    return AffectedCode(tuple(walk.users), tuple(_without_parts(tests)))


def is_test(path: str) -> bool:
    """Return whether a file has tests or what they need."""
    return file_role(path) in ("test", "fixture")


def _without_parts(tests: Iterable[AffectedTest]) -> list[AffectedTest]:
    """Return the tests without those inside a class or file that is listed itself."""
    every = list(tests)
    listed = {(test.path, test.name) for test in every}

    def is_inside(test: AffectedTest) -> bool:
        parts = test.name.split(".")
        return any((test.path, ".".join(parts[:count])) in listed for count in range(1, len(parts)))

    return [test for test in every if not is_inside(test)]


class _Walk:
    """Collects users and tests, from the changed definitions outwards."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self.users: list[User] = []
        self.tests: dict[tuple[str, str], AffectedTest] = {}
        self._seen: set[tuple[str, str]] = set()
        self._told: set[tuple[str, int]] = set()

    def follow(self, targets: Sequence[CodeDefinition]) -> None:
        """Walk from these definitions."""
        frontier, certain = list(dict.fromkeys(targets)), {definition.key for definition in targets}
        self._seen |= certain
        for step in range(1, MAX_STEPS + 1):
            following: dict[tuple[str, str], CodeDefinition] = {}
            files = FILES_OF_ALL if step <= TOLD_STEPS else FILES_OF_FURTHER
            limit = max(files // max(len(frontier), 1), FEWEST_FILES)
            for target in frontier[:MAX_EACH_STEP]:
                is_near = step <= TOLD_STEPS
                sites = self._sites(target, limit)
                for site in sites if is_near else [*sites, *self._sites_by_name(target)]:
                    is_certain = target.key in certain and site.certainty >= 1.0
                    for definition in self._step_to(site, target, step, is_certain=is_certain):
                        if definition.key not in self._seen:
                            self._seen.add(definition.key)
                            following[definition.key] = definition
                            certain |= {definition.key} if is_certain else set()
            frontier = list(following.values())

    def _sites(self, target: CodeDefinition, limit: int) -> list[CallSite]:
        relations = self._relations
        uses = [use for use in relations.uses(target, limit) if use.how == "use"]
        sites = [*relations.callers(target, limit).sites, *uses]
        part = relations.code.part(target.row) if target.row >= 0 else None
        if part is None or not target.name.startswith("__"):
            return sites
        # What Python calls by itself (`__get__`, `__enter__`) is used wherever its class is.
        owner = relations.owner(target)
        return [*sites, *(relations.callers(owner, limit).sites if owner is not None else ())]

    def _sites_by_name(self, target: CodeDefinition) -> list[CallSite]:
        from satchel.search.relations import (  # here, because parsing is only for changes
            CALL_GUESSED,
            CallSite,
            last_of,
        )

        code = self._relations.code
        name = last_of(target.owner) if target.name == "__init__" else target.name
        namesakes = [definition for definition in code.defined(name) if not is_test(definition.path)]
        if len(namesakes) > MAX_NAMESAKES and not is_test(target.path):
            return []
        rows = self._relations.calling_rows(name, target)
        sites = []
        for row in rows:
            part, document = code.part(row), code.document_of(row)
            secondary = document.secondary or is_inline_test(document.key, part.name)
            sites.append(CallSite(document.key, part.start, row, part.name, secondary, CALL_GUESSED))
        return sites

    def _step_to(self, site: CallSite, target: CodeDefinition, step: int, *, is_certain: bool) -> list[CodeDefinition]:
        """Note one use, and return the definitions whose users are of the next step."""
        inline = is_inline_test(site.path, site.name)
        around = self._relations.definition(site.row)
        if inline or is_test(site.path):
            if inline or self.is_named_test(site.path, site.name):
                self.add_test(site.path, (site.name,), step, is_possible=not is_certain)
                return []
            owner, _, last = site.name.rpartition(".")
            if last in _SETUP:
                self.add_test(site.path, (owner,), step, is_possible=not is_certain)
                return []
            fixtures = self.with_parameter(last, site.path)
            for path, name in fixtures:
                self.add_test(path, (name,), step + 1, is_possible=not is_certain)
            if around is None or (around.language not in _NAMED_TEST and not fixtures):
                self.add_test(site.path, (site.name,), step, is_possible=not is_certain)
            return [around] if around is not None else []
        if step <= TOLD_STEPS and (site.path, site.line) not in self._told:
            self._told.add((site.path, site.line))
            self.users.append(User(step, site, target))
        return [around] if around is not None and not site.secondary else []

    def add_changed(self, file: ChangedFile) -> None:
        """Add the changed tests of a file, of one without definitions the file itself."""
        is_told = (language_of(file.path) or "") in _NAMED_TEST
        named = [name for name in file.names if not is_told or self.is_named_test(file.path, name)]
        if named or not file.names:
            self.add_test(file.path, named or ("",), 0, is_possible=False)

    def is_named_test(self, path: str, name: str) -> bool:
        """Return whether a definition is a test by its name, where names tell tests."""
        form = _NAMED_TEST.get(language_of(path) or "")
        return form is not None and form.search(name) is not None

    def with_parameter(self, name: str, path: str) -> list[tuple[str, str]]:
        """Return the tests of Python that have a fixture as their parameter."""
        if not path.endswith(".py") or not name:
            return []
        code, found = self._relations.code, []
        rows = code.mentioning(name)
        code.load(rows)
        takes = re.compile(rf"\bdef\s+test\w*\s*\([^)]*(?<![\w.]){re.escape(name)}\b")
        for row in rows:
            part, document = code.part(row), code.document_of(row)
            if not is_test(document.key) or not self.is_named_test(document.key, part.name):
                continue
            file = code.file(document.key)
            if file is not None and takes.search(file.lines(part.start, part.end)):
                found.append((document.key, part.name))
        return found

    def add_test(self, path: str, names: Iterable[str], step: int, *, is_possible: bool) -> None:
        """Add tests of a file, of the same one the nearest."""
        for name in names:
            before = self.tests.get((path, name))
            new = AffectedTest(path, name, step, is_possible)
            if before is None or (new.is_possible, new.step) < (before.is_possible, before.step):
                self.tests[path, name] = new

    def by_file_name(self, change: Change) -> None:
        """Add the test files that are called like a changed file for which no test was found otherwise."""
        for file in change.files:
            stem = file.path.rpartition("/")[2].partition(".")[0]
            if is_test(file.path) or len(stem) < 3 or not self._relations.code.has(file.path) or self.tests:
                continue
            stems = [f"test_{stem}", f"{stem}_test", f"{stem}.test", f"{stem}.spec", f"{stem}_spec", f"{stem}Test"]
            for _, path in self._relations.code.store.paths_named([], stems):
                if is_test(path):
                    self.add_test(path, ("",), 1, is_possible=True)
