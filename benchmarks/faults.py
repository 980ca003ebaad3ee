"""Let every system call that writes fail once, or kill the process there, and look for anything that was harmed.

    python -m benchmarks.faults --out benchmarks/results/faults.json [--writers memory "client set-up"] [--most 20]

For each writer (index, memory, sessions, client set-up, hooks, settings) and each fault, the commands run once for each
call, on the same folders. A bad state is a damaged store, a lost acknowledged memory, a question without its answer, a
command that cannot be run again, or another state afterwards than without a fault. Rows of an existing result whose
writers are not asked for stay. The exit status is 1 if there is a bad state. It needs Linux and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from pathlib import Path

import apsw

from tests.faults.injection import FAULTS, WRITERS, run


def main() -> int:
    """Try what the options ask for, and write the result after each writer and fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writers", nargs="+", choices=WRITERS, default=[*WRITERS])
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=[*FAULTS])
    parser.add_argument("--most", type=int, default=0, help="about so many calls for each writer and fault (0: all)")
    parser.add_argument("--out", type=Path, required=True, help="the result as JSON")
    options = parser.parse_args()
    result = {"rows": []}
    if options.out.exists():
        result = json.loads(options.out.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="satchel-faults-") as folder:
        for row in run(Path(folder), writers=options.writers, faults=options.faults, most=options.most):
            place = (row["writer"], row["fault"])
            rows = [old for old in result["rows"] if (old["writer"], old["fault"]) != place] + [row]
            rows.sort(key=lambda row: ([*WRITERS].index(row["writer"]), [*FAULTS].index(row["fault"])))
            result = {
                "points": sum(row["points"] for row in rows),
                "bad_points": sum(row["bad_points"] for row in rows),
                "rows": rows,
                "python": platform.python_version(),
                "sqlite": apsw.sqlite_lib_version(),
                "system": f"{platform.system()} {platform.machine()}",
            }
            options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
            print(*place, f"{row['points']} points, {row['bad_points']} bad", flush=True)
    return 1 if result["bad_points"] else 0


if __name__ == "__main__":
    sys.exit(main())
