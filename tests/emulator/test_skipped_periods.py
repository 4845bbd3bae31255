"""Whole periods of runs are skipped: what is left behind is the same to the byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.world.build import play
from emulator.world.run import Replay

from .both_ways import hold_both_ways, play_whole, scenario_from
from .periodic_worlds import how_played, periodic_world


def steady(**changes: object) -> dict:
    """Return two members that commit every 400 ms what arrives every 100 ms."""
    settings = {
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 400,
        "auto.commit.interval.ms": 400,
    }
    group = {"id": "g", "topics": ["t"], "members": 2, "work": "2ms", "settings": settings}
    topic = {"name": "t", "partitions": 4, "rate": "10/s"}
    cluster = {"settings": {"group.initial.rebalance.delay.ms": 0}}
    whole: dict = {
        "title": "steady",
        "run_for": "12s",
        "lag_every": "400ms",
        "topic": [topic],
        "group": [group],
        "cluster": cluster,
    }
    for key, value in changes.items():
        if key in ("run_for", "fault", "network", "lag_every"):
            whole[key] = value
        elif key in ("rate", "retention", "produce_until"):
            topic[key] = value
        elif "." in key:
            (cluster["settings"] if key in BROKERS else settings)[key] = value
        else:
            group[key] = value
    return whole


BROKERS = ("log.cleaner.backoff.ms", "log.roll.ms", "offsets.topic.num.partitions")

LEFT = {
    "automatic commits": (steady(run_for="8s"), {}),
    "a compaction between two skipped periods": (
        steady(run_for="16s", **{"log.cleaner.backoff.ms": 2_000}),
        {"segment_bytes": 3_000},
    ),
    "a segment that is full": (
        steady(rate="5/s", commit="sync", run_for="8s"),
        {"segment_bytes": 20_000},
    ),
    "a segment that is old": (steady(**{"log.roll.ms": 5_000}), {}),
    "the bytes of the offsets log": (steady(), {"files": True}),
    "the bytes of segments": (
        steady(rate="5/s", run_for="8s"),
        {"files": True, "segment_bytes": 2_000},
    ),
}


@pytest.mark.parametrize(("document", "how"), LEFT.values(), ids=LEFT)
def test_a_run_whose_periods_are_skipped_leaves_the_same(document, how):
    """Events, committed offsets, and the offsets log: what a load reads, its size, its segments."""
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

QUICK = range(0)


def skipped_in(seeds: range) -> Iterator[int]:
    """Compare both ways of playing many worlds; yield the periods skipped in each."""
    for seed in seeds:
        yield hold_both_ways(periodic_world(seed), seed, **how_played(seed))


@pytest.mark.parametrize("seed", QUICK)
def test_a_disturbed_run_whose_periods_are_skipped_leaves_the_same(seed):
    """Whatever is done to it, and whenever."""
    assert 0 < hold_both_ways(periodic_world(seed), seed, **how_played(seed))
