"""Count commits that were accepted of partitions that another member owned.

A coordinator checks the generation of a commit and not who owns its partitions. So the retry of an old
commit, sent in the generation in which another member has the partition, is accepted and overwrites what
the owner has committed.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.readings import Handler, Key, Reading


class WrongOwnerMeter:
    """Follows the owners of partitions, and the accepted commits.

    A member that has been assigned a partition and has not begun to read it owns it, too: retries of its
    previous owner in the same rebalance come before it reads the committed offset.
    """

    def __init__(self) -> None:
        self._owners: dict[Key, set[str]] = {}
        self._assigned: dict[str, dict[TopicPartition, str]] = {}
        """By group: the consumer to which its newest assignment gives each partition."""

        self._commits = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.EpochOpened: self._on_opened,
            ev.EpochClosed: self._on_closed,
            ev.GroupStabilised: self._on_stabilised,
            ev.CommitAccepted: self._on_accepted,
        }

    def _on_opened(self, _: ev.Event, what: ev.EpochOpened) -> None:
        self._owners.setdefault((what.group, what.partition), set()).add(what.consumer)

    def _on_closed(self, _: ev.Event, what: ev.EpochClosed) -> None:
        self._owners.get((what.group, what.partition), set()).discard(what.consumer)

    def _on_stabilised(self, _: ev.Event, what: ev.GroupStabilised) -> None:
        self._assigned[what.group] = {
            partition: consumer for consumer, owned in what.assignment for partition in owned
        }

    def _on_accepted(self, _: ev.Event, what: ev.CommitAccepted) -> None:
        assigned = self._assigned.get(what.group, {})
        for partition, _offset in what.offsets:
            owners = self._owners.get((what.group, partition))
            if not owners:
                owners = {assigned.get(partition, what.consumer)}
            self._commits += what.consumer not in owners

    def read(self, _ended_us: int, _ledger: Ledger) -> Reading:
        """Return how many offsets were committed by another member than the owner."""
        return Reading(values={"commits_wrong_owner": self._commits})
