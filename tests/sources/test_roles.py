"""What a file is there for, by the segments of its path."""

from __future__ import annotations

import pytest

from satchel.sources.roles import SECONDARY, file_role, is_secondary


@pytest.mark.parametrize(
    "path",
    [
        "src/_pytest/python.py",
        "src/cmd/dist/build.go",
        "src/library/test_utils/helpers.py",
        "src/flask/testing.py",
        "src/library/testing/helpers.py",
        "src/t/words.py",
        "lib/spec/parser.rb",
        "dask/_task_spec.py",
        "jinja2/tests.py",
        "sphinx/latest/attest.py",
        "pkg/contest/protest.go",
        "src/docs.ts",
        "documents/a.py",
        "testify/suite.go",
        "specification/a.py",
        "src/main/java/com/a/Latest.java",
        "com/example/shop/Sender.kt",
        "org/sample/Sender.java",
        "benchmarking.py",
        "a.py",
        "README.md",
    ],
)
def test_sources(path: str) -> None:
    assert file_role(path) == "source"
    assert not is_secondary(path)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("tests/test_a.py", "test"),
        ("testing/acceptance_test.py", "test"),
        ("testing/helpers.py", "test"),
        ("t/unit/conf.py", "test"),
        ("dask/array/tests/test_core.py", "test"),
        ("src/runtime/tests/queue.rs", "test"),
        ("src/test/java/com/a/B.java", "test"),
        ("balancer/balancer_test.go", "test"),
        ("src/hono.test.ts", "test"),
        ("src/a.spec.tsx", "test"),
        ("src/__tests__/a.js", "test"),
        ("e2e/login.ts", "test"),
        ("spec/models/user_spec.rb", "test"),
        ("app/user_spec.rb", "test"),
        ("a/conftest.py", "test"),
        ("test_top.py", "test"),
        ("gson/JsonArrayTest.java", "test"),
        ("runtime-tests/node/index.ts", "test"),
        ("Tests/A.cs", "test"),
        ("test-shrinker/src/main/java/com/a/Main.java", "test"),
        ("tests-build/src/lib.rs", "test"),
        ("bench/bench.py", "benchmark"),
        ("benches/copy.rs", "benchmark"),
        ("tokio/benches/spawn.rs", "benchmark"),
        ("examples/chat.rs", "example"),
        ("doc/en/conf.py", "doc"),
        ("docs/source/conf.py", "doc"),
        ("fixtures/a.json", "fixture"),
        ("pkg/testdata/a.go", "fixture"),
        ("api/service_pb2.py", "generated"),
        ("api/service.pb.go", "generated"),
        ("static/jquery.min.js", "generated"),
        ("dist/esm/router.js", "generated"),
        ("packages/core/dist/index.cjs", "generated"),
        ("vendor/decNumber/decNumber.c", "vendor"),
    ],
)
def test_what_supports_the_sources(path: str, role: str) -> None:
    assert file_role(path) == role
    assert role in SECONDARY
    assert is_secondary(path)


def test_the_outermost_folder_decides() -> None:
    assert file_role("docs/examples/a.py") == "doc"
    assert file_role("com/example/shop/SenderTest.kt") == "test"
    assert file_role("tests/fixtures/a.py") == "test"
