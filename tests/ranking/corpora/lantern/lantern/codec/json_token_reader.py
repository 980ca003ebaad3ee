"""Reads JSON token by token, for results that are too large to be read at once."""

PUNCTUATION = frozenset("{}[]:,")


class JsonTokenReader:
    """Yields the tokens of a stream: punctuation, strings, numbers and words."""

    def __init__(self, stream):
        self.stream = stream
        self.depth = 0

    def __iter__(self):
        while character := self.stream.read(1):
            if character in PUNCTUATION:
                self.depth += (character in "{[") - (character in "}]")
                yield character
            elif character == '"':
                yield self._string()
            elif not character.isspace():
                yield self._word(character)

    def _string(self):
        text = ""
        while (character := self.stream.read(1)) not in ('"', ""):
            text += self.stream.read(1) if character == "\\" else character
        return text

    def _word(self, first):
        text = first
        while (character := self.stream.read(1)).isalnum():
            text += character
        return text
