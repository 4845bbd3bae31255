"""Certain or probable reasons of rebalances; and deploys, which are series of rebalances.

The log contains the members of a generation, not why a member left. A member that closes commits
last; one whose session expires has not committed for that long. So the time without commits before
the change distinguishes them, if the member used to commit often enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Final

from assignors.values import dataclass
from emulator.logs.imports.generations import Change, Departure, Seen
from emulator.report.wording import duration, joined


class Reason(StrEnum):
    """The reasons of a change."""

    DELETED = "group deleted"
    CONVERTED = "protocol changed"
    CREATED = "group created"
    SEEN_FIRST = "log begins"
    STATIC_REJOIN = "static member returned"
    WRITTEN_AGAIN = "written again"
    FORMED = "group formed"
    EMPTIED = "group became empty"
    EXPIRED = "session expired"
    LATE_POLL = "too long between polls"
    RESTARTED = "member restarted"
    LEFT = "member left"
    GONE = "member left or expired"
    JOINED = "member joined"
    SUBSCRIPTION = "subscription changed"
    TOPICS = "partitions changed"
    SECOND_ROUND = "second cooperative round"
    UNKNOWN = "not in the log"


CERTAIN: Final = frozenset(Reason) - {
    Reason.EXPIRED,
    Reason.LATE_POLL,
    Reason.RESTARTED,
    Reason.LEFT,
    Reason.GONE,
    Reason.SECOND_ROUND,
}
"""Reasons that the log shows; the others are probable."""

NOT_A_REBALANCE: Final = frozenset(
    {
        Reason.DELETED,
        Reason.CREATED,
        Reason.SEEN_FIRST,
        Reason.STATIC_REJOIN,
        Reason.WRITTEN_AGAIN,
    }
)
"""Changes of the group's records without a rejoin."""

_TIMES_MISSED: Final = 1.5
"""This multiple of its usual interval without a commit counts as silence."""

_SHORTEST_SILENCE_MS: Final = 3_000
_FIRST_EPOCHS: Final = {"classic": 1}
_FIRST_EPOCH_OF_OTHERS = 2
"""The epoch of the first members; if the first generation is later, the log is incomplete."""

_FOLLOWS_WITHIN_MS: Final = 30_000
"""Maximum time between related changes: the joins while a group forms, or the two rounds of a
cooperative rebalance, to which members react within a heartbeat or a poll."""

_MAX_WORDS: Final = 3
"""Maximum number of members that are named."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A change with its reason."""

    change: Change
    reason: Reason
    words: str
    """One line for users."""

    @property
    def is_rebalance(self) -> bool:
        """Whether members had to rejoin or to reconcile for it."""
        return self.reason not in NOT_A_REBALANCE


@dataclass(frozen=True, slots=True)
class Habits:
    """When members of a group committed."""

    spans_ms: Mapping[str, list[tuple[int, int]]]
    """First and last commit of each time that a member had a partition, by member id."""

    usual_ms: int | None
    """The p95 of the intervals between commits; None: too few commits."""

    def silence_ms(self, member_id: str, until_ms: int) -> int | None:
        """Return the time since a member's last commit before an instant; None: no commit."""
        ends = [last for _, last in self.spans_ms.get(member_id, ()) if last <= until_ms]
        return until_ms - max(ends) if ends else None

    def others_commit(self, member_id: str, since_ms: int, until_ms: int) -> bool:
        """Return whether another member committed during a time without commits of this one."""
        return any(
            first <= until_ms and last > since_ms and (last <= until_ms or first <= since_ms)
            for other, spans in self.spans_ms.items()
            if other != member_id
            for first, last in spans
        )


def explained(changes: Iterable[Change], habits: Habits) -> list[Explained]:
    """Return the changes with their reasons."""
    result: list[Explained] = []
    before: Change | None = None
    for change in changes:
        result.append(_explained(change, before, habits))
        before = change
    return result


def forming(changes: Sequence[Explained]) -> list[Explained]:
    """Return the changes while a group forms: several if members join one by one."""
    formed: list[Explained] = []
    last_ms: int | None = None
    for each in changes:
        at_ms = each.change.place.at_ms
        soon = last_ms is not None and at_ms - last_ms <= _FOLLOWS_WITHIN_MS
        if each.reason is Reason.FORMED or (each.reason is Reason.JOINED and soon):
            formed.append(each)
            last_ms = at_ms
        else:
            last_ms = None
    return formed


def _explained(change: Change, before: Change | None, habits: Habits) -> Explained:
    reason = _written(change)
    if reason is not None:
        return Explained(change, reason, _WRITTEN_WORDS.get(reason, str(reason)))
    if change.rejoined and change.same_epoch:
        words = f"static {_names(change.rejoined)} returned under a new id, without a rebalance"
        return Explained(change, Reason.STATIC_REJOIN, words)
    if change.same_epoch:
        return Explained(change, Reason.WRITTEN_AGAIN, "the same generation was written again")
    if change.members == 0:
        return Explained(change, Reason.EMPTIED, _emptied(change))
    if change.joined_count == change.members and not change.left_count:
        return Explained(change, Reason.FORMED, f"the group formed: {_joined(change)}")
    if change.left:
        return _with_departures(change, habits)
    return _without_departures(change, before)


_WRITTEN_WORDS: Final = {
    Reason.DELETED: "the group was deleted",
    Reason.CONVERTED: "the group changed its protocol and kept its members",
    Reason.CREATED: "the group was created, without members yet",
    Reason.SEEN_FIRST: "the first generation in what was read",
}


def _written(change: Change) -> Reason | None:
    """Return the reason if the record alone shows it."""
    if change.deleted:
        return Reason.DELETED
    if change.converted and change.joined_count < change.members:
        return Reason.CONVERTED
    if not change.members and not change.left_count and not change.same_epoch:
        return Reason.SEEN_FIRST if change.first and change.epoch else Reason.CREATED
    begins = change.epoch <= _FIRST_EPOCHS.get(change.group_type, _FIRST_EPOCH_OF_OTHERS)
    return Reason.SEEN_FIRST if change.first and not begins else None


# -- with departures -------------------------------------------------------------------------------


def why_left(departure: Departure, at_ms: int, habits: Habits) -> tuple[Reason, int | None]:
    """Return why a member probably left, and the time since its last commit."""
    silence_ms = habits.silence_ms(departure.seen.member_id, at_ms)
    if silence_ms is None:
        return Reason.GONE, None
    usual_ms = habits.usual_ms
    if usual_ms is None:
        return Reason.GONE, silence_ms
    if silence_ms <= max(_TIMES_MISSED * usual_ms, _SHORTEST_SILENCE_MS):
        within = silence_ms <= max(usual_ms, _SHORTEST_SILENCE_MS)
        return (Reason.LEFT if within else Reason.GONE), silence_ms
    if not habits.others_commit(departure.seen.member_id, at_ms - silence_ms, at_ms):
        return Reason.GONE, silence_ms
    session_ms, poll_ms = departure.session_timeout_ms, departure.rebalance_timeout_ms
    if poll_ms is not None and 0 < poll_ms <= silence_ms:
        return Reason.LATE_POLL, silence_ms
    if session_ms is None or session_ms <= silence_ms:
        return Reason.EXPIRED, silence_ms
    return Reason.GONE, silence_ms


def _with_departures(change: Change, habits: Habits) -> Explained:
    names = {(seen.name, seen.host) for seen in change.joined}
    back = [each for each in change.left if (each.seen.name, each.seen.host) in names]
    result = [(each, *why_left(each, change.place.at_ms, habits)) for each in change.left]
    for wanted in (Reason.EXPIRED, Reason.LATE_POLL):
        some = [(each, ms) for each, reason, ms in result if reason is wanted]
        if some:
            words = f"{_VERB[wanted]}: {joined([_silent(*each) for each in some[:_MAX_WORDS]])}"
            return Explained(change, wanted, words + _also_joined(change))
    if back:
        words = f"probably restarted: {_names([each.seen for each in back])}"
        return Explained(change, Reason.RESTARTED, words)
    reason = Reason.LEFT if all(each[1] is Reason.LEFT for each in result) else Reason.GONE
    if reason is Reason.LEFT:
        gone = _names([each.seen for each in change.left], change.left_count)
        return Explained(change, reason, f"probably closed: {gone}{_also_joined(change)}")
    gone = joined([_silent(each, ms) for each, _, ms in result[:_MAX_WORDS]])
    return Explained(change, reason, f"closed, or session expired: {gone}{_also_joined(change)}")


_VERB: Final = {
    Reason.EXPIRED: "session probably expired",
    Reason.LATE_POLL: "probably too long between two polls",
}


def _silent(departure: Departure, silence_ms: int | None) -> str:
    limit = departure.session_timeout_ms
    silent = (
        "never committed" if silence_ms is None else f"silent for {duration(silence_ms / 1000)}"
    )
    timeout = f", session timeout {duration(limit / 1000)}" if limit else ""
    return f"{departure.seen}, {silent}{timeout}"


def _also_joined(change: Change) -> str:
    return f"; joined: {_joined(change)}" if change.joined_count else ""


def _emptied(change: Change) -> str:
    """Return the last members as text; without other members there is no further evidence."""
    words = f"the last members left: {_names([e.seen for e in change.left], change.left_count)}"
    static = any(not each.seen.host for each in change.left)
    return f"{words}; static members do not leave, so their sessions expired" if static else words


# -- without departures ----------------------------------------------------------------------------


def _without_departures(change: Change, before: Change | None) -> Explained:
    if change.joined_count:
        return Explained(change, Reason.JOINED, f"joined: {_joined(change)}")
    if change.resubscribed:
        words = f"changed subscription: {_names(change.resubscribed)}"
        return Explained(change, Reason.SUBSCRIPTION, words)
    if _is_second_round(change, before):
        words = "second round of a cooperative rebalance: revoked partitions were assigned"
        return Explained(change, Reason.SECOND_ROUND, words)
    if change.partitions > change.partitions_before or change.group_type != "classic":
        words = "same members: partitions were added, or topics were created or deleted"
        return Explained(change, Reason.TOPICS, words)
    words = (
        "same members, same partitions: a member requested it (the leader rejoined, a rack changed)"
    )
    return Explained(change, Reason.UNKNOWN, words)


def _is_second_round(change: Change, before: Change | None) -> bool:
    """Return whether the partitions revoked in the round before are assigned now."""
    if before is None or "cooperative" not in (change.assignor or ""):
        return False
    soon = change.place.at_ms - before.place.at_ms <= _FOLLOWS_WITHIN_MS
    return soon and before.partitions < max(before.partitions_before, change.partitions)


def _joined(change: Change) -> str:
    return _names(change.joined, change.joined_count)


def _names(members: Iterable[Seen], count: int | None = None) -> str:
    """Return the names of some members, and the number of the others."""
    named = [str(each) for each in members]
    more = (len(named) if count is None else count) - _MAX_WORDS
    shown = named[:_MAX_WORDS]
    return joined([*shown, f"{more} more"] if more > 0 else shown)


TOGETHER_WITHIN_MS: Final = 180_000
"""Maximum time between two changes of one series."""

MIN_RENEWED: Final = 2
_SHARE: Final = 0.5
_MAX_TIMES: Final = 2
"""Members that are replaced more often than this are flapping, not being deployed."""


@dataclass(frozen=True, slots=True)
class Deploy:
    """A series of changes in which members were replaced."""

    from_ms: int
    to_ms: int
    rebalances: int
    renewed: int
    """Members that were replaced, or returned under a new id."""

    members: int
    """The maximum number of members."""


def deploys(changes: Sequence[Explained]) -> list[Deploy]:
    """Return the deploys, in the order of time."""
    found = (_deploy(series) for series in _series(changes))
    return [each for each in found if each is not None]


def _series(changes: Sequence[Explained]) -> Iterator[list[Explained]]:
    series: list[Explained] = []
    for each in changes:
        if each.reason is Reason.DELETED:
            continue
        if series and _gap_ms(series[-1], each) > TOGETHER_WITHIN_MS:
            yield series
            series = []
        series.append(each)
    if series:
        yield series


def _gap_ms(one: Explained, other: Explained) -> int:
    return other.change.place.at_ms - one.change.place.at_ms


def _deploy(series: Sequence[Explained]) -> Deploy | None:
    """Return a series as a deploy, without the group's forming and end; None: it is not a deploy."""
    most = max(each.change.members for each in series)
    inner = _while_there(series, most)
    if not inner:
        return None
    came = sum(each.change.joined_count for each in inner)
    went = sum(each.change.left_count for each in inner)
    back = {seen for each in inner for seen in _static(each)}
    renewed = min(came, went) + len(back)
    if not max(MIN_RENEWED, _SHARE * most) <= renewed <= _MAX_TIMES * most:
        return None
    rebalances = sum(each.is_rebalance for each in inner)
    first, last = inner[0].change.place.at_ms, inner[-1].change.place.at_ms
    return Deploy(first, last, rebalances, renewed, most)


def _while_there(series: Sequence[Explained], most: int) -> list[Explained]:
    """Return a series without the changes while the group forms and ends."""
    there = [number for number, each in enumerate(series) if each.change.members >= _SHARE * most]
    inner = series[there[0] : there[-1] + 1]
    untouched = takewhile(lambda each: not each.change.left and not each.change.rejoined, series)
    formed = [id(each) for each in forming(list(untouched))]
    return [each for each in inner if id(each) not in formed]


def _static(each: Explained) -> Iterator[str]:
    """Yield the names of static members that returned."""
    yield from (seen.name for seen in each.change.rejoined)
