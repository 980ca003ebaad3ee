"""The role of a file: source, test, example, generated, vendored or peripheral."""

from __future__ import annotations

import re
from enum import StrEnum

from satchel.text import pattern, word_lists

_ROLES = {
    "benchmark": "bench benches benchmark benchmarks",
    "doc": "doc docs documentation",
    "example": "demo demos example examples sample samples",
    "fixture": "__fixtures__ __snapshots__ fixture fixtures testdata test-data test_data",
    "test": "__mocks__ __tests__ e2e spec specs t test testing tests unittests",
    "generated": "__generated__ generated",
    "vendor": "node_modules third_party third-party vendor",
}
_FOLDERS = {name: role for role, names in _ROLES.items() for name in names.split()}
"""Folder name -> role of what is inside. The outermost one that applies decides."""

_TEST_FOLDER = pattern(r"[^/]+[_-]tests?")
"""`integration_tests`, `runtime-tests`."""

_PACKAGE_ROOTS = frozenset({"src", "lib"})
"""Folders of the shipped package."""

_SHIPPED_NAMES = frozenset(
    {"t", "testing", "spec", "specs", "example", "sample", "benchmark", "doc", "generated", "demo"}
)
"""Names that a shipped package also uses for what it offers: `src/flask/testing/`, `lib/spec/`."""

_FILES = (
    (pattern(r"conftest\.py|test_[^/]*|[^/]*_test\.[^/]+|[^/]*[.-]tests?\.[^/]+|[^/]*\.(?:spec|e2e)\.[^/]+"), "test"),
    (pattern(r"[^/]*_spec\.rb|[^/]*_unittest\.[^./]+|(?:test|spec)_?helper\.[^./]+"), "test"),
    (pattern(r"[^/]*(?:_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h)|\.g\.dart|\.designer\.cs)"), "generated"),
    (pattern(r"[^/]*(?:[._]generated\.[^./]+|\.min\.(?:js|css))"), "generated"),
)
_CAMEL_TEST = pattern(r"[^/]*[a-z0-9](?:Tests?|TestCase|IT|Spec)\.(?:java|kt|scala|groovy|cs|swift|php)")

SECONDARY = frozenset(_ROLES)
"""Roles that rank below sources."""


def file_role(path: str) -> str:
    """`source`, or one of `SECONDARY`. `path` is relative to the root, with forward slashes.

    `src/_pytest/` and `src/flask/testing.py` are sources, `testing/` at the top is tests, and so is
    `src/test/java/`: names that also stand for something a library ships count only outside a package.
    """
    *folders, name = path.split("/")
    for position, folder in enumerate(folders):
        role = "test" if _TEST_FOLDER.fullmatch(folder.lower()) else _FOLDERS.get(folder.lower())
        if role is not None and not _is_shipped(folders, position):
            return role
    if _CAMEL_TEST.fullmatch(name):
        return "test"
    for form, role in _FILES:
        if form.fullmatch(name.lower()):
            return role
    return "source"


def _is_shipped(folders: list[str], position: int) -> bool:
    """Return whether a folder is part of a package: `src/x/testing`, but not `testing`, `src/test` or `src/x/tests`."""
    if folders[position].lower() not in _SHIPPED_NAMES:
        return False
    return any(folder.lower() in _PACKAGE_ROOTS for folder in folders[:position])


def is_secondary(path: str) -> bool:
    """Return whether a file supports the sources; such files rank lower unless the query names them."""
    return file_role(path) in SECONDARY


def is_inline_test(path: str, name: str) -> bool:
    """Return whether a definition belongs to the tests inside a Rust file: `tests.reads_all`."""
    return path.endswith(".rs") and name.partition(".")[0] in {"tests", "test"}


class Peripheral(StrEnum):
    """What a peripheral file is."""

    MANIFEST = "manifest"
    LOCK = "lock"
    CONFIGURATION = "configuration"
    CHANGELOG = "changelog"
    LICENCE = "licence"
    COMMUNITY = "community"
    TRANSLATION = "translation"
    TEST_DATA = "test data"


_NAMES = word_lists("file_names.txt")
_BY_NAME = {
    name: role
    for role in (Peripheral.MANIFEST, Peripheral.LOCK, Peripheral.CONFIGURATION)
    for name in _NAMES[role.value]
}

_BY_PATTERN = (
    (pattern(r".*\.(?:gemspec|podspec|csproj|vbproj|fsproj|props|sln|cabal|nuspec|nimble)"), Peripheral.MANIFEST),
    (pattern(r"(?:[\w-]*[-_])?(?:requirements|constraints)(?:[-_.][\w-]*)*\.(?:txt|in)"), Peripheral.MANIFEST),
    (pattern(r".+\.lock|.*[-_]lock\.(?:json|ya?ml|toml)"), Peripheral.LOCK),
    (pattern(r"[jt]sconfig(?:[.-][\w.-]+)?\.json"), Peripheral.CONFIGURATION),
    (pattern(r"\.?[\w.-]+\.config\.(?:[cm]?[jt]sx?|json)|\.[\w-]+rc(?:\.\w+)?"), Peripheral.CONFIGURATION),
    (pattern(r"\.(?:eslint|prettier|stylelint|npm|git|docker|vercel)[\w.-]*"), Peripheral.CONFIGURATION),
    (
        pattern(
            r"(?:change[-_ ]?logs?|changes|history|news|releases?|release[-_ ]?(?:notes?|history)|whats[-_]?new"
            r"|migrat(?:ing|ion)[-_ ]?guide)(?:[-_.]v?\d[\w.-]*)?(?:\.(?:md|markdown|rst|txt|adoc|asciidoc|org|html))?"
        ),
        Peripheral.CHANGELOG,
    ),
    (
        pattern(r"(?:un)?licen[cs]es?(?:[-_.][\w.-]+)?|copying(?:[-_.][\w.-]+)?|copyright(?:\.\w+)?|notice(?:\.\w+)?"),
        Peripheral.LICENCE,
    ),
    (
        pattern(
            r"(?:code[-_]of[-_]conduct|governance|maintainers|authors|contributors|codeowners|funding|sponsors|backers"
            r"|(?:pull_request|issue)_template|thanks|credits)(?:\.\w+)?"
        ),
        Peripheral.COMMUNITY,
    ),
    (pattern(r".+\.(?:snap|snapshot|golden|approved\.\w+|received\.\w+|cassette)"), Peripheral.TEST_DATA),
    (pattern(r".+\.(?:po|pot|xliff|xlf)"), Peripheral.TRANSLATION),
)
"""Patterns of lower-case file names, the first that applies decides."""

_COMMUNITY_PAGE = pattern(r"(?:^|/)(?:SECURITY|SUPPORT)\.\w+$")
"""In capitals: `docs/security.rst` explains the product."""

_PROSE_ONLY = frozenset({Peripheral.CHANGELOG, Peripheral.LICENCE, Peripheral.COMMUNITY})
"""A file of code with such a name (`history.py`, `license.ts`) is a source."""

_PROSE = pattern(r".+\.(?:md|mdx|markdown|rst|txt|adoc|asciidoc|html?)")
"""What can be a translated page or a release note. Code and data of a language are part of the product."""

_PERIPHERAL_FOLDERS = {
    ".github": Peripheral.CONFIGURATION,
    ".circleci": Peripheral.CONFIGURATION,
    ".gitlab": Peripheral.CONFIGURATION,
    ".vscode": Peripheral.CONFIGURATION,
    ".idea": Peripheral.CONFIGURATION,
    ".devcontainer": Peripheral.CONFIGURATION,
    ".husky": Peripheral.CONFIGURATION,
    "licenses": Peripheral.LICENCE,
    "licences": Peripheral.LICENCE,
}

_NOTES_FOLDERS = frozenset({
    "changelog", "changelogs", "changes", "changelog.d", "newsfragments", "news", "releases", "release-notes",
    "release_notes", "releasenotes", "whatsnew", ".changeset", ".changes",
})  # fmt: skip
"""Folders of release notes; only prose in them counts: a package may well be called `changes`."""

_LANGUAGE_NAMES = {code: name for code, _, name in (row.partition(":") for row in _NAMES["languages"])}
_CODE = rf"({'|'.join(_LANGUAGE_NAMES)})(?:[-_](?:[a-z]{{2,4}}|\d{{3}}))?"
_LANGUAGE = pattern(_CODE)
_SUFFIXED = pattern(rf"(?:readme|contributing|changelog|[\w-]+)[._-]((?:{_CODE}))\.\w+")
_README_SUFFIX = pattern(r"(?:readme|contributing|index|getting[-_]started)[._-].*")
_TRANSLATED_FOLDERS = frozenset({"i18n", "l10n", "translations", "locale", "locales", "lang"})
_PAGES = frozenset({"doc", "docs", "documentation", "website", "site", "content", "guide", "book", "pages"})

_TESTING = frozenset({"test", "fixture", "generated", "vendor"})
"""Roles of folders whose prose and data are material of tests or of somebody else."""


def peripheral_role(path: str, *, is_prose: bool = False) -> Peripheral | None:
    """Return what a peripheral file is, None for all others.

    `path` is relative to the root, with forward slashes. With `is_prose` the file is not code: among the tests
    it is then test data. Code of tests has another role (`file_role`).
    """
    *folders, name = path.lower().split("/")
    role = _BY_NAME.get(name) or next((role for form, role in _BY_PATTERN if form.fullmatch(name)), None)
    if role is not None and (is_prose or role not in _PROSE_ONLY):
        return role
    role = next((_PERIPHERAL_FOLDERS[folder] for folder in folders if folder in _PERIPHERAL_FOLDERS), None)
    if role is not None or not is_prose:
        return role
    if file_role(path) in _TESTING:
        return Peripheral.TEST_DATA
    if not _PROSE.fullmatch(name):
        return None
    if not _NOTES_FOLDERS.isdisjoint(folders):
        return Peripheral.CHANGELOG
    if _COMMUNITY_PAGE.search(path):
        return Peripheral.COMMUNITY
    return Peripheral.TRANSLATION if language_of_page(path) else None


def language_of_page(path: str) -> str:
    """Return the code of the language that a translated page is written in, empty for an original one."""
    *folders, name = path.lower().split("/")
    match = _SUFFIXED.fullmatch(name) if "." in name else None
    if match is not None and (_README_SUFFIX.fullmatch(name) or not _PAGES.isdisjoint(folders)):
        return match[2]
    for above, folder in zip(["", *folders], folders, strict=False):
        match = _LANGUAGE.fullmatch(folder)
        if match is not None and (above in _PAGES or above in _TRANSLATED_FOLDERS):
            return match[1]
    return ""


_ASKED = {
    Peripheral.MANIFEST: r"dependenc(?:y|ies)|manifest|packaging|package version|peer ?dep\w*|entry ?points?|minimum "
    r"\w+ version|supported \w+ versions?|published|installed? (?:with|extras?)|build (?:system|backend|script)",
    Peripheral.LOCK: r"lock ?files?|locked versions?|pinned versions?|dependenc(?:y|ies)",
    Peripheral.CONFIGURATION: r"workflows?|github actions?|ci|continuous integration|pipelines?|lint(?:er|ing)?|"
    r"pre-?commit|formatter|editor ?config|[jt]sconfig|compiler options?|coverage|dependabot|renovate|eslint|prettier",
    Peripheral.CHANGELOG: r"change ?logs?|release (?:notes?|history)|what(?:'s| is| was) new|breaking changes?|"
    r"released? (?:in|with|as)|(?:which|what|since|last|latest|next|previous) (?:\w+ )?(?:versions?|releases?)",
    Peripheral.LICENCE: r"licen[cs]\w*|copyright|copying",
    Peripheral.COMMUNITY: r"code of conduct|security policy|vulnerabilit\w+|report(?:ing)? a|maintainers?|governance|"
    r"sponsor\w*|contributors?|authors?",
    Peripheral.TRANSLATION: r"translat\w+|locali[sz]ation|languages?|i18n|l10n",
    Peripheral.TEST_DATA: r"fixtures?|snapshots?|test data|golden|tests?",
}
_ASKS = {role: pattern(rf"\b(?:{words})\b", re.IGNORECASE) for role, words in _ASKED.items()}


def asked_peripherals(title: str) -> frozenset[Peripheral]:
    """Return the peripheral files that the first line of a question asks for by what they are."""
    named = {role for role, form in _ASKS.items() if form.search(title)}
    languages = {name for name in _LANGUAGE_NAMES.values() if name}
    if languages.intersection(re.findall(r"[a-z]+", title.lower())):
        named.add(Peripheral.TRANSLATION)
    return frozenset(named)


_BOTS = pattern(
    r"\[bot\]|dependabot|renovate|greenkeeper|pre-commit-ci|pyup[-_ ]?bot|snyk-bot|github[- ]actions|weblate|"
    r"transifex|release[- ]please|semantic-release",
    re.IGNORECASE,
)
_ROUTINE = pattern(
    r"""(?:\w+(?:\([\w./ -]*\))?!?:\s*)?(?:
        bump(?:s|ed)?\b .* | update\ (?:(?:dev(?:elopment)?|test|pinned|project)\ )?
            (?:dependenc(?:y|ies)|requirements|lock\ ?file)\b .*
        | merge\ (?:pull\ request|branch|remote-tracking|tag|pr)\b .* | (?:prepare\ |cut\ |start\ )?(?:for\ )?
        (?:release|version)\ v?\d[\w.-]* .* | v?\d+\.\d+(?:\.\d+)?[\w.-]* | \[pre-commit\.ci\] .*
        | (?:upgrade|update)\ \S+\ (?:to|from)\ v?\d .* | update\ (?:github\ )?actions\b .* | release\ v?\d .*
        | (?:back\ to|begin)\ (?:dev|development)\b .* | fix\ typos?\ in\ changelog .* | version\ bump .*
    )""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_ASKS_ROUTINE = pattern(
    r"\b(?:bump(?:s|ed)?|upgrad\w+|dependenc(?:y|ies)|releases?|released|version\w*|dependabot|renovate|bots?|merge[sd]?|"
    r"pre-commit)\b",
    re.IGNORECASE,
)


def is_routine_commit(subject: str, author: str) -> bool:
    """Return whether a commit only moves versions, merges, or was made by a bot."""
    return bool(_BOTS.search(author) or _ROUTINE.fullmatch(subject.strip()))


def asks_for_routine(title: str) -> bool:
    """Return whether the first line of a question asks for what routine commits do."""
    return bool(_ASKS_ROUTINE.search(title))
