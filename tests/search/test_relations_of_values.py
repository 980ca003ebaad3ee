"""What is called on a value: found by the type that a lambda, a loop, a collection, a comment or a table gives it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository


class Case(NamedTuple):
    """Files, the function that is asked about, the lines that call it, and lines that call another one of its name."""

    files: dict[str, str]
    asked: str
    calls: dict[str, str]
    others: dict[str, str]


KOTLIN_SHOP = {
    "src/shop/Item.kt": "package shop\n\nclass Item {\n  fun weigh() = 1\n}\n\nclass Other {\n  fun weigh() = 2\n}\n",
}
SCALA_SHOP = {
    "src/shop/Item.scala": "package shop\n\nclass Item {\n  def weigh: Int = 1\n  def /(x: String): Item = this\n}\n\n"
    "class Other {\n  def weigh: Int = 2\n}\n",
}
SWIFT_SHOP = {
    "Sources/Item.swift": "struct Item {\n    func weigh() -> Int { 1 }\n}\nstruct Other {\n"
    "    func weigh() -> Int { 2 }\n}\n",
}
PHP_SHOP = {
    "src/Item.php": "<?php\nnamespace Shop;\nclass Item {\n    public function weigh() { return 1; }\n}\n",
    "src/Other.php": "<?php\nnamespace Shop;\nclass Other {\n    public function weigh() { return 2; }\n}\n",
}
CASES = {
    "kotlin: a scope function, an element and a loop": Case(
        KOTLIN_SHOP
        | {
            "src/shop/Use.kt": "package shop\n\nfun use(item: Item, all: List<Item>, others: List<Other>) {\n"
            "  item.let { it.weigh() }\n  item.apply { weigh() }\n  with(item) { weigh() }\n"
            "  all.map { it.weigh() }\n  for (each in all) { each.weigh() }\n  all[0].weigh()\n"
            "  others.map { it.weigh() }\n}\n"
        },
        "shop/Item.kt::Item.weigh",
        {"src/shop/Use.kt": "4, 5, 6, 7, 8, 9"},
        {"src/shop/Use.kt": "10"},
    ),
    "kotlin: a function that takes a lambda": Case(
        KOTLIN_SHOP
        | {
            "src/shop/Use.kt": "package shop\n\nfun withItem(block: (Item) -> Int) = block(Item())\n"
            "fun inItem(block: Item.() -> Int) = Item().block()\nfun use() {\n  withItem { item -> item.weigh() }\n"
            "  withItem { it.weigh() }\n  inItem { weigh() }\n}\n"
        },
        "shop/Item.kt::Item.weigh",
        {"src/shop/Use.kt": "6, 7, 8"},
        {},
    ),
    "kotlin: an alias of a function with a receiver, and an extension that no receiver has": Case(
        KOTLIN_SHOP
        | {
            "src/shop/Use.kt": "package shop\n\nclass Scope {\n  fun weigh() = 3\n}\n\nfun Other.weigh() = 4\n\n"
            "typealias Definition<T> = Item.(Int) -> T\nfun <T> single(definition: Definition<T>) = 1\n"
            "fun use() {\n  single { weigh() }\n  unknown { weigh() }\n}\n"
        },
        "shop/Item.kt::Item.weigh",
        {"src/shop/Use.kt": "12"},
        {"src/shop/Use.kt": "13"},
    ),
    "kotlin: an extension of the package, and of another type": Case(
        {
            "src/shop/Item.kt": "package shop\n\nclass Item\n\nclass Other\n\nfun Item.weigh() = 1\n",
            "src/shop/Use.kt": "package shop\n\nfun use(item: Item, other: Other) {\n  item.weigh()\n"
            "  other.weigh()\n}\n",
        },
        "shop/Item.kt::Item.weigh",
        {"src/shop/Use.kt": "4"},
        {"src/shop/Use.kt": "5"},
    ),
    "kotlin: an object without a name": Case(
        {
            "src/shop/Base.kt": "package shop\n\nopen class Base {\n  fun weigh() = 1\n  fun twice() = weigh() * 2\n}",
            "src/shop/Use.kt": "package shop\n\nval made = object : Base() {\n  fun more() = weigh()\n}\n",
        },
        "shop/Base.kt::Base.weigh",
        {"src/shop/Base.kt": "5", "src/shop/Use.kt": "4"},
        {},
    ),
    "kotlin: a class with a name in backticks": Case(
        {"src/shop/Tick.kt": "package shop\n\nclass `-Tick` {\n  fun tock() = 1\n  fun both() = tock()\n}\n"},
        "shop/Tick.kt::-Tick.tock",
        {"src/shop/Tick.kt": "5"},
        {},
    ),
    "scala: an element, a case and an operator": Case(
        SCALA_SHOP
        | {
            "src/shop/Use.scala": "package shop\n\nobject Use {\n"
            "  def use(all: List[Item], item: Item, rest: Item*) = {\n"
            "    all.map(_.weigh)\n    all.map(x => x.weigh)\n    all filter { case x => x.weigh == 1 }\n"
            '    for (x <- all) yield x.weigh\n    val half = item / "half"\n    half.weigh\n    rest.map(_.weigh)\n'
            "    item match { case other: Other => other.weigh }\n  }\n}\n"
        },
        "shop/Item.scala::Item.weigh",
        {"src/shop/Use.scala": "5, 6, 7, 8, 10, 11"},
        {"src/shop/Use.scala": "12"},
    ),
    "scala: a class without a name": Case(
        SCALA_SHOP
        | {
            "src/shop/Use.scala": "package shop\n\nobject Use {\n  val made = new Item {\n    weigh\n"
            "    println(weigh())\n  }\n}\n"
        },
        "shop/Item.scala::Item.weigh",
        {"src/shop/Use.scala": "6"},
        {},
    ),
    "scala: a package object, an alias and a companion": Case(
        {
            "src/shop/package.scala": "package shop\n\npackage object data {\n  type Pack[A] = IndexedPack[A, A]\n"
            "  val Pack = IndexedPack\n}\n",
            "src/shop/data/IndexedPack.scala": "package shop\npackage data\n\nclass IndexedPack[A, B] {\n"
            "  def open: A = ???\n}\n\n"
            "object IndexedPack extends BoxFunctions\n\ntrait BoxFunctions {\n  def pure: Int = 1\n}\n",
            "src/other/Use.scala": "package other\n\nimport shop.data.Pack\n\nobject Use {\n"
            "  def use(box: Pack[Int]) = box.open\n  val made = Pack.pure\n}\n",
        },
        "shop/data/IndexedPack.scala::IndexedPack.open",
        {"src/other/Use.scala": "6"},
        {},
    ),
    "scala: a function of the base of a companion": Case(
        {
            "src/shop/Box.scala": "package shop\n\nclass Box {\n  def open: Int = 1\n}\n\n"
            "object Box extends BoxFunctions {\n"
            "  def other: Int = 1\n}\n\ntrait BoxFunctions {\n  def pure(x: Int): Int = 1\n}\n",
            "src/shop/Use.scala": "package shop\n\nobject Use {\n  val made = Box.pure(1)\n}\n",
        },
        "shop/Box.scala::BoxFunctions.pure",
        {"src/shop/Use.scala": "4"},
        {},
    ),
    "scala: an implicit class": Case(
        SCALA_SHOP
        | {
            "src/shop/syntax.scala": "package shop\n\nobject syntax {\n"
            "  implicit def toItemOps(item: Item): ItemOps = new ItemOps(item)\n"
            "  final class ItemOps(val self: Item) {\n    def price(x: Int): Int = x\n  }\n}\n",
            "src/shop/Use.scala": "package shop\n\nimport shop.syntax._\n\nobject Use {\n"
            "  def use(item: Item) = item.price(1)\n}\n",
        },
        "shop/syntax.scala::ItemOps.price",
        {"src/shop/Use.scala": "6"},
        {},
    ),
    "swift: a closure, an element and an expected type": Case(
        SWIFT_SHOP
        | {
            "Sources/Use.swift": "func withItem(_ block: (Item) -> Int) -> Int { block(Item()) }\n"
            "func use(all: [Item], others: [Other]) {\n    withItem { item in item.weigh() }\n"
            "    withItem { $0.weigh() }\n    for item in all { item.weigh() }\n    all.map { $0.weigh() }\n"
            "    others.map { $0.weigh() }\n}\n"
        },
        "Sources/Item.swift::Item.weigh",
        {"Sources/Use.swift": "3, 4, 5, 6"},
        {"Sources/Use.swift": "7"},
    ),
    "swift: a member of the type that is expected": Case(
        {
            "Sources/Address.swift": "enum Address {\n    case socket(path: String)\n}\nenum Other {\n"
            "    case socket(path: String)\n}\n",
            "Sources/Use.swift": "struct Server {\n    init(address: Address) {}\n}\n"
            "func listen(on address: Address) {}\n"
            'func use() -> Address {\n    listen(on: .socket(path: "a"))\n    let made: Address = .socket(path: "b")\n'
            '    let server = Server(address: .socket(path: "c"))\n    let other: Other = .socket(path: "d")\n'
            '    return .socket(path: "e")\n}\n',
        },
        "Sources/Address.swift::Address.socket",
        {"Sources/Use.swift": "6, 7, 8, 10"},
        {"Sources/Use.swift": "9"},
    ),
    "swift: an attribute is no type that nothing makes an attribute": Case(
        {
            "Sources/Wrapped.swift": "@propertyWrapper\nstruct Wrapped {\n    init(name: String) {}\n}\n",
            "Tests/Use.swift": 'struct Uses {\n    @Wrapped(name: "a") var x: Int\n}\n',
        },
        "Sources/Wrapped.swift::Wrapped",
        {"Tests/Use.swift": "2"},
        {},
    ),
    "csharp: an attribute": Case(
        {
            "src/FastAttribute.cs": "namespace Tools;\n\npublic class FastAttribute : System.Attribute\n{\n}\n",
            "src/Fast.cs": "namespace Tools;\n\npublic class Fast\n{\n}\n",
            "src/Use.cs": "using Tools;\n\npublic class Uses\n{\n    [Fast]\n    public int Slow() => 1;\n}\n",
        },
        "src/FastAttribute.cs::Tools.FastAttribute",
        {"src/Use.cs": "5"},
        {},
    ),
    "php: comments tell elements and variables": Case(
        PHP_SHOP
        | {
            "src/Use.php": "<?php\nnamespace Shop;\nclass Uses {\n    /** @var Item[] */\n    private $items = [];\n"
            "    /** @return array<int, Item> */\n    public function all() { return $this->items; }\n"
            "    public function use() {\n        foreach ($this->items as $item) { $item->weigh(); }\n"
            "        $this->items[0]->weigh();\n        $all = $this->all();\n        $all[1]->weigh();\n"
            "        /** @var Other $other */\n        foreach ($x as $other) {\n            $other->weigh();\n"
            "        }\n    }\n}\n",
        },
        "src/Item.php::Shop.Item.weigh",
        {"src/Use.php": "9, 10, 12"},
        {"src/Use.php": "15"},
    ),
    "php: a mock, a container and a mixed-in class": Case(
        PHP_SHOP
        | {
            "src/Front.php": "<?php\nnamespace Shop;\n/**\n * @mixin \\Shop\\Item\n */\nclass Front {\n}\n",
            "tests/UseTest.php": "<?php\nnamespace Shop\\Tests;\nuse Shop\\Front;\nuse Shop\\Item;\n"
            "class UseTest extends TestCase {\n    public function testIt() {\n"
            "        $this->createMock(Item::class)->weigh();\n"
            "        $made = $this->getMockBuilder(Item::class)->onlyMethods([])->getMock();\n"
            "        $made->weigh();\n        $front = new Front();\n        $front->weigh();\n    }\n}\n",
        },
        "src/Item.php::Shop.Item.weigh",
        {"tests/UseTest.php": "7, 9, 11"},
        {},
    ),
    "lua: a table behind, a field, and a module that loads others": Case(
        {
            "lua/shop/item.lua": "local Item = {}\nItem.__index = Item\nfunction Item.new()\n"
            "  return setmetatable({ n = 1 }, Item)\nend\n"
            "function Item:weigh()\n  return self.n\nend\nreturn Item\n",
            "lua/shop/box.lua": "local Item = require('shop.item')\nlocal Box = {}\nBox.__index = Box\n"
            "function Box.new()\n"
            "  local self = setmetatable({}, Box)\n  self.item = Item.new()\n  return self\nend\n"
            "function Box:total()\n  return self.item:weigh()\nend\nreturn Box\n",
            "lua/use.lua": "local Item = require('shop.item')\nlocal item = Item.new()\nitem:weigh()\n",
        },
        "lua/shop/item.lua::Item.weigh",
        {"lua/shop/box.lua": "10", "lua/use.lua": "3"},
        {},
    ),
    "lua: a module that loads others by computed names": Case(
        {
            "lua/fs.lua": "local fs = {}\nlocal function load(name)\n  local found = require(name)\n"
            "  for k, v in pairs(found) do fs[k] = v end\nend\nload('fs.unix')\nreturn fs\n",
            "lua/fs/unix.lua": "local unix = {}\nfunction unix.absolute(path)\n  return path\nend\nreturn unix\n",
            "lua/use.lua": "local fs = require('fs')\nfs.absolute('a')\n",
        },
        "lua/fs/unix.lua::unix.absolute",
        {"lua/use.lua": "2"},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_question_who_calls_a_function_lists_the_calls_on_values_of_its_class(case: Case, tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "repository")
    repository.commit("Add", case.files)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        text = satchel.assemble(f"who calls `{case.asked}`", max_tokens=3_000).text
    resolved = re.sub(r"- \d+ more lines? [^\n]*", "", text)
    for path, lines in case.calls.items():
        assert f"{path}: {lines}" in resolved
    for path, line in case.others.items():
        assert not re.search(rf"{re.escape(path)}: [^\n]*\b{line}\b", resolved)


def test_a_type_that_cannot_be_made_or_written_as_an_attribute_is_not_meant(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "repository")
    repository.commit(
        "Add",
        {
            "src/Codes.cs": "namespace Tools;\n\npublic enum Codes\n{\n    Decimal,\n    Big,\n}\n",
            "src/Use.cs": "namespace Tools;\n\npublic class Uses\n{\n    public object Make() => new Big(1);\n}\n",
            "Tests/Helpers.swift": "enum Check {\n    static let url = 1\n}\n",
            "Tests/Use.swift": "struct Uses {\n    @Check func works() {}\n}\n",
        },
    )
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        assert "5" not in re.findall(r"^- src/Use.cs: (.*)$", satchel.assemble("what uses Codes.Big").text, re.M)
        assert not re.findall(r"^- Tests/Use.swift: ", satchel.assemble("what uses Check").text, re.M)
