"""Where a member stands with its group, and which ways lead on (``MemberState``, spec kip848 3.2)."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, NamedTuple

from assignors.types import TopicPartition
from protocols.messages import TopicPartitions


class MemberState(enum.Enum):
    """``MemberState`` of the Java client."""

    UNSUBSCRIBED = "in no group"
    JOINING = "to send epoch 0"
    RECONCILING = "told to own something else"
    ACKNOWLEDGING = "to say that it owns it"
    STABLE = "owns what it was told to"
    FENCED = "removed; gives up what it owned, to join again"
    PREPARE_LEAVING = "gives up what it owns, to leave"
    LEAVING = "to send that it leaves"
    STALE = "left because nobody polled; waits for a poll"
    FATAL = "can never go on"

    @property
    def in_group(self) -> bool:
        """Whether the coordinator's answers to its heartbeats mean anything to it."""
        return self not in _OUTSIDE

    @property
    def leaving(self) -> bool:
        """Whether it is on its way out."""
        return self in {MemberState.PREPARE_LEAVING, MemberState.LEAVING}

    @property
    def takes_assignments(self) -> bool:
        """Whether it may be told to own something else."""
        return MemberState.RECONCILING in WAYS[self]


_OUTSIDE = frozenset(
    {MemberState.UNSUBSCRIBED, MemberState.FENCED, MemberState.STALE, MemberState.FATAL}
)
_S = MemberState

WAYS: Final[dict[MemberState, frozenset[MemberState]]] = {
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
"""Where each state may lead."""

Ids = tuple[TopicPartitions, ...]
"""Partitions by topic id, sorted, without topics that have none."""


def by_id(told: Iterable[TopicPartitions]) -> Ids:
    """Return partitions by topic id in one form, however they were told."""
    found: dict[str, set[int]] = {}
    for topic_id, partitions in told:
        found.setdefault(topic_id, set()).update(partitions)
    return tuple(
        TopicPartitions(topic_id, tuple(sorted(numbers)))
        for topic_id, numbers in sorted(found.items())
        if numbers
    )


class LocalAssignment(NamedTuple):
    """Partitions with a count of the client's own, so that equal ones can be told apart."""

    epoch: int
    partitions: Ids

    def with_target(self, told: Ids) -> LocalAssignment:
        """Return what follows when the coordinator tells *told*."""
        if self != NO_ASSIGNMENT and told == self.partitions:
            return self
        return LocalAssignment(self.epoch + 1, told)


NO_ASSIGNMENT = LocalAssignment(-1, ())


class Stage(enum.Enum):
    """What a reconciliation waits for."""

    COMMITTING = "the commit before it"
    REVOKING = "onPartitionsRevoked"
    ASSIGNING = "onPartitionsAssigned"


class Reconciling(NamedTuple):
    """A reconciliation under way."""

    stage: Stage
    resolved: LocalAssignment
    assigned: tuple[TopicPartition, ...]
    revoked: tuple[TopicPartition, ...]
    added: tuple[TopicPartition, ...]


class Overtaken(NamedTuple):
    """A reconciliation that has lost its sense: the member was put out meanwhile, or left.

    What it waits for ends it; nothing of it is applied.
    """

    stage: Stage


class Release(enum.Enum):
    """How far a member is that has to give everything up (onPartitionsLost)."""

    DONE = "nothing is left to give up"
    RUNNING = "the listener has to be called"
    THEN_JOIN = "the listener has to be called; then the member joins again"


class Membership(NamedTuple):
    """The member as its client sees it (``ConsumerMembershipManager``)."""

    state: MemberState = MemberState.UNSUBSCRIBED
    epoch: int = 0
    target: LocalAssignment = NO_ASSIGNMENT
    current: LocalAssignment = NO_ASSIGNMENT
    reconciling: Reconciling | Overtaken | None = None
    release: Release = Release.DONE

    @property
    def reconciled(self) -> bool:
        """Whether it owns what it was last told to."""
        return self.target == self.current

    def to(self, state: MemberState) -> Membership:
        """Return the member in another state."""
        assert state in WAYS[self.state], f"no way from {self.state.name} to {state.name}"
        return self._replace(state=state)


NO_MEMBER = Membership()
