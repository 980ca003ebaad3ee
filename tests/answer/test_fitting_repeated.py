"""What is shown whole of several that are as good is the same each time."""

from __future__ import annotations

from pathlib import Path

from satchel import Satchel
from satchel.testing import TinyRepository

STEPS = "".join(f"        step_{number} = self.take('a shelf of the mill', {number})\n" for number in range(30))


def test_of_definitions_that_are_as_good_the_same_one_is_completed_each_time(tmp_path: Path) -> None:
    files = {
        f"mill/{name}.py": f"class {name.title()}:\n    def turn(self):\n        wheel = self.{name}\n{STEPS}"
        for name in ("crane", "barge", "wharf")
    }
    files["use.py"] = "from mill.crane import Crane\n\nCrane().turn()\n"
    repository = TinyRepository(tmp_path / "mill")
    repository.commit("Build it", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        texts = [engine.assemble("Who calls `turn`?", purpose="find", types=["code"]).text for _ in range(20)]
    assert len(set(texts)) == 1
