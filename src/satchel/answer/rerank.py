"""Candidates in the order of a reranker, where the user has configured one (`rerank.endpoint`).

One request with a deadline of two seconds. Scores are kept in the user's state folder by a keyed hash of question,
texts and model, without them. Without an answer in time the order of the search stays, and the answer says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from satchel.embed.providers import RerankModel, model_options
from satchel.errors import ConfigError, JudgeError, MissingExtraError
from satchel.search.rank_records import SearchResult
from satchel.settings import Settings
from satchel.store.protocol import Store
from satchel.system import state_files
from satchel.types import Failure, Hit, Signal

CANDIDATES = 60
"""Hits that are sent: a request of 100 KB, which a small model on a processor answers in about a second."""

TEXT_CHARACTERS = 2_000


class Reranking:
    """Asks for scores, and keeps them. `key` is that of the user, for hashes."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], state: Path, key: bytes) -> None:
        self._settings, self._environ = settings, environ
        self._folder, self._key = state / "rerank", key

    @cached_property
    def _model(self) -> RerankModel:
        return RerankModel(model_options(self._settings, "rerank", self._environ, "reranks", 2.0))

    def applied(self, question: str, result: SearchResult, store: Store) -> tuple[SearchResult, list[Failure]]:
        """Return the result with its best hits in another order, and what went wrong; then nothing is changed."""
        hits = result.hits[:CANDIDATES]
        if len(hits) < 2:
            return result, []
        try:
            values = self._scores(question, _texts(hits, store))
        except (ConfigError, JudgeError, MissingExtraError) as error:
            return result, [Failure("rerank", str(error), "the order of the search stays")]
        return result._replace(hits=(*reordered(hits, values), *result.hits[CANDIDATES:])), []

    def _scores(self, question: str, texts: Sequence[str]) -> list[float]:
        whole = json.dumps([self._settings.rerank_model, question, *texts]).encode()
        file = self._folder / f"{blake2b(whole, key=self._key[:64], digest_size=12).hexdigest()}.json"
        kept = state_files.read_list(file)
        if kept is None or len(kept) != len(texts):
            kept = [*self._model.scores(question[:4_000], texts)]
            state_files.keep_list(file, kept)
        return [float(value) for value in kept]


def reordered(hits: Sequence[Hit], values: Sequence[float]) -> list[Hit]:
    """Return hits by their places in the search and by these scores, which count twice.

    The first one gets the score, the relevance and the level of spans that the first one had, and so on, so that they
    stay calibrated. A file gets the score of the file whose place its best hit has now.
    """
    by_model = sorted(range(len(hits)), key=lambda number: (-values[number], number))
    place = {number: at for at, number in enumerate(by_model)}
    order = sorted(range(len(hits)), key=lambda number: (number + 2 * place[number], place[number]))
    file_scores: dict[int, float] = {}
    for slot, number in zip(hits, order, strict=True):
        document = hits[number].chunk.document
        file_scores[document] = max(file_scores.get(document, 0.0), slot.file_score)
    moved = [_moved(hits[number], slot, values[number]) for slot, number in zip(hits, order, strict=True)]
    return [hit._replace(file_score=file_scores[hit.chunk.document]) for hit in moved]


def _moved(hit: Hit, slot: Hit, value: float) -> Hit:
    """Return a hit with the standing of another one."""
    spans = tuple(span._replace(value=span.value + slot.score - hit.score) for span in hit.spans)
    signals = (*hit.signals, Signal("reranked", round(value, 4), 1.0))
    return hit._replace(score=slot.score, relevance=slot.relevance, spans=spans, signals=signals)


def _texts(hits: Sequence[Hit], store: Store) -> list[str]:
    """Return the path, the title and the first lines of each hit."""
    lines = {hit.chunk.document: store.text(hit.chunk.document).split("\n") for hit in hits}
    texts = []
    for hit in hits:
        location = hit.chunk.location
        head, first, last = (location.path, location.start_line - 1, location.end_line) if location else ("", 0, None)
        body = "\n".join(lines[hit.chunk.document][first:last])
        texts.append(f"{head}\n{hit.chunk.title}\n{body}".strip()[:TEXT_CHARACTERS])
    return texts
