"""What a name alone decides."""

from __future__ import annotations

import pytest

from satchel.index.ignore import is_hidden, is_vendored, reason_of_name
from satchel.system.files import SkipReason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("logo.png", SkipReason.BINARY),
        ("LOGO.PNG", SkipReason.BINARY),
        ("a.tar.gz", SkipReason.BINARY),
        ("libx.so", SkipReason.BINARY),
        ("libx.so.1.2.3", SkipReason.BINARY),
        ("font.woff2", SkipReason.BINARY),
        ("drawing.svg", SkipReason.BINARY),
        ("package-lock.json", SkipReason.GENERATED),
        ("Cargo.lock", SkipReason.GENERATED),
        ("go.sum", SkipReason.GENERATED),
        ("user_pb2.py", SkipReason.GENERATED),
        ("user_pb2_grpc.py", SkipReason.GENERATED),
        ("user.pb.go", SkipReason.GENERATED),
        ("Form.Designer.cs", SkipReason.GENERATED),
        ("jquery.min.js", SkipReason.MINIFIED),
        ("jquery-min.js", SkipReason.MINIFIED),
        ("app.js.map", SkipReason.MINIFIED),
        ("de.po", SkipReason.TRANSLATION),
        ("main.py", None),
        ("README", None),
        ("Makefile", None),
        ("package.json", None),
        ("go.mod", None),
        (".png", None),
        ("png", None),
        ("min.js", None),
        ("a.b.c.d", None),
        ("v1.2.3", None),
        ("data.csv", None),
        ("lock.py", None),
    ],
)
def test_the_name_of_a_file(name: str, reason: SkipReason | None) -> None:
    assert reason_of_name(name) is reason


@pytest.mark.parametrize(
    ("name", "is_folder", "expected"),
    [
        ("src", True, False),
        (".idea", True, True),
        (".github", True, False),
        (".github", False, True),
        (".gitlab-ci.yml", False, False),
        (".bashrc", False, True),
        (".env.example", False, False),
    ],
)
def test_hidden_names_are_left_out_except_how_the_project_is_built(name: str, is_folder: bool, expected: bool) -> None:
    assert is_hidden(name, is_folder=is_folder) is expected


def test_folders_of_package_managers_and_caches_are_vendored() -> None:
    assert is_vendored("node_modules")
    assert is_vendored("__pycache__")
    assert not is_vendored("vendor")
    assert not is_vendored("target")
