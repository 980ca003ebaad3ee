"""Further inputs of the kinds of `promises.py`, written by a reader who had not written what they try."""

from __future__ import annotations

import json

from promises_cases import Case, Run

RIGHT = "as it should be"

ODD = {
    'docs/naïve "quoted".md': "# Naïve\n\nThe zebra_rule is here.\n",
    "src/it's a name.py": "def zebra_blank():\n    return 1\n",
    "-rf.py": "def zebra_dash():\n    return 1\n",
    "src/[a]{b}*.py": "def zebra_glob():\n    return 1\n",
    "src/日本.py": "def zebra_japan():\n    return 1\n",
    "src/tab\there.py": "def zebra_tab():\n    return 1\n",
}
TRACKED = {
    ".gitignore": "*.log\nnode_modules/\n/generated\n",
    "node_modules/own/index.js": "export function zebraModule() { return 1 }\n",
    "generated/keep.py": "def zebra_kept():\n    return 1\n",
    "docs/run.log": "zebra_log happened\n",
    "pkg/.gitignore": "*\n!.gitignore\n",
    "pkg/forced.py": "def zebra_forced():\n    return 1\n",
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
HEIRS = {
    "a.php": "<?php\nnamespace Shop\\Pay;\ninterface Gateway {}\nclass Card implements Gateway {}\n",
    "b.php": "<?php\nnamespace Shop\\Own;\nuse Shop\\Pay\\Gateway as Pay;\nclass Bank implements Pay {}\n",
    "c.php": "<?php\nnamespace Other;\ninterface Gateway {}\nclass Wrong implements Gateway {}\n",
    "d.kt": "package k\n\nclass Host {\n    sealed class Event {\n        class Opened : Event()\n    }\n}\n\n"
    "class Late : Host.Event()\n",
    "e.swift": "enum Kit {\n    class Widget {}\n}\nextension Kit {\n    class Button: Kit.Widget {}\n}\n",
    "f.scala": "package s\n\nobject Shapes {\n  trait Form\n  class Ring extends Form\n}\n\n"
    "class Square extends Shapes.Form\n",
    "g.ts": "export namespace n {\n  export abstract class Top {}\n}\nexport const Low = class extends n.Top {}\n",
    "h.rs": "pub mod base {\n    pub trait Speak {}\n}\npub struct Cat;\nimpl base::Speak for Cat {}\n",
    "i.rb": "module M\n  module Deep\n    class Root\n    end\n  end\nend\nclass Leaf < M::Deep::Root\nend\n",
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
PLACES = tuple(
    Run(f"context '{text}'", ("return 20",))
    for text in ("mux.go:20:5 panics", "see mux.go on line 20", "mux.go(20): error", "mux.go L20-L21 looks wrong",
                 'File "mux.go", line 20')
)  # fmt: skip
PATHS = {
    "tsconfig.base.json": '{\n  // shared\n  "compilerOptions": { "paths": { "~core": ["packages/core/src/main.ts"], '
    '"#ui/*": ["packages/ui/*", "fallback/*"], },\n  },\n}\n',
    "apps/web/tsconfig.json": '{ "extends": "../../tsconfig.base.json" }\n',
    "packages/core/src/main.ts": "export function coreStart() { return 1 }\n"
    "export default class Engine {\n  rev() {}\n}\n",
    "packages/ui/button.ts": "export const pressButton = () => 1\n",
    "packages/kit/package.json": json.dumps(
        {
            "name": "@own/kit",
            "exports": {".": {"import": "./lib/entry.ts"}, "./tools/*": "./lib/tools/*.ts"},
        }
    ),
    "packages/kit/lib/entry.ts": "export function kitEntry() { return 1 }\n",
    "packages/kit/lib/tools/saw.ts": "export function sawWood() { return 1 }\n",
    "apps/web/src/page.ts": "import Motor, { coreStart as begin } from '~core'\nimport * as button from '#ui/button'\n"
    "import { kitEntry } from '@own/kit'\nimport { sawWood } from '@own/kit/tools/saw'\nbegin()\n"
    "button.pressButton()\nkitEntry()\nsawWood()\nnew Motor().rev()\n",
}
DEFAULTS = {
    "api.ts": "export default {\n  fetchAll() { return 1 },\n  fetchOne: (id: number) => id,\n}\n",
    "again.ts": "export { default as client } from './api'\n",
    "use.ts": "import api from './api'\nimport { client } from './again'\nimport * as all from './again'\n"
    "api.fetchAll()\nclient.fetchOne(1)\nall.client.fetchAll()\n",
}
EXTENSIONS = {
    "Text.cs": "namespace Tools;\n\npublic static class TextTools\n{\n"
    '    public static string Shout(this string text) => text + "!";\n}\n',
    "Use.cs": "using Tools;\n\nnamespace App;\n\npublic class Greeter\n{\n    public string Hi(string name)\n    {\n"
    "        return name.Shout();\n    }\n}\n",
}
MARKS = {
    "lib/cart.rb": "class Cart\n  def empty?\n    true\n  end\n\n  def clear!\n    self\n  end\n\n  def reset\n"
    "    clear! unless empty?\n  end\nend\n",
    "lib/use.rb": "class Shop\n  def go\n    cart = Cart.new\n    cart.clear!\n"
    "    stock(1)&.clear! if cart.empty?\n  end\nend\n",
}

EVE = (
    "echo 'def zebra2(): pass' >> a.py",
    "git -c user.name='Eve <img src=x> ![x](http://e)' commit -qam 'zebra ![x](http://e) <img src=x>'",
)

FURTHER = (
    Case("F1", "tracked files with quotes, blanks, a leading dash, glob characters, a tab and Japanese in their names",
         RIGHT, ODD, (
             *(Run(f"context {name}", (name,), ("Not found",)) for name in (
                 "zebra_rule", "zebra_blank", "zebra_dash", "zebra_glob", "zebra_japan")),
             Run("context zebra_tab", ("odd-name 1",)),
         )),
    Case("F2", "tracked files below `node_modules`, a rooted rule, `*.log`, and a folder that ignores everything",
         "`node_modules`: Not found here, without a word on what is left out", TRACKED, (
             *(Run(f"context {name}", (name,), ("Not found",)) for name in ("zebra_kept", "zebra_log", "zebra_forced")),
             Run("context zebraModule", ("vendored-tracked 1",)),
         ), "tests/index/test_walk_tracked.py::"
         "test_secrets_and_packages_of_others_are_not_read_even_if_tracked_but_such_packages_are_told"),
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
    Case("F10", "implementations across namespaces, objects, modules and class expressions in seven languages",
         "missing: the heir by an imported alias of PHP, one in an extension of Swift, a module of Rust called `base`",
         HEIRS, (
             Run('context "which classes implement Shop.Pay.Gateway"', ("a.php: 4", "b.php: 4"), ("Wrong",)),
             Run('context "which classes extend Host.Event"', ("d.kt: 5 Host.Event.Opened, 9 Late",)),
             Run('context "which classes extend Kit.Widget"', ("e.swift: 5 Kit.Button",)),
             Run('context "which classes extend Shapes.Form"', ("f.scala: 5 Shapes.Ring, 8 Square",)),
             Run('context "which classes extend n.Top"', ("g.ts: 4 Low",)),
             Run('context "which types implement base.Speak"', ("h.rs: 5 Cat",)),
             Run('context "which classes extend M.Deep.Root"', ("i.rb: 7 Leaf",)),
         ), "tests/search/test_relations_imports.py::"
         "test_a_class_of_an_extension_of_swift_is_an_heir"),
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
    Case("F18", "five further forms of a place in a sentence", RIGHT, {"mux.go": "package mux\n\n" + "".join(
        f"func Route{n}() int {{\n\treturn {4 * n}\n}}\n\n" for n in range(60)
    )}, PLACES),
    Case("F19", "TypeScript: `paths` of an extended tsconfig with comments, `exports` of a package, an import of all",
         "one of five calls resolved; the import `coreStart as begin` and its call in no list",
         PATHS, (
             Run('context "who calls coreStart"', ("coreStart: 1 in 1 file", "page.ts: 5; named 1")),
             Run('context "who calls pressButton"', ("pressButton: 1 in 1 file", "page.ts: 6")),
             Run('context "who calls kitEntry"', ("kitEntry: 1 in 1 file", "page.ts: 7")),
             Run('context "who calls sawWood"', ("sawWood: 1 in 1 file", "page.ts: 8")),
             Run('context "who calls Engine.rev"', ("Engine.rev: 1 in 1 file", "page.ts: 9")),
         ), "tests/search/test_relations_imports.py::"
         "test_imports_follow_the_paths_of_a_tsconfig_and_the_exports_of_a_package"),
    Case("F20", "TypeScript: methods of an object that is the default, also exported again under a name", RIGHT,
         DEFAULTS, (
        Run('context "who calls fetchAll"', ("fetchAll: 2 in 1 file", "use.ts: 4, 6")),
        Run('context "who calls fetchOne"', ("fetchOne: 1 in 1 file", "use.ts: 5")),
    )),
    Case("F21", "C#: a method that extends a class of the standard library", "not resolved", EXTENSIONS, (
        Run('context "who calls TextTools.Shout"', ("Use.cs: possible 9",)),
    ), "tests/search/test_relations_imports.py::"
         "test_a_call_on_a_value_of_unknown_class_is_counted_as_possible"),
    Case("F22", "Ruby: names that end with ! and ?, without brackets, and after a call", RIGHT, MARKS, (
        Run('context "who calls Cart.clear!"', ("lib/cart.rb: 11", "lib/use.rb: 4", "5")),
        Run('context "who calls Cart.empty?"', ("lib/cart.rb: 11", "lib/use.rb: 5")),
    ), "tests/search/test_relations_imports.py::"
         "test_a_method_after_a_call_and_code_in_a_text_are_told_as_not_resolved"),
)  # fmt: skip
