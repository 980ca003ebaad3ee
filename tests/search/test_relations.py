"""Calls resolve as each language looks names up: by scope, import and type; what is outside stays outside."""

from __future__ import annotations

import gc
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.search.relations import CALL_GUESSED, CALL_INHERITED, RESOLVED
from satchel.search.resolve import code as resolve
from satchel.search.resolve.code import SourceFile
from satchel.store.records import Document
from satchel.system.cache import Cache
from satchel.text import MAX_WORD_CHARACTERS
from satchel.types import Kind
from tests.search.conftest import Open

PYTHON = {
    "shop/__init__.py": "from .client import Client as ShopClient\nfrom .client import send\n",
    "shop/base.py": "class Base:\n    def close(self):\n        self.flush()\n\n    def flush(self):\n        pass\n",
    "shop/client.py": (
        "from .base import Base\n\n\n"
        "class Client(Base):\n"
        "    def __init__(self, name):\n        self.name = name\n\n"
        "    def get(self):\n        return self.close()\n\n"
        "    def flush(self):\n        super().flush()\n\n"
        "    @property\n    def twin(self) -> 'Client':\n        return Client('twin')\n\n\n"
        "def send(client: Client):\n    return client.get()\n\n\n"
        "def make():\n    made = Client('a')\n    return made\n"
    ),
    "shop/other.py": "class Other:\n    def get(self):\n        return {}.get('x')\n\n\ndef send():\n    pass\n",
}


def test_methods_of_self_are_those_of_the_class_and_its_bases(open_files: Open) -> None:
    code = open_files(PYTHON)
    assert code.callers("shop/base.py::Base.close") == ["shop/client.py:9"]
    assert code.callers("shop/base.py::Base.flush") == ["shop/base.py:3", "shop/client.py:12"]


def test_calls_of_a_function_whose_name_is_too_long_for_the_index_are_those_of_its_file(open_files: Open) -> None:
    name = "_".join(["a_sentence_of_behaviour"] * 4)
    code = open_files({"shop/long.py": f"def {name}():\n    pass\n\n\ndef run():\n    {name}()\n"})
    assert len(name) > MAX_WORD_CHARACTERS
    assert code.callers(f"shop/long.py::{name}") == ["shop/long.py:6"]


def test_a_call_of_what_a_method_overrides_may_mean_it(open_files: Open) -> None:
    (site,) = open_files(PYTHON).sites("shop/client.py::Client.flush")
    assert (site.path, site.line, site.certainty, site.through) == (
        "shop/base.py",
        3,
        CALL_INHERITED,
        "Base.flush",
    )


def test_a_call_by_a_sibling_to_itself_does_not_mean_the_method_of_another_class(open_files: Open) -> None:
    code = open_files(
        {
            "yard/base.rb": "class Vessel\n  def tow(by)\n    by\n  end\nend\n",
            "yard/barge.rb": (
                "class Barge < Vessel\n  def tow(by)\n    super\n  end\n\n  def moor\n    tow 1\n  end\nend\n"
            ),
            "yard/raft.rb": "class Raft < Vessel\n  def moor\n    tow 2\n    self.tow 3\n  end\nend\n",
            "yard/long_barge.rb": "class LongBarge < Barge\n  def turn\n    tow 4\n  end\nend\n",
        }
    )
    assert code.callers("yard/barge.rb::Barge.tow") == ["yard/barge.rb:7", "yard/long_barge.rb:3"]
    assert code.callers("yard/base.rb::Vessel.tow") == ["yard/raft.rb:3", "yard/raft.rb:4"]


def test_a_call_of_ruby_without_parentheses_is_not_passed_over(open_files: Open) -> None:
    code = open_files(
        {
            "yard/boat.rb": "class Boat\n  def moor\n    1\n  end\n\n  def turn\n    moor\n  end\nend\n",
            "yard/pier.rb": (
                "class Pier\n  def moor\n    2\n  end\n\n  def open(x)\n    x.moor\n    x.moor = 3\n  end\nend\n"
            ),
        }
    )
    assert code.uses("yard/boat.rb::Boat.moor") == ["yard/boat.rb:7 use"]
    assert "yard/pier.rb:7" in code.unresolved("yard/pier.rb::Pier.moor")
    assert "yard/pier.rb:8" not in code.unresolved("yard/pier.rb::Pier.moor")


def test_a_constant_of_ruby_is_found_by_its_whole_name_wherever_its_module_is_reopened(open_files: Open) -> None:
    code = open_files(
        {
            "yard/base.rb": "module Yard::Boats\n  class Base\n    def tow\n      1\n    end\n  end\nend\n",
            "yard/tools/base.rb": "class Yard::Tools::Base\n  def tow\n    2\n  end\nend\n",
            "yard/raft.rb": "class Yard::Boats::Raft < Yard::Boats::Base\n  def moor\n    tow(1)\n  end\nend\n",
            "yard/saw.rb": "class Yard::Tools::Saw < Yard::Tools::Base\n  def moor\n    tow(2)\n  end\nend\n",
        }
    )
    assert code.heirs("yard/base.rb::Yard.Boats.Base") == ["yard/raft.rb::Yard.Boats.Raft"]
    assert code.callers("yard/base.rb::Yard.Boats.Base.tow") == ["yard/raft.rb:3"]
    assert code.callers("yard/tools/base.rb::Yard.Tools.Base.tow") == ["yard/saw.rb:3"]


def test_imports_are_followed_through_aliases_and_packages(open_files: Open) -> None:
    code = open_files(
        PYTHON
        | {
            "app/alias.py": "from shop.client import send as post\n\n\ndef run(c):\n    post(c)\n",
            "app/module.py": "import shop.client as sc\n\n\ndef run(c):\n    sc.send(c)\n",
            "app/package.py": "import shop\n\n\ndef run(c):\n    shop.send(c)\n    shop.other.send()\n",
            "app/late.py": "def run(c):\n    from shop import send\n\n    send(c)\n",
            "app/own.py": "def send(c):\n    pass\n\n\ndef run(c):\n    send(c)\n",
            "app/local.py": "from shop.client import send\n\n\ndef run(send, c):\n    send(c)\n",
            "app/star.py": "from shop.other import *\n\n\ndef run():\n    send()\n",
            "app/standard.py": "from copy import send\n\nsend()\n",
        }
    )
    calls = code.callers("shop/client.py::send")
    assert sorted(calls) == ["app/alias.py:5", "app/late.py:4", "app/module.py:5", "app/package.py:5"]
    assert sorted(code.callers("shop/other.py::send")) == ["app/package.py:6", "app/star.py:5"]
    assert code.callees("app/own.py::run") == ["app/own.py::send"]


def test_an_alias_of_an_alias_is_followed(open_files: Open) -> None:
    code = open_files(
        {
            "a.py": "def fetch():\n    pass\n",
            "b.py": "from a import fetch as get\n\n\ndef run():\n    get()\n",
            "c.py": "from b import (\n    get as take,  # which is fetch\n)\n\n\ndef run():\n    take()\n",
        }
    )
    assert code.callers("a.py::fetch") == ["b.py:5", "c.py:7"]


@given(
    st.text("ab_$1. ", max_size=20), st.sampled_from(["a", "ab", "aba", "a_1"]), st.integers(0, 9), st.integers(0, 30)
)
def test_a_name_is_written_where_no_letter_of_a_name_is_beside_it(text: str, name: str, first: int, last: int) -> None:
    document = Document(
        1, Kind.CODE, "a.py", "python", "", 0, 0, 0, 0, secondary=False, title="", tags=(), fields={}, created=0.0,
        updated=0.0, importance=None, origin="", first_chunk=1, last_chunk=1,
    )  # fmt: skip
    file = SourceFile(document, text.encode())
    pattern = re.compile(rb"(?<![\w$])" + name.encode() + rb"(?![\w$])")
    assert [*file.places(name, first, last)] == [one.span() for one in pattern.finditer(file.source, first, last)]


def test_few_trees_of_large_files_are_kept_while_calls_and_uses_are_searched(
    open_files: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: Cache[tuple[str, bytes], Any] = Cache(resolve._trees._size)
    monkeypatch.setattr(resolve, "_trees", kept)
    body, filler = "from a import send\n\nsend()\nprint(send)\n", f"# {'x' * 97}\n" * 900
    code = open_files({"a.py": "def send():\n    pass\n"} | {f"b{number}.py": body + filler for number in range(9)})
    assert len(code.callers("a.py::send")) == 9
    assert len(code.uses("a.py::send")) == 18
    gc.collect()
    trees = [one for one in gc.get_objects() if isinstance(one, SourceFile) and "root" in vars(one)]
    assert sum(len(one.source) for one in trees) < 400_000
    assert 0 < sum(len(source) for _, source in kept.values) < 400_000
    assert kept.bytes > 20 * sum(len(source) for _, source in kept.values)


def test_a_function_inside_a_function_hides_the_one_outside(open_files: Open) -> None:
    code = open_files({"a.py": "def send():\n    pass\n\n\ndef run():\n    def send():\n        pass\n\n    send()\n"})
    assert code.callers("a.py::send") == []
    assert code.callers("a.py::run.send") == ["a.py:9"]


def test_objects_are_known_by_constructor_annotation_field_and_return(open_files: Open) -> None:
    code = open_files(
        PYTHON
        | {
            "app/made.py": "from shop.client import Client\n\n\ndef run():\n    c = Client('x')\n    c.get()\n",
            "app/typed.py": "from shop import ShopClient\n\n\ndef run(c: ShopClient | None):\n    c.get()\n",
            "app/field.py": (
                "from shop.client import Client\n\n\nclass App:\n    def __init__(self):\n"
                "        self.c = Client('x')\n\n"
                "    def run(self):\n        self.c.twin.get()\n"
            ),
            "app/returned.py": "from shop.client import make\n\n\ndef run():\n    make().get()\n",
            "app/context.py": (
                "from shop.client import Client\n\n\ndef run():\n    with Client('x') as c:\n        c.get()\n"
            ),
            "app/outside.py": "import os\n\n\ndef run():\n    os.environ.get('a')\n    {}.get('b')\n",
        }
    )
    calls = code.callers("shop/client.py::Client.get")
    files = ["context.py:6", "field.py:9", "made.py:6", "returned.py:5", "typed.py:5"]
    assert calls == ["shop/client.py:20", *(f"app/{one}" for one in files)]
    assert code.callers("shop/other.py::Other.get") == []


def test_a_constructor_is_called_by_its_class(open_files: Open) -> None:
    calls = open_files(PYTHON).callers("shop/client.py::Client.__init__")
    assert calls == ["shop/client.py:16", "shop/client.py:24"]


def test_fixtures_of_pytest_have_the_type_of_what_they_return(open_files: Open) -> None:
    code = open_files(
        PYTHON
        | {
            "tests/conftest.py": (
                "import pytest\nfrom shop.client import Client\n\n\n@pytest.fixture\ndef client():\n"
                "    c = Client('x')\n    yield c\n"
            ),
            "tests/test_get.py": "def test_get(client):\n    client.get()\n",
        }
    )
    (site,) = [one for one in code.sites("shop/client.py::Client.get") if one.secondary]
    assert (site.path, site.line, site.name) == ("tests/test_get.py", 2, "test_get")


def test_an_unknown_object_is_guessed_where_one_class_has_the_method_and_is_named(open_files: Open) -> None:
    code = open_files(
        {
            "a.py": "class Parser:\n    def parse_all(self):\n        pass\n",
            "b.py": '"""Uses the Parser."""\n\n\ndef run(thing):\n    thing.parse_all()\n',
            "c.py": "def run(thing):\n    thing.parse_all()\n",
        }
    )
    (site,) = code.sites("a.py::Parser.parse_all")
    assert (site.path, site.certainty) == ("b.py", CALL_GUESSED)


def test_everything_else_that_names_a_definition_is_a_use(open_files: Open) -> None:
    code = open_files(
        {
            "a.py": "class Late(Exception):\n    pass\n",
            "b.py": "from a import Late\n\n\ndef run(error: Late):\n    isinstance(error, Late)\n    raise Late('x')\n",
            "c.py": "Late = 1\nprint(Late)\n",
        }
    )
    assert code.uses("a.py::Late") == ["b.py:1 import", "b.py:4 use", "b.py:5 use"]
    assert code.callers("a.py::Late") == ["b.py:6"]


def test_classes_know_their_heirs_and_methods_who_overrides_them(open_files: Open) -> None:
    relations = open_files(
        PYTHON | {"app/deep.py": "import shop\n\n\nclass Deep(shop.ShopClient):\n    pass\n"}
    ).relations
    base, flush = relations.named("shop/base.py", "Base"), relations.named("shop/base.py", "Base.flush")
    assert base is not None
    assert flush is not None
    assert [one.qualified for one in relations.heirs(base)] == ["Deep", "Client"]
    assert [one.qualified for one in relations.heirs(flush)] == ["Client.flush"]


TYPESCRIPT = {
    "package.json": '{"name": "shop"}',
    "src/router.ts": "export interface Router {\n  add(path: string): void\n}\n",
    "src/tree.ts": (
        "import type { Router } from './router'\n\nexport class Tree implements Router {\n  #size = 0\n"
        "  add(path: string) {\n    this.grow()\n  }\n  grow() {\n    return this\n  }\n}\n"
    ),
    "src/index.ts": "export { Tree as Plant } from './tree'\nexport * from './util'\n",
    "src/util.ts": "export default function join(a) {\n  return a\n}\nexport const split = (a: string) => a\n",
}


def test_modules_of_javascript_are_followed_through_every_kind_of_import(open_files: Open) -> None:
    code = open_files(
        TYPESCRIPT
        | {
            "app/a.ts": "import glue, { split as cut } from '../src/util'\nglue(1)\ncut('x')\n",
            "app/b.ts": "import * as util from '../src/util.js'\nutil.split('x')\n",
            "app/c.ts": "import { split } from 'shop'\nsplit('x')\n",
            "app/d.js": "const { split: cut } = require('../src/util')\ncut('x')\n",
            "app/e.ts": "import { split } from 'lodash'\nsplit('x')\n",
            "app/f.ts": (
                "import { split } from '../src'\n"
                "export const run = (c: (split: string) => void) => {\n  split('x')\n}\n"
            ),
        }
    )
    assert sorted(code.callers("src/util.ts::split")) == [
        "app/a.ts:3", "app/b.ts:2", "app/c.ts:2", "app/d.js:2", "app/f.ts:3",
    ]  # fmt: skip
    assert code.callers("src/util.ts::join") == ["app/a.ts:2"]


def test_objects_of_typescript_are_known_by_their_types(open_files: Open) -> None:
    code = open_files(
        TYPESCRIPT
        | {
            "app/made.ts": "import { Plant } from '../src'\nconst plant = new Plant()\nplant.grow().add('x')\n",
            "app/field.ts": (
                "import { Tree } from '../src/tree'\nclass App {\n  tree: Tree = new Tree()\n"
                "  constructor(private other?: Tree) {}\n  run() {\n"
                "    // both\n    this.tree.grow()\n    this.other!.grow()\n  }\n}\n"
            ),
            "app/typed.ts": (
                "import type { Router } from '../src/router'\nconst run = (router: Router) => {\n  router.add('x')\n}\n"
            ),
        }
    )
    calls = code.callers("src/tree.ts::Tree.grow")
    assert calls == ["src/tree.ts:6", "app/field.ts:7", "app/field.ts:8", "app/made.ts:3"]
    added = code.sites("src/tree.ts::Tree.add")
    assert [(one.path, one.certainty) for one in added] == [
        ("app/made.ts", RESOLVED),
        ("app/typed.ts", CALL_INHERITED),
    ]


GO = {
    "go.mod": "module example.com/shop\n",
    "shop.go": (
        "package shop\n\ntype Sender interface {\n\tSend(x int) error\n}\n\n"
        "func New() (*Client, error) {\n\treturn &Client{}, nil\n}\n"
    ),
    "client.go": (
        "package shop\n\ntype base struct{}\n\nfunc (b *base) Flush() {}\n\n"
        "type Client struct {\n\t*base\n\tnext *Client\n}\n\n"
        "func (c *Client) Send(x int) error {\n\tc.Flush()\n\treturn c.next.Send(x)\n}\n"
    ),
}


def test_packages_receivers_fields_and_embedded_types_of_go(open_files: Open) -> None:
    code = open_files(
        GO
        | {
            "cmd/main.go": (
                'package main\n\nimport (\n\t"fmt"\n\n\tsh "example.com/shop"\n)\n\nfunc main() {\n'
                "\tc, _ := sh.New()\n\tc.Send(1)\n\tc.Flush()\n\tfmt.New()\n\trun(c)\n}\n\n"
                "func run(s sh.Sender) {\n\ts.Send(2)\n\ts.(*sh.Client).Flush()\n}\n"
            ),
            "other/other.go": "package other\n\nfunc New() int {\n\treturn 1\n}\n\nfunc run() {\n\tNew()\n}\n",
        }
    )
    assert code.callers("shop.go::New") == ["cmd/main.go:10"]
    assert code.callers("client.go::Client.Send") == ["client.go:14", "cmd/main.go:11", "cmd/main.go:18"]
    assert code.callers("client.go::base.Flush") == ["client.go:13", "cmd/main.go:12", "cmd/main.go:19"]
    assert code.callers("shop.go::Sender") == []
    assert code.uses("shop.go::Sender") == ["cmd/main.go:17 use"]


RUST = {
    "Cargo.toml": '[package]\nname = "shop-core"\n',
    "src/lib.rs": "pub mod client;\nmod util;\npub use client::Client;\n",
    "src/util.rs": "#[macro_export]\nmacro_rules! note {\n    () => {};\n}\n\npub fn join(a: u8) -> u8 {\n    a\n}\n",
    "src/client.rs": (
        "use crate::util::{self, join as glue};\n\npub trait Send {\n    fn send(&self) -> u8;\n}\n\n"
        "pub struct Client {\n    next: Option<Box<Client>>,\n}\n\n"
        "impl Client {\n    pub fn new() -> Self {\n        note!();\n        Client { next: None }\n    }\n\n"
        "    pub fn run(&mut self) {\n        glue(1);\n        util::join(2);\n"
        "        self.next.as_mut().unwrap().run();\n"
        "        Self::new().send();\n    }\n}\n\n"
        "impl Send for Client {\n    fn send(&self) -> u8 {\n        super::util::join(3)\n    }\n}\n\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn runs() {\n"
        "        let mut c = Client::new();\n"
        "        assert_eq!(c.send(), 3);\n        c.run();\n    }\n}\n"
    ),
}


def test_paths_impls_and_macros_of_rust(open_files: Open) -> None:
    code = open_files(
        RUST
        | {
            "cli/Cargo.toml": '[package]\nname = "cli"\n',
            "cli/src/main.rs": (
                "use shop_core::Client;\n\nfn main() {\n    Client::new().run();\n"
                "    shop_core::client::Client::new();\n}\n"
            ),
        }
    )
    assert code.callers("src/util.rs::join") == ["src/client.rs:18", "src/client.rs:19", "src/client.rs:27"]
    assert code.callers("src/util.rs::note") == ["src/client.rs:13"]
    calls = code.sites("src/client.rs::Client.new")
    assert [(one.path, one.line) for one in calls if not one.secondary] == [
        ("src/client.rs", 21), ("cli/src/main.rs", 4), ("cli/src/main.rs", 5),
    ]  # fmt: skip
    assert [one.name for one in calls if one.secondary] == ["tests.runs"]
    assert code.callers("src/client.rs::Client.run") == ["src/client.rs:20", "cli/src/main.rs:4", "src/client.rs:39"]
    assert code.callers("src/client.rs::Client.send") == ["src/client.rs:21", "src/client.rs:38"]


def test_java_knows_packages_fields_and_the_class_around(open_files: Open) -> None:
    code = open_files(
        {
            "shop/Client.java": (
                "package shop;\n\npublic class Client {\n  public Client() {}\n"
                "  int send() {\n    return twice();\n  }\n"
                "  int twice() {\n    return 2;\n  }\n}\n"
            ),
            "app/App.java": (
                "package app;\n\nimport shop.Client;\n\nclass App {\n  private Client client = new Client();\n"
                "  int run(Client other) {\n    return client.send() + this.client.send() + other.send();\n  }\n}\n"
            ),
        }
    )
    assert code.callers("shop/Client.java::Client.twice") == ["shop/Client.java:6"]
    assert code.callers("shop/Client.java::Client.send") == ["app/App.java:8"] * 3
    assert code.callers("shop/Client.java::Client") == ["app/App.java:6"]


def test_languages_without_imports_by_name_take_a_clear_name(open_files: Open) -> None:
    code = open_files(
        {
            "list.c": "int push(int x) {\n  return x;\n}\n",
            "main.c": '#include "list.h"\n\nint main(void) {\n  return push(1);\n}\n',
            "a.rb": "def greet\n  1\nend\n",
            "b.rb": "require_relative 'a'\ngreet()\n",
        }
    )
    assert code.callers("list.c::push") == ["main.c:4"]
    assert code.callers("a.rb::greet") == ["b.rb:2"]


def test_aliases_of_types_casts_and_properties(open_files: Open) -> None:
    code = open_files(
        TYPESCRIPT
        | {
            "app/alias.ts": (
                "import { Tree } from '../src/tree'\ntype Big = Tree\nconst run = (big: Big, x: unknown) => {\n"
                "  big.grow()\n  const tree = x as Tree\n  tree.grow()\n}\n"
            ),
            "app/assigned.js": (
                "import { Tree } from '../src/tree'\nclass Yard {\n"
                "  constructor() {\n    this.tree = new Tree()\n  }\n"
                "  get first() {\n    return this.tree\n  }\n"
                "  run() {\n    this.tree.grow()\n    this.first.grow()\n  }\n}\n"
            ),
        }
    )
    calls = [one for one in code.callers("src/tree.ts::Tree.grow") if one.startswith("app")]
    assert calls == [f"app/alias.ts:{line}" for line in (4, 6)] + [f"app/assigned.js:{line}" for line in (10, 11)]


def test_a_class_inside_of_a_function_does_not_make_the_function_an_heir(open_files: Open) -> None:
    code = open_files(
        {"a.py": "class Base:\n    pass\n\n\ndef make():\n    class Inner(Base):\n        pass\n\n    return Inner()\n"}
        | RUST
        | {
            "src/test.rs": (
                "use crate::client::Send;\n\nfn reads() {\n    struct Own;\n\n    impl Send for Own {\n"
                "        fn send(&self) -> u8 {\n            1\n        }\n    }\n}\n"
            )
        }
    )
    assert "a.py::make" not in code.heirs("a.py::Base")
    assert "src/test.rs::reads" not in code.heirs("src/client.rs::Send")
    assert "src/client.rs::Client" in code.heirs("src/client.rs::Send")


def test_a_class_with_a_base_from_outside_may_have_any_method(open_files: Open) -> None:
    code = open_files(
        {
            "a.py": (
                "import click\n\n\nclass Group(click.Group):\n    limit: 'Limit'\n\n"
                "    def run(self):\n        self.load_all()\n"
                "        super().load_all()\n        self.limit.check_all()\n\n\n"
                "class Limit:\n    def check_all(self):\n        pass\n\n    def load_all(self):\n        pass\n"
            ),
            "b.go": "package b\n",
        }
    )
    assert code.callers("a.py::Limit.load_all") == []
    assert code.callers("a.py::Limit.check_all") == ["a.py:10"]


def test_a_method_of_a_class_with_a_base_from_outside_is_not_guessed(open_files: Open) -> None:
    code = open_files(
        {
            "a.py": (
                "import click\n\n\nclass Base(click.Group):\n    pass\n\n\n"
                "class Group(Base):\n    def make_context(self):\n        pass\n"
            ),
            "b.py": "import click\nimport a\n\n\ndef run(Group):\n    click.command().make_context()\n",
        }
    )
    assert code.callers("a.py::Group.make_context") == []
