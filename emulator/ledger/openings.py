"""What was known when an ownership epoch opened, and how a rule answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emulator.ledger.entries import Cause, Link
from emulator.ledger.epochs import Epoch, Trouble
from emulator.ledger.leaders import NO_COORDINATOR, Coordinators
from emulator.ledger.offsets import Committed

RESETS = ("earliest", "latest", "by_duration")
DIED = ("crashed", "failed")
"""How an epoch closes when its process ends without closing its consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What was known when an epoch opened."""

    epoch: Epoch
    before: Epoch | None
    """The epoch of the same partition opened last before, closed or not."""

    source: str
    why: str
    committed: Committed
    failover: Link | None
    """The newest failure or move of a coordinator that could lose what was appended."""

    outage: Link | None = None
    """The newest failure of a broker."""

    undecided: Trouble | None = None
    """A commit of the owner before, beyond the start, that the coordinator has not seen."""

    coordinators: Coordinators = NO_COORDINATOR
    """Who coordinates the group, or believes so."""

    @property
    def start(self) -> int:
        """Where the epoch begins."""
        return self.epoch.start

    @property
    def failed_over(self) -> bool:
        """Whether the coordinator changed after the newest commit was accepted."""
        accepted = self.committed.event
        return accepted is not None and self.failover is not None and self.failover.event > accepted


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause with what it leaves open and the events that show it."""

    cause: Cause
    detail: str = ""
    evidence: tuple[Link | None, ...] = ()


Rule = Callable[[Opening], Reason | None]


def still_open(opening: Opening, trouble: Trouble | None) -> Trouble | None:
    """Return *trouble* if it covers the start and no later commit made up for it."""
    if trouble is None or trouble.offset <= opening.start:
        return None
    committed = opening.committed
    made_up = committed.event is not None and committed.event > trouble.link.event
    return None if made_up and committed.offset >= trouble.offset else trouble
