"""``fetch.min.bytes``: what a broker waits for, and what it answers when it has waited long enough."""

from __future__ import annotations

import itertools
import tomllib

import pytest

import emulator
from emulator.events import Polled
from tests.emulator.modes.both_ways import hold_both_ways

SCENARIO = """
title = "answers of many records"
run_for = "12s"
topic = [{{ name = "t", partitions = {partitions}, rate = "20/s", record_size = "1KiB" }}]
[cluster]
brokers = 1
[network]
latency = "1ms"
[[group]]
id = "g"
topics = ["t"]
members = [{{ name = "g-0" }}]
work = "0s"
poll_timeout = "5s"
settings = {{ "fetch.min.bytes" = {min_bytes}, "auto.offset.reset" = "earliest", "group.protocol" = "{protocol}" }}
"""


def batches(
    min_bytes: int, partitions: int = 6, protocol: str = "classic"
) -> list[tuple[int, int]]:
    """Return when polls of the last seconds returned records, and how many each."""
    text = SCENARIO.format(min_bytes=min_bytes, partitions=partitions, protocol=protocol)
    run = emulator.run(emulator.loads(text), polls=True)
    polls = [
        (e.at_us, sum(end - at for _, at, end in e.what.ranges))
        for e in run.events
        if isinstance(e.what, Polled)
    ]
    return [(at_us, count) for at_us, count in polls if at_us > 6_000_000 and count]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_it_is_reached_by_all_partitions_of_a_fetch_together(protocol):
    """Six of them have 24 KiB after 0.2 s, none of them more than 4."""
    found = batches(24 * 1024, protocol=protocol)

    assert {24} == {count for _, count in found}
    assert all(b - a < 210_000 for (a, _), (b, _) in itertools.pairwise(found))


def test_after_its_longest_wait_a_broker_answers_with_what_it_has():
    """Some 60 records in 500 ms, although that is less than was asked for."""
    found = batches(10_000_000)

    assert all(500_000 < b - a < 510_000 for (a, _), (b, _) in itertools.pairwise(found))
    assert all(58 <= count <= 62 for _, count in found)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("min_bytes", [3_000, 24 * 1024, 10_000_000])
def test_folded_runs_leave_the_same(protocol, min_bytes):
    """Also where production ends while an answer waits for more."""
    text = SCENARIO.format(min_bytes=min_bytes, partitions=3, protocol=protocol)
    document = tomllib.loads(text)
    document["topic"][0]["produce_until"] = "8200ms"
    hold_both_ways(document)
