"""Measure rebalances: count, reasons, duration of each phase, rounds, and moved partitions.

A *rebalance* is one join phase that began after the group first became stable. A *series* is a
rebalance with its follow-ups: while a partition is unassigned although its previous owner is still
a member (a cooperative hand-over), the rebalance that this donor begins is a further *round* of the
same series.

Under the consumer protocol a rebalance begins when the group epoch rises; its first phase ends when
the target is computed, its second when the last member has reached it. Later increases of the epoch
meanwhile belong to it. The first member is assigned all partitions at once and is a stable group by
itself: the joins of consumers that had been started by then still form the group and do not count.

A coordinator that was replaced without noticing it may rebalance the members that still send to it.
Those rebalances count, and do not affect the newer coordinator's: each has its own view of the group.

A sync phase is *cut* if it ends without a stable group: another rebalance of the classic protocol begins,
the group becomes empty, or its coordinator moves. With the consumer protocol a newer target continues
the rebalance, also at another coordinator: only an empty group cuts it. A round that a coordinator had
when it was replaced is cut in the view of the group, not in its own: it counts once.

A partition that moved to another owner had to move (*needed*) if the previous owner is gone, or for
balance: with ``P`` partitions and ``M`` members each may own ``P // M``, and ``P % M`` of them one
more, those that own most now. Partitions that remaining members owned beyond that had to move; any
other partition taken from a remaining member was moved *unneeded*. Subscriptions are taken to be
equal; if they differ, balance cannot be reached, and more moves are counted than strictly are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.metrics.readings import Handler, Reading, Row, lasted, longest, seconds

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
"""The first words of the reason in the coordinator's log, and the reason in our tables."""

WITH_CLIENT_REASON = ("Leader", "Updating metadata")
"""Reasons for which the client's own reason, if it gives one, is more specific."""

_IDS = re.compile(r"\S*[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def reason_kind(reason: str) -> str:
    """Return the reason of a rebalance without ids.

    >>> reason_kind("removing member m1-8e4ff3ba on heartbeat expiration.")
    'session expired'
    >>> reason_kind("Leader m1-8e during Stable; client reason: cached metadata has changed")
    'cached metadata has changed'
    """
    _, _, own = reason.partition("; client reason: ")
    if reason.startswith(WITH_CLIENT_REASON) and own not in ("", "not provided"):
        return _IDS.sub("…", own)
    for beginning, meaning in REASONS:
        if reason.startswith(beginning):
            return meaning
    return _IDS.sub("…", reason)


OfCoordinator = (
    ev.RebalanceStarted
    | ev.JoinPhaseEnded
    | ev.GroupEpochRaised
    | ev.TargetComputed
    | ev.GroupStabilised
    | ev.GroupEmptied
)
"""The events of a coordinator that rebalances are measured by."""


@dataclass(slots=True)
class Round:
    """One join phase and its outcome."""

    group: str
    reason: str
    consumer: str
    started_us: int
    previous: int = -1
    """The previous generation; -1: the group counts epochs."""

    generation: int = 0
    joined_us: int | None = None
    stable_us: int | None = None
    cut_us: int | None = None
    """When its sync phase ended without a stable group; None: it did not."""

    members: int = 0

    @property
    def counts_epochs(self) -> bool:
        """Whether it is one of the consumer protocol."""
        return self.previous == -1

    def cut(self, at_us: int) -> None:
        """End its sync phase, if it is in one."""
        if self.joined_us is not None and self.stable_us is None:
            self.cut_us = at_us


@dataclass(slots=True)
class RebalanceSeries:
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
    series: RebalanceSeries | None = None


class RebalanceMeter:
    """Follows every group's join and sync phases."""

    def __init__(self) -> None:
        self._deleted: set[str] = set()
        self._generations = 0
        self._groups: dict[tuple[str, int], GroupState] = {}
        """By group and replaced broker, as :data:`~protocols.values.NOT_REPLACED` says."""

        self._moves = Moves()
        self._rounds: list[Round] = []
        self._durations_us: list[int] = []
        self._rounds_max = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.ConsumerStarted: self._on_consumer_started,
            ev.ConsumerStopped: self._on_consumer_stopped,
            ev.TopicCreated: self._on_topic_created,
            ev.TopicDeleted: self._on_topic_deleted,
            ev.RebalanceStarted: self._on_rebalance_started,
            ev.JoinPhaseEnded: self._on_join_phase_ended,
            ev.GroupEpochRaised: self._on_epoch_raised,
            ev.TargetComputed: self._on_target_computed,
            ev.GroupStabilised: self._on_stabilised,
            ev.GroupEmptied: self._on_emptied,
            ev.CoordinatorMoved: self._on_coordinator_moved,
        }

    def read(self, ended_us: int) -> Reading:
        """Return the metrics of all rebalances."""
        for (_, replaced), group in self._groups.items():
            is_cut = group.round is not None and replaced == ev.NOT_REPLACED
            self._finish_series(group, ended_us if is_cut else None)
        joins = lasted((r.started_us, r.joined_us) for r in self._rounds)
        syncs = lasted((r.joined_us, r.stable_us) for r in self._rounds)
        cut = lasted((r.joined_us, r.cut_us) for r in self._rounds)
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
                "sync_phases_cut": len(cut),
                "sync_phase_cut_total_s": seconds(sum(cut)),
                "time_to_stable_total_s": seconds(sum(self._durations_us)),
                "time_to_stable_max_s": longest(self._durations_us),
                "moved": self._moves.needed + self._moves.unneeded,
                "moved_needed": self._moves.needed,
                "moved_unneeded": self._moves.unneeded,
            },
            tables={"rebalances.by_reason": dict(sorted(reasons.items()))},
            listings={"rebalances": tuple(_row(each) for each in self._rounds)},
        )

    def _group(self, name: str) -> GroupState:
        return self._groups.setdefault((name, ev.NOT_REPLACED), GroupState())

    def _seen_by(self, what: OfCoordinator) -> GroupState:
        """Return the view of the coordinator that reports; a replaced one begins with a copy."""
        key = what.group, what.replaced_broker
        if key not in self._groups and ev.by_replaced_coordinator(what):
            own = self._group(what.group)
            self._groups[key] = GroupState(stable=own.stable, owners=own.owners)
        return self._groups.setdefault(key, GroupState())

    def _on_topic_created(self, _: ev.Event, what: ev.TopicCreated) -> None:
        self._deleted.discard(what.topic)

    def _on_topic_deleted(self, _: ev.Event, what: ev.TopicDeleted) -> None:
        self._deleted.add(what.topic)

    def _on_consumer_started(self, _: ev.Event, what: ev.ConsumerStarted) -> None:
        group = self._group(what.group)
        if not group.stable:
            group.expected.add(what.consumer)

    def _on_consumer_stopped(self, _: ev.Event, what: ev.ConsumerStopped) -> None:
        self._group(what.group).expected.discard(what.consumer)

    def _on_rebalance_started(
        self, event: ev.Event, what: ev.RebalanceStarted | ev.GroupEpochRaised
    ) -> None:
        group = self._seen_by(what)
        previous = what.generation if isinstance(what, ev.RebalanceStarted) else -1
        interrupted = group.round
        if interrupted is not None:
            interrupted.cut(event.at_us)
        round_ = Round(what.group, what.reason, what.consumer, event.at_us, previous)
        group.round = round_
        if not group.stable or group.forming:
            return
        self._rounds.append(round_)
        began_us = event.at_us
        if group.series is not None and what.consumer not in group.series.donors:
            if interrupted is None:
                self._finish_series(group)
            else:
                began_us = group.series.started_us
                self._end_series(group)
        if group.series is None:
            group.series = RebalanceSeries(began_us, group.owners)
        group.series.rounds += 1
        self._rounds_max = max(self._rounds_max, group.series.rounds)

    def _on_join_phase_ended(self, event: ev.Event, what: ev.JoinPhaseEnded) -> None:
        current = self._seen_by(what).round
        if current is not None and what.generation > current.previous:
            current.joined_us, current.generation = event.at_us, what.generation
            current.members = len(what.consumers)

    def _on_epoch_raised(self, event: ev.Event, what: ev.GroupEpochRaised) -> None:
        """Begin a rebalance, unless one is in progress or this only forms the group."""
        group = self._seen_by(what)
        forms = what.consumer in group.expected
        group.expected.discard(what.consumer)
        if group.round is None or (group.forming and not forms):
            group.forming = forms
            self._on_rebalance_started(event, what)

    def _on_target_computed(self, event: ev.Event, what: ev.TargetComputed) -> None:
        """End the first phase; a replaced target ends it again at its own time."""
        current = self._seen_by(what).round
        if current is not None:
            current.joined_us, current.generation = event.at_us, what.epoch

    def _on_stabilised(self, event: ev.Event, what: ev.GroupStabilised) -> None:
        group = self._seen_by(what)
        self._generations += 1
        if group.round is not None:
            group.round.stable_us = event.at_us
        after = {p: name for name, partitions in what.assignment for p in partitions}
        members = tuple(name for name, _ in what.assignment)
        donors = self._donors(group.owners, after, members)
        if group.series is not None:
            group.series.donors = donors
            group.series.stable_us = event.at_us
            group.series.after, group.series.members = after, members
            if not donors:
                self._finish_series(group)
        group.owners = {**group.owners, **after} if donors else after
        group.stable, group.round, group.forming = True, None, False
        group.expected.difference_update(members)

    def _donors(self, before: Owners, after: Owners, members: tuple[str, ...]) -> frozenset[str]:
        """Return the remaining members that owned a partition which is now unassigned."""
        withheld = before.keys() - after.keys()
        owners = {before[p] for p in withheld if p.topic not in self._deleted}
        return frozenset(owners.intersection(members))

    def _end_series(self, group: GroupState) -> RebalanceSeries | None:
        """Count the moves of the series, and end it."""
        series, group.series = group.series, None
        if series is not None and series.stable_us:
            self._moves += count_moves(series.before, series.after, series.members)
        return series

    def _finish_series(self, group: GroupState, cut_us: int | None = None) -> None:
        """Count the moves of the series and its duration, and end it; *cut_us*: when its last phase was cut."""
        series = self._end_series(group)
        if series is not None and (ended_us := cut_us or series.stable_us):
            self._durations_us.append(ended_us - series.started_us)

    def _on_emptied(self, event: ev.Event, what: ev.GroupEmptied) -> None:
        group = self._seen_by(what)
        if group.round is not None:
            if what.generation <= group.round.previous:
                return
            group.round.cut(event.at_us)
        self._discard_round(group, None if ev.by_replaced_coordinator(what) else event.at_us)

    def _on_coordinator_moved(self, event: ev.Event, what: ev.CoordinatorMoved) -> None:
        group = self._group(what.group)
        if group.round is not None and not group.round.counts_epochs:
            group.round.cut(event.at_us)
        self._discard_round(group, event.at_us)

    def _discard_round(self, group: GroupState, at_us: int | None = None) -> None:
        """Discard a round that the coordinator no longer has; *at_us*: when that counts as its end."""
        self._finish_series(group, None if group.round is None else at_us)
        group.round, group.forming = None, False


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
        "cut_s": None if each.cut_us is None else seconds(each.cut_us),
    }


Owners = Mapping[TopicPartition, str]


@dataclass(frozen=True, slots=True)
class Moves:
    """The number of partitions that changed their owner."""

    needed: int = 0
    unneeded: int = 0

    def __add__(self, other: Moves) -> Moves:
        return Moves(self.needed + other.needed, self.unneeded + other.unneeded)


def count_moves(before: Owners, after: Owners, members: tuple[str, ...]) -> Moves:
    """Compare the owners before and after; *members* are those of the new generation.

    Partitions without an owner before or now have not moved.

    >>> t = [TopicPartition("t", n) for n in range(6)]
    >>> before = dict(zip(t, "aaabbb"))
    >>> count_moves(before, dict(zip(t, "aacbbc")), ("a", "b", "c"))
    Moves(needed=2, unneeded=0)
    >>> count_moves(before, dict(zip(t, "aabbcc")), ("a", "b", "c"))
    Moves(needed=2, unneeded=1)
    >>> count_moves(before, dict(zip(t, "bbbbbb")), ("b",))
    Moves(needed=3, unneeded=0)
    """
    staying = set(members)
    orphaned = taken = 0
    for partition, owner in after.items():
        old = before.get(partition, owner)
        if old != owner and old in staying:
            taken += 1
        elif old != owner:
            orphaned += 1
    held = Counter(dict.fromkeys(members, 0))
    held.update(before[p] for p in after if before.get(p) in staying)
    forced = min(taken, _surplus(sorted(held.values(), reverse=True), len(after)))
    return Moves(orphaned + forced, taken - forced)


def _surplus(held: list[int], partitions: int) -> int:
    """Return the number of partitions beyond a balanced share, largest owners first."""
    if not held:
        return 0
    share, extra = divmod(partitions, len(held))
    shares = (share + (place < extra) for place in range(len(held)))
    return sum(max(0, count - due) for count, due in zip(held, shares, strict=True))
