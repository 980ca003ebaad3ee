from __future__ import annotations

import re

from tests.architecture.tree import ROOT
from tests.conftest import thorough_names


def test_what_is_left_to_the_long_run_exists() -> None:
    sources = {file.relative_to(ROOT / "tests").as_posix(): file for file in (ROOT / "tests").rglob("*.py")}
    for name in thorough_names():
        path, _, test = name.partition("::")
        files = [file for place, file in sources.items() if place.startswith(path)]
        assert files, name
        assert re.search(rf"(def|class) {re.escape(test.partition('[')[0])}", files[0].read_text(encoding="utf-8")), (
            name
        )
