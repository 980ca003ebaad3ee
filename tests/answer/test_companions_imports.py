"""Only the import lines that the shown code needs, in every language."""

from __future__ import annotations

import pytest

from satchel.answer.companions import ImportIndex, binding
from satchel.sources.outline import outline_file
from satchel.types import Range


def bound(path: str, text: str, *shown: Range) -> list[str]:
    """The import lines for these ranges, joined where they are one range; by default for the last line."""
    lines = text.split("\n")
    imports = ImportIndex(outline_file(path, text)[1])
    ranges = shown or ((len(lines), len(lines)),)
    return ["\n".join(lines[start - 1 : end]) for start, end in binding(lines, imports, ranges)]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(
            "a.py",
            "import os\nimport numpy as np\nfrom .base import (\n    Base,\n    other,\n)\nnp.add(Base)",
            ["import numpy as np\nfrom .base import (\n    Base,\n    other,\n)"],
            id="python",
        ),
        pytest.param(
            "a.js",
            'import fs from "node:fs";\nimport { join as g } from "path";\nconst util = require("./util");\nutil(g);',
            ['import { join as g } from "path";\nconst util = require("./util");'],
            id="javascript",
        ),
        pytest.param(
            "a.ts",
            'import type { Handler } from "./types";\nimport { b } from "./b";\nexport const run: Handler = go;',
            ['import type { Handler } from "./types";'],
            id="typescript",
        ),
        pytest.param(
            "a.tsx",
            'import { Button } from "./button";\nimport { b } from "./b";\nexport const view = <Button />;',
            ['import { Button } from "./button";'],
            id="tsx",
        ),
        pytest.param(
            "a.go",
            'package a\n\nimport (\n\t"fmt"\n\tstr "strings"\n\t_ "embed"\n)\n\nvar _, x = str.Cut("a", "b")',
            ['\tstr "strings"'],
            id="go",
        ),
        pytest.param(
            "a.rs",
            "use std::collections::{HashMap, HashSet};\nuse crate::base::Model as M;\nuse super::*;\nfn f(m: M) {}",
            ["use crate::base::Model as M;"],
            id="rust",
        ),
        pytest.param(
            "A.java",
            "import java.util.List;\nimport static java.lang.Math.max;\nclass A { int a = max(1, 2); }",
            ["import static java.lang.Math.max;"],
            id="java",
        ),
        pytest.param(
            "a.c",
            '#include <stdio.h>\n#include "lib/json.h"\n#include "os.h"\nint f(void) { return json_parse(os_name); }',
            ['#include "lib/json.h"'],
            id="c",
        ),
        pytest.param(
            "a.cpp",
            '#include <vector>\n#include "shapes.hpp"\nint f(std::vector<int> v) { return v.size(); }',
            ["#include <vector>"],
            id="cpp",
        ),
        pytest.param(
            "A.cs",
            "using System;\nusing Json = Newtonsoft.Json;\nclass A { object a = Json.Read(); }",
            ["using Json = Newtonsoft.Json;"],
            id="csharp",
        ),
        pytest.param(
            "a.rb",
            'require "json"\nrequire_relative "base/model"\nautoload :Lazy, "lazy/thing"\nJSON.parse(Lazy)',
            ['require "json"', 'autoload :Lazy, "lazy/thing"'],
            id="ruby",
        ),
        pytest.param(
            "a.php",
            "<?php\nuse App\\Base\\Model;\nuse App\\Other as Two;\nrequire 'config.php';\n$x = new Two();",
            ["use App\\Other as Two;"],
            id="php",
        ),
        pytest.param(
            "a.sh",
            "source ./common.sh\n. lib/log.sh\nlog_line hello",
            [". lib/log.sh"],
            id="bash",
        ),
    ],
)
def test_only_imports_that_bind_a_used_name_are_given(path: str, text: str, expected: list[str]) -> None:
    assert "\n".join(bound(path, text)) == "\n".join(expected)


TYPED = """import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shop import Order


def late(order: Order):
    import json

    return json.dumps(order)


def other(value):
    # os.path would do
    return json(value)
"""


def test_an_import_for_type_checking_counts() -> None:
    assert bound("a.py", TYPED, (8, 8)) == ["    from shop import Order"]


def test_an_import_inside_a_function_counts_for_that_function_alone() -> None:
    assert bound("a.py", TYPED, (11, 11)) == ["    import json"]
    assert bound("a.py", TYPED, (14, 16)) == []


def test_a_comment_uses_no_names() -> None:
    assert bound("a.py", TYPED, (15, 15)) == []


def test_what_is_shown_already_is_not_given_again() -> None:
    assert bound("a.py", TYPED, (1, 5), (8, 11)) == []


def test_an_import_does_not_use_the_names_of_another() -> None:
    assert bound("a.py", "import shop\nfrom shop import Order\nx = 1", (2, 2)) == []


def test_passing_a_name_on_does_not_bind_it() -> None:
    assert bound("a.js", 'export { parse } from "./date.js";\nparse();') == []


def test_an_import_of_which_only_a_part_is_shown_is_completed() -> None:
    text = "from shop import (\n    Order,\n    Price,\n)\nimport os, sys\n\nsys.exit(Order)\n"
    assert bound("a.py", text, (2, 2), (7, 7)) == ["from shop import (", "    Price,\n)", "import os, sys"]


def test_a_blank_import_in_go_binds_nothing() -> None:
    assert bound("a.go", 'package a\n\nimport _ "embed"\n\nvar embedded = 1') == []


def test_a_file_without_imports_needs_none() -> None:
    assert bound("a.py", "x = 1") == []
    assert bound("notes.md", "# import os\n\nos") == []
    assert binding(["import os"], ImportIndex(outline_file("a.py", "import os")[1]), []) == []
