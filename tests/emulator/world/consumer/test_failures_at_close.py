"""Records that fail while their member closes in mid-batch."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.events import EpochClosed, Polled, ProcessingFailed
from emulator.playing import Run

from ...modes.both_ways import hold_whole_run

NAMED = {"names_failed": True}
WORKERS = {"workers": 1, "order": "partition", "drain": "none"}
AGAIN = {"attempts": 2, "backoff": "50ms"}
LAST = {"attempts": 1, "backoff": "50ms"}


def play(handler: Any, poison: dict[str, Any], commit: str = "auto") -> Run:
    """Let the second record of partition 2 fail during a close, and hold the run.

    A serial handler has two more of it in hand and, behind them, four of partition 1.
    """
    topic = {"name": "t", "partitions": 3, "rate": "0/s", "backlog": 4}
    fails = {"topic": "t", "partition": 2, "offset": 1} | poison
    group = {
        "id": "g",
        "topics": ["t"],
        "members": [{"name": "g-0"}, {"name": "next", "start": "900ms"}],
        "work": "20ms",
        "handler": handler,
        "commit": commit,
        "poison": [fails],
        "settings": {"auto.offset.reset": "earliest"},
    }
    document = {
        "title": "a record fails during a close",
        "run_for": "1500ms",
        "topic": [topic],
        "group": [group],
        "cluster": {"settings": {"group.initial.rebalance.delay.ms": 0}},
        "fault": [{"close": "g-0", "mid_batch": True, "at": "125ms"}],
    }
    return hold_whole_run(document, 3)


def test_the_close_meets_records_of_two_partitions():
    """What the other tests rest on."""
    run = play("serial", {"error": "stop"})
    batch = [e.what for e in run.events if type(e.what) is Polled and e.at_us < 125_000][-1]

    assert [(2, 0, 4), (1, 0, 4)] == [(tp.partition, first, end) for tp, first, end in batch.ranges]


@pytest.mark.parametrize("error", ["seek", "pause"])
@pytest.mark.parametrize("handler", ["serial", NAMED, "batch"])
def test_a_seek_goes_back_to_all_that_was_polled(handler, error):
    """Spring's container gives its handler the records of all partitions behind the failed one.

    So close() commits no record that was not processed.
    """
    run = play(handler, {"error": error} | AGAIN)
    closed = [e.what for e in run.events if type(e.what) is EpochClosed and e.what.why == "closed"]

    assert run.ledger.lost == 0
    assert run.ledger.reprocessed == (1 if handler == "batch" else 0)
    assert {what.partition.partition: what.position for what in closed} == {
        0: 4,
        1: 0,
        2: 0 if handler == "batch" else 1,
    }


@pytest.mark.parametrize(("then", "lost", "forwarded"), [("skip", 7, 0), ("forward", 0, 8)])
def test_a_recoverer_gets_the_whole_batch(then, lost, forwarded):
    """If nothing says which record has failed, also those of the other partition."""
    run = play("batch", {"error": "seek", "then": then} | LAST)

    assert run.ledger.lost == run.ledger.by_cause().get("skipped by the handler", 0) == lost
    assert forwarded == sum(
        type(e.what) is ProcessingFailed and bool(e.what.to) for e in run.events
    )


@pytest.mark.parametrize(
    ("poison", "lost"),
    [
        ({"error": "seek", "then": "skip"} | LAST, 7),
        ({"error": "seek", "then": "forward"} | LAST, 6),
        ({"error": "pause", "then": "skip"} | LAST, 7),
        ({"error": "retry", "then": "skip"} | AGAIN, 7),
        ({"error": "retry", "then": "forward"} | AGAIN, 6),
        ({"error": "retry"} | AGAIN, 6),
        ({"error": "forward"}, 6),
        ({"error": "skip"}, 7),
        ({"error": "stop"}, 0),
    ],
)
def test_a_record_that_is_done_with_ends_the_batch(poison, lost):
    """The six records behind it are committed by close(); not where the process exits."""
    assert lost == play("serial", poison).ledger.lost


@pytest.mark.parametrize(("commit", "lost"), [("sync", 0), ("auto", 5)])
def test_workers_lose_what_none_of_them_has_begun(commit, lost):
    """With automatic commits, which name all that was polled."""
    assert lost == play(WORKERS, {"error": "retry", "then": "forward"} | AGAIN, commit).ledger.lost
