"""Facts that stand for several: progress of equal periods, what poll returned, and ranges without causes."""

from __future__ import annotations

import pytest

from emulator import events as ev
from emulator.ledger.accounts import PartitionAccount
from emulator.ledger.builder import LedgerBuilder

from .history import GROUP, P0, P1, History


def progress(history: History, name: str, first: int, next_offset: int, *, generation=1) -> None:
    """Let an owner finish ten records a second."""
    history.say(
        ev.ProgressCounted(
            consumer=name,
            group=GROUP,
            generation=generation,
            partition=P0,
            first=first,
            next_offset=next_offset,
            began_us=history.now_us,
            ends=((first + 10, history.now_us),),
            every_us=1_000_000,
        )
    )


def begun() -> History:
    history = History()
    history.topic()
    history.start("a", "b")
    history.open("a")
    return history


def test_equal_periods_at_the_frontier_are_counted_together():
    """As many records as one by one."""
    history = begun()
    progress(history, "a", 0, 50)
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert (50, 50, 0, 0) == (ledger.processed, ledger.distinct, ledger.reprocessed, ledger.backlog)


@pytest.mark.parametrize(("start", "repeated"), [(20, 30), (50, 0)])
def test_equal_periods_below_the_frontier_are_repeats(start, repeated):
    """Until the owner comes to the frontier; from there they are counted together."""
    history = begun()
    history.work("a", 0, 50)
    history.commit("a", start)
    history.crash("a", 50)
    history.open("b", offset=start, generation=2)
    progress(history, "b", start, 100, generation=2)
    history.end([(P0, 100)])
    ledger = history.ledger()

    assert (repeated, 100, 0) == (ledger.reprocessed, ledger.distinct, ledger.lost)


def test_equal_periods_beyond_the_frontier_skip_what_lies_before():
    """They count one by one, and the gap has a cause."""
    history = begun()
    progress(history, "a", 20, 50)
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert (30, 20) == (ledger.processed, ledger.lost)


@pytest.mark.parametrize("summed", [True, False])
def test_equal_periods_in_a_truncated_log_are_told_apart(summed):
    """The owner had records in hand that the log lost: those it processed are not unprocessed ones."""
    history = begun()
    history.work("a", 0, 50)
    history.truncate(60, 120)
    if summed:
        progress(history, "a", 50, 80)
    else:
        for first in (50, 60, 70):
            history.work("a", first, first + 10)
    history.end([(P0, 60)])
    ledger = history.ledger()

    assert (80, 80, 40, 0) == (ledger.processed, ledger.distinct, ledger.truncated, ledger.lost)


def test_equal_periods_of_an_owner_of_which_nothing_is_known_open_an_epoch():
    """A history may begin in the middle."""
    history = History()
    history.topic()
    history.start("a")
    progress(history, "a", 20, 50)
    history.end([(P0, 50)])

    assert 30 == history.ledger().processed


def test_what_poll_returned_is_in_hand_until_it_is_processed():
    """A poll of partitions that the consumer does not hold changes nothing."""
    history = begun()
    history.work("a", 0, 10)
    ranges = ((P0, 10, 30), (P1, 0, 40))
    history.say(ev.Polled(consumer="a", group=GROUP, generation=1, ranges=ranges))
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert (20, 20) == (ledger.in_hand, ledger.backlog)


@pytest.mark.parametrize(("then", "in_hand"), [("seek", 0), ("pause", 0), ("skip", 20)])
def test_a_consumer_that_seeks_back_has_nothing_in_hand(then, in_hand):
    """It reads the records again; one that skips the record goes on with those behind it."""
    history = begun()
    history.work("a", 0, 10)
    ranges = ((P0, 10, 30),)
    history.say(ev.Polled(consumer="a", group=GROUP, generation=1, ranges=ranges))
    history.say(
        ev.ProcessingFailed(
            consumer="a", group=GROUP, partition=P0, offset=10, failures=1, then=then, to=""
        )
    )
    history.end([(P0, 50)])
    ledger = history.ledger()

    assert (in_hand, 40 - in_hand) == (ledger.in_hand, ledger.backlog)


@pytest.mark.parametrize(
    ("kind", "committed"), [(ev.CommitKind.SYNC, 40), (ev.CommitKind.DUAL, -1), (None, 40)]
)
def test_a_commit_to_a_store_counts_unless_kafka_has_it_too(kind, committed):
    """Of a commit to both, that to Kafka decides; a store may also tell of a commit not seen being sent."""
    history = begun()
    history.work("a", 0, 40)
    commit = "unseen" if kind is None else history.send("a", 40, kind=kind)
    history.say(
        ev.OffsetsStored(
            consumer="a",
            group=GROUP,
            commit=commit,
            store="database",
            offsets=((P0, 40),),
            sent_us=history.now_us,
            waited_us=0,
        )
    )
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)

    assert committed == builder._offsets.of(GROUP, P0).offset


def test_an_account_of_ranges_counts_repeats_and_gaps_of_owners():
    """An owner that returns begins anew; what lies before the first range of it was skipped."""
    account = PartitionAccount(P0, 0)
    account.process("a", 0, 10, 1)
    account.process("a", 10, 20, 2)
    account.process("b", 15, 30, 3)
    account.process("a", 35, 40, 4)
    account.process("a", 38, 41, 5)
    account.skip_to(41)
    account.skip_to(50)

    assert [(15, 20, "a", 2, "b", 3), (38, 40, "a", 4, "a", 5)] == list(account.repeats())
    assert [(30, 35), (41, 50)] == list(account.gaps())
    assert (7, 36, 50) == (account.reprocessed, account.distinct(), account.frontier)
