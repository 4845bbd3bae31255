"""Truncations of topics' logs.

A truncation moves records to an account of their own. A consumer that had fetched them continues
on that account; records produced later have the same offsets and are counted in the account of
the log. An epoch that was beyond the truncation is set back to it until it opens anew or reads on.
"""

from __future__ import annotations

from emulator import events as ev
from emulator.ledger.accounts import Account
from emulator.ledger.cluster import link_to
from emulator.ledger.commits import CommittedOffsets
from emulator.ledger.entries import Link, Step
from emulator.ledger.ownership import Ownership


class Truncations:
    """Splits accounts where logs are truncated, and moves epochs to the new log incarnation."""

    def __init__(self, ownership: Ownership, offsets: CommittedOffsets) -> None:
        self._ownership = ownership
        self._offsets = offsets

    def on_truncated(self, event: ev.Event, fact: ev.RecordsTruncated) -> None:
        """Move the truncated records of all groups to separate accounts."""
        values = (fact.broker, str(fact.partition), fact.first, fact.next_offset - 1)
        link = link_to(event, Step.TRUNCATED, *values)
        topic = self._ownership.topics.of(fact.partition.topic)
        topic.truncate(fact.partition.partition, fact.first, fact.incarnation)
        self._offsets.truncate(fact.partition, fact.first, link)
        for key, account in self._ownership.accounts.items():
            if key.partition == fact.partition:
                self._split(account, fact, link)

    def _split(self, account: Account, fact: ev.RecordsTruncated, link: Link) -> None:
        """Split one account; records that its owner had not read yet are not lost by it."""
        latest = account.latest
        tail = account.truncate(fact.first, fact.incarnation)
        if latest is not None and latest.closed_by is None:
            tail.coverage.clear_attributions(latest.cursor)
        attribution = self._ownership.attributions.for_truncation(link, latest, clean=fact.clean)
        tail.truncated = (fact.next_offset, attribution)
        for epoch in {epoch.number: epoch for epoch in account.owners()}.values():
            epoch.truncation = link
            epoch.truncate(fact.first)
        self._ownership.retired.append(tail)

    def on_read_on(self, event: ev.Event, fact: ev.ReadOn) -> None:
        """Move an epoch to the newer log incarnation that it reads from now on.

        It skips the records between the truncation and its position, because the position was
        never checked against the log.
        """
        holding = self._ownership.consumer(fact.consumer).holdings.get(fact.partition)
        if holding is None:
            return
        epoch, account = holding
        crossed = account.truncations_between(epoch.log_incarnation, fact.incarnation)
        if not crossed:
            return
        lowest, finished = min(crossed), epoch.finished
        later = account.truncations_between(fact.incarnation)
        epoch.switch_log(fact.incarnation, later, lowest)
        epoch.cursor = finished
        if finished >= lowest:
            values = (fact.consumer, str(fact.partition), fact.offset)
            link = link_to(event, Step.READ_ON, *values)
            attribution = self._ownership.attributions.for_reading_on(link, epoch)
            for each, start, end in account.parts(epoch, lowest, fact.offset):
                each.coverage.skip(start, end, attribution)
            epoch.cursor = epoch.position = fact.offset
        epoch.clamp()
