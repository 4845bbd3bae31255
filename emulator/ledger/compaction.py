"""Compaction of a topic during a run: records that a group has not processed yet and never will.

A group that reads behind the cleaner misses them without having done anything wrong: they are not lost, but
counted apart. A consumer that had fetched a record before it was removed still processes it.
"""

from __future__ import annotations

from emulator import events as ev
from emulator.events.offsets import NO_END, Removed
from emulator.ledger.accounts import Account, Holding
from emulator.ledger.ownership import Ownership


class Compactions:
    """Follows the log cleaner of topics."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    def on_compacted(self, _: ev.Event, fact: ev.RecordsCompacted) -> None:
        """Remove records from a partition, for all groups that read it."""
        tp, gone = fact.partition, Removed.of(fact.ranges)
        self._ownership.topics.of(tp.topic).compact(tp.partition, gone)
        for key, account in self._ownership.accounts.items():
            if key.partition == tp:
                self._apply(account, gone, fact)

    def _apply(self, account: Account, gone: Removed, fact: ev.RecordsCompacted) -> None:
        """Note what is gone for the owners of an account, and for any later one."""
        tp, left = fact.partition, gone
        fetched = {consumer: (first, end) for consumer, first, end in fact.fetched}
        for epoch in account.open:
            low, high = fetched.get(epoch.consumer, (0, 0))
            known = epoch.passable if isinstance(epoch.passable, Removed) else Removed()
            epoch.passable = known.plus(gone.minus(low, high).ranges)
            epoch.gaps = self._ownership.topics.of(tp.topic).removed[tp.partition]
            left = left.minus(low, high)
        account.coverage.compact(left.ranges)

    def on_closed(self, holding: Holding) -> None:
        """Note that what an owner had fetched and not processed is gone with it."""
        epoch, account = holding
        removed = self._ownership.topics.of(epoch.partition.topic).removed
        known = removed.get(epoch.partition.partition)
        if known is not None:
            account.coverage.compact(known.within(epoch.cursor, NO_END))
