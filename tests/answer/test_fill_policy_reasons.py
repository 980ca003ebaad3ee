"""Questions for a reason that a release note answers, through the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository

CODE = {
    "src/engine.py": "def turbo(engine):\n    '''The turbo option of an engine.'''\n    return engine.run()\n",
    "README.md": "# Engine\n\n## Options\n\nThe turbo feature has an option, the first of the engine.\n",
}
NOTE = "# Changes\n\n## 2.0\n\n- Faster.\n- Remove the turbo feature, since it was frequently broken.\n"
OTHER = "# Changes\n\n## 2.0\n\n- Faster.\n\n## 1.0\n\n- The turbo has a lamp.\n"


@pytest.mark.parametrize(("note", "leads"), [(NOTE, True), (OTHER, False)], ids=["tells", "tells else"])
def test_the_release_note_with_the_words_of_a_question_for_a_reason_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, note: str, leads: bool
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", CODE | {"CHANGELOG.md": note})
    with Satchel.open(repository.root) as satchel:
        items = satchel.assemble("why was the turbo feature removed", max_tokens=2_000).items
        usual = satchel.assemble("where is the turbo feature", max_tokens=2_000).items
    assert (items[0].title == "CHANGELOG.md") == leads
    assert usual[0].title != "CHANGELOG.md"
    if leads:
        assert "frequently broken" in items[0].content
