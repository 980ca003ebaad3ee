"""Every fitted number of the hooks: whether a prompt is about this project.

They were fitted on 210 titles of issues and 109 questions about eleven repositories against 550 titles of other
repositories, small talk and questions about other worlds. With a table and a floor that have not seen the repository,
.92 of the own titles are answered and .08 of the foreign ones (`benchmarks/hooks.py`); with the relevance alone it was
.91 and .21. The floor is the setting `hooks.min_relevance`.

None of them needs a new index or a cleared cache. Readers write `weights.NAME`; `satchel.fitted` lists and changes
them.
"""

from __future__ import annotations

from typing import Annotated

from satchel.fitted import Between

STRENGTH: Annotated[float, Between(0, 4)] = 0.47
"""Coefficient of the log odds of the strength of the answer in the log odds that a prompt is about this project."""

MISSING: Annotated[float, Between(-20, 0)] = -5.3
"""Coefficient of the share of telling words that occur nowhere here."""

SUBJECT: Annotated[float, Between(0, 6)] = 1.19
"""Coefficient of how much more often a word of the prompt is here than elsewhere (largest log ratio)."""

BIAS: Annotated[float, Between(-12, 4)] = -2.25
"""Log odds of a prompt without any evidence."""

RARE: Annotated[float, Between(0.00001, 0.1)] = 0.001
"""Share of a word that no other project uses, so that one occurrence here is not infinitely telling."""
