"""Loading and inheriting contexts; the numbered cases failed in a system that was shipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from satchel.errors import ContextFileError
from satchel.guidance.inheritance import ContextTree, MissingContextError

Tree = Callable[[Mapping[str, str]], ContextTree]

PARENT = """\
metadata: {id: p-1, type: project, name: Parent, created: 2024-01-01, owner: ann, tags: [a]}
intent_context: {business_goal: Earn trust, intent_type: business_growth}
relationships: {depends_on: [db], shares_with: ["workspace:*"]}
behavior_rules:
  - {trigger: commit, action: run tests}
  - {trigger: deploy, action: ask}
injection_rules:
  - {name: always, inject: [shared]}
status: {current: active, progress: 0.5}
team_config: {members: [ann, ben], size: {min: 1, max: 5}}
"""

CHILD = """\
metadata: {name: Child, tags: [b]}
intent_context: {extends: .., context_adaptations: Be brief}
relationships: {depends_on: [cache, db]}
behavior_rules:
  - {trigger: deploy, action: just do it}
injection_rules:
  - {name: own, when: {tool: edit}, inject: [./guide]}
status: {progress: 0.7}
team_config: {size: {max: 9}, members_extend: [cy]}
"""


def test_case_10_a_child_with_rules_and_a_parent_with_rules_both_count_once_each(tree: Tree) -> None:
    """The child's own injection rules survive a parent, and nothing is evaluated twice."""
    child = tree({"": PARENT, "child": CHILD}).load("child")
    assert [rule.name for rule in child.injection] == ["always", "own"]
    assert [(rule.name, rule.origin) for rule in child.injection] == [("always", ""), ("own", "child")]


def test_case_10_a_rule_that_comes_down_two_ways_counts_once(tree: Tree) -> None:
    same = "injection_rules: [{name: r, inject: x}]\n"
    contexts = tree({"a": same, "b": f"intent_context: {{extends: ../a}}\n{same}"})
    assert len(contexts.load("b").injection) == 1


def test_case_12_a_diamond_is_no_cycle_and_its_root_counts_once(tree: Tree) -> None:
    rule = "injection_rules: [{name: base, inject: x}]\n"
    contexts = tree(
        {
            "base": rule,
            "left": "intent_context: {extends: ../base}\n",
            "right": "intent_context: {extends: ../base}\n",
            "leaf": "intent_context: {extends: [../left, ../right]}\n",
        }
    )
    leaf = contexts.load("leaf")
    assert leaf.chain == ("base", "left", "right", "leaf")
    assert len(leaf.injection) == 1
    assert leaf.distances == {"leaf": 0, "left": 1, "right": 1, "base": 2}


def test_case_12_concurrent_loads_see_no_cycle_in_each_other(tree: Tree) -> None:
    files = {f"n{number}": f"intent_context: {{extends: ../n{number - 1}}}\n" for number in range(1, 12)}
    contexts = tree({"n0": "metadata: {name: zero}\n", **files})
    with ThreadPoolExecutor(8) as pool:
        chains = list(pool.map(lambda number: contexts.load(f"n{number % 12}").chain, range(96)))
    assert all(len(chain) == number % 12 + 1 for number, chain in enumerate(chains))


def test_case_12_a_real_cycle_shows_its_path_and_what_is_not_in_it_counts(tree: Tree) -> None:
    rules = "behavior_rules: [{{trigger: {0}, action: do {0}}}]\nintent_context: {{extends: ../{1}}}\n"
    contexts = tree({name: rules.format(name, to) for name, to in zip("abc", "bca", strict=True)})
    result = contexts.load("a")
    assert [rule.trigger for rule in result.behavior] == ["c", "b", "a"]
    (note,) = result.notes
    assert note.message == "c/context.yaml:2: extends ../a: extends itself: a -> b -> c -> a"


def test_a_context_that_extends_itself_keeps_its_own_rules(tree: Tree) -> None:
    text = "behavior_rules: [{trigger: t, action: d}]\nintent_context: {extends: .}\n"
    result = tree({"a": text}).load("a")
    assert [rule.trigger for rule in result.behavior] == ["t"]
    assert "extends itself: a -> a" in result.notes[0].message


@pytest.mark.parametrize("reference", ["../../etc", "/etc", "../../../../x", "~/x", "C:/x"])
def test_case_13_extends_never_leads_outside_the_root(tree: Tree, reference: str) -> None:
    contexts = tree({"a": f'metadata: {{name: A}}\nintent_context:\n  extends: "{reference}"\n'})
    result = contexts.load("a")
    assert result.name == "A"
    assert result.chain == ("a",)
    (note,) = result.notes
    assert note.message.startswith("a/context.yaml:3: extends")
    assert "outside the root" in note.message


def test_case_13_a_link_out_of_the_root_is_not_followed(tree: Tree) -> None:
    contexts = tree({"a": "intent_context: {extends: ../out}\n"})
    outside = contexts._root.parent / "outside"
    outside.mkdir()
    (outside / "context.yaml").write_text("metadata: {name: secret}\n")
    (contexts._root / "out").symlink_to(outside, target_is_directory=True)
    result = contexts.load("a")
    assert result.chain == ("a",)
    assert "cannot be read" in result.notes[0].message


def test_the_child_wins_field_by_field(tree: Tree) -> None:
    child = tree({"": PARENT, "child": CHILD}).load("child")
    assert child.name == "Child"
    assert child.data["intent_context"]["business_goal"] == "Earn trust"
    assert child.type == "project"
    assert child.data["metadata"] == {"type": "project", "owner": "ann", "tags": ["b"], "name": "Child"}
    assert child.data["status"] == {"current": "active", "progress": 0.7}
    assert child.data["relationships"] == {"depends_on": ["db", "cache"], "shares_with": ["workspace:*"]}
    assert child.data["team_config"] == {"members": ["ann", "ben", "cy"], "size": {"min": 1, "max": 9}}
    assert [(rule.trigger, rule.actions) for rule in child.behavior] == [
        ("commit", ("run tests",)),
        ("deploy", ("just do it",)),
    ]
    assert (child.chain, child.data["intent_context"]["context_adaptations"]) == (("", "child"), "Be brief")


def test_override_takes_the_place_of_what_the_parent_has(tree: Tree) -> None:
    text = (
        "intent_context: {extends: ..}\nteam_config_override: {members: [zoe]}\n"
        "behavior_rules_override: [{trigger: x, action: y}]\ninjection_rules_override: [{name: mine, inject: q}]\n"
        "relationships: {depends_on_override: [only]}\nmetadata: {owner_extend: and ben}\n"
    )
    child = tree({"": PARENT, "child": text}).load("child")
    assert child.data["team_config"] == {"members": ["zoe"]}
    assert [rule.trigger for rule in child.behavior] == ["x"]
    assert [rule.name for rule in child.injection] == ["mine"]
    assert child.data["relationships"]["depends_on"] == ["only"]
    assert child.data["metadata"]["owner"] == "ann\nand ben"
    assert not [key for key in child.data if key.endswith(("_override", "_extend"))]


def test_who_a_context_is_does_not_leak_to_its_children(tree: Tree) -> None:
    child = tree({"": PARENT, "kid": "intent_context: {extends: ..}\n"}).load("kid")
    assert child.name == "kid"
    assert not {"id", "name", "created", "updated"} & child.data["metadata"].keys()


def test_a_missing_parent_is_a_note_and_the_rest_counts(tree: Tree) -> None:
    result = tree({"a": "metadata: {name: A}\nintent_context:\n  extends: [../b, ../c]\n", "c": "x: 1\n"}).load("a")
    assert result.chain == ("c", "a")
    assert result.data["x"] == 1
    assert result.notes[0].message == "a/context.yaml:3: extends ../b: there is no b/context.yaml"


def test_a_parent_that_cannot_be_used_is_a_note_with_its_line(tree: Tree) -> None:
    result = tree({"a": "intent_context: {extends: ../b}\n", "b": "x: 1\nx: 2\n"}).load("a")
    assert "b/context.yaml:2: has 'x' twice" in result.notes[0].message


def test_unknown_types_and_keys_load_and_survive(tree: Tree) -> None:
    text = "metadata: {type: spaceship, hull: 7}\nwarp_config: {speed: 9}\nnotes: [1, 2]\n"
    result = tree({"a": f"{text}intent_context: {{intent_type: explore}}\n"}).load("a")
    assert result.data["intent_context"] == {"intent_type": "explore"}
    assert result.type == "spaceship"
    assert result.data["warp_config"] == {"speed": 9}
    assert result.data["notes"] == [1, 2]
    assert result.notes == ()


def test_a_field_with_an_impossible_value_is_named_and_left_out(tree: Tree) -> None:
    text = (
        "metadata: {name: A}\nstatus:\n  progress: much\n  current: sleeping\n  confidence: 2\n"
        "relationships: {blocks: x}\nintent_context: {intent_type: [fame]}\nworkflow_config: {trigger_rules: []}\n"
    )
    result = tree({"a": text}).load("a")
    assert result.data["status"] == {}
    message = "\n".join(note.message for note in result.notes)
    assert "a/context.yaml:3: status.progress is 'much': give a number from 0 to 1" in message
    assert "a/context.yaml:4: status.current is 'sleeping': choose from active" in message
    assert "a/context.yaml:8: workflow_config.workflow_steps is missing" in message
    assert len(result.notes) == 6


def test_rules_that_cannot_be_used_are_named_with_their_line_and_the_others_count(tree: Tree) -> None:
    text = """\
behavior_rules:
  - {trigger: a, action: b}
  - {action: no trigger}
  - {trigger: no action}
  - 3
injection_rules:
  - {name: fine, inject: x}
  - {name: empty}
  - {name: bad when, when: {tool: 3}, inject: x}
  - {name: odd, condition: [1], inject: x}
  - {name: wide, inject: [{key: memory.errors, limit: 1000}, {query: q}, {key: k, filter: {color: red}}, y]}
behavior_rules_extend: none
"""
    result = tree({"a": text}).load("a")
    assert [rule.trigger for rule in result.behavior] == ["a"]
    assert [rule.name for rule in result.injection] == ["fine", "wide"]
    assert [target.reference for target in result.injection[1].inject] == ["y"]
    lines = sorted(int(note.message.split(":")[1]) for note in result.notes)
    assert lines == [3, 4, 5, 8, 9, 10, 11, 11, 11, 12]
    assert any("has no inject" in note.message for note in result.notes)


def test_a_rule_may_be_one_sentence(tree: Tree) -> None:
    rules = "behavior_rules: [Never log a password, {trigger: a, action: b}]\n"
    result = tree(
        {"p": "behavior_rules: [never log a password, Test first]\n", "a": rules + "intent_context: {extends: ../p}\n"}
    )
    loaded = result.load("a")
    assert [rule.line for rule in loaded.behavior] == ["Never log a password", "Test first", "a: b"]
    assert loaded.notes == ()


def test_a_file_is_read_again_only_when_it_changes(tree: Tree) -> None:
    contexts = tree({"a": "metadata: {name: One}\n"})
    first = contexts.read("a")
    assert contexts.read("a") is first
    (contexts._root / "a/context.yaml").write_text("metadata: {name: Another}\n")
    assert contexts.load("a").name == "Another"


def test_what_is_no_context_says_so(tree: Tree) -> None:
    contexts = tree({"a": "- just\n- a list\n", "b": "\0"})
    with pytest.raises(ContextFileError, match=r"a/context.yaml:1: says list"):
        contexts.load("a")
    with pytest.raises(ContextFileError, match="is not a text"):
        contexts.load("b")
    with pytest.raises(MissingContextError, match=r"nowhere/context.yaml: there is no such context"):
        contexts.load("nowhere")


def test_a_reference_may_name_the_file(tree: Tree) -> None:
    contexts = tree({"": "x: 1\n", "a": "y: 1\n"})
    assert contexts.find("a/context.yaml") == "a"
    assert contexts.find("context.yaml") == ""


def test_a_chain_of_too_many_ancestors_is_refused(tree: Tree) -> None:
    files = {f"n{number}": f"intent_context: {{extends: ../n{number + 1}}}\n" for number in range(70)}
    with pytest.raises(ContextFileError, match="more than 64 ancestors"):
        tree({**files, "n70": "x: 1\n"}).load("n0")


def test_secrets_in_a_context_are_redacted(tree: Tree) -> None:
    token = "ghp_" + sha256(b"token").hexdigest()[:36]
    assert token not in str(tree({"a": f"notes: use {token} here\n"}).load("a").data)


def test_the_time_of_a_context_is_what_it_says(tree: Tree) -> None:
    contexts = tree({"a": "metadata: {updated: 2024-01-02T00:00:00+00:00}\n", "b": "metadata: {updated: soon}\n"})
    assert contexts.load("a").updated == 1704153600.0
    assert contexts.load("b").updated == 0.0
