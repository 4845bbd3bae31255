"""Scenarios drawn by Hypothesis: valid, within the given limits, and small when shrunk."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import emulator
from emulator.errors import RefusedError
from emulator.strategies import FAULTS, scenarios


@settings(max_examples=100)
@given(scenarios(members=3, partitions=2, most_faults=2))
def test_what_is_drawn_is_a_scenario_within_the_limits(drawn):
    """It has been checked; here, its size."""
    (group,), (topic,) = drawn.group, drawn.topic

    assert 1 <= len(group.members) <= 3
    assert 1 <= topic.partitions <= 2
    assert len(drawn.fault) <= 2
    assert all(fault.at < drawn.run_for for fault in drawn.fault)


@settings(max_examples=3)
@given(scenarios(faults=["crash", "pause"], members=2, most_faults=1))
def test_a_property_of_a_group(drawn):
    """Automatic commits lose nothing when members crash or pause."""
    run = emulator.run(drawn, keep_events=False)

    assert run.ledger.lost == 0


def test_a_failing_property_shows_its_scenario_as_a_file():
    """The one that Hypothesis ends with; ``rebalance run`` plays it."""
    found = []

    @settings(max_examples=20, database=None)
    @given(scenarios(faults=["crash"]))
    def no_fault(drawn):
        found.append(drawn)
        assert not drawn.fault

    with pytest.raises(AssertionError) as caught:
        no_fault()
    (note,) = (each for each in caught.value.__notes__ if "as a file" in each)

    assert found[-1] == emulator.loads(note.partition("\n\n")[2])


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("verb", FAULTS)
def test_every_verb_is_drawn(verb):
    """Alone if it is the only one."""
    smallest = find(scenarios(faults=[verb]), lambda drawn: bool(drawn.fault))

    assert [fault.verb for fault in smallest.fault] == [verb]
    assert len(smallest.group[0].members) == 1


def test_the_keys_of_the_group_are_kept_and_may_be_strategies():
    """Members with names, too; the consumer protocol gets no setting that it refuses."""
    group = {
        "id": "archive",
        "member": [{"name": "a"}, {"name": "b"}],
        "work": st.just("7ms"),
        "settings": {"group.protocol": "consumer"},
    }
    faults = ["crash", "rolling_restart"]
    smallest = find(
        scenarios(group=group, faults=faults),
        lambda drawn: {fault.verb for fault in drawn.fault} == set(faults),
    )

    (drawn,) = smallest.group
    assert drawn.id == "archive"
    assert [member.name for member in drawn.members] == ["a", "b"]
    assert drawn.work.constant == timedelta(milliseconds=7) / timedelta(microseconds=1)


def test_an_unknown_verb_is_refused():
    """With the nearest one."""
    with pytest.raises(RefusedError, match=r"'crush'; did you mean \"crash\"\?; allowed are"):
        find(scenarios(faults=["crush"]), lambda _: True)


OWN_ASSIGNOR = """
from assignors.types import FunctionAssignor, TopicPartition


def create():
    return FunctionAssignor("{name}", assign)


def assign(topics, subscriptions):
    members = sorted(subscriptions)
    every = [TopicPartition("orders", number) for number in range(topics.partition_counts["orders"])]
    return {{
        member: tuple(every[place :: len(members)][:{most}]) for place, member in enumerate(members)
    }}
"""


def property_of(assignor, folder):
    """Return a property as a user writes it: under each fault the assignor leaves no partition out."""
    own = {"settings": {"partition.assignment.strategy": f"{assignor}:create"}}
    drawn_from = scenarios(group=own, faults=["crash", "rolling_restart"], folder=folder)

    @settings(max_examples=8, database=None, deadline=None, derandomize=True)
    @given(drawn_from)
    def every_partition_is_read(drawn):
        run = emulator.run(drawn, keep_events=False)
        assert run.ledger.lost == 0
        assert not any(each["left_out"] for each in run.metrics.listings["without_owner"])

    return every_partition_is_read


@pytest.mark.soak
@pytest.mark.long
def test_an_assignor_of_ones_own_has_a_property(tmp_path):
    """In a module beside the test; one that leaves partitions out is found, with the smallest scenario."""
    (tmp_path / "a_fair_one.py").write_text(OWN_ASSIGNOR.format(name="fair", most=99))
    (tmp_path / "a_lame_one.py").write_text(OWN_ASSIGNOR.format(name="lame", most=1))
    property_of("a_fair_one", tmp_path)()
    with pytest.raises(AssertionError) as caught:
        property_of("a_lame_one", tmp_path)()
    (note,) = (each for each in caught.value.__notes__ if "as a file" in each)

    assert '"a_lame_one:create"' in note
    assert "partitions = 2" in note
    assert 1 == note.count("[[group.member]]")
