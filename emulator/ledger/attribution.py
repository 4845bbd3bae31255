"""Attributions: causes with the chain of events that shows them, and with their root.

:class:`Roots` follows the ``cause`` of each event: an event inherits the root of the event that
caused it. Faults are kept for the whole run, other roots for the newest :data:`REMEMBERED` events.
Histories without causes (of a real cluster) are matched by the names of consumers, groups and
topics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice

from emulator.events import (
    ConsumerStarted,
    End,
    Event,
    FaultBegan,
    NotProcessed,
    PositionSource,
    StoreRestored,
)
from emulator.events.consumers import RESETS
from emulator.ledger.causes import (
    Opening,
    Reason,
    reason_for_repeat,
    reason_for_skip,
    two_owners,
)
from emulator.ledger.cluster import UNKNOWN_COORDINATOR, Coordinators, link_to
from emulator.ledger.entries import Cause, Link, Root, Step
from emulator.ledger.epochs import Attribution, Epoch

REMEMBERED = 1 << 16

IN_ANOTHER_STORE = "the newest commit is in the other store"

NOT_READ = (*RESETS, PositionSource.SEEK)

BY_HAND = "assign()"
"""The detail of two owners of which one has assigned the partition to itself."""

UNFINISHED = "records in progress at the revocation"
"""The detail of two owners of which the older one has given the partition up."""

RESULTS_REMOVED = "results removed by a restored backup"

START = "start process"
"""The verb of a root that is not a fault but the start of a process."""

CHANGES_OF_TOPICS = frozenset({"create_topic", "delete_topic", "add_partitions", "subscribe"})
"""The verbs of acts that members learn of by their metadata: each may begin a rebalance."""

_NAMES = re.compile(r"[^\s,|<>()\[\]]+")


class Roots:
    """The roots of recent events, and the newest fault or start that names each party."""

    __slots__ = ("_faults", "_newest", "_newest_of", "_root_of", "_topics_changed")

    def __init__(self) -> None:
        self._faults: dict[int, Root] = {}
        self._root_of: dict[int, Root] = {}
        self._newest_of: dict[str, Root] = {}
        self._newest: Root | None = None
        self._topics_changed: Root | None = None

    def follow(self, event: Event) -> None:
        """Set the root of *event* to the root of its cause; a fault is its own root."""
        fact = event.what
        if type(fact) is FaultBegan:
            self._on_fault(event, fact)
            return
        root = None if event.cause is None else self.of(event.cause)
        if type(fact) is ConsumerStarted:
            root = self._on_started(event, fact, root)
        if root is not None and event.id is not None:
            self._remember(event.id, root)

    def of(self, event_id: int) -> Root | None:
        """Return the root of an event; None if it has none or is too old."""
        return self._root_of.get(event_id) or self._faults.get(event_id)

    def find(self, links: Iterable[Link], parties: Iterable[str]) -> Root | None:
        """Return the root of the events of *links*, the first of them first.

        A fault takes precedence over the start of a process. If no link leads to a fault, return
        the newest fault that names one of *parties*, or else the newest fault of all.
        """
        events = [link.cause if link.event is None else link.event for link in links]
        roots = [None if event is None else self.of(event) for event in events]
        linked = [root for root in roots if root is not None]
        named = [self._newest_of[party] for party in parties if party in self._newest_of]
        for root in linked:
            if root.verb != START:
                return root
        likely = linked + [root for root in named if root.verb != START]
        return _newest(likely) or _newest(named) or self._newest

    def topics_changed_during(self, epoch: Epoch | None) -> Root | None:
        """Return the newest change of topics, if it came after an epoch had opened."""
        changed = self._topics_changed
        if epoch is None or changed is None or changed.instant <= epoch.opened.instant:
            return None
        return changed

    def _on_fault(self, event: Event, fact: FaultBegan) -> None:
        assert event.id is not None, "a fault is a control event"
        root = Root(event.id, event.at_us, fact.fault, fact.verb, fact.target, event.row)
        self._newest = root
        if fact.verb in CHANGES_OF_TOPICS:
            self._topics_changed = root
        for party in _NAMES.findall(fact.target):
            self._newest_of[party] = root
        self._faults[event.id] = root

    def _on_started(self, event: Event, fact: ConsumerStarted, root: Root | None) -> Root:
        """Treat a process start without a known cause as a root."""
        if root is None:
            name = fact.consumer
            assert event.id is not None, "the start of a process is a control event"
            root = Root(event.id, event.at_us, f"start {name}", START, name, event.row)
            named = self._newest_of.get(name)
            if named is None or named.verb == START:
                self._newest_of[name] = root
        return root

    def _remember(self, event_id: int, root: Root) -> None:
        self._root_of[event_id] = root
        if len(self._root_of) > 2 * REMEMBERED:
            for old in list(islice(self._root_of, REMEMBERED)):
                del self._root_of[old]


TroubleOf = Callable[[str], Link | None]
"""Returns the newest sign that a consumer, by name, may be a zombie."""


class Attributions:
    """Builds attributions from reasons, the roots of events, and the state of consumers."""

    __slots__ = ("_coordinators", "_roots", "_trouble_of")

    def __init__(self, roots: Roots, coordinators: Coordinators, trouble_of: TroubleOf) -> None:
        self._roots = roots
        self._coordinators = coordinators
        self._trouble_of = trouble_of

    def for_repeat(self, opening: Opening) -> Attribution:
        """Return why an epoch reprocesses what the previous owner had processed."""
        reason = reason_for_repeat(opening)
        if _read_elsewhere(opening):
            reason = Reason(reason.cause, IN_ANOTHER_STORE, (opening.committed.link,))
        return self._attribute(reason, opening.before, opening.epoch)

    def for_skip(self, opening: Opening, *, virtual: bool = False) -> Attribution:
        """Return why an epoch began beyond the frontier; a *virtual* one never opened."""
        reason = reason_for_skip(opening)
        return self._attribute(reason, opening.before, None if virtual else opening.epoch)

    def for_concurrence(self, epoch: Epoch, other: Epoch) -> Attribution:
        """Return why two open epochs processed the same records."""
        older, newer = sorted((epoch, other), key=lambda each: each.number)
        if newer.concurrent is None:
            newer.concurrent = {}
        attribution = newer.concurrent.get(older.number)
        if attribution is None:
            reason = two_owners(self._coordinators.of(epoch.group))
            attribution = self._attribute(reason, older, newer)
            newer.concurrent[older.number] = attribution
        return attribution

    def for_not_processed(self, event: Event, fact: NotProcessed, epoch: Epoch) -> Attribution:
        """Return why a handler did not process records that poll returned."""
        cause = Cause.DISCARDED if fact.why == "discarded" else Cause.SKIPPED
        values = (fact.consumer, str(fact.partition), fact.why)
        link = link_to(event, Step.NOT_PROCESSED, *values)
        return self._attribute(Reason(cause, "", (link,)), epoch, None)

    def for_undone(self, event: Event, fact: StoreRestored, epoch: Epoch | None) -> Attribution:
        """Return why results of records are gone that a backup does not have."""
        link = link_to(event, Step.RESULTS_UNDONE, fact.store, str(fact.partition))
        return self._attribute(Reason(Cause.RESET, RESULTS_REMOVED, (link,)), epoch, None)

    def for_gap(self, event: Event, epoch: Epoch) -> Attribution:
        """Return why a handler continued beyond records without an event for them."""
        link = link_to(event, Step.GAP, epoch.consumer, epoch.cursor)
        return self._attribute(Reason(Cause.SKIPPED, "", (link,)), epoch, None)

    def for_truncation(self, link: Link, before: Epoch | None, *, clean: bool) -> Attribution:
        """Return why an election truncated records; *clean*: only their leader had them."""
        cause = Cause.LEADER_ALONE if clean else Cause.TRUNCATED
        return self._attribute(Reason(cause, "", (link,)), before, None)

    def for_reading_on(self, link: Link, epoch: Epoch) -> Attribution:
        """Return why an epoch skips new records at offsets that it had processed before."""
        reason = Reason(Cause.TRUNCATED, "position not checked", (epoch.truncation, link))
        return self._attribute(reason, epoch, None)

    def root_of(self, link: Link, *parties: str) -> Root | None:
        """Return the root of the event of one link."""
        return self._roots.find((link,), parties)

    def _attribute(self, reason: Reason, before: Epoch | None, after: Epoch | None) -> Attribution:
        if reason.cause is Cause.TWO_OWNERS and _by_hand(before, after):
            reason = Reason(Cause.TWO_OWNERS, BY_HAND)
        elif reason.cause is Cause.TWO_OWNERS and _was_revoked(before):
            reason = Reason(Cause.TWO_OWNERS, UNFINISHED)
        shown = [link for link in reason.evidence if link is not None]
        shown += self._ends(before, after)
        root = self._roots.find(shown, _parties(before, after))
        if root is not None and root.verb == START and not _joined_during(root, before):
            root = self._roots.topics_changed_during(before)
        if before is not None:
            shown.append(before.opened)
        if root is not None:
            values = (root.verb, root.target)
            shown.append(Link(root.event, root.at_us, Step.ROOT, values, root.row))
        ordered = sorted(shown, key=lambda link: (link.instant, link.step, link.values))
        chain = tuple({link.row: link for link in ordered}.values())
        return Attribution(reason.cause, reason.detail, root, chain, before, after)

    def _ends(self, before: Epoch | None, after: Epoch | None) -> list[Link]:
        """Return what ended or disturbed the previous owner, and where the next one began."""
        links = []
        if before is not None:
            trouble = self._trouble_of(before.consumer)
            if trouble is not None and trouble.instant > before.opened.instant:
                links.append(trouble)
            ended = before.closed or before.given_up
            if ended is not None:
                links.append(ended)
        if after is not None:
            links.append(after.opened)
        return links


def _read_elsewhere(opening: Opening) -> bool:
    """Return whether a member has read an older offset from another store than the newest is in.

    A group with offsets outside Kafka has no coordinator that could have lost a commit.
    """
    if opening.coordinators is not UNKNOWN_COORDINATOR or opening.source in NOT_READ:
        return False
    if not opening.committed.outside:
        return False
    return opening.committed.offset > opening.start


def _by_hand(before: Epoch | None, after: Epoch | None) -> bool:
    """Return whether one of two owners has assigned the partition to itself: it has no generation."""
    return any(owner is not None and owner.generation < 0 for owner in (before, after))


def _was_revoked(before: Epoch | None) -> bool:
    """Return whether the older owner has given its partition up in a rebalance."""
    given_up = None if before is None else before.given_up
    return given_up is not None and given_up.values[-1] == End.REVOKED


def _joined_during(start: Root, before: Epoch | None) -> bool:
    """Return whether a process started while the previous owner was processing."""
    return before is not None and start.instant > before.opened.instant


def _newest(roots: list[Root]) -> Root | None:
    return max(roots, key=lambda root: root.instant, default=None)


def _parties(before: Epoch | None, after: Epoch | None) -> tuple[str, ...]:
    epochs = [epoch for epoch in (before, after) if epoch is not None]
    if not epochs:
        return ()
    topic, group = epochs[0].partition.topic, epochs[0].group
    return (*(epoch.consumer for epoch in epochs), group, topic)
