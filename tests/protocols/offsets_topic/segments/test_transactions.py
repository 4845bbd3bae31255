"""Transactions and producers, as compaction sees them."""

from __future__ import annotations

from protocols.offsets_topic.records.markers import ControlRecord, ControlType
from protocols.offsets_topic.segments.batch import Batch, encode_empty_batch
from protocols.offsets_topic.segments.header import NO_PRODUCER, TRANSACTIONAL, Producer
from protocols.offsets_topic.segments.transactions import (
    AbortedTransaction,
    LastRecord,
    TransactionsPassed,
    last_records,
)

from .control import OTHER, aborted_transactions, encode_marker, marker_of
from .drawn import commits


def sent(
    keys: list[str], offset: int, producer: int, *, epoch: int = 0, time: int = 1_000
) -> Batch:
    """Return a batch of a transaction."""
    return commits(
        keys, offset, time=time, attributes=TRANSACTIONAL, producer=Producer(producer, epoch)
    )


def ended(
    marker: ControlRecord, offset: int, producer: int, *, epoch: int = 0, time: int = 1_000
) -> Batch:
    """Return the marker that ends one."""
    return Batch.read(
        encode_marker(
            marker,
            offset=offset,
            timestamp=time,
            producer_id=producer,
            producer_epoch=epoch,
            partition_leader_epoch=0,
        )
    )


ABORT, COMMIT = marker_of(ControlType.ABORT, 0), marker_of(ControlType.COMMIT, 0)


def test_a_transaction_is_aborted_from_its_first_batch_to_its_marker():
    """Others may lie between; one that was committed, or has no data, is not aborted."""
    log = [
        sent(["a"], 0, 7),
        commits(["x"], 1),
        sent(["b"], 2, 8),
        sent(["a"], 3, 7),
        ended(COMMIT, 4, 8),
        ended(ABORT, 5, 7),
        ended(ABORT, 6, 9),
        sent(["c"], 7, 7),
        ended(ABORT, 8, 7),
        sent(["d"], 9, 7),
    ]

    assert [AbortedTransaction(7, 0, 5), AbortedTransaction(7, 7, 8)] == aborted_transactions(log)


def test_data_of_aborted_transactions_can_go_at_once():
    """Before its marker is met, and no other data."""
    log = [sent(["a"], 0, 7), sent(["a"], 1, 8), commits(["a"], 2), ended(ABORT, 3, 7)]
    passed = TransactionsPassed(aborted_transactions([*log, ended(COMMIT, 4, 8)]))

    assert [True, False, False] == [passed.note(batch) for batch in log[:3]]


def test_a_marker_can_go_when_no_batch_of_its_transaction_is_left():
    """Whether it was committed or aborted; an emptied batch is a batch."""
    empty = sent(["a"], 0, 7)
    empty = Batch.read(encode_empty_batch(empty.header))
    for kind in (ABORT, COMMIT):
        log = [empty, ended(kind, 5, 7), ended(kind, 6, 7)]
        passed = TransactionsPassed(aborted_transactions(log))

        assert [kind is ABORT, False, True] == [passed.note(batch) for batch in log]


def test_a_marker_that_was_emptied_can_go():
    """It says nothing any more."""
    empty = Batch.read(encode_empty_batch(ended(COMMIT, 0, 7).header))

    assert TransactionsPassed(()).note(empty)
    assert [] == aborted_transactions([sent(["a"], 0, 7), empty])


def test_unknown_control_records_are_kept():
    """Their purpose is unknown."""
    assert not TransactionsPassed(()).note(ended(OTHER, 0, 7))


def test_the_last_record_of_a_producer_is_its_last_data():
    """A marker of the same epoch changes nothing; one of a new epoch is all there is of it."""
    log = [
        sent(["a"], 0, 7, epoch=1),
        sent(["a", "b"], 1, 8, epoch=2),
        ended(COMMIT, 3, 7, epoch=1),
        ended(COMMIT, 4, 8, epoch=3),
        ended(ABORT, 5, 9, epoch=4),
        commits(["x"], 6, producer=NO_PRODUCER),
    ]

    assert {
        7: LastRecord(0, 1),
        8: LastRecord(None, 3),
        9: LastRecord(None, 4),
    } == last_records(log, now_ms=2_000)


def test_a_producer_that_was_silent_for_a_day_is_forgotten():
    """To the millisecond, from the time of its last batch."""
    log = [sent(["a"], 0, 7, time=500), ended(COMMIT, 1, 7, time=1_000), sent(["a"], 2, 8, time=1)]

    assert {7} == last_records(log, now_ms=86_400_999).keys()
    assert {} == last_records(log, now_ms=86_401_000)
