"""Records at a fixed rate: record k of partition p of a topic has a time at which it is due."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from emulator.capturing.clock import now_us, sleep_us

LONGEST_SLEEP_US = 20_000
FLUSH_S = 60.0


@dataclass(slots=True, kw_only=True)
class Stream:
    """Records to the partitions ``first`` to ``to`` of a topic, one every ``tick_ns``."""

    topic: str
    first: int
    to: int
    tick_ns: int
    start_us: int
    stop_us: int
    record_bytes: int
    sent: int = 0

    @property
    def due_us(self) -> int:
        """Return when the next record is due."""
        return self.start_us + self.sent * self.tick_ns // 1_000


def tick_ns(rate: float, partitions: int) -> int:
    """Return the time between two records of a topic; *rate*: per second and partition."""
    return int(1e9 / (rate * partitions))


@dataclass(slots=True)
class Producer:
    """Produces in a thread of its own until it is stopped."""

    bootstrap: str
    acks: str = "all"
    streams: list[Stream] = field(default_factory=list)
    failed: int = 0
    _client: Any = None
    _thread: threading.Thread | None = None
    _ended: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Connect, and produce what is due from now on."""
        from confluent_kafka import Producer as Client

        self._client = Client(
            {
                "bootstrap.servers": self.bootstrap,
                "acks": self.acks,
                "enable.idempotence": self.acks == "all",
                "linger.ms": 0,
                "message.timeout.ms": 120_000,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        self._thread.start()

    def preload(self, topic: str, partitions: int, records: int, size: int) -> None:
        """Produce a backlog to each partition, and wait until it is written."""
        for _ in range(records):
            for partition in range(partitions):
                self._produce(topic, partition, size)
        self._client.flush(FLUSH_S)

    def add(self, stream: Stream) -> None:
        """Produce another stream."""
        self.streams = [*self.streams, stream]

    def stop(self) -> None:
        """End the production; records that are on their way are waited for."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self.failed += self._client.flush(FLUSH_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            now = now_us()
            for stream in self.streams:
                while stream.due_us <= min(now, stream.stop_us):
                    partition = stream.first + stream.sent % (stream.to - stream.first)
                    self._produce(stream.topic, partition, stream.record_bytes)
                    stream.sent += 1
            self._client.poll(0)
            due = min((s.due_us for s in self.streams), default=now + LONGEST_SLEEP_US)
            sleep_us(min(max(due - now_us(), 1_000), LONGEST_SLEEP_US))

    def _produce(self, topic: str, partition: int, size: int) -> None:
        while True:
            try:
                self._client.produce(topic, b"x" * size, partition=partition, callback=self._done)
            except BufferError:
                self._client.poll(0.1)
            else:
                return
            if self._ended.is_set():
                return

    def _done(self, error: object, _: object) -> None:
        self.failed += error is not None
