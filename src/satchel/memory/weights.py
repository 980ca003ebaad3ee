"""Every fitted number of the memory: what says nearly the same, and which experiences are a group.

The numbers of groups were fitted on the five sets of `benchmarks/values.py`, for words and vectors together, which
measures them too; near-duplicates by `benchmarks/duplicates.py`. How memories and turns of
conversations are ranked is in `search/weights.py` (`benchmarks/memory.py`), which `make fit` repeats.

None of them needs a new index or a cleared cache; groups that are stored stay until they are made again. Readers write
`weights.NAME`; `satchel.fitted` lists and changes them.
"""

from __future__ import annotations

from typing import Annotated

from satchel.fitted import Between

# Memories (memories.py)

SAME_PROSE: Annotated[float, Between(0.05, 1)] = 0.42
"""Similarity of the shingles of two texts (Jaccard) from which they say nearly the same."""

# Groups of experiences (cluster.py)

MIN_ENTRIES: Annotated[int, Between(5, 200)] = 20
"""Number of experiences below which an axis is not grouped: three similar ones among ten may be chance."""

SMALLEST_GROUP: Annotated[int, Between(2, 20)] = 3
"""Fewest members of a group."""

FEWEST_MEMBERS: Annotated[int, Between(2, 20)] = 3
"""Members that a value needs: the spread of fewer cannot be measured."""

DOMAIN_WEIGHT: Annotated[float, Between(0, 2)] = 0.4
"""Weight of the domain beside the texts. The next values of this, of `LINKED` and of `MARGIN` move purity and coverage
by about 0.1, and no set was left out when they were fitted."""

LINKED: Annotated[float, Between(0, 0.9)] = 0.1
"""Mean cosine up to which groups are joined."""

MARGIN: Annotated[float, Between(0, 0.5)] = 0.03
"""How much nearer (cosine) a member is to its group than to any other."""

ALIKE: Annotated[float, Between(0.2, 1)] = 0.8
"""Mean cosine to the centre from which entries that nothing separates are one group."""

SPLIT_SHARE: Annotated[float, Between(0, 1)] = 0.8
"""Least share of the members of a group that lie in its parts, for the parts to take its place."""

ABOVE_CHANCE: Annotated[float, Between(0.3, 6)] = 1.2
"""Contrast of a group in multiples of what chance gives. Groups in 20 to 300 random vectors of 48 to 384 dimensions
reach 0.9; groups of real entries have 1 to 10."""

TABLE_ABOVE_CHANCE: Annotated[float, Between(0.3, 6)] = 2.4
"""The same by a table of words, whose texts differ in fewer directions than they have numbers. With that of sentences
.84 of a group of the five sets is of one theme, with this .90 (by MiniLM .91); .52 of all is in a group (.75)."""

TABLE_MARGIN: Annotated[float, Between(0, 0.5)] = 0.06
"""`MARGIN` by a table of words."""

SAYS_ABOVE: Annotated[float, Between(0, 1)] = 0.15
"""How much nearer (cosine) a lesson is to a sentence that it says than the lessons of other groups are on average."""

SAYS_SHARE: Annotated[float, Between(0, 1)] = 0.9
"""Share of the lessons of other groups that are less near to a sentence than one that says it."""

SPREAD: Annotated[float, Between(0, 4)] = 0.5
"""A text belongs to a group up to the mean distance of its members plus this many standard deviations."""

KEPT_OVERLAP: Annotated[float, Between(0, 1)] = 0.1
"""Share of common members (Jaccard) from which a group keeps the id of an earlier one."""
