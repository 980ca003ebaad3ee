"""Use the installed satchel as a user does: version, index and context on a tiny repository.

    PYTHON scripts/smoke.py

Runs with the interpreter of an environment that has satchel and nothing but its runtime dependencies; fails when a
command does, when the answer misses the function that was asked for, when a tool or an extra is installed, or when a
command that needs an extra does not say so in one line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

TOOLS = ("httpx", "hypothesis", "mypy", "onnxruntime", "pytest", "sklearn", "tiktoken")

QUESTION = "Where is the invoice total rounded?"

FILES = {
    "billing/invoice.py": (
        'def invoice_total(lines: list[float]) -> float:\n    """Sum the lines, rounded to cents."""\n'
        "    return round(sum(lines), 2)\n"
    ),
    "billing/customer.ts": "export function customerName(id: number): string {\n  return `customer ${id}`;\n}\n",
    "README.md": "# Billing\n\nPrints invoices.\n",
}


def run(*command: str, folder: Path, environment: dict[str, str]) -> str:
    """Standard output of a command that must succeed; shows what it said when it does not."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


STORE: dict[str, str] = {"SATCHEL_STORE": "postgresql://127.0.0.1/none"}

OPTIONAL: Sequence[tuple[Sequence[str], dict[str, str], str]] = (
    (("serve",), {}, "mcp"),
    (("serve", "--show-token"), {}, "mcp"),
    (("status",), STORE, "postgres"),
)
"""Commands, their environment, and the extra that each needs and has to name in one line."""


def refusal(command: Sequence[str], extra: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what is wrong with the refusal of a command whose extra is not installed, empty if nothing."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    is_one_line = len(done.stderr.splitlines()) == 1 and f"[{extra}]" in done.stderr
    return "" if done.returncode and is_one_line else f"{' '.join(command)} ended with {done.returncode}: {done.stderr}"


def main() -> None:
    """Make the repository, ask, and compare."""
    present = [name for name in TOOLS if find_spec(name)]
    if present:
        sys.exit(f"this environment is not the base install: it has {', '.join(present)}")
    satchel = str(Path(sys.executable).with_name("satchel"))
    with tempfile.TemporaryDirectory(prefix="satchel-smoke-") as name:
        home = Path(name)
        repository = home / "billing"
        for path, text in FILES.items():
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_text(text, encoding="utf-8")
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": name, "GIT_CONFIG_NOSYSTEM": "1"}
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")

        def ask(*command: str) -> str:
            return run(*command, folder=repository, environment=environment)

        ask("git", "init", "-q")
        ask("git", "add", "-A")
        ask("git", *author, "commit", "-q", "-m", "Round invoice totals to cents")
        version = ask(satchel, "--version").strip()
        ask(satchel, "index", "--quiet")
        vectors = json.loads(ask(satchel, "index", "--json"))["vectors"]
        answer = json.loads(ask(satchel, "context", QUESTION, "--max-tokens", "500", "--json"))
        for words, more, extra in OPTIONAL:
            if wrong := refusal((satchel, *words), extra, repository, environment | more):
                sys.exit(wrong)
    if "def invoice_total" not in answer["text"] or not 0 < answer["usage"]["used"] <= 500:
        sys.exit(f"the context misses the function that was asked for:\n{answer['text']}")
    if vectors != {"made": 0, "kinds": {"docs": "1/1"}, "failure": None}:
        sys.exit(f"without the extras the table of the package makes the vectors, with the words: {vectors}")
    print(f"{version}: base install answers, {answer['usage']['used']} of 500 tokens used")


if __name__ == "__main__":
    main()
