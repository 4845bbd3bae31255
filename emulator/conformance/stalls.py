"""How a group got on when brokers failed: how long partitions stood still, when it could commit.

Work on a partition stands still from the end of one of its records to the begin of the next,
whoever does them. Ownership does not tell it: while a broker is dead and not yet missed, members
own their partitions and get nothing of them (real-kafka 2.8, 4.2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator.events import CommitAnswered, CommitSent, Event, Processed, RunEnded

SECOND_US = 1_000_000


@dataclass(slots=True)
class Pace:
    """Watches one group from the fault on; see every event in order."""

    fault_us: int
    first_commit_s: float | None = None
    """From the fault until somebody knew that a commit sent after it was accepted."""

    commit_wait_s: float | None = None
    """The longest time from sending one of these to that answer."""

    _worked: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """Until when records of a partition were worked on, and how far."""

    _stalls_us: dict[TopicPartition, int] = field(default_factory=dict)
    _sent_us: dict[str, int] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Take in one event."""
        match event.what:
            case Processed() as processed:
                self._work(processed, event.at_us)
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

    def _work(self, processed: Processed, done_us: int) -> None:
        tp = processed.partition
        until_us, reached = self._worked.get(tp, (done_us, 0))
        if processed.began_us > self.fault_us:
            self._stall(tp, processed.began_us - until_us)
        self._worked[tp] = (max(until_us, done_us), max(reached, processed.next_offset))

    def _answered(self, sent_us: int, at_us: int) -> None:
        if self.first_commit_s is None:
            self.first_commit_s = (at_us - self.fault_us) / SECOND_US
        self.commit_wait_s = max(self.commit_wait_s or 0.0, (at_us - sent_us) / SECOND_US)

    def _end(self, ends: Iterable[tuple[TopicPartition, int]], at_us: int) -> None:
        """Count the time since the last work on partitions that were not read to their ends."""
        for tp, end in ends:
            until_us, reached = self._worked.get(tp, (at_us, end))
            if reached < end:
                self._stall(tp, at_us - until_us)

    def _stall(self, tp: TopicPartition, lasted_us: int) -> None:
        self._stalls_us[tp] = max(self._stalls_us.get(tp, 0), lasted_us)
