"""Count commits that were accepted of partitions that another member owned.

A coordinator checks the generation of a commit and not who owns its partitions. So the retry of an old
commit, sent in the generation in which another member has the partition, is accepted and overwrites what
the owner has committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.readings import Handler, Key, Reading


class WrongOwnerMeter:
    """Follows the owners of partitions, and the accepted commits."""

    def __init__(self) -> None:
        self._owners: dict[Key, set[str]] = {}
        self._commits = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.CommitAccepted: self._on_accepted,
        }

    def _on_opened(self, _: ev.Event, what: ev.EpochOpened) -> None:
        self._owners.setdefault((what.group, what.partition), set()).add(what.consumer)

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        self._owners.get((what.group, what.partition), set()).discard(what.consumer)

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted) -> None:
        for partition, _offset in what.offsets:
            owners = self._owners.get((what.group, partition))
            self._commits += bool(owners) and what.consumer not in (owners or ())

    def read(self, _ended_us: int, _ledger: Ledger) -> Reading:
        """Return how many offsets were committed by another member than the owner."""
        return Reading(values={"commits_wrong_owner": self._commits})
