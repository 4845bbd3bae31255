"""Restored backups of offset stores: committed offsets and results go back to an earlier instant."""

from __future__ import annotations

from emulator import events as ev
from emulator.ledger.accounts import AccountKey
from emulator.ledger.cluster import link_to
from emulator.ledger.commits import BY_A_BACKUP, NONE_COMMITTED, CommittedOffsets
from emulator.ledger.entries import Step
from emulator.ledger.ownership import Ownership

NOT_IN_BACKUP = "not in the restored backup"
"""Why a committed offset is gone after a restore."""


class Restores:
    """Follows the restored backups of a run."""

    def __init__(self, ownership: Ownership, offsets: CommittedOffsets) -> None:
        self.undone = 0
        """Records whose results were removed; each removal counts one."""

        self._ownership = ownership
        self._offsets = offsets

    def on_restored(self, event: ev.Event, fact: ev.StoreRestored) -> None:
        """Replace a committed offset by that of the backup; remove the results that it does not have."""
        self._set_offset(event, fact)
        account = self._ownership.account_of(AccountKey(fact.group, fact.partition))
        if account is None or not fact.undone:
            return
        attribution = self._ownership.attributions.for_undone(event, fact, account.latest)
        account.undone += (attribution,)
        for start, end in fact.undone:
            self.undone += account.coverage.undo(start, end, attribution)

    def _set_offset(self, event: ev.Event, fact: ev.StoreRestored) -> None:
        committed = self._offsets.of(fact.group, fact.partition)
        if fact.offset == NONE_COMMITTED:
            committed.correct(NONE_COMMITTED)
            values = (str(fact.partition), NOT_IN_BACKUP)
            committed.dropped = link_to(event, Step.OFFSETS_DROPPED, *values)
            committed.dropped_why = NOT_IN_BACKUP
        else:
            committed.reset(fact.offset, BY_A_BACKUP)
            committed.accepted = link_to(event, Step.RESTORED)
            committed.consumer, committed.commit = fact.store, ""
            committed.processed = None
