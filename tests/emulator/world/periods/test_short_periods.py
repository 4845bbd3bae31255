"""Periods between two heartbeats are skipped: what is left behind is the same to the byte."""

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from unittest.mock import patch

import pytest

from emulator.scenario.estimates.periods import period_of, short_period_of
from emulator.world.connections import Connections
from emulator.world.periods import shorts

from ...modes.both_ways import hold_both_ways, is_noticed, noticing_run, play_whole, scenario_from
from .periodic_worlds import how_played, periodic_world
from .planted_faults import PERIODS, Planted
from .steady_runs import steady


def often(**changes: object) -> dict:
    """Return members that commit each batch, with twenty short periods between two heartbeats."""
    few = {"commit": "sync", "run_for": "7s", "heartbeat.interval.ms": 2_000}
    return {**steady(**{**few, "retry.backoff.ms": 100, **changes}), "lag_every": "30s"}


WAITING = "commits that wait for a response"
SEVERAL = "more than one heartbeat in as long as a poll waits"
GIVEN_UP = "a session that the client gives up"
UNREAD = "responses that no thread has read"

RUNS = {
    WAITING: often(),
    "commits that do not wait": often(commit="async"),
    UNREAD: often(commit="async", work="20ms", rate="20/s"),
    "commits in flight at any time": often(network={"latency": "15ms"}),
    "polls that wait longer than a short period": often(poll_timeout="5s"),
    "heartbeats while a batch is processed": often(work="20ms", rate="20/s"),
    SEVERAL: often(**{"heartbeat.interval.ms": 650}),
    "samples in each short period": {**often(), "lag_every": "100ms"},
    "a pause while a heartbeat is due": often(
        fault=[{"pause": "g-1", "at": "3950ms", "for": "70ms"}]
    ),
    GIVEN_UP: often(
        fault=[{"cut": ["brokers", "g-1"], "at": "3s", "for": "3s", "one_way": True}],
        **{
            "heartbeat.interval.ms": 1_000,
            "session.timeout.ms": 1_500,
            "group.min.session.timeout.ms": 1_000,
        },
    ),
    "a crash": often(fault=[{"crash": "g-1", "at": "3s", "restart_after": "500ms"}]),
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("document", RUNS.values(), ids=RUNS)
def test_a_run_whose_short_periods_are_skipped_leaves_the_same(document):
    """Events, committed offsets and the offsets log; most of the run is skipped."""
    assert 20 < hold_both_ways(document)


def test_members_have_short_periods():
    """Heartbeats are no part of them; each is the period of batches, or of automatic commits."""
    documents = [
        often(),
        often(commit="auto"),
        often(**{"heartbeat.interval.ms": 200}),
        often(rate="3/s"),
        often(**{"retry.backoff.ms": 200}),
    ]
    scenarios = [scenario_from(document) for document in documents]

    assert [100_000, 400_000, None, None, 200_000] == [
        short_period_of(scenario, period_of(scenario) or 0) for scenario in scenarios
    ]


def test_a_run_with_short_periods_has_fewer_events():
    """It has two heartbeats of two seconds only: those with them would be known at its end."""
    scenario = scenario_from(often())
    quick = play_whole(scenario, folding=True)
    with patch.object(shorts, "FAR", 0):
        whole = play_whole(scenario, folding=True)

    assert 2 * quick.scheduled < whole.scheduled


def test_members_that_read_responses_in_their_next_poll_have_short_periods():
    """They work four fifths of the time: at hardly any instant has each read the response to its commit."""
    scenario = scenario_from(RUNS[UNREAD])
    quick, whole = (play_whole(scenario, folding=folding) for folding in (True, False))

    assert 50 < quick.skipped
    assert 6 * quick.scheduled < whole.scheduled


def test_a_short_period_ends_just_before_the_heartbeats():
    """A member that works is elsewhere behind one: a second short period was played there each time."""
    settings = {"heartbeat.interval.ms": 3_000, "session.timeout.ms": 45_000}
    scenario = scenario_from(
        often(work="150ms", rate="5/s", partitions=2, run_for="30s", **settings)
    )
    moved = play_whole(scenario, folding=True)
    with patch.object(shorts.ShortPeriods, "next_us", lambda _, wanted_us: wanted_us):
        beside = play_whole(scenario, folding=True)

    assert moved.digest == beside.digest
    assert moved.scheduled < beside.scheduled


# -- random worlds -------------------------------------------------------------------------------

OFTEN = ("sync", "sync", "async", "sync per record")


def often_world(seed: int) -> dict:
    """Return a random world in which every member commits each batch or record."""
    world, random = periodic_world(seed), Random(f"short {seed}")
    for group in world["group"]:
        commit = group["commit"]
        if commit in ("auto", "none") or (isinstance(commit, dict) and commit.get("when")):
            group["commit"] = random.choice(OFTEN)
        group["settings"] |= {
            "heartbeat.interval.ms": random.choice((400, 500, 600, 650)),
            "retry.backoff.ms": random.choice((20, 50, 100, 100)),
            "retry.backoff.max.ms": 100,
        }
        group["settings"].pop("enable.auto.commit", None)
    for topic in world["topic"]:
        if topic.get("rate") not in ("0/s", "7/s"):
            topic["rate"] = random.choice(("20/s", "10/s", "10/s", "20/s", "5/s"))
    world["lag_every"] = random.choice((world["run_for"], world["run_for"], "200ms"))
    return world


def hold_worlds(seeds: range) -> list[int]:
    """Compare both ways of playing these worlds; return how many periods each skipped."""
    with patch.object(shorts, "FAR", 1_000_000):
        return [hold_both_ways(often_world(seed), seed, **how_played(seed)) for seed in seeds]


@pytest.mark.long
def test_a_disturbed_run_whose_short_periods_are_skipped_leaves_the_same():
    """Whatever is done to it, and whenever."""
    assert any(hold_worlds(range(50_000, 50_003)))


@pytest.mark.soak
@pytest.mark.long
def test_many_disturbed_runs_whose_short_periods_are_skipped_leave_the_same():
    """The same for more worlds, of which at least half have periods that are skipped."""
    skipped = hold_worlds(range(50_100, 50_110))

    assert len(skipped) <= 2 * sum(map(bool, skipped))


# -- planted faults ------------------------------------------------------------------------------

STATE = "protocols.consumer.classic.periods"

PLANTED = (
    Planted(f"{PERIODS}.skip:Skip._staying", "not in moving", "in ()", WAITING),
    Planted(f"{PERIODS}.skip:Skip._move", "if staying:", "if False:", WAITING),
    Planted(f"{PERIODS}.skip:_keep", "if runs_us < poll_us:", "if False:", SEVERAL),
    Planted(f"{PERIODS}.state:first_limit_us", "if name not in names and", "if False and", WAITING),
    Planted(f"{STATE}:deadlines_of", "NEXT_BEAT: beat.due_us, ", "", WAITING),
    Planted(
        f"{STATE}:with_deadlines",
        "session_us=session_us",
        "session_us=beat.session_us",
        GIVEN_UP,
    ),
    Planted(f"{STATE}:with_deadlines", "due_us=due_us", "due_us=beat.due_us", WAITING),
    Planted(
        f"{STATE}:moved_state",
        "inbox=renumbered(state.inbox, numbers.open),",
        "",
        UNREAD,
    ),
)


@pytest.mark.long
def test_every_fault_planted_in_short_periods_is_noticed():
    """Without one, the runs end as they have to; with one, each ends otherwise."""
    runs = {name: noticing_run(RUNS[name], 0, {}) for name in (WAITING, SEVERAL, GIVEN_UP, UNREAD)}
    for run in runs.values():
        run.hold()

    assert [] == [fault.name for fault in PLANTED if not is_noticed(fault, runs[fault.noticed_in])]


def test_requests_that_no_broker_has_read_move_with_a_period():
    """Each heartbeat is sent behind a commit that is being replicated."""
    found = []
    waiting = Connections.waiting

    def noting(self):
        found.append(waiting(self))
        return found[-1]

    group = {"id": "g", "topics": ["t"], "members": 3, "work": "10ms", "commit": {"call": "async"}}
    often = {"heartbeat.interval.ms": 300, "session.timeout.ms": 6_000}
    document = {
        "title": "commits that are replicated most of the time",
        "run_for": "20s",
        "cluster": {"replication": "40ms"},
        "topic": [{"name": "t", "partitions": 6, "rate": "10/s"}],
        "group": [{**group, "settings": {"auto.offset.reset": "earliest", **often}}],
    }
    with patch.object(Connections, "waiting", noting):
        assert 0 < hold_both_ways(document)

    assert any(found)
