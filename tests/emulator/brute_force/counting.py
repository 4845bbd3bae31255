"""A count of every single message of a run, event by event.

It knows nothing of ranges, frontiers or causes: it looks at each record that a handler finished
or let go, at each epoch's begin and end, and at each commit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator.events import (
    CommitAccepted,
    CommitSent,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    GroupStabilised,
    LagSampled,
    NotProcessed,
    OffsetsDropped,
    OffsetsStored,
    PartitionsAdded,
    Polled,
    Processed,
    ProcessedOutOfOrder,
    ProcessingFailed,
    ReadOn,
    RecordsTruncated,
    RunEnded,
    StoreRestored,
    TopicCreated,
    TopicDeleted,
)
from emulator.playing import Run


@dataclass(eq=False)
class Reader:
    """One consumer at work on one partition."""

    log: Log
    cursor: int
    handed: int
    incarnation: int
    """Of the log that it reads: there may have been truncations since."""

    consumer: str
    working: bool = True
    overtaken: set = field(default_factory=set)
    """What workers have finished beyond the cursor."""

    def go_on(self, cursor: int) -> None:
        """Go on behind what is finished."""
        while cursor in self.overtaken:
            self.overtaken.remove(cursor)
            cursor += 1
        self.cursor = cursor

    @property
    def limit(self) -> int:
        """Where the log that it reads is gone."""
        return min((at for at, _ in self.log.cuts[self.incarnation :]), default=1 << 60)

    @property
    def here(self) -> int:
        """How far it has come in the log as it is."""
        return min(self.cursor, self.limit)

    def log_of(self, record: int) -> Log:
        """Return the log that holds a record it works on, or what a truncation took of it."""
        cuts = self.log.cuts[self.incarnation :]
        return next((tail for at, tail in cuts if at <= record), self.log)

    def pass_over(self, start: int, end: int) -> None:
        """Note records that a consumer skipped without processing them."""
        for record in range(start, end):
            self.log_of(record).pass_over(record, record + 1)


@dataclass(eq=False)
class Log:
    """The state of each record of one partition, or of the truncated records."""

    late: bool
    """Whether it came after the group was first stable: then it counts from offset 0."""

    base: int | None = None
    times: Counter = field(default_factory=Counter)
    passed: set = field(default_factory=set)
    latest: Reader | None = None
    committed: int | None = None
    cuts: list = field(default_factory=list)
    """Where it was truncated, in order, with what that took."""

    undone: set = field(default_factory=set)
    """Records whose results a restored backup removed."""

    before: Counter = field(default_factory=Counter)
    """How often those had been processed beyond their first time."""

    gone: int | None = None
    """The end of what a truncation took."""

    deleted: bool = False
    """Whether its topic is gone, and with it what could be read again."""

    def incarnation(self, record: int) -> int:
        """Return how many truncations there had been when a record was appended."""
        return max(
            (number for number, (at, _) in enumerate(self.cuts, 1) if at <= record), default=0
        )

    def truncate(self, at: int, end: int) -> None:
        """Put aside what is gone; what its owner had yet to read it has not lost."""
        tail = Log(self.late, cuts=list(self.cuts), gone=end)
        reading = self.latest is not None and self.latest.working
        ahead = self.latest.here if reading else end
        tail.times = Counter({r: n for r, n in self.times.items() if r >= at})
        tail.passed = {r for r in self.passed if at <= r < ahead}
        self.times -= tail.times
        self.passed = {r for r in self.passed if r < at}
        self.cuts.append((at, tail))
        if self.base is not None:
            tail.base, self.base = max(self.base, at), min(self.base, at)
        if self.committed is not None and self.committed > at:
            self.committed = None

    def lost_before(self) -> set[int]:
        """Return what had been passed over before it was gone."""
        return {r for r in self.passed if not self.times[r] and r < self.gone}

    def gone_unread(self) -> set[int]:
        """Return what was gone before it was processed or passed over."""
        if self.base is None:
            return set()
        unread = {r for r in range(self.base, self.gone) if not self.times[r]}
        return unread - self.lost_before()

    def pass_over(self, start: int, end: int) -> None:
        """Note records that somebody went beyond without processing them."""
        self.passed |= {record for record in range(start, end) if not self.times[record]}


class Count:
    """Counts a run, event by event."""

    def __init__(self, run: Run) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self.readers: dict[tuple[str, TopicPartition], Reader] = {}
        self.ended: dict[tuple[str, TopicPartition], Reader] = {}
        self.stable = False
        self.log_ends: dict[TopicPartition, int] = {}
        self.sampled: set[str] = set()
        self.dual: set[str] = set()
        for event in run.events:
            look = getattr(self, f"on_{type(event.what).__name__}", None)
            if look is not None:
                look(event.what)
        for log in self.logs.values():
            gone = log.latest is not None and not log.latest.working
            if gone and log.committed is not None:
                log.pass_over(log.base, log.committed)

    def on_TopicCreated(self, what: TopicCreated) -> None:  # noqa: N802 (the event's own name)
        for number in range(len(what.log_starts)):
            self.logs[TopicPartition(what.topic, number)] = Log(self.stable)

    def on_TopicDeleted(self, what: TopicDeleted) -> None:  # noqa: N802
        for tp, log in self.logs.items():
            log.deleted |= tp.topic == what.topic

    def on_PartitionsAdded(self, what: PartitionsAdded) -> None:  # noqa: N802
        for number in range(what.partitions):
            self.logs.setdefault(TopicPartition(what.topic, number), Log(self.stable))

    def on_GroupStabilised(self, _what: GroupStabilised) -> None:  # noqa: N802
        self.stable = True

    def on_EpochOpened(self, what: EpochOpened) -> None:  # noqa: N802
        log, self.stable = (
            self.logs[what.partition],
            True,
        )  # without a group, from the first reader on
        start = what.offset
        assert (what.consumer, what.partition) not in self.readers
        lowest = 0 if log.late and not log.deleted else start
        log.base = min(lowest, start) if log.base is None else min(log.base, start)
        log.pass_over(log.base, start)
        reader = Reader(log, start, start, len(log.cuts), what.consumer)
        log.latest = self.readers[what.consumer, what.partition] = reader

    def on_RecordsTruncated(self, what: RecordsTruncated) -> None:  # noqa: N802
        log = self.logs[what.partition]
        log.truncate(what.first, what.next_offset)
        assert what.incarnation == len(log.cuts)

    def on_ReadOn(self, what: ReadOn) -> None:  # noqa: N802
        """Go over to another incarnation: no reader does while it has old records in hand."""
        reader = self.readers[what.consumer, what.partition]
        lowest = min(at for at, _ in reader.log.cuts[reader.incarnation : what.incarnation])
        assert reader.cursor == reader.handed <= what.offset
        reader.incarnation = what.incarnation
        if reader.cursor >= lowest:
            reader.pass_over(lowest, what.offset)

    def on_ProcessingFailed(self, what: ProcessingFailed) -> None:  # noqa: N802
        """A seek: what was polled and is not processed will be polled again."""
        if what.then in ("seek", "pause"):
            for (consumer, _), reader in self.readers.items():
                if consumer == what.consumer:
                    reader.handed = reader.cursor

    def on_Polled(self, what: Polled) -> None:  # noqa: N802
        """Each poll goes on where the last one of the same epoch ended."""
        for partition, first, end in what.ranges:
            reader = self.readers[what.consumer, partition]
            assert first == reader.handed
            reader.handed = end

    def on_Processed(self, what: Processed) -> None:  # noqa: N802
        """Handlers finish what they were handed, in order.

        A transaction whose COMMIT was on its way counts after its process has ended.
        """
        key = (what.consumer, what.partition)
        reader = self.readers.get(key)
        if reader is None or reader.cursor != what.first:
            reader = self.ended[key]
        assert reader.cursor == what.first < what.next_offset <= reader.handed
        for record in range(what.first, what.next_offset):
            reader.log_of(record).times[record] += 1
        reader.go_on(what.next_offset)

    def on_ProcessedOutOfOrder(self, what: ProcessedOutOfOrder) -> None:  # noqa: N802
        """Workers finish what was handed out, each record once in an epoch."""
        reader = self.readers[what.consumer, what.partition]
        records = set(range(what.first, what.next_offset))
        for record in records:
            reader.log_of(record).times[record] += 1
        if not what.earlier_epoch:
            assert reader.cursor < what.first < what.next_offset <= reader.handed
            assert not records & reader.overtaken
            reader.overtaken |= records

    def on_NotProcessed(self, what: NotProcessed) -> None:  # noqa: N802
        reader = self.readers[what.consumer, what.partition]
        assert reader.cursor == what.first
        reader.pass_over(what.first, what.next_offset)
        reader.go_on(what.next_offset)

    def on_EpochClosed(self, what: EpochClosed) -> None:  # noqa: N802
        key = (what.consumer, what.partition)
        reader = self.ended[key] = self.readers.pop(key)
        assert (reader.cursor, reader.handed) == (what.processed, what.position)
        reader.working = False

    def on_CommitAccepted(self, what: CommitAccepted) -> None:  # noqa: N802
        for partition, offset in what.offsets:
            log = self.logs[partition]
            sender = self.readers.get((what.consumer, partition), log.latest)
            same_sender = sender is not None and sender.consumer == what.consumer
            log.committed = None if same_sender and offset > sender.limit else offset

    def on_CommitSent(self, what: CommitSent) -> None:  # noqa: N802
        """Note writes to ZooKeeper of offsets that Kafka has accepted."""
        if what.kind == "dual":
            self.dual.add(what.commit)

    def on_OffsetsStored(self, what: OffsetsStored) -> None:  # noqa: N802
        if what.commit not in self.dual:
            self.on_CommitAccepted(what)

    def on_StoreRestored(self, what: StoreRestored) -> None:  # noqa: N802
        """Take results back: a record without one counts as not processed."""
        log = self.logs[what.partition]
        log.committed = None if what.offset < 0 else what.offset
        for record in (record for span in what.undone for record in range(*span)):
            log.before[record] += max(0, log.times[record] - 1)
            log.times[record] = 0
            log.undone.add(record)

    def on_OffsetsDropped(self, what: OffsetsDropped) -> None:  # noqa: N802
        for partition in what.partitions:
            self.logs[partition].committed = None

    def on_ConsumerStopped(self, what: ConsumerStopped) -> None:  # noqa: N802
        self.stopped = what

    def on_LagSampled(self, what: LagSampled) -> None:  # noqa: N802
        """Note the topics that the group reads, also those without an owner so far."""
        self.sampled = {tp.topic for tp in what.partitions}

    def on_RunEnded(self, what: RunEnded) -> None:  # noqa: N802
        self.log_ends = dict(what.log_ends)

    # -- what came of it ---------------------------------------------------------------------------

    def all_logs(self) -> list[tuple[TopicPartition, Log]]:
        """Return every log, and what truncations took of each."""
        logs = self.logs.items()
        return [*logs, *((tp, tail) for tp, log in logs for _, tail in log.cuts)]

    def repeated(self) -> Counter:
        """Return how often each record was processed beyond its first time."""
        return Counter(
            {
                (tp, log.incarnation(record), record): max(0, times - 1) + log.before[record]
                for tp, log in self.all_logs()
                for record, times in log.times.items()
                if times > 1 or log.before[record]
            }
        )

    def truncated(self) -> Counter:
        """Return the records that were gone before anybody had processed or passed them over."""
        return Counter(
            (tp, log.incarnation(record), record)
            for tp, log in self.all_logs()
            if log.gone is not None
            for record in log.gone_unread()
        )

    def hands(self, tp: TopicPartition) -> set[int]:
        """Return the records that living owners have at hand."""
        return {
            record
            for (_, partition), reader in self.readers.items()
            if partition == tp
            for record in range(reader.here, min(reader.handed, reader.limit))
        }

    def lost(self) -> Counter:
        """Return the records that were skipped, and that no consumer is about to process."""
        found = Counter(
            (tp, log.incarnation(record), record)
            for tp, log in self.all_logs()
            if log.gone is not None
            for record in log.lost_before()
        )
        for tp, log in self.logs.items():
            hands = self.hands(tp)
            reading = log.latest.here if log.latest and log.latest.working else None
            for record in log.passed | log.undone - self.read_again(log):
                ahead = reading is not None and record >= reading
                there = record < self.log_ends.get(tp, record + 1)
                if there and not log.times[record] and record not in hands and not ahead:
                    found[tp, log.incarnation(record), record] += 1
        return found

    def read_again(self, log: Log) -> set[int]:
        """Return the records whose results are gone and that the next owner will read."""
        if log.deleted or log.latest is None or log.latest.working or log.committed is None:
            return set()
        return {record for record in log.undone if record >= log.committed}

    def unread(self, lost: Counter) -> int:
        """Return how many records were neither processed nor lost."""
        read = {tp.topic for tp, log in self.logs.items() if log.base is not None} | self.sampled
        return sum(
            not log.times[record] and (tp, log.incarnation(record), record) not in lost
            for tp, log in self.logs.items()
            if tp.topic in read
            for record in range(log.base or 0, self.log_ends.get(tp, 0))
        )
