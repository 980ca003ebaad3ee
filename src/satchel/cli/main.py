"""The entry point. It imports nothing before it can catch Ctrl-C, so that even an early one ends quietly."""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


def main() -> int:
    """Run the command of this process and return its exit code."""
    # numpy's linear algebra would start a thread for each core, 10 ms and more for something no command uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from satchel.cli.application import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
