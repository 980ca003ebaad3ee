"""`python -m satchel` is the command `satchel`."""

from __future__ import annotations

import sys

from satchel.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
