"""Accounts of partitions: their owners, and when a reader that is counted alone is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assignors.types import TopicPartition
from emulator.events import Event, Processed, ResetReason, RunEnded
from emulator.ledger.accounts import Account, Consumer
from emulator.ledger.coverage import Coverage
from emulator.ledger.ownership import _correct_committed
from protocols.values import replace

from .test_coverage import epoch

END = Event(9, 9, None, RunEnded(log_ends=(), positions=()), 9)


def account(**given: Any) -> Account:
    """Return an account of a partition of a group."""
    return Account("g", TopicPartition("t", 0), "id", Coverage(0), **given)


def test_the_latest_owner_is_one_when_its_epoch_has_ended():
    """The open epochs come first; an account without epochs has no owner."""
    older, latest = epoch(1), epoch(2)

    assert [] == list(account().owners())
    assert [latest] == list(account(latest=latest).owners())
    assert [older, latest] == list(account(latest=latest, open=[older]).owners())


@pytest.mark.parametrize(
    ("reader", "ended", "gone"),
    [("c1", True, True), ("c1", False, False), ("", True, False), ("c1", None, False)],
)
def test_a_reader_that_is_counted_alone_is_gone_with_its_epoch(reader, ended, gone):
    """No reader is gone before its first epoch, or while it is open; None: there is no epoch."""
    latest = None if ended is None else replace(epoch(1), closed_by=END if ended else None)

    assert gone is account(latest=latest, reader=reader).reader_gone


@pytest.mark.parametrize(
    ("why", "failed_over", "done"),
    [
        (ResetReason.NO_OFFSET, True, ["corrected"]),
        (ResetReason.NO_OFFSET, False, ["opened"]),
        (ResetReason.OUT_OF_RANGE, True, ["opened"]),
    ],
)
def test_a_coordinator_that_has_no_offset_any_more_has_lost_it_in_a_failover(
    why, failed_over, done
):
    """Without a failover another reason is why there is none."""
    seen: list[str] = []
    committed = SimpleNamespace(
        offset=5,
        correct=lambda _: seen.append("corrected"),
        on_epoch_opened=lambda: seen.append("opened"),
    )
    opening = SimpleNamespace(
        committed=committed, source="earliest", why=why, start=0, failed_over=failed_over
    )
    _correct_committed(opening)

    assert done == seen


@pytest.mark.parametrize(
    ("before", "opened_at", "began", "held"),
    [
        (True, None, 5, "before"),
        (True, 7, 5, "before"),
        (True, 7, 7, "present"),
        (True, 7, 9, "present"),
        (False, 7, 5, "present"),
        (False, None, 5, None),
    ],
)
def test_work_of_a_process_that_has_ended_belongs_to_what_it_held(before, opened_at, began, held):
    """A database commits it afterwards; what the next process began is its own."""
    partition = TopicPartition("t", 0)
    mine = account()
    last, present = epoch(1, start=3), epoch(1)
    follower = Consumer("c1", 1)
    if before:
        follower.ended[partition] = (last, mine)
    if opened_at is not None:
        opened = replace(present.opened, at_us=opened_at)
        follower.holdings[partition] = (replace(present, opened=opened), mine)
    done = Processed(
        consumer="c1",
        group="g",
        generation=1,
        partition=partition,
        first=3,
        next_offset=4,
        began_us=began,
    )
    names = {"before": follower.ended, "present": follower.holdings}

    assert follower.holding_of(done) is (names[held][partition] if held else None)
