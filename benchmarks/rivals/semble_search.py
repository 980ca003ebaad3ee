"""Semble with WordLlama's static vectors (not its own code model): its printed results, in order, up to the budget.

Semble has no budget. Of its 40 best results this keeps, in its order, each whole one that still fits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import tiktoken
from answer import Shown, main, print_answer, visible_spans

RESULTS = 40
COMMAND = [str(Path(sys.executable).parent / "semble"), "search", "--top-k", str(RESULTS)]


def model_folder() -> Path:
    """WordLlama's vectors and tokenizer as a Model2Vec folder, made once in the environment of this interpreter."""
    folder = Path(sys.prefix) / "wordllama-as-model2vec"
    if not (folder / "model.safetensors").exists():
        _write_model(folder)
    return folder


def _write_model(folder: Path) -> None:
    import wordllama
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    base = Path(wordllama.__file__).parent
    weights = load_file(next(iter(sorted(base.rglob("*.safetensors")))))
    tokenizer = Tokenizer.from_file(str(next(iter(sorted(base.rglob("*tokenizer*.json"))))))
    vectors = next(iter(weights.values())).astype("float32")
    StaticModel(vectors=vectors, tokenizer=tokenizer).save_pretrained(str(folder))


def search(question: str, form: str) -> str:
    """Semble's standard output for one question; the first call indexes."""
    environment = {**os.environ, "SEMBLE_MODEL_NAME": str(model_folder()), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [*COMMAND, "--format", form, "--", question, "."], env=environment, check=True, capture_output=True
    )
    return done.stdout.decode("utf-8", "replace")


def index() -> None:
    """Build Semble's cached index by any question."""
    search("index", "json")


def ask(question: str, options: Namespace) -> None:
    """The results as Semble's text format prints them: `path:first-last`, a blank line, the chunk."""
    results = json.loads(search(question, "json")).get("results", [])
    counter = tiktoken.get_encoding("o200k_base")
    text = ""
    chosen: dict[str, list[int]] = {}
    for result in results:
        path, first, last = result["file_path"], result["start_line"], result["end_line"]
        longer = f"{text}{path}:{first}-{last}\n\n{result['content']}\n\n"
        if len(counter.encode_ordinary(longer)) <= options.max_tokens:
            text = longer
            chosen.setdefault(path, []).extend(range(first, last + 1))
    shown: Shown = [(path, visible_spans(path, numbers, text)) for path, numbers in chosen.items()]
    print_answer(text, shown, limit=options.max_tokens, used=len(counter.encode_ordinary(text)))


if __name__ == "__main__":
    main(ask, index)
