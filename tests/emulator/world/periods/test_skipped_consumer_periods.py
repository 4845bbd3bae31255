"""Skipped periods of groups of the consumer protocol, and of groups with members of both."""

from __future__ import annotations

from functools import cache

import pytest

from ...modes.both_ways import Noticing, hold_both_ways, is_noticed, noticing_run
from .periodic_consumer_worlds import (
    CLASSIC_ONLY,
    how_consumers_played,
    periodic_consumer_world,
    speak,
)
from .planted_consumer_faults import PLANTED
from .steady_runs import steady, with_threads
from .test_skipped_periods import instants

HOW = {"lags_repeat_us": 400_000}


def consumers(*, classic: int = 0, **changes: object) -> dict:
    """Return two members whose heartbeats and commits have a period of 400 ms.

    *classic*: the number of members that still use the classic protocol.
    """
    document = steady(**{"run_for": "7s", **changes})
    for group in document["group"]:
        before = group["settings"]
        names = [f"{group['id']}-{number}" for number in range(group["members"])]
        speak(group)
        settings = {name: before[name] for name in CLASSIC_ONLY if name in before}
        group["members"] = [
            {"name": name, "settings": {"group.protocol": "classic", **settings}}
            if number < classic
            else {"name": name}
            for number, name in enumerate(names)
        ]
    document["cluster"]["settings"] |= {
        "group.consumer.min.heartbeat.interval.ms": 100,
        "group.consumer.heartbeat.interval.ms": 400,
        "group.consumer.min.session.timeout.ms": 1_000,
        "group.consumer.session.timeout.ms": 1_200,
    }
    return document


FAR: dict = {"members": 4, "partitions": 8, "network": {"latency": "15ms"}, "commit": "sync"}
"""Members of which one always waits for the response to a commit."""

LEFT = {
    "automatic commits": (consumers(), {}),
    "commits of each batch": (consumers(rate="5/s", commit="sync"), {}),
    "asynchronous commits": (consumers(rate="5/s", commit="async"), {}),
    "commits by time": (consumers(commit={"call": "sync", "when": "every", "every": "400ms"}), {}),
    "a member of the classic protocol": (consumers(classic=1), {}),
    "threads that wake up late": (consumers(wake_up="20ms"), {}),
    "polls that leave records in the buffer": (
        consumers(
            partitions=1,
            members=1,
            rate="50/s",
            work="10ms",
            **{"max.poll.records": 1, "fetch.min.bytes": 5_000},
        ),
        {},
    ),
    "the bytes of the offsets log": (consumers(), {"files": True}),
    "commits in flight": (consumers(**FAR), {}),
    "commits in flight of members of both protocols": (consumers(classic=2, **FAR), {}),
    "commits in flight of threads that wake up late": (consumers(wake_up="20ms", **FAR), {}),
    "commits in flight beside metadata requests": (
        consumers(**{**FAR, "metadata.max.age.ms": 2_300, "run_for": "20s"}),
        {},
    ),
    "commits that wait for the log": (
        consumers(**{**FAR, "replication": "30ms", "network": {"latency": "1ms"}}),
        {"check": True},
    ),
}


ALSO_BRIEFLY = (
    "automatic commits",
    "commits of each batch",
    "commits in flight of members of both protocols",
    "a member of the classic protocol",
)


@pytest.mark.parametrize(
    "name",
    [name if name in ALSO_BRIEFLY else pytest.param(name, marks=pytest.mark.long) for name in LEFT],
)
def test_a_group_of_the_consumer_protocol_whose_periods_are_skipped_leaves_the_same(name):
    """Events, committed offsets and the offsets log, to the byte."""
    document, how = LEFT[name]

    assert 0 < hold_both_ways(document, **HOW, **how)


@pytest.mark.parametrize(
    ("timeout", "hangs_at", "interval"), [("7s", "63s", "8s"), ("13s", "50s", "12s")]
)
def test_timeouts_of_answered_requests_let_no_member_notice_the_end_of_its_poll_interval(
    timeout, hangs_at, interval
):
    """They come after that and before the next heartbeat, at other times behind skipped periods."""
    settings = {
        "group.protocol": "consumer",
        "auto.offset.reset": "earliest",
        "request.timeout.ms": timeout,
        "max.poll.interval.ms": interval,
    }
    group = {"id": "g", "topics": ["t"], "members": 1, "work": "10ms", "settings": settings}
    document = {
        "title": "a handler that hangs",
        "run_for": "80s",
        "topic": [{"name": "t", "partitions": 2, "rate": "5/s"}],
        "group": [group],
        "fault": [{"hang": "g-0", "at": hangs_at, "for": "40s"}],
    }

    assert 0 < hold_both_ways(document)


# -- random worlds, and faults at many instants ----------------------------------------------------

QUICK = (7, 10, 12, 19, 914)
"""Of all kinds, and soon played; looks one period apart never find the group of the last at rest."""


@pytest.mark.plain_of(3)
@pytest.mark.parametrize("seed", QUICK)
def test_a_disturbed_run_with_consumer_groups_leaves_the_same(seed):
    """Whatever is done to it: alone, beside classic groups, and with members of both protocols."""
    assert 0 < hold_both_ways(periodic_consumer_world(seed), seed, **how_consumers_played(seed))


@pytest.mark.soak
@pytest.mark.long
def test_many_disturbed_runs_with_consumer_groups_leave_the_same():
    """The same for more worlds, of which at least half have periods that are skipped."""
    skipped = [
        hold_both_ways(periodic_consumer_world(seed), seed, **how_consumers_played(seed))
        for seed in range(901, 931)
    ]

    assert len(skipped) <= 2 * sum(map(bool, skipped))


FAULTS = (
    {"crash": "g-0", "restart_after": "500ms"},
    {"pause": "g-0", "for": "700ms"},
    {"close": "g-1"},
    {"stop_broker": "coordinator of g", "restart_after": "1s"},
)


@pytest.mark.long
@pytest.mark.one_of(2)
@pytest.mark.parametrize("classic", [0, 1], ids=["consumer", "both protocols"])
@pytest.mark.parametrize("commit", ["auto", "sync"])
def test_a_fault_of_a_consumer_group_at_many_instants_of_a_period(commit, classic):
    """At instants at which something happens, and a microsecond beside them."""
    document = consumers(classic=classic, rate="5/s", partitions=2, commit=commit)
    times = instants(document, 4_800_000, 5_200_000, **HOW)
    for fault, at in [(fault, at) for at in times for fault in FAULTS][::29]:
        disturbed = {**document, "fault": [{**fault, "at": f"{at}us"}]}
        assert 0 < hold_both_ways(disturbed, **HOW), (fault, at)


# -- planted faults ------------------------------------------------------------------------------


def with_a_late_member() -> dict:
    """Return a group whose third member joins; its target waits for the assignment interval."""
    document = consumers(run_for="14s")
    document["group"][0]["members"].append({"name": "g-late", "start": "3100ms"})
    document["cluster"]["settings"]["group.consumer.assignment.interval.ms"] = 5_000
    return document


def with_a_slow_thread() -> dict:
    """Return a member that nearly always has events in the queue of its background thread."""
    found = with_threads(partitions=4, rate="10/s", work="5ms", wake_up="35ms", commit="sync")
    found["group"][0]["settings"]["metadata.max.age.ms"] = 300_000
    return found | {"network": {"latency": "4ms"}, "run_for": "8s"}


CRASH = {"crash": "g-0", "at": "6333ms", "restart_after": "500ms"}

NOTICING = LEFT | {
    "a crash": (consumers(run_for="9s", fault=[CRASH]), {}),
    "a short poll interval": (consumers(**{"max.poll.interval.ms": 2_000}), {}),
    "a target that waits for its interval": (with_a_late_member(), {}),
    "events that wait for a slow thread": (with_a_slow_thread(), {"lags_repeat_us": 1_000_000}),
}


@cache
def noticing(name: str | int) -> Noticing:
    """Return a run that notices faults."""
    if isinstance(name, int):
        return noticing_run(periodic_consumer_world(name), name, how_consumers_played(name))
    document, how = NOTICING[name]
    return noticing_run(document, 0, {**HOW, **how})


@pytest.mark.long
def test_every_fault_planted_for_consumer_groups_is_noticed():
    """Without one, the runs end as they have to; with one, a run of this module ends otherwise."""
    for name in dict.fromkeys(fault.noticed_in for fault in PLANTED):
        noticing(name).hold()

    assert [] == [
        fault.name for fault in PLANTED if not is_noticed(fault, noticing(fault.noticed_in))
    ]
