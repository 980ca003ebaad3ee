"""Values from real experiences: the journal writes, the values group, measure, accept and are found in answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.errors import UsageError
from satchel.memory import weights
from satchel.memory.cluster import WORDS_LABEL, make_space
from satchel.memory.model import Cluster, Grouping
from satchel.memory.values import Values, groups_key
from satchel.operations.registry import OPERATIONS
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import EdgeType, Kind
from satchel.vocabulary import VALUE_CHARACTERS
from tests.guidance.judge_server import judge_server
from tests.memory.lessons import STORIES, write_story

FAR = "Bananas ripen faster beside apples"
SPACES = ["vectors", "words"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", {"README.md": "# Shop\n"})
    return repository.root


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a root and a home, in which three stories of twelve experiences are: to write them takes long."""
    folder = tmp_path_factory.mktemp("told")
    repository = TinyRepository(folder / "shop")
    repository.commit("Begin", {"README.md": "# Shop\n"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        with Satchel.open(repository.root) as writing:
            for story in STORIES:
                write_story(writing.experiences, story, 12)
    return folder


@pytest.fixture(params=SPACES)
def satchel(
    request: pytest.FixtureRequest, told: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Satchel]:
    """The root with a copy of what was told, by vectors and by words."""
    monkeypatch.setenv("SATCHEL_HOME", str(shutil.copytree(told / "home", tmp_path / "home")))
    embedder = HashEmbedder(dimension=128)
    with Satchel.open(told / "shop", embedder=embedder if request.param == "vectors" else None) as opened:
        opened.embed()
        yield opened


def story_of(satchel: Satchel, identity: str) -> str:
    goal = satchel.experiences.get(identity).goal
    return next(story for story in STORIES if story in goal)


def full(satchel: Satchel) -> Grouping:
    (grouping,) = satchel.values.cluster("full")
    return grouping


def test_experiences_of_one_story_are_one_group(satchel: Satchel) -> None:
    grouping = full(satchel)
    stories = [{story_of(satchel, member) for member in cluster.members} for cluster in grouping.clusters]
    assert sorted(map(tuple, stories)) == [(story,) for story in sorted(STORIES)]
    assert grouping.entries == 36
    assert grouping.label == (satchel.vectors.embedder.id if satchel.vectors.embedder is not None else WORDS_LABEL)
    assert satchel.values.groupings("full") == [grouping]


def test_every_axis_has_its_own_groups_or_says_why_not(satchel: Satchel) -> None:
    result = {grouping.axis: grouping for grouping in satchel.values.cluster()}
    assert [*result] == ["full", "strategy", "surprise", "root_cause"]
    assert "18 experiences on the axis surprise, 20 are needed" in result["surprise"].reason
    assert result["surprise"].clusters == ()


def test_the_proposal_is_the_lesson_of_a_central_member_and_can_be_accepted(satchel: Satchel) -> None:
    full(satchel)
    proposals = satchel.values.propose(axis="full")
    assert len(proposals) == len(STORIES)
    for proposal in proposals:
        lesson = STORIES[story_of(satchel, proposal.member)][1]
        assert proposal.text.startswith(lesson)
        assert proposal.member in proposal.cluster.members
        value = satchel.values.accept(proposal.text, proposal.cluster.id)
        assert value.member_ids == proposal.cluster.members
        assert (value.axis, value.cluster_size) == ("full", len(proposal.cluster.members))
        assert value.domains == {"debugging": value.cluster_size}
        assert value.strategies == {"root-cause-analysis": value.cluster_size}
        assert value.similarity_to_centroid == pytest.approx(proposal.validation.similarity, abs=1e-3)  # type: ignore[union-attr]
    assert len(satchel.values.listed()) == len(satchel.values.listed("full")) == len(STORIES)
    assert satchel.values.listed("strategy") == []


def test_case_8_similar_experiences_give_at_least_one_group(root: Path) -> None:
    """63 similar experiences: at least one group, or an explicit "not enough structure"."""
    with Satchel.open(root) as satchel:
        write_story(satchel.experiences, "cache", 63)
        for grouping in satchel.values.cluster():
            assert grouping.clusters or grouping.reason.startswith("not enough structure")
    with Satchel.open(root, embedder=HashEmbedder(dimension=128)) as satchel:
        for grouping in satchel.values.cluster():
            assert grouping.clusters or grouping.reason.startswith("not enough structure")
        assert full(satchel).clusters


def test_case_8_equal_experiences_are_one_group(root: Path) -> None:
    with Satchel.open(root, embedder=HashEmbedder()) as satchel:
        write_story(satchel.experiences, "cache", 24, alike=True)
        assert sum(len(cluster.members) for cluster in full(satchel).clusters) == 24


def test_case_9_a_value_far_from_its_group_is_refused_through_python_and_import(satchel: Satchel) -> None:
    """The command line has the same case in tests/cli/test_remember_values.py."""
    cluster = full(satchel).clusters[0]
    with pytest.raises(UsageError, match=r"too far from its group .*: distance .* at most .*mean .* half of"):
        satchel.values.accept(FAR, cluster.id)
    line = {
        "type": "value", "id": "val_x", "content": FAR, "axis": "full", "cluster_id": cluster.id,
        "member_ids": list(cluster.members), "created_at": "2026-01-01T00:00:00Z", "workspace": "",
    }  # fmt: skip
    report = satchel.import_memory([json.dumps(line).encode()])
    assert [problem.line for problem in report.problems] == [1]
    assert "too far from its group" in report.problems[0].message
    assert satchel.values.listed() == []
    assert not satchel.values.validate(FAR, cluster.id).is_inside


def test_the_threshold_is_the_mean_and_half_a_population_standard_deviation_of_the_members(satchel: Satchel) -> None:
    cluster = full(satchel).clusters[0]
    entries = make_space(satchel.memory_store, "full", satchel.vectors.embedder).select(cluster.members)[1]
    space = make_space(satchel.memory_store, "full", satchel.vectors.embedder)
    statements = space.embed([entry.statement for entry in entries])
    shares = np.array([entry.weight for entry in entries])
    middle = shares @ statements
    distances = 1 - statements @ middle / np.linalg.norm(middle)
    result = satchel.values.validate(STORIES["cache"][1], cluster.id)
    assert result.threshold == pytest.approx(distances.mean() + weights.SPREAD * distances.std(), abs=1e-4)


def test_a_value_is_written_with_its_evidence_and_answers_questions(satchel: Satchel) -> None:
    full(satchel)
    proposal = next(p for p in satchel.values.propose() if story_of(satchel, p.member) == "timezone")
    value = satchel.values.accept(proposal.text, proposal.cluster.id)
    document = satchel.memory_store.document(Kind.VALUE, value.id)
    assert document is not None
    edges = satchel.memory_store.edges_from([document.first_chunk], [EdgeType.EVIDENCE])
    assert {target for _, _, target in edges} == {f"experience:{member}" for member in value.member_ids}
    assert list(document.fields["member_ids"]) == list(value.member_ids)
    context = satchel.assemble("store times in UTC and convert them", types=["values"])
    assert proposal.text in context.text
    assert "## Values" in context.text
    assert satchel.values.get(value.id) == value


def test_a_sentence_is_accepted_once_and_only_in_its_group(satchel: Satchel) -> None:
    full(satchel)
    first, second = satchel.values.propose()[:2]
    value = satchel.values.accept(first.text, first.cluster.id)
    with pytest.raises(UsageError, match=f"{value.id} says this already"):
        satchel.values.accept(f" {first.text.upper()}!", first.cluster.id)
    with pytest.raises(UsageError, match="too far from its group"):
        satchel.values.accept(second.text, first.cluster.id)
    assert satchel.values.listed() == [value]
    assert OPERATIONS["remember"].run(satchel, {"action": "forget", "ids": [value.id]}).envelope["values"]
    assert satchel.values.listed() == []


def test_evidence_and_groups_do_not_name_a_forgotten_experience(satchel: Satchel) -> None:
    grouping = full(satchel)
    proposal = satchel.values.propose(grouping.clusters[0].id)[0]
    value = satchel.values.accept(proposal.text, proposal.cluster.id)
    satchel.experiences.forget([proposal.member])
    left = satchel.values.get(value.id)
    assert set(left.member_ids) == set(value.member_ids) - {proposal.member}
    assert left.cluster_size == len(left.member_ids) == sum(left.domains.values()) == sum(left.strategies.values())
    assert proposal.member not in satchel.values.find(value.cluster_id).members
    document = satchel.memory_store.document(Kind.VALUE, value.id)
    assert document is not None
    edges = satchel.memory_store.edges_from([document.first_chunk], [EdgeType.EVIDENCE])
    assert f"experience:{proposal.member}" not in {target for _, _, target in edges}


def test_groups_keep_their_ids_when_experiences_are_added(satchel: Satchel) -> None:
    before = {story_of(satchel, cluster.members[0]): cluster.id for cluster in full(satchel).clusters}
    revision = satchel.memory_store.revision
    assert {cluster.id for cluster in full(satchel).clusters} == set(before.values())
    assert satchel.memory_store.revision == revision, "the same groups are not written again"
    for story in STORIES:
        write_story(satchel.experiences, story, 4)
    after = {story_of(satchel, cluster.members[0]): cluster.id for cluster in full(satchel).clusters}
    assert after == before


def test_members_are_shown_with_the_most_central_first(satchel: Satchel) -> None:
    cluster = full(satchel).clusters[0]
    members = satchel.values.members(cluster.id)
    assert [member.similarity for member in members] == sorted((m.similarity for m in members), reverse=True)
    assert {member.tier for member in members} <= {"gold", "silver", "bronze"}
    assert "Goal: " in members[0].text


def test_an_export_brings_values_back_byte_for_byte(satchel: Satchel, tmp_path: Path) -> None:
    full(satchel)
    for proposal in satchel.values.propose():
        satchel.values.accept(proposal.text, proposal.cluster.id)
    lines = list(satchel.export_memory())
    other = TinyRepository(tmp_path / "other")
    other.commit("Begin", {"README.md": "# Other\n"})
    raw = [line.encode() for line in lines]
    home = {"SATCHEL_HOME": str(tmp_path / "home2"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(other.root, embedder=satchel.vectors.embedder, environ=home) as again:
        report = again.import_memory(raw, here=True)
        assert (report.added, report.problems) == (36 + 3, ())
        assert [value.text for value in again.values.listed()] == [value.text for value in satchel.values.listed()]
        assert again.import_memory(raw, here=True).unchanged == 36 + 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"member_ids": ["nobody"]}, "0 of 1 members are here"),
        ({"axis": "sideways"}, "unknown axis 'sideways'"),
        ({"axis": None}, "unknown axis ''"),
        ({"content": ""}, "the value is empty"),
        ({"created_at": "yesterday"}, "created_at is 'yesterday'"),
        ({"member_ids": 7}, "member_ids is int: it must be a list"),
    ],
    ids=["members", "axis", "no axis", "empty", "time", "no list"],
)
def test_an_imported_value_that_says_nonsense_is_reported(
    satchel: Satchel, change: dict[str, object], message: str
) -> None:
    line = {
        "type": "value", "id": "val_x", "content": "Store times in UTC", "axis": "full", "cluster_id": "full_x",
        "member_ids": [], "created_at": "2026-01-01T00:00:00Z", "workspace": "", **change,
    }  # fmt: skip
    (problem,) = satchel.import_memory([json.dumps({k: v for k, v in line.items() if v is not None}).encode()]).problems
    assert message in problem.message


def test_bad_input_is_named(satchel: Satchel) -> None:
    values: Values = satchel.values
    with pytest.raises(UsageError, match=r"unknown axis 'full ' .*: choose from full, strategy"):
        values.cluster("full ")
    with pytest.raises(UsageError, match="`satchel values cluster` finds and names them"):
        values.validate("x", "full_1")
    cluster = full(satchel).clusters[0]
    with pytest.raises(UsageError, match=f"did you mean {cluster.id}"):
        values.find(cluster.id[:-1])
    with pytest.raises(UsageError, match=f"501 characters, at most {VALUE_CHARACTERS}"):
        values.accept("x" * 501, cluster.id)
    with pytest.raises(UsageError, match="the value is empty"):
        values.accept("  ", cluster.id)
    with pytest.raises(UsageError, match="there is no value 'val_1'"):
        values.get("val_1")


def test_a_secret_in_a_value_is_redacted(satchel: Satchel) -> None:
    full(satchel)
    proposal = satchel.values.propose()[0]
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    result = satchel.values.validate(f"{proposal.text} {token}", proposal.cluster.id)
    assert result == satchel.values.validate(f"{proposal.text} [REDACTED:github-token]", proposal.cluster.id)


def test_a_value_can_be_forgotten(satchel: Satchel) -> None:
    full(satchel)
    proposal = satchel.values.propose()[0]
    value = satchel.values.accept(proposal.text, proposal.cluster.id)
    assert satchel.values.forget(value.id) == value
    assert satchel.values.listed() == []


def test_vectors_that_are_not_stored_yet_are_made_for_the_grouping(root: Path) -> None:
    embedder = HashEmbedder(dimension=128)
    embedder.is_quick = False
    with Satchel.open(root, embedder=embedder) as satchel:
        write_story(satchel.experiences, "cache", 20)
        assert len(satchel.memory_store.vectors(Kind.EXPERIENCE, fingerprint(embedder)).rows) == 0
        assert full(satchel).entries == 20


def test_members_without_a_lesson_propose_nothing(root: Path) -> None:
    with Satchel.open(root, embedder=HashEmbedder()) as satchel:
        for _ in range(20):
            satchel.experiences.start(
                domain="testing", strategy="ask-user", goal="Make the suite green",
                hypothesis="A fixture leaks", action="Ask", prediction="The answer says which",
            )  # fmt: skip
            satchel.experiences.resolve(status="confirmed", result="It was the clock")
        full(satchel)
        (proposal,) = satchel.values.propose()
        assert (proposal.text, proposal.validation) == ("", None)


def test_a_group_of_which_too_few_say_a_sentence_is_mixed(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    full(satchel)
    proposal = satchel.values.propose()[0]
    monkeypatch.setattr(Values, "_saying", lambda _self, texts, _axis, entries: [entries[:2] for _ in texts])
    with pytest.raises(UsageError, match=r"is mixed: 2 of .* members say this, at least 3 have to"):
        satchel.values.accept(proposal.text, proposal.cluster.id)
    assert {one.text for one in satchel.values.propose()} == {""}


def test_evidence_is_what_the_sentence_fits(satchel: Satchel) -> None:
    full(satchel)
    for proposal in satchel.values.propose():
        value = satchel.values.accept(proposal.text, proposal.cluster.id)
        assert {story_of(satchel, member) for member in value.member_ids} == {story_of(satchel, proposal.member)}


LESSONS = (
    *(f"Close the pooled connection of worker {name} in a finally block" for name in ("one", "two", "three", "four")),
    "Ask the designer for the colours of the chart",
)


def mixed(satchel: Satchel) -> Cluster:
    """Write a group of four experiences that say one thing and one that says another; return it as stored."""
    for number, lesson in enumerate((*LESSONS, *(f"Bake loaf {number} longer than yesterday" for number in range(20)))):
        satchel.experiences.start(
            domain="debugging", strategy="root-cause-analysis", goal=f"Task {number}", hypothesis="It is the pool",
            action="Look", prediction="It shows",
        )  # fmt: skip
        satchel.experiences.resolve(status="confirmed", result="It was", lesson=lesson)
    ids = {one.lesson.what_worked: one.id for one in satchel.experiences.listed() if one.lesson is not None}
    cluster = Cluster("full_mixed", "full", tuple(ids[lesson] for lesson in LESSONS))
    grouping = Grouping("full", "", 25, (cluster,), "")
    with satchel.memory_store.write() as writer:
        writer.set_meta(groups_key(satchel.memory.notebook.workspace, "full"), json.dumps(asdict(grouping)))
    return cluster


def test_a_stray_member_is_neither_proposed_nor_evidence(root: Path) -> None:
    with Satchel.open(root, settings={"embed.provider": "static"}) as satchel:
        cluster = mixed(satchel)
        (proposal,) = satchel.values.propose(cluster.id)
        assert proposal.text in LESSONS[:4]
        assert (proposal.shown, proposal.support) == (f"example: {proposal.text}", 4)
        value = satchel.values.accept(proposal.text, cluster.id)
        assert (value.cluster_size, set(value.member_ids)) == (4, set(cluster.members[:4]))
        with pytest.raises(UsageError, match=r"is mixed: 1 of 5 members say this|too far from its group"):
            satchel.values.accept(LESSONS[4], cluster.id)


def test_a_model_phrases_what_the_members_share_and_its_failure_is_told(root: Path) -> None:
    shared = "Close pooled connections of workers in a finally block"
    with judge_server() as server:
        options = {"memory.endpoint": server.url, "memory.model": "tiny", "embed.provider": "static"}
        with Satchel.open(root, settings=options) as satchel:
            cluster = mixed(satchel)
            server.answer = lambda _: json.dumps({"sentence": shared})
            (proposal,) = satchel.values.propose(cluster.id)
            assert (proposal.shown, proposal.member, proposal.support) == (shared, "", 4)
            assert json.loads(server.requests[0]["messages"][1]["content"]) == [*LESSONS]
            server.answer = lambda _: json.dumps({"sentence": "Bananas ripen beside apples"})
            (other,) = satchel.values.propose(cluster.id)
            assert other.text in LESSONS, "a sentence that no member says is not proposed"
            server.answer = lambda _: "Sorry, I cannot"
            ran = OPERATIONS["proposals"].run(satchel, {"cluster": cluster.id})
            assert "gave no sentence: 'Sorry, I cannot'; a lesson is the example instead" in ran.notes[0]
            assert ran.envelope["proposals"][0]["text"] in LESSONS
