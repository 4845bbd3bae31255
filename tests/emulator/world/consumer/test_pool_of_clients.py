"""Pools of workers and poisoned records under clients whose listener runs beside the work."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import emulator
from emulator.events import EpochClosed, NotProcessed, Processed, ProcessedOutOfOrder

from ...brute_force.test_brute_force import hold_against_count, hold_laws

TEXT = """
title = "a client"
run_for = "40s"
[[topic]]
name = "t"
partitions = 4
rate = "20/s"

[[group]]
id = "g"
client = "{client}"
topics = ["t"]
members = [{{ name = "g-0" }}, {{ name = "g-1" }}, {{ name = "late", start = "by act" }}]
work = "{work}"
{group}

[[act]]
start = "late"
at = "15.01s"
[[act]]
close = "late"
at = "25s"
"""
POISON = ", ".join(
    f'{{ topic = "t", partition = {tp}, offset = {offset}, error = "skip" }}'
    for tp in range(4)
    for offset in range(250, 320, 3)
)


def each_or_long(some: list[str], clients: list[str], long: Iterable[str] = ()) -> list:
    """Return some ways with each client; *long*: those that only the long tests play."""
    plain = [(way, client) for client in clients for way in some]
    rest = [(way, client) for client in clients for way in long]
    return [*plain, *(pytest.param(*each, marks=pytest.mark.long) for each in rest)]


def played(client: str, group: str, work: str = "30ms") -> emulator.Run:
    """Play it, with each poll."""
    text = TEXT.format(client=client, group=group, work=work)
    return emulator.run(emulator.loads(text), 0, polls=True)


SERIAL, WORKERS = '"serial"', '{ workers = 3, order = "none" }'


@pytest.mark.plain_of(4)
@pytest.mark.parametrize(
    ("handler", "client"),
    [
        *each_or_long([SERIAL, WORKERS], ["java", "aiokafka"]),
        *each_or_long([SERIAL], ["librdkafka"], long=[WORKERS]),
        *each_or_long([WORKERS], ["kafka-python"], long=[SERIAL]),
        *each_or_long([WORKERS], ["franz-go", 'aiokafka"\nread_with = "getmany'], long=[SERIAL]),
    ],
)
def test_skipped_records_are_counted_when_a_rebalance_comes_beside_the_work(client, handler):
    """Also in an epoch that has ended while its records are in hand."""
    run = played(client, f"handler = {handler}\npoison = [{POISON}]")

    hold_against_count(run)
    hold_laws(run)
    assert run.ledger.processed > 1000


@pytest.mark.plain_of(3)
@pytest.mark.parametrize(
    ("when_full", "client"),
    [
        *each_or_long(["block"], ["java", "aiokafka", "franz-go"], long=["pause"]),
        *each_or_long(["pause"], ["librdkafka", "kafka-python"], long=["block"]),
    ],
)
def test_a_full_pool_goes_on_after_a_listener_has_waited_for_it(client, when_full):
    """Both wait: the application for room, the listener for the workers."""
    pool = f'{{ workers = 2, queue = 6, when_full = "{when_full}", drain = "running" }}'
    run = played(client, f"handler = {pool}", work="40ms")
    closed = [event for event in run.events if isinstance(event.what, EpochClosed)]

    hold_against_count(run)
    hold_laws(run)
    assert closed
    assert all(run.metrics.tables["processed.by_member"][name] > 600 for name in ("g-0", "g-1"))


GIVEN_AWAY = """
title = "partitions are given away beside the work"
run_for = "4500ms"
[[topic]]
name = "t"
partitions = 3
backlog = 9
[[group]]
id = "g"
client = "aiokafka"
read_with = "getmany"
topics = ["t"]
members = [{ name = "g-0" }, { name = "late", start = "3500ms" }]
work = "300ms"
settings = { "auto.offset.reset" = "earliest", "heartbeat.interval.ms" = 300 }
"""


def test_what_is_in_hand_at_the_end_includes_records_of_partitions_given_away():
    """The listener of aiokafka runs beside the work: its handler still has such records."""
    scenario = emulator.loads(GIVEN_AWAY)
    told, untold = (emulator.run(scenario, 0, polls=polls) for polls in (True, False))

    assert told.ledger.in_hand > 9
    assert told.ledger == untold.ledger


@pytest.mark.one_of(2)
@pytest.mark.long
def test_a_record_that_always_fails_is_never_processed():
    """Neither by a worker that got it in an earlier epoch."""
    everything = '{ topic = "t", every = 1, error = "skip" }'
    pool = '{ workers = 2, order = "none", revoked = "continue" }'
    run = played("java", f"handler = {pool}\npoison = [{everything}]", work="60ms")

    assert not [event for event in run.events if isinstance(event.what, ProcessedOutOfOrder)]


def test_a_skipped_record_of_an_epoch_that_has_ended_is_not_processed():
    """The listener of aiokafka runs beside the work on a batch, which has poisoned records."""
    poison = ", ".join(
        f'{{ topic = "t", partition = {tp}, offset = {offset}, error = "skip" }}'
        for tp in range(4)
        for offset in (5, 14, 19, 24, 29, 39, 59, 61)
    )
    text = f"""
title = "skipped beside a rebalance"
run_for = "60s"
topic = [{{ name = "t", partitions = 4, rate = "2/s", backlog = 60 }}]
[[group]]
id = "g"
client = "aiokafka"
read_with = "getmany"
topics = ["t"]
members = 2
work = "300ms"
poison = [{poison}]
settings = {{ "auto_offset_reset" = "earliest" }}
[[fault]]
close = "g-0"
at = "5s"
restart_after = "5s"
"""
    run = emulator.run(emulator.loads(text), 0, polls=True)

    hold_against_count(run)
    hold_laws(run)
    poisoned = {5, 14, 19, 24, 29, 39, 59, 61}
    for event in run.events:
        if isinstance(event.what, Processed):
            assert not poisoned & set(range(event.what.first, event.what.next_offset))
    assert any(isinstance(event.what, NotProcessed) for event in run.events)


STORES = """
title = "a pool that stores what it has finished"
run_for = "60s"
topic = [{ name = "orders", partitions = 4, rate = "20/s" }]
act = [{ rolling_restart = "g", at = "20s", gap = "10s", surge = true }]

[[group]]
id = "g"
topics = ["orders"]
members = 2
work = "30ms"
client = "librdkafka"
handler = { workers = 4, drain = "all" }
commit = { call = "store" }
settings = { "auto.offset.reset" = "earliest", "group.protocol" = "consumer" }
"""


@pytest.mark.long
def test_what_a_drained_pool_has_finished_is_stored_before_the_last_commit():
    """At a revocation and at close: the next owner repeats nothing."""
    run = emulator.run(emulator.loads(STORES))

    assert 0 == run.ledger.reprocessed == run.ledger.lost
    assert run.ledger.processed > 4_000
