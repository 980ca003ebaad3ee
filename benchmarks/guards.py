"""Whether the tests of `docs/security.md` notice that the guard which they test is gone.

    python benchmarks/guards.py --out benchmarks/results/guards.json

For each row of `GUARDS` a copy of the tree gets the replacement in place of the guard, and one test is run: it has to
fail, or not to end. A test that survives is either one of several lines of defence (`also` names the next one) or no
test of this guard. `--only` runs some rows and keeps the stored results of the others. `commit` is the version of
which a row was run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TREE = Path(__file__).parents[1]
SECONDS = 150.0
MEMORY = 64 << 30
"""Bytes of address space of a test: a guard that is gone may have kept memory bounded."""


class Guard(NamedTuple):
    """A guard of a row: the text in a module below src/satchel, what takes it out, the number of the row's test."""

    row: str
    module: str
    text: str
    without: str
    test: int = 0
    also: str = ""


FILES, GIT, WALK = "system/files.py", "system/git.py", "index/walk.py"
STATE, SQLITE = "system/state_files.py", "store/sqlite/connection.py"
MIDDLEWARE, MCP = "web/middleware.py", "mcp/server.py"
STORE, PARSE, EMBED, APPLICATION = (
    "store/sqlite/__init__.py", "sources/code/parse.py", "embed/providers.py", "cli/application.py"
)  # fmt: skip
CLEAN, RULES, HOOK = "safety/sanitize.py", "safety/secret_rules.py", "hooks/supervise.py"
NO_LINK = ' | getattr(os, "O_NOFOLLOW", 0)'

GUARDS = (
    Guard("A1", FILES, 'os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)', "os.O_RDONLY"),
    Guard("A1", GIT, "if is_blocking else", "if False else", 1),
    Guard("A2", FILES, "if error.errno in (errno.ENXIO, errno.ENODEV, errno.EOPNOTSUPP):", "if False:"),
    Guard("A3", FILES, "if error.errno in (errno.ELOOP, errno.ENOTDIR):", "if error.errno == errno.ENOTDIR:"),
    Guard("A4", FILES, f"_READ_FILE = _READ{NO_LINK}", "_READ_FILE = _READ"),
    Guard("A5", FILES, 'part in ("", ".", "..")', 'part == ""'),
    Guard("A6", FILES, f"_ENTER = _ENTER_ROOT{NO_LINK}", "_ENTER = _ENTER_ROOT"),
    Guard("A6", WALK, NO_LINK, "", 1),
    Guard("A7", FILES, 'if "\\0" in text:', "if False:"),
    Guard("A8", FILES, "if raw.startswith(mark)", "if not mark"),
    Guard("A9", FILES, 'raw.decode(encoding, "replace")', 'raw.decode(encoding, "surrogateescape")'),
    Guard("A10", FILES, "return _UNPRINTABLE.sub(_escape_character, name)", "return name"),
    Guard("A12", FILES, "if status.st_size > limit:", "if False:"),
    Guard("A14", WALK, "if folder.depth >= self._options.max_depth:", "if False:", 1),
    Guard("A17", "index/run.py", "times.get(entry.path) != entry.times",
          "times.get(entry.path, (-1,))[:2] != entry.times[:2]"),
    Guard("A19", WALK, "if self._options.one_file_system and device != self._device:", "if False:"),
    Guard("A21", WALK, "if (status.st_dev, status.st_ino) in self._stores:", "if False:"),
    Guard("A22", "config.py", "if home.is_absolute() and", "if True or"),
    Guard("B8", "sources/front_matter.py", "if self.check_event(yaml.AliasEvent):", "if False:"),
    Guard("C1", GIT, '"--no-show-signature", "--no-ext-diff", "--no-textconv", ', ""),
    Guard("C1", GIT, '*("-c", "core.fsmonitor=false"),', ""),
    Guard("C1", GIT, '"GIT_ALLOW_PROTOCOL": "none",', "", also="GIT_NO_LAZY_FETCH forbids to fetch"),
    Guard("C2", GIT, "return entry if entry.is_dir() else None", "return entry if entry.is_dir() else folder"),
    Guard("C3", GIT, '"--ignore-missing", ', "", also="an unborn branch is seen in the files of the repository"),
    Guard("C4", "sources/commits.py", "if sha in boundary:", "if False:"),
    Guard("C6", GIT, "if entry.is_symlink() and target.exists() and not any", "if False and not any"),
    Guard("C6", FILES, 'part in ("", ".", "..")', 'part == ""', 1),
    Guard("C7", "index/update.py", "if log.is_visible_known:", "if False:"),
    Guard("C8", "sources/change.py", '"--verify", "--end-of-options", f', '"--verify", f',
          also="--verify takes one name of an object"),
    Guard("C9", "sources/commits.py", "message[:MESSAGE_LIMIT]", "message"),
    Guard("C10", GIT, "    _limit_memory(process.pid)\n", "", 1),
    Guard("C11", "sources/commits.py", "min(float(_number(time)), LATEST_TIME)", "float(_number(time))"),
    Guard("C13", GIT, "except OSError as error:", "except ZeroDivisionError as error:"),
    Guard("C13", GIT, "os.killpg(process.pid, signal.SIGKILL)", "process.kill()", 1),
    Guard("D4", SQLITE, "if not is_sound:", "if False:", 1),
    Guard("D5", SQLITE, "return [str(error)]", "return []"),
    Guard("D7", STATE, "while not try_lock(descriptor):\n                if", "while False:\n                if"),
    Guard("D8", STATE, 'return "" if try_lock(descriptor, is_shared=True) else', "return"),
    Guard("D10", SQLITE, "            _back_up(connection, path)\n", ""),
    Guard("D11", SQLITE, "if version > len(STEPS):", "if False:"),
    Guard("D12", "store/sqlite/__init__.py", "return files.identity(self.path) != self._identity", "return False"),
    Guard("D16", SQLITE, 'connection.pragma("secure_delete", 1)', "pass", also="the file is written anew (VACUUM)"),
    Guard("D16", "store/sqlite/__init__.py", "connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)", "pass"),
    Guard("D17", "store/sqlite/restore.py", "if not damage(other)), None)", "if damage(other)), None)"),
    Guard("D19", STORE, "if not steps:", "if steps or not steps:"),
    Guard("D19", SQLITE, "return not is_there and bool(", "return False and bool(", 1),
    Guard("D19", SQLITE, "is_richer = _records_of", "is_richer = False and _records_of", 2),
    Guard("D19", "store/sqlite/restore.py", "if not to_backup:", "if False:", 3),
    Guard("D19", "services/memory.py", "if broken and not self._root.memory_place.url:", "if False:", 3),
    Guard("D19", "services/open_root.py", "if self._memory_store is not None and self._memory_store.is_replaced:",
          "if False:", 4),
    Guard("D20", "store/postgres/connection.py",
          '*(step for name in TABLES for step in _guarded(name, _NOT_PUBLISHED, "INSERT", "UPDATE", "DELETE")),', ""),
    Guard("D20", "services/open_root.py",
          "return not (isinstance(self.store, SqliteStore) and self.store.meta(PUBLISHED))", "return True", 1),
    Guard("D21", "store/postgres/__init__.py",
          'f"INSERT INTO satchel.locks VALUES ({name}) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name"',
          "f\"SELECT 1 FROM pg_advisory_xact_lock(hashtextextended('satchel ' || {name}, 0))\""),
    Guard("E2", SQLITE, "connection = read_only(path, timeout_ms)\n", "connection = None\n"),
    Guard("E8", "text.py", "False, PATTERN_MEMORY", "False, 8 << 20"),
    Guard("G1", "mcp/pipes.py", "os.dup2(2, 1)", "os.dup2(pipes.sink, 1)"),
    Guard("G2", "mcp/pipes.py", "if os.getppid() != self._parent_id:", "if False:"),
    Guard("G3", "mcp/stdio.py", "if isinstance(value, dict) and _is_message(value):", "if isinstance(value, dict):"),
    Guard("G3", "mcp/stdio.py", "and len(plain) <= longest else None", "else None", 1,
          "a far longer line comes in pieces, which are not kept"),
    Guard("G5", MIDDLEWARE, "if len(hosts) != 1 or not self._origins.is_host(hosts[0]):", "if False:"),
    Guard("G5", MIDDLEWARE, 'if not scope["path"].startswith("/"):', "if False:", 1, "no route has such a path"),
    Guard("G6", MIDDLEWARE, "return origin.lower() in self.origins", "return True"),
    Guard("G6", MIDDLEWARE, "return None if kinds == [JSON] else WRONG_CONTENT", "return None", 1),
    Guard("G7", MIDDLEWARE, "len(token) < SHORTEST_TOKEN or ", ""),
    Guard("G9", MCP, "except (SatchelError, OSError):  #", "except ZeroDivisionError:  #"),
    Guard("G9", "answer/pins.py", "if not kinds:", "kinds = kinds or [Kind.CODE]\n        if not kinds:", 1),
    Guard("G11", MCP, "while fits and cost_with(fits) > most:\n        fits -= 1\n    into[:] = rows[:fits]\n",
          "into[:] = rows\n"),
    Guard("G12", "mcp/stdio.py", "self._open.pop(identifier).cancel()", "pass"),
    Guard("G13", MIDDLEWARE, "if self._in_progress >= self._most:", "if False:", 1),
    Guard("G14", "web/page/dom.js", "const made = document.createElementNS(SVG, name);", "made.innerHTML = name;", 1),
    Guard("G15", MCP, "if names := [option.name for option in operation.options if not option.is_rare]:",
          "if names := [*{option.name for option in operation.options if not option.is_rare}]:"),
    Guard("G16", MCP, "return _failed(_BROKEN)", "return _failed(str(__import__('sys').exc_info()[1]))"),
    Guard("G16", "operations/operation.py", 'return shown if home == "/" else shown.replace(home, "~")',
          "return shown", 1),
    Guard("G17", "mcp/stdio.py", "return has_id and", "return"),
    Guard("H8", "clients/targets.py", 'Launch((sys.executable, SAFE_PATH, "-m", PROGRAM)',
          'Launch((sys.executable, "-B", "-m", PROGRAM)'),
    Guard("H2", "hooks/hosts.py", "return value if isinstance(value, dict) else {}", "return value"),
    Guard("H3", "hooks/event_context.py", "if len(written(self.event, answer)) <= MAX_CHARACTERS:", "if True:"),
    Guard("H4", HOOK, "    _silence()\n    note, answer", "    note, answer"),
    Guard("H5", HOOK, "except BaseException as error:  # noqa: BLE001 - an import", "except OSError as error:  #",
          also="the worker always ends with 0, and half an answer is not passed on"),
    Guard("H6", "hooks/event_context.py", "return False\n            claims.pop", "pass\n            claims.pop"),
    Guard("I1", "answer/render/markdown.py", 'fence = "`" * (longest + 1)', 'fence = "```"'),
    Guard("I4", "answer/render/plain.py", 'while f"\\n{run} {nonce}\\n" in f"\\n{body}\\n":', "while False:",
          also="nobody can write the nonce of a text into that text"),
    Guard("I4", "safety/trust.py", "if digits not in content:", "if True:", 1, "it depends on the content"),
    Guard("I5", CLEAN, "cleaned = _suspicious().sub(shown, text)", "cleaned = text"),
    Guard("I7", CLEAN, "if is_short and all(map(_fits,", "if True or all(map(_fits,"),
    Guard("I10", MCP, "for option in operation.options if not option.is_rare]", "for option in operation.options]"),
    Guard("J1", CLEAN, "if files.is_secret_file(path):", "if False:"),
    Guard("J1", CLEAN, "if files.is_secret_file(path):", "if False:", 1),
    Guard("J2", RULES, "in _TOKENS:\n", "in _TOKENS[:0]:\n"),
    Guard("J3", "memory/scope.py", "return sanitize.prose(text, self.allow).strip()", "return text.strip()"),
    Guard("J3", "answer/request.py", 'sanitize.text(checked_text("the question", question), settings.redact_allow)',
          'checked_text("the question", question)', 1),
    Guard("J5", RULES, "return changes / len(core) >= least and _bits(core) >= 3.0", "return True"),
    Guard("J7", "system/telemetry.py", "    if content:\n", "    if True:\n"),
    Guard("J8", STATE, "folder.mkdir(mode=0o700, exist_ok=True)", "folder.mkdir(exist_ok=True)"),
    Guard("A13", "sources/outline.py", "if len(text) < 2_000:", "if True:"),
    Guard("A15", WALK, "else SkipReason.UNREADABLE\n", "else SkipReason.VANISHED\n"),
    Guard("A16", FILES, "content_hash(file.raw, key)",
          "content_hash(read_bytes(root, relative, limit=limit).raw, key)"),
    Guard("A18", "index/ignore.py", "else not self._negated[index]", "else True"),
    Guard("A20", "system/locations.py", "if _is_everything(root):", "if False:"),
    Guard("B1", PARSE, "if _is_hostile_text(source):", "if False:"),
    Guard("B2", "index/reading.py", "[self._read_alone(file) for file in wanted]",
          "[Reading(file[0], skipped=FAILED, failed=True) for file in wanted]"),
    Guard("B2", PARSE, "return self._ticks < 0 or (", "return False and (", 1),
    Guard("B3", PARSE, "if has_error and language in BRACED:", "if False:", 1, "the parser recovers by itself"),
    Guard("C5", GIT, '"GIT_NO_LAZY_FETCH": "1",', "", also="GIT_ALLOW_PROTOCOL forbids to fetch"),
    Guard("C12", GIT, 'f"--git-dir={repository.git_dir}",', '"-C", str(repository.work_tree),', 1),
    Guard("D2", STORE, 'connection.execute("BEGIN IMMEDIATE")', "pass"),
    Guard("D6", SQLITE, "connection.set_busy_timeout(timeout_ms)", "connection.set_busy_timeout(0)",
          also="the lock of the index lets one run write at a time"),
    Guard("D18", "memory/scope.py", "(commit and not os.path.lexists(path))", "False"),
    Guard("E1", STORE, 'connection.execute("BEGIN IMMEDIATE")', "pass"),
    Guard("E6", APPLICATION, "except BrokenPipeError:", "except ZeroDivisionError:"),
    Guard("E6", APPLICATION, "except OSError as error:\n        return _report",
          "except ZeroDivisionError as error:\n        return _report", 1),
    Guard("E7", "system/signals.py", "if is_main and signal.getsignal(other) is not signal.SIG_IGN]", "if False]"),
    Guard("F1", "index/vectors.py", "except (EmbeddingError, MissingExtraError, StoreError, LockedError)",
          "except ZeroDivisionError"),
    Guard("F2", EMBED, "if response.status_code not in _BUSY or not remaining:", "if True:"),
    Guard("F3", EMBED, "if not np.isfinite(matrix).all() or not np.abs(matrix).max(axis=1).all():", "if False:"),
    Guard("F4", "embed/__init__.py", '{embedder.id}/{embedder.dimension}', "{embedder.dimension}"),
    Guard("F5", EMBED, "if response.status_code in _TOO_LONG and _says_too_long(response)", "if False"),
    Guard("F6", "embed/minilm.py", "except ImportError as error:", "except ZeroDivisionError as error:"),
    Guard("F8", "settings.py", 'embed_endpoint: str = setting("")', 'embed_endpoint: str = setting("", safe=True)'),
    Guard("F8", EMBED, "follow_redirects=False", "follow_redirects=True", 1),
    Guard("G4", "mcp/stdio.py", 'if method == "initialize":', "if False:", 1),
    Guard("G10", "services/receipts.py", "if unknown := [name for name in names if name not in targets]:",
          "if unknown := []:"),
    Guard("H1", HOOK, "signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 0.01))", "pass",
          also="the worker is killed before"),
    Guard("I2", "answer/render/xml.py", "\\n{_escaped(record_body(item))}\\n", "\\n{record_body(item)}\\n"),
    Guard("I9", "web/page/index.html", 'href="/page/style.css"', 'href="https://example.org/style.css"', 1),
    Guard("J6", "embed/minilm.py", 'os.environ[NO_TELEMETRY] = "1"', "pass"),
    Guard("J9", RULES, "if not _OPTION.search(text, max(0, start - 70), start):", "if True:"),
    Guard("J9", CLEAN, "return clean_field(prose(clean_field(message", "return clean_field(text(clean_field(message",
          1),
    Guard("J6", "settings.py", 'embed_endpoint: str = setting("")', 'embed_endpoint: str = setting("", safe=True)', 1),
    Guard("K1", "memory/memories.py", "return score >= weights.SAME_PROSE and", "return False and"),
    Guard("K2", "memory/memories.py", "gone = self.with_replaced(identities)",
          "gone = [self.get(one) for one in identities]"),
    Guard("K3", "graph/walk.py", "if len(targets) > limit:", "if False:", 1),
    Guard("K4", "sources/front_matter.py", "except _problems() as error:", "except ZeroDivisionError as error:"),
    Guard("L1", "answer/packing.py", "is not None and tokens <= room", "is not None",
          also="the written text is counted, and items are taken back"),
    Guard("L2", "tokens.py", 'len(text.encode("utf-8", "surrogatepass"))', "len(text)", 1),
    Guard("L3", "results/assembler.py", "except TimeoutError:", "except ZeroDivisionError:", 1),
    Guard("L5", "answer/source_lines.py", "current = files.content_hash(file.raw, self._key)",
          "current = content_hash"),
    Guard("L6", "answer/packing.py", "or not self.inputs.merges_twins:", "or True:"),
    Guard("A22", "config.py", "if not base.is_absolute() or", "if False and", 1),
    Guard("A23", WALK, "if reason not in _UNLESS_TRACKED or not self._is_tracked(folder.prefix[:-1], is_folder=True):",
          "if True:"),
    Guard("A24", SQLITE, "if not os.access(folder, os.R_OK | os.X_OK):", "if False:"),
    Guard("A24", "clients/targets.py", "os.path.isdir(", "Path.is_dir(", 1),
    Guard("B11", "memory/foreign.py", "except csv.Error as error:", "except ZeroDivisionError as error:"),
    Guard("B11", "cli/streams.py", "min(WRITER_SECONDS, silence_seconds)", "0", 1),
    Guard("D16", SQLITE, "old.unlink(missing_ok=True)\n        changes.remove(path)", "old.unlink(missing_ok=True)", 1),
    Guard("D20", "store/postgres/connection.py", '*_guarded("roots", "owner = current_user", "UPDATE"),', "", 2),
    Guard("D22", SQLITE, "                journal.chmod(_FILE_MODE)", "                pass"),
    Guard("D23", "store/postgres/connection.py", '!= "UTF8":', '== "NONE":'),
    Guard("D24", SQLITE, "return version if version > len(STEPS) else 0", "return 0"),
    Guard("E2", SQLITE, "for wanted in (RESERVE_BYTES, SMALL_RESERVE_BYTES):", "for wanted in (RESERVE_BYTES,):", 2),
    Guard("G18", "mcp/proxy.py", "if name.encode() not in line and", "if True or name.encode() not in line and"),
    Guard("G19", "mcp/pipes.py", "self._watcher = _watcher(self._process.pid)", "self._watcher = None"),
    Guard("H8", "../../Dockerfile", '"-I", "-c"', '"-c"'),
    Guard("M1", "../../.github/workflows/check.yml", "@a26af69be951a213d495a4c3e4e4022e16d87065  #", "@v5  #"),
    Guard("M1", "../../constraints.txt", "pip==26.3 \\\n    --hash=sha256:", "pip==26.3 \\\n    --hash=md5:", 1),
    Guard("M1", "../../Makefile", "--no-require-hashes --constraint", "--constraint", 2),
    Guard("M1", "../../docs/security.md", "python-multipart", "python-multi", 3),
)  # fmt: skip


def copied(folder: str) -> Path:
    """Return a copy of this tree in a folder."""
    tree = Path(folder) / "tree"
    ignored = shutil.ignore_patterns(".venv*", ".git", "build", "__pycache__", ".mypy_cache", ".ruff_cache")
    shutil.copytree(TREE, tree, ignore=ignored)
    return tree


def run(tree: Path, tests: Iterable[str], seconds: float, *options: str) -> tuple[int, str]:
    """Run tests in a tree until one fails; return the exit status (1 after so many seconds) and the output."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        resource.prlimit(child.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            status = 1
        output.seek(0)
        return status, output.read()


def tests_of(tree: Path, row: str) -> list[str]:
    """Return the node ids of the tests that the page names in a row."""
    page = (tree / "docs/security.md").read_text(encoding="utf-8")
    line = re.search(rf"^\| {row} \|.*", page, re.MULTILINE)
    return [
        _node(tree, path, f"test_{name}")
        for path, name in re.findall(r"`([\w/]+\.py)::(\w+)`", line[0] if line else "")
    ]


def _node(tree: Path, path: str, name: str) -> str:
    parsed = ast.parse((tree / "tests" / path).read_text(encoding="utf-8"))
    classes = (one for one in parsed.body if isinstance(one, ast.ClassDef))
    inside = next((f"{one.name}::" for one in classes for part in one.body if getattr(part, "name", "") == name), "")
    return f"tests/{path}::{inside}{name}"


def outcome(tree: Path, guard: Guard, test: str) -> str:
    """Return what the test does without the guard: failed, survived or skipped."""
    path = tree / "src/satchel" / guard.module
    source = path.read_text(encoding="utf-8")
    if guard.text not in source:
        raise SystemExit(f"{guard.row}: {guard.module} has no {guard.text!r} any more")
    path.write_text(source.replace(guard.text, guard.without), encoding="utf-8")
    try:
        status, output = run(tree, [test], SECONDS)
    finally:
        path.write_text(source, encoding="utf-8")
    if status not in (0, 1):
        raise SystemExit(f"{guard.row}: {test} did not run:\n{output[-2000:]}")
    return "failed" if status else "survived" if re.search(r"^\.+ ", output, re.MULTILINE) else "skipped"


def commit() -> str:
    """Return the short id of the commit that is checked out here."""
    command = ["git", "-C", str(TREE), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Take out each guard, write the results after each, print those that no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="ROW", help="only this row, repeatable")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    stored = json.loads(given.out.read_text()) if given.out.exists() else []
    done = {(one["row"], one["module"], one["guard"], one["test"]): one for one in stored}
    results = []
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(folder)
        chosen = [guard for guard in GUARDS if not given.only or guard.row in given.only]
        status, output = run(tree, {tests_of(tree, guard.row)[guard.test]: None for guard in chosen}, 1_800)
        if status:
            raise SystemExit(f"a test fails beside its guard:\n{output[-2000:]}")
        for guard in GUARDS:
            test = tests_of(tree, guard.row)[guard.test]
            old = done.get((guard.row, guard.module, guard.text, test))
            if guard not in chosen:
                results += [old] if old else []
                continue
            result = {"row": guard.row, "module": guard.module, "guard": guard.text, "test": test}
            result["commit"] = commit()
            results.append(
                result | {"outcome": outcome(tree, guard, test)} | ({"also": guard.also} if guard.also else {})
            )
            given.out.write_text(json.dumps(results, indent=1) + "\n")
            print(guard.row, results[-1]["outcome"], test, flush=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
