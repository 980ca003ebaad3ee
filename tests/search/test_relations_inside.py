"""Heirs of classes inside namespaces, modules and classes, and lists without calls of something else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from satchel.testing import TinyRepository
from tests.search.listed import asked
from tests.search.listed import folder as folder

INSIDE: Mapping[str, tuple[str, str, list[str]]] = {
    "a.py": (
        ("class Outer:\n    class Plug:\n        def run(self):\n            return 1\n\n\nclass Kid(Outer.Plug):\n"
        "    pass\n\n\nclass Holder:\n    class Inner(Outer.Plug):\n        pass\n"),
        "Plug", ["Kid", "Holder.Inner"],
    ),
    "a.ts": (
        ("export namespace n {\n  export class Plug { go() { return 1 } }\n  export class Kid extends Plug {}\n}\n"
        "export class Far extends n.Plug {}\n"),
        "Plug", ["n.Kid", "Far"],
    ),
    "a.h": (
        ("namespace spd { namespace sinks {\nclass API Plug {\npublic:\n    virtual void flush() = 0;\n};\n"
        "template <typename M>\nclass Kid : public Plug {\npublic:\n    void flush() override {}\n};\n}}\n"
        "namespace other { class Far : public spd::sinks::Plug { void flush() override {} }; }\n"),
        "Plug", ["spd.sinks.Kid", "other.Far"],
    ),
    "a.cs": (
        ("namespace App.Core {\n  public interface IPlug { int Get(); }\n"
        "  public class Kid : IPlug { public int Get() { return 1; } }\n"
        "  public class Outer { public class Inner : IPlug { public int Get() { return 2; } } }\n}\n"),
        "IPlug", ["App.Core.Kid", "App.Core.Outer.Inner"],
    ),
    "a.rb": (
        "module Shop\n  class Plug\n  end\n  class Kid < Plug\n  end\nend\nclass Far < Shop::Plug\nend\n",
        "Plug", ["Shop.Kid", "Far"],
    ),
    "A.java": (
        ("package a;\nclass Outer {\n  interface Plug { int get(); }\n  static class Kid implements Plug {\n"
        "    public int get() { return 1; }\n  }\n}\n"),
        "Plug", ["Outer.Kid"],
    ),
    "a.rs": (
        ("mod plugs {\n    pub trait Plug { fn run(&self); }\n    pub struct Kid;\n"
        "    impl Plug for Kid { fn run(&self) {} }\n}\n"),
        "Plug", ["plugs.Kid"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", INSIDE)
def test_heirs_of_a_class_inside_another_scope_are_listed(path: str, folder: TinyRepository) -> None:
    text, name, heirs = INSIDE[path]
    (told,) = asked(folder, {path: text}, f"which classes implement `{name}`")
    assert f"{name}: {len(heirs)} in 1 file" in told
    assert all(heir in told for heir in heirs)


def test_a_base_of_ruby_is_the_one_of_the_modules_around_it(folder: TinyRepository) -> None:
    files = {
        "lib/base.rb": "module Web\n  class Base\n  end\nend\n",
        "lib/protection.rb": "module Rack\n  module Protection\n    class Base\n    end\n  end\nend\n",
        "lib/token.rb": "module Rack\n  module Protection\n    class Token < Base\n    end\n  end\nend\n",
        "lib/app.rb": "class App < Web::Base\nend\n",
    }
    web, rack = asked(folder, files, "which classes extend Web::Base", "which classes extend Protection::Base")
    assert "1 in 1 file\n- lib/app.rb: 1 App" in web
    assert "1 in 1 file\n- lib/token.rb: 3 Rack.Protection.Token" in rack


def test_a_bare_call_of_ruby_is_no_method_of_an_unrelated_class(folder: TinyRepository) -> None:
    files = {
        "lib/helpers.rb": "module Web\n  module Helpers\n    def redirect(to)\n      to\n    end\n  end\nend\n",
        "lib/tossing.rb": "module Rack\n  class Tossing\n    def redirect(env)\n      env\n    end\n  end\nend\n",
        "test/app_test.rb": "get '/' do\n  redirect '/there'\nend\n",
    }
    helpers, tossing = asked(folder, files, "who calls Helpers.redirect", "who calls Tossing.redirect")
    assert "Helpers.redirect: 1 in 1 file\n- test/app_test.rb: 2" in helpers
    assert "test/app_test.rb" not in tossing


def test_a_bare_call_of_cpp_is_no_method_of_an_unrelated_class_and_a_declaration_is_no_call(
    folder: TinyRepository,
) -> None:
    files = {
        "queue.h": "class Queue {\npublic:\n    void drain_();\n    void close();\n};\n",
        "queue.cpp": '#include "queue.h"\nvoid Queue::drain_() {}\nvoid Queue::close() {\n    drain_();\n}\n',
        "pump.cpp": "template <typename T>\nvoid Pump<T>::stop() {\n    drain_();\n}\n",
    }
    (told,) = asked(folder, files, "who calls Queue.drain_")
    assert "Queue.drain_: 1 in 1 file\n" in told
    assert "- queue.cpp: 4" in told
    assert "- 1 more line contains drain_(, not resolved: pump.cpp: 3" in told


def test_a_nested_class_is_not_in_scope_where_its_outer_class_names_its_bases(folder: TinyRepository) -> None:
    files = {
        "src/a/Builder.java": "package a;\npublic interface Builder<T> {\n  T build();\n}\n",
        "src/a/Maker.java": "package a;\npublic class Maker implements Builder<String> {\n"
        "  public static class Builder {\n    public Builder() {}\n  }\n"
        "  public String build() { return null; }\n}\n",
    }
    (told,) = asked(folder, files, "which classes implement Builder")
    assert "Implementations of Builder: 1 in 1 file" in told
    assert "Maker.java: 2 Maker" in told


UNNAMED: Mapping[str, str] = {
    "A.java": (
        "package a;\ninterface Plug { int get(); }\nclass Kid implements Plug {\n  public int get() { return 1; }\n}\n"
        "class Shop {\n  Plug make() {\n    return new Plug() {\n      public int get() { return 2; }\n    };\n  }\n"
        "  Kid plain() {\n    return new Kid();\n  }\n}\n"
    ),
    "a.kt": (
        "package a\n\ninterface Plug {\n    fun get(): Int\n}\n\nclass Kid : Plug {\n    override fun get() = 1\n}\n\n"
        "class Shop {\n    fun make(): Plug {\n        return object : Plug {\n            override fun get() = 2\n"
        "        }\n    }\n}\n"
    ),
    "a.scala": (
        "package a\n\ntrait Plug {\n  def get: Int\n}\n\nclass Kid extends Plug {\n  def get = 1\n}\n\n"
        "class Shop {\n  def make: Plug = {\n    new Plug {\n      def get = 2\n    }\n  }\n}\n"
    ),
}


@pytest.mark.parametrize("path", UNNAMED)
def test_an_object_whose_class_has_no_name_is_among_the_implementations(path: str, folder: TinyRepository) -> None:
    (told,) = asked(folder, {path: UNNAMED[path]}, "which classes implement `Plug`")
    assert "Plug: 2 in 1 file" in told
    assert "Shop.make.(anonymous)" in told
    assert "not resolved" not in told


TWO_TYPES: Mapping[str, str] = {
    "src/lib.rs": "pub mod low;\npub mod high;\npub mod chan;\npub mod user;\n",
    "src/low.rs": (
        "pub struct Gate { left: usize }\n\nimpl Gate {\n    pub fn try_enter(&self, n: usize) -> bool {\n"
        "        self.left > n\n    }\n}\n"
    ),
    "src/high.rs": (
        "use crate::low as ll;\n\npub struct Gate { low: ll::Gate }\n\nimpl Gate {\n"
        "    pub fn try_enter(&self) -> bool {\n        self.low.try_enter(1)\n    }\n}\n"
    ),
    "src/chan.rs": (
        "use crate::low;\n\npub trait Gate {\n    fn leave(&self);\n    fn try_enter(&self, n: usize) -> bool;\n}\n\n"
        "impl Gate for low::Gate {\n    fn leave(&self) {}\n"
        "    fn try_enter(&self, n: usize) -> bool {\n        n > 1\n    }\n}\n"
    ),
    "src/user.rs": (
        "use crate::high::Gate;\n\npub fn go(cell: impl Get, other: &Gate) -> bool {\n"
        "    cell.get().try_enter() || other.try_enter()\n}\n"
    ),
}  # fmt: skip


def test_a_block_of_rust_that_implements_a_trait_is_of_one_of_the_types_with_its_name(folder: TinyRepository) -> None:
    (told,) = asked(folder, TWO_TYPES, "who calls `high.Gate.try_enter`")
    assert "Gate.try_enter: 1 in 1 file, 1 possible\n- src/user.rs: 4" in told
    assert "src/high.rs" not in told
