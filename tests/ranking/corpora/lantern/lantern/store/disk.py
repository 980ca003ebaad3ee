"""A store on disk, with a journal that survives a crash."""

import os
import pathlib

from lantern.codec.json_reader import read_record
from lantern.store.base import Store


class DiskStore(Store):
    """One line of the journal for each change; compacted when most lines are obsolete."""

    def __init__(self, folder):
        self._path = pathlib.Path(folder) / "journal"
        self._texts = {}
        self._lines = 0
        if self._path.exists():
            self._replay()

    def save(self, number, text):
        self._append(f"+{number} {text}")
        self._texts[number] = text

    def load(self, number):
        return self._texts[number]

    def remove(self, number):
        if self._texts.pop(number, None) is not None:
            self._append(f"-{number}")
        if self._lines > 2 * len(self._texts) + 1000:
            self._compact()

    def _append(self, line):
        with self._path.open("a", encoding="utf-8") as journal:
            journal.write(line + "\n")
            journal.flush()
            os.fsync(journal.fileno())
        self._lines += 1

    def _replay(self):
        """Read the journal after a crash; a torn last line is dropped."""
        for line in self._path.read_text(encoding="utf-8").splitlines():
            record = read_record(line)
            if record is None:
                break
            number, text = record
            if text is None:
                self._texts.pop(number, None)
            else:
                self._texts[number] = text

    def _compact(self):
        """Write the journal anew with what is still needed."""
        fresh = self._path.with_suffix(".new")
        fresh.write_text("".join(f"+{number} {text}\n" for number, text in self._texts.items()), encoding="utf-8")
        fresh.replace(self._path)
        self._lines = len(self._texts)
