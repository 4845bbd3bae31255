"""A history of random steps, and a count of every single message of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assignors.types import TopicPartition

from .history import History

TOPICS = ("orders", "refunds")
NAMES = ("a", "b", "c")
RESETS = ("earliest", "latest")


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
    cuts: list = field(default_factory=list)
    """Where it was truncated, in order, with the books of what that took."""

    gone: int | None = None
    """What a truncation took: the end of it."""

    def pass_over(self, start, end):
        self.passed |= {r for r in range(start, end) if not self.times[r]}
        self.end = max(self.end, end)

    def incarnation(self, offset):
        """Return how many truncations there were before the record came here."""
        return max(
            (number for number, (at, _) in enumerate(self.cuts, 1) if at <= offset), default=0
        )

    def truncate(self, at, end):
        tail = Books(base=self.base, gone=end, cuts=list(self.cuts), latest=self.latest)
        tail.times = Counter({r: n for r, n in self.times.items() if r >= at})
        reading = self.latest is not None and self.latest.open
        ahead = self.latest.here if reading else self.end
        tail.passed = {r for r in self.passed if at <= r < ahead}
        self.times -= tail.times
        self.passed = {r for r in self.passed if r < at}
        self.cuts.append((at, tail))
        self.end = min(self.end, at)
        if self.base is not None:
            tail.base, self.base = max(self.base, at), min(self.base, at)

    def lost_before_it_was_gone(self):
        return {r for r in self.passed if not self.times[r] and r < self.gone}

    def gone_unread(self):
        if self.base is None:
            return set()
        unread = {r for r in range(self.base, self.gone) if not self.times[r]}
        return unread - self.lost_before_it_was_gone()


@dataclass(eq=False)
class Reader:
    """One open epoch."""

    books: Books
    cursor: int
    position: int
    incarnation: int = 0
    open: bool = True

    @property
    def limit(self):
        """Where the log that it reads is gone."""
        return min((at for at, _ in self.books.cuts[self.incarnation :]), default=1 << 30)

    @property
    def here(self):
        """How far it has come in the log as it is."""
        return min(self.cursor, self.limit)

    def books_of(self, offset):
        """Return the books that contain a record it reads."""
        cuts = self.books.cuts[self.incarnation :]
        return next((tail for at, tail in cuts if at <= offset), self.books)

    def pass_over(self, start, end):
        for offset in range(start, end):
            self.books_of(offset).pass_over(offset, offset + 1)


class Twin:
    """Writes a history and counts every message of it."""

    def __init__(self):
        self.history = History()
        self.all_books = []
        self.books = {}
        self.readers = {}
        self.committed = {}
        self.moved = set()
        """Topics whose offsets were committed before the coordinator moved."""

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
        elif verb == "truncate":
            self._truncate(topic, partition, size, flag)
        elif verb == "stop":
            self._stop(name, flag)
        elif verb == "move":
            self.history.coordinator_moves()
            self.moved = set(self.committed)
        elif verb == "drop":
            self.history.drop("expired", partition)
            self.committed.pop(topic, None)
        elif reader is not None:
            getattr(self, f"_{verb}")(reader, name, topic, partition, size, flag)

    def _truncate(self, topic, partition, size, flag):
        books = self.books[topic]
        at, end = max(0, books.end - size), books.end + (2 if flag else 0)
        if at == end:
            return
        books.truncate(at, end)
        self.history.truncate(at, end, partition, len(books.cuts))
        offset, known = self.committed.get(topic, (0, True))
        if topic in self.committed:
            self.committed[topic] = (offset, known and offset <= at)

    def _read_on(self, reader, name, topic, partition, size, flag):
        """Go over to the newest incarnation of the log, or to the next one."""
        books = reader.books
        newest = len(books.cuts)
        if books.deleted or reader.incarnation == newest:
            return
        target = reader.incarnation + 1 if flag else newest
        lowest = min(at for at, _ in books.cuts[reader.incarnation : target])
        offset = max(lowest, reader.cursor)
        self.history.read_on(name, offset, partition, target)
        reader.incarnation = target
        if reader.cursor >= lowest:
            reader.pass_over(lowest, offset)
            reader.cursor = reader.position = offset
        reader.position = min(reader.position, lowest)
        reader.position = max(reader.position, reader.cursor)

    def _open(self, name, topic, size, flag):
        books = self.books[topic]
        here = books.end if flag else self.committed.get(topic, (0, True))[0]
        start = max(0, here + size - 6)
        if (name, topic) in self.readers:
            self.readers[name, topic].open = False
        source = ("committed", "earliest", "latest", "seek", "truncated")[size % 5]
        why = "" if source not in RESETS else "out of range" if flag and size % 2 else "no offset"
        self._believe(topic, start, source, why)
        self.history.open(name, TopicPartition(topic, 0), start, source, why)
        lowest = 0 if books.late else start
        books.base = min(lowest, start) if books.base is None else min(books.base, start)
        books.pass_over(books.base, start)
        reader = Reader(books, start, start, len(books.cuts))
        books.latest = self.readers[name, topic] = reader

    def _believe(self, topic, start, source, why):
        """Replace the group's offset by the new owner's after a move of the coordinator."""
        if topic in self.committed and topic in self.moved:
            if source == "committed" and self.committed[topic][0] > start:
                self.committed[topic] = (start, True)
            elif why == "no offset":
                del self.committed[topic]

    def _work(self, reader, name, topic, partition, size, flag):
        end = reader.cursor + size + 1
        self.history.work(name, reader.cursor, end, partition)
        for offset in range(reader.cursor, end):
            books = reader.books_of(offset)
            books.times[offset] += 1
            books.end = max(books.end, offset + 1)
        reader.cursor = end
        reader.position = max(reader.position, end + (size if flag else 0))

    def _hole(self, reader, name, topic, partition, size, flag):
        reader.pass_over(reader.cursor, reader.cursor + size)
        reader.cursor += size
        self._work(reader, name, topic, partition, size, flag)

    def _skip(self, reader, name, topic, partition, size, flag):
        why = "skipped" if flag else "discarded"
        self.history.let_go(name, reader.cursor, reader.cursor + size, why, partition)
        reader.pass_over(reader.cursor, reader.cursor + size)
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
        self.committed[topic] = (offset, offset <= reader.limit)
        self.moved.discard(topic)

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
            committed, known = self.committed.get(topic, (0, False))
            if gone and known:
                books.pass_over(books.base, min(committed, self.log_ends[topic]))

    def lost(self, books):
        """Return the offsets that were passed over and never processed, owners gone."""
        return {
            offset
            for offset in books.passed
            if not books.times[offset]
            and not any(offset in hand for hand in self.hands(books))
            and not (books.latest.open and offset >= books.latest.here)
        }

    def hands(self, books):
        """Return what readers have in hand that is still in the log."""
        readers = [reader for reader in self.readers.values() if reader.books is books]
        return [range(r.here, min(r.position, r.limit)) for r in readers]
