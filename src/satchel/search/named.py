"""The definitions of the names in a question: what each is worth, and which come first because the question names them.

The ranking finds most definitions by the words of their names. It does not find those of everyday words, which are in
every file (`get`, `g`), nor the first of a class that many files open again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.search import weights
from satchel.search.bm25 import FloatArray
from satchel.search.chunks import definitions_of
from satchel.search.query import Query, Zone, everyday_names, with_everyday_names
from satchel.store.protocol import Store
from satchel.store.records import DefinitionRow
from satchel.store.segments import Lexicon

EVERYDAY_DEFINITIONS = 500
"""Most definitions of an everyday word that are read."""

_WRITTEN_FORMS = frozenset({"backticks", "dotted", "call"})
"""Forms in which a class is named, not only spoken of."""


class NamedDefinition(Struct, frozen=True):
    """A live definition of a mentioned name, as positions of the lexicon."""

    chunk: int
    document: int
    line: int
    owner: str


def with_defined_names(query: Query, store: Store) -> Query:
    """Return the question with terms for its everyday words that name a definition."""
    everyday = everyday_names(query)
    defined = {definition.name for definition in store.definitions(everyday)} if everyday else set()
    return with_everyday_names(query, defined) if defined else query


def named_definitions(query: Query, store: Store, lexicon: Lexicon) -> dict[str, list[NamedDefinition]]:
    """Return the definitions of each mentioned name in this kind of files; none of a name with very many.

    Of an everyday word more are read: the question may tell the owner or the file of the one that is meant.
    """
    names = dict.fromkeys(mention.text for mention in query.symbols)
    everyday = dict.fromkeys(everyday_names(query))
    by_name: dict[str, list[DefinitionRow]] = {}
    for limit, own in (
        (weights.MENTION_DEFINITIONS, dict.fromkeys(name for name in names if name not in everyday)),
        (EVERYDAY_DEFINITIONS, everyday),
    ):
        by_name |= lexicon.fetched(limit, own, partial(definitions_of, store, limit))
    definitions = [definition for name in names for definition in by_name[name]]
    positions = lexicon.chunk_positions(definition.row for definition in definitions).tolist()
    defined: dict[str, list[NamedDefinition]] = {name: [] for name in names}
    for definition, chunk in zip(definitions, positions, strict=True):
        if chunk >= 0 and lexicon.live_chunk[chunk]:
            document = int(lexicon.columns.chunk_document[chunk])
            defined[definition.name].append(NamedDefinition(chunk, document, definition.line, definition.owner))
    return defined


def definition_values(query: Query, defined: Mapping[str, Sequence[NamedDefinition]], total: int) -> FloatArray:
    """Return for each of `total` chunks the weight of the best mention of a name that it defines."""
    values = np.zeros(total)
    for mention in query.symbols:
        definitions = defined[mention.text]
        for definition in definitions:
            worth = weights.FORM_WEIGHTS[mention.form] / len(definitions) ** weights.DEFINITIONS_EXPONENT
            owner = definition.owner.rpartition(".")[2]
            factor = weights.OWNER_FACTOR if mention.qualifier and owner == mention.qualifier else 1.0
            values[definition.chunk] = max(values[definition.chunk], worth * factor)
    return values


def asked_definitions(
    query: Query, defined: Mapping[str, Sequence[NamedDefinition]], store: Store, lexicon: Lexicon, path: FloatArray
) -> Iterator[NamedDefinition]:
    """Yield the definitions that the first line names and that its words alone would not put first, the meant ones.

    These are definitions of everyday words, and of a short question classes that several files open again. `path` is
    the value of each document as named by its path.
    """
    titled = [mention for mention in query.symbols if mention.zone is Zone.TITLE]
    written = {mention.text for mention in titled if mention.form in _WRITTEN_FORMS and len(query.zones) == 1}
    everyday = everyday_names(query)
    for name in dict.fromkeys(mention.text for mention in titled):
        if name in everyday:
            meant = _meant(defined[name], {mention.text for mention in query.symbols}, lexicon, path)
        else:
            meant = _first_opened(name, defined[name], store, lexicon) if name in written else []
        if len({definition.chunk for definition in meant}) <= weights.CALL_DEFINITIONS:
            yield from meant


def _meant(
    definitions: Sequence[NamedDefinition], named: AbstractSet[str], lexicon: Lexicon, path: FloatArray
) -> Sequence[NamedDefinition]:
    """Return the definitions of an owner or in a file that the question names, else those outside of tests."""
    in_test = lexicon.columns.document_secondary > 0
    return (
        [definition for definition in definitions if definition.owner.rpartition(".")[2] in named]
        or [definition for definition in definitions if path[definition.document] >= weights.FILE_NAME_WEIGHT]
        or [definition for definition in definitions if not in_test[definition.document]]
        or definitions
    )


def _first_opened(
    name: str, definitions: Sequence[NamedDefinition], store: Store, lexicon: Lexicon
) -> list[NamedDefinition]:
    """Return the definition of a class that several files open again: the one in the file that is called like it."""
    opened = [
        definition for definition in definitions if definition.owner.rpartition(".")[2] != name
    ]  # without its constructors
    files = {definition.document for definition in opened}
    if len(files) < 2 or len({definition.owner for definition in opened}) > 1:
        return []
    stems = lexicon.fetched("stems of files", files, partial(_stems, store, lexicon))
    return [definition for definition in opened if stems.get(definition.document) == _joined(name)]


def _stems(store: Store, lexicon: Lexicon, documents: Sequence[int]) -> dict[int, str]:
    ids = {int(lexicon.columns.document_id[position]): position for position in documents}
    keys = {ids[identity]: document.key for identity, document in store.documents(ids).items()}
    return {position: _joined(key.rpartition("/")[2].rpartition(".")[0]) for position, key in keys.items()}


def _joined(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
