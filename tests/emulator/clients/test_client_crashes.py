"""What a crash at any instant costs, by client: each bound of docs/reference/clients.md holds and is reached."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import pytest

import emulator
from emulator.metrics.laws import Severity
from emulator.scenario.load import loads

SCENARIO = """
title = "a member crashes in its work"
run_for = "45s"
topic = [{{ name = "orders", partitions = 2, rate = "1/s", backlog = 300 }}]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "97ms"
client = "{client}"
{keys}

[group.settings]
"auto.offset.reset" = "earliest"
"auto.commit.interval.ms" = {interval_ms}
"session.timeout.ms" = 6000
{settings}

[[fault]]
crash = "g-0"
at = "{at_ms}ms"
"""

WORK_MS = 97
BATCH = 10
TEN_A_POLL = '"max.poll.records" = 10'
TEN_A_CALL = "read_records = 10\nread_with = "


class Column(NamedTuple):
    """A client as it reads, and the most that a crash costs."""

    client: str
    repeated: int
    lost: int
    keys: str = ""
    settings: str = ""
    interval_ms: int = 2_300


def worked_on(interval_ms: int) -> int:
    """Return the records that a member processes between two commits."""
    return ceil(interval_ms / WORK_MS)


POLLS = BATCH * ceil(2_300 / (BATCH * WORK_MS))
"""Java commits in the first poll behind the interval: whole batches."""

COLUMNS = {
    "java": Column("java", POLLS, 0, settings=TEN_A_POLL),
    "kafka-python poll": Column("kafka-python", POLLS, 0, 'read_with = "poll"', TEN_A_POLL),
    "kafka-python iterator": Column("kafka-python", POLLS, 0, 'read_with = "iterator"', TEN_A_POLL),
    "librdkafka poll": Column("librdkafka", worked_on(500), 1, interval_ms=500),
    "librdkafka consume": Column("librdkafka", worked_on(2_300), BATCH, f'{TEN_A_CALL}"consume"'),
    "librdkafka stores after the work": Column(
        "librdkafka",
        worked_on(2_300),
        0,
        f'{TEN_A_CALL}"consume"\ncommit = "store per record"',
    ),
    "aiokafka getone": Column("aiokafka", worked_on(500), 1, interval_ms=500),
    "aiokafka getmany": Column(
        "aiokafka", worked_on(2_300), BATCH, 'read_with = "getmany"', TEN_A_POLL
    ),
    "franz-go": Column("franz-go", worked_on(2_300) + BATCH, 0, f'{TEN_A_CALL}"PollRecords"'),
    "franz-go greedy": Column(
        "franz-go",
        worked_on(2_300),
        BATCH,
        f'{TEN_A_CALL}"PollRecords"',
        "GreedyAutoCommit = true",
    ),
}
"""By client and call; the member always has work, and a call hands out ten records."""

INSTANTS_MS = range(15_000, 24_500, 391)
"""Over ten seconds, at other places of an interval and of a batch each time."""


def cost_of_crash(column: Column, at_ms: int) -> tuple[int, int]:
    """Return how many records are reprocessed and lost if a member crashes at *at_ms*."""
    text = SCENARIO.format(at_ms=at_ms, **column._asdict())
    run = emulator.run(loads(text, "a test"), seed=1)
    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    assert run.conclusive, run.why
    return run.metrics["reprocessed"], run.metrics["lost"]


@pytest.mark.long
@pytest.mark.one_of(2)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_crash_costs_at_most_what_the_column_says_and_about_as_much(name):
    """The worst of 25 instants costs more than half of each bound: neither could be half as large."""
    column = COLUMNS[name]
    costs = [cost_of_crash(column, at_ms) for at_ms in INSTANTS_MS]
    repeated, lost = (max(each) for each in zip(*costs, strict=True))

    assert column.repeated / 2 < repeated <= column.repeated
    assert column.lost / 2 <= lost <= column.lost
    assert all(0 in cost for cost in costs)
