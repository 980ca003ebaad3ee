"""What satchel promises about code, lists, absence and formats, tried on small folders where no test tries it.

    python benchmarks/promises.py --out benchmarks/results/promises.md

Each case makes a folder, asks as a user would, and looks for texts that have to be in the answer or must not be; it
says what was answered before it was corrected. C: promises. B and F: kinds of public bug reports, with inputs of our
own; those of F are by a reader who had not written what they try. P: what new users stumbled over.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from options import output

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "src"))

Files = Mapping[str, str | bytes]


class Run(NamedTuple):
    """One command in the folder, after `before` (shell commands), with texts that must and must not be printed."""

    command: str
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


class Case(NamedTuple):
    """A case: its number, what is tried, what was answered before, its files and its commands."""

    number: str
    steps: str
    before: str
    files: Files = MappingProxyType({})
    runs: tuple[Run, ...] = ()


RIGHT = "as it should be"

SHOP = {
    "shop/prices.py": "def cents(price):\n    return round(price * 100)\n",
    "shop/cart.py": "from shop.prices import cents\n\n\ndef total(rows):\n    return sum(map(cents, rows))\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
    "docs/guide.md": "# Guide\n\nPrices are in euros.\n",
}
ODD = {
    'docs/naïve "quoted".md': "# Naïve\n\nThe zebra_rule is here.\n",
    "src/it's a name.py": "def zebra_blank():\n    return 1\n",
    "-rf.py": "def zebra_dash():\n    return 1\n",
    "src/[a]{b}*.py": "def zebra_glob():\n    return 1\n",
    "src/日本.py": "def zebra_japan():\n    return 1\n",
    "src/tab\there.py": "def zebra_tab():\n    return 1\n",
}
LONG = {
    "web/data.ts": f"export const ICON = 'data:image/png;base64,{'iVBORw0KGgo' * 9000}'\n\n"
    "export function afterTheIcon() {\n  return ICON.length\n}\n",
    "big/table.sql": "".join(f"INSERT INTO prices VALUES ({n}, 'item {n}', {n * 3});\n" for n in range(60_000))
    + "CREATE VIEW zebra_view AS SELECT 1;\n",
}
TEMPLATES = {
    "app/tasks.py": "def send_invoice(order):\n    return order\n",
    "app/use.py": "from app.tasks import send_invoice\n\nsend_invoice(1)\n",
    "app/page.html": "<p>{{ send_invoice(order) }}</p>\n",
    "deploy/beat.yaml": "tasks:\n  - name: app.tasks.send_invoice\n",
    "db/hook.sql": "SELECT py_call('send_invoice', 1);\n",
    "pyproject.toml": '[project.scripts]\ninvoice = "app.tasks:send_invoice"\n',
}
MACHINE = {
    "src/Tax.kt": "package shop\n\nclass Tax {\n    fun grossPrice(net: Int): Int = net * 2\n}\n",
    "src/Use.java": "package shop;\nclass Use { int go(Tax tax) { return tax.grossPrice(1); } }\n",
    "src/Use.scala": "package shop\nobject Use { def go(tax: Tax) = tax.grossPrice(1) }\n",
    "build.gradle": "println new shop.Tax().grossPrice(3)\n",
}
BRIDGE = {
    "lib/motor.c": "int motor_start(int speed) {\n    return speed;\n}\n",
    "lib/motor.h": "int motor_start(int speed);\n",
    "app/main.cpp": '#include "../lib/motor.h"\nint main() {\n    return motor_start(1);\n}\n',
    "py/drive.py": "import ctypes\n\nlib = ctypes.CDLL('motor')\nlib.motor_start(3)\n",
    "web/panel.html": '<button onclick="motor_start(2)">Go</button>\n',
}
PARTIAL = {
    "Repo.cs": "namespace Shop.Data;\n\npublic interface IRepo<T> { }\n\npublic record Row(int Id) : IRepo<int>;\n\n"
    "public partial class Store : IRepo<string>\n{\n}\n",
    "Repo.More.cs": "namespace Shop.Data;\n\npublic partial class Store\n{\n    public int Count() => 1;\n}\n\n"
    "public class Uses\n{\n    private readonly Store _store = new();\n    public int Go() => _store.Count();\n}\n",
}
CHANGED = {
    "shop/old.py": "def price_of(item):\n    total = item * 2\n    total += 1\n    total += 2\n    return total\n",
    "shop/gone.py": "def vanish(item):\n    return item\n",
    "shop/use.py": "from shop.gone import vanish\n\n\ndef go(item):\n    return vanish(item)\n",
    "docs/alt.md": "# Alt\n\nOne line.\n",
}
HOSTILE = {
    "docs/evil.md": "# <details open><summary>zebra topic</summary>\n\nThe zebra topic is here.\n\n"
    "## [zebra link](javascript:alert(1)) <script>alert(1)</script>\n\nThe zebra link.\n",
    "docs/![x](http:evil.example) zebra.md": "# Plain\n\nThe zebra file name.\n",
}
RULES = {
    "CLAUDE.md": "See (@docs/a.md), `@docs/code.md` and:\n\n```\n@docs/fenced.md\n```\n\n- @docs/b.md; then stop\n",
    "docs/a.md": "Rule A: round down.\nAlso @./deep/c.md!\n",
    "docs/deep/c.md": "Rule C: deep rule.\nBack to @../a.md\n",
    "docs/b.md": "Rule B: log it.\n",
    "docs/code.md": "Rule D: in code.\n",
    "docs/fenced.md": "Rule E: fenced.\n",
    "pkg/CLAUDE.md": "Rule P: package rule.\n",
    "pkg/x.py": "x = 1\n",
    ".cursor/rules/ts.mdc": '---\nglobs: "**/*.{ts,tsx}"\n---\nRule T: typed only.\n',
    "web/a.tsx": "export const a = 1\n",
}
TERMINAL = """//! Terminals.

/// Returns the default width of a terminal.
pub fn default_width(size: usize) -> usize {
    if size > 9 { 120 } else { 80 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn default_width_of_a_terminal_is_small() { assert_eq!(super::default_width(1), 80); }
    #[test]
    fn default_width_of_a_terminal_is_large() { assert_eq!(super::default_width(10), 120); }
}
"""
PLACES = tuple(
    Run(f"context '{text}'", ("20\t\treturn 16",))
    for text in (
        "mux.go:20:5 panics",
        "see mux.go on line 20",
        "mux.go(20): error",
        "mux.go L20-L21 looks wrong",
        'File "mux.go", line 20',
    )
)
DEFAULTS = {
    "api.ts": "export default {\n  fetchAll() { return 1 },\n  fetchOne: (id: number) => id,\n}\n",
    "again.ts": "export { default as client } from './api'\n",
    "use.ts": "import api from './api'\nimport { client } from './again'\nimport * as all from './again'\n"
    "api.fetchAll()\nclient.fetchOne(1)\nall.client.fetchAll()\n",
}
EVE = (
    "echo 'def zebra2(): pass' >> a.py",
    "git -c user.name='Eve <img src=x> ![x](http://e)' commit -qam 'zebra ![x](http://e) <img src=x>'",
)

CASES = (
    Case("C5", "ask who calls a method of Ruby whose name ends with a question mark", "no list", {
        "lib/t.rb": "module P\n  class Token\n    def accepts?(env)\n      env\n    end\n  end\n"
        "  class App\n    def call(env)\n      Token.new.accepts?(env)\n    end\n  end\nend\n",
    }, (Run('context "who calls Token.accepts?"', ("accepts?", "lib/t.rb: 9")),)),
    Case("C7", "C#: a method below one with `#if`", "it belonged to the namespace, and had no callers", {
        "R.cs": "namespace N\n{\n  public class Reader\n  {\n    public int Parse()\n    {\n#if HAVE_ASYNC\n"
        "      if (true) {\n#else\n      if (false) {\n#endif\n      return 1; }\n      return 2;\n    }\n"
        "    public void Eat() { }\n    public void Go() { Eat(); }\n  }\n}\n",
    }, (Run('context "who calls Reader.Eat"', ("Reader.Eat: 1 in 1 file", "R.cs: 16")),)),
    Case("C8", "TypeScript: an import over `paths` of tsconfig", "not linked", {
        "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@lib/*": ["ts/lib/*"]}}}\n',
        "ts/lib/index.ts": "export function addUp(a: number) { return a }\n",
        "ts/app.ts": "import { addUp as plusUp } from '@lib/index'\nplusUp(1)\n",
    }, (Run('context "who calls addUp"', ("ts/app.ts: 2",)),)),
    Case("C9", "PHP: a call on a typed property where two classes have the name", "not resolved", {
        "a.php": "<?php\nclass A { public function fetch() { return 1; } }\n"
        "class B { public function fetch() { return 2; } }\n"
        "class C {\n  private A $a;\n  public function go() { return $this->a->fetch(); }\n}\n",
    }, (Run('context "who calls A.fetch"', ("A.fetch: 1 in 1 file", "a.php: 6")),)),
    Case("C10", "Rust: a call in the body of a macro; TypeScript: a default that is exported again under another name",
         "missing", {
             "src/lib.rs": "pub fn deep() -> i32 { 1 }\nmacro_rules! call { () => { deep() } }\n",
         }, (Run('context "who calls deep"', ("src/lib.rs: 2",)),)),
    Case("C11", "ask for a function of Kotlin", "text windows only", {
        "A.kt": "class Shop {\n    fun price(): Int = 1\n}\n\nfun main() {\n    Shop().price()\n}\n",
    }, (Run('context "who calls Shop.price"', ("A.kt: 6",)),)),
    Case("C15", "a task as the question", "nothing", {"crm.py": "def inform_customers(rows):\n    return rows\n"},
         (Run('context -- "- [ ] inform customers"', ("def inform_customers",)),)),
    Case("C21", "the footer of an answer says how many tokens it has", "missing in small filled answers", SHOP,
         (Run('context "how are totals made" --fill --max-tokens 400', (" of 400 tokens",)),)),
    Case("B3", "git's global ignore file", "indexed and shown", {"a.py": "x = 1\n"}, (
        Run("search --pattern secret_plan", (), ("scratch-private.md:",),
            ("mkdir -p $XDG_CONFIG_HOME/git", "echo scratch-private.md > $XDG_CONFIG_HOME/git/ignore",
             "echo secret_plan > scratch-private.md")),
    )),
    Case("B16", "a repository of documents", "scripts before the pages", {
        **{f"pages/{name}.md": f"# {name}\n\n> Archiving utility {name}.\n\n- Extract an archive:\n\n`{name} -x file`\n"
           for name in ("tar", "zip", "gzip", "rar", "cpio", "ar", "xz", "bzip2")},
        "scripts/build.sh": "#!/bin/sh\n# build the archive of pages\ntar -cf pages.tar pages\n",
    }, (Run('context "how to extract a tar archive"', ("pages/tar.md",)),)),
    Case("P8", "why a library is vendored, which a commit tells", "the Makefile; the commit in fourth place", {
        "Makefile": "vendor:\n\tgo mod vendor\n\tgo mod tidy\n", "glow.py": "def glow(): return 2\n",
    }, (Run("context 'why is lightlib vendored?'", ("## Commits", "gave it up"), (), (
        "printf 'def light(): return glow()\\n' > lightlib.py; git add -A",
        "git commit -qm 'Vendor lightlib in-tree' -m 'Its author gave it up, and the last release does not build.'",
    )),)),
    Case("P11", "a subject of which only test data has the word, beside the name of the project",
         "1,105 tokens of other functions, without a warning", {"tests/fixtures/x.cabal": "name: telemetry\n", **{
             f"send_{n}.py": f"def send_{n}(shop):\n    # Send data of the shop.\n    return shop.usage + {n}\n"
             for n in range(6)
         }}, (Run("context 'telemetry: does shop send usage data anywhere'", ("telemetry.",)),)),
    Case("P12", "a function above the tests of its file that say the same", "54 lines of tests, not the function",
         {"src/lib.rs": TERMINAL}, (Run("context 'what is the default width of a terminal'",
                                        ("pub fn default_width",)),)),
    Case("P22", "messages of lists without entries, and of a hook without an event",
         "there is no such experience here; a line without usage", {"a.py": "x = 1\n"}, (
             Run("experience list", ("no experience",), ("no such experience",)), Run("hook", ("session-start",)),
         )),
    Case("F1", "tracked files with quotes, blanks, a leading dash, glob characters, a tab and Japanese in their names",
         RIGHT, ODD, (
             *(Run(f"context {name}", (name,), ("Not found",)) for name in (
                 "zebra_rule", "zebra_blank", "zebra_dash", "zebra_glob", "zebra_japan")),
             Run("context zebra_tab", ("odd-name 1",)),
         )),
    Case("F3", "a function below a line of 99,000 characters; the last line of a file of 3 MB", RIGHT, LONG, (
        Run("context afterTheIcon", ("export function afterTheIcon",), ("iVBORw0KGgoiVBORw0KGgoiVBORw0KGgo",)),
        Run("context zebra_view", ("big/table.sql",)),
    )),
    Case("F4", "a function of a nested repository that git does not track", RIGHT, {"a.py": "x = 1\n"}, (
        Run("context zebra_nested", ("nested-repository 1",), (), (
            "mkdir -p vendor/lib && cd vendor/lib && git init -q . && echo 'def zebra_nested(): pass' > n.py",
        )),
    )),
    Case("F5", "a function that a sparse checkout leaves out", RIGHT, {
        "keep/a.py": "x = 1\n", "away/b.py": "def zebra_sparse():\n    pass\n",
    }, (Run("context zebra_sparse", ("not-checked-out 1",), (), ("git sparse-checkout set keep",)),)),
    Case("F6", "the name of a file that is only a pointer of LFS", RIGHT, {
        "a.py": "x = 1\n",
        "data/zebra.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n",
    }, (Run("context data/zebra.csv", ("lfs-pointer",), ("oid sha256",)),)),
    Case("F7", "a function of Python that a template, YAML, SQL and an entry point name", RIGHT, TEMPLATES, (
        Run('context "what breaks if I rename send_invoice"',
            ("app/use.py: 3", "app/page.html: 1", "deploy/beat.yaml: 2", "db/hook.sql: 1", "pyproject.toml: 2")),
    )),
    Case("F8", "a method of Kotlin that Java, Scala and Gradle call", RIGHT, MACHINE, (
        Run('context "who calls Tax.grossPrice"', ("src/Use.java: 2", "src/Use.scala: 2", "build.gradle: 1")),
    )),
    Case("F9", "a function of C that C++ includes, Python calls over ctypes, and a page in HTML", RIGHT, BRIDGE, (
        Run('context "who calls motor_start"', ("app/main.cpp: 3", "py/drive.py: 4", "web/panel.html: 1")),
    )),
    Case("F11", "C#: a generic interface, a record, and a partial class in two files", RIGHT, PARTIAL, (
        Run('context "which classes implement IRepo"', ("Repo.cs: 5 Shop.Data.Row, 7 Shop.Data.Store",)),
        Run('context "who calls Store.Count"', ("Repo.More.cs: 11",)),
    )),
    Case("F12", "`--diff` of a renamed file with a changed line, and a deleted one that is still used", RIGHT,
         CHANGED, (
        Run("context --diff", ("shop/old.py", "shop/new.py", "total += 7", "shop/gone.py", "shop/use.py"), (), (
            "git mv shop/old.py shop/new.py", "sed -i 's/+= 2/+= 7/' shop/new.py", "git rm -q shop/gone.py",
        )),
    )),
    Case("F13", "`--diff` of a changed binary file, a link that replaces a file, and a new submodule", RIGHT, {
        "logo.png": b"\x89PNG\x00\x01", "link.py": "x = 1\n", "a.py": "y = 1\n",
    }, (Run("context --diff", ("logo.png", "link.py", "sub"), (), (
        "printf '\\211PNG\\0\\2' > logo.png", "rm link.py && ln -s a.py link.py",
        "git init -q $HOME/other",
        "git -C $HOME/other -c user.name=A -c user.email=a@b.example commit -qm b --allow-empty",
        "git -c protocol.file.allow=always submodule add -q $HOME/other sub",
    )),)),
    Case("F14", "`--diff` of a document that is renamed and changed, and of a line without an end", RIGHT, {
        **CHANGED, "docs/käse.md": "# Käse\n\nGouda.\n", "docs/end.md": "# End\n\nLast line",
    }, (Run("context --diff", ("Brie", "docs/alt.md", "docs/neu.md", "Very last line"), (), (
        "sed -i s/Gouda/Brie/ docs/käse.md", "git mv docs/alt.md docs/neu.md",
        "printf '# End\\n\\nVery last line' > docs/end.md",
    )),)),
    Case("F15", "headings with HTML, a link that runs a script, and a file name that is an image", RIGHT, HOSTILE, (
        Run("context zebra topic link", ("\\u003cdetails open>",), ("<details", "![x](http:")),
        Run("search zebra", ("docs/evil.md",), ("<details", "<script", "](javascript:", "![x](http:")),
    )),
    Case("F16", "an author and a subject that are HTML and an image", RIGHT, {"a.py": "x = 1\n"}, tuple(
        Run(command, (), ("Eve <img", "Eve ![x]", '  "zebra !'), before)
        for command, before in (
            ("history --authors", EVE),
            ("history a.py", ()), ("context 'when was zebra2 added'", ()), ("graph a.py", ()),
        )
    )),
    Case("F17", "imports in brackets, in code, in a fence, in each other; a folder's own file; braces in a glob", RIGHT,
         RULES, (
             Run('situation --task "round" --files pkg/x.py', ("Rule A", "Rule B", "Rule C", "Rule P"),
                 ("Rule D", "Rule E", "Rule T")),
             Run('situation --task "round" --files web/a.tsx', ("Rule A", "Rule T"), ("Rule P",)),
         )),
    Case("F18", "five further forms of a place in a sentence", "`L20-L21` after a blank: other lines", {
        "mux.go": "package mux\n\n" + "".join(
        f"func Route{n}() int {{\n\treturn {4 * n}\n}}\n\n" for n in range(60)
    )}, PLACES),
    Case("F20", "TypeScript: methods of an object that is the default, also exported again under a name", RIGHT,
         DEFAULTS, (
        Run('context "who calls fetchAll"', ("fetchAll: 2 in 1 file", "use.ts: 4, 6")),
        Run('context "who calls fetchOne"', ("fetchOne: 1 in 1 file", "use.ts: 5")),
    )),
)  # fmt: skip


def tried(case: Case) -> str:
    """Return what a case shows now: `as it should be`, or what is missing or wrong."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place) / "folder", Path(place) / "home"
        variables = {
            "SATCHEL_HOME": str(home / "satchel"), "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"),
            "FOLDER": str(folder), "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",
        }  # fmt: skip
        home.mkdir()
        for path, content in case.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        identity = "git config user.name Ada && git config user.email ada@example.org"
        _shell(f"git init -q . && {identity} && git add -A -f && git commit -qm Begin", folder, variables)
        for run in case.runs:
            for line in run.before:
                _shell(line, folder, variables)
            printed = _asked(run.command, folder, variables)
            faults += [f"`{run.command}`: no {text!r}" for text in run.present if text not in printed]
            faults += [f"`{run.command}`: {text!r}" for text in run.absent if text in printed]
    return "; ".join(faults) or RIGHT


def _shell(line: str, folder: Path, variables: Mapping[str, str]) -> None:
    subprocess.run(line, shell=True, cwd=folder, env={**os.environ, **variables}, check=True, capture_output=True)


def _asked(command: str, folder: Path, variables: Mapping[str, str]) -> str:
    """Return what a command prints, on both streams."""
    from satchel.cli.application import run

    out, before, kept = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), Path.cwd(), dict(os.environ)
    os.chdir(folder)
    os.environ.update(variables)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            run(shlex.split(command))
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(kept)
    out.flush()
    out.seek(0)
    return out.read()


def table(cases: Sequence[Case], now: Mapping[str, str]) -> str:
    """Return the table as Markdown."""
    right = sum(told == RIGHT for told in now.values())
    lines = [
        "# Promises, and kinds of public bug reports",
        "",
        "Made by `python benchmarks/promises.py --out benchmarks/results/promises.md`, which says what each case does",
        "and what the letters mean. What a test tries is not tried here.",
        "",
        f"{right} of the {len(cases)} cases are as they should be.",
        "",
        "| | tried | before | now |",
        "|---|---|---|---|",
    ]
    for case in cases:
        cells = (case.number, case.steps, case.before, now[case.number])
        lines.append("| " + " | ".join(re.sub(r"[\x00-\x1f]", "", cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Try the cases and print their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="numbers of cases")
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    cases = [case for case in CASES if not given.only or case.number in given.only]
    now = {}
    for case in cases:
        now[case.number] = tried(case)
        print(case.number, now[case.number], flush=True)
    if given.out:
        given.out.write_text(table(cases, now), encoding="utf-8")


if __name__ == "__main__":
    main()
