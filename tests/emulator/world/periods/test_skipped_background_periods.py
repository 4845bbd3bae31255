"""Skipped periods of groups whose clients work in the background."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import pytest

import emulator
from emulator.events import EpochClosed, EpochOpened
from emulator.world.periods import upkeep
from protocols.consumer.classic.background import BackgroundClient

from ...modes.both_ways import (
    Noticing,
    hold_both_ways,
    is_noticed,
    noticing_run,
    scenario_from,
)
from .periodic_background_worlds import (
    BACKGROUND,
    background_consumer_world,
    periodic_background_world,
)
from .periodic_consumer_worlds import how_consumers_played, speak
from .periodic_worlds import how_played
from .planted_background_faults import PLANTED
from .steady_runs import steady
from .test_skipped_periods import instants


def background(client: str, **changes: object) -> dict:
    """Return two members of a client whose heartbeats and commits have a period of 500 ms."""
    soon = {"heartbeat.interval.ms": 500, "auto.commit.interval.ms": 500}
    found = steady(**{"client": client, "run_for": "8s", "lag_every": "500ms", **soon, **changes})
    strategy = {"partition.assignment.strategy": "range"}
    if client == "franz-go":
        strategy = {"partition.assignment.strategy": "RangeBalancer"}
    found["group"][0]["settings"] |= strategy
    return found


def background_consumers(**changes: object) -> dict:
    """Return the same two members of librdkafka with the consumer protocol."""
    found = background("librdkafka", **changes)
    speak(found["group"][0])
    found["cluster"]["settings"] |= {
        "group.consumer.min.heartbeat.interval.ms": 100,
        "group.consumer.heartbeat.interval.ms": 500,
    }
    return found


SOON = {"lags_repeat_us": 500_000}
"""The threads of a Java client of that protocol have the same period."""

BESIDE_JAVA: dict = {"members": [{"name": "g-0"}, {"name": "g-1", "client": "java"}]}

FAR: dict = {"members": 4, "partitions": 8, "network": {"latency": "15ms"}}
"""Members of which one nearly always waits for a response."""

BY_CLIENT = {
    "automatic commits": {},
    "commits of each batch": {"commit": "sync", "rate": "5/s"},
    "asynchronous commits": {"commit": "async", "rate": "5/s"},
    "requests in flight": FAR,
    "without latency": {"network": {"latency": "0s"}},
    "the bytes of the offsets log": {},
}

LEFT = (
    {
        f"{client}, {name}": (background(client, **changes), {"files": "bytes" in name})
        for client in BACKGROUND
        for name, changes in BY_CLIENT.items()
    }
    | {
        "librdkafka, offsets that the application stores": (
            background("librdkafka", commit="store per record"),
            {},
        ),
        "librdkafka, records that are left in the queue": (
            background(
                "librdkafka",
                partitions=1,
                members=1,
                rate="50/s",
                work="10ms",
                **{"fetch.min.bytes": 5_000},
            ),
            {},
        ),
        "franz-go, offsets that the application marks": (
            background("franz-go", commit="store"),
            {},
        ),
        "aiokafka, one record a call": (background("aiokafka", read_with="getone"), {}),
        "aiokafka, records that are left in the queue": (
            background(
                "aiokafka", read_with="getone", partitions=4, members=1, rate="5/s", work="40ms"
            ),
            {},
        ),
    }
    | {
        f"{client}, metadata requests in skipped periods": (
            background(client, run_for="40s", commit=commit, **{"metadata.max.age.ms": age_ms}),
            {},
        )
        for client, commit, age_ms in (
            ("librdkafka", "auto", 2_500),
            ("aiokafka", "async", 2_313),
            ("franz-go", "auto", 6_000),
        )
    }
    | {
        f"the consumer protocol, {name}": (
            background_consumers(**changes),
            {**SOON, "files": "bytes" in name},
        )
        for name, changes in {
            **BY_CLIENT,
            "offsets that the application stores": {"commit": "store per record"},
            "metadata requests in skipped periods": {
                "run_for": "40s",
                "metadata.max.age.ms": 2_500,
            },
            "a Java client beside librdkafka": BESIDE_JAVA,
        }.items()
    }
    | {
        "a Java client beside librdkafka": (
            background("librdkafka", **BESIDE_JAVA),
            {},
        ),
    }
)

ALSO_BRIEFLY = (
    *[f"{client}, automatic commits" for client in BACKGROUND],
    "librdkafka, commits of each batch",
    "a Java client beside librdkafka",
    "the consumer protocol, automatic commits",
    "the consumer protocol, commits of each batch",
)


@pytest.mark.parametrize(
    "name",
    [name if name in ALSO_BRIEFLY else pytest.param(name, marks=pytest.mark.long) for name in LEFT],
)
def test_a_group_whose_periods_are_skipped_leaves_the_same(name):
    """Events, committed offsets and the offsets log, to the byte."""
    document, how = LEFT[name]

    assert 0 < hold_both_ways(document, **how)


QUIET = {client: background(client, run_for="40s") for client in BACKGROUND} | {
    "librdkafka, the consumer protocol": background_consumers(run_for="40s")
}


@pytest.mark.parametrize("name", QUIET)
def test_a_quiet_group_is_folded(name):
    """Nearly all its time is, and what leaves the run is the same."""
    scenario = scenario_from(QUIET[name])
    folded, exact = (emulator.run(scenario, mode=mode) for mode in ("folded", "exact"))

    assert folded.folded.share > 0.9
    assert exact.folded.share == 0
    for left in ("digest", "ledger", "metrics", "findings"):
        assert getattr(folded, left) == getattr(exact, left), left


def test_a_position_that_comes_after_its_partition_was_given_up_makes_no_second_owner():
    """Without latency offsets arrive just behind the revocation of half of the first assignment."""
    document, _ = LEFT["the consumer protocol, without latency"]
    owners: dict = {}
    for event in emulator.run(scenario_from(document)).events:
        if isinstance(event.what, EpochOpened):
            owners.setdefault(event.what.partition, set()).add(event.what.consumer)
        elif isinstance(event.what, EpochClosed):
            owners[event.what.partition].discard(event.what.consumer)
        assert all(len(found) <= 1 for found in owners.values())


@pytest.mark.parametrize("client", BACKGROUND)
def test_periods_are_skipped_across_metadata_requests(client):
    """Most of them are counted, also those at the instant of a commit."""
    document, how = LEFT[f"{client}, metadata requests in skipped periods"]
    with patch.object(upkeep, "_refresh", wraps=upkeep._refresh) as refresh:
        assert 0 < hold_both_ways(document, **how)

    assert sum(call.args[2] for call in refresh.call_args_list) > 3


def test_a_run_without_single_events_has_the_same_results():
    """As studies play it: sums stand for the events of skipped periods."""
    scenario = scenario_from(background("librdkafka", commit="sync"))
    summed, exact = (
        emulator.run(scenario, mode=mode, keep_events=keep)
        for mode, keep in (("folded", False), ("exact", True))
    )

    for name in ("digest", "ledger", "metrics", "findings"):
        assert getattr(summed, name) == getattr(exact, name), name


@pytest.mark.parametrize("client", BACKGROUND)
def test_a_client_that_has_nothing_to_do_does_nothing(client):
    """It reads hundreds of responses, and looks at its duties where one is due."""
    with patch.object(
        BackgroundClient, "_work", autospec=True, side_effect=BackgroundClient._work
    ) as work:
        emulator.run(scenario_from(background(client)), mode="exact")

    assert work.call_count < 300


# -- random worlds, and faults at many instants ----------------------------------------------------

QUICK = (1001, 3019)
"""In 1001 a commit is answered whose partition has been given away; in 3019 a handler works on records of one."""


@pytest.mark.parametrize("seed", QUICK)
def test_a_disturbed_run_leaves_the_same(seed):
    """Whatever is done to it, and whenever."""
    hold_both_ways(periodic_background_world(seed), seed, **how_played(seed))


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "how"),
    [
        (periodic_background_world, how_played),
        (background_consumer_world, how_consumers_played),
    ],
)
def test_many_disturbed_runs_leave_the_same(world, how):
    """The same for more worlds, of which a third at least have periods that are skipped."""
    skipped = [hold_both_ways(world(seed), seed, **how(seed)) for seed in range(1_000, 1_060)]

    assert len(skipped) <= 3 * sum(map(bool, skipped))


FAULTS = (
    {"crash": "g-0", "restart_after": "500ms"},
    {"pause": "g-0", "for": "700ms"},
    {"close": "g-1"},
    {"stop_broker": "coordinator of g", "restart_after": "1s"},
)


def sweep(document: dict, step: int) -> None:
    """Compare both ways of playing each fault at every *step*-th instant of a period of 500 ms."""
    times = [(fault, at) for at in instants(document, 5_000_000, 5_500_000) for fault in FAULTS]
    for fault, at in times[::step]:
        assert 0 < hold_both_ways({**document, "fault": [{**fault, "at": f"{at}us"}]}), (fault, at)


@pytest.mark.parametrize("client", BACKGROUND)
def test_a_fault_at_some_instants_of_a_period(client):
    """Where something happens, and a microsecond before and after it."""
    sweep(background(client, rate="5/s", partitions=2), 71)


@pytest.mark.long
@pytest.mark.parametrize("commit", ["auto", "sync"])
@pytest.mark.parametrize("client", BACKGROUND)
def test_a_fault_at_many_instants_of_a_period(client, commit):
    """The same at more of them."""
    sweep(background(client, rate="5/s", partitions=2, commit=commit), 13)


# -- planted faults ------------------------------------------------------------------------------

RETURN = {"close": "g-1", "at": "5633ms", "restart_after": "700ms"}
NOTICING = LEFT | {
    "a rebalance": (background("librdkafka", fault=[RETURN]), {}),
    "a rebalance of the consumer protocol": (background_consumers(fault=[RETURN]), SOON),
}


@cache
def noticing(name: str | int) -> Noticing:
    """Return a run that notices faults."""
    if isinstance(name, int):
        return noticing_run(periodic_background_world(name), name, how_played(name))
    document, how = NOTICING[name]
    return noticing_run(document, 0, how)


@pytest.mark.long
def test_every_fault_planted_for_these_clients_is_noticed():
    """Without one, the runs end as they have to; with one, a run of this module ends otherwise."""
    for name in dict.fromkeys(fault.noticed_in for fault in PLANTED):
        noticing(name).hold()

    assert [] == [
        fault.name for fault in PLANTED if not is_noticed(fault, noticing(fault.noticed_in))
    ]
