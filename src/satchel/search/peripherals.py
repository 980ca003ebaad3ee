"""Peripheral files that rank lower for a question: those that it does not name and that do not answer it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.search import bm25
from satchel.search.query import Query, Zone
from satchel.sources.roles import Peripheral, asked_peripherals, peripheral_role
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.types import Kind

BoolArray = npt.NDArray[np.bool_]

FAR_BETTER = 1.5
"""A chunk of a peripheral file that matches so many times as much as the best other file is the answer. Chunks are
compared with files on purpose: a changelog as a whole matches everything."""

_ROLES = tuple(Peripheral)


@dataclass(frozen=True, slots=True)
class _Roles:
    """The index of each document's role, -1 for an ordinary one, and the paths of the peripheral ones."""

    role: npt.NDArray[np.int8]
    paths: dict[int, str]


def aside(query: Query, store: Store, lexicon: Lexicon, kind: Kind, scores: bm25.Scores) -> BoolArray:
    """Return a mask of the documents of a kind of files that rank lower."""
    roles = lexicon.derived(_Roles, lambda: _roles(store, lexicon, kind))
    if not roles.paths:
        return np.zeros(len(roles.role), dtype=bool)
    requested = [_ROLES.index(role) for role in asked_peripherals(title_of(query))]
    steps_back = (roles.role >= 0) & lexicon.live_document & ~np.isin(roles.role, requested)
    mentioned = [mention.text.lower().strip("/") for mention in query.paths]
    for position, path in roles.paths.items() if mentioned else ():
        if any(_is_named(path.lower(), name) for name in mentioned):
            steps_back[position] = False
    return steps_back & ~_far_better(query, store, lexicon, kind, scores, steps_back)


def title_of(query: Query) -> str:
    """Return the first line of a question, its subject; the rest of an issue names many other things."""
    return next((line for zone, line in query.zones if zone is Zone.TITLE), "")


def _is_named(path: str, mention: str) -> bool:
    return f"/{path}".endswith(f"/{mention}") or f"/{path}".startswith(f"/{mention}/")


def _roles(store: Store, lexicon: Lexicon, kind: Kind) -> _Roles:
    """Return the roles of all files of a kind."""
    is_prose = kind is not Kind.CODE
    role_of = {path: role for path in store.iterate_keys(kind) if (role := peripheral_role(path, is_prose=is_prose))}
    ids = store.document_ids(kind, role_of)
    positions = lexicon.document_positions(ids.values()).tolist()
    roles = np.full(len(lexicon.columns.document_id), -1, dtype=np.int8)
    paths = {position: path for path, position in zip(ids, positions, strict=True) if position >= 0}
    for position, path in paths.items():
        roles[position] = _ROLES.index(role_of[path])
    return _Roles(roles, paths)


def _far_better(
    query: Query, store: Store, lexicon: Lexicon, kind: Kind, scores: bm25.Scores, steps_back: BoolArray
) -> BoolArray:
    """Return the documents in `steps_back` with a chunk that matches far better than any other file."""
    best = np.zeros(len(steps_back))
    np.maximum.at(best, lexicon.columns.chunk_document, scores.chunk_matched)
    ordinary = lexicon.live_document & ~steps_back & (lexicon.columns.document_secondary == 0)
    bar = float(scores.document_matched[ordinary].max(initial=0.0))
    better = steps_back & (best > 0) & (best >= FAR_BETTER * bar)
    if kind is not Kind.CODE and better.any():
        code = store.lexicon(Kind.CODE)
        matched = bm25.score(code, query.terms).document_matched[
            code.live_document & (code.columns.document_secondary == 0)
        ]
        better &= best >= FAR_BETTER * float(matched.max(initial=0.0))
    return better
