"""Pools of workers: order, room, revocation, drain, and the offsets that are committed."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator.events import (
    AssignorRan,
    CommitSent,
    EpochClosed,
    Event,
    PartlyProcessed,
    Polled,
    Processed,
    ProcessedOutOfOrder,
)
from emulator.ledger.entries import Cause
from emulator.scenario.model import Scenario
from emulator.scenario.problems import ScenarioError
from emulator.world import build
from emulator.world.consumer.handling.pool import Job, Lanes
from emulator.world.run import Replay

from ...brute_force.test_brute_force import hold_against_count, hold_laws, play
from ...brute_force.worlds import DISTURBED

SCENARIO = """
title = "a pool"
run_for = "{run_for}"

[[topic]]
name = "t"
partitions = {partitions}
rate = "{rate}"

[[group]]
id = "g"
topics = ["t"]
members = {members}
work = {work}
handler = {handler}
commit = {commit}
settings = {{ "session.timeout.ms" = 6000, "auto.offset.reset" = "earliest", "partition.assignment.strategy" = "cooperative-sticky"{settings} }}
{more}
"""

SYNC = '{ call = "sync", when = "every", every = "2s" }'
CRASH = """
[[fault]]
crash = "g-1"
at = "12.3s"
"""
CLOSE = """
[[fault]]
close = "g-1"
at = "12.3s"
"""
LATE = """
[[group.member]]
name = "late"
start = "10s"
"""


def scenario_with(handler: str, **changes: object) -> Scenario:
    """Return a scenario of a group with a pool."""
    values = {
        "run_for": "25s",
        "partitions": 4,
        "rate": "20/s",
        "members": 2,
        "work": '{ exponential = "60ms" }',
        "commit": SYNC,
        "settings": "",
        "more": "",
    } | changes
    return emulator.loads(SCENARIO.format(handler=handler, **values))


def run_of(handler: str, **changes: object) -> emulator.Run:
    """Play a group with a pool."""
    return emulator.run(scenario_with(handler, **changes), 0, polls=True)


def events_of(handler: str, **changes: object) -> list[Event]:
    """Play a group with a pool; each record is an event at the time of its end."""
    events: list[Event] = []
    scenario = scenario_with(handler, **changes)
    build.play(scenario, 0, (events.append,), polls=True, replay=Replay(by_record=True))
    return events


def of_kind(run: emulator.Run, kind: type) -> list:
    """Return what happened of a kind."""
    return [event.what for event in run.events if isinstance(event.what, kind)]


def most_at_once(events: list[Event]) -> int:
    """Return the most records that were processed at the same time."""
    borders = []
    for event in events:
        if isinstance(event.what, Processed | ProcessedOutOfOrder):
            borders += [(event.what.began_us, 1), (event.at_us, -1)]
    return max(accumulate(change for _, change in sorted(borders)))


# -- order ---------------------------------------------------------------------------------------


def test_a_lane_has_one_record_in_progress_and_lanes_take_turns():
    lanes = Lanes()
    for lane, offset in (("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)):
        lanes.add(Job(lane, None, offset, None))

    first = [lanes.take(), lanes.take(), lanes.take()]
    assert [(job.lane, job.offset) for job in first] == [("a", 0), ("b", 0), ("c", 0)]
    assert lanes.take() is None
    lanes.finish(first[1])
    lanes.finish(first[0])
    following = [lanes.take(), lanes.take(), lanes.take()]
    assert [(job.lane, job.offset) for job in following[:2]] == [("b", 1), ("a", 1)]
    assert following[2] is None
    assert lanes.waiting == 0


def test_the_records_of_a_partition_stay_in_order():
    """Workers are used by several partitions, and none of them is overtaken."""
    run = run_of("{ workers = 8 }", members=1)

    assert not of_kind(run, ProcessedOutOfOrder)
    assert run.ledger.processed > 0


@pytest.mark.parametrize("order", ["key", "none"])
def test_workers_overtake_without_order(order):
    run = run_of(f'{{ workers = 8, order = "{order}", keys = 20 }}', members=1, partitions=1)

    assert of_kind(run, ProcessedOutOfOrder)
    assert run.ledger.reprocessed == run.ledger.lost == 0


@pytest.mark.parametrize(("order", "most"), [("none", 8), ("partition", 2)])
def test_as_many_records_are_processed_at_once_as_workers_and_order_allow(order, most):
    handler = f'{{ workers = 8, order = "{order}" }}'

    assert most_at_once(events_of(handler, members=1, partitions=2, rate="80/s")) == most


def test_one_key_is_one_lane():
    run = run_of('{ workers = 8, order = "key", keys = 1 }', members=1, partitions=1)

    assert not of_kind(run, ProcessedOutOfOrder)


def test_workers_go_on_while_the_assignor_computes():
    """It runs in the thread that polls, or in one of the client: what was polled is processed meanwhile."""
    late = '[{ name = "g-0" }, { name = "g-1", start = "8s" }]'
    change = {"members": late, "work": '"300ms"', "more": 'assignor_time = "2s"'}
    events = events_of("{ workers = 4 }", **change)

    ran = [event.at_us for event in events if isinstance(event.what, AssignorRan)][1]
    ends = [event.at_us for event in events if isinstance(event.what, Processed)]
    assert [end for end in ends if ran + 500_000 < end < ran + 1_900_000]


# -- room ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when_full", ["pause", "block"])
def test_no_more_is_polled_than_the_queue_holds(when_full):
    """A poll may return several records: the queue is exceeded by less than one poll."""
    handler = f'{{ workers = 2, queue = 10, when_full = "{when_full}" }}'
    change = {"settings": ', "max.poll.records" = 5', "work": '"200ms"', "members": 1}

    unfinished, most = 0, 0
    for event in events_of(handler, **change):
        match event.what:
            case Polled(ranges=ranges):
                unfinished += sum(end - first for _, first, end in ranges)
                most = max(most, unfinished)
            case Processed(first=first, next_offset=end):
                unfinished -= end - first
    assert 10 <= most < 10 + 5


def test_a_blocked_poll_loop_leaves_the_group_and_a_paused_one_does_not():
    """Only poll() shows that the application is alive (max.poll.interval.ms)."""
    change = {"settings": ', "max.poll.interval.ms" = 4000', "work": '"3s"', "members": 1}
    rebalances = {
        when_full: run_of(
            f'{{ workers = 1, queue = 4, when_full = "{when_full}" }}', **change
        ).metrics["drop_outs"]
        for when_full in ("pause", "block")
    }

    assert rebalances["pause"] == 0
    assert rebalances["block"] > 0


# -- offsets to commit ---------------------------------------------------------------------------


def committed_ahead(run: emulator.Run) -> int:
    """Return how many offsets were committed beyond the first unfinished record."""
    sent = of_kind(run, CommitSent)
    return sum(
        offset > done >= 0
        for what in sent
        for (_, offset), done in zip(what.offsets, what.processed, strict=True)
    )


@pytest.mark.parametrize(
    ("offsets", "is_safe"), [("frontier", True), ("highest", False), ("last", False)]
)
def test_only_the_frontier_is_never_ahead_of_an_unfinished_record(offsets, is_safe):
    commit = f'{{ call = "sync", when = "every", every = "500ms", offsets = "{offsets}" }}'
    handler = '{ workers = 8, order = "none" }'
    run = run_of(
        handler, commit=commit, more=CRASH, work='{ pareto = { minimum = "20ms", alpha = 1.2 } }'
    )

    assert (committed_ahead(run) == 0) is is_safe
    if is_safe:
        assert run.ledger.lost == 0


def test_the_highest_offset_loses_what_was_unfinished_when_the_process_died():
    commit = '{ call = "sync", when = "every", every = "100ms", offsets = "highest" }'
    slow = '[[group.poison]]\ntopic = "t"\npartition = 1\noffset = 240\nwork = "20s"\n'
    run = run_of('{ workers = 8, order = "none" }', commit=commit, more=slow + CRASH, work='"5ms"')

    causes = run.ledger.by_cause()
    assert causes[Cause.COMMITTED_AHEAD] == 1
    assert [
        entry.first for entry in run.ledger.entries if entry.cause is Cause.COMMITTED_AHEAD
    ] == [240]


def test_one_slow_record_holds_the_frontier_back():
    """All that overtook it is processed again: the price of the safe offset."""
    slow = '[[group.poison]]\ntopic = "t"\npartition = 1\noffset = 200\nwork = "20s"\n'
    run = run_of('{ workers = 8, order = "none" }', more=slow + CRASH, work='"5ms"')

    again = [entry for entry in run.ledger.entries if entry.partition == 1 and entry.second_owner]
    assert [entry.cause for entry in again] == [Cause.CRASHED]
    assert again[0].first == 201
    assert again[0].count > 40
    assert run.ledger.lost == 0


# -- revocation and close ------------------------------------------------------------------------


def test_every_record_in_progress_is_cut_off_by_a_crash():
    run = run_of('{ workers = 8, order = "none" }', work='"2s"', rate="4/s", more=CRASH)

    assert len(of_kind(run, PartlyProcessed)) == 8


@pytest.mark.parametrize(
    ("drain", "is_cut_off"), [("none", True), ("running", False), ("all", False)]
)
def test_a_drained_pool_has_nothing_in_progress_at_close(drain, is_cut_off):
    handler = f'{{ workers = 8, order = "none", drain = "{drain}" }}'
    run = run_of(handler, more=CLOSE, work='{ exponential = "100ms" }')

    assert bool(of_kind(run, PartlyProcessed)) is is_cut_off
    assert run.ledger.lost == 0
    if not is_cut_off:
        assert run.ledger.reprocessed == 0


def test_a_drain_ends_when_its_time_is_up():
    handler = '{ workers = 2, order = "none", drain = "all", drain_for = "1s" }'
    run = run_of(handler, more=CLOSE, work='"3s"', rate="10/s")
    ends = [event.at_us for event in run.events if isinstance(event.what, EpochClosed)]

    assert 13_300_000 <= min(ends) < 13_500_000


def test_a_commit_before_the_drain_misses_what_the_drain_finished():
    """The bug repeats what the right order commits."""
    commit = '{ call = "sync", when = "every", every = "1min", on_revoke = true }'
    both = [
        run_of(
            f'{{ workers = 4, order = "none", drain = "all", commit_first = {first} }}',
            commit=commit,
            more=LATE,
        ).ledger.reprocessed
        for first in ("false", "true")
    ]

    assert both[0] == 0
    assert both[1] > 0


def test_records_of_revoked_partitions_are_discarded_or_processed_beside_the_next_owner():
    overlap = {
        revoked: run_of(
            f'{{ workers = 1, order = "none", revoked = "{revoked}" }}',
            more=LATE,
            work='"50ms"',
            rate="30/s",
            members=1,
        ).metrics["overlap_records"]
        for revoked in ("discard", "continue")
    }

    assert overlap["continue"] > overlap["discard"] + 20


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handler", "commit", "where"),
    [
        ("{ workers = 2 }", '"sync per record"', "group[g].commit = "),
        ("{ workers = 2 }", '"sync before"', "group[g].commit = "),
        ("{ workers = 2 }", '{ call = "sync", on_refusal = "discard" }', "commit.on_refusal"),
        ('"serial"', '{ call = "sync", offsets = "last" }', "commit.offsets"),
        ("{ workers = 2 }", '{ call = "auto", offsets = "last" }', "commit"),
        ("{ workers = 0 }", SYNC, "handler.workers"),
        ('"parallel"', SYNC, "handler"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_place(handler, commit, where):
    with pytest.raises(ScenarioError, match="group") as refused:
        run_of(handler, commit=commit)

    assert where in str(refused.value)


# -- any world -----------------------------------------------------------------------------------

POOLS = st.fixed_dictionaries(
    {
        "workers": st.sampled_from([1, 3, 8]),
        "order": st.sampled_from(["partition", "key", "none", "none"]),
        "keys": st.just(4),  # one of them may be poison
        "queue": st.sampled_from([2, 20, 1000]),
        "when_full": st.sampled_from(["pause", "block"]),
        "drain": st.sampled_from(["none", "running", "all"]),
        "drain_for": st.sampled_from(["200ms", "30s"]),
        "commit_first": st.booleans(),
        "revoked": st.sampled_from(["discard", "continue"]),
    }
)


def with_pool(document: dict, pool: dict, offsets: str) -> dict:
    """Return a scenario with a pool; its commits and failing records are made possible for one."""
    (group,) = document["group"]
    commit = group["commit"]
    if isinstance(commit, str):
        commit = {"call": commit.split()[0]}
    commit = {key: value for key, value in commit.items() if key != "on_refusal"}
    if commit.get("when") in ("record", "before"):
        commit["when"] = "batch"
    if commit.get("call") in ("sync", "async") and commit.get("arguments", True):
        commit["offsets"] = offsets
    poison = [rule for rule in group["poison"] if rule["error"] not in ("seek", "pause")]
    own = {"handler": pool, "commit": commit, "poison": poison}
    return {**document, "group": [{**group, **own}]}


POOLED = st.builds(with_pool, DISTURBED, POOLS, st.sampled_from(["frontier", "highest", "last"]))
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@pytest.mark.long
@settings(unhurried, max_examples=8)
@given(document=POOLED, seed=st.integers(0, 1 << 30))
def test_whatever_happens_the_ledger_counts_every_record_of_a_pool(document, seed):
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=60)
@given(document=POOLED, seed=st.integers(0, 1 << 30))
def test_many_worlds_with_pools(document, seed):
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
