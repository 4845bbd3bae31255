"""Growing lag and partitions without progress, in runs whose arithmetic fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from assignors.types import TopicPartition
from emulator.events import LagSampled
from emulator.loading import ScenarioText, load_text
from emulator.verdicts.progress import MOST_CHECKPOINTS, Growth, Progress, Stalled
from emulator.verdicts.verdict import VerdictId

from .test_problems import found

PARTITION = TopicPartition("orders", 0)

UNEVEN = """
title = "three topics of one partition each"
run_for = "70s"

[[topic]]
name = "orders"
partitions = 1
rate = "30/s"

[[topic]]
name = "refunds"
partitions = 1
rate = "30/s"

[[group]]
id = "billing"
topics = ["orders", "refunds"]
members = 2
work = "20ms"

[group.settings]
"auto.offset.reset" = "earliest"
"partition.assignment.strategy" = "range"
"""

WAITING = """
title = "a commit for each record"
run_for = "70s"
network.latency = "10ms"

[[topic]]
name = "orders"
partitions = 1
rate = "20/s"

[[group]]
id = "billing"
topics = ["orders"]
members = 1
work = "40ms"
commit = { call = "sync", when = "record" }

[group.settings]
"auto.offset.reset" = "earliest"
"""


def loaded(text: str, *changes: str):
    return load_text(ScenarioText("scenario", "scenario", text, Path()), changes)


@pytest.mark.parametrize(
    ("text", "advice", "change"),
    [
        (
            UNEVEN,
            "range assigns topic by topic",
            "group[billing].settings[partition.assignment.strategy]=roundrobin",
        ),
        (
            WAITING,
            "Call commitSync() after each batch, not after each record",
            "group[billing].commit.when=batch",
        ),
    ],
    ids=["uneven", "waiting"],
)
def test_lag_that_grows_although_the_arithmetic_fits(text, advice, change):
    """The verdict says how long members worked, and its advice, applied, removes it."""
    problems, hints = found(loaded(text))

    assert {VerdictId.LAG_GROWS} == set(problems)
    assert advice in hints
    assert {} == found(loaded(text, change))[0]


def test_a_record_that_holds_up_its_partition_is_named():
    """Although its member stays in the group: max.poll.interval.ms has not passed."""
    poison = '\n[[group.poison]]\ntopic = "orders"\npartition = 0\noffset = 50\nwork = "30min"\n'
    text = UNEVEN.replace('"70s"', '"80s"').replace("range", "roundrobin") + poison
    problems, hints = found(loaded(text))

    assert {VerdictId.PARTITION_STALLED} == set(problems)
    assert "record 50 of orders-0" in problems[VerdictId.PARTITION_STALLED].sentence
    assert "max.poll.interval.ms (now 300000)" in hints


def sampled(produced: Sequence[int], processed: Sequence[int], every_s: int = 10) -> Progress:
    """Return the progress of one partition, a sample every ten seconds."""
    progress = Progress()
    progress.open(PARTITION, 0, "billing-0")
    for number, (end, done) in enumerate(zip(produced, processed, strict=True)):
        what = LagSampled(
            group="billing",
            partitions=(PARTITION,),
            log_ends=(end,),
            committed=(done,),
            processed=(done,),
        )
        progress.sample(number * every_s * 1_000_000, what)
    return progress


def test_lag_grows_if_it_grows_in_every_quarter():
    """A backlog that is worked off in one of them does not."""
    produced = [1000 * number for number in range(9)]
    slower = [900 * number for number in range(9)]
    caught_up = [*slower[:7], 6900, 7900]

    assert Growth(0, 8000, 0, 800) == sampled(produced, slower).growth(0)
    assert Growth(40_000_000, 4000, 400, 800) == sampled(produced, slower).growth(40_000_000)
    assert sampled(produced, caught_up).growth(0) is None
    assert sampled(produced, slower).growth(50_000_000) is None


def test_a_partition_that_waits_for_its_owner_is_not_held_up():
    """The owner works off a backlog of another partition first."""
    backlog = UNEVEN.replace('rate = "30/s"', 'rate = "1/s"\nbacklog = 9000', 1)
    text = backlog.replace('work = "20ms"', 'work = "9ms"').replace("members = 2", "members = 1")

    assert VerdictId.PARTITION_STALLED not in found(loaded(text))[0]


def test_a_long_run_keeps_few_checkpoints():
    """And still knows the lag of its begin and end."""
    many = 3 * MOST_CHECKPOINTS
    progress = sampled(range(0, 10 * many, 10), range(0, 9 * many, 9))

    assert len(progress._checkpoints) <= MOST_CHECKPOINTS
    assert 0 == progress.growth(0).before
    assert progress.growth(0).after > 0.9 * many


def test_a_partition_stalls_from_the_last_checkpoint_with_progress():
    """An idle partition does not, nor one that goes on."""
    stalled = sampled([100, 200, 300, 400], [100, 150, 150, 150])

    assert [Stalled(PARTITION, 150, 10_000_000, 250, 10_000_000)] == [*stalled.stalled()]
    assert [] == [*sampled([100, 100, 100], [100, 100, 100]).stalled()]
    assert [] == [*sampled([100, 200, 300], [50, 50, 60]).stalled()]
