"""Measure the stalls of partitions and the wait for commits when brokers fail.

A stall of a partition lasts from the end of one of its records to the beginning of the next,
on any consumer. Ownership does not show it: until the session of a dead broker expires, members
own its partitions and receive no records from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import CommitAnswered, CommitSent, Event, Processed, RunEnded
from emulator.world.consumer.handling.handler import RecordWork

SECOND_US = 1_000_000


@dataclass(slots=True)
class Pace:
    """Collects the stalls of one group from the fault on; call :meth:`see` with every event."""

    fault_us: int
    first_commit_s: float | None = None
    """From the fault to the first successful response to a commit sent after it."""

    commit_wait_s: float | None = None
    """The longest time from sending such a commit to its successful response."""

    _worked: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """By partition: the end of its last processing, and the offset reached."""

    _stalls_us: dict[TopicPartition, int] = field(default_factory=dict)
    _sent_us: dict[str, int] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Process one event."""
        match event.what:
            case Processed(partition=tp, next_offset=end, began_us=began_us):
                self.work(RecordWork(tp, end - 1, began_us, event.at_us))
            case CommitSent(commit=commit, offsets=offsets) if offsets:
                if event.at_us >= self.fault_us:
                    self._sent_us[commit] = event.at_us
            case CommitAnswered(commit=commit, error="NONE") if commit in self._sent_us:
                self._answered(self._sent_us[commit], event.at_us)
            case RunEnded(log_ends=ends):
                self._end(ends, event.at_us)
            case _:
                pass

    @property
    def stalls(self) -> dict[TopicPartition, float]:
        """The longest stall of each partition that was not over at the fault, in seconds."""
        return {tp: us / SECOND_US for tp, us in sorted(self._stalls_us.items())}

    def work(self, work: RecordWork) -> None:
        """Process the work on one record; they come in the order of their ends."""
        tp, offset, began_us, ended_us = work
        until_us, reached = self._worked.get(tp, (ended_us, 0))
        if began_us > self.fault_us:
            self._stall(tp, began_us - until_us)
        self._worked[tp] = (max(until_us, ended_us), max(reached, offset + 1))

    def _answered(self, sent_us: int, at_us: int) -> None:
        if self.first_commit_s is None:
            self.first_commit_s = (at_us - self.fault_us) / SECOND_US
        self.commit_wait_s = max(self.commit_wait_s or 0.0, (at_us - sent_us) / SECOND_US)

    def _end(self, ends: Iterable[tuple[TopicPartition, int]], at_us: int) -> None:
        """Count the time since the last processing of partitions not read to their ends."""
        for tp, end in ends:
            until_us, reached = self._worked.get(tp, (at_us, end))
            if reached < end:
                self._stall(tp, at_us - until_us)

    def _stall(self, tp: TopicPartition, lasted_us: int) -> None:
        self._stalls_us[tp] = max(self._stalls_us.get(tp, 0), lasted_us)
