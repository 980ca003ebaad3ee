"""Calls that need the packages, interfaces, re-exports and macros of their language to be resolved."""

from __future__ import annotations

from satchel.search.relations import CALL_INHERITED, definitions_named
from satchel.search.resolve.modules import import_targets, importers
from satchel.types import Kind
from tests.search.conftest import Open

JAVA = {
    "src/main/java/org/shop/Client.java": (
        "package org.shop;\n\npublic class Client extends Base {\n    public int send(int x) { return x; }\n}\n"
    ),
    "src/main/java/org/shop/Base.java": "package org.shop;\n\npublic class Base {\n    public void close() { }\n}\n",
}


def test_classes_of_java_come_by_wildcard_and_from_the_same_package_below_another_root(open_files: Open) -> None:
    code = open_files(
        JAVA
        | {
            "src/main/java/org/app/Star.java": (
                "package org.app;\n\nimport org.shop.*;\n\nclass Star extends Base {\n"
                "    int run(Client c) { return c.send(1); }\n}\n"
            ),
            "src/test/java/org/shop/ClientTest.java": (
                "package org.shop;\n\nclass ClientTest {\n    void run() { new Client().send(2); }\n}\n"
            ),
            "src/main/java/org/app/Other.java": (
                "package org.app;\n\nclass Other {\n    int run(Client c) { return c.send(1); }\n}\n"
            ),
        }
    )
    client = "src/main/java/org/shop/Client.java::Client"
    assert code.callers(f"{client}.send") == [
        "src/main/java/org/app/Star.java:6",
        "src/test/java/org/shop/ClientTest.java:4",
    ]
    assert "src/main/java/org/app/Star.java::Star" in code.heirs("src/main/java/org/shop/Base.java::Base")
    assert code.unresolved(f"{client}.send") == ["src/main/java/org/app/Other.java:4"]


def test_a_trait_of_rust_comes_from_an_inline_module_that_exports_it_again(open_files: Open) -> None:
    code = open_files(
        {
            "Cargo.toml": '[package]\nname = "ship"\n',
            "src/lib.rs": "mod deep;\npub mod old {\n    pub use crate::deep::Sail;\n}\npub struct Hull;\n",
            "src/deep.rs": "pub trait Sail {\n    fn set(&self);\n}\n",
            "src/boat.rs": "use crate::old::Sail;\n\npub struct Boat;\n\nimpl Sail for Boat {\n    fn set(&self) {}\n}",
        }
    )
    assert code.heirs("src/deep.rs::Sail") == ["src/boat.rs::Boat"]
    assert code.uses("src/deep.rs::Sail") == ["src/boat.rs:1 import", "src/boat.rs:5 use", "src/lib.rs:3 import"]
    definition = code.relations.named("src/deep.rs", "Sail")
    assert definition is not None
    assert [(one.path, one.line) for one in code.relations.told_heirs(definition).heads] == [("src/boat.rs", 5)]


def test_types_of_one_name_in_several_files_are_told_with_a_block_each(open_files: Open) -> None:
    boat = "use ship::Sail;\n\npub struct Boat;\n\nimpl Sail for Boat {\n    fn set(&self) {}\n}\n"
    code = open_files(
        {
            "Cargo.toml": '[package]\nname = "ship"\n',
            "src/lib.rs": "pub mod old;\npub mod new;\n\npub trait Sail {\n    fn set(&self);\n}\n",
            "src/old.rs": boat.replace("ship::", "crate::"),
            "src/new.rs": "\n" + boat.replace("ship::", "crate::"),
            "tests/boat.rs": "\n\n" + boat,
        }
    )
    definition = code.relations.named("src/lib.rs", "Sail")
    assert definition is not None
    heads = code.relations.told_heirs(definition).heads
    assert [(one.path, one.line) for one in heads] == [("src/new.rs", 6), ("src/old.rs", 5), ("tests/boat.rs", 7)]


def test_the_name_of_a_function_that_is_a_value_is_known_inside_it_alone(open_files: Open) -> None:
    code = open_files(
        {
            "lib/a.js": (
                "var send = require('send');\n\nvar res = module.exports = {};\n\n"
                "res.send = function send(body) {\n  return body ? send(null) : 1;\n};\n\n"
                "res.file = function file(path) {\n  return send(path);\n};\n"
            )
        }
    )
    assert [(site.path, site.line) for site in code.sites("lib/a.js::res.send")] == [("lib/a.js", 6)]


def test_a_field_of_java_is_called_without_this_also_one_that_is_inherited(open_files: Open) -> None:
    code = open_files(
        JAVA
        | {
            "src/main/java/org/shop/Uses.java": (
                "package org.shop;\n\nclass Uses {\n    protected final Client _client;\n"
                "    int run() { return _client.send(1); }\n    void end() { _client.close(); }\n}\n"
            ),
            "src/main/java/org/shop/Heir.java": (
                "package org.shop;\n\nclass Heir extends Uses {\n    int more() { return _client.send(3); }\n}\n"
            ),
        }
    )
    assert code.callers("src/main/java/org/shop/Client.java::Client.send") == [
        "src/main/java/org/shop/Heir.java:4",
        "src/main/java/org/shop/Uses.java:5",
    ]
    assert code.callers("src/main/java/org/shop/Base.java::Base.close") == ["src/main/java/org/shop/Uses.java:6"]


GO = {
    "go.mod": "module example.com/shop\n",
    "errors/errors.go": "package errors\n\nfunc New(text string) error {\n\treturn nil\n}\n",
    "breaker.go": (
        "package shop\n\ntype throttle interface {\n\tdoReq(run func() error, n int) error\n\tname() string\n}\n\n"
        "type breaker struct{ throttle throttle }\n\n"
        "func (b *breaker) Do() error {\n\treturn b.throttle.doReq(nil, 1)\n}\n"
    ),
    "google.go": (
        "package shop\n\ntype google struct{}\n\nfunc (g *google) doReq(run func() error, n int) error {\n"
        '\treturn nil\n}\n\nfunc (g *google) name() string {\n\treturn ""\n}\n'
    ),
    "half.go": "package shop\n\ntype half struct{}\n\nfunc (h *half) doReq(n int) error {\n\treturn nil\n}\n",
}


def test_a_call_through_an_interface_of_go_may_mean_each_type_that_has_its_methods(open_files: Open) -> None:
    code = open_files(GO)
    (site,) = code.sites("google.go::google.doReq")
    assert (site.path, site.line, site.certainty, site.through) == (
        "breaker.go",
        11,
        CALL_INHERITED,
        "throttle.doReq",
    )
    assert code.sites("half.go::half.doReq") == []
    assert code.unresolved("half.go::half.doReq") == []
    assert code.heirs("breaker.go::throttle") == ["google.go::google"]
    assert code.heirs("breaker.go::throttle.doReq") == ["google.go::google.doReq"]


def test_an_interface_of_go_with_one_method_and_comments_is_implemented_by_its_methods(open_files: Open) -> None:
    code = open_files(
        {
            "go.mod": "module example.com/shop\n",
            "picker.go": (
                "package shop\n\ntype Picker interface {\n\t// Pick returns the next one.\n\t//\n"
                "\t// Pick should not block.\n\tPick(n int) error\n}\n"
            ),
            "first.go": "package shop\n\ntype first struct{}\n\nfunc (f *first) Pick(int) error {\n\treturn nil\n}\n",
            "named.go": "package shop\n\ntype named struct {\n\tPicker\n}\n",
        }
    )
    assert code.heirs("picker.go::Picker") == ["first.go::first", "named.go::named"]


def test_an_import_of_go_is_a_folder_of_the_module_and_never_the_standard_library(open_files: Open) -> None:
    code = open_files(
        GO
        | {
            "cmd/own.go": 'package main\n\nimport "example.com/shop/errors"\n\nvar made = errors.New("a")\n',
            "cmd/std.go": 'package main\n\nimport "errors"\n\nvar other = errors.New("a")\n',
        }
    )
    store = code.relations.code.store
    places = store.places(row for row in store.first_rows(Kind.CODE, ["cmd/own.go", "cmd/std.go"]).values())
    assert [places[row].key for row, _ in import_targets(store, list(places.values()))] == ["cmd/own.go"]
    (errors,) = store.places(store.first_rows(Kind.CODE, ["errors/errors.go"]).values()).values()
    users = store.places(row for _, row in importers(store, [errors]))
    assert [place.key for place in users.values()] == ["cmd/own.go"]


def test_a_name_may_have_its_package_or_module_before_it(open_files: Open) -> None:
    code = open_files(PYTHON_MODULES | GO | JAVA).relations.code
    for name, expected in (
        ("shop.tools.send", "shop/tools.py"),
        ("tools.send", "shop/tools.py"),
        ("errors.New", "errors/errors.go"),
        ("org.shop.Client.send", "src/main/java/org/shop/Client.java"),
    ):
        assert [one.path for one in definitions_named(code, name)] == [expected], name
    assert definitions_named(code, "nowhere.send") == []


PYTHON_MODULES = {"shop/tools.py": "def send():\n    pass\n", "shop/other.py": "def send():\n    pass\n"}


RUST = {
    "Cargo.toml": '[package]\nname = "the-shop"\n',
    "src/lib.rs": "mod order;\npub mod ship;\npub use self::{order::Order, ship::{pack, Ship}};\n",
    "src/order.rs": (
        "pub struct Order;\n\npub trait Price {\n    fn price(&self) -> u32;\n}\n\n"
        "impl Order {\n    pub fn new() -> Self {\n        Order\n    }\n}\n"
    ),
    "src/ship.rs": (
        "use crate::order::{Order, Price};\n\npub struct Ship;\n\npub fn pack() {}\n\n"
        "impl Price for Order {\n    fn price(&self) -> u32 {\n        3\n    }\n}\n\n"
        "impl Price for Ship {\n    fn price(&self) -> u32 {\n        4\n    }\n}\n"
    ),
    "src/bin/tool/main.rs": (
        "use the_shop::{pack, Order};\n\nfn main() {\n    pack();\n    let order = Order::new();\n"
        "    the_shop::ship::pack();\n    assert!(order.price() > 2);\n}\n"
    ),
    "src/wide.rs": "cfg_io! {\n    pub fn wide() {\n        crate::Order::new();\n        crate::pack();\n    }\n}\n",
}


def test_a_binary_of_rust_calls_the_library_through_what_it_exports_again(open_files: Open) -> None:
    code = open_files(RUST)
    assert code.callers("src/ship.rs::pack") == ["src/wide.rs:4", "src/bin/tool/main.rs:4", "src/bin/tool/main.rs:6"]
    assert code.callers("src/order.rs::Order.new") == ["src/wide.rs:3", "src/bin/tool/main.rs:5"]


def test_implementations_of_a_trait_for_types_of_other_files_and_calls_in_macros(open_files: Open) -> None:
    code = open_files(RUST)
    assert [one.partition("::")[2] for one in code.heirs("src/order.rs::Price")] == ["Ship", "Order"]
    assert "src/bin/tool/main.rs:7" in code.callers("src/ship.rs::Order.price")


def test_a_method_on_an_unknown_value_is_that_of_the_one_imported_trait_that_has_it(open_files: Open) -> None:
    other = "pub trait Tax {\n    fn price(&self) -> u32;\n    fn rate(&self) -> u32;\n}\n"
    call = "fn run() {\n    for one in every() {\n        one.price();\n    }\n}\n"
    code = open_files(
        RUST
        | {
            "src/tax.rs": other,
            "src/one.rs": f"use std::fmt::Write;\nuse crate::order::Price;\n\n{call}",
            "src/two.rs": f"use crate::order::Price;\nuse crate::tax::Tax;\n\n{call}",
            "src/none.rs": f"use crate::order::Order;\n\n{call}",
        }
    )
    found = code.callers("src/order.rs::Price.price")
    assert "src/one.rs:6" in found
    assert not {"src/two.rs:6", "src/none.rs:5"} & set(found)


def test_a_macro_among_the_items_of_a_module_hides_no_call_below_it(open_files: Open) -> None:
    text = (
        "use crate::pack;\n\nmod tests {\n    use super::*;\n\n    check!(one, two);\n\n"
        "    fn run(thing: Thing) {\n        assert!(thing.price() > 1);\n        pack();\n    }\n}\n"
    )
    code = open_files(RUST | {"src/wide.rs": text})
    assert "src/wide.rs:10" in code.callers("src/ship.rs::pack")
    assert code.unresolved("src/ship.rs::Ship.price") == ["src/wide.rs:9"]


def test_an_overloaded_function_is_its_implementation(open_files: Open) -> None:
    code = open_files(
        {
            "shop.py": (
                "import typing as t\n\n\n@t.overload\ndef send(x: int) -> int: ...\n@t.overload\n"
                "def send(x: str) -> str: ...\ndef send(x):\n    return x\n"
            ),
            "shop.ts": (
                "export class Shop {\n  send(x: number): number\n  send(x: string): string\n"
                "  send(x: any) {\n    return x\n  }\n}\n"
            ),
        }
    )
    for path, name, line in (("shop.py", "send", 8), ("shop.ts", "Shop.send", 4)):
        definition = code.relations.named(path, name)
        assert definition is not None
        assert definition.line == line


CPP = {
    "shop/iterator.h": (
        "#define SHOP_EXPORT\nnamespace shop {\nclass SHOP_EXPORT Iterator {\n public:\n"
        "  virtual void Seek(int x) = 0;\n  virtual const char* Name() const = 0;\n};\n}\n"
    ),
    "shop/list.h": (
        "namespace shop {\nclass List {\n public:\n  class Iterator {\n   public:\n    void Seek(int x) {}\n  };\n"
        "};\n}\n"
    ),
    "shop/db.h": '#include "iterator.h"\nnamespace shop {\nclass Db {\n  void Run();\n  Iterator* iter_;\n};\n}\n',
    "shop/db.cc": (
        '#include "db.h"\nnamespace shop {\nvoid Db::Run() {\n  iter_->Seek(1);\n  std::string s;\n'
        "  s.Seek(2);\n  Db other;\n  other.Run();\n}\n}\n"
    ),
}


def test_fields_locals_and_pure_virtual_methods_of_cpp(open_files: Open) -> None:
    code = open_files(CPP)
    assert code.callers("shop/iterator.h::shop.Iterator.Seek") == ["shop/db.cc:4"]
    assert code.callers("shop/list.h::shop.List.Iterator.Seek") == []
    assert code.callers("shop/db.cc::shop.Db.Run") == ["shop/db.cc:8"]


def test_properties_and_namespaces_of_csharp(open_files: Open) -> None:
    code = open_files(
        {
            "Core/Logger.cs": "namespace Shop.Core;\n\nclass Logger\n{\n    public void Dispose() { }\n}\n",
            "Sink.cs": "namespace Shop;\n\nclass Sink\n{\n    public Config Logger(int x) => null;\n}\n",
            "Config.cs": (
                "using Shop.Core;\nnamespace Shop;\n\nclass Config\n{\n    public Sink WriteTo { get; }\n"
                "    public Logger Create() => new Logger();\n}\n"
            ),
            "Use.cs": (
                "namespace Shop;\n\nclass Use\n{\n    void Run()\n    {\n        var config = new Config();\n"
                "        config.WriteTo.Logger(1).Create().Dispose();\n    }\n}\n"
            ),
        }
    )
    assert code.callers("Core/Logger.cs::Shop.Core.Logger.Dispose") == ["Use.cs:8"]
    assert code.callers("Sink.cs::Shop.Sink.Logger") == ["Use.cs:8"]
