"""Measure rebalances: count, reasons, duration of each phase, rounds, and moved partitions.

A *rebalance* is one join phase that began after the group first became stable. An *upheaval* is a
rebalance with its follow-ups: while a partition is unassigned although its old owner is still a
member (a cooperative hand-over), the rebalance that this donor begins is a further *round* of the
same upheaval.

Under the consumer protocol a rebalance begins when the group epoch rises; its first phase ends when
the target is computed, its second when the last member has reached it. Later increases of the epoch
meanwhile belong to it. The first member gets all partitions at once and is a stable group by
itself: the joins of consumers that had been started by then still form the group.

A coordinator that was replaced without noticing it may rebalance the group from an outdated
generation. That rebalance counts, and does not affect the newer coordinator's rebalances.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.moves import Moves, Owners, count_moves
from emulator.metrics.readings import Handler, Reading, Row, longest, seconds

REASONS = (
    ("Adding new member", "member added"),
    ("Leader", "leader joined again"),
    ("Updating metadata", "member joined again"),
    ("removing member", "session expired"),
    ("explicit `LeaveGroup`", "member left"),
    ("Removing", "no SyncGroup in time"),
    ("Group's selectedProtocol", "assignor changed"),
    ("Error", "assignment not stored"),
    ("Freshly-loaded group", "group over its size limit"),
)
"""How the reason in the coordinator's log begins, and its meaning."""

OWN_WORDS = ("Leader", "Updating metadata")
"""Reasons after which the client's own reason is more specific."""

_IDS = re.compile(r"\S*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def reason_kind(reason: str) -> str:
    """Return the reason of a rebalance without ids.

    >>> reason_kind("removing member m1-8e4ff3ba on heartbeat expiration.")
    'session expired'
    >>> reason_kind("Leader m1-8e during Stable; client reason: cached metadata has changed")
    'cached metadata has changed'
    """
    _, _, own = reason.partition("; client reason: ")
    if reason.startswith(OWN_WORDS) and own not in ("", "not provided"):
        return _IDS.sub("…", own)
    for beginning, meaning in REASONS:
        if reason.startswith(beginning):
            return meaning
    return _IDS.sub("…", reason)


@dataclass(slots=True)
class Round:
    """One join phase and its outcome."""

    group: str
    reason: str
    consumer: str
    started_us: int
    left: int = -1
    """The previous generation; -1: the group counts epochs."""

    generation: int = 0
    joined_us: int | None = None
    stable_us: int | None = None
    members: int = 0


@dataclass(slots=True)
class Upheaval:
    """Rounds that belong together: a rebalance with its follow-ups."""

    started_us: int
    before: dict[TopicPartition, str]
    """The owners when the first round began."""

    rounds: int = 0
    donors: frozenset[str] = frozenset()
    """Members that have not yet revoked partitions that are unassigned."""

    stable_us: int = 0
    after: dict[TopicPartition, str] = field(default_factory=dict)
    members: tuple[str, ...] = ()


@dataclass(slots=True)
class GroupState:
    """The state of one group between events."""

    stable: bool = False
    expected: set[str] = field(default_factory=set)
    """Consumers that were started before the group was first stable, and have not joined."""

    forming: bool = False
    """Whether its current round (consumer protocol) admits such consumers, and is no rebalance."""

    owners: dict[TopicPartition, str] = field(default_factory=dict)
    round: Round | None = None
    upheaval: Upheaval | None = None


class RebalanceMeter:
    """Follows every group's join and sync phases."""

    def __init__(self) -> None:
        self._deleted: set[str] = set()
        self._generations = 0
        self._groups: dict[str, GroupState] = {}
        self._moves = Moves()
        self._rounds: list[Round] = []
        self._settled_us: list[int] = []
        self._rounds_max = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._awaited,
            ev.ConsumerStopped: self._given_up,
            ev.TopicCreated: self._topic_created,
            ev.TopicDeleted: self._topic_deleted,
            ev.RebalanceStarted: self._started,
            ev.JoinPhaseEnded: self._joined,
            ev.GroupEpochRaised: self._raised,
            ev.TargetComputed: self._aimed,
            ev.GroupStabilised: self._stabilised,
            ev.GroupEmptied: self._emptied,
            ev.CoordinatorMoved: self._coordinator_moved,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the metrics of all rebalances."""
        for group in self._groups.values():
            self._settle(group)
        joins = [r.joined_us - r.started_us for r in self._rounds if r.joined_us is not None]
        syncs = [
            r.stable_us - r.joined_us
            for r in self._rounds
            if r.stable_us is not None and r.joined_us is not None
        ]
        reasons = Counter(reason_kind(r.reason) for r in self._rounds)
        return Reading(
            values={
                "rebalances": len(self._rounds),
                "generations": self._generations,
                "rounds_max": self._rounds_max,
                "join_phase_total_s": seconds(sum(joins)),
                "join_phase_max_s": longest(joins),
                "sync_phase_total_s": seconds(sum(syncs)),
                "sync_phase_max_s": longest(syncs),
                "time_to_stable_total_s": seconds(sum(self._settled_us)),
                "time_to_stable_max_s": longest(self._settled_us),
                "moved": self._moves.needed + self._moves.unneeded,
                "moved_needed": self._moves.needed,
                "moved_unneeded": self._moves.unneeded,
            },
            tables={"rebalances.by_reason": dict(sorted(reasons.items()))},
            listings={"rebalances": tuple(_row(each) for each in self._rounds)},
        )

    def _group(self, name: str) -> GroupState:
        return self._groups.setdefault(name, GroupState())

    def _topic_created(self, _: ev.Event, what: ev.TopicCreated) -> None:
        self._deleted.discard(what.topic)

    def _topic_deleted(self, _: ev.Event, what: ev.TopicDeleted) -> None:
        self._deleted.add(what.topic)

    def _awaited(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        group = self._group(what.group)
        if not group.stable:
            group.expected.add(what.consumer)

    def _given_up(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._group(what.group).expected.discard(what.consumer)

    def _started(self, event: ev.Event, what: ev.RebalanceStarted | ev.GroupEpochRaised) -> None:
        group = self._group(what.group)
        left = what.generation if isinstance(what, ev.RebalanceStarted) else -1
        begun = Round(what.group, what.reason, what.consumer, event.at_us, left)
        if group.round is not None and -1 < left < group.round.left:
            self._rounds.append(begun)
            return
        group.round = begun
        if not group.stable or group.forming:
            return
        self._rounds.append(begun)
        if group.upheaval is not None and what.consumer not in group.upheaval.donors:
            self._settle(group)
        if group.upheaval is None:
            group.upheaval = Upheaval(event.at_us, group.owners)
        group.upheaval.rounds += 1
        self._rounds_max = max(self._rounds_max, group.upheaval.rounds)

    def _joined(self, event: ev.Event, what: ev.JoinPhaseEnded) -> None:
        current = self._group(what.group).round
        if current is not None and what.generation > current.left:
            current.joined_us, current.generation = event.at_us, what.generation
            current.members = len(what.consumers)

    def _raised(self, event: ev.Event, what: ev.GroupEpochRaised) -> None:
        """Begin a rebalance, unless one is in progress or this only forms the group."""
        group = self._group(what.group)
        forms = what.consumer in group.expected
        group.expected.discard(what.consumer)
        if group.round is None or (group.forming and not forms):
            group.forming = forms
            self._started(event, what)

    def _aimed(self, event: ev.Event, what: ev.TargetComputed) -> None:
        """End the first phase; a replaced target ends it again at its own time."""
        current = self._group(what.group).round
        if current is not None:
            current.joined_us, current.generation = event.at_us, what.epoch

    def _stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        group = self._group(what.group)
        self._generations += 1
        if group.round is not None:
            group.round.stable_us = event.at_us
        after = {p: name for name, partitions in what.assignment for p in partitions}
        members = tuple(name for name, _ in what.assignment)
        donors = self._donors(group.owners, after, members)
        if group.upheaval is not None:
            group.upheaval.donors = donors
            group.upheaval.stable_us = event.at_us
            group.upheaval.after, group.upheaval.members = after, members
            if not donors:
                self._settle(group)
        group.owners = {**group.owners, **after} if donors else after
        group.stable, group.round, group.forming = True, None, False
        group.expected.difference_update(members)

    def _donors(self, before: Owners, after: Owners, members: tuple[str, ...]) -> frozenset[str]:
        """Return the remaining members that owned a partition which is now unassigned."""
        withheld = before.keys() - after.keys()
        owners = {before[p] for p in withheld if p.topic not in self._deleted}
        return frozenset(owners.intersection(members))

    def _settle(self, group: GroupState) -> None:
        """Count the moves of the upheaval and its duration, and end it."""
        upheaval, group.upheaval = group.upheaval, None
        if upheaval is not None and upheaval.stable_us:
            self._moves += count_moves(upheaval.before, upheaval.after, upheaval.members)
            self._settled_us.append(upheaval.stable_us - upheaval.started_us)

    def _emptied(self, _: ev.Event, what: ev.GroupEmptied) -> None:
        group = self._group(what.group)
        if group.round is None or what.generation > group.round.left:
            self._forget(group)

    def _coordinator_moved(self, _: ev.Event, what: ev.CoordinatorMoved) -> None:
        self._forget(self._group(what.group))

    def _forget(self, group: GroupState) -> None:
        """Discard a round that the coordinator no longer has."""
        group.round, group.forming = None, False
        self._settle(group)


def _row(each: Round) -> Row:
    return {
        "group": each.group,
        "generation": each.generation,
        "reason": each.reason,
        "consumer": each.consumer,
        "members": each.members,
        "started_s": seconds(each.started_us),
        "joined_s": None if each.joined_us is None else seconds(each.joined_us),
        "stable_s": None if each.stable_us is None else seconds(each.stable_us),
    }
