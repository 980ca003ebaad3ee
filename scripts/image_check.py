"""Run what the Dockerfile runs, without Docker: its installation, its command and its health check, in a clean folder.

    python scripts/image_check.py

The lines are read from the Dockerfile. Its folders (/source, /data, /project) are below a temporary one, its Python is
an environment of its own, and the port is a free one. Steps that need root are named and left out: packages of Debian
and the user. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SECONDS = 60
"""Time for the server to answer, as the health check of the image gives it."""


def steps(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile and their arguments, without comments, long lines joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines)
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def copied(target: Path) -> None:
    """Copy what `COPY . DIR` takes: the files that .dockerignore lets through."""
    wanted = [line[1:] for line in (REPOSITORY / ".dockerignore").read_text().split() if line.startswith("!")]
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *wanted], cwd=REPOSITORY, capture_output=True, check=True
    ).stdout  # fmt: skip
    for name in filter(None, listed.decode().split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, target / name)


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def main() -> int:
    """Check the image, and return 0 if its server was healthy."""
    with tempfile.TemporaryDirectory(prefix="satchel-image-") as name:
        folder = Path(name)
        for one in ("data", "project", "python"):
            (folder / one).mkdir()
        (folder / "project" / "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
        venv.create(folder / "python", with_pip=True)
        port = free_port()
        here = {"/source": f"{folder}/source", "/data": f"{folder}/data", "/usr/local/bin": f"{folder}/python/bin",
                "/project": f"{folder}/project", "8765": str(port)}  # fmt: skip
        token = secrets.token_hex(32)
        variables = {
            "PATH": f"{folder}/python/bin:{os.environ['PATH']}", "HOME": str(folder), "SATCHEL_HTTP_TOKEN": token,
            "PIP_QUIET": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }  # fmt: skip
        command: list[str] = []
        health: list[str] = []
        for instruction, written in steps((REPOSITORY / "Dockerfile").read_text()):
            argument = written
            for old, new in here.items():
                argument = argument.replace(old, new)
            if instruction == "COPY":
                copied(folder / "source")
            elif instruction == "RUN" and "apt-get" not in argument:
                print(f"image-check: {written}", flush=True)
                subprocess.run(argument, shell=True, env=variables, cwd=folder, check=True)
            elif instruction == "ENV":
                key, _, value = argument.partition("=")
                variables[key] = value
            elif instruction == "CMD":
                command = json.loads(argument)
            elif instruction == "HEALTHCHECK":
                health = json.loads(argument.partition("CMD ")[2])
            else:
                print(f"image-check: left out: {instruction} {written}")
        return served(command, health, variables, folder / "project", port)


def status_of(address: str, token: str) -> int:
    """Return the status of an answer over HTTP."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def served(command: list[str], health: list[str], variables: dict[str, str], project: Path, port: int) -> int:
    """Start the command of the image; return 0 if it is healthy, asks for a token and writes nothing to the project."""
    before = sorted(project.rglob("*"))
    project.chmod(0o555)
    server = subprocess.Popen(command, env=variables, cwd=project)
    try:
        until = time.monotonic() + SECONDS
        while subprocess.run(health, env=variables, cwd=project, capture_output=True, check=False).returncode:
            if server.poll() is not None or time.monotonic() > until:
                print(f"image-check: the server is not healthy (exit code {server.poll()})", file=sys.stderr)
                return 1
            time.sleep(0.2)
        address = f"http://127.0.0.1:{port}/api/status"
        for token, expected in (("", 401), (variables["SATCHEL_HTTP_TOKEN"], 200)):
            if (code := status_of(address, token)) != expected:
                print(f"image-check: {address} answers {code} instead of {expected}", file=sys.stderr)
                return 1
        if sorted(project.rglob("*")) != before:
            print("image-check: the project was written to", file=sys.stderr)
            return 1
        print("image-check: healthy, and answers those who have the token")
        return 0
    finally:
        server.terminate()
        server.wait(timeout=20)
        project.chmod(0o755)


if __name__ == "__main__":
    sys.exit(main())
