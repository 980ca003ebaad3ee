"""What redaction finds, what it takes for a secret and is none, and how fast it is; beside detect-secrets.

    python benchmarks/secret_shapes.py --trees DIR [--names pytest,flask] --out benchmarks/results/secret_shapes.json

Every secret is made here, at run time, from what its provider says its tokens look like; `SEEDS` of each kind, in every
container that text comes in. Containers have neutral names (`value`), so a shape has to be known; `assigned` ones have
no shape and are known by the name that they are assigned to. A secret counts as found if nothing of its random part
is left. False alarms are what is found in the trees of public projects, on lines that every reader may look up.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel import __version__
from satchel.index.walk import WalkOptions, walk
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.outline import unwanted
from satchel.system import files

SEEDS = 20
"""Values of each kind: enough to meet the ones that begin or end with a separator."""

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
CAPITALS = string.ascii_uppercase + "234567"
LOWER = string.ascii_lowercase + string.digits
HEX = string.digits + "abcdef"
WORD = ALNUM + "-_"
BASE64 = ALNUM + "+/"

# Kind -> the parts of a token: a text as it stands, or (alphabet, length).
Shape = Sequence[str | tuple[str, int]]
PROVIDERS: Mapping[str, Shape] = {
    "1password": ("ops_eyJ", (BASE64, 250)),
    "adafruit": ("aio_", (ALNUM, 28)),
    "age": ("AGE-SECRET-KEY-1", (CAPITALS, 58)),
    "airtable": ("pat", (ALNUM, 14), ".", (HEX, 64)),
    "alibaba": ("LTAI", (ALNUM, 20)),
    "anthropic": ("sk-ant-api03-", (WORD, 93), "AA"),
    "artifactory": ("AKCp8", (ALNUM, 68)),
    "atlassian": ("ATATT3", (WORD, 180), "=", (HEX, 8)),
    "aws": ("AKIA", (CAPITALS, 16)),
    "aws temporary": ("ASIA", (CAPITALS, 16)),
    "aws mws": ("amzn.mws.", (HEX, 8), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 4), "-", (HEX, 12)),
    "azure client": ((ALNUM, 3), "8Q~", (ALNUM, 34)),
    "azure devops": ((ALNUM, 75), "AZDO", (ALNUM, 4)),
    "azure storage": ("AccountKey=", (BASE64, 86), "=="),
    "brevo": ("xkeysib-", (HEX, 64), "-", (ALNUM, 16)),
    "buildkite": ("bkua_", (HEX, 40)),
    "circleci": ("CCIPAT_", (ALNUM, 22), "_", (HEX, 40)),
    "clojars": ("CLOJARS_", (HEX, 60)),
    "contentful": ("CFPAT-", (WORD, 43)),
    "databricks": ("dapi", (HEX, 32)),
    "digitalocean": ("dop_v1_", (HEX, 64)),
    "discord": ("M", (WORD, 23), ".", (ALNUM, 6), ".", (WORD, 38)),
    "docker": ("dckr_pat_", (WORD, 27)),
    "doppler": ("dp.pt.", (ALNUM, 43)),
    "duffel": ("duffel_live_", (WORD, 43)),
    "dynatrace": ("dt0c01.", (CAPITALS, 24), ".", (CAPITALS, 64)),
    "easypost": ("EZAK", (ALNUM, 54)),
    "facebook": ("EAA", (ALNUM, 160)),
    "figma": ("figd_", (WORD, 43)),
    "fly": ("fo1_", (WORD, 43)),
    "github": ("ghp_", (ALNUM, 36)),
    "github fine grained": ("github_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "gitlab": ("glpat-", (WORD, 20)),
    "google api": ("AIza", (WORD, 35)),
    "google oauth": ("GOCSPX-", (WORD, 28)),
    "grafana": ("glsa_", (ALNUM, 32), "_", (HEX, 8)),
    "groq": ("gsk_", (ALNUM, 52)),
    "heroku": ("HRKU-AA", (WORD, 58)),
    "huggingface": ("hf_", (LETTERS, 34)),
    "json web token": ("eyJ", (WORD, 33), ".eyJ", (WORD, 40), ".", (WORD, 43)),
    "langsmith": ("lsv2_pt_", (HEX, 32), "_", (HEX, 10)),
    "linear": ("lin_api_", (ALNUM, 40)),
    "mailchimp": ((HEX, 32), "-us12"),
    "mailgun": ("key-", (HEX, 32)),
    "mapbox": ("sk.eyJ", (ALNUM, 60), ".", (WORD, 22)),
    "netlify": ("nfp_", (ALNUM, 36)),
    "newrelic": ("NRAK-", (CAPITALS, 27)),
    "notion": ("ntn_", (ALNUM, 46)),
    "npm": ("npm_", (ALNUM, 36)),
    "nuget": ("oy2", (LOWER, 43)),
    "openai": ("sk-proj-", (WORD, 74), "T3BlbkFJ", (WORD, 74)),
    "openai plain": ("sk-", (ALNUM, 20), "T3BlbkFJ", (ALNUM, 20)),
    "openrouter": ("sk-or-v1-", (HEX, 64)),
    "perplexity": ("pplx-", (ALNUM, 48)),
    "planetscale": ("pscale_tkn_", (WORD, 43)),
    "postman": ("PMAK-", (HEX, 24), "-", (HEX, 34)),
    "prefect": ("pnu_", (ALNUM, 36)),
    "pulumi": ("pul-", (HEX, 40)),
    "pypi": ("pypi-AgEIcHlwaS5vcmc", (WORD, 150)),
    "readme": ("rdme_", (LOWER, 70)),
    "replicate": ("r8_", (ALNUM, 37)),
    "rubygems": ("rubygems_", (HEX, 48)),
    "sendgrid": ("SG.", (WORD, 22), ".", (WORD, 43)),
    "sentry": ("sntrys_eyJ", (BASE64, 100)),
    "shippo": ("shippo_live_", (HEX, 40)),
    "shopify": ("shpat_", (HEX, 32)),
    "slack bot": ("xoxb-", (string.digits, 12), "-", (string.digits, 13), "-", (ALNUM, 24)),
    "slack webhook": ("https://hooks.slack.com/services/T", (CAPITALS, 8), "/B", (CAPITALS, 8), "/", (ALNUM, 24)),
    "square": ("sq0atp-", (WORD, 22)),
    "stripe": ("sk_live_", (ALNUM, 24)),
    "stripe restricted": ("rk_live_", (ALNUM, 99)),
    "supabase": ("sbp_", (HEX, 40)),
    "tailscale": ("tskey-auth-", (ALNUM, 16), "-", (ALNUM, 32)),
    "telegram": ((string.digits, 10), ":AA", (WORD, 33)),
    "terraform": ((ALNUM, 14), ".atlasv1.", (WORD, 67)),
    "twilio": ("SK", (HEX, 32)),
    "typeform": ("tfp_", (WORD, 40), "_", (WORD, 16)),
    "vault": ("hvs.", (WORD, 90)),
    "xai": ("xai-", (ALNUM, 80)),
}

CONTAINERS: Mapping[str, str] = {
    "code": 'def connect():\n    value = build("{}")\n    return value\n',
    "commit message": "Rotate what the job uses\n\nThe old one was {} and it is gone now.\n",
    "memory": "Remember that staging wants {} from the vault",
    "question": "why does the client answer 401 with {}?",
    "path": "fixtures/{}/response.txt",
    "json": '{\n  "name": "job",\n  "value": "{}"\n}\n',
    "yaml": "job:\n  value: {}\n  retries: 3\n",
    "environment file": "REGION=eu\nVALUE={}\n",
    "url": "see https://api.example.org/v1/items?value={}&page=2\n",
    "markdown": "| name | value |\n|---|---|\n| job | `{}` |\n",
}

FILE_NAMES = {"code": "a.py", "json": "a.json", "yaml": "a.yaml", "environment file": "a.env", "markdown": "a.md"}

ASSIGNED: Mapping[str, tuple[str, Shape]] = {
    "python password": ('password = "{}"\n', ((LETTERS, 7), "7", "!", (ALNUM, 6))),
    "python secret": ('SECRET_KEY = "{}"\n', ((ALNUM, 40),)),
    "python hex key": ('API_KEY = "{}"\n', ((HEX, 40),)),
    "json": ('{"client_secret": "{}"}\n', ((WORD, 40),)),
    "yaml": ("db:\n  password: {}\n", ((LETTERS, 7), "7", "!", (ALNUM, 6))),
    "yaml key": ("aws_secret_access_key: {}\n", ((BASE64, 40),)),
    "environment file": ("DB_PASSWORD={}\n", ((LETTERS, 7), "7", "!", (ALNUM, 6))),
    "environment token": ("export AUTH_TOKEN={}\n", ((ALNUM, 32),)),
    "url": ("postgres://app:{}@db.internal:5432/app\n", ((ALNUM, 20),)),
    "header": ("Authorization: Bearer {}\n", ((ALNUM, 40),)),
    "connection string": ('"Server=db;User=app;Password={};Encrypt=true"\n', ((LETTERS, 6), "4#", (ALNUM, 6))),
    "commit message": ("The password: {} was in the log\n", ((LETTERS, 7), "7", "!", (ALNUM, 6))),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", ((BASE64, 64),)),
}

Scan = Callable[[str, str], str]
"""A text, and the name of the file that it stands in, without the secrets that are found."""


def made(shape: Shape, draw: random.Random) -> str:
    """One value of this shape."""
    return "".join(
        part if isinstance(part, str) else "".join(draw.choice(part[0]) for _ in range(part[1])) for part in shape
    )


def ours(text: str, _name: str) -> str:
    """The text as satchel stores it."""
    return redact(clean_text(text)[0])[0]


def others(folder: Path) -> Scan | None:
    """The text without what detect-secrets finds in it, with its own plugins and filters; None if it is missing.

    It reads files, so each text becomes one.
    """
    try:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings
    except ImportError:
        return None

    def scanned(text: str, name: str) -> str:
        path = folder / f"text{Path(name).suffix or '.txt'}"
        path.write_text(text, encoding="utf-8")
        lines = text.split("\n")
        with default_settings():
            for found in scan_file(str(path)):
                line = lines[found.line_number - 1]
                lines[found.line_number - 1] = line.replace(found.secret_value or line, "[FOUND]")
        return "\n".join(lines)

    return scanned


def recall(scan: Scan) -> dict[str, Any]:
    """The share of secrets found, by container and in all, and what was missed."""
    found: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for kind, place, frame, shape in _cases():
        draw = random.Random(f"{kind}/{place}")
        for _ in range(SEEDS):
            value = made(shape, draw)
            tried[place] += 1
            if _longest_run(shape, value) in scan(frame.replace("{}", value), FILE_NAMES.get(place, "")):
                missed[kind] += 1
            else:
                found[place] += 1
    shares = {place: round(found[place] / tried[place], 4) for place in tried}
    return {
        "recall": round(found.total() / tried.total(), 4),
        "secrets": tried.total(),
        "containers": shares,
        "missed": dict(missed.most_common()),
    }


def _cases() -> Iterator[tuple[str, str, str, Shape]]:
    for kind, shape in PROVIDERS.items():
        for place, frame in CONTAINERS.items():
            yield kind, place, frame, shape
    for name, (frame, shape) in ASSIGNED.items():
        yield f"assigned: {name}", "assigned", frame, shape


def _longest_run(shape: Shape, value: str) -> str:
    """The longest random part of a value: what must not be left of it."""
    position, best = 0, ""
    for part in shape:
        length = len(part) if isinstance(part, str) else part[1]
        if not isinstance(part, str) and length > len(best):
            best = value[position : position + length]
        position += length
    return best


def tree_texts(root: Path) -> Iterator[tuple[str, str]]:
    """Path and text of every file that an index would hold."""
    for entry in walk(root, WalkOptions()).entries:
        try:
            decoded = files.decode(files.read_bytes(root, entry.path, limit=1_000_000).raw)
        except files.Skipped:
            continue
        if decoded is not None and unwanted(entry.path, decoded[0]) is None:
            yield entry.path, clean_text(decoded[0])[0]


def alarms(root: Path, scan: Scan, max_lines: int) -> dict[str, Any]:
    """What is found in the first files of a tree: lines changed, of how many, and the speed."""
    lines = changed = size = 0
    seconds = 0.0
    examples: list[str] = []
    for path, text in tree_texts(root):
        if lines >= max_lines:
            break
        began = time.perf_counter()
        rest = scan(text, path)
        seconds += time.perf_counter() - began
        size += len(text)
        before = text.split("\n")
        lines += len(before)
        numbers = [number for number, (a, b) in enumerate(zip(before, rest.split("\n"), strict=True), 1) if a != b]
        changed += len(numbers)
        examples += [f"{path}:{number}" for number in numbers]
    return {
        "lines": lines,
        "lines_changed": changed,
        "per_100k_lines": round(1e5 * changed / lines, 2) if lines else 0.0,
        "mb_per_second": round(size / 1e6 / seconds, 2) if seconds else 0.0,
        "places": examples[:40],
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--trees", type=Path, required=True, help="folder with one tree a project")
    parser.add_argument("--names", default="pytest,flask,hono,tokio")
    parser.add_argument("--rival-lines", type=int, default=10_000, help="lines of each tree for detect-secrets")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scanners = {"satchel": (ours, 10**9)}
        rival = others(Path(folder))
        if rival is not None:
            scanners["detect-secrets"] = (rival, options.rival_lines)
        result = measured(scanners, options.trees, options.names.split(","))
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name in scanners:
        row = result[name]
        print(name, row["recall"], row["containers"], row["missed"])
        print({tree: (told["per_100k_lines"], told["mb_per_second"]) for tree, told in row["trees"].items()})


def measured(scanners: Mapping[str, tuple[Scan, int]], trees: Path, names: Sequence[str]) -> dict[str, Any]:
    """Recall and false alarms of every scanner; each looks at so many lines of a tree at most."""
    result: dict[str, Any] = {"version": __version__, "seeds": SEEDS, "providers": len(PROVIDERS)}
    for name, (scan, max_lines) in scanners.items():
        result[name] = {**recall(scan), "trees": {tree: alarms(trees / tree, scan, max_lines) for tree in names}}
    return result


if __name__ == "__main__":
    main()
