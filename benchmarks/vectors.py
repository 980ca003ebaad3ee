"""The bundled model and the vectors that are made with it: how fast, how exact, and when they say "nothing".

    python benchmarks/vectors.py --out benchmarks/results/vectors.json

`model`: building it once, loading it, texts a second, milliseconds a question, and the cosine of its vectors to those
of the published weights in 32 bits (a numpy version of the model below). `scan`: comparing a question with 100,000
vectors, held in the ways that were considered. `eight_bits`: what holding vectors in 8 bits changes in real answers.
`floor`: how many questions are answered with nothing, by words alone and with vectors, when they are asked where the
answer is and when they are about somebody else's conversations.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from memory import data_folder, load, turns_of

from satchel import Satchel, __version__
from satchel.embed import normalised
from satchel.embed.minilm import (
    HEADS,
    LAYERS,
    MAX_TOKENS,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
    WIDTH,
    Array,
    MiniLM,
    built,
    read_tensors,
    weights_folder,
)
from satchel.embed.wordpiece import WordPiece, read_vocabulary
from satchel.search import weights
from satchel.search.dense import Likeness, Meaning, scores, similar_chunks
from satchel.search.strength import relevance_of
from satchel.store import vectors as stored
from satchel.types import Kind

TEXTS = 300
SCANNED = 100_000
REPEATS = 9
DEPTH = 10
SEED = 1

HITS = 50
"""As many as a context looks at."""

Rows = Sequence[Mapping[str, Any]]


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """The median time of some runs."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def published(tensors: Mapping[str, Array], ids: Sequence[int]) -> Array:
    """The vector of a text by the published weights in 32 bits."""

    def linear(state: Array, name: str) -> Array:
        product: Array = state @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        return product

    def norm(state: Array, name: str) -> Array:
        spread = np.sqrt(state.var(-1, keepdims=True) + 1e-12)
        even: Array = (state - state.mean(-1, keepdims=True)) / spread
        return even * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    erf = np.vectorize(math.erf, otypes=[np.float32])
    table = "embeddings.{}_embeddings.weight".format
    state = tensors[table("word")][list(ids)] + tensors[table("position")][: len(ids)] + tensors[table("token_type")][0]
    state = norm(state, "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        query, key, value = (
            linear(state, f"{at}attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        share = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH / HEADS))
        share /= share.sum(-1, keepdims=True)
        taken = (share @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        state = norm(linear(taken, f"{at}attention.output.dense") + state, f"{at}attention.output.LayerNorm")
        wide = linear(state, f"{at}intermediate.dense")
        wide = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
        state = norm(linear(wide, f"{at}output.dense") + state, f"{at}output.LayerNorm")
    mean: Array = state.mean(0)
    return normalised(mean)


def model(texts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    """Speed of the bundled model, and how near it is to the published one."""
    source = weights_folder()
    if source is None:
        raise SystemExit("no installed package carries the weights: see docs/vectors.md")
    with tempfile.TemporaryDirectory(prefix="satchel-model-") as folder:
        cache = Path(folder)
        build = seconds(lambda: built(cache))
        fresh = MiniLM(cache)
        first = seconds(lambda: fresh.embed_query("warm up"))
        vectors = fresh.embed_documents(texts)
        whole = seconds(lambda: fresh.embed_documents(texts))
        asked = sorted(seconds(lambda text=text: fresh.embed_query(text)) for text in questions)  # type: ignore[misc]
        pieces = WordPiece(read_vocabulary(built(cache) / VOCABULARY_FILE))
    ids = [pieces.ids(text, MAX_TOKENS) for text in texts]
    tensors = read_tensors(source / WEIGHTS_FILE)
    cosines = [float(vector @ published(tensors, row)) for vector, row in zip(vectors, ids, strict=True)]
    return {
        "texts": len(texts),
        "tokens_a_text": round(statistics.fmean(map(len, ids)), 1),
        "build_s": round(build, 2),
        "load_s": round(first, 2),
        "texts_a_second": round(len(texts) / whole),
        "query_ms": {"p50": _ms(asked[len(asked) // 2]), "p95": _ms(asked[int(len(asked) * 0.95)])},
        "cosine_to_published": {
            "mean": round(statistics.fmean(cosines), 4),
            "least": round(min(cosines), 4),
            "p5": round(sorted(cosines)[len(cosines) // 20], 4),
        },
    }


def _ms(value: float) -> float:
    return round(value * 1000, 2)


def scan() -> dict[str, Any]:
    """One question against 100,000 random vectors, held as they may be."""
    random = np.random.default_rng(SEED)
    vectors = normalised(random.standard_normal((SCANNED, WIDTH), dtype=np.float32))
    query = normalised(vectors[0] + vectors[1] / 2)
    halves = vectors.astype(np.float16)
    wide = stored.VectorTable(np.arange(SCANNED), vectors)
    raw = stored.encode(vectors)
    decoding = seconds(lambda: stored.decode(range(SCANNED), raw))
    table = stored.decode(range(SCANNED), raw)

    def widened(rows: int) -> None:
        for start in range(0, SCANNED, rows):
            halves[start : start + rows].astype(np.float32) @ query

    error = np.abs(table.products(query) - wide.products(query))
    return {
        "vectors": SCANNED,
        "as_satchel_holds_them": {
            "ms": _ms(seconds(lambda: table.products(query), REPEATS)),
            "mb": round(table.matrix.nbytes / 1e6),
            "bits": 8 * table.matrix.itemsize,
            "read_s": round(decoding, 2),
            "error_mean": round(float(error.mean()), 5),
            "error_most": round(float(error.max()), 5),
        },
        "32_bits": {"ms": _ms(seconds(lambda: wide.products(query), REPEATS)), "mb": round(vectors.nbytes / 1e6)},
        "16_bits_by_512": {"ms": _ms(seconds(lambda: widened(512), REPEATS)), "mb": round(halves.nbytes / 1e6)},
        "16_bits_by_8192": {"ms": _ms(seconds(lambda: widened(8192), REPEATS)), "mb": round(halves.nbytes / 1e6)},
    }


def eight_bits(vectors: npt.NDArray[np.float32], questions: npt.NDArray[np.float32]) -> dict[str, Any]:
    """Real turns and real questions: the first ten by 8 bits and by 32."""
    wide = stored.VectorTable(np.arange(len(vectors)), vectors)
    before, stored.WIDE_BYTES = stored.WIDE_BYTES, 0
    coarse = stored.decode(range(len(vectors)), stored.encode(vectors))
    stored.WIDE_BYTES = before
    shared, errors = [], []
    for question in questions:
        one, other = wide.products(question), coarse.products(question)
        best = [set(np.argsort(-values, kind="stable")[:DEPTH].tolist()) for values in (one, other)]
        shared.append(len(best[0] & best[1]) / DEPTH)
        errors.append(float(np.abs(one - other).max()))
    return {
        "vectors": len(vectors),
        "questions": len(questions),
        "same_of_the_first_10": round(statistics.fmean(shared), 4),
        "error_most": round(max(errors), 5),
    }


def floor(turns: Rows, questions: Rows) -> dict[str, Any]:
    """Every question, asked of its own conversation and of each other one: whether anything reaches the floor."""
    names = list(dict.fromkeys(row["conv"] for row in turns))
    silent: dict[str, dict[str, list[bool]]] = {}
    contrasts: dict[str, list[float]] = {"own": [], "foreign": []}
    usual: list[float] = []
    for mode, provider in (("words", "off"), ("words and vectors", "minilm")):
        silent[mode] = {"own": [], "foreign": []}
        for name in names:
            with tempfile.TemporaryDirectory(prefix="satchel-floor-") as folder:
                (root := Path(folder) / name).mkdir()
                environ = {**os.environ, "SATCHEL_HOME": os.environ.get("SATCHEL_BENCH_HOME", f"{folder}/home")}
                with Satchel.open(root=root, settings={"embed.provider": provider}, environ=environ) as satchel:
                    mine = [row for row in turns if row["conv"] == name]
                    satchel.memory.remember_exchanges(turns_of([dict(row) for row in mine]), origin=folder)
                    satchel.embed()
                    for row in questions:
                        whose = "own" if row["conv"] == name else "foreign"
                        hits = satchel.search(row["question"], types=["conversations"], limit=HITS, refresh=False)
                        best = max((hit.relevance for hit in hits), default=0.0)
                        silent[mode][whose].append(best < relevance_of(weights.WEAK_FLOOR))
                        if satchel.vectors.embedder is not None:
                            found = likeness(satchel, row["question"])
                            lexicon = satchel.memory_store.lexicon(Kind.CONVERSATION)
                            contrasts[whose].append(float(similar_chunks(lexicon, found).contrast.max()))
                            usual.append(float(found.values.mean()))
    needed = weights.VECTOR_FLOOR + weights.WEAK_FLOOR * (1 - weights.VECTOR_FLOOR)
    return {
        "floor": weights.WEAK_FLOOR,
        "answered_with_nothing": {
            mode: {whose: round(statistics.fmean(rows), 4) for whose, rows in table.items()}
            for mode, table in silent.items()
        },
        "asked": {whose: len(rows) for whose, rows in contrasts.items()},
        "usual_cosine": round(statistics.fmean(usual), 3),
        "nearest_contrast": {
            whose: {"p50": _quantile(rows, 0.5), "p95": _quantile(rows, 0.95), "p99": _quantile(rows, 0.99)}
            for whose, rows in contrasts.items()
        },
        "answered_by_vectors_alone": {
            whose: round(statistics.fmean(value >= needed for value in rows), 4) for whose, rows in contrasts.items()
        },
    }


def likeness(satchel: Satchel, question: str) -> Likeness:
    """How near each turn is to a question."""
    assert satchel.vectors.embedder is not None
    found = scores(satchel.memory_store, Kind.CONVERSATION, Meaning(satchel.vectors.embedder, question))
    assert found is not None
    return found


def _quantile(values: Sequence[float], share: float) -> float:
    return round(sorted(values)[int(len(values) * share)], 3)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder with the LoCoMo files")
    parser.add_argument("--out", type=Path, help="where the result goes (JSON); shown if not given")
    options = parser.parse_args()
    turns = load(options.data / "memory_locomo_dev_turns.jsonl")
    questions = load(options.data / "memory_locomo_dev_questions.jsonl")
    texts = [row["text"] for row in turns]
    asked = [row["question"] for row in questions]
    result: dict[str, Any] = {"satchel": __version__, "processor": platform.machine(), "processors": os.cpu_count()}
    result["scan"] = scan()
    result["model"] = model([f"{row['speaker']}: {row['text']}" for row in turns[:TEXTS]], asked[:TEXTS])
    with tempfile.TemporaryDirectory(prefix="satchel-model-") as folder:
        embedder = MiniLM(Path(folder))
        result["eight_bits"] = eight_bits(embedder.embed_documents(texts), embedder.embed_documents(asked[:TEXTS]))
    result["floor"] = floor(turns, questions)
    text = json.dumps(result, indent=2) + "\n"
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
