"""Imports over manifests and under other names, words of one language, and calls that are only possible."""

from __future__ import annotations

import pytest

from satchel.search.resolve.packages import package_of, paths_of
from satchel.testing import TinyRepository
from tests.search.listed import asked
from tests.search.listed import folder as folder

CONFIGURATION = """{
  // shared by all "apps/*"
  "compilerOptions": { "baseUrl": "./src", "paths": { "@/*": ["app/*", "shared/*"], "~core": ["core/main.ts"], } },
}
"""
USE = """import Motor, { coreStart as begin } from '~core'
import * as button from '@/button'
import { kitEntry } from '@own/kit'
import { sawWood } from '@own/kit/tools/saw'
begin()
button.press()
kitEntry()
sawWood()
new Motor().rev()
"""
WORKSPACE = {
    "tsconfig.base.json": CONFIGURATION,
    "src/core/main.ts": "export function coreStart() { return 1 }\nexport default class Engine {\n  rev() {}\n}\n",
    "src/shared/button.ts": "export const press = () => 1\n",
    "kit/package.json": '{"name": "@own/kit", "exports": {".": {"types": "./dist/esm/entry.d.ts"}, '
    '"./tools/*": "./parts/*.js"}}',
    "kit/src/entry.ts": "export function kitEntry() { return 1 }\n",
    "kit/parts/saw.ts": "export function sawWood() { return 1 }\n",
    "apps/web/page.ts": USE,
}


@pytest.mark.parametrize(
    ("name", "line"), [("coreStart", "5; named 1"), ("press", "6"), ("kitEntry", "7"), ("sawWood", "8"), ("rev", "9")]
)
def test_imports_follow_the_paths_of_a_tsconfig_and_the_exports_of_a_package(
    name: str, line: str, folder: TinyRepository
) -> None:
    (told,) = asked(folder, WORKSPACE, f"who calls `{name}`")
    assert f"{name}: 1 in 1 file" in told
    assert f"- apps/web/page.ts: {line}" in told


def test_a_configuration_counts_below_its_folder_and_one_that_cannot_be_read_says_nothing() -> None:
    aliases = paths_of("web/tsconfig.json", CONFIGURATION)
    assert [(one.scope, one.written) for one in aliases] == [("web/", "~core"), ("web/", "@/*"), ("web/", "*")]
    assert list(aliases[1].stems("@/a/b")) == ["web/src/app/a/b", "web/src/shared/a/b"]
    assert list(aliases[0].stems("~core/more")) == []
    assert paths_of("tsconfig.json", '{"compilerOptions": {') == paths_of("tsconfig.json", "[1]") == []


def test_the_entries_of_a_package_are_its_sources_too() -> None:
    text = '{"name": "kit", "main": "./dist/cjs/kit.js", "imports": {"#own/*": "./inner/*.js"}}'
    own, entry, *_ = package_of("kit/package.json", text)
    assert (own.scope, list(own.stems("#own/a"))[:2]) == ("kit/", ["kit/inner/a.js", "kit/src/inner/a"])
    assert list(entry.stems("kit")) == ["kit/dist/cjs/kit.js", "kit/src/kit", "kit/kit"]


RENAMED = {
    "py": ({"a/core.py": "def start_core():\n    return 1\n", "a/__init__.py": "",
            "use.py": "from a.core import start_core as begin\n\nbegin()\n"}, "use.py: 3; named 1"),
    "rust": ({"Cargo.toml": '[package]\nname = "a"\n', "src/util.rs": "pub fn start_core() {}\npub fn other() {}\n",
              "src/main.rs": "mod util;\nuse util::{start_core as two, other};\nfn main() { two(); }\n"},
             "src/main.rs: 3; named 2"),
    "kotlin": ({"a.kt": "package a\nfun start_core() = 1\n",
                "b.kt": "package b\nimport a.start_core as begin\nfun go() = begin()\n"}, "b.kt: 3; named 2"),
    "php": ({"a.php": "<?php\nnamespace Shop\\Pay;\nclass start_core {}\n",
             "b.php": "<?php\nnamespace B;\nuse Shop\\Pay\\start_core as Own;\nnew Own();\nclass Kid extends Own {}\n"},
            "b.php: 4; named 3, 5"),
}  # fmt: skip


@pytest.mark.parametrize("language", RENAMED)
def test_an_import_under_another_name_and_the_uses_of_that_name_are_listed(
    language: str, folder: TinyRepository
) -> None:
    files, line = RENAMED[language]
    (told,) = asked(folder, files, "what breaks if I rename start_core")
    assert f"- {line}\n" in f"{told}\n"


def test_a_tsconfig_that_extends_one_of_another_folder_has_its_paths(folder: TinyRepository) -> None:
    files = {
        "config/base.json": '{"compilerOptions": {"baseUrl": "..", "paths": {"@lib/*": ["lib/src/*"]}}}',
        "config/strict.json": '{"extends": "./base"}',
        "app/tsconfig.json": '{"extends": ["../config/strict.json"]}',
        "lib/src/tide.ts": "export function ebb(): number {\n  return 1;\n}\n",
        "app/src/use.ts": 'import { ebb } from "@lib/tide";\nebb();\n',
        "other/use.ts": 'import { ebb } from "@lib/tide";\nebb();\n',
    }
    (told,) = asked(folder, files, "who calls ebb")
    assert "Call sites of ebb: 1 in 1 file" in told
    assert "- app/src/use.ts: 2" in told


def test_a_function_of_several_platforms_has_one_list_of_calls(folder: TinyRepository) -> None:
    files = {
        "src/commonMain/Tide.kt": "package a\n\nexpect class Tide() {\n  fun ebb(): Int\n}\n",
        "src/jvmMain/Tide.kt": "package a\n\nactual class Tide {\n  actual fun ebb() = 1\n}\n",
        "src/nativeMain/Tide.kt": "package a\n\nactual class Tide {\n  actual fun ebb() = 2\n}\n",
        "src/commonMain/Use.kt": "package a\n\nfun use(tide: Tide) = tide.ebb()\n",
    }
    (told,) = asked(folder, files, "who calls Tide.ebb")
    homes = "src/commonMain/Tide.kt, src/jvmMain/Tide.kt, src/nativeMain/Tide.kt"
    assert f"Call sites of Tide.ebb in {homes}: 1 in 1 file\n- src/commonMain/Use.kt: 3\n" in told
    assert told.count("Call sites of") == 1


def test_a_word_that_means_the_base_class_in_another_language_is_a_name(folder: TinyRepository) -> None:
    files = {
        "shapes.py": "class Shape:\n    def draw(self):\n        return 1\n\n\nclass Ring(Shape):\n"
        "    def show(self, base, parent):\n        base.draw()\n        parent.draw()\n        return self.draw()\n",
        "src/lib.rs": "pub mod base {\n    pub trait Speak {}\n}\npub struct Cat;\nimpl base::Speak for Cat {}\n",
    }
    calls, heirs = asked(folder, files, "who calls Shape.draw", "which types implement base.Speak")
    assert "Shape.draw: 1 in 1 file" in calls
    assert "shapes.py: 10" in calls
    assert "- src/lib.rs: 5 Cat" in heirs


def test_a_text_of_one_word_and_the_label_of_an_argument_are_no_uses(folder: TinyRepository) -> None:
    files = {
        "a.rb": "module Help\n  def cache_for(time)\n    time\n  end\nend\n",
        "b.rb": "include Help\ndescribe 'cache_for' do\n  cache_for 3\nend\n",
        "a.swift": "class Mail {\n    func kindOf(x: Int) -> Int { return x }\n"
        "    func go() {\n        let one = kindOf(x: 1)\n        add(kindOf: one)\n    }\n"
        "    func add(kindOf: Int) {}\n}\n",
    }
    files |= {
        "a.py": "def kind_py(x):\n    return x\n\n\ndict(kind_py=kind_py(1))\ndict(kind_py=2)\n",
        "a.kt": "fun kindKt(x: Int) = x\nfun add(kindKt: Int) = 1\nfun go() = kindKt(1)\nfun far() = add(kindKt = 2)\n",
        "a.php": "<?php\nfunction kind_php($x) { return $x; }\nkind_php(1);\nadd(kind_php: 2);\n",
        "a.cs": "class A {\n  int KindCs(int x) => x;\n  int Go() => KindCs(1);\n  int Far() => Add(KindCs: 2);\n"
        "  int Add(int KindCs) => 1;\n}\n",
    }
    names = ["cache_for", "kindOf", "kind_py", "kindKt", "kind_php", "KindCs"]
    told = asked(folder, files, *(f"what breaks if I rename {name}" for name in names))
    lines = [text.partition("1 in 1 file\n- ")[2].partition("\n")[0] for text in told]
    assert lines == ["b.rb: 3", "a.swift: 4", "a.py: 5", "a.kt: 3", "a.php: 3", "a.cs: 3"]


def test_a_call_on_a_value_of_unknown_class_is_counted_as_possible(folder: TinyRepository) -> None:
    files = {
        "Text.cs": "namespace Tools;\n\npublic static class TextTools\n{\n"
        '    public static string Shout(this string text) => text + "!";\n}\n',
        "Use.cs": "using Tools;\n\npublic class Greeter\n{\n    public string Hi(string name) => name.Shout();\n}\n",
        "Other.cs": "public class Other\n{\n    public string Hi(string name) => name.Shout();\n}\n",
    }
    (told,) = asked(folder, files, "who calls TextTools.Shout")
    assert "Shout: 1 possible in 1 file" in told
    assert "- Use.cs: possible 5" in told
    assert "not resolved: Other.cs: 3" in told


def test_a_method_after_a_call_and_code_in_a_text_are_told_as_not_resolved(folder: TinyRepository) -> None:
    files = {
        "a.rb": "class Cache\n  def clear\n    1\n  end\nend\n",
        "b.rb": "def reset(env)\n  session(env).clear\n  rows[1]&.clear\nend\n",
        "A.scala": "object Rel {\n  def cut(x: Int) = x\n}\n\nobject Macros {\n"
        '  def a = q"""_root_.Rel.cut(1)"""\n  def b = "cut() is not allowed"\n}\n',
    }
    ruby, scala = asked(folder, files, "who calls Cache.clear", "who calls Rel.cut")
    assert "not resolved: b.rb: 2, 3" in ruby
    assert "not resolved: A.scala: 6\n" in f"{scala}\n"


def test_a_class_of_an_extension_of_swift_is_an_heir(folder: TinyRepository) -> None:
    files = {"a.swift": "enum Kit {\n    class Widget {}\n}\nextension Kit {\n    class Button: Kit.Widget {}\n}\n"}
    (told,) = asked(folder, files, "which classes extend Kit.Widget")
    assert "Implementations of Kit.Widget: 1 in 1 file\n- a.swift: 5 Kit.Button" in told


def test_a_test_of_googletest_is_a_member_of_its_fixture(folder: TinyRepository) -> None:
    files = {
        "cache_test.cc": "namespace a {\nclass CacheTest : public Test {\n public:\n  void Fill(int n) {}\n};\n"
        "TEST_F(CacheTest, Evicts) {\n  Fill(1);\n}\nTEST(Other, Stays) {\n  Fill(2);\n}\n}\n",
        "pool.cc": "namespace a {\nclass Pool {\n public:\n  void Fill(int n) {}\n};\n}\n",
    }
    cache, pool = asked(folder, files, "who calls CacheTest.Fill", "who calls Pool.Fill")
    assert "CacheTest.Fill: 1 in 1 file\n" in cache
    assert "- cache_test.cc: 7" in cache
    assert "cache_test.cc: 7" not in pool
