"""The signals of the candidates for questions about kinds other than code, and which of them are needed.

    python -m ranker.kinds --repos DIR --out FOLDER

Needed are: the evidence turns of a question (groups: conversations); the supporting passages, as notes and as pages
(groups: kinds of questions); the sections that a commit changed together with code, asked by its message (groups:
repositories); and the section below a hidden heading, of two manuals as documentation and of four as vaults of notes
that link each other (groups: projects). Words alone are searched unless a set says vectors. `ranker.measure_kinds`
measures orders of the candidates. Several processes may share the work.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import memory
import multihop
import numpy as np
import numpy.typing as npt
import prose

from ranker.extract import LARGEST_FILE
from ranker.mine import FEWEST_WORDS, documented, question_of
from satchel import Satchel
from satchel import text as words
from satchel.config import Folders
from satchel.evaluation import fixes
from satchel.search import bm25, rank_files, rank_records, ranker, searcher
from satchel.search.dense import Meaning, scores
from satchel.search.query import Query, analyse
from satchel.search.votes import Votes
from satchel.sources.docs import FINDERS
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.system.git import find_repository
from satchel.system.locations import Registry, WorkspaceType
from satchel.types import EdgeType, Kind

Floats = npt.NDArray[np.float64]
Needed = Callable[[str, int, int], bool]
"""Whether the lines of a document, by its key, are needed."""

REPOSITORIES = (
    "pallets/flask", "psf/black", "celery/celery", "pypa/pip", "encode/httpx", "clap-rs/clap", "BurntSushi/ripgrep",
    "gin-gonic/gin", "spf13/cobra", "reduxjs/redux", "honojs/hono", "axios/axios",
)  # fmt: skip
"""Projects with documentation beside their code."""

VAULTS = {"reduxjs/redux": "docs", "encode/httpx": "docs", "psf/black": "docs", "spf13/cobra": "site"}
"""Projects whose pages link each other, and the folder of the pages."""

CANDIDATES = 100
NEIGHBOURS = 4

ASKED_FOR = {
    "when": r"when|what (?:year|date|day)",
    "who": r"who|whose|whom",
    "how many": r"how (?:many|much|long|old)",
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """The chunks of a kind in the order of the formula: positions, values on the log scale, and matched shares."""

    chunks: npt.NDArray[np.int64]
    value: Floats
    matched: Floats
    more: dict[str, Floats]


def records(store: Store, kind: Kind, query: Query, likeness: Any) -> Ranked | None:
    """The records of a kind, ranked as the engine ranks them."""
    seen: list[Any] = []
    hits = rank_records._hits

    def noted(store: Store, ranking: Any, *rest: Any) -> Any:
        seen.append(ranking)
        return hits(store, ranking, *rest)

    rank_records._hits = noted  # type: ignore[assignment]
    try:
        searcher.search_kind(store, kind, query, likeness=likeness)
    finally:
        rank_records._hits = hits
    if not seen:
        return None
    ranked = seen[0].ranked
    finite = np.flatnonzero(np.isfinite(ranked))
    best = finite[bm25.largest(ranked[finite], CANDIDATES)]
    if not len(best):
        return None
    columns = {f"signal {one.name}": share(one.values, best) for one in seen[0].signals[1:]}
    return Ranked(best, np.log(ranked[best] / ranked[best].max()), seen[0].matched[best], columns)


def sections(store: Store, query: Query) -> tuple[Ranked, dict[str, Any]] | None:
    """The sections of documentation, and the best spans with the features of the ranker of code."""
    asked: list[Any] = []

    def capture(signals: ranker.Signals, spans: Any, values: Any, _: float) -> Any:
        asked.append((signals, spans, values.copy()))
        return values

    lexicon = store.lexicon(Kind.DOC)
    rank_files.rank(query, store, lexicon, Kind.DOC, Votes(query, store), revalue=capture)
    if not asked:
        return None
    signals, spans, values = asked[0]
    order = np.argsort(-values, kind="stable")[: ranker.CANDIDATES]
    spans, values = spans[order], values[order]
    made = ranker.features(signals, spans, values)
    chunks, first, owner = np.unique(lexicon.columns.span_chunk[spans], return_index=True, return_inverse=True)
    by_value = np.argsort(first)[:CANDIDATES]
    best = first[by_value]
    more = {f"code {name}": row[best] for name, row in made.items()}
    ranked = Ranked(chunks[by_value], values[best] - values[0], signals.scores.chunk_matched[chunks[by_value]], more)
    place = np.full(len(chunks), -1)
    place[by_value] = np.arange(len(by_value))
    rows = np.stack(list(made.values()), 1).astype(np.float32)
    return ranked, {"span_features": rows, "span_names": list(made), "span_value": values, "span_owner": place[owner]}


def share(values: Floats, members: npt.NDArray[np.int64]) -> Floats:
    """Values of the members in parts of the largest of all."""
    made: Floats = values[members] / max(float(values.max(initial=0.0)), 1e-9)
    return made


def features(store: Store, lexicon: Lexicon, kind: Kind, query: Query, ranked: Ranked, texts: Sequence[str]) -> Any:
    """One column a signal, by name; the same for every kind."""
    chunks, value, columns = ranked.chunks, ranked.value, lexicon.columns
    found = bm25.score(lexicon, query.terms)
    weight = np.array([term.weight for term in query.terms])
    table = ranker._TermTable(found.chunk_occurrences, chunks, len(lexicon.live_chunk))
    idf, holders = found.chunk_occurrences.idf, found.chunk_occurrences.counts
    one, rare = np.ones(len(weight)), (holders <= max(4, 0.01 * lexicon.chunk_count)).astype(float)
    mass = float((weight * idf).sum()) or 1.0
    rarest = np.zeros(len(chunks))
    np.maximum.at(rarest, table.unit, idf[table.term])
    count = table.mass(one)
    document = columns.chunk_document[chunks]
    by_span = [bm25_best(values, lexicon, chunks) for values in (found.span, found.span_matched)]
    asked = words.words(query.zones[0][1] if query.zones else "")
    pairs = set(zip(map(words.stem, asked), map(words.stem, asked[1:]), strict=False))
    names = {word for word in asked[1:] if word[:1].isupper()}
    said = [words.words(text) for text in texts]
    stems = [[words.stem(word) for word in row] for row in said]
    heads = [set(row[:8]) for row in stems]
    every = {words.stem(word) for word in asked if words.is_meaningful(word)}
    question = " ".join(asked).lower()
    n = len(chunks)
    made = {
        "value": value, "rank": np.log1p(np.arange(n)), "lead": np.full(n, value[0] - value[min(9, n - 1)]),
        "over next": value - value[np.minimum(np.arange(n) + 1, n - 1)], "over fifth": value - value[min(4, n - 1)],
        "matched": ranked.matched, "matched of best": ranked.matched / max(ranked.matched.max(), 1e-9),
        "chunk": share(found.chunk, chunks), "chunk rank": ranker._ranks(found.chunk, found.chunk[chunks]),
        "title": share(found.title, chunks), "span": by_span[0], "span matched": by_span[1],
        "file": share(found.document, document), "covered": table.mass(weight * idf) / mass,
        "terms": count / max(len(weight), 1), "terms of question": np.full(n, np.log1p(len(weight))),
        "missing": np.full(n, float((holders == 0).mean()) if len(holders) else 0.0),
        "rarest": rarest / max(idf.max(initial=0.0), 1e-9), "mean idf": table.mass(idf) / np.maximum(count, 1),
        "rare": share(table.sums(weight * rare * idf), np.arange(n)),
        "one": share(table.sums(idf), np.arange(n)), "length": np.log1p(lexicon.chunk_length[chunks]),
        "spans": np.log1p(lexicon.chunk_span_count[chunks]),
        "siblings": np.log1p(lexicon.document_chunk_count[document]),
        "place in file": (chunks - lexicon.document_first_chunk[document]) / lexicon.document_chunk_count[document],
        "collection": np.full(n, np.log1p(lexicon.chunk_count)),
        "phrase": np.array([len(pairs & set(pairwise(row))) for row in stems]) / max(len(pairs), 1),
        "names": np.array([len(names & set(row)) for row in said]) / max(len(names), 1),
        "names asked": np.full(n, float(len(names))),
        "in head": np.array([len(every & row) for row in heads]) / max(len(every), 1),
        "of head": np.array([len(every & row) / max(len(row), 1) for row in heads]),
        "digits": np.array([sum(word[:1].isdigit() for word in row) for row in said]) / 4.0,
    }  # fmt: skip
    for name, pattern in ASKED_FOR.items():
        made[f"asks {name}"] = np.full(n, float(bool(re.match(rf"(?:{pattern})\b", question))))
    return made | around(store, lexicon, kind, query, found.chunk, chunks) | linked(store, lexicon, kind, found, chunks)


def bm25_best(values: Floats, lexicon: Lexicon, chunks: npt.NDArray[np.int64]) -> Floats:
    """The best span of each chunk, in parts of the best of all."""
    best = np.zeros(len(lexicon.columns.chunk_row))
    np.maximum.at(best, lexicon.columns.span_chunk, values)
    return share(best, chunks)


def around(
    store: Store, lexicon: Lexicon, kind: Kind, query: Query, score: Floats, chunks: npt.NDArray[np.int64]
) -> dict[str, Floats]:
    """What the neighbours of a chunk say: turns of the same session, or sections of the same page."""
    made: dict[str, Floats] = {}
    if kind is Kind.CONVERSATION:
        place = rank_records.order_of(store, kind, lexicon).place
        here = rank_records.surroundings(store, kind, lexicon, query)
        made = {
            "worth": here.worth[chunks],
            "asks": here.asks[place[chunks]],
            "asked before": here.asks[place[chunks] - 1],
        }
    else:
        place = np.arange(len(score)) + NEIGHBOURS * (1 + lexicon.columns.chunk_document)
    line = np.zeros(int(place.max(initial=0)) + 2 * NEIGHBOURS + 1)
    line[place + NEIGHBOURS] = score
    at, largest = place[chunks] + NEIGHBOURS, max(float(score.max(initial=0.0)), 1e-9)
    for step in (-2, -1, 1, 2):
        made[f"neighbour {step:+d}"] = line[at + step] / largest
    steps = [line[at + step] / largest for step in range(-NEIGHBOURS, NEIGHBOURS + 1) if step]
    time = place[chunks] / len(line) * (kind is Kind.CONVERSATION)
    return made | {"neighbours best": np.max(steps, 0), "neighbours mean": np.mean(steps, 0), "age": time}


def linked(
    store: Store, lexicon: Lexicon, kind: Kind, found: bm25.Scores, chunks: npt.NDArray[np.int64]
) -> dict[str, Floats]:
    """The best match among the notes that a note refers to or that refer to it."""
    best, links = np.zeros(len(chunks)), np.zeros(len(chunks))
    if kind is Kind.NOTE:
        known = lexicon.derived(linked, lambda: neighbours_of(store, lexicon))
        for at, chunk in enumerate(chunks.tolist()):
            others = known.get(chunk, [])
            links[at], best[at] = len(others), max((found.chunk[other] for other in others), default=0.0)
    return {"linked": best / max(float(found.chunk.max(initial=0.0)), 1e-9), "links": np.log1p(links)}


def neighbours_of(store: Store, lexicon: Lexicon) -> dict[int, list[int]]:
    """The chunks that are linked with each chunk of notes, in either direction."""
    documents = store.documents(lexicon.columns.document_id.tolist())
    rows = lexicon.columns.chunk_row.tolist()
    place = dict(zip(rows, range(len(rows)), strict=True))
    keys = {documents[one].key: at for at, one in enumerate(lexicon.columns.document_id.tolist()) if one in documents}
    table: dict[int, list[int]] = defaultdict(list)
    for row, _, target in store.edges_from(rows, [EdgeType.REFERENCE]):
        key = target.partition("::")[0]
        if key in keys:
            other = int(lexicon.document_first_chunk[keys[key]])
            table[place[row]].append(other)
            table[other].append(place[row])
    return table


def asked(
    satchel: Satchel, kind: Kind, question: str, needed: Needed, total: int, **about: str
) -> dict[str, Any] | None:
    """The arrays of one question; None if nothing matches. `total` counts what is needed, found or not."""
    store, query, spans = satchel.opened.store_of(kind), analyse(question), {}
    lexicon = store.lexicon(kind)
    if not query.terms or not total:
        return None
    if kind is Kind.DOC:
        both = sections(store, query)
        ranked, spans = both if both is not None else (None, {})
    else:
        meaning = Meaning(satchel.vectors.embedder, question) if satchel.vectors.embedder is not None else None
        ranked = records(store, kind, query, scores(store, kind, meaning))
    if ranked is None:
        return None
    columns = lexicon.columns
    rows = columns.chunk_row[ranked.chunks].tolist()
    parts, ids = store.chunks(rows), columns.document_id[columns.chunk_document[ranked.chunks]].tolist()
    documents, bodies = store.documents(ids), store.texts(set(ids))
    lines = {one: bodies[one].split("\n") for one in bodies}
    texts = [
        " ".join((parts[row].name, *lines[one][parts[row].start - 1 : parts[row].end]))
        for row, one in zip(rows, ids, strict=True)
    ]
    gold = [needed(documents[one].key, parts[row].start, parts[row].end) for row, one in zip(rows, ids, strict=True)]
    made = features(store, lexicon, kind, query, ranked, texts)
    characters = np.bincount(columns.span_chunk, columns.span_characters, len(columns.chunk_row))[ranked.chunks]
    return {
        "names": list(made), "features": np.stack(list(made.values()), 1).astype(np.float32), "value": ranked.value,
        "more_names": list(ranked.more),
        "more": np.stack([*ranked.more.values(), np.zeros(len(rows))], 1).astype(np.float32), "gold": np.array(gold),
        "total": np.array([max(total, sum(gold))]), "characters": characters,
        "about": np.array([about["id"], about["group"]]), **spans,
    }  # fmt: skip


def keep(out: Path, name: str, rows: Iterable[dict[str, Any] | None]) -> None:
    """Write the questions of one set, one file each."""
    folder, count = out / name, 0
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        if row is not None:
            target = hashlib.sha256(str(row["about"]).encode()).hexdigest()[:16]
            np.savez_compressed(folder / f"{target}.npz", **row)
            count += 1
    print(f"{name}: {count}", file=sys.stderr, flush=True)


def turns(provider: str) -> Iterator[dict[str, Any] | None]:
    """The questions of each conversation."""
    every = memory.load(memory.data_folder() / "memory_locomo_dev_turns.jsonl")
    questions = memory.load(memory.data_folder() / "memory_locomo_dev_questions.jsonl")
    for name in dict.fromkeys(row["conv"] for row in every):
        mine = [row for row in every if row["conv"] == name]
        ids = {row["id"]: f"{number:06d}" for number, row in enumerate(mine)}
        with opened(None, provider) as satchel:
            satchel.memory.remember_exchanges(memory.turns_of(mine), origin="locomo")
            satchel.embed()
            for row in questions:
                gold = {ids[turn] for turn in row["evidence"] if turn in ids} if row["conv"] == name else set()
                if gold:
                    yield asked(
                        satchel, Kind.CONVERSATION, row["question"],
                        lambda key, *_, gold=gold: key.rpartition("-")[2] in gold, len(gold), id=row["id"], group=name,
                    )  # fmt: skip


def passages(provider: str) -> Iterator[dict[str, Any] | None]:
    """The multi-hop questions; their passages are notes."""
    data = memory.data_folder()
    with tempfile.TemporaryDirectory(prefix="satchel-kinds-") as folder:
        export = Path(folder) / "passages.json"
        multihop.write_export(export, memory.load(data / "multihop_dev_passages.jsonl"))
        with opened(export, provider) as satchel:
            satchel.index()
            satchel.embed()
            for row in memory.load(data / "multihop_dev_questions.jsonl"):
                gold, group = set(row["gold"]), f"{row['source']} {row['hops']}"
                yield asked(
                    satchel, Kind.NOTE, row["question"],
                    lambda key, *_, gold=gold: key.rpartition(":")[2] in gold, len(gold), id=row["id"], group=group,
                )  # fmt: skip


def headings(repos: Path) -> Iterator[dict[str, Any] | None]:
    """The hidden headings of two manuals."""
    for project, (_, below) in prose.PROJECTS.items():
        with tempfile.TemporaryDirectory(prefix="satchel-kinds-") as folder:
            clone = Path(folder) / "clone"
            cloned(repos, project, clone)
            subprocess.run(["git", "-C", str(clone), "checkout", "-q", "HEAD", "--", below], check=True)
            collection = prose.without_headings(project, prose.pages(clone, below))
            yield from documentation(collection, [project] * len(collection.questions))


def vaults(repos: Path) -> Iterator[dict[str, Any] | None]:
    """The hidden headings of manuals whose pages link each other, as vaults of notes."""
    for project, below in VAULTS.items():
        with tempfile.TemporaryDirectory(prefix="satchel-kinds-") as folder:
            clone, root = Path(folder) / "clone", Path(folder) / "root"
            cloned(repos, project, clone)
            subprocess.run(["git", "-C", str(clone), "checkout", "-q", "HEAD", "--", below], check=True)
            questions: list[tuple[str, str, int]] = []
            for path in sorted((clone / below).rglob("*.md*")):
                lines = path.read_text(encoding="utf-8").replace(".mdx", ".md").split("\n")
                target = (root / path.relative_to(clone / below)).with_suffix(".md")
                for number, heading in enumerate([one for one in FINDERS["markdown"](lines) if one.title], 1):
                    lines[heading.row] = lines[heading.row].replace(heading.title, f"{prose.HIDDEN} {number}")
                    if len(heading.title.split()) >= prose.QUESTION_WORDS:
                        questions.append((heading.title, str(target.relative_to(root)), heading.row + 1))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text("\n".join(lines), encoding="utf-8")
            seen = Counter(title for title, *_ in questions)
            with opened(root, "off", WorkspaceType.VAULT) as satchel:
                satchel.index()
                for title, *place in questions:
                    if seen[title] == 1:
                        about = {"id": f"{project} {title}", "group": project}
                        yield asked(
                            satchel, Kind.NOTE, title, lambda *at, place=place: list(at[:2]) == place, 1, **about
                        )


def encyclopedia() -> Iterator[dict[str, Any] | None]:
    """The multi-hop questions; their passages are pages of documentation."""
    data = memory.data_folder()
    rows = memory.load(data / "multihop_dev_questions.jsonl")
    yield from documentation(prose.passages(data), [f"{row['source']} {row['hops']}" for row in rows])


def documentation(collection: prose.Collection, groups: Sequence[str]) -> Iterator[dict[str, Any] | None]:
    """The questions of a collection about its pages or their sections, by words alone."""
    with tempfile.TemporaryDirectory(prefix="satchel-kinds-") as folder:
        for path, text in collection.files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        with opened(Path(folder), "off") as satchel:
            satchel.index()
            for number, (row, group) in enumerate(zip(collection.questions, groups, strict=True)):
                gold = set(row.gold)

                def needed(key: str, start: int, _: int, gold: Any = gold, exact: bool = row.by_section) -> bool:
                    return (f"{key}:{start}" if exact else key) in gold

                yield asked(satchel, Kind.DOC, row.text, needed, len(gold), id=f"{group} {number}", group=group)


@contextmanager
def opened(root: Path | None, provider: str, kind: WorkspaceType | None = None) -> Iterator[Satchel]:
    """A root with a home of its own; an empty root if none is given."""
    with tempfile.TemporaryDirectory(prefix="satchel-kinds-home-") as home:
        place = root or Path(home) / "root"
        place.mkdir(exist_ok=True) if root is None else None
        environ = {**os.environ, "SATCHEL_HOME": str(Path(home) / "home")}
        if kind is not None:
            Registry(Folders.from_environment(environ)).add("vault", place, kind)
        settings = {"embed.provider": provider, "index.workers": 1}
        with Satchel.open(root=place, settings=settings, environ=environ) as satchel:
            yield satchel


def cloned(repos: Path, repo: str, target: Path, *options: str) -> None:
    """A clone that shares the objects of the stored repository."""
    origin = repos / repo.replace("/", "+")
    command = ["git", "clone", "-q", "--shared", "--no-checkout", *options, str(origin), str(target)]
    subprocess.run(command, check=True, capture_output=True)


def changed_sections(repos: Path, repo: str) -> Iterator[dict[str, Any] | None]:
    """The sections that the commits of a repository changed, each asked at its parent, the oldest first."""
    with tempfile.TemporaryDirectory(prefix="satchel-kinds-") as folder:
        clone, place = Path(folder) / "clone", Path(folder) / "tree"
        cloned(repos, repo, clone)
        repository = find_repository(clone)
        assert repository is not None
        tree = fixes.Snapshot(place, repository, most_bytes=LARGEST_FILE)
        found = sorted(documented(repository), key=lambda fix: fix.time)
        tree.move_to(found[0].parent)
        with opened(place, "off") as satchel:
            for fix in found:
                question = question_of(fix)
                if len(question.split()) < FEWEST_WORDS:
                    continue
                tree.move_to(fix.parent)
                satchel.index()

                def needed(key: str, start: int, end: int, gold: Any = fix.gold) -> bool:
                    return any(first <= end and start <= last for first, last in gold.get(key, ()))

                total = needed_sections(satchel.store, needed, fix.gold)
                yield asked(satchel, Kind.DOC, question, needed, total, id=fix.sha, group=repo)


def needed_sections(store: Store, needed: Needed, paths: Iterable[str]) -> int:
    """How many sections of these pages are needed."""
    lexicon = store.lexicon(Kind.DOC)
    documents = lexicon.document_positions(store.document_ids(Kind.DOC, paths).values())
    firsts = [
        (int(lexicon.document_first_chunk[one]), int(lexicon.document_chunk_count[one]))
        for one in documents
        if one >= 0
    ]
    rows = [int(lexicon.columns.chunk_row[at]) for first, count in firsts for at in range(first, first + count)]
    places = store.chunks(rows)
    names = {
        one: document.key for one, document in store.documents({part.document for part in places.values()}).items()
    }
    return sum(needed(names[part.document], part.start, part.end) for part in places.values())


def extract(options: argparse.Namespace) -> None:
    """Extract all sets that no other process has taken."""
    options.out.mkdir(parents=True, exist_ok=True)
    work: list[tuple[str, str, Callable[[], Iterator[Any]]]] = [
        ("turns", "turns", lambda: turns("off")), ("passages", "passages", lambda: passages("off")),
        *(("sections", repo, lambda repo=repo: changed_sections(options.repos, repo)) for repo in REPOSITORIES),
        ("headings", "headings", lambda: headings(options.repos)),
        ("pages", "pages", encyclopedia), ("vaults", "vaults", lambda: vaults(options.repos)),
        ("passages, vectors", "passages vectors", lambda: passages("minilm")),
        ("turns, vectors", "turns vectors", lambda: turns("minilm")),
    ]  # fmt: skip
    for name, part, rows in work:
        with suppress(FileExistsError):
            os.close(os.open(options.out / f".{part.replace('/', '+')}.taken", os.O_CREAT | os.O_EXCL))
            print(part, file=sys.stderr, flush=True)
            keep(options.out, name, rows())


def main() -> None:
    """Extract all sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True, help="folder of the repositories, named OWNER+NAME")
    parser.add_argument("--out", type=Path, required=True)
    extract(parser.parse_args())


if __name__ == "__main__":
    main()
