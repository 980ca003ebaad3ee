from __future__ import annotations

import numpy as np
import pytest

from satchel.embed import normalised
from satchel.errors import MissingExtraError
from satchel.memory import weights
from satchel.memory.cluster import centre, group, named, validate
from satchel.memory.model import Cluster


def cloud(count: int, groups: int, *, spread: float = 0.15, dimension: int = 48, seed: int = 7) -> np.ndarray:
    """Vectors around so many directions, the first group's first, and so on."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(groups, dimension))
    owners = np.arange(count) % groups
    return normalised((middles[owners] + spread * random.normal(size=(count, dimension))).astype(np.float32))


@pytest.mark.parametrize(("count", "groups"), [(20, 3), (63, 4), (100, 5), (1_000, 8)])
def test_structure_is_found_among_few_and_among_many(count: int, groups: int) -> None:
    result = group(cloud(count, groups))
    assert len(result) == groups
    for positions in result:
        assert len({position % groups for position in positions}) == 1, "a group mixes two directions"
    assert sum(map(len, result)) >= 0.8 * count


def test_entries_that_are_all_alike_are_one_group() -> None:
    (result,) = group(cloud(63, 1))
    assert len(result) > 50
    (equal,) = group(np.repeat(cloud(1, 1), 30, axis=0))
    assert len(equal) == 30


def test_entries_without_structure_are_no_group() -> None:
    random = np.random.default_rng(3)
    assert group(normalised(random.normal(size=(60, 200)).astype(np.float32))) == []


def test_too_few_entries_are_no_group() -> None:
    assert group(cloud(weights.MIN_ENTRIES - 1, 2)) == []


def test_equal_vectors_give_equal_groups_the_largest_first() -> None:
    vectors = cloud(120, 4)
    assert group(vectors) == group(vectors.copy())
    sizes = [len(positions) for positions in group(np.concatenate([vectors, vectors[::4]]))]
    assert sizes == sorted(sizes, reverse=True)


def test_the_centre_is_drawn_to_those_that_can_be_relied_on() -> None:
    vectors = np.eye(2, dtype=np.float32)
    assert np.allclose(centre(vectors, [1.0, 1.0]), [0.7071, 0.7071], atol=1e-4)
    assert centre(vectors, [1.0, 0.2])[0] > 0.9
    assert not centre(np.zeros((2, 2), dtype=np.float32), [1.0, 1.0]).any()


def test_a_text_belongs_up_to_the_mean_and_half_a_standard_deviation() -> None:
    members = cloud(30, 1)
    distances = 1 - members @ centre(members, [1.0] * 30)
    result = validate(members[0], members, [1.0] * 30)
    assert result.mean == pytest.approx(distances.mean(), abs=1e-5)
    assert result.threshold == pytest.approx(distances.mean() + weights.SPREAD * distances.std(), abs=1e-5)
    assert result.similarity == pytest.approx(1 - result.distance)
    inside = [validate(member, members, [1.0] * 30).is_inside for member in members]
    assert inside == [bool(distance <= result.threshold) for distance in distances]
    assert not validate(-members[0], members, [1.0] * 30).is_inside


def test_a_group_keeps_the_id_of_the_one_it_has_most_in_common_with() -> None:
    before = [Cluster("full_a", "full", tuple("abcdef")), Cluster("full_b", "full", tuple("uvwxyz"))]
    groups = ["uvwxyzq", "abcn", "defo", "12345"]
    result = named("full", groups, before)
    assert [cluster.id for cluster in result[:2]] == ["full_b", "full_a"]
    new = [cluster.id for cluster in result[2:]]
    assert not set(new) & {"full_a", "full_b"}
    assert len(set(new)) == 2
    assert [cluster.members for cluster in result] == [tuple(members) for members in groups]


def test_a_group_with_hardly_anything_in_common_is_a_new_one_whose_id_depends_on_its_members_alone() -> None:
    before = [Cluster("full_a", "full", tuple("abcdefghij"))]
    (result,) = named("full", ["jklmnopqrst"], before)
    assert result.id != "full_a"
    assert named("full", ["tsrqponmlkj"], ())[0].id == result.id


def test_without_scikit_learn_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.cluster", None)
    with pytest.raises(MissingExtraError, match=r"\[values\]"):
        group(cloud(30, 2))
