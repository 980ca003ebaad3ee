"""What a shown method uses has its place in every language: methods of its class, and values with their definition."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

LOOP = {
    "python": "".join(f"        rows.append({number})\n" for number in range(14)),
    "typescript": "".join(f"    rows.push({number});\n" for number in range(14)),
    "java": "".join(f"        rows.add({number});\n" for number in range(14)),
    "go": "".join(f"\trows = append(rows, {number})\n" for number in range(14)),
    "rust": "".join(f"        rows.push({number});\n" for number in range(14)),
    "c": "".join(f"    rows += {number};\n" for number in range(14)),
}
"""Lines that make a function too long to be shown beside the one that uses it."""

PYTHON = {
    "ferry/limits.py": "DELAY = 60\nWIDTHS = (\n    4,\n)\nTABLE = {\n    1: 2,\n    2: 3,\n    3: 4,\n}\n",
    "ferry/other.py": "DELAY = 1\nWIDTHS = (9,)\n",
    "ferry/tide.py": "from ferry.limits import DELAY, TABLE, WIDTHS\n\nROOM = 7\n\n\nclass Clerk:\n"
    "    def delay_crossing(self, rows):\n"
    '        """Delay a crossing at low tide."""\n'
    "        self._write_list(rows)\n"
    "        return DELAY * WIDTHS[0] + ROOM + TABLE[1]\n\n"
    f"    def _write_list(self, rows):\n{LOOP['python']}        return rows\n\n"
    f"    def plan(self, rows):\n{LOOP['python']}        return self.delay_crossing(rows)\n",
}
TYPESCRIPT = {
    "src/limits.ts": "export const DELAY = 60;\nexport enum Level {\n  Low = 'low',\n  High = 'high',\n}\n",
    "src/other.ts": "export const DELAY = 1;\n",
    "src/tide.ts": "import { DELAY, Level } from './limits';\n\nconst ROOM = 7;\n\nexport class Clerk {\n"
    "  /** Delay a crossing at low tide. */\n"
    "  delayCrossing(rows: number[], level: Level) {\n"
    "    this.writeList(rows);\n"
    "    return level === Level.Low ? DELAY : ROOM;\n  }\n\n"
    f"  private writeList(rows: number[]) {{\n{LOOP['typescript']}    return rows;\n  }}\n}}\n",
}
JAVA = {
    "ferry/Limits.java": "package ferry;\n\npublic class Limits {\n    public static final int DELAY = 60;\n}\n",
    "ferry/Other.java": "package ferry;\n\npublic class Other {\n    public static final int DELAY = 1;\n}\n",
    "ferry/Clerk.java": "package ferry;\n\nimport java.util.List;\n\npublic class Clerk {\n"
    "    private static final int ROOM = 7;\n\n"
    "    /** Delay a crossing at low tide. */\n"
    "    int delayCrossing(List<Integer> rows) {\n"
    "        writeList(rows);\n"
    "        return Limits.DELAY + ROOM;\n    }\n\n"
    f"    private void writeList(List<Integer> rows) {{\n{LOOP['java']}    }}\n}}\n",
}
GO = {
    "go.mod": "module example.com/ferry\n\ngo 1.22\n",
    "limits/limits.go": "package limits\n\nconst (\n\tDelay = 60\n\tUnused = 3\n)\n",
    "other/other.go": "package other\n\nconst Delay = 1\n",
    "tide/tide.go": 'package tide\n\nimport "example.com/ferry/limits"\n\nconst room = 7\n\ntype Clerk struct{}\n\n'
    "// DelayCrossing delays a crossing at low tide.\n"
    "func (t *Clerk) DelayCrossing(rows []int) int {\n"
    "\tt.writeList(rows)\n"
    "\treturn limits.Delay + room\n}\n\n"
    f"func (t *Clerk) writeList(rows []int) {{\n{LOOP['go']}}}\n",
}
RUST = {
    "Cargo.toml": '[package]\nname = "ferry"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub mod limits;\npub mod other;\npub mod tide;\n",
    "src/limits.rs": "pub const DELAY: u32 = 60;\npub enum Level {\n    Calm,\n    High,\n}\n",
    "src/other.rs": "pub const DELAY: u32 = 1;\n",
    "src/tide.rs": "use crate::limits::{Level, DELAY};\n\nconst ROOM: u32 = 7;\n\npub struct Clerk {}\n\nimpl Clerk {\n"
    "    /// Delay a crossing at low tide.\n"
    "    pub fn delay_crossing(&self, rows: &mut Vec<u32>, level: Level) -> u32 {\n"
    "        self.write_list(rows);\n"
    "        match level {\n            Level::Calm => DELAY,\n            _ => ROOM,\n        }\n    }\n\n"
    f"    fn write_list(&self, rows: &mut Vec<u32>) {{\n{LOOP['rust']}    }}\n}}\n",
}
C = {
    "limits.h": "#define DELAY 60\nenum level {\n    LEVEL_LOW = 3,\n    LEVEL_HIGH,\n};\n",
    "other.h": "#define DELAY 1\n",
    "tide.c": '#include "limits.h"\n\nstatic const int ROOM = 7;\n\n'
    f"static int write_list(int rows)\n{{\n{LOOP['c']}    return rows;\n}}\n\n"
    "/* Delay a crossing at low tide. */\nint delay_crossing(int rows, int level)\n{\n"
    "    write_list(rows);\n"
    "    return level == LEVEL_LOW ? DELAY : ROOM;\n}\n",
}
CASES = {
    "python": (PYTHON, ["Clerk._write_list", "1 DELAY = 60", "2 WIDTHS = ( 4, )", "3 ROOM = 7"]),
    "typescript": (
        TYPESCRIPT,
        ["writeList(rows: number[])", "1 export const DELAY = 60;", "3 Low = 'low',", "3 const ROOM = 7;"],
    ),
    "java": (
        JAVA,
        ["Clerk.writeList", "4 public static final int DELAY = 60;", "6 private static final int ROOM = 7;"],
    ),
    "go": (GO, ["writeList(rows []int) {", "4 Delay = 60", "5 const room = 7"]),
    "rust": (RUST, ["Clerk.write_list", "1 pub const DELAY: u32 = 60;", "3 const ROOM: u32 = 7;"]),
    "c": (C, ["write_list", "1 #define DELAY 60", "3 LEVEL_LOW = 3,", "3 static const int ROOM = 7;"]),
}


def answer(root: Path, files: Mapping[str, str], question: str = "how is a crossing delayed at low tide") -> str:
    repository = TinyRepository(root / "harbour")
    repository.commit("Delay crossings", dict(files))
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(root / "home")}) as satchel:
        satchel.index()
        return satchel.assemble(question, purpose="find", types=["code"]).text


@pytest.mark.parametrize("language", CASES)
def test_methods_of_the_class_and_values_that_shown_lines_use_have_places(tmp_path: Path, language: str) -> None:
    files, told = CASES[language]
    text = answer(tmp_path, files)
    assert [one for one in told if one not in text] == []
    assert "other." not in text.casefold()  # the same name elsewhere is another constant


def test_a_value_that_its_line_does_not_tell_has_no_place(tmp_path: Path) -> None:
    assert "Calm," not in answer(tmp_path / "rust", RUST)


def test_a_method_names_the_methods_of_its_class_that_call_it(tmp_path: Path) -> None:
    again = f"\n    def plan_again(self, rows):\n{LOOP['python']}        return self.delay_crossing(rows[1:])\n"
    caller = "from ferry.tide import Clerk\n\n\ndef main(rows):\n    return Clerk().delay_crossing(rows)\n"
    changed = {"ferry/tide.py": PYTHON["ferry/tide.py"] + again, "ferry/main.py": caller}
    text = answer(tmp_path, PYTHON | changed)
    assert "called by ferry/tide.py:61 return self.delay_crossing(rows[1:])\n" in text
    assert "44\t        return self.delay_crossing(rows)\n" in text  # its function is shown
    assert "called by ferry/main.py" not in text  # one of many outside
