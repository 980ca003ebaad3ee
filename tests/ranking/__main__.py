"""Ask every question of the ranking check and print the red lines: `python -m tests.ranking [PROJECT ...]`.

Prints what was asked and the processor time that it took; the exit status is 1 if a line is red. `--not-yet` asks
those that satchel is known to answer wrongly, too, and says which of them it now answers right.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.ranking.check import red_lines
from tests.ranking.doors import ask
from tests.ranking.expectations import problems
from tests.ranking.projects import all_projects, open_project


def main(arguments: list[str]) -> int:
    """Run the check; returns the exit status, 2 for arguments or a file of questions that nobody understands."""
    parser = argparse.ArgumentParser(prog="rank-check", description=__doc__)
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help="by default all")
    parser.add_argument("--not-yet", action="store_true", help="also ask what is known to be answered wrongly")
    options = parser.parse_args(arguments)
    try:
        projects = all_projects(options.projects)
    except ValueError as problem:
        parser.error(str(problem))
    red, asked = [], 0
    with tempfile.TemporaryDirectory(prefix="rank-") as folder:
        indexed = 0.0
        for project in projects:
            begun = time.process_time()
            opened = open_project(project, Path(folder))
            indexed += time.process_time() - begun
            with opened.satchel:
                red += red_lines(opened)
                asked += len(project.questions)
                for question in project.not_yet if options.not_yet else ():
                    if not problems(question, ask(opened, question)):
                        print(f"{question.id} is right now: take it out of not_yet")
    for line in red:
        print(line)
    times = os.times()
    spent = times.user + times.system + times.children_user + times.children_system
    waiting = sum(len(project.not_yet) for project in projects)
    print(
        f"rank-check: {asked} questions of {len(projects)} projects, {len(red)} red, {waiting} not yet right; "
        f"{spent:.1f} s of processor time, {indexed:.1f} s of it to index"
    )
    return int(bool(red))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
