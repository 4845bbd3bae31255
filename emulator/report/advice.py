"""What stands behind each cause in a ledger, and what would help, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from emulator.ledger.causes import NOT_ON_NEXT_LEADER, UNCLEAN
from emulator.ledger.entries import Cause
from emulator.metrics.metrics import Metrics
from emulator.report.cases import Case, closed, raced
from emulator.report.hints import HINTS
from emulator.report.subject import GroupFacts, Subject

LONG_STANDSTILL_S = 10
LEAST_HEARTBEATS = 4
"""A session timeout of so many heartbeat intervals is short already."""

SHORTER_SESSION = (
    "Stand-still: a dead member is noticed after {session.timeout.ms}. A smaller one, not below "
    "three times {heartbeat.interval.ms}, ends it sooner; the price: living members are given up "
    "after shorter pauses."
)

MISSED_SOONER = (
    "Nothing to read: a dead broker is missed after {broker.session.timeout.ms}, and until then "
    "nothing new comes from any partition that has a replica in sync on it, nor can be committed "
    "there. A smaller one ends that sooner; the price: living brokers are given up after shorter "
    "pauses. Nobody waits for a broker that is stopped in order."
)

GIVEN_TWICE = "The assignor gave the partition to several members, and all of them worked on it."
TWO_COORDINATORS = (
    "Two brokers believed that they coordinate the group, and each gave the partition to a member "
    "of its own; both worked on it."
)
SHARED_OFFSETS = (
    "Members that each need every record commit to the group's one set of offsets: one of them "
    "began behind what another had committed."
)

AHEAD_BY_THE_OTHER_THREAD = (
    "Another thread than the handler's makes the automatic commit, and took the position behind "
    "the batch that poll() was just handing out; the process ended before it had processed it."
)

APPENDED_ONLY = (
    "The coordinator had appended the commit, but not yet acknowledged it, when its broker died: "
    "the replica that leads now did not have it."
)
ACKNOWLEDGED_AND_LOST = (
    "An unclean election: the replica that leads now was not in sync and lacks the newest commits, "
    "those too that had been acknowledged."
)
"""Why a commit is not on the next leader, where the entries of a group agree on it."""

_SETTING = re.compile(r"\{([a-z.]+)\}")


def reason_of(case: Case) -> str:
    """Return what happened where a ledger names this cause."""
    if case.cause is Cause.TWO_OWNERS and case.given_twice:
        return GIVEN_TWICE
    if case.cause is Cause.TWO_OWNERS and case.said("two coordinators"):
        return TWO_COORDINATORS
    if case.cause is Cause.COMMITTED_AHEAD and case.group.shared:
        return SHARED_OFFSETS
    if case.cause is Cause.COMMITTED_AHEAD and raced(case) and not closed(case):
        return AHEAD_BY_THE_OTHER_THREAD
    if case.cause is Cause.NOT_REPLICATED and case.said(UNCLEAN) != case.said(NOT_ON_NEXT_LEADER):
        return ACKNOWLEDGED_AND_LOST if case.said(UNCLEAN) else APPENDED_ONLY
    return WHY[case.cause]


def hints_for(case: Case) -> list[str]:
    """Return what would help, the most useful first, with the settings now in force."""
    hints = [hint.text for hint in HINTS[case.cause] if hint.when(case)]
    return [_with_values(hint, case.subject, case.group) for hint in hints]


def standstill_hints(subject: Subject, metrics: Metrics) -> list[str]:
    """Return what would shorten a wait for a session timeout, of a member or of a broker."""
    return [*_for_members(subject, metrics), *_for_brokers(subject, metrics)]


def _for_brokers(subject: Subject, metrics: Metrics) -> list[str]:
    timeout_ms = int(subject.broker_settings["broker.session.timeout.ms"])
    if metrics["unreadable_max_s"] * 1_000 < timeout_ms:
        return []
    return [_with_values(MISSED_SOONER, subject, subject.groups[0])]


def _for_members(subject: Subject, metrics: Metrics) -> list[str]:
    short = metrics["standstill_max_s"] < LONG_STANDSTILL_S
    if short or "session expired" not in metrics.tables["evictions.by_reason"]:
        return []
    group = max(subject.groups, key=lambda group: int(group.value("session.timeout.ms")))
    least_ms = LEAST_HEARTBEATS * int(group.value("heartbeat.interval.ms"))
    if int(group.value("session.timeout.ms")) <= least_ms:
        return []
    return [_with_values(SHORTER_SESSION, subject, group)]


def _with_values(text: str, subject: Subject, group: GroupFacts) -> str:
    values = {**subject.broker_settings, **group.settings}

    def told(match: re.Match[str]) -> str:
        name = group.name_of(match[1])
        return f"{name} (now {_spelled(values[name])})"

    return _SETTING.sub(told, text)


def _spelled(value: Any) -> str:
    """Return a setting's value as Kafka's files have it: ``true``, and lists with commas."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


WHY: Mapping[Cause, str] = {
    Cause.SOUGHT: "The application set the position itself.",
    Cause.REWIND: "An older offset was committed over a newer one; the next owner began there.",
    Cause.OFF_BY_ONE: (
        "The offset of the last processed record was committed. Kafka takes a committed offset as "
        "the next one to read, so that record is read again."
    ),
    Cause.EXPIRED: (
        "The committed offsets had expired: the group had no members, or did not read the topic, "
        "for longer than brokers keep offsets. The position was reset."
    ),
    Cause.DELETED: "The committed offsets had been deleted, and the position was reset.",
    Cause.OUT_OF_RANGE: (
        "The log did not reach as far as the position, or began only behind it, and the position "
        "was reset: the broker had been asked for an offset that it does not have."
    ),
    Cause.RESET: (
        "An administrator had set the committed offset to another one, or a client reset its "
        "position though an offset was committed."
    ),
    Cause.STALE_COORDINATOR: (
        "Another broker had been elected to coordinate the group, but the old coordinator did not "
        "know: a commit went to it, into a log that was cut off later, or it told an offset that "
        "was old."
    ),
    Cause.NOT_REPLICATED: (
        "The coordinator had appended the commit, and the replica that leads now does not have "
        "it: it was not acknowledged yet when the coordinator's broker died, or it had been "
        "acknowledged and an unclean election dropped it."
    ),
    Cause.MESSAGE_LOST: (
        "A commit never arrived, or the answer to it: lost on its way, or nobody was there to take "
        "it. The next owner began at the commit before."
    ),
    Cause.LOADING: (
        "The group had a new coordinator, which was still reading its offsets partition. It "
        "answers heartbeats meanwhile, so nobody is evicted, but refuses every commit."
    ),
    Cause.REFUSED: (
        "The commit of what had been processed was refused; the next owner began at the commit "
        "before."
    ),
    Cause.TWO_OWNERS: (
        "The group had given a member up and its partitions to others, but the member was alive "
        "and still worked on what it had in hand."
    ),
    Cause.KEPT_REWOUND: (
        "A member had to give its partition up in a rebalance, got it back, and began again at "
        "the last committed offset, which lay before what it had processed."
    ),
    Cause.REVOKED: (
        "A partition went to another member before what its old owner had processed of it was "
        "committed."
    ),
    Cause.CRASHED: "The process died with records processed whose offsets were not committed yet.",
    Cause.RESET_TO_LATEST: (
        "A member began at the end of the partition, because no offset was committed for it; "
        "what was there already was passed over."
    ),
    Cause.RESET_BY_DURATION: (
        "A member began some time back in the partition, because no offset was committed for it; "
        "what was older was passed over."
    ),
    Cause.RETENTION: "Records were deleted by retention before the group had read them.",
    Cause.COMMITTED_AHEAD: (
        "Offsets were committed before their records were processed; the next owner began behind "
        "those records."
    ),
    Cause.TRUNCATED: (
        "A replica that lacked the newest records was elected to lead the partition. They are gone, "
        "and other records have their offsets now."
    ),
    Cause.LEADER_ALONE: (
        "The producer asked for the leader's word alone (acks=1), and the leader died or was stopped "
        "before another replica had the records. The next one never had them: no consumer could see "
        "them."
    ),
    Cause.DISCARDED: (
        "After a refused commit the rest of the batch was thrown away, and the consumer went on "
        "behind it."
    ),
    Cause.SKIPPED: "The handler failed on the records and went on with the next ones.",
}
