"""Whether what satchel promises about code, lists and absence holds, and faults that users of other tools reported.

    python benchmarks/promises.py --out benchmarks/results/promises.md

Each case makes a small folder, asks as a user would, and looks for texts that have to be in the answer or must not be.
A case names what was answered before it was corrected, and the test that keeps it. A case without commands cannot be
told from a few files; its last column says what measures it. C: promises; B: kinds of public bug reports, with inputs
of our own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from options import output
from promises_cases import Case, Files, Run
from promises_further import FURTHER

TREE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TREE / "src"))

INSIDE: Files = {
    "a.py": "class Outer:\n    class Base:\n        pass\n\n\nclass Kid(Outer.Base):\n    pass\n",
    "b.rb": "module M\n  class Plug\n  end\n  class Child < Plug\n  end\nend\n",
    "c.h": "namespace n { class Sink {}; class FileSink : public Sink {}; }\n",
    "d.cs": "namespace N { public interface IJob {} public class Job : IJob {} }\n",
    "e.ts": "export namespace n {\n  export class Top {}\n  export class Low extends Top {}\n}\n",
}
MUX = "package mux\n\n" + "".join(f"func Route{n}() int {{\n\treturn {n}\n}}\n\n" for n in range(60))
NESTED = {
    "src/a/Builder.java": "package a;\npublic interface Builder<T> {\n  T build();\n}\n",
    "src/a/Maker.java": "package a;\npublic class Maker implements Builder<String> {\n"
    "  public static class Builder {\n    int n;\n  }\n  public String build() { return null; }\n}\n",
}
REDIRECT = {
    "lib/helpers.rb": "module Web\n  module Helpers\n    def redirect(to)\n      to\n    end\n  end\nend\n",
    "lib/tossing.rb": "module Rack\n  class Tossing\n    def redirect(env)\n      env\n    end\n  end\nend\n",
    "test/app_test.rb": "get '/' do\n  redirect '/there'\nend\n",
}
QUEUE = {
    "queue.h": "class Queue {\npublic:\n    void drain_();\n    void close();\n};\n",
    "queue.cpp": '#include "queue.h"\nvoid Queue::drain_() {}\nvoid Queue::close() {\n    drain_();\n}\n',
    "pump.cpp": "template <typename T>\nvoid Pump<T>::stop() {\n    drain_();\n}\n",
}
SERVICE = {
    "svc.ts": "export interface ISvc { start(x: number): number; halt(): void }\n"
    "export const begin = (s: ISvc) => s.start(1)\n",
}
SHOP = {
    "shop/prices.py": "def cents(price):\n    return round(price * 100)\n",
    "shop/cart.py": "from shop.prices import cents\n\n\ndef total(rows):\n    return sum(map(cents, rows))\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
    "docs/guide.md": "# Guide\n\nPrices are in euros.\n",
}
NOTEBOOK = {
    "n.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Frames\n"]},
                {
                    "cell_type": "code",
                    "metadata": {},
                    "outputs": [{"data": {"image/png": "iVBORw0KGgo" * 40}, "output_type": "display_data"}],
                    "source": ["def load_frame(path):\n", "    return open(path)\n"],
                },
            ],
            "metadata": {"kernelspec": {"name": "python3", "language": "python"}},
            "nbformat": 4,
        },
        indent=1,
    )
}
CANVAS = {
    "Plan.md": "# Plan\n\nThe rocket flies.\n",
    "Board.canvas": json.dumps(
        {
            "nodes": [
                {"id": "a", "type": "text", "text": "Paint the rocket", "x": 1, "y": 2, "width": 3, "height": 4},
                {"id": "b", "type": "file", "file": "Plan.md", "x": 1, "y": 2, "width": 3, "height": 4},
            ],
            "edges": [{"id": "e", "fromNode": "a", "toNode": "b", "label": "needs"}],
        }
    ),
}
FRONTEND = {
    "web/price.ts": "export function formatPrice(cents: number): string {\n  return `${cents / 100}`\n}\n",
    "web/Cart.vue": "<template>\n  <b>{{ formatPrice(total) }}</b>\n</template>\n",
    "web/Row.svelte": "<b>{formatPrice(row.total)}</b>\n",
}
CHINESE = {
    "docs/zh.md": (
        "# 指南\n\n使用useState管理状态。然后调用fetchUser。配置文件在config.yaml中。端口8080被占用。"
        "如果看到ECONNRESET错误。请重启nginx服务\n"
    ),
    "pay.py": "def retry_payment(order):\n    return order\n",
}
INSTRUCTIONS = {
    "CLAUDE.md": "Read @docs/a.md. Also @docs/my\\ notes.md, please.\n<!-- @docs/comment.md -->\n",
    "docs/a.md": "Rule A: never round.\n",
    "docs/my notes.md": "Rule B: write tests.\n",
    "docs/comment.md": "Rule C: dead.\n",
}
EVENT = json.dumps(
    {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": "/",
        "tool_name": "Edit",
        "tool_input": {"file_path": "a.py"},
    }
)
SENTENCES = ("please fix mux.go:20", "why does mux.go:20 run", "look at mux.go lines 20-21", "mux.go#L20",
             "mux.go, line 20", "crash in mux.go:20")  # fmt: skip

CASES = (
    Case("C1", "ask for implementations of a class inside a namespace, module or class, in five languages",
         "none resolved in every language (24, 32 and 25 in three real repositories)", INSIDE, (
             Run('context "which classes extend Outer.Base"', ("6 Kid",)),
             Run('context "which classes extend `Plug`"', ("M.Child",)),
             Run('context "which classes extend `Sink`"', ("n.FileSink",)),
             Run('context "which classes implement IJob"', ("N.Job",)),
             Run('context "which classes extend `Top`"', ("n.Low",)),
         ), "tests/search/test_relations_inside.py::test_heirs_of_a_class_inside_another_scope_are_listed"),
    Case("C2", "ask for implementations of `Builder` where an implementing class has a nested `Builder`",
         "2 of 9", NESTED, (Run('context "which classes implement Builder"', ("2 Maker",)),),
         "tests/search/test_relations_inside.py::"
         "test_a_nested_class_is_not_in_scope_where_its_outer_class_names_its_bases"),
    Case("C3", "ask who calls a method whose name a mixed-in module has, too", "all 16 calls of the other one",
         REDIRECT, (Run('context "who calls Tossing.redirect"', ("Tossing.redirect",), ("app_test.rb: 2",)),
                    Run('context "who calls Helpers.redirect"', ("app_test.rb: 2",))),
         "tests/search/test_relations_inside.py::test_a_bare_call_of_ruby_is_no_method_of_an_unrelated_class"),
    Case("C4", "ask who calls a method of C++ that is called without an object", "a call of another class",
         QUEUE,
         (Run('context "who calls Queue.drain_"', ("queue.cpp: 4", "not resolved: pump.cpp: 3"), ("queue.h: 3",)),),
         "tests/search/test_relations_inside.py::"
         "test_a_bare_call_of_cpp_is_no_method_of_an_unrelated_class_and_a_declaration_is_no_call"),
    Case("C5", "ask who calls a method of Ruby whose name ends with a question mark", "no list", {
        "lib/t.rb": "module P\n  class Token\n    def accepts?(env)\n      env\n    end\n  end\n"
        "  class App\n    def call(env)\n      Token.new.accepts?(env)\n    end\n  end\nend\n",
    }, (Run('context "who calls Token.accepts?"', ("accepts?", "lib/t.rb: 9")),)),
    Case("C6", "`graph --lens impact` of a method of an interface", "the type alone, no caller",
         SERVICE, (Run("graph ISvc.start --lens impact", ("calls (in) at line 2 > begin",)),),
         "tests/graph/test_walk_named.py::test_the_callers_of_a_method_without_a_chunk_of_its_own_are_reached"),
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
    Case("C12", "six sentences with a place: `please fix mux.go:20` and the like", "7 of 16 without the line",
         {"mux.go": MUX}, tuple(Run(f'context "{one}"', ("20\t",)) for one in SENTENCES),
         "tests/search/test_mentions_pasted.py::test_the_lines_of_a_pasted_place_are_shown_first"),
    Case("C13", "likely names that occur nowhere", "8 of 12 answers lost lines", SHOP, (
        Run('context "how are totals made" --names renderPdf,KafkaConsumer', ("def total",)),
    ), "tests/search/test_query_names.py::test_names_that_occur_nowhere_change_nothing_and_are_not_told_as_missing"),
    Case("C14", "a story: what happens when A calls B", "a list of the callers of B", {
        "app.rb": "class App\n  def filter!\n    halt\n  end\n\n  def halt\n    throw :halt\n  end\n\n"
        "  def invoke\n    catch(:halt) { filter! }\n  end\nend\n",
    }, (Run('context "what happens when a before filter calls halt"', ("catch(:halt)",), ("Call sites of",)),),
         "tests/search/test_impact_wording.py::test_what_code_does_is_not_asked_by_a_list_of_its_uses"),
    Case("C15", "a task as the question", "nothing", {"crm.py": "def inform_customers(rows):\n    return rows\n"},
         (Run('context -- "- [ ] inform customers"', ("def inform_customers",)),)),
    Case("C16", "the library before its examples", "examples first",
         test="`make rank-check`: questions about libraries with examples"),
    Case("C17", "a name that only a generated file has", "Not found here; no line matches the pattern", {
        "gen/p.go": "// Code generated by x. DO NOT EDIT.\npackage gen\n\nfunc IbexParse() {}\n", "a.go": "package a\n",
    }, (Run('context "IbexParse"', ("gen/p.go",), ("Not found here: IbexParse",)),
        Run("search --pattern IbexParse", ("gen/p.go",))),
         "tests/e2e/test_left_out.py::test_a_pattern_without_a_match_is_looked_for_in_what_is_left_out"),
    Case("C18", "`why` on a note that is shown", "not shown, no match",
         {"Zitat.md": "# Zitat\n\nDer Satz des Tages ist kurz.\n"},
         (Run('why Zitat.md "Der Satz des Tages" --workspace notes', ("shown",), ("not shown",),
              ("satchel workspace add notes .",)),),
         "tests/services/test_why_notes.py::test_a_note_that_is_shown_is_said_to_be"),
    Case("C19", "the budget that is said to show an item", "1 of 50 true in find",
         test="tests/contracts/test_budget_promises.py::test_no_row_promises_a_budget_at_or_below_the_one_asked_with"),
    Case("C20", "figures of the documentation against `satchel eval` on other repositories", "not the same",
         test="benchmarks/history_eval.py"),
    Case("C21", "the footer of an answer says how many tokens it has", "missing in small filled answers", SHOP,
         (Run('context "how are totals made" --fill --max-tokens 400', (" of 400 tokens",)),)),
    Case("C22", "a gap inside of a function has its lines named", "a gap without a handle",
         test="tests/answer/test_glimpses.py::test_every_line_of_a_glimpse_is_shown_or_in_a_gap_that_says_where_it_is"),
    Case("C23", "`--diff` of one changed line", "no hunk, no line numbers", SHOP, (
        Run("context --diff", ("-2\t    return round(price * 100)", "+2\t    return round(price * 1000)",
                               "Tests to run: 1", "shop/cart.py: 5"),
            before=("sed -i s/100/1000/ shop/prices.py",)),
    ), "tests/search/test_change_reach.py::test_users_and_tests_are_told_above_the_code"),
    Case("C24", "`--strategy bookend` uses the budget", "one line at 120 and at 200 tokens",
         test="tests/contracts/test_budget_promises.py::test_a_shortened_definition_uses_what_the_budget_leaves"),
    Case("C25", "answers read as an agent would", "7 of 15 complete", test="benchmarks/agents/ and questions/run.py"),
    Case("C26", "a heading that is an image", "printed as live Markdown",
         {"README.md": '# <img alt="x" src="https://example.org/x.png" /> Router\n\nThe routing tree.\n'},
         (Run('graph "routing tree"', ("routing tree",), ("## <img",)),),
         "tests/safety/test_sanitize_live_names.py::"
         "test_headings_and_authors_are_never_live_in_an_answer_a_list_or_a_history"),
    Case("C27", "a board of a vault", "raw JSON with x, y and width", CANVAS, (
        Run('context "paint the rocket" --workspace notes', ("text: Paint the rocket",), ('"width"',),
            ("satchel workspace add notes .",)),
    ), "tests/sources/test_vault_boards.py::test_a_board_is_shown_as_its_cards_on_the_lines_where_they_begin"),
    Case("B1", "`index.include` of an ignored folder", "all else left the index",
         {".gitignore": "build/\n", ".satchel.toml": '[index]\ninclude = ["build/**"]\n',
          "src/a.py": "def seen_here():\n    pass\n", "build/b.py": "def built_there():\n    pass\n"},
         (Run('context "seen_here built_there"', ("def seen_here", "def built_there")),),
         "tests/index/test_walk.py::TestIgnoreFiles::test_include_adds_what_is_ignored_or_hidden_and_takes_nothing_away"),
    Case("B2", "a tracked dot file", "Not found here", {".config/nvim/init.lua": "local function zebra_keys()\nend\n"},
         (Run('context "zebra_keys"', (".config/nvim/init.lua",), ("Not found",)),),
         "tests/index/test_walk_tracked.py::test_a_tracked_file_is_read_whatever_its_name_and_an_untracked_one_is_not"),
    Case("B3", "git's global ignore file", "indexed and shown", {"a.py": "x = 1\n"}, (
        Run("search --pattern secret_plan", (), ("scratch-private.md:",),
            ("mkdir -p $XDG_CONFIG_HOME/git", "echo scratch-private.md > $XDG_CONFIG_HOME/git/ignore",
             "echo secret_plan > scratch-private.md")),
    )),
    Case("B4", "a tracked file that .gitignore names", "Not found here",
         {".gitignore": "out/\n", "out/tool.py": "def out_tool_entry():\n    pass\n"},
         (Run('context "out_tool_entry"', ("def out_tool_entry",)),),
         "tests/index/test_walk_tracked.py::test_a_tracked_file_is_read_although_gitignore_names_it"),
    Case("B5", "one line of 12,000 characters above a function", "minified, Not found here",
         {"longline.py": f'DATA = "{"ab1/" * 3000}"\n\n\ndef after_long_line():\n    return 1\n'},
         (Run('context "after_long_line"', ("def after_long_line",)),),
         "tests/system/test_files_contents.py::test_minified_is_what_has_lines_that_nobody_wrote"),
    Case("B6", "a function of TypeScript that only templates call", "none resolved", FRONTEND,
         (Run('context "who calls formatPrice"', ("not resolved: ", "web/Cart.vue: 2", "web/Row.svelte: 1")),),
         "tests/search/test_change_reach.py::"
         "test_lines_of_other_languages_that_contain_the_name_follow_the_resolved_ones"),
    Case("B7", "a function in a notebook", "JSON lines with a picture", NOTEBOOK,
         (Run('context "load_frame"', ("def load_frame(path):",), ("iVBORw0KGgo", '\\n"')),),
         "tests/index/test_reading_notebooks.py::test_a_question_finds_the_function_and_the_heading"),
    Case("B8", "`--diff` of a document, with a new file, a binary file and a changed mode", "none of the changed lines",
         SHOP, (Run("context --diff", ("+3\tPrices are in dollars.", "new.md: untracked", "a.png: added, binary",
                                       "shop/cart.py: mode 100644 to 100755"),
                    before=("sed -i s/euros/dollars/ docs/guide.md", "echo new > new.md",
                            "printf '\\0\\1' > a.png && git add a.png", "chmod +x shop/cart.py")),),
         "tests/sources/test_change_without_lines.py::test_binary_files_that_come_change_and_go_are_told"),
    Case("B9", "ASCII names beside Chinese", "nothing; Not found here: ECONNRESET", CHINESE,
         (*(Run(f"search {one}", ("docs/zh.md",)) for one in ("useState", "fetchUser", "8080", "nginx")),
          Run('context "ECONNRESET"', ("zh.md",), ("Not found",)),
          Run('context "为什么retry_payment会执行两次?"', ("def retry_payment",))),
         "tests/search/test_query_scripts.py::test_the_calls_of_a_name_in_any_script_are_listed"),
    Case("B10", "a function called `get`", "nothing is relevant",
         {"p/core.py": "def get(key):\n    return key\n", "p/use.py": "from p.core import get\n\nget(1)\n"},
         (Run('context "who calls get()"', ("Call sites of get: 1", "p/use.py: 3")),),
         "tests/search/test_named.py::test_who_calls_an_everyday_word_is_told"),
    Case("B11", "a pasted link, and text with colours", "nothing is relevant; Not found here: mKeyError", {
        "src/core.py": "def begin():\n    pass\n\n\ndef total():\n    raise KeyError('x')\n",
    }, (Run('context "https://github.com/o/r/blob/main/src/core.py#L5"', ("def total",)),
        Run("context \"\x1b[31mKeyError\x1b[0m in \x1b[1mtotal\x1b[0m\"", ("def total",), ("mKeyError", "mtotal"))),
         "tests/search/test_query_everyday.py::test_colours_of_a_terminal_are_no_text"),
    Case("B12", "two memories that contradict each other", "advice to forget one", {"a.py": "x = 1\n"}, (
        Run('memory add "We no longer deploy with Docker Compose"', (), ("keeps only the new", "nearly the same"),
            ('satchel memory add "We deploy with Docker Compose on host alpha"',)),
    ), "tests/search/test_contradictions.py::test_another_value_or_a_negation_contradicts_and_nothing_else"),
    Case("B13", "a hook whose folder is another one than the project that the host names",
         "this folder is not a project", {"a.py": "x = 1\n"}, (
             Run("hook log --all", ("before-tool",), ("not a project",), (
                 f"cd / && echo '{EVENT}' | CLAUDE_PROJECT_DIR=$FOLDER satchel hook before-tool",
             )),
         ), "tests/hooks/test_supervise.py::test_the_project_that_the_host_names_is_passed_on"),
    Case("B14", "an import before a full stop, one with a blank, one inside a comment", "dropped; dropped; followed",
         INSTRUCTIONS, (Run('situation --task "round prices" --files a.py', ("Rule A", "Rule B"), ("Rule C",)),),
         "tests/guidance/test_instructions.py::test_an_import_is_a_name_in_prose_whatever_follows_it"),
    Case("B15", "`.mailmap`", "one person counted twice", {"a.py": "x = 1\n"}, (
        Run("history --authors", ("Ada Lovelace",), ("Countess",), (
            "printf 'Ada Lovelace <ada@example.org> <old@example.org>\\n' > .mailmap && git add .mailmap",
            "git -c user.name=Countess -c user.email=old@example.org commit -qm one",
            "git -c user.name='Ada Lovelace' -c user.email=ada@example.org commit -qm two --allow-empty",
        )),
    ), "tests/sources/test_mailmap.py::test_one_person_is_counted_once_and_a_new_mailmap_counts_at_once"),
    Case("B16", "a repository of documents", "scripts before the pages", {
        **{f"pages/{name}.md": f"# {name}\n\n> Archiving utility {name}.\n\n- Extract an archive:\n\n`{name} -x file`\n"
           for name in ("tar", "zip", "gzip", "rar", "cpio", "ar", "xz", "bzip2")},
        "scripts/build.sh": "#!/bin/sh\n# build the archive of pages\ntar -cf pages.tar pages\n",
    }, (Run('context "how to extract a tar archive"', ("pages/tar.md",)),)),
    Case("B17", "the definition that decides comes before constructors and getters", "9 of 39 only as a place",
         test="`make rank-check` and benchmarks/questions/run.py"),
    Case("B18", "a folder in a question about callers orders its lists", "the other folder first", {
        f"apps/{name}/orders.py": f"def find_all():\n    return '{name}'\n\n\ndef use():\n    return find_all()\n"
        for name in ("admin", "billing")
    }, (Run('context "who calls find_all in apps/billing"', ("apps/billing/orders.py: 6",)),),
         "tests/search/test_mentions_pasted.py::test_the_files_of_a_folder_that_the_question_names_come_first"),
)  # fmt: skip


def tried(case: Case) -> str:
    """Return what a case shows now: `as it should be`, or what is missing or wrong."""
    if not case.runs:
        return "not told from a few files"
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
    return "; ".join(faults) or "as it should be"


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
    right = sum(told == "as it should be" for told in now.values())
    told = sum(bool(case.runs) for case in cases)
    head = [
        "# Promises, and kinds of public bug reports",
        "",
        "Made by `python benchmarks/promises.py --out benchmarks/results/promises.md`, which says what each case does.",
        "C: promises about code, lists, absence and formats. B: kinds of faults that users of other tools reported. F:",
        "further inputs of these kinds, by a reader who had not written what they try (`promises_further.py`).",
        "",
        f"{right} of the {told} cases that can be told from a few files are as they should be.",
    ]
    rows = [(case.number, case.steps, case.before, now[case.number], case.test) for case in cases]
    return "\n".join([*head, "", *markdown(rows)]) + "\n"


def markdown(rows: Sequence[tuple[str, str, str, str, str]]) -> list[str]:
    """Return the lines of a table: number, what is tried, what was before, what is now, and the test that keeps it."""
    lines = ["| | tried | before | now | kept by |", "|---|---|---|---|---|"]
    return lines + [f"| {number} | {' | '.join(map(_cell, cells))} |" for number, *cells in rows]


def _cell(text: str) -> str:
    shown = re.sub(r"[\x00-\x1f]", "", text).replace("|", "\\|") or "this script"
    return f"`{shown}`" if shown.startswith("tests/") else shown


def main() -> None:
    """Try the cases and print their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="numbers of cases")
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    cases = [case for case in (*CASES, *FURTHER) if not given.only or case.number in given.only]
    now = {}
    for case in cases:
        now[case.number] = tried(case)
        print(case.number, now[case.number], flush=True)
    if given.out:
        given.out.write_text(table(cases, now), encoding="utf-8")


if __name__ == "__main__":
    main()
