"""From a reason to a blame: the chain of events that shows it, and the root it hangs on."""

from __future__ import annotations

from collections.abc import Callable

from emulator.events import Event, NotProcessed
from emulator.ledger.causes import reason_for_repeat, reason_for_skip
from emulator.ledger.coordinator_causes import two_owners
from emulator.ledger.entries import Cause, Link, Root
from emulator.ledger.epochs import Blame, Epoch
from emulator.ledger.leaders import Leaders
from emulator.ledger.openings import Opening, Reason
from emulator.ledger.roots import START, Roots

TroubleOf = Callable[[str], Link | None]
"""The newest sign that a consumer, by name, may have become a zombie."""

LET_GO = {"discarded": Cause.DISCARDED}


class Blames:
    """Makes blames; knows the roots of events and what befell each consumer."""

    __slots__ = ("_leaders", "_roots", "_trouble_of")

    def __init__(self, roots: Roots, leaders: Leaders, trouble_of: TroubleOf) -> None:
        self._roots = roots
        self._leaders = leaders
        self._trouble_of = trouble_of

    def for_repeat(self, opening: Opening) -> Blame:
        """Say why what the owner before had processed is processed again."""
        return self._blame(reason_for_repeat(opening), opening.before, opening.epoch)

    def for_skip(self, opening: Opening, *, virtual: bool = False) -> Blame:
        """Say why an epoch began beyond the frontier; a *virtual* one never really opened."""
        reason = reason_for_skip(opening)
        return self._blame(reason, opening.before, None if virtual else opening.epoch)

    def for_concurrence(self, epoch: Epoch, other: Epoch) -> Blame:
        """Blame two owners for what both processed after the later of them had opened."""
        older, newer = sorted((epoch, other), key=lambda each: each.number)
        if newer.concurrent is None:
            newer.concurrent = {}
        blame = newer.concurrent.get(older.number)
        if blame is None:
            reason = two_owners(self._leaders.of(epoch.group))
            blame = self._blame(reason, older, newer)
            newer.concurrent[older.number] = blame
        return blame

    def for_letting_go(self, event: Event, what: NotProcessed, epoch: Epoch) -> Blame:
        """Blame the handler for records it was handed and let go."""
        link = Link(event.id, event.at_us, f"{what.consumer} let {what.partition} go: {what.why}")
        return self._blame(Reason(LET_GO.get(what.why, Cause.SKIPPED), "", (link,)), epoch, None)

    def for_truncation(self, link: Link, before: Epoch | None, *, clean: bool) -> Blame:
        """Blame an election for records that are gone; a clean one: who acknowledged them."""
        cause = Cause.LEADER_ALONE if clean else Cause.TRUNCATED
        return self._blame(Reason(cause, "", (link,)), before, None)

    def for_reading_on(self, link: Link, epoch: Epoch) -> Blame:
        """Blame an unclean election for records that have the offsets of others, read before."""
        reason = Reason(Cause.TRUNCATED, "position not checked", (epoch.cut, link))
        return self._blame(reason, epoch, None)

    def for_hole(self, event: Event, epoch: Epoch) -> Blame:
        """Blame the handler for records it passed over without a word."""
        link = Link(event.id, event.at_us, f"{epoch.consumer} went on beyond {epoch.cursor}")
        return self._blame(Reason(Cause.SKIPPED, "", (link,)), epoch, None)

    def root_of(self, event_id: int, *parties: str) -> Root | None:
        """Return the root of one event."""
        return self._roots.find((event_id,), parties)

    def _blame(self, reason: Reason, before: Epoch | None, after: Epoch | None) -> Blame:
        shown = [link for link in reason.evidence if link is not None]
        shown += self._ends(before, after)
        root = self._roots.find([link.event for link in shown], _parties(before, after))
        if root is not None and root.verb == START and not _came_between(root, before):
            root = None
        if before is not None:
            shown.append(before.opened)
        if root is not None:
            shown.append(Link(root.event, root.at_us, f"{root.verb} {root.target}".strip()))
        chain = tuple({link.event: link for link in sorted(shown)}.values())
        return Blame(reason.cause, reason.detail, root, chain, before, after)

    def _ends(self, before: Epoch | None, after: Epoch | None) -> list[Link]:
        """Return what ended or disturbed the owner before, and where the one after began."""
        links = []
        if before is not None:
            trouble = self._trouble_of(before.consumer)
            if trouble is not None and trouble.event > before.opened_event:
                links.append(trouble)
            if before.closed is not None:
                links.append(before.closed)
        if after is not None:
            links.append(after.opened)
        return links


def _came_between(start: Root, before: Epoch | None) -> bool:
    """Say whether a process started while the owner before was at work: it joined."""
    return before is not None and start.event > before.opened_event


def _parties(before: Epoch | None, after: Epoch | None) -> tuple[str, ...]:
    epochs = [epoch for epoch in (before, after) if epoch is not None]
    if not epochs:
        return ()
    topic, group = epochs[0].partition.topic, epochs[0].group
    return (*(epoch.consumer for epoch in epochs), group, topic)
