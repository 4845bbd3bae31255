"""Three handlers: commits in chunks, asynchronous calls, and rows that are written together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from emulator.handlers import Begin, Commit, Consumer, Drain, Pause, Process, Record, Resume, Wait

Actions = Iterator[Any]


class Chunks:
    """Processes the records of a poll one by one, and commits after every ``size`` of them."""

    def __init__(self, consumer: Consumer, size: int = 20) -> None:
        self.consumer = consumer
        self.size = size

    def handle(self, records: Sequence[Record]) -> Actions:
        """Process and commit."""
        for number, record in enumerate(records, 1):
            yield Process(record)
            if number % self.size == 0:
                yield Commit()
        yield Commit()


class Asynchronous:
    """Sends each record to a slow service and polls on; pauses while too many are unanswered."""

    def __init__(self, consumer: Consumer, most: int = 100) -> None:
        self.consumer = consumer
        self.most = most

    def handle(self, records: Sequence[Record]) -> Actions:
        """Begin the records; commit those before the first one without an answer."""
        for record in records:
            yield Begin(record, ms=20 + 80 * self.consumer.random(record))
        if self.consumer.in_flight >= self.most:
            yield Pause()
        elif self.consumer.in_flight <= self.most // 2:
            yield Resume()
        yield Commit(sync=False)

    def revoked(self, _partitions: Sequence[tuple[str, int]]) -> Actions:
        """Wait for all answers, then commit."""
        yield Drain()
        yield Commit()


class Rows:
    """Collects records and writes them in one statement: ``most`` of them, or those of 5 seconds."""

    def __init__(self, consumer: Consumer, most: int = 200) -> None:
        self.consumer = consumer
        self.most = most
        self.collected: list[Record] = []
        self.written_us = 0

    def handle(self, records: Sequence[Record]) -> Actions:
        """Collect; write when there are enough, or the last statement was too long ago."""
        self.collected += records
        is_late = self.consumer.now_us - self.written_us >= 5_000_000
        if len(self.collected) >= self.most or is_late:
            yield from self.write()

    def write(self) -> Actions:
        """Write and commit what is collected."""
        self.written_us = self.consumer.now_us
        yield Wait(ms=30)
        for record in self.collected:
            yield Process(record, ms=0)
        self.collected = []
        yield Commit()

    def revoked(self, _partitions: Sequence[tuple[str, int]]) -> Actions:
        """Write before the partitions are given up."""
        yield from self.write()
