"""The member as its client sees it: its states, its assignments, its reconciliation.

Source: ``MemberState``, ``AbstractMembershipManager``, ``LocalAssignment``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

from assignors.types import TopicPartition
from protocols.messages import TopicPartitions


class MemberState(enum.Enum):
    """The member's state (``MemberState`` of the Java client)."""

    UNSUBSCRIBED = "in no group"
    JOINING = "sends epoch 0"
    RECONCILING = "has a new target assignment"
    ACKNOWLEDGING = "sends the assignment it owns"
    STABLE = "owns its target assignment"
    FENCED = "removed; releases its partitions, then joins again"
    PREPARE_LEAVING = "releases its partitions, then leaves"
    LEAVING = "sends its leaving heartbeat"
    STALE = "left because the application did not poll; joins at the next poll"
    FATAL = "ended by a fatal error"

    @property
    def in_group(self) -> bool:
        """Whether the member uses the responses to its heartbeats."""
        return self not in _OUTSIDE

    @property
    def leaving(self) -> bool:
        """Whether the member is leaving."""
        return self in (MemberState.PREPARE_LEAVING, MemberState.LEAVING)

    @property
    def takes_assignments(self) -> bool:
        """Whether it accepts a new target assignment."""
        return MemberState.RECONCILING in TRANSITIONS[self]


_OUTSIDE = (MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.STALE, MemberState.FATAL)
"""A tuple: a set would ask for the hash of a state, which Python code calculates."""

_S = MemberState

TRANSITIONS: Final[dict[MemberState, frozenset[MemberState]]] = {
    _S.UNSUBSCRIBED: frozenset({_S.JOINING, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.JOINING: frozenset({_S.RECONCILING, _S.STABLE, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.RECONCILING: frozenset(
        {_S.RECONCILING, _S.ACKNOWLEDGING, _S.STABLE, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}
    ),
    _S.ACKNOWLEDGING: frozenset(
        {_S.STABLE, _S.RECONCILING, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}
    ),
    _S.STABLE: frozenset({_S.RECONCILING, _S.FENCED, _S.PREPARE_LEAVING, _S.FATAL}),
    _S.FENCED: frozenset({_S.JOINING, _S.UNSUBSCRIBED}),
    _S.PREPARE_LEAVING: frozenset({_S.LEAVING, _S.FATAL}),
    _S.LEAVING: frozenset({_S.UNSUBSCRIBED, _S.STALE, _S.FATAL}),
    _S.STALE: frozenset({_S.JOINING}),
    _S.FATAL: frozenset(),
}
"""The allowed next states of each state."""

Ids = tuple[TopicPartitions, ...]
"""Partitions by topic id, sorted, without topics that have none."""


def by_id(partitions_of: Iterable[TopicPartitions]) -> Ids:
    """Return partitions by topic id in one canonical form."""
    found: dict[str, set[int]] = {}
    for topic_id, partitions in partitions_of:
        found.setdefault(topic_id, set()).update(partitions)
    return tuple(
        TopicPartitions(topic_id, tuple(sorted(numbers)))
        for topic_id, numbers in sorted(found.items())
        if numbers
    )


class LocalAssignment(NamedTuple):
    """Partitions with a counter of the client, which distinguishes equal assignments."""

    epoch: int
    partitions: Ids

    def with_target(self, partitions: Ids) -> LocalAssignment:
        """Return the assignment after the coordinator sent *partitions*."""
        if self != NO_ASSIGNMENT and partitions == self.partitions:
            return self
        return LocalAssignment(self.epoch + 1, partitions)


NO_ASSIGNMENT = LocalAssignment(-1, ())


class Stage(enum.Enum):
    """The steps of a reconciliation, by what it waits for."""

    COMMITTING = "the commit before it"
    REVOKING = "onPartitionsRevoked"
    ASSIGNING = "onPartitionsAssigned"


class Reconciling(NamedTuple):
    """A running reconciliation."""

    stage: Stage
    resolved: LocalAssignment
    assigned: tuple[TopicPartition, ...]
    revoked: tuple[TopicPartition, ...]
    added: tuple[TopicPartition, ...]
    round_us: int = 0
    """When the last round of the background thread began, to which its timers are set."""


class AbortedReconciliation(NamedTuple):
    """A reconciliation of a member that was fenced or left while it ran.

    It ends with the step that it waits for. The application may still apply its assignment, which is
    not acknowledged.
    """

    stage: Stage


class ReleaseStage(enum.Enum):
    """The progress of releasing all partitions (onPartitionsLost)."""

    DONE = "nothing to release"
    RUNNING = "the listener has to be called"
    THEN_JOIN = "the listener has to be called; then the member joins again"


class Membership(NamedTuple):
    """The member as its client sees it (``ConsumerMembershipManager``)."""

    state: MemberState = MemberState.UNSUBSCRIBED
    epoch: int = 0
    target: LocalAssignment = NO_ASSIGNMENT
    current: LocalAssignment = NO_ASSIGNMENT
    reconciling: Reconciling | AbortedReconciliation | None = None
    release: ReleaseStage = ReleaseStage.DONE

    @property
    def reconciled(self) -> bool:
        """Whether it owns its target assignment."""
        return self.target == self.current

    def to(self, state: MemberState) -> Membership:
        """Return the member in another state."""
        assert state in TRANSITIONS[self.state], (
            f"no transition from {self.state.name} to {state.name}"
        )
        return self._replace(state=state)


NO_MEMBER = Membership()
