"""The example assignors at work: each scenario beside them runs, and shows what they promise."""

from __future__ import annotations

import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import emulator
from emulator.events import ConsumerStopped, GroupStabilised, Processed
from emulator.ledger.entries import Cause
from emulator.metrics.laws import Severity
from emulator.playing import Run
from emulator.scenario.load import load_with

FOLDER = Path(__file__).parents[2] / "examples" / "assignors"
COOPERATIVE_STICKY = "group[billing].settings[partition.assignment.strategy]=cooperative-sticky"
NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))


@cache
def played(name: str, *changes: str) -> Run:
    """Play one of the scenarios."""
    return emulator.run(load_with(FOLDER / f"{name}.toml", changes), 0)


def assignments(run: Run) -> list[dict]:
    """Return who owned what, generation by generation."""
    stable = [event.what for event in run.events if isinstance(event.what, GroupStabilised)]
    return [dict(what.assignment) for what in stable]


def owners(assignment: dict) -> dict:
    """Return the owners of each partition."""
    found = defaultdict(list)
    for consumer, partitions in assignment.items():
        for partition in partitions:
            found[partition].append(consumer)
    return found


def test_every_example_assignor_has_a_scenario():
    """One each."""
    assert ["broadcast", "numbered", "one_move", "random", "weighted"] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_and_keeps_its_bounds(name):
    """No law is broken, and [expect] holds."""
    run = played(name)

    assert [] == [expected.message for expected in run.expectations() if not expected.ok]
    assert [] == [finding for finding in run.findings if finding.severity is Severity.ERROR]
    run.ledger.check()


# -- one move ----------------------------------------------------------------------------------------


def test_one_move_needs_a_round_for_each_partition_that_moves():
    """Six partitions for the third member: six rounds that take one away, and the last assignment."""
    counts = [len(assignment["billing-2"]) for assignment in assignments(played("one_move"))[1:]]

    assert [0, 1, 2, 3, 4, 5, 6] == counts
    assert 2 == played("one_move", COOPERATIVE_STICKY).metrics["rounds_max"]


# -- random ------------------------------------------------------------------------------------------


def test_random_gives_each_partition_to_one_reader_by_its_seed():
    """Once each; the same for the same seed, another way for another."""
    first, second = assignments(played("random"))
    again, _ = assignments(played("random", "run_for=121s"))
    seeds = [f"group[billing].members[billing-{n}].assignor_config.seed=8" for n in range(4)]
    other, _ = assignments(played("random", *seeds))

    for assignment in (first, second):
        assert [1] * 12 == [len(consumers) for consumers in owners(assignment).values()]
    assert owners(first) == owners(again) != owners(other)


# -- weighted ----------------------------------------------------------------------------------------


def test_weighted_gives_four_times_as_much_to_who_can_bear_it():
    """Eight partitions and two and two, by what each member put into its user data."""
    (assignment,) = assignments(played("weighted"))

    assert {"large": 8, "small-0": 2, "small-1": 2} == {
        consumer: len(partitions) for consumer, partitions in assignment.items()
    }


# -- broadcast ---------------------------------------------------------------------------------------


def worked(run: Run, until: int) -> dict:
    """Return how often each member processed each record before an event."""
    times = defaultdict(lambda: defaultdict(int))
    for event in run.events[:until]:
        what = event.what
        if isinstance(what, Processed):
            for offset in range(what.first, what.next_offset):
                times[what.consumer][what.partition, offset] += 1
    return times


def test_numbered_tells_each_member_its_number(monkeypatch):
    """As user data of its assignment: three members, then four; no number is given twice."""
    load_with(FOLDER / "numbered.toml", ())
    told = []
    kind = sys.modules["numbered"].NumberedAssignor
    hear = kind.on_assignment

    def note(assignor, partitions, generation, user_data=None):
        hear(assignor, partitions, generation, user_data)
        told.append((generation, assignor.number))

    monkeypatch.setattr(kind, "on_assignment", note)
    emulator.run(load_with(FOLDER / "numbered.toml", ()), 0)
    last = max(generation for generation, _ in told)

    assert [0, 1, 2] == sorted(number for generation, number in told if generation == last - 1)
    assert [0, 1, 2, 3] == sorted(number for generation, number in told if generation == last)


def test_numbered_takes_an_assignment_without_user_data():
    """As of a leader with another assignor of the same name."""
    load_with(FOLDER / "numbered.toml", ())
    assignor = sys.modules["numbered"].create()
    assignor.on_assignment((), 1, b"2")
    numbers = [assignor.number]
    assignor.on_assignment((), 2)

    assert [2, None] == [*numbers, assignor.number]


def test_broadcast_lets_every_member_process_every_partition_and_calls_that_no_repeat():
    """Both own all three partitions; what both process is neither repeated nor a zombie's work."""
    run = played("broadcast")
    stopped = next(i for i, e in enumerate(run.events) if isinstance(e.what, ConsumerStopped))
    before = worked(run, stopped)

    assert [{"cache-0", "cache-1"}] * 3 == [
        set(consumers) for consumers in owners(assignments(run)[0]).values()
    ]
    for consumer in ("cache-0", "cache-1"):
        assert {0, 1, 2} == {partition.partition for partition, _ in before[consumer]}
        assert {1} == set(before[consumer].values())
    assert {Cause.COMMITTED_AHEAD} == {Cause(name) for name in run.ledger.by_cause()}
    assert () == run.findings


def test_broadcast_counts_for_each_member_what_it_never_saw():
    """Records below the other member's commits are lost only for the member that returns."""
    run = played("broadcast")
    times = worked(run, len(run.events))
    seen = times["cache-1"]
    missed = {
        record
        for record in times["cache-0"]
        if record not in seen and any(r[0] == record[0] and r[1] > record[1] for r in seen)
    }

    assert len(missed) == run.ledger.lost
    assert sum(sum(t - 1 for t in each.values()) for each in times.values()) == 0
    for entry in run.ledger.entries:
        assert "cache-1" == entry.first_owner.consumer == entry.second_owner.consumer


def test_broadcast_is_quiet_where_nothing_happens():
    """Several owners on purpose break no law and leave the ledger empty."""
    run = played("broadcast", "fault[close-1].at=119s")

    assert 0 == run.ledger.reprocessed == run.ledger.lost
    assert () == run.findings
