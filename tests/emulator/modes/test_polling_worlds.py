"""Members that poll by arithmetic through heartbeats and commits leave what they leave otherwise."""

from __future__ import annotations

from functools import cache

import pytest

from emulator.world.consumer.polling import calm, laps

from .both_ways import Noticing, hold_both_ways, is_noticed, noticing_run
from .planted_polling_faults import BY_TIME, IN_LAPS, PLANTED
from .polling_worlds import fast_world, polling_world, timed_world

QUICK = (1, 5, 7, 11, 19, 411, 20254)
"""Worlds soon played, in which half of the planted faults show.

In 411 a response to a metadata request is handled when a commit is due; in 20254 nobody sends requests
while samples are taken whose interval is no multiple of the others.
"""


@pytest.mark.parametrize("seed", QUICK)
def test_a_run_whose_polls_go_on_through_exchanges_leaves_the_same(seed):
    """Heartbeats, commits, metadata requests and responses, at any point of a poll."""
    hold_both_ways(polling_world(seed), seed)


@pytest.mark.soak
@pytest.mark.long
def test_many_runs_whose_polls_go_on_through_exchanges_leave_the_same():
    """The same for more worlds."""
    for seed in range(901, 909):
        hold_both_ways(polling_world(seed), seed)


@pytest.mark.parametrize("seed", [0, 3, 4, 4548640, 5000130])
def test_applications_that_commit_by_time_leave_the_same(seed):
    """Between two commits they do nothing but poll and work; the commits themselves are played.

    In 4548640 a timer of requests that were answered would be due in a pause, before one that matters; in
    5000130 a fault pauses the process while its application commits, so that it would poll in the pause.
    """
    hold_both_ways(timed_world(seed), seed)


@pytest.mark.soak
@pytest.mark.long
def test_many_applications_that_commit_by_time_leave_the_same():
    """The same for more worlds, of both protocols."""
    for seed in range(901, 909):
        hold_both_ways(timed_world(seed), seed)


@pytest.mark.parametrize("seed", [2002, 2003, 2010, 2018, 4559960, 4569800, 5002641])
def test_periods_of_several_batches_leave_the_same(seed):
    """A consumer enters its period at any batch, and leaves it at any other.

    In 4559960 a paused consumer continues, and its first poll comes before the response that has waited; in
    4569800 a lookup reaches a broker when the answer to the fetch before it reaches the consumer; in 5002641
    a batch ends, and a response without any delay follows the end of another consumer's batch.
    """
    hold_both_ways(fast_world(seed), seed)


@pytest.mark.soak
@pytest.mark.long
def test_many_periods_of_several_batches_leave_the_same(monkeypatch):
    """The same for more worlds, also where it is not worth it."""
    monkeypatch.setattr(calm, "MIN_BATCHES", 2)
    monkeypatch.setattr(laps, "FEWEST", 1)
    for seed in range(901, 909):
        hold_both_ways(fast_world(seed), seed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("faults", "world"),
    [(BY_TIME, timed_world), (IN_LAPS, fast_world)],
    ids=["polls between commits", "periods of several batches"],
)
def test_every_planted_fault_is_noticed(faults, world):
    """One that cannot be noticed shows a rule that nothing needs."""
    runs = {
        seed: noticing_run(world(seed), seed, {})
        for seed in dict.fromkeys(int(fault.noticed_in) for fault in faults)
    }
    for run in runs.values():
        run.hold()

    assert [] == [f.name for f in faults if not is_noticed(f, runs[int(f.noticed_in)])]


@cache
def noticing(seed: int) -> Noticing:
    """Return a run that notices faults."""
    return noticing_run(polling_world(seed), seed, {})


@pytest.mark.long
def test_every_fault_planted_in_exchanges_is_noticed():
    """Without one, the runs end as they have to; with one, a run ends otherwise."""
    for seed in dict.fromkeys(fault.noticed_in for fault in PLANTED):
        noticing(int(seed)).hold()

    assert [] == [
        fault.name for fault in PLANTED if not is_noticed(fault, noticing(int(fault.noticed_in)))
    ]


def test_a_planted_fault_is_noticed():
    """A fault of the list can be planted and removed."""
    assert is_noticed(PLANTED[-1], noticing(int(PLANTED[-1].noticed_in)))
