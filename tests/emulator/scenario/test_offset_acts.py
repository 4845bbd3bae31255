"""Acts on committed offsets, as a file writes them."""

from __future__ import annotations

import pytest

from emulator.scenario.load import loads
from emulator.scenario.model import DeleteGroup, DeleteOffsets, ResetOffsets
from emulator.scenario.problems import ScenarioError

TEXT = """
title = "offsets"
run_for = "10min"
topic = [{{ name = "orders", partitions = 2 }}]
group = [{{ id = "billing", topics = ["orders"], members = 2 }}]

[[act]]
at = "1min"
{}
"""


def act(lines: str):
    """Read one act."""
    (only,) = loads(TEXT.format(lines)).fault
    return only


def test_the_value_of_a_verb_is_the_group():
    """The rest are keys of their own; the tool's patience is that of Kafka's."""
    deletes = act('delete_offsets = "billing"\ntopic = "orders"\npartitions = [1]')
    resets = act('reset_offsets = "billing"\nshift_by = -10')
    ends = act('delete_group = "billing"\ntimeout = "1s"')

    assert isinstance(deletes, DeleteOffsets)
    assert ("billing", "orders", (1,)) == (deletes.group, deletes.topic, deletes.partitions)
    assert 5_000_000 == deletes.timeout
    assert isinstance(resets, ResetOffsets)
    assert -10 == resets.shift_by
    assert isinstance(ends, DeleteGroup)
    assert 1_000_000 == ends.timeout


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('delete_offsets = "billing"', "topic"),
        ('delete_offsets = "biling"\ntopic = "orders"', 'did you mean "billing"?'),
        ('delete_offsets = "billing"\ntopic = "order"', 'did you mean "orders"?'),
        ('delete_offsets = "billing"\ntopic = "orders"\npartitions = [2]', "orders has 2"),
        ('reset_offsets = "billing"', 'no target; set exactly one of "to", "shift_by"'),
        ('reset_offsets = "billing"\nto = 1\nshift_by = 1', 'both "to", "shift_by"'),
        ('reset_offsets = "billing"\nto = "earlyest"', "earliest"),
        ('reset_offsets = "billing"\nto = -1', "to = -1"),
        ('reset_offsets = "billing"\nto = 1\npartitions = [0]', 'needs "topic"'),
        ('reset_offsets = "billing"\nby_duration = 5', "a unit is missing"),
        ('delete_group = "billng"', 'did you mean "billing"?'),
        ('delete_groups = "billing"', 'did you mean "delete_group"?'),
    ],
)
def test_errors_are_explained(lines, said):
    """With the place, what is allowed, and the nearest right spelling."""
    with pytest.raises(ScenarioError) as caught:
        act(lines)

    assert said in str(caught.value)


def test_the_administrator_can_be_cut_off():
    """``admin`` is a party of its own: no member may have this name."""
    cut = act('cut = ["admin", "broker-1"]\nfor = "1s"')

    assert ("admin", "broker-1") == cut.parties
    with pytest.raises(ScenarioError, match="reserved for another party"):
        loads(TEXT.format('delete_group = "billing"').replace("members = 2", 'members = ["admin"]'))
