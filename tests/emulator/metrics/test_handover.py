"""What a group and the group that replaces it processed together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emulator
from emulator.metrics.handover import Offsets, union
from emulator.scenario.problems import ScenarioError

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=12)


def offsets_of(ranges):
    """Return the same offsets as ranges and as a set."""
    found, counted = Offsets(), set()
    for start, length in ranges:
        found.add(start, start + length)
        counted.update(range(start, start + length))
    return found, counted


def listed(offsets):
    return [at for ends in zip(offsets.starts, offsets.ends, strict=True) for at in range(*ends)]


@given(first=RANGES, second=RANGES, at=st.integers(0, 50))
def test_ranges_are_sets_of_offsets(first, second, at):
    """Whatever is added, joined and cut; ranges that touch are one."""
    (one, in_one), (other, in_other) = offsets_of(first), offsets_of(second)
    together = union([one, other])

    assert sorted(in_one | in_other) == listed(together)
    assert len(in_one) == len(one)
    assert all(end < start for end, start in zip(one.ends, one.starts[1:], strict=False))
    tail = one.cut(at)
    assert sorted(each for each in in_one if each >= at) == listed(tail)
    assert sorted(each for each in in_one if each < at) == listed(one)


HANDOVER = """
title = "blue and green"
run_for = "70s"
topic = [{{ name = "orders", partitions = 2, rate = "10/s" }}]
fault = [{{ close = "blue-0", at = "{closed}" }}]

[[group]]
id = "blue"
topics = ["orders"]
members = 1
settings = {{ "auto.offset.reset" = "earliest" }}

[[group]]
id = "green"
replaces = "{replaces}"
topics = ["orders"]
members = [{{ name = "green-0", start = "40s" }}]
settings = {{ "auto.offset.reset" = "{reset}" }}
"""


def processed(run, group):
    """Count by hand, from the events, the offsets that a group processed."""
    return {
        (event.what.partition, offset)
        for event in run.events
        if type(event.what).__name__ == "Processed" and event.what.group == group
        for offset in range(event.what.first, event.what.next_offset)
    }


@pytest.mark.parametrize("reset", ["earliest", "latest"])
@pytest.mark.parametrize("closed", ["30s", "50s"])
def test_records_of_both_and_of_neither_are_counted(closed, reset):
    """Equal to a count of all offsets, one group after the other and side by side."""
    text = HANDOVER.format(closed=closed, reset=reset, replaces="blue")
    run = emulator.run(emulator.loads(text), seed=1)
    blue, green = processed(run, "blue"), processed(run, "green")
    missed = max(offset for _, offset in blue | green) * 2 + 2 - len(blue | green)

    assert len(blue & green) == run.metrics["processed_by_both"]
    assert missed == run.metrics["processed_by_neither"]
    (row,) = run.metrics.listings["handovers"]
    assert ("green", "blue") == (row["group"], row["replaces"])
    assert run.metrics.has("handover_gap_max_s")
    assert (run.metrics["handover_gap_max_s"] > 10) == (closed == "30s")
    assert ["group-handover"] == [each.id for each in run.verdicts if each.problem]


def test_a_group_that_was_replaced_needs_no_owners():
    """Its end is no downtime, and the run does not wait for what it would have read."""
    text = HANDOVER.format(closed="30s", reset="earliest", replaces="blue")
    run = emulator.run(emulator.loads(text.replace('run_for = "70s"\n', "")))

    assert run.conclusive
    assert run.metrics["downtime_max_s"] < 1
    assert run.metrics["run_s"] < 600


def test_without_a_replacement_there_is_no_handover():
    """Two groups that each do work of their own are not compared."""
    text = HANDOVER.format(closed="50s", reset="earliest", replaces="blue")
    run = emulator.run(emulator.loads(text.replace('replaces = "blue"\n', "")))

    assert 0 == run.metrics["processed_by_both"]
    assert not run.metrics.has("handover_gap_max_s")


@pytest.mark.parametrize("wrong", ["bleu", "green"])
def test_the_other_group_has_to_exist(wrong):
    with pytest.raises(ScenarioError, match=r"group\[green\].replaces.*no such other group"):
        emulator.loads(HANDOVER.format(closed="50s", reset="latest", replaces=wrong))
