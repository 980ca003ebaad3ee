"""The server with a library that prints in every way there is while a question is answered."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

from satchel.cli.main import main
from satchel.engine import Satchel

plain = Satchel.search


def noisy(self: Satchel, *arguments: Any, **options: Any) -> Any:
    print("a print")
    sys.stdout.flush()
    os.write(1, b"a write\n")
    library = ctypes.CDLL(None)
    library.puts(b"a line of a C library")
    library.fflush(None)
    subprocess.run(["sh", "-c", "echo a process; cat"], check=True)
    return plain(self, *arguments, **options)


Satchel.search = noisy  # type: ignore[method-assign]

if __name__ == "__main__":
    sys.argv = ["satchel", "mcp"]
    sys.exit(main())
