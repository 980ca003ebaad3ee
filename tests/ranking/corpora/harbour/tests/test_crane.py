"""Cranes lift loads."""

import pytest

from harbour.crane.crane import Crane, Overload


def test_a_load_that_is_too_heavy_is_refused():
    with pytest.raises(Overload):
        Crane(50).lift("steel:55")
