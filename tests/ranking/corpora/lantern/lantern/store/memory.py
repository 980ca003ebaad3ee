"""A store in memory: quick, and gone with the program."""

from lantern.store.base import Store


class MemoryStore(Store):
    """A dictionary of texts."""

    def __init__(self):
        self._texts = {}

    def save(self, number, text):
        self._texts[number] = text

    def load(self, number):
        return self._texts[number]

    def remove(self, number):
        self._texts.pop(number, None)
