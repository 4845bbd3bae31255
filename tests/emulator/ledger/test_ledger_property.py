"""The ledger by ranges against a count of every single message (law 7)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.ledger import accounts, coverage
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import EntryKind, Ledger
from emulator.world.draws import draw

from .twin import NAMES, TOPICS, Twin

VERBS = (
    *["open"] * 4,
    *["work"] * 12,
    *("close", "close", "commit", "commit", "refuse", "lose", "drop", "stop"),
    *("skip", "hole", "recreate", "move", "truncate", "read_on"),
)
TRUNCATING = (*(verb for verb in VERBS if verb != "recreate"), "truncate", "read_on", "read_on")

steps = st.lists(
    st.tuples(
        st.sampled_from(VERBS),
        st.sampled_from(NAMES),
        st.sampled_from(TOPICS),
        st.integers(0, 12),
        st.booleans(),
    ),
    max_size=120,
)


def count_by_message(twin: Twin, ledger: Ledger) -> None:
    """Compare the ledger with the twin's count, log by log and offset by offset."""
    written = {kind: Counter() for kind in EntryKind}
    for entry in ledger.entries:
        for offset in range(entry.first, entry.last + 1):
            written[entry.kind][entry.topic_id, entry.log_incarnation, offset] += 1
    counted = {kind: Counter() for kind in EntryKind}
    for topic_id, books in zip(_ids(twin), twin.all_books, strict=True):
        for each in (books, *(tail for _, tail in books.cuts)):
            lost = twin.lost(each) if each.gone is None else each.lost_before_it_was_gone()
            gone = set() if each.gone is None else each.gone_unread()
            again = {offset: n - 1 for offset, n in each.times.items() if n > 1}
            for kind, found in (
                (EntryKind.REPROCESSED, again),
                (EntryKind.LOST, dict.fromkeys(lost, 1)),
                (EntryKind.TRUNCATED, dict.fromkeys(gone, 1)),
            ):
                for offset, n in found.items():
                    counted[kind][topic_id, each.incarnation(offset), offset] += n

    for kind in (EntryKind.REPROCESSED, EntryKind.LOST, EntryKind.TRUNCATED):
        assert counted[kind] == written[kind]
        assert counted[kind].total() == ledger.total(kind)


def _ids(twin: Twin) -> list[str]:
    seen = Counter()
    names = []
    for event in twin.history.events:
        if type(event.what).__name__ == "TopicCreated":
            seen[event.what.topic] += 1
            names.append(event.what.topic_id)
    return names


def count_unread(twin: Twin, ledger: Ledger) -> None:
    """Whatever was neither processed nor lost is in hand of an owner, or backlog."""
    in_hand = backlog = 0
    for topic in TOPICS:
        books = twin.books[topic]
        if books.base is None:
            continue
        lost = twin.lost(books)
        for offset in range(books.base, twin.log_ends[topic]):
            if not books.times[offset] and offset not in lost:
                held = any(offset in hand for hand in twin.hands(books))
                in_hand, backlog = in_hand + held, backlog + (not held)

    assert (in_hand, backlog) == (ledger.in_hand, ledger.backlog)


def hold(twin: Twin, room: int, segments: int, turns: int) -> None:
    """Close a history, and compare what the builder makes of it with the twin's count."""
    twin.finish(room)
    builder = LedgerBuilder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage, "MAX_SEGMENTS", segments)
        patch.setattr(accounts, "MAX_ALTERNATIONS", turns)
        for event in twin.history.events:
            builder.feed(event)
            for account in builder._ownership.accounts.values():
                account.coverage.check()
        ledger = builder.close()
    ledger.check()

    count_by_message(twin, ledger)
    count_unread(twin, ledger)


@pytest.mark.parametrize(("segments", "turns"), [(256, 16), (6, 1)])
@settings(deadline=None, max_examples=120)
@given(steps=steps, room=st.integers(0, 9))
def test_totals_equal_a_count_of_every_message(segments, turns, steps, room):
    """However epochs open, overlap, rewind and end, ranges count what messages count."""
    twin = Twin()
    for step in steps:
        twin.step(*step)

    hold(twin, room, segments, turns)


@pytest.mark.parametrize(("segments", "turns"), [(256, 16), (6, 1)])
@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1 << 32), length=st.integers(10, 80), room=st.integers(0, 9))
def test_long_histories_of_truncated_logs_are_counted_by_message(
    segments, turns, seed, length, room
):
    """Records that had the same offset one after the other are never taken for each other."""
    twin = Twin()
    for number in range(length):
        verb, name, topic, size, flag = (draw(seed, 5 * number + part) for part in range(5))
        twin.step(
            TRUNCATING[int(verb * len(TRUNCATING))],
            NAMES[int(name * len(NAMES))],
            TOPICS[topic > 2 / 3],
            int(size * 13),
            flag < 1 / 2,
        )

    hold(twin, room, segments, turns)
