"""The page in Chromium over a repository: size, requests, time to the first answer, accessibility, and pictures.

    PYTHONPATH=. python benchmarks/page.py TREE --pictures FOLDER --out benchmarks/results/page.json

Every view is shown at 1280 and 360 pixels, light and dark, and checked by axe-core in each of the four;
scripts/install_peers.sh installs the browser and axe-core. A memory, an experience and the event of a hook are written
first, into a home of their own, so that no view is empty. Times are medians of several loads on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from stopwatch import fresh_home

import satchel
from tests.web.browser import VARIANTS, Page, chromium, serving

LOADS = 5

HOOKED = "Why are releases cut on Tuesdays, and from which branch?"

FIRST_ANSWER = """
const began = performance.now();
document.querySelector('.question').click();
return new Promise((resolve) => {
  const watch = () => {
    document.querySelector('#usage-text') ? resolve(performance.now() - began) : requestAnimationFrame(watch);
  };
  watch();
});
"""

LOADED = """
const [page] = performance.getEntriesByType('navigation');
const rows = performance.getEntriesByType('resource');
const files = rows.filter((row) => !row.name.includes('/api/'));
const paint = performance.getEntriesByName('first-contentful-paint')[0];
return {
  files: files.length + 1,
  requests: rows.length + 1,
  bytes: files.reduce((sum, row) => sum + row.encodedBodySize, page.encodedBodySize),
  first_paint_ms: paint ? paint.startTime : null,
  ready_ms: performance.now(),
};
"""

SHIFT = """
return new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => { sum += one.hadRecentInput ? 0 : one.value; }))
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(sum), 300);
});
"""


def views(question: str, name: str, file: str) -> dict[str, str]:
    """Return the address of each view with something to see in it."""
    return {
        "start": "ask",
        "ask": f"ask?q={quote(question)}",
        "greeting": "ask?q=hello+there",
        "weak": "ask?q=kafka+websocket+reconnect+policy",
        "find": "find?pattern=raise",
        "file": f"find?pattern=raise&file={quote(file, safe='')}&line=12",
        "repository": "graph",
        "graph": f"graph?node={quote(name, safe='')}",
        "topic": f"graph?node={quote(question)}",
        "timeline": "timeline",
        "memories": "memories",
        "experiences": "experiences",
        "values": "values",
        "index": "index",
        "hooks": "hooks",
        "review": "review",
    }


def furnish(tree: Path, environ: dict[str, str]) -> None:
    """Write a memory, an experience and the event of a hook, and build the index."""
    start = ["experience", "start", "--domain", "debugging", "--strategy", "read-the-error"]
    told = [
        "--goal",
        "Find the slow test",
        "--hypothesis",
        "It waits",
        "--action",
        "Time it",
        "--prediction",
        "Seconds",
    ]
    for command in (["index"], ["remember", "Releases are cut on Tuesdays, from the branch `main`"], [*start, *told]):
        subprocess.run(
            [sys.executable, "-m", "satchel", *command], cwd=tree, env=environ, check=True, capture_output=True
        )
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "a1", "cwd": str(tree), "prompt": HOOKED}
    hook = [sys.executable, "-m", "satchel", "hook", "prompt"]
    subprocess.run(hook, cwd=tree, env=environ, check=True, capture_output=True, input=json.dumps(prompt), text=True)


def figures(page: Page) -> dict[str, Any]:
    """Return sizes, requests and medians of times over several loads of the start and its first example question."""
    rows, answers = [], []
    for _ in range(LOADS):
        page.fresh("ask")
        loaded = page.js(LOADED)
        page.wait(lambda: page.all(".question"), "the example questions")
        page.settled()
        rows.append({**loaded, "map_ms": page.js("return performance.now()"), "layout_shift": page.js(SHIFT)})
        answers.append(page.js(FIRST_ANSWER))
        page.settled()
    middle = {name: round(statistics.median(row[name] for row in rows), 3) for name in rows[0]}
    return {**middle, "first_answer_ms": round(statistics.median(answers), 1)}


def shown(page: Page, addresses: dict[str, str], only: str) -> dict[str, dict[str, list[str]]]:
    """Keep a picture of every view in every variant, and return what axe finds in each."""
    found: dict[str, dict[str, list[str]]] = {}
    for variant, (width, height, scheme) in VARIANTS.items():
        page.look_like(width, height, scheme)
        for name, address in addresses.items():
            if only and only != name:
                continue
            page.fresh(address)
            page.settled()
            page.picture(f"{name}-{variant}")
            problems = page.violations()
            if page.is_wider_than_the_span():
                problems.append("the page is wider than the window")
            found.setdefault(name, {})[variant] = problems
            print(f"{name} {variant}: {problems or 'no violations'}", flush=True)
    return found


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--question", default="how is a request matched to its handler")
    parser.add_argument("--name", default="", help="a definition for the graph; the question's topic by default")
    parser.add_argument("--file", default="README.md", help="an indexed file to open")
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--only", default="", help="one view, without figures")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    given.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        environ = fresh_home(home)
        furnish(given.tree.resolve(), environ)
        began = time.perf_counter()
        with serving(given.tree.resolve(), environ, home / "errors.txt") as link, chromium(home / "profile") as driver:
            page = Page(driver, link, given.pictures)
            measured = {} if given.only else figures(page) | {"open_s": round(time.perf_counter() - began, 2)}
            found = shown(page, views(given.question, given.name or given.question, given.file), given.only)
            text = json.dumps(stored(given.tree.resolve().name, measured, found), indent=1) + "\n"
            if given.out:
                given.out.write_text(text, encoding="utf-8")
    print(text)


def stored(name: str, measured: dict[str, Any], found: dict[str, dict[str, list[str]]]) -> dict[str, Any]:
    """Return the result with where it was taken."""
    return {
        "satchel": satchel.__version__,
        "repository": name,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.0f}",
        "figures": measured,
        "violations": found,
        "total_violations": sum(len(rows) for row in found.values() for rows in row.values()),
    }


if __name__ == "__main__":
    main()
