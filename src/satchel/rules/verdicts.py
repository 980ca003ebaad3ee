"""Verdicts of a judge that costs something, kept in the user's state folder: one small file a situation.

A file holds keyed hashes of conditions and true or false, nothing that was said. Files of other judges and situations
have other names. A file that cannot be read is as good as none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

from satchel import state_files
from satchel.files import Skipped, read_bytes
from satchel.rules.situation import Situation

FOLDER = "verdicts"

MOST_FILES = 1_000
"""Situations that are remembered; beyond it the oldest half goes."""

LARGEST_FILE = 100_000


class VerdictFiles:
    """Verdicts by judge, situation and condition."""

    def __init__(self, state_folder: Path, key: bytes) -> None:
        self._folder, self._key = state_folder / FOLDER, key

    def recall(self, judge: str, situation: Situation, conditions: Iterable[str]) -> dict[str, bool]:
        """The verdicts that are remembered of these conditions."""
        known = self._known(judge, situation)
        hashed = {condition: self._hash(condition) for condition in conditions}
        return {condition: known[name] for condition, name in hashed.items() if name in known}

    def _known(self, judge: str, situation: Situation) -> dict[str, bool]:
        try:
            data = json.loads(read_bytes(self._folder, self._name(judge, situation), limit=LARGEST_FILE).raw)
        except (OSError, Skipped, ValueError):
            return {}
        return (
            {name: value for name, value in data.items() if isinstance(value, bool)} if isinstance(data, dict) else {}
        )

    def keep(self, judge: str, situation: Situation, verdicts: Mapping[str, bool]) -> None:
        """Remember verdicts beside those that are there. What cannot be written is asked again next time."""
        known = self._known(judge, situation)
        known |= {self._hash(condition): verdict for condition, verdict in verdicts.items()}
        name = self._name(judge, situation)
        try:
            state_files.make_folder(self._folder)
            state_files.prune_surplus(self._folder, "*.json", MOST_FILES)
            state_files.replace(self._folder / name, json.dumps(known, sort_keys=True).encode("ascii"))
        except OSError:
            return

    def _name(self, judge: str, situation: Situation) -> str:
        return f"{self._hash(f'{judge}/{situation.digest()}')}.json"

    def _hash(self, text: str) -> str:
        return blake2b(text.encode("utf-8", "replace"), key=self._key[:64], digest_size=12).hexdigest()
