"""Findings about one group as values: the rows of all tables, and the content of the report.

Times are epoch milliseconds, rates are records a second. ``assessing`` makes them.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Final

from assignors.values import dataclass
from emulator.logs.imports.generations import Member
from emulator.logs.imports.reasons import Deploy, Explained, Reason

WEEK_MS: Final = 7 * 24 * 3_600_000
"""Kafka's own ``offsets.retention.minutes``."""


class State(StrEnum):
    """The state of a group at the end of what was read."""

    ACTIVE = "active"
    """The group has members."""

    EMPTY = "empty"
    """The group has no members, but it and its offsets exist."""

    DELETED = "deleted"
    OFFSETS_ONLY = "offsets only"
    """Only commits: a simple consumer, a tool, or a log whose beginning was deleted."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Values that are not in the log."""

    retention_ms: int
    """``offsets.retention.minutes`` of the brokers."""

    end_ms: int
    """The time of the last record read, at which the state is assessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewindFinding:
    """A committed offset went backwards."""

    topic: str
    partition: int
    at_ms: int
    log_partition: int
    log_offset: int
    from_offset: int
    to_offset: int
    member: str | None
    member_id: str | None
    epoch: int | None
    member_before: str | None
    epoch_before: int | None
    words: str

    @property
    def records(self) -> int:
        """Return the number of records to reprocess."""
        return self.from_offset - self.to_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class CadenceFinding:
    """How one member committed one partition."""

    member: str | None
    """None: the partition had no owner, or the log does not show it."""

    member_id: str | None
    topic: str
    partition: int
    since_ms: int | None
    first_ms: int
    last_ms: int
    commits: int
    median_ms: int | None
    p95_ms: int | None
    advanced: int
    rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFinding:
    """The state of one partition."""

    topic: str
    partition: int
    offset: int | None
    """The committed offset at the end of the log; None: nothing was committed, or it was deleted."""

    commits: int
    in_transactions: int
    deletions: int
    deleted_ms: int | None
    """Time of the last deletion of its offset."""

    first_ms: int | None
    last_ms: int | None
    advanced: int
    advanced_ms: int | None
    rate: float | None
    median_ms: int | None
    p95_ms: int | None
    rewinds: int
    owner: str | None
    owned_since_ms: int | None
    idle: bool
    """Whether it is assigned to a member and its committed offset has not advanced for long."""

    expires_ms: int | None
    """When the offset will be deleted; None: not while the group is as it is."""

    at_risk: bool
    """Whether little or none of the retention time is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFinding:
    """A member, identified by name and host, over all its member ids."""

    name: str
    host: str
    first_ms: int
    last_ms: int
    joins: int
    leaves: int
    returns: int
    flapping: bool
    present: int
    """Number of members with that name at the end of the log."""

    assigned: int | None
    """Their number of partitions at the end of the log; None: not in the log."""

    @property
    def idle(self) -> bool:
        """Whether it is a member without partitions."""
        return bool(self.present) and self.assigned == 0

    def __str__(self) -> str:
        return f"{self.name} ({self.host})" if self.host else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The committed offsets of a partition over time, downsampled."""

    topic: str
    partition: int
    points: tuple[tuple[int, int], ...]


Reasons = tuple[tuple[Reason, int], ...]
"""The number of rebalances by reason, descending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a group appears in the log, and how often it rebalanced."""

    first_ms: int
    last_ms: int
    """Times of its first and last record."""

    active_ms: int
    """Time during which it had members."""

    rebalances: int
    an_hour: float | None
    """Rebalances per hour while it had members; None: that time is too short for a rate."""

    worst_hour: int
    """Maximum number of rebalances within one hour."""

    worst_hour_from_ms: int | None
    """The beginning of that hour: its first rebalance."""

    reasons: Reasons
    worst_hour_reasons: Reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFindings:
    """All findings about one group."""

    group: str
    group_type: str | None
    """``classic``, ``consumer``, ``share``, ``streams``; None: only its offsets are known."""

    state: State
    epoch: int | None
    assumptions: Assumptions
    members: tuple[Member, ...]
    """In the end."""

    assignors: tuple[tuple[str, int], ...]
    """The assignors in use, with their number of generations, descending."""

    commits: int
    in_transactions: int
    deletions: int
    advanced: int
    rate: float | None
    """Sum over all partitions."""

    median_ms: int | None
    p95_ms: int | None
    intervals_ms: tuple[tuple[int, int], ...]
    """Times between two commits of a partition by one owner, with counts."""

    pace: Pace
    changes: tuple[Explained, ...] = ()
    deploys: tuple[Deploy, ...] = ()
    rewound: int = 0
    """Number of rewinds, those that are not listed included."""

    rewinds: tuple[RewindFinding, ...] = ()
    cadence: tuple[CadenceFinding, ...] = ()
    partitions: tuple[PartitionFinding, ...] = ()
    member_findings: tuple[MemberFinding, ...] = ()
    curves: tuple[Curve, ...] = field(default=())

    @property
    def term(self) -> str:
        """What the group counts: generations, or epochs with a newer protocol."""
        return "generation" if self.group_type in (None, "classic") else "epoch"
