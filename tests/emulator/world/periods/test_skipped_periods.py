"""Whole periods of runs are skipped: what is left behind is the same to the byte."""

from functools import cache
from unittest.mock import patch

import pytest

from emulator.world.build import play
from emulator.world.kernel import Kernel
from emulator.world.periods import search, shorts, upkeep
from emulator.world.periods.state import state_of
from emulator.world.run import Replay
from protocols.consumer.classic.rejoin import RETRY

from ...modes.both_ways import (
    Noticing,
    hold_both_ways,
    is_noticed,
    noticing_run,
    play_whole,
    scenario_from,
)
from . import planted_faults, planted_request_faults, steady_runs
from .periodic_worlds import how_played, periodic_world
from .steady_runs import behind, ended_early, never_at_rest, slow, steady, with_threads, with_upkeep


def test_a_client_that_reads_all_its_partitions_retries_nothing():
    """The timer of its first requests would make one period differ from the next."""
    with patch.object(search, "state_of", wraps=search.state_of) as looks:
        hold_both_ways(steady(run_for="4s"))
        states = [state_of(*call.args) for call in looks.call_args_list[-1:]]

    assert [] == [timers for state in states for timers in state.timers if RETRY in timers]


LEFT = {
    "metadata requests in skipped periods": (with_upkeep(), {}),
    "metadata requests answered just before heartbeats": (
        steady(
            partitions=6,
            work="20ms",
            network={"latency": "2ms"},
            **{
                "heartbeat.interval.ms": 200,
                "metadata.max.age.ms": 1_200,
                "retry.backoff.ms": 100,
                "retry.backoff.max.ms": 100,
            },
        ),
        {},
    ),
    "metadata requests between commits": (with_upkeep(commit="sync"), {}),
    "metadata requests of a background thread": (
        with_threads(commit="sync", **{"metadata.max.age.ms": 2_313}),
        {"lags_repeat_us": 1_000_000},
    ),
    "a slow disk of the coordinator": (
        slow({"slow_disk": "broker-2", "by": "20ms", "at": "61s", "for": "25s"}),
        {},
    ),
    "a stopped follower": (
        slow({"stop_broker": "broker-3", "at": "61s", "restart_after": "25s"}),
        {},
    ),
    "a paused follower": (slow({"pause_broker": "broker-3", "at": "61s", "for": "25s"}), {}),
    "the end of a producer": (ended_early(), {}),
    "automatic commits": (steady(run_for="8s"), {}),
    "a period that begins before the first regular commit": (behind(), {}),
    "samples before the first regular commit": (behind("500ms"), {}),
    "commits in flight": (never_at_rest(), {}),
    "commits in flight that more than one call sends": (
        never_at_rest(commit={"call": "async"}, network={"latency": "40ms"}),
        {},
    ),
    "commits in flight beside metadata requests": (
        never_at_rest(**{"metadata.max.age.ms": 2_300, "retry.backoff.ms": 70}),
        {},
    ),
    "commits in flight of three records": (
        never_at_rest(commit={"call": "sync", "when": "every", "records": 3}),
        {},
    ),
    "commits that wait for the log": (
        never_at_rest(replication="30ms", network={"latency": "1ms"}),
        {"check": True},
    ),
    "samples while a commit waits for the log": (steady_runs.sampled_often(), {"check": True}),
    "heartbeats in flight": (never_at_rest(commit="auto", network={"latency": "60ms"}), {}),
    "a compaction between two skipped periods": (
        steady(run_for="16s", **{"log.cleaner.backoff.ms": 2_000}),
        {"segment_bytes": 3_000},
    ),
    "full segments": (steady(rate="5/s", commit="sync", run_for="8s"), {"segment_bytes": 20_000}),
    "a segment that is old": (steady(**{"log.roll.ms": 5_000}), {}),
    "the bytes of the offsets log": (steady(), {"files": True}),
    "the bytes of segments": (
        steady(rate="5/s", run_for="8s"),
        {"files": True, "segment_bytes": 2_000},
    ),
}


def test_a_state_is_the_same_with_and_without_polls_by_arithmetic():
    """Looks leave consumers as they are; whatever they find must also hold for unfolded ones."""
    found = []

    def both(world, now):
        state = state_of(world, now)
        if state is None:
            return None
        shares = [process.calculated() is not None for process in world.consumers.everyone()]
        for process in world.consumers.everyone():
            process.unfold()
        unfolded = state_of(world, now)
        assert unfolded.shape == state.shape
        assert unfolded.timers == state.timers
        found.extend(shares)
        return state

    with patch.object(search, "state_of", both):
        play_whole(scenario_from(steady(run_for="4s", poll_timeout="2s")), folding=True)
    assert sum(found) > len(found) / 2


@pytest.mark.plain_of(4)
@pytest.mark.parametrize(("document", "how"), LEFT.values(), ids=LEFT)
def test_a_run_whose_periods_are_skipped_leaves_the_same(document, how):
    """Events, committed offsets, and the offsets log: what a load reads, its size, its segments."""
    assert 0 < hold_both_ways(document, **how)


def test_a_partition_without_further_records_does_not_end_the_search():
    """The next record of such a partition never comes, however long the run waits."""
    document = steady(run_for="6s", commit="sync", members=1)
    quiet = {"name": "quiet", "partitions": 2, "backlog": 7}
    document["topic"].append(quiet)
    document["group"][0]["topics"].append("quiet")

    assert 0 < hold_both_ways(document)


def skipped_from(document):
    """Return each state from which a run skips periods."""
    states = []

    class Noting(search.Skip):
        def carry_out(self):
            states.append(self._state)
            super().carry_out()

    with patch.object(search, "Skip", Noting):
        hold_both_ways(document)
    return states


def test_periods_begin_while_commits_are_in_flight():
    """There may be no instant at which no member waits for the coordinator."""
    states = skipped_from(never_at_rest(run_for="4s"))

    assert states
    assert all(any(each.is_sync for each in state.in_flight.values()) for state in states)


def test_a_period_may_begin_with_the_first_session_of_a_generation():
    """That begins with the generation, a later one with a response: the first heartbeat renews it."""
    changes = {"heartbeat.interval.ms": 1_000, "session.timeout.ms": 45_000}
    document = steady(members=1, partitions=2, commit="sync", run_for="8s", **changes)
    document["lag_every"] = "30s"
    del document["cluster"]["settings"]["group.initial.rebalance.delay.ms"]

    with patch.object(shorts, "FAR", 0):  # only periods with heartbeats
        assert [4_234_000] == [state.at_us for state in skipped_from(document)]


def test_a_longer_run_in_which_commits_are_always_in_flight_has_hardly_more_events():
    """Five times the time costs no more: it is skipped."""
    brief, long = (
        play_whole(scenario_from(never_at_rest(run_for=run_for)), folding=True)
        for run_for in ("8s", "40s")
    )

    assert long.scheduled < 1.1 * brief.scheduled


def test_periods_are_skipped_across_requests_and_checks_that_change_nothing():
    """Metadata are requested, and offsets checked, a dozen times each: few of them are played."""
    quick = play_whole(scenario_from(with_upkeep()), folding=True)

    assert quick.skipped > 50


def test_periods_of_the_consumer_protocol_are_skipped_across_metadata_requests():
    """Of a dozen requests some meet queued events, and are played."""
    document, how = LEFT["metadata requests of a background thread"]
    with patch.object(upkeep, "_refresh", wraps=upkeep._refresh) as refresh:
        play_whole(scenario_from(document), folding=True, **how)

    assert 3 < sum(call.args[2] for call in refresh.call_args_list) < 10


def test_metadata_with_news_are_played():
    """A partition is added between two requests, and read from the next one on."""
    document, how = NOTICING["metadata with news"]

    assert 0 < hold_both_ways(document, **how)


def test_the_log_keeps_what_a_replica_may_still_lack():
    """Right behind skipped periods, replicas have the records before the last ones."""
    document = steady(fault=[{"move_coordinator": "g", "at": "5s"}])

    assert 0 < hold_both_ways(document)


def test_a_replay_that_takes_appended_records_takes_all():
    """Nothing is skipped where each batch or message is passed on."""
    scenario = scenario_from(steady())
    whole = play_whole(scenario, folding=False)
    offset_commits: list[int] = []

    def take(records: tuple) -> None:
        offset_commits.extend(r.value.offset for r in records if hasattr(r.value, "offset"))

    play(scenario, 0, (), replay=Replay(appended=take))

    accepted = [e.what for e in whole.events if type(e.what).__name__ == "CommitAccepted"]
    assert [n for commit in accepted for _, n in commit.offsets] == offset_commits


# -- random worlds -----------------------------------------------------------------------------

QUICK = (27, 32, 43, 123, 182, 189, 214, 260, 2836)
"""Worlds whose periods are skipped, of many kinds, and soon played; the last sends a commit again."""


@pytest.mark.parametrize("seed", QUICK)
def test_a_disturbed_run_whose_periods_are_skipped_leaves_the_same(seed):
    """Whatever is done to it, and whenever."""
    assert 0 < hold_both_ways(periodic_world(seed), seed, **how_played(seed))


@pytest.mark.soak
@pytest.mark.long
def test_many_disturbed_runs_whose_periods_are_skipped_leave_the_same():
    """The same for more worlds, of which at least half have periods that are skipped."""
    seeds = range(901, 909)
    skipped = [hold_both_ways(periodic_world(seed), seed, **how_played(seed)) for seed in seeds]

    assert len(skipped) <= 2 * sum(map(bool, skipped))


# -- a fault at every instant of a period --------------------------------------------------------


def swept(**changes: object) -> dict:
    """Return a world in which faults are soon noticed."""
    soon = {"session.timeout.ms": 1_200, "group.min.session.timeout.ms": 1_000}
    return steady(**{"run_for": "6s", "rate": "5/s", "partitions": 2, **soon, **changes})


def two_groups() -> dict:
    """Return two groups that read the same topic, each with commits of its own kind."""
    document = swept(commit="auto", **{"offsets.topic.num.partitions": 1})
    (group,) = document["group"]
    other = {**group, "id": "h", "members": 1, "commit": "async"}
    return {**document, "group": [group, other]}


def instants(document: dict, from_us: int, until_us: int, **how: object) -> list[int]:
    """Return the times at which something happens, and those one microsecond beside them."""
    found: set[int] = set()
    push = Kernel.push

    def noting(self, when_us, order, action):
        found.update((when_us - 1, when_us, when_us + 1))
        return push(self, when_us, order, action)

    with patch.object(Kernel, "push", noting):
        play_whole(scenario_from(document), folding=False, **how)
    return sorted(at for at in found if from_us <= at < until_us)


def sweep(document: dict, step: int) -> None:
    """Compare both ways of playing each fault at every *step*-th instant of a period of 400 ms."""
    times = [(fault, at) for at in instants(document, 4_000_000, 4_400_000) for fault in FAULTS]
    for fault, at in times[::step]:
        assert 0 < hold_both_ways({**document, "fault": [{**fault, "at": f"{at}us"}]}), (fault, at)


FAULTS = (
    {"crash": "g-0", "restart_after": "500ms"},
    {"pause": "g-0", "for": "700ms"},
    {"close": "g-1"},
    {"stop_broker": "coordinator of g", "restart_after": "1s"},
)
SWEPT = {
    "automatic commits": swept(),
    "commits of each batch, without latency": swept(commit="sync", network={"latency": "0s"}),
    "commits in flight": swept(commit="sync", network={"latency": "60ms"}),
    "two groups of one offsets partition": two_groups(),
}


@pytest.mark.plain_of(4)
@pytest.mark.parametrize("document", SWEPT.values(), ids=SWEPT)
def test_a_fault_at_some_instants_of_a_period(document):
    """Each fault at other instants at which something happens."""
    sweep(document, 53)


@pytest.mark.long
@pytest.mark.parametrize("document", SWEPT.values(), ids=SWEPT)
def test_a_fault_at_many_instants_of_a_period(document):
    """At all instants at which something happens, and a microsecond beside them, one in eleven."""
    sweep(document, 11)


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize("document", SWEPT.values(), ids=SWEPT)
def test_a_fault_at_every_instant_of_a_period(document):
    """At each instant at which something happens, and a microsecond before and after it."""
    sweep(document, 1)


# -- planted faults ------------------------------------------------------------------------------

ONE = {"partitions": 1, "members": 1, "work": "1ms", "network": {"latency": "0s"}}
HEARTBEAT = {"kind": "Heartbeat", "part": "request", "member": "g-1", "nth": 9}
STEP = {"member": "g-1", "step": "batch done", "nth": 90}

NOTICING = LEFT | {
    "metadata with news": (
        with_upkeep(fault=[{"add_partitions": "t", "to": 5, "at": "15100ms"}]),
        {},
    ),
    "a static member that does not return": (
        steady(static=True, fault=[{"crash": "g-1", "at": "4s"}]),
        {},
    ),
    "a crash at a step": (
        steady(run_for="9s", fault=[{"crash": "g-1", "restart_after": "500ms", "when": STEP}]),
        {},
    ),
    "a delayed heartbeat": (
        steady(run_for="9s", fault=[{"delay_message": HEARTBEAT, "by": "100ms", "at": "3s"}]),
        {},
    ),
    "commits of three records": (
        steady(rate="5/s", commit={"call": "sync", "when": "every", "records": 3}),
        {},
    ),
    "polls that leave records in the buffer": (
        steady(
            partitions=1,
            members=1,
            rate="50/s",
            work="10ms",
            **{"max.poll.records": 1, "fetch.min.bytes": 5_000},
        ),
        {},
    ),
    "a crash at the end of a period": (
        steady(**ONE, fault=[{"crash": "g-0", "at": "2901ms", "restart_after": "500ms"}]),
        {},
    ),
}


PLANTED = (*planted_faults.PLANTED, *planted_request_faults.PLANTED)


@cache
def noticing(name: str | int) -> Noticing:
    """Return a run that notices faults: its scenario, seed and options, and how it has to end."""
    if isinstance(name, int):
        document, seed, how = periodic_world(name), name, how_played(name)
    else:
        (document, how), seed = NOTICING[name], 0
    return noticing_run(document, seed, how)


@pytest.mark.long
def test_every_planted_fault_is_noticed():
    """Without one, the runs end as they have to; with one, a run of this module ends otherwise."""
    for name in dict.fromkeys(fault.noticed_in for fault in PLANTED):
        noticing(name).hold()

    assert [] == [
        fault.name for fault in PLANTED if not is_noticed(fault, noticing(fault.noticed_in))
    ]


def test_a_planted_fault_is_noticed():
    """The list is not empty, and a fault of it can be planted and removed."""
    fault = PLANTED[0]

    assert is_noticed(fault, noticing(fault.noticed_in))
    assert 0 < hold_both_ways(steady(run_for="6s"))
