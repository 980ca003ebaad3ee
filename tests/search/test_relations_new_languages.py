"""Calls, fields and bases in Kotlin, Swift, Scala, PHP and Lua."""

from __future__ import annotations

from pathlib import Path

from satchel import Satchel
from satchel.testing import TinyRepository
from tests.search.conftest import Open
from tests.search.listed import asked
from tests.search.listed import folder as folder

KOTLIN = {
    "src/shop/Client.kt": (
        "package org.shop\n\n"
        "open class Client(val base: Base) : Base(), Closer {\n"
        "  private val store = Store()\n"
        "  lateinit var late: Store\n"
        "  val lazily by lazy { Store() }\n"
        "  fun send(x: Int): Store {\n"
        "    store.put(x)\n"
        "    late.put(x)\n"
        "    lazily.put(x)\n"
        "    this.base.stop()\n"
        "    ready()\n"
        "    return store\n"
        "  }\n"
        "  companion object {\n"
        "    fun of(x: Int): Client = Client(Base())\n"
        "  }\n"
        "}\n"
    ),
    "src/shop/Base.kt": (
        "package org.shop\n\ninterface Closer {\n  fun close()\n}\n\nopen class Base {\n  fun stop() {\n  }\n"
        "  fun ready() {\n  }\n}\n\nclass Store {\n  fun put(x: Int) {\n  }\n}\n\n"
        "fun Store.twice() = put(2)\n\nfun helper(x: Int) = x\n"
    ),
    "other/Use.kt": (
        "package org.other\n\nimport org.shop.Client\nimport org.shop.helper as help\nimport org.shop.twice\n\n"
        "fun use(client: Client?) {\n"
        "  client?.send(1)!!.put(2)\n"
        "  Client.of(3).send(4)\n"
        "  val made = Client.of(5)\n"
        "  made.base.stop()\n"
        "  made.send(6).twice()\n"
        "  help(7)\n"
        "}\n"
    ),
    "other/Away.kt": "package org.away\n\nfun away(store: Store) = store.put(1)\n",
}


def test_kotlin_resolves_members_packages_extensions_and_companions(open_files: Open) -> None:
    code = open_files(KOTLIN)
    base, client = "src/shop/Base.kt", "src/shop/Client.kt::Client"
    assert code.callers(f"{base}::Store.put") == [
        "src/shop/Base.kt:19",
        "src/shop/Client.kt:8",
        "src/shop/Client.kt:9",
        "src/shop/Client.kt:10",
        "other/Use.kt:8",
    ]
    assert code.unresolved(f"{base}::Store.put") == ["other/Away.kt:3"]
    assert code.callers(f"{client}.send") == ["other/Use.kt:8", "other/Use.kt:9", "other/Use.kt:12"]
    assert code.callers(f"{client}.of") == ["other/Use.kt:9", "other/Use.kt:10"]
    assert code.callers(f"{base}::Base.stop") == ["src/shop/Client.kt:11", "other/Use.kt:11"]
    assert code.callers(f"{base}::Base.ready") == ["src/shop/Client.kt:12"]
    assert code.callers(f"{base}::Store.twice") == ["other/Use.kt:12"]
    assert code.callers(f"{base}::helper") == ["other/Use.kt:13"]
    assert code.heirs(f"{base}::Closer") == [client]
    assert code.heirs(f"{base}::Base") == [client]


SWIFT = {
    "Sources/Client.swift": (
        "public final class Client: Base, Closer {\n"
        "    private let store: Store\n"
        "    lazy var other = Store()\n"
        "    init(store: Store) { self.store = store }\n"
        "    func send(_ x: Int) throws -> Store? {\n"
        "        store.put(x)\n"
        "        other.put(x)\n"
        "        ready()\n"
        "        guard let found = Store.find() else { return nil }\n"
        "        found.put(x)\n"
        "        return store\n"
        "    }\n"
        "}\n"
    ),
    "Sources/Base.swift": (
        "class Base {\n    func ready() {}\n}\n\nprotocol Closer {\n    func close()\n}\n\n"
        "struct Store {\n    static func find() -> Store? { nil }\n    func put(_ x: Int) {}\n}\n\n"
        "extension Store: Closer {\n    func close() { put(1) }\n}\n\nfunc helper(_ x: Int) -> Client { make(x) }\n"
    ),
    "Sources/Use.swift": (
        "func use(_ client: Client?) throws {\n"
        "    try client?.send(1)?.put(2)\n"
        "    if let client { try client.send(3)!.close() }\n"
        "    try helper(4).send(5)\n"
        "    unknown.put(6)\n"
        "}\n"
    ),
}


def test_swift_resolves_members_extensions_and_optional_values(open_files: Open) -> None:
    code = open_files(SWIFT)
    base, client = "Sources/Base.swift", "Sources/Client.swift::Client"
    assert code.callers(f"{base}::Store.put") == [
        "Sources/Base.swift:15",
        "Sources/Client.swift:6",
        "Sources/Client.swift:7",
        "Sources/Client.swift:10",
        "Sources/Use.swift:2",
    ]
    assert code.unresolved(f"{base}::Store.put") == ["Sources/Use.swift:5"]
    assert code.callers(f"{client}.send") == ["Sources/Use.swift:2", "Sources/Use.swift:3", "Sources/Use.swift:4"]
    assert code.callers(f"{base}::Store.find") == ["Sources/Client.swift:9"]
    assert code.callers(f"{base}::Base.ready") == ["Sources/Client.swift:8"]
    assert code.callers(f"{base}::Store.close") == ["Sources/Use.swift:3"]
    assert code.callers(f"{base}::helper") == ["Sources/Use.swift:4"]
    assert code.heirs(f"{base}::Closer") == [f"{base}::Store", client]
    assert code.heirs(f"{base}::Base") == [client]


SCALA = {
    "src/shop/Client.scala": (
        "package org.shop\n\n"
        "class Client[F[_]](val base: Base)(implicit F: Effect[F]) extends Base with Closer {\n"
        "  private val store = new Store()\n"
        "  def send(x: Int): Store = {\n"
        "    store.put(x)\n"
        "    base.ready\n"
        "    F.lift(x)(store)\n"
        "    ready\n"
        "    store\n"
        "  }\n"
        "}\n\n"
        "object Client {\n  def of(x: Int): Client[Id] = new Client[Id](new Base)\n}\n"
    ),
    "src/shop/Base.scala": (
        "package org\npackage shop\n\n"
        "class Base {\n  def ready: Int = 1\n}\n\ntrait Closer {\n  def close(): Unit\n}\n\n"
        "class Store {\n  def put(x: Int): Store = this\n}\n\ntrait Effect[F[_]] {\n  def lift(x: Int): F[Int]\n}\n\n"
        "object tools {\n  def helper(x: Int): Int = x\n}\n"
    ),
    "src/other/Use.scala": (
        "package org.other\n\nimport org.shop.{Client => Buyer, Store}\nimport org.shop.tools._\n\n"
        "object Use {\n"
        "  def use(client: Buyer[Id]): Int = {\n"
        "    client.send(1).put(2)\n"
        "    val made = Buyer.of(4)\n"
        "    made.send(5)\n"
        "    helper(6)\n"
        "  }\n"
        "}\n"
    ),
}


def test_scala_resolves_members_packages_selectors_and_parameters(open_files: Open) -> None:
    code = open_files(SCALA)
    base, client = "src/shop/Base.scala", "src/shop/Client.scala::Client"
    assert code.callers(f"{base}::Store.put") == ["src/shop/Client.scala:6", "src/other/Use.scala:8"]
    assert code.callers(f"{client}.send") == ["src/other/Use.scala:8", "src/other/Use.scala:10"]
    assert code.callers(f"{client}.of") == ["src/other/Use.scala:9"]
    assert code.callers(f"{base}::Effect.lift") == ["src/shop/Client.scala:8"]
    assert code.callers(f"{base}::Base.ready") == ["src/shop/Client.scala:7"]
    assert code.callers(f"{base}::tools.helper") == ["src/other/Use.scala:11"]
    assert code.heirs(f"{base}::Closer") == [client]


PHP = {
    "src/Client.php": (
        "<?php\nnamespace Org\\Shop;\n\nuse Org\\Store\\Disk as Store;\n\n"
        "class Client extends Base implements Closer\n{\n"
        "    private Store $store;\n"
        "    public function __construct(Store $store, private readonly Base $base) { $this->other = new Store(); }\n"
        "    public function send(int $x): ?Store\n    {\n"
        "        $this->store->put($x);\n"
        "        $this->other->put($x);\n"
        "        $this->base->ready();\n"
        "        $made = new Store();\n"
        "        $made->put($x);\n"
        "        self::check();\n"
        "        parent::ready();\n"
        "        return $this->store;\n    }\n"
        "    private static function check(): void {}\n}\n"
    ),
    "src/Base.php": (
        "<?php\nnamespace Org\\Shop;\n\ninterface Closer {}\n\nclass Base {\n    public function ready() {}\n}\n"
    ),
    "src/Disk.php": "<?php\nnamespace Org\\Store;\n\nclass Disk {\n    public function put($x) {}\n}\n",
    "src/Other.php": (
        "<?php\nnamespace Org\\Other;\n\nclass Disk {\n    public function put($x) { $this->check(); }\n"
        "    private function check() {}\n}\n\n"
        "function use_it(\\Org\\Shop\\Client $client) {\n    $client->send(1)->put(2);\n    $unknown->put(3);\n}\n"
    ),
}


def test_php_resolves_typed_properties_parameters_and_new_objects(open_files: Open) -> None:
    code = open_files(PHP)
    client = "src/Client.php::Org.Shop.Client"
    assert code.callers("src/Disk.php::Org.Store.Disk.put") == [
        "src/Client.php:12",
        "src/Client.php:13",
        "src/Client.php:16",
        "src/Other.php:10",
    ]
    assert code.callers("src/Other.php::Org.Other.Disk.put") == []
    assert code.callers(f"{client}.send") == ["src/Other.php:10"]
    assert code.callers("src/Base.php::Org.Shop.Base.ready") == ["src/Client.php:14", "src/Client.php:18"]
    assert code.callers(f"{client}.check") == ["src/Client.php:17"]
    assert code.callers("src/Other.php::Org.Other.Disk.check") == ["src/Other.php:5"]
    assert code.heirs("src/Base.php::Org.Shop.Closer") == [client]


LUA = {
    "lua/shop/client.lua": (
        'local store = require("shop.store")\nlocal Client = {}\nClient.__index = Client\n\n'
        "local function check(x) return x end\n\n"
        "function Client.new(x)\n"
        "  local self = setmetatable({}, Client)\n"
        "  self.store = store.new(x)\n"
        "  return self\n"
        "end\n\n"
        "function Client:send(x)\n"
        "  self:ready()\n"
        "  check(x)\n"
        "  store.find(x)\n"
        "end\n\n"
        "function Client:ready() end\n\n"
        "return Client\n"
    ),
    "lua/shop/store.lua": (
        "local M = {}\nfunction M.new(x) return {} end\nfunction M.find(x) return M.new(x) end\nreturn M\n"
    ),
    "lua/shop/other.lua": "local M = {}\nfunction M.find(x) end\nfunction M.ready() end\nreturn M\n",
    "lua/use.lua": (
        'local Client = require "shop.client"\nlocal made = Client.new(1)\nmade:send(2)\n'
        'require("shop.store").find(3)\nunknown.find(4)\n'
    ),
}


def test_lua_resolves_modules_tables_and_their_objects(open_files: Open) -> None:
    code = open_files(LUA)
    client, store = "lua/shop/client.lua::Client", "lua/shop/store.lua::M"
    assert code.callers(f"{client}.new") == ["lua/use.lua:2"]
    assert code.callers(f"{client}.send") == ["lua/use.lua:3"]
    assert code.callers(f"{client}.ready") == ["lua/shop/client.lua:14"]
    assert code.callers("lua/shop/client.lua::check") == ["lua/shop/client.lua:15"]
    assert code.callers(f"{store}.find") == ["lua/shop/client.lua:16", "lua/use.lua:4"]
    assert code.callers(f"{store}.new") == ["lua/shop/store.lua:3", "lua/shop/client.lua:9"]
    assert code.callers("lua/shop/other.lua::M.find") == []


def test_calls_in_a_language_without_a_grammar_are_told_to_be_found_by_text_only(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "repository")
    repository.commit(
        "Add",
        {
            "src/tank.zig": "pub fn fillTank(x: u8) void {\n    pump(x);\n}\n",
            "src/main.zig": 'const tank = @import("tank.zig");\n\npub fn main() void {\n    tank.fillTank(3);\n}\n',
            "lib/tank.ex": "defmodule Tank do\n  def empty_tank(x), do: x\n\n  def run, do: empty_tank(1)\nend\n",
        },
    )
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        zig = satchel.assemble("who calls fillTank").text
        assert "Calls of fillTank, in zig found by text only:\n- 2 lines contain fillTank(: " in zig
        assert "src/main.zig: 4" in zig
        elixir = satchel.assemble("who calls Tank.empty_tank").text
        heading = "Calls of Tank.empty_tank, in elixir found by text only:"
        assert f"{heading}\n- 1 line contains empty_tank(: lib/tank.ex: 4" in elixir


def test_calls_of_a_name_that_is_defined_outside_are_found_by_text(folder: TinyRepository) -> None:
    files = {
        "src/copy.c": "void fill(char *to) {\n    memcpy(to, source, 3);\n}\n",
        "src/main.go": 'package main\n\nfunc level() string {\n\treturn os.Getenv("LEVEL") + other.Getenv("X")\n}\n',
        "tests/copy.c": "void test_fill(void) {\n    memcpy(a, b, 1);\n}\n",
    }
    copy, level = asked(folder, files, "who calls memcpy", "who calls os.Getenv")
    assert (
        "Calls of memcpy, in c found by text only:\n- 2 lines contain memcpy(: src/copy.c: 2; tests/copy.c: 2" in copy
    )
    assert "Calls of os.Getenv, in go found by text only:\n- 1 line contains os.Getenv(: src/main.go: 4" in level


def test_uses_of_a_name_in_a_language_that_calls_without_parentheses_are_its_lines(folder: TinyRepository) -> None:
    files = {"src/Main.hs": "module Main where\n\nfill tank = pump tank\n\nmain = do\n  fill 3\n"}
    (told,) = asked(folder, files, "who calls fill")
    assert "Uses of fill, in haskell found by text only:\n- 2 lines contain fill: src/Main.hs: 3, 6" in told


def test_a_plain_word_without_a_definition_is_not_listed_by_its_lines(folder: TinyRepository) -> None:
    files = {
        "src/work.py": "def start(count):\n    # threads are started by the pool\n    return pool(count, threads)\n"
    }
    (told,) = asked(folder, files, "which functions use threads")
    assert "found by text only" not in told


def test_calls_of_a_name_with_a_mark_are_found(folder: TinyRepository) -> None:
    files = {
        "lib/tank.ex": (
            "defmodule Tank do\n  def fill!(x), do: x\n\n  def run, do: fill!(1)\n\n  def idle!(x), do: x\nend\n"
        )
    }
    fill, idle = asked(folder, files, "who calls fill!", "who calls idle!")
    assert "- 1 line contains fill!(: lib/tank.ex: 4" in fill
    assert "Calls of Tank.idle!, in elixir found by text only: none" in idle
