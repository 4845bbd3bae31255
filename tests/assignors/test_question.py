"""Questions in JSON: what is read, what is refused, and whom they ask."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.own_code import allow_plugins
from assignors.question import Question, QuestionError, answer, outcomes, read_question


def question(assignor: str = "range", **changes: Any) -> str:
    """Return a question about two members and a topic of four, with changes to its input."""
    members = [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}]
    asked = {"partitionsPerTopic": {"t": 4}, "members": members, **changes}
    return json.dumps({"assignor": assignor, "input": asked})


def has(line: str) -> dict[str, list[int]]:
    """Return member to numbers of the only topic."""
    given = answer(read_question(line)).checked.assignment
    return {member: [number for _, number in partitions] for member, partitions in given.items()}


def test_a_question_is_answered() -> None:
    """By the assignor it names."""
    assert has(question("range")) == {"A": [0, 1], "B": [2, 3]}
    assert has(question("org.apache.kafka.clients.consumer.RoundRobinAssignor")) == {
        "A": [0, 2],
        "B": [1, 3],
    }
    assert has(question("server-range")) == {"A": [0, 1], "B": [2, 3]}


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky", "server-uniform"])
def test_the_assignor_gets_a_members_current_partitions(assignor: str) -> None:
    """In the user data, in the subscription, or as the current target."""
    members = [
        {"id": "A", "topics": ["t"], "ownedPartitions": [["t", 1], ["t", 3]], "generation": 4},
        {"id": "B", "topics": ["t"], "ownedPartitions": [["t", 0], ["t", 2]], "generation": 4},
    ]

    assert has(question(assignor, members=members)) == {"A": [1, 3], "B": [0, 2]}


def test_an_assignor_of_ones_own_gets_what_each_member_sends(
    example_folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each member's object makes its own user data, of its own configuration."""
    monkeypatch.chdir(example_folder[0])
    allow_plugins("weighted")
    members = [
        {"id": "A", "topics": ["t"], "assignorConfig": {"weight": 3}},
        {"id": "B", "topics": ["t"], "ownedPartitions": [["t", 0]], "generation": 1},
    ]

    given = has(question("weighted:create", members=members))

    assert [len(given[member]) for member in "AB"] == [3, 1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Invalid JSON"),
        ("[]", "should be an object"),
        (b"\xff", "Invalid JSON"),
        ('{"assignor": "range"}', "input: Field required"),
        ('{"assignor": 1, "input": {}}', "assignor: Input should be a valid string; got 1"),
        ('{"asignor": "range"}', "Did you mean 'assignor'"),
        (question(partitionPerTopic={}), "Did you mean 'partitionsPerTopic'"),
        (question(partitionsPerTopic={"t": -1}), "partitionsPerTopic.t.*greater than or equal"),
        (question(partitionsPerTopic={"t": 2**31}), "less than or equal"),
        (question(partitionsPerTopic={"t": 2**31 - 1}), "too many; the maximum is 10000000"),
        (question(partitionsPerTopic={"t": "4"}), "valid integer; got '4'"),
        (question(partitionsPerTopic={"t": True}), "valid integer; got True"),
        (question(members=[{"id": "A"}]), r"input.members\[0\].topics: Field required"),
        (question(members=[{"id": "", "topics": []}]), "at least 1 character"),
        (question(members=[{"id": "A", "topics": "t"}]), r"members\[0\].topics"),
        (question(members=[{"id": "A", "topics": [], "generaton": 1}]), "mean 'generation'"),
        (question(members=[{"id": "A", "topics": [], "generation": -2}]), "greater than or equal"),
        (question(members=[{"id": "A", "topics": []}] * 2), "member 'A' occurs 2 times"),
        (question(topicIds={"t": "short"}), "topicIds.t: String should have at least 22"),
        (question(topicIds={"t": "!" * 22}), "is not a topic id"),
    ],
)
def test_an_unreadable_question_has_its_place_and_reason(line: str, message: str) -> None:
    """Unknown fields are shown with the closest name."""
    with pytest.raises(QuestionError, match=message):
        answer(read_question(line))


def test_user_data_can_be_given(example_folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """In base64, instead of what each member's assignor would send."""
    monkeypatch.chdir(example_folder[0])
    allow_plugins("weighted")
    weights = {"A": 1, "B": 3}
    members = [
        {"id": name, "topics": ["t"], "userData": b64encode(struct.pack(">i", weight)).decode()}
        for name, weight in weights.items()
    ]

    assert {"A": 1, "B": 3} == {
        member: len(given)
        for member, given in has(question("weighted:create", members=members)).items()
    }


@pytest.mark.parametrize(
    ("assignor", "data", "message"),
    [("range", "%", "member 'A': userData is not base64"), ("server-range", "AA==", "gets none")],
)
def test_user_data_that_cannot_be_used_is_refused(assignor, data, message) -> None:
    """With the member, and what to write."""
    with pytest.raises(QuestionError, match=message):
        answer(
            read_question(
                question(assignor, members=[{"id": "A", "topics": ["t"], "userData": data}])
            )
        )


def test_an_unknown_assignor_on_the_coordinator_is_named() -> None:
    """With the names that are allowed."""
    (outcome,) = outcomes([question("server-unifrom")])

    assert outcome.is_bad_input
    assert "Did you mean 'server-uniform'" in str(outcome.error)


def test_a_custom_cooperative_assignor_is_checked_as_the_leader_would(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may not move a partition in one step; Kafka's own is trusted."""
    (tmp_path / "hasty.py").write_text(
        "from assignors.types import FunctionAssignor\n"
        "from assignors.range import assign_range\n"
        "from assignors.types import RebalanceProtocol\n"
        "def create():\n"
        "    both = (RebalanceProtocol.COOPERATIVE,)\n"
        "    return FunctionAssignor('hasty', assign_range, both)\n"
    )
    monkeypatch.chdir(tmp_path)
    allow_plugins("hasty")
    members = [
        {"id": "A", "topics": ["t"]},
        {"id": "B", "topics": ["t"], "ownedPartitions": [["t", 0], ["t", 3]]},
    ]

    (outcome,) = outcomes([question("hasty:create", members=members)])

    assert "must not move a partition in one step: t-0" in str(outcome.error)


fields = st.sampled_from([*Question.model_fields, "input", "members", "id", "topics", "generation"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=3),
    max_leaves=8,
)


@given(values | st.fixed_dictionaries({"assignor": st.text(max_size=6), "input": values}))
def test_any_json_is_answered_with_one_outcome(value: object) -> None:
    """Never a traceback."""
    (outcome,) = outcomes([json.dumps(value)])

    assert outcome.is_bad_input


@given(st.binary(max_size=40))
def test_any_bytes_are_answered_with_at_most_one_outcome(data: bytes) -> None:
    """Blank lines are passed over, everything else is bad input."""
    found = list(outcomes([data]))

    assert all(outcome.is_bad_input for outcome in found)
    assert bool(data.strip()) == bool(found)
