"""Find the nearest vectors with the extension pgvector: one HNSW index for each root that has very many.

An index is over an expression of the stored bytes, so vectors are written and read as in every store. What it finds is
compared here again, with those bytes. A role makes and drops indexes of the roots that it sees, if it owns the tables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from satchel.store import vectors
from satchel.store.postgres.connection import STATEMENT_SECONDS, ServerConnection, literal
from satchel.types import IN_STEPS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from satchel.store.protocol import Store
    from satchel.types import Kind

_EXTENSION = (
    "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
    "WHERE extname = 'vector'"
)
_INDEXES = (
    "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid "
    "WHERE relnamespace = 'satchel'::regnamespace AND starts_with(relname, 'nearest_') AND indisvalid"
)
_IN_SIGHT = (
    "SELECT id FROM satchel.roots WHERE id::text IN (current_setting('satchel.root'), "
    "current_setting('satchel.shared', true)) AND EXISTS "
    "(SELECT FROM satchel.vectors WHERE root = roots.id AND fingerprint = $1)"
)
_LONG = "SET statement_timeout = 0; SET lock_timeout = 0; SET maintenance_work_mem = '1GB'"
"""A build takes minutes, and far longer where the graph does not fit into memory: 1 kB a vector of 384 numbers."""

_SIZES = (
    "SELECT fingerprint, max(length(vector)) / 2, count(*) FROM satchel.vectors "
    f"WHERE root = {{}} AND NOT fingerprint LIKE '%{IN_STEPS}' GROUP BY 1"
)
"""Vectors in 8 bits have no index: they are those of a table, whose texts are compared in microseconds."""


def _halves() -> str:
    """Return the statement that makes the function for the numbers of a vector.

    16 bits are a sign, 5 bits of exponent and 10 of fraction: sign and exponent choose an offset and a step, of which
    the fraction says how many are added.
    """
    steps = [(-1.0 if high & 32 else 1.0) * 2.0 ** (max(high & 31, 1) - 25) for high in range(64)]
    offsets = [1024 * step if high & 31 else 0.0 for high, step in enumerate(steps)]
    step, offset = (f"('{{{','.join(map(repr, row))}}}'::float8[])" for row in (steps, offsets))
    high, low = "get_byte($1, 2 * i + 1)", "get_byte($1, 2 * i)"
    return (
        "CREATE OR REPLACE FUNCTION satchel.halves(bytea) RETURNS real[] IMMUTABLE STRICT PARALLEL SAFE COST 1000 "
        f"LANGUAGE sql AS $$SELECT ARRAY(SELECT {offset}[{high} / 4 + 1] + ({high} % 4 * 256 + {low}) "
        f"* {step}[{high} / 4 + 1] FROM generate_series(0, length($1) / 2 - 1) AS i)::real[]$$"
    )


def _index(root: int, fingerprint: str = "") -> str:
    """Return the name of an index, or the start of the names of all indexes of a root."""
    return f"nearest_{root}_" + (blake2b(fingerprint.encode(), digest_size=6).hexdigest() if fingerprint else "")


class HnswIndex:
    """The indexes that `build` has made. It is used where every root in sight that has such vectors has one."""

    def finder(self, state: Store, kind: Kind, fingerprint: str) -> vectors.Finder | None:
        """As in `VectorIndex`."""
        made = {name for (name,) in state._rows(_INDEXES)}
        roots = [root for (root,) in state._rows(_IN_SIGHT, (fingerprint,))] if made else []
        if not roots or not made.issuperset(_index(root, fingerprint) for root in roots):
            return None
        ((schema,),) = state._rows(_EXTENSION)
        in_sight, bindings = state._in_sight(6)

        def find(vector: npt.NDArray[np.float32], most: int) -> Sequence[int]:
            half = f"{schema}.halfvec({len(vector)})"
            sql = (
                "SELECT v.chunk FROM satchel.vectors v JOIN chunks ON row = v.chunk "
                "JOIN documents ON documents.id = document WHERE v.root = $1 AND v.fingerprint = $2 "
                f"AND kind = $3 AND {in_sight} ORDER BY (satchel.halves(v.vector)::{half}) "
                f"OPERATOR({schema}.<#>) $4::{half} LIMIT $5"
            )
            asked = (fingerprint, kind, json.dumps(vector.tolist()), most, *bindings)
            return [row for root in roots for (row,) in state._rows(sql, (root, *asked))]

        return find


def build(connection: ServerConnection) -> int:
    """Make the indexes that are missing, drop those that are not needed any more. Returns how many there are.

    A fingerprint of a root gets one above `EXACT_VECTORS` vectors. Others read and write meanwhile.
    """
    extension = connection.script(_EXTENSION)
    made = {name for (name,) in connection.script(_INDEXES)}
    wanted = 0
    for (root,) in connection.script("SELECT id FROM satchel.roots ORDER BY id") if extension else ():
        chosen = f"BEGIN; SELECT set_config('satchel.root', '{root}', true); {_SIZES.format(root)}; COMMIT"
        large = [row for row in connection.script(chosen)[1:] if row[2] > vectors.EXACT_VECTORS]
        names = {_index(root, fingerprint): (fingerprint, size) for fingerprint, size, _ in large}
        wanted += len(names)
        for name in sorted(made - names.keys()):
            if name.startswith(_index(root)):
                connection.script(f"DROP INDEX satchel.{name}")
        for name in sorted(names.keys() - made):
            (fingerprint, size), schema = names[name], extension[0][0]
            connection.script(f"{_halves()}; DROP INDEX IF EXISTS satchel.{name}; {_LONG}")
            connection.script(
                f"CREATE INDEX CONCURRENTLY {name} ON satchel.vectors "
                f"USING hnsw ((satchel.halves(vector)::{schema}.halfvec({size})) {schema}.halfvec_ip_ops) "
                f"WHERE root = {root} AND fingerprint = {literal(fingerprint)}"
            )
            connection.script("ANALYZE satchel.vectors, satchel.chunks, satchel.documents")  # or no plan uses it
            connection.script(f"SET statement_timeout = '{STATEMENT_SECONDS}s'; RESET maintenance_work_mem")
    return wanted
