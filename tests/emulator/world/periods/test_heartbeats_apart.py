"""Heartbeats that are no part of a period: what is left behind is the same to the byte."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from emulator.events import MemberRemoved
from emulator.world.periods import marks
from emulator.world.periods.skip import Skip

from ...modes.both_ways import hold_both_ways, is_noticed, noticing_run, play_whole, scenario_from
from .beating_worlds import beating_world
from .planted_faults import PERIODS, Planted
from .steady_runs import steady


def apart(**changes: object) -> dict:
    """Return members that commit each 500 ms, and send a heartbeat each 700 ms."""
    few = {
        "run_for": "13s",
        "lag_every": "500ms",
        "retry.backoff.ms": 100,
        "heartbeat.interval.ms": 700,
        "auto.commit.interval.ms": 500,
    }
    return steady(**{**few, **changes})


def minute(*faults: dict, delay_ms: int = 3_000, **changes: object) -> dict:
    """Return three members with the intervals of Java's client, and these faults; *delay_ms*: of their first join."""
    java = {
        "members": 3,
        "partitions": 6,
        "work": "5ms",
        "run_for": "75s",
        "lag_every": "600s",
        "network": {"latency": "2ms"},
        "heartbeat.interval.ms": 3_000,
        "auto.commit.interval.ms": 5_000,
        "session.timeout.ms": 10_000,
    }
    found = steady(fault=list(faults), **{**java, **changes})
    found["cluster"]["settings"]["group.initial.rebalance.delay.ms"] = delay_ms
    return found


SAMPLED = "samples that count heartbeats"
CRASH = "a crash that ends the sessions of a member"
ODD = "heartbeats at odd times"
METADATA = "metadata requests beside heartbeats"
EXPIRED = "a session that ends among skipped periods"
BUSY = "members at work for most of the time"
LATE = "heartbeats that wait behind a commit"
MANY = "many members whose heartbeats come just before their commits"
SLOW = "a disk that delays heartbeats"

RUNS = {
    SAMPLED: minute(lag_every="5s"),
    ODD: apart(),
    "no samples": apart(lag_every="30s"),
    METADATA: apart(**{"metadata.max.age.ms": 2_000}),
    CRASH: apart(run_for="17s", fault=[{"crash": "g-1", "at": "8s"}]),
    EXPIRED: minute({"crash": "g-1", "at": "21700ms"}, **{"session.timeout.ms": 45_000}),
    BUSY: minute(work="60ms", rate="5/s"),
    "responses that await different things": minute(work="300ms", rate="1.2/s"),
    "commits that are answered late": minute(network={"latency": "25ms"}, lag_every="5s"),
    "hardly any records": minute(rate="0.2/s"),
    "a static member": minute({"pause": "g-1", "at": "31s", "for": "12s"}, static=True),
    MANY: minute(members=12, partitions=48),
    LATE: minute(
        {"crash": "g-1", "at": "42500ms"},
        replication="700ms",
        network={"latency": "25ms"},
        work="20ms",
        rate="5/s",
    ),
    SLOW: minute(
        {"slow_disk": "coordinator of g", "by": "20ms", "at": "21s", "for": "45s"}, work="20ms"
    ),
}


def skipped_beats(document: dict, seed: int = 0, *, least: int = 0) -> int:
    """Assert that both ways leave the same; return how many periods without heartbeats were skipped."""
    found = []
    carry_out = Skip.carry_out

    def noting(skip: Skip) -> None:
        found.append(skip.times if skip.period.beats else 0)
        carry_out(skip)

    with patch.object(Skip, "carry_out", noting):
        hold_both_ways(document, seed)
    assert sum(found) >= least
    return sum(found)


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("name", RUNS)
def test_a_run_whose_heartbeats_are_no_part_of_its_periods_leaves_the_same(name):
    """Events, committed offsets and the offsets log."""
    assert skipped_beats(RUNS[name]) or name == SLOW


def test_a_period_without_heartbeats_is_known_sooner():
    """With them it is seven times as long."""
    scenario = scenario_from(apart())
    quick = play_whole(scenario, folding=True)
    with patch.object(marks, "beats_of", lambda *_: None):
        whole = play_whole(scenario, folding=True)

    assert quick.digest == whole.digest
    assert 4 * quick.scheduled < 3 * whole.scheduled


def test_heartbeats_of_many_members_that_are_sent_just_before_their_commits_end_no_skip():
    """The first period that is known is skipped up to the end of the run."""
    assert skipped_beats(RUNS[MANY], least=10)


@pytest.mark.long
def test_heartbeats_of_more_than_thirty_members_are_part_of_their_periods():
    """No other period is searched for: they are rare there, and the search takes long."""
    assert not skipped_beats(minute(members=40, partitions=40, run_for="45s"))


# -- disturbances at any instant -----------------------------------------------------------------

CRASHED = {"crash": "g-1", "at": "21700ms"}
ACTS = (
    {"pause": "g-0", "for": "4s"},
    {"pause": "g-0", "for": "12s"},
    {"hang": "g-0", "for": "4s"},
    {"cut": ["g-0", "coordinator of g"], "for": "3s"},
    {"cut": ["brokers", "g-0"], "for": "11s", "one_way": True},
    {"add_partitions": "t", "to": 8},
    {"move_coordinator": "g"},
    {"close": "g-0"},
    {"crash": "g-0", "restart_after": "1s"},
    {"stop_broker": "coordinator of g", "restart_after": "2s"},
)


def session_end_us() -> int:
    """Return when the session of the member that has crashed ends."""
    events = play_whole(scenario_from(minute(CRASHED)), folding=False).events
    (removed,) = (event for event in events if type(event.what) is MemberRemoved)
    return removed.at_us


@pytest.mark.long
@pytest.mark.parametrize("act", ACTS, ids=lambda act: next(iter(act)))
def test_an_act_when_a_session_ends_finds_the_run_where_it_is(act):
    """At that instant, and a microsecond beside it."""
    ends_us = session_end_us()

    for at_us in (ends_us - 1, ends_us, ends_us + 1):
        assert skipped_beats(minute(CRASHED, {**act, "at": f"{at_us}us"}))


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("act", ACTS, ids=lambda act: next(iter(act)))
def test_an_act_near_a_heartbeat_or_commit_finds_the_run_where_it_is(act):
    """Each 500 ms of one interval of heartbeats, and a microsecond beside that."""
    for at_ms in range(30_000, 33_000, 500):
        for beside_us in (-1, 0, 1):
            skipped_beats(minute({**act, "at": f"{1_000 * at_ms + beside_us}us"}))


# -- random worlds -------------------------------------------------------------------------------


@pytest.mark.long
def test_disturbed_runs_whose_heartbeats_are_left_out_leave_the_same():
    """Whatever is done to them, and whenever."""
    assert sum(bool(skipped_beats(beating_world(seed), seed)) for seed in range(8)) > 1


@pytest.mark.soak
@pytest.mark.long
def test_many_disturbed_runs_whose_heartbeats_are_left_out_leave_the_same():
    """The same for more worlds, of which at least a quarter have periods that are skipped."""
    skipped = [skipped_beats(beating_world(seed), seed) for seed in range(100, 160)]

    assert len(skipped) <= 4 * sum(map(bool, skipped))


# -- planted faults ------------------------------------------------------------------------------

BEATS, AHEAD = f"{PERIODS}.beats", f"{PERIODS}.beats_ahead"

PLANTED = (
    Planted(f"{PERIODS}.skip:Skip._with_upkeep", "if self.period.beats:", "if False:", SAMPLED),
    Planted(
        f"{PERIODS}.skip:Skip._beats_since",
        "sent + self._state.counts[HEARTBEAT_KIND]",
        "sent",
        SAMPLED,
    ),
    Planted(
        f"{PERIODS}.skip:Skip._with_upkeep",
        "self._beats.commit_later(commit, sent_us, later_us)",
        "0",
        SAMPLED,
    ),
    Planted(f"{AHEAD}:BeatsAhead.commit_later", "found.beats.behind(sent_us) +", "", BUSY),
    Planted(f"{BEATS}:Beats._waits", "if begin_us >= sent + more or", "if", LATE),
    Planted(f"{BEATS}:Beats.behind", "each > sent_us", "each < sent_us", BUSY),
    Planted(
        f"{BEATS}:deadlines_apart",
        "*names]",
        "*(name for shard in world.offsets_topic for host in shard.hosts.values() "
        "for name in host.timers.times)]",
        EXPIRED,
    ),
    Planted(f"{AHEAD}:_beat", "next_correlation_id + count", "next_correlation_id", EXPIRED),
    Planted(f"{AHEAD}:_beat", "sent_us + times.every_us", "sent_us + times.thread_us", SAMPLED),
    Planted(f"{AHEAD}:BeatsAhead.carry_out", "contact_us + beats", "self._now + beats", EXPIRED),
    Planted(
        f"{AHEAD}:BeatsAhead._find",
        "self.limit_us, beats.times.every_us",
        "self.limit_us, 2 * beats.times.every_us",
        SAMPLED,
    ),
    Planted(
        f"{PERIODS}.state:first_limit_us", "name not in apart", "not is_of_beats(name)", EXPIRED
    ),
)


@pytest.mark.long
def test_every_fault_planted_in_heartbeats_apart_is_noticed():
    """Without one, the runs end as they have to; with one, each ends otherwise."""
    runs = {name: noticing_run(RUNS[name], 0, {}) for name in {each.noticed_in for each in PLANTED}}
    for run in runs.values():
        run.hold()

    assert [] == [fault.name for fault in PLANTED if not is_noticed(fault, runs[fault.noticed_in])]
