"""The ledger by ranges against a count of every single message (law 7)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.types import TopicPartition
from emulator.measure.ledger import accounting, accounts
from emulator.measure.ledger.accountant import Accountant
from emulator.measure.ledger.entries import EntryKind, Ledger

from .history import History

TOPICS = ("orders", "refunds")
NAMES = ("a", "b", "c")

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["open"] * 4
            + ["work"] * 12
            + ["close", "close", "commit", "commit", "refuse", "lose", "drop", "stop"]
            + ["skip", "hole", "recreate", "move"]
        ),
        st.sampled_from(NAMES),
        st.sampled_from(TOPICS),
        st.integers(0, 12),
        st.booleans(),
    ),
    max_size=120,
)


@dataclass
class Books:
    """One log of one partition, message by message."""

    base: int | None = None
    end: int = 0
    late: bool = False
    deleted: bool = False
    times: Counter = field(default_factory=Counter)
    passed: set = field(default_factory=set)
    latest: Reader | None = None

    def pass_over(self, start, end):
        self.passed |= {r for r in range(start, end) if not self.times[r]}
        self.end = max(self.end, end)


@dataclass(eq=False)
class Reader:
    """One open epoch."""

    books: Books
    cursor: int
    position: int
    open: bool = True


class Twin:
    """Writes a history and counts every message of it."""

    def __init__(self):
        self.history = History()
        self.all_books = []
        self.books = {}
        self.readers = {}
        self.committed = {}
        self.incarnations = Counter()
        self.log_ends = {}
        for topic in TOPICS:
            self._create(topic, late=False)
        self.history.start(*NAMES)
        self.history.stable()

    def _create(self, topic, *, late):
        self.incarnations[topic] += 1
        self.history.topic(topic, f"{topic}#{self.incarnations[topic]}", (0,))
        if topic in self.books:
            self.books[topic].deleted = True
        self.books[topic] = Books(late=late)
        self.all_books.append(self.books[topic])
        self.committed.pop(topic, None)

    def step(self, verb, name, topic, size, flag):
        partition = TopicPartition(topic, 0)
        reader = self.readers.get((name, topic))
        if verb == "open":
            self._open(name, topic, size, flag)
        elif verb == "recreate":
            if size == 0:
                self.history.delete_topic(topic, f"{topic}#{self.incarnations[topic]}")
                self._create(topic, late=True)
        elif verb == "stop":
            self._stop(name, flag)
        elif verb == "move":
            self.history.coordinator_moves()
        elif verb == "drop":
            self.history.drop("expired", partition)
            self.committed.pop(topic, None)
        elif reader is not None:
            getattr(self, f"_{verb}")(reader, name, topic, partition, size, flag)

    def _open(self, name, topic, size, flag):
        books = self.books[topic]
        here = books.end if flag else self.committed.get(topic, 0)
        start = max(0, here + size - 6)
        if (name, topic) in self.readers:
            self.readers[name, topic].open = False
        source = ("committed", "earliest", "latest", "seek")[size % 4]
        self.history.open(name, TopicPartition(topic, 0), start, source, "no offset")
        lowest = 0 if books.late else start
        books.base = min(lowest, start) if books.base is None else min(books.base, start)
        books.pass_over(books.base, start)
        books.latest = self.readers[name, topic] = Reader(books, start, start)

    def _work(self, reader, name, topic, partition, size, flag):
        end = reader.cursor + size + 1
        self.history.work(name, reader.cursor, end, partition)
        for offset in range(reader.cursor, end):
            reader.books.times[offset] += 1
        reader.books.end = max(reader.books.end, end)
        reader.cursor = end
        reader.position = max(reader.position, end + (size if flag else 0))

    def _hole(self, reader, name, topic, partition, size, flag):
        reader.books.pass_over(reader.cursor, reader.cursor + size)
        reader.cursor += size
        self._work(reader, name, topic, partition, size, flag)

    def _skip(self, reader, name, topic, partition, size, flag):
        why = "skipped" if flag else "discarded"
        self.history.let_go(name, reader.cursor, reader.cursor + size, why, partition)
        reader.books.pass_over(reader.cursor, reader.cursor + size)
        reader.cursor += size
        reader.position = max(reader.position, reader.cursor)

    def _close(self, reader, name, topic, partition, size, flag):
        why = ("revoked", "lost", "crashed", "closed", "failed")[size % 5]
        self.history.close(name, reader.cursor, why, reader.position, partition)
        reader.open = False
        del self.readers[name, topic]

    def _commit(self, reader, name, topic, partition, size, flag):
        if reader.books.deleted:
            return
        offset = max(0, reader.cursor + (size - 6 if flag else 0))
        self.history.commit(name, offset, reader.cursor, partition)
        self.committed[topic] = offset

    def _refuse(self, reader, name, topic, partition, size, flag):
        self.history.refuse(name, reader.cursor, partition=partition)

    def _lose(self, reader, name, topic, partition, size, flag):
        commit = self.history.send(name, reader.cursor, partition=partition)
        self.history.lose(name, commit)

    def _stop(self, name, flag):
        self.history.stop(name, "killed" if flag else "closed")
        for topic in TOPICS:
            if (name, topic) in self.readers:
                self.readers.pop((name, topic)).open = False

    def finish(self, room):
        self.log_ends = {topic: self.books[topic].end + room for topic in TOPICS}
        ends = [(TopicPartition(topic, 0), end) for topic, end in self.log_ends.items()]
        open_ones = [
            (name, TopicPartition(topic, 0), reader.position)
            for (name, topic), reader in self.readers.items()
        ]
        self.history.end(ends, open_ones)
        for topic in TOPICS:
            books = self.books[topic]
            gone = books.latest is not None and not books.latest.open
            if gone and topic in self.committed:
                books.pass_over(books.base, self.committed[topic])

    def lost(self, books):
        """Return the offsets that were passed over and never processed, owners gone."""
        return {
            offset
            for offset in books.passed
            if not books.times[offset]
            and not any(r.cursor <= offset < r.position for r in self.at(books))
            and not (books.latest.open and offset >= books.latest.cursor)
        }

    def at(self, books):
        return [reader for reader in self.readers.values() if reader.books is books]


def count_by_message(twin: Twin, ledger: Ledger) -> None:
    """Compare the ledger with the twin's count, log by log and offset by offset."""
    written = {kind: Counter() for kind in EntryKind}
    for entry in ledger.entries:
        for offset in range(entry.first, entry.last + 1):
            written[entry.kind][entry.topic_id, offset] += 1
    repeated, lost = Counter(), Counter()
    for topic_id, books in zip(_ids(twin), twin.all_books, strict=True):
        repeated.update({(topic_id, r): n - 1 for r, n in books.times.items() if n > 1})
        lost.update({(topic_id, offset): 1 for offset in twin.lost(books)})

    assert repeated == written[EntryKind.REPROCESSED]
    assert lost == written[EntryKind.LOST]
    assert repeated.total() == ledger.reprocessed
    assert lost.total() == ledger.lost


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
        hands = [range(reader.cursor, reader.position) for reader in twin.at(books)]
        for offset in range(books.base, twin.log_ends[topic]):
            if not books.times[offset] and offset not in lost:
                held = any(offset in hand for hand in hands)
                in_hand, backlog = in_hand + held, backlog + (not held)

    assert (in_hand, backlog) == (ledger.in_hand, ledger.backlog)


@pytest.mark.parametrize(("segments", "turns"), [(256, 16), (6, 1)])
@settings(deadline=None, max_examples=300)
@given(steps=steps, room=st.integers(0, 9))
def test_totals_equal_a_count_of_every_message(segments, turns, steps, room):
    """However epochs open, overlap, rewind and end, ranges count what messages count."""
    twin = Twin()
    for step in steps:
        twin.step(*step)
    twin.finish(room)
    accountant = Accountant()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounting, "SEGMENTS", segments)
        patch.setattr(accounts, "TURNS", turns)
        for event in twin.history.events:
            accountant.feed(event)
            for account in accountant._ownership.accounts.values():
                account.coverage.check()
        ledger = accountant.close()
    ledger.check()

    count_by_message(twin, ledger)
    count_unread(twin, ledger)
