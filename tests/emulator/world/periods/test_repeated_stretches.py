"""Stretches of polls of the consumer protocol that are taken from earlier ones, and not played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import pytest

from emulator.world.consumer.polling import stretches
from emulator.world.consumer.polling.stretches import Stretches
from emulator.world.periods.search import Periods

from ...modes.both_ways import Noticing, hold_both_ways, is_noticed, noticing_run
from .periodic_consumer_worlds import how_consumers_played, periodic_consumer_world
from .planted_faults import Planted
from .test_skipped_consumer_periods import consumers

HOW = {"lags_repeat_us": 800_000}
LATE = "threads that wake up late"
LATE_AND_BUSY = "threads that wake up late, and longer work"
OFTEN: dict = {"rate": "20/s", "partitions": 8, "run_for": "6s"}


def crash(at: str) -> dict:
    """Return a crash of the second member, which starts again."""
    return {"crash": "g-1", "at": at, "restart_after": "700ms"}


def _until(document: dict, end: str) -> dict:
    """Return a run in which producers stop then."""
    return {**document, "topic": [{**document["topic"][0], "produce_until": end}]}


RUNS: dict[str, dict] = {
    "nothing happens": consumers(**OFTEN),
    "a crash": consumers(**OFTEN | {"run_for": "8s"}, fault=[crash("3333ms")]),
    "three members, which give partitions away": consumers(
        **OFTEN, members=3, fault=[crash("2s"), crash("4s")]
    ),
    LATE: consumers(**OFTEN, wake_up="4ms"),
    LATE_AND_BUSY: consumers(**OFTEN, wake_up="4ms", work="6ms"),
    "polls of one record": consumers(
        **OFTEN | {"rate": "40/s"}, work="3ms", **{"max.poll.records": 1}
    ),
    "short waits": consumers(**OFTEN, poll_timeout="7ms", **{"max.poll.interval.ms": 150}),
    "answers that are cut off": consumers(
        **OFTEN | {"partitions": 6},
        members=1,
        work="4ms",
        **{"fetch.max.bytes": 2_500, "fetch.min.bytes": 5_000},
    ),
    "records that end": _until(consumers(**OFTEN), "3900ms"),
    "answers of many records": consumers(
        **OFTEN | {"rate": "40/s"}, work="3ms", **{"fetch.min.bytes": 4_000}
    ),
    "work that takes longer than records to come": consumers(**OFTEN, work="6ms"),
    "samples beside the parts": {**consumers(**OFTEN), "lag_every": "370ms"},
    "commits by time": consumers(**OFTEN, commit={"call": "sync", "when": "every", "every": "1s"}),
    "both protocols": consumers(**OFTEN, classic=1),
    "a broker that is away": consumers(
        **OFTEN, fault=[{"stop_broker": "broker-2", "at": "2900ms", "restart_after": "300ms"}]
    ),
    "a pause": consumers(**OFTEN, fault=[{"pause": "g-0", "at": "3100ms", "for": "350ms"}]),
}


def taken_in(document: dict, seed: int = 0, **how: object) -> int:
    """Assert that a run leaves the same in both modes; return how many stretches it takes as known.

    Each member plays by itself.
    """
    found, restore = [], Stretches._restore

    def restored(self, *arguments):
        found.append(arguments)
        restore(self, *arguments)

    with patch.object(Stretches, "_restore", restored), by_themselves():
        hold_both_ways(document, seed, **how)
    return len(found)


@contextmanager
def by_themselves() -> Iterator[None]:
    """Skip no periods of whole runs, and take parts of one batch, too."""
    with (
        patch.object(stretches, "MIN_BATCHES", 1),
        patch.object(Periods, "begin", lambda _: None),
    ):
        yield


ALSO_BRIEFLY = ("a crash", "short waits", LATE, "records that end", "both protocols")


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    "name",
    [name if name in ALSO_BRIEFLY else pytest.param(name, marks=pytest.mark.long) for name in RUNS],
)
def test_a_run_with_stretches_that_come_again_leaves_the_same(name):
    """Events, committed offsets and the offsets log, to the microsecond."""
    assert taken_in(RUNS[name], **HOW) > 3


def test_rates_that_change_are_played():
    """A stretch that ends with the same rate may have had another one between."""
    steps = {"steps": [{"at": "2s", "rate": "20/s"}, {"at": "4s", "rate": "30/s"}]}

    assert taken_in(consumers(**OFTEN | {"rate": steps}), **HOW) == 0


def test_periods_are_skipped_beside_stretches():
    """Between the periods of the whole run, members take known stretches by themselves."""
    document = consumers(**OFTEN | {"run_for": "9s"}, fault=[crash("5333ms")])

    assert hold_both_ways(document, **HOW) > 0


@pytest.mark.soak
@pytest.mark.long
def test_random_worlds_with_stretches_that_come_again_leave_the_same():
    """With everything that a world may have: faults, both protocols, policies, several groups."""
    taken = [
        taken_in(periodic_consumer_world(seed), seed, **how_consumers_played(seed))
        for seed in (5107, *range(5_018, 5_023))
    ]

    assert sum(map(bool, taken)) > 1


# -- planted faults ------------------------------------------------------------------------------

STRETCHES = "emulator.world.consumer.polling.stretches:Stretches"
FETCHES = "emulator.world.consumer.polling.calm_fetches:CalmFetches"
FETCH = "emulator.world.consumer.polling.fetch_in_flight:FetchInFlight"
POLL = "protocols.consumer.kip848.calm:CalmPoll"
QUIET = "nothing happens"

PLANTED = (
    Planted(f"{STRETCHES}._restore", "if number:", "if False:", QUIET),
    Planted(f"{STRETCHES}._restore", "loop.leave_batch()", "pass", LATE),
    Planted(f"{STRETCHES}._restore", "self._fetches.count(part.sent)", "pass", QUIET),
    Planted(
        f"{STRETCHES}._restore",
        "self._finished.add(part.finished, at_us, before)",
        "pass",
        QUIET,
    ),
    Planted(f"{STRETCHES}._restore", "state.begin_us + now", "now", LATE),
    Planted(
        f"{STRETCHES}._played",
        "batches if self._loop.batch is None else batches[:-1]",
        "batches",
        LATE,
    ),
    Planted(
        f"{STRETCHES}._take",
        "self._fetches.comes_to(at.state.fetches, at_us, positions)",
        "True",
        "records that end",
    ),
    Planted(f"{STRETCHES}._known", "known.state == state", "True", QUIET),
    Planted(f"{FETCHES}.restore", "self._find_next()", "pass", QUIET),
    Planted(f"{FETCH}.restore", "self.arrives_us = saved.arrives_us + now", "pass", QUIET),
    Planted(f"{FETCH}.restore", "offsets[tp] + behind, epoch", "want.offset, epoch", QUIET),
    Planted(f"{POLL}.restore", "saved.events_us + now", "saved.events_us", LATE),
    Planted(
        f"{POLL}.saved",
        "tuple([_later(event, -now) for event in self._events])",
        "()",
        LATE_AND_BUSY,
    ),
    Planted(
        "protocols.consumer.fetching:Fetcher.restore",
        "self._in_flight = set(saved.in_flight)",
        "pass",
        QUIET,
    ),
)


@cache
def noticing(name: str) -> Noticing:
    """Return a run that notices faults."""
    return noticing_run(RUNS[name], 0, HOW)


@pytest.mark.long
def test_every_fault_planted_in_stretches_is_noticed():
    """Without one, the runs end as they have to; with one, a run of this module ends otherwise."""
    with by_themselves():
        for name in dict.fromkeys(str(fault.noticed_in) for fault in PLANTED):
            noticing(name).hold()
        unnoticed = [f.name for f in PLANTED if not is_noticed(f, noticing(str(f.noticed_in)))]

    assert unnoticed == []
