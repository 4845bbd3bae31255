"""Logs that lose their end to an election: what becomes of the books.

The records that are gone keep books of their own, a :class:`~.accounts.Tail`: whoever still works
on some that it had fetched does so there. What is produced afterwards has the same offsets and
is counted anew, so that the two never pass for one another. An epoch that was further than the
log now goes stands, in the log as it is, where that was cut; it goes on from there when it is
seen to begin anew, or to read on.
"""

from __future__ import annotations

from emulator import events as ev
from emulator.ledger.accounts import Account
from emulator.ledger.entries import Link
from emulator.ledger.offsets import OffsetBook
from emulator.ledger.ownership import Ownership, link_to


class Truncations:
    """Cuts accounts where logs are cut, and lets epochs go over to what comes after."""

    def __init__(self, ownership: Ownership, offsets: OffsetBook) -> None:
        self._ownership = ownership
        self._offsets = offsets

    def truncated(self, event: ev.Event, what: ev.RecordsTruncated) -> None:
        """Set aside what is gone."""
        span = f"{what.first} to {what.next_offset - 1}"
        link = link_to(event, f"broker {what.broker} leads {what.partition} without {span}")
        topic = self._ownership.topics.of(what.partition.topic)
        topic.truncate(what.partition.partition, what.first, what.incarnation)
        self._offsets.truncated(what.partition, what.first, link)
        for key, account in self._ownership.accounts.items():
            if key.partition == what.partition:
                self._cut(account, what, link)

    def _cut(self, account: Account, what: ev.RecordsTruncated, link: Link) -> None:
        """Divide the books of one group; what its owner had yet to read it cannot have lost."""
        latest = account.latest
        tail = account.truncate(what.first, what.incarnation)
        if latest is not None and latest.closed_event is None:
            tail.coverage.spare(latest.cursor)
        tail.gone = (
            what.next_offset,
            self._ownership.blames.for_truncation(link, latest, clean=what.clean),
        )
        for epoch in {epoch.number: epoch for epoch in account.owners()}.values():
            epoch.cut = link
            epoch.strand(what.first)
        self._ownership.retired.append(tail)

    def read_on(self, event: ev.Event, what: ev.ReadOn) -> None:
        """Let an epoch go over to a newer incarnation of the log, where it is read from now on.

        What lies between where the log was cut and there it has passed over: its position was
        never checked against the log.
        """
        holding = self._ownership.consumer(what.consumer).holdings.get(what.partition)
        if holding is None:
            return
        epoch, account = holding
        crossed = account.cuts_between(epoch.log_incarnation, what.incarnation)
        if not crossed:
            return
        lowest, stood = min(crossed), epoch.finished
        epoch.go_over(what.incarnation, account.cuts_between(what.incarnation), lowest)
        epoch.cursor = stood
        if stood >= lowest:
            blame = self._ownership.blames.for_reading_on(link_to(event, _in_words(what)), epoch)
            for books, start, end in account.parts(epoch, lowest, what.offset):
                books.coverage.pass_over(start, end, blame)
            epoch.cursor = epoch.position = what.offset
        epoch.keep_back()


def _in_words(what: ev.ReadOn) -> str:
    return f"{what.consumer} read {what.partition} on from {what.offset}, unchecked"
