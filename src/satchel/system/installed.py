"""How this satchel was installed, and the command that adds an extra or a package to it in the same way."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

DISTRIBUTION = "satchel"

RECEIPTS = {"uv-receipt.toml": "uv", "pipx_metadata.json": "pipx"}
"""File in an environment -> the program that made it for one tool."""


EXTRAS = {
    "embed": ("httpx", "onnxruntime"),
    "llm": ("httpx",),
    "mcp": ("mcp", "starlette", "uvicorn"),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "qdrant": ("qdrant_client",),
    "values": ("sklearn",),
}
"""Extra -> the modules that it brings."""


def missing_extras() -> list[str]:
    """Return the extras of which a module is not installed."""
    return [extra for extra, modules in EXTRAS.items() if any(find_spec(module) is None for module in modules)]


def source(distribution_name: str = DISTRIBUTION) -> str:
    """Return the folder or address that a package was installed from, empty if that is not recorded.

    The bare name of the package is never an answer: under it a registry may have the package of somebody else.
    """
    try:
        record = distribution(distribution_name).read_text("direct_url.json")
    except PackageNotFoundError:
        record = None
    if record is None:
        return ""
    entry = json.loads(record)
    url = str(entry["url"])
    if url.startswith("file:"):
        return url2pathname(urlsplit(url).path)
    version_control = entry.get("vcs_info", {}).get("vcs", "")
    return f"{version_control}+{url}" if version_control else url


def with_extra(extra: str, *, prefix: str = "", installed_from: str | None = None) -> str:
    """Return the command that installs this satchel with an extra, or without one (""), in the way it was installed.

    `prefix` is its environment and `installed_from` its `source`, by default those of this process.
    """
    origin = source() if installed_from is None else installed_from
    suffix = f"[{extra}]" if extra else ""
    if not origin:
        return f"in a checkout of satchel: {_installer(prefix)} {shlex.quote(f'.{suffix}')}"
    named = f"{DISTRIBUTION}{suffix} @ {origin}" if "://" in origin else f"{origin}{suffix}"
    return f"{_installer(prefix)} {shlex.quote(named)}"


def with_package(name: str, *options: str, prefix: str = "") -> str:
    """Return the command that installs another package into the environment of this satchel."""
    environment = Path(prefix or sys.prefix)
    made_by = _made_by(environment)
    if made_by == "pipx":
        words = ["pipx", "runpip", DISTRIBUTION, "install"]
    elif made_by == "uv" or find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", str(_python(environment))]
    else:
        words = [str(_python(environment)), "-m", "pip", "install"]
    return shlex.join([*words, *options, name])


def _installer(prefix: str) -> str:
    environment = Path(prefix or sys.prefix)
    made_by = _made_by(environment)
    if made_by == "uv":
        return "uv tool install --force"
    if made_by == "pipx":
        return "pipx install --force"
    python = shlex.quote(str(_python(environment)))
    return f"{python} -m pip install" if find_spec("pip") is not None else f"uv pip install --python {python}"


def _made_by(environment: Path) -> str:
    return next((program for name, program in RECEIPTS.items() if (environment / name).is_file()), "")


def _python(environment: Path) -> Path:
    """Return the interpreter of an environment, as its user would write it."""
    return Path(sys.executable) if environment == Path(sys.prefix) else environment / "bin" / "python"
