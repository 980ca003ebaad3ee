"""What a user's disk can hold and do: hostile trees, work trees of one repository."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from satchel.testing import TinyRepository
from tests.e2e.sample import sample_repository
from tests.postgres import own_home

COMMAND = (sys.executable, "-P", "-m", "satchel")
CANARY = "-".join(("canary", "of", "the", "outside"))


def run(root: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **own_home(home)}
    return subprocess.run(
        [*COMMAND, *arguments], cwd=root, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def hostile_tree(root: Path, outside: Path) -> None:
    outside.mkdir()
    (outside / "secret.py").write_text(f"TOKEN = '{CANARY}'\n", encoding="utf-8")
    os.mkfifo(root / "fifo.py")
    (root / "device.py").symlink_to("/dev/zero")
    (root / "loop").symlink_to(".")
    (root / "escape.py").symlink_to(outside / "secret.py")
    (root / "escape").symlink_to(outside)
    with (root / "sparse.py").open("wb") as huge:
        huge.truncate(200_000_000)
    (root / "line.py").write_bytes(b"x" * 50_000_000)
    (root / "latin.py").write_bytes(b"name = 'caf\xe9'\n")
    (root / "wide.py").write_bytes("def wide_name():\n    return 16\n".encode("utf-16"))
    (root / "bad\x1bname.py").write_text("odd = 1\n", encoding="utf-8")
    nested = TinyRepository(root / "nested")
    nested.commit("inner", {"inner.py": f"INNER = '{CANARY}'\n"})
    marker = outside / "marker"
    with (root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f'[core]\n\tfsmonitor = "touch {marker}"\n\tpager = "touch {marker}"\n')
        config.write(f'[log]\n\tshowSignature = true\n[gpg]\n\tprogram = "{marker}.sh"\n')
        config.write(f'[diff]\n\texternal = "touch {marker}"\n[filter "x"]\n\tclean = "touch {marker}"\n')


def test_a_hostile_tree_is_indexed_without_a_byte_from_outside(tmp_path: Path) -> None:
    repository = sample_repository(tmp_path / "shop")
    home, outside = tmp_path / "home", tmp_path / "outside"
    hostile_tree(repository.root, outside)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(repository.root / "s.py"))
        indexed = run(repository.root, "index", "--json", home=home)
    asked = run(repository.root, "context", f"backoff {CANARY} wide_name", "--max-tokens", "2000", "--fill", home=home)
    assert (indexed.returncode, asked.returncode) == (0, 0)
    assert "wide_name" in asked.stdout
    assert "def backoff" in asked.stdout
    for reason in ("special-file", "symlink", "too-large", "odd-name", "nested-repository"):
        assert reason in indexed.stdout
    assert CANARY not in indexed.stdout + indexed.stderr + asked.stdout + asked.stderr
    assert not (outside / "marker").exists()
    stored = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert CANARY.encode() not in stored
