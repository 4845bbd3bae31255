"""Commits: sent, accepted or refused, answered; and the removal of committed offsets."""

from __future__ import annotations

from dataclasses import dataclass

from assignors.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSent:
    """A consumer asked for offsets to be stored.

    ``kind``: ``auto``, ``prepare``, ``close``, ``sync`` or ``async``; ``admin`` if it is no
    consumer but an administrator resetting offsets. ``processed`` is, in the
    order of ``offsets``, how far the handler was then. A commit refused by the client itself
    was never sent: it has a :class:`CommitSent` and at once a :class:`CommitRefused`.
    """

    consumer: str
    group: str
    generation: int
    commit: str
    """Names the commit in the events that follow it."""

    kind: str
    offsets: Offsets
    processed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAccepted:
    """The coordinator appended it at ``log_offset`` of its offsets partition."""

    consumer: str
    group: str
    generation: int
    commit: str
    offsets: Offsets
    log_offset: int
    high_watermark: int = -1
    """The partition's high watermark at that time; -1: not known."""

    leader_epoch: int = -1
    """The leader epoch of the append; -1: not known."""

    broker: int = -1
    """The coordinator's broker; -1: not known."""

    log_partition: int = -1
    """The offsets partition; -1: not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRefused:
    """``by``: ``coordinator`` or ``client``; ``error`` in Kafka's spelling."""

    consumer: str
    group: str
    generation: int
    commit: str
    error: str
    by: str
    offsets: Offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAnswered:
    """The consumer learned the outcome of its commit; ``error`` is ``NONE`` for success."""

    consumer: str
    group: str
    commit: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsCounted:
    """Commits without events of their own: sent, accepted and answered like those around them.

    None of them lowered a committed offset or was ahead of processing, and the last accepted commit
    of each partition has its events.
    """

    consumer: str
    group: str
    commits: int


Offsets = tuple[tuple[TopicPartition, int], ...]
"""Each partition with an offset in its log, in an order that the event says."""
