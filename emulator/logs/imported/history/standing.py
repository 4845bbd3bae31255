"""How a group stands in the end, and when Kafka will delete its offsets (KIP-211).

Offsets of a classic group count from when it became empty, those of a group of the newer
protocols from their commit; those of topics that a living group does not read count from their
commit. The rule is that of ``protocols.groups.deletion``, for a group that is read from
outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.logs.imported.findings.values import Assumptions, State
from emulator.logs.imported.history.generations import CLASSIC
from emulator.logs.imported.history.of_group import History
from emulator.logs.imported.history.progress import Progress

RISK_SHARE: Final = 0.25
"""So much of the retention, or less, is little."""

IDLE_INTERVALS: Final = 20
IDLE_FROM_MS: Final = 300_000
"""A partition is idle after so many usual intervals, and so long, without a step forwards."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Of one group."""

    state: State
    assumptions: Assumptions
    empty_since_ms: int | None
    """Of a classic group that once had members."""

    topics: frozenset[str] | None
    """What its members read; None: the log does not tell, all counts as read."""

    assigned: Mapping[str, int] | None
    """Partitions of each member id in the end; None: the log does not tell."""

    def expires_ms(self, progress: Progress) -> int | None:
        """Return when a committed offset will be deleted; None: not as long as nothing changes."""
        if progress.offset is None or self.state is State.DELETED:
            return None
        if self.state is State.ACTIVE and self._reads(progress.topic):
            return None
        since_ms = self.empty_since_ms if self.state is State.EMPTY else None
        base_ms = progress.last_ms if since_ms is None else since_ms
        return base_ms + self.assumptions.retention_ms

    def is_at_risk(self, expires_ms: int | None) -> bool:
        """Say whether little of the retention is left."""
        left_ms = None if expires_ms is None else expires_ms - self.assumptions.end_ms
        return left_ms is not None and left_ms <= RISK_SHARE * self.assumptions.retention_ms

    def is_idle(self, progress: Progress, usual_ms: int | None) -> bool:
        """Say whether somebody has a partition and gets nowhere with it."""
        if self.state is not State.ACTIVE or progress.owner is None:
            return False
        known = (progress.advanced_ms, progress.owned_since_ms)
        since_ms = max((each for each in known if each is not None), default=progress.first_ms)
        quiet_ms = self.assumptions.end_ms - since_ms
        return quiet_ms >= max(IDLE_FROM_MS, IDLE_INTERVALS * (usual_ms or 0))

    def _reads(self, topic: str) -> bool:
        return self.topics is None or topic in self.topics


def standing_of(
    history: History, assumptions: Assumptions, progress: Sequence[Progress]
) -> Standing:
    """Return how a group stands."""
    state = _state(history)
    classic = bool(history.changes) and history.changes[-1].group_type == CLASSIC
    return Standing(
        state=state,
        assumptions=assumptions,
        empty_since_ms=_empty_since_ms(history) if classic else None,
        topics=_topics(history),
        assigned=_assigned(progress),
    )


def _state(history: History) -> State:
    if not history.changes:
        return State.OFFSETS_ONLY
    if history.changes[-1].deleted:
        return State.DELETED
    return State.ACTIVE if history.roster else State.EMPTY


def _empty_since_ms(history: History) -> int | None:
    """Return since when nobody is in it; None if nobody ever was, as far as the log tells."""
    had_members = any(change.members for change in history.changes)
    last = history.changes[-1]
    return last.place.at_ms if had_members and not last.members else None


def _topics(history: History) -> frozenset[str] | None:
    told = [member.topics for member in history.roster.values()]
    return frozenset(topic for topics in told for topic in topics) if all(told) else None


def _assigned(progress: Sequence[Progress]) -> Mapping[str, int] | None:
    """Count the partitions of each member; where nobody has any, assignments are not readable."""
    counts = Counter(each.owner.member_id for each in progress if each.owner is not None)
    return counts or None
