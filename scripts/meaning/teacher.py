"""What the teacher says: one vector of MiniLM per text, in pieces that a stopped run keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from satchel.embed import normalised
from satchel.embed.minilm import INPUT, VOCABULARY_FILE, MiniLM, built
from satchel.embed.static import PIECE_MARK

TEXTS_PER_PIECE = 4_000


@cache
def _model(work: Path) -> MiniLM:
    return MiniLM(work)


def taught(texts: Sequence[str], work: Path, processes: int) -> npt.NDArray[np.float32]:
    """Return the teacher's vector of each text; `##ing` is the piece of a word. `work` keeps what was done."""
    _model(work).embed_query("the model is built once, before the processes start")
    parts = [texts[start : start + TEXTS_PER_PIECE] for start in range(0, len(texts), TEXTS_PER_PIECE)]
    with ProcessPoolExecutor(processes) as pool:
        return np.concatenate(list(pool.map(_part, parts, [work] * len(parts)))).astype(np.float32)


def _part(texts: Sequence[str], work: Path) -> npt.NDArray[np.float16]:
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    path = work / "taught" / f"{digest}.npy"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        vectors = np.stack([_vector(_model(work), text, work) for text in texts]).astype(np.float16)
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            np.save(file, vectors)
        partial.replace(path)
    kept: npt.NDArray[np.float16] = np.load(path)
    return kept


def _vector(model: MiniLM, text: str, work: Path) -> npt.NDArray[np.float32]:
    if not text.startswith(PIECE_MARK):
        return model.embed_query(text)
    # As text the piece would be read as two marks and a word.
    session, _ = model._loaded()
    places = _places(work)
    ids = np.array([places["[CLS]"], places[text], places["[SEP]"]], dtype=np.int64)
    return normalised(session.run(None, {INPUT: ids})[0])


@cache
def _places(work: Path) -> dict[str, int]:
    lines = (built(work) / VOCABULARY_FILE).read_text(encoding="utf-8").splitlines()
    return {piece: place for place, piece in enumerate(lines)}
