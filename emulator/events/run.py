"""The run itself, its topics and brokers, and its faults and acts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from assignors.values import dataclass
from protocols.facts import Offsets
from protocols.messages.records import NO_END, Gaps

if TYPE_CHECKING:
    from protocols.messages.removed import Removed


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The first event."""

    scenario: str
    seed: int
    kafka: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The last event; ``log_ends``: the end of each partition's log, deleted ones left out."""

    log_ends: Offsets

    positions: tuple[tuple[str, TopicPartition, int], ...] = ()
    """For each epoch still open: its consumer, its partition, the end of what poll handed out.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreated:
    """``log_starts``: the first offset of each partition (0 unless retention has moved it)."""

    topic: str
    topic_id: str
    log_starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetGaps:
    """Some offsets of a topic's partitions hold no record: markers of transactions, or compacted records.

    Of each ``cycle`` of offsets below ``until`` the first ``records`` hold one, or with several ``parts``
    so many of each of the first parts, with one offset between two of them. For a group that reads
    committed records those of aborted transactions hold none, either.
    """

    topic: str
    topic_id: str
    cycle: int
    records: int
    until: int
    parts: int = 1
    group: str = ""
    """The group whose consumers find them so; empty: all others."""

    @property
    def has_end(self) -> bool:
        """Whether all offsets from ``until`` on hold a record."""
        return self.until < NO_END

    def count_in(self, first: int, end: int) -> int:
        """Return the number of records in a range of offsets."""
        return self._rule.count_in(first, end)

    def next_record(self, offset: int) -> int:
        """Return the first offset from *offset* on that holds a record."""
        return self._rule.next_record(offset)

    @property
    def _rule(self) -> Gaps:
        return Gaps(self.cycle, self.records, self.until, self.parts)


def records_between(gaps: OffsetGaps | Removed | None, first: int, end: int) -> int:
    """Return the number of records in a range of offsets; *gaps* is None where each offset holds one."""
    return end - first if gaps is None else gaps.count_in(first, end)


def end_of_finished(
    cursor: int, out_of_order: dict[int, int] | None, gaps: OffsetGaps | Removed | None
) -> int:
    """Return the end of what is finished without a record in between from *cursor* on.

    *out_of_order*: first to next offset of ranges that were finished beyond it; those that it reaches
    are removed. *gaps*: offsets without a record, which it passes on the way to such a range.
    """
    while out_of_order:
        following = cursor if gaps is None else gaps.next_record(cursor)
        if following not in out_of_order:
            break
        cursor = out_of_order.pop(following)
    return cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsAdded:
    """A topic got more partitions."""

    topic: str
    topic_id: str
    partitions: int
    """The number of partitions from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDeleted:
    """A topic was deleted, with its records."""

    topic: str
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultBegan:
    """A fault or act of the scenario took effect; the root of what follows."""

    fault: str
    """Its id in the scenario."""

    verb: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEnded:
    """A fault ended."""

    fault: str
    verb: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaled:
    """An autoscaler changed the number of members of a group."""

    group: str
    fault: str
    """The id of the step, as in its :class:`FaultBegan`."""

    before: int
    after: int
    wanted: int
    """What the metric alone asked for."""

    lag: int
    """The lag that it acted on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultMissed:
    """A fault or act of the scenario never took effect; written at the end of the run.

    ``why``: its moment never came, or how many messages like the chosen one were sent.
    """

    fault: str
    verb: str
    target: str
    why: str
    needless: bool = False
    """Whether there was nothing to do: the process to start was running already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActRefused:
    """An act, or a part of it, was refused; ``error`` empty: no request was sent."""

    fault: str
    """The id of the act in the scenario."""

    verb: str
    target: str
    group: str
    error: str
    """In Kafka's spelling."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDown:
    """A broker stopped answering for good."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUp:
    """A broker answers again."""

    broker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSampled:
    """At a sampling instant, for each partition of a group's topics, in one fixed order."""

    group: str
    partitions: tuple[TopicPartition, ...]
    log_ends: tuple[int, ...]
    committed: tuple[int, ...]
    """-1 where nothing is committed."""

    processed: tuple[int, ...]
    """The progress of its present or last owner, behind a gap; -1 if it never had an owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsCounted:
    """How many requests of each kind the brokers received since the last such event."""

    since_us: int
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLost:
    """A request or response was lost; ``commit``: the name of the commit, if it was one."""

    kind: str
    sender: str
    receiver: str
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsCounted:
    """Commits without events of their own, all of them accepted and answered.

    Its time is that of the last of them.
    """

    consumer: str
    group: str
    commits: int
    ahead: int = 0
    """How many of them were ahead of processing."""
