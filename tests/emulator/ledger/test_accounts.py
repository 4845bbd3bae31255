"""Accounts of partitions: their owners, and when a reader that is counted alone is gone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from assignors.types import TopicPartition
from emulator.events import EpochClosed, Event, OffsetGaps, Processed, ResetReason, RunEnded
from emulator.ledger.accounts import (
    MAX_ALTERNATIONS,
    REPROCESSED,
    Account,
    Consumer,
    Drafts,
    PartitionAccount,
)
from emulator.ledger.coverage import Coverage, Repeat
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


def twice_truncated() -> tuple[Account, list[Account]]:
    """Return an account of 0 to 100, cut at 60 and then at 40, and what was cut off."""
    whole = account()
    whole.coverage.process(epoch(1), 0, 100)
    return whole, [whole.truncate(60, 1), whole.truncate(40, 2)]


@pytest.mark.parametrize(
    ("limit", "incarnation", "first", "end", "parts"),
    [
        (None, 0, 30, 100, [("now", 30, 100)]),
        (60, 0, 30, 60, [("now", 30, 60)]),
        (60, 0, 30, 100, [("now", 30, 40), ("second", 40, 60), ("first", 60, 100)]),
        (40, 0, 40, 61, [("second", 40, 60), ("first", 60, 61)]),
        (40, 1, 30, 100, [("now", 30, 40), ("second", 40, 100)]),
        (40, 2, 30, 100, [("now", 30, 100)]),
    ],
)
def test_what_an_epoch_of_an_older_log_processes_belongs_to_what_was_cut_off(
    limit, incarnation, first, end, parts
):
    """Each truncation that came after its log takes the records from its offset on."""
    now, (cut_first, cut_second) = twice_truncated()
    names = {id(now): "now", id(cut_first): "first", id(cut_second): "second"}
    reader = replace(epoch(2), limit=limit, log_incarnation=incarnation)

    found = now.parts(reader, first, end)
    assert parts == [(names[id(each)], low, high) for each, low, high in found]


def test_truncations_and_layers_of_a_log_are_known_by_incarnation():
    """Those after an incarnation, up to another one; each range by the log that has it now."""
    now, _ = twice_truncated()

    assert [60, 40] == now.truncations_between(0)
    assert [40] == now.truncations_between(1)
    assert [60] == now.truncations_between(0, 1)
    assert [(30, 40, 0), (40, 70, 2)] == list(now.split_by_incarnation(30, 70))
    assert [(40, 70, 2)] == list(now.split_by_incarnation(40, 70))
    assert [(30, 40, 0)] == list(now.split_by_incarnation(30, 40))


@pytest.mark.parametrize(
    ("source", "why", "failed_over", "done"),
    [
        ("earliest", ResetReason.NO_OFFSET, True, ["corrected"]),
        ("earliest", ResetReason.NO_OFFSET, False, ["opened"]),
        ("earliest", ResetReason.OUT_OF_RANGE, True, ["opened"]),
        ("committed", "", True, ["corrected"]),
        ("committed", "", False, ["opened"]),
        ("seek", "", True, ["opened"]),
    ],
)
def test_a_coordinator_that_has_another_offset_or_none_has_lost_it_in_a_failover(
    source, why, failed_over, done
):
    """Without a failover another reason is why; a seek shows nothing of what it has."""
    seen: list[str] = []
    committed = SimpleNamespace(
        offset=5,
        correct=lambda _: seen.append("corrected"),
        on_epoch_opened=lambda: seen.append("opened"),
    )
    opening = SimpleNamespace(
        committed=committed, source=source, why=why, start=0, failed_over=failed_over
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
        follower.holdings[partition] = (replace(present, opened_us=opened_at), mine)
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


@pytest.mark.parametrize(("generation", "position"), [(1, 9), (2, 4)])
def test_the_end_of_an_epoch_of_an_ended_process_says_what_poll_had_returned(generation, position):
    """Only what that process held then has it; what was never held has nothing to note."""
    follower, last = Consumer("c1", 1), replace(epoch(1), position=4)
    ended = EpochClosed(
        consumer="c1",
        group="g",
        generation=generation,
        partition=TopicPartition("t", 0),
        position=9,
        processed=3,
        why="crash",
    )
    follower.note_position(ended)
    follower.ended[ended.partition] = (last, account())
    follower.note_position(ended)

    assert position == last.position


# -- entries ---------------------------------------------------------------------------------------


def recorded(drafts: Drafts, second: Any, first: Any, *ranges: tuple[int, int]) -> Drafts:
    for low, high in ranges:
        drafts.record(Repeat(low, high, first, first), second, REPROCESSED, 9)
    return drafts


def entries(drafts: Drafts) -> list[tuple[int, int]]:
    return [(draft.start, draft.end) for draft in drafts.drafts]


@pytest.mark.parametrize(
    ("first", "found"),
    [(2, [(0, 3), (2, 6)]), (3, [(0, 6)]), (4, [(0, 6)]), (5, [(0, 3), (5, 6)])],
)
def test_an_entry_goes_on_over_offsets_that_hold_no_record(first, found):
    """Every fourth offset holds a marker of a transaction; what begins below its end is another entry."""
    markers = OffsetGaps(topic="t", topic_id="id", cycle=4, records=3, until=100)
    drafts = recorded(Drafts(), replace(epoch(2), gaps=markers), epoch(1), (0, 3), (first, 6))

    assert found == entries(drafts)


def test_each_turn_of_two_owners_has_an_entry_up_to_a_bound():
    """From then on what adjoins the newest entry of either goes on with it."""
    drafts, one, other = Drafts(), epoch(1), epoch(2)
    for turn in range(2 * MAX_ALTERNATIONS):
        owners = (one, other) if turn % 2 else (other, one)
        recorded(drafts, *owners, (turn, turn + 1))

    assert MAX_ALTERNATIONS == len(drafts.drafts)
    assert 2 * MAX_ALTERNATIONS == max(draft.end for draft in drafts.drafts)
    recorded(drafts, one, other, (100, 101))
    assert (100, 101) == entries(drafts)[MAX_ALTERNATIONS], "it adjoins neither"


def test_an_entry_that_ends_where_the_log_was_truncated_goes_on_there():
    """Those that reach beyond belong to the records that were cut off."""
    one, other = epoch(1), epoch(2)
    drafts = recorded(Drafts(), other, one, (0, 10))
    recorded(drafts, epoch(3), one, (5, 15))
    cut_off = drafts.split(10)
    recorded(drafts, other, one, (10, 12))
    recorded(drafts, epoch(3), one, (15, 16))

    assert [(0, 12), (15, 16)] == entries(drafts)
    assert [(5, 15)] == entries(cut_off)


def test_an_owner_that_goes_on_has_one_entry():
    """It begins another epoch only when it returns to what it has finished."""
    ranges = PartitionAccount(TopicPartition("t", 0), 0)
    ranges.process("a", 0, 30, 1)
    for start in (0, 10, 20):
        ranges.process("b", start, start + 10, 2)

    assert [(0, 30, "a", "b")] == [
        (each.start, each.end, each.first_owner, each.second_owner) for each in ranges.repeats()
    ]
