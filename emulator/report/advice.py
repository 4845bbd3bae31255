"""What stands behind each cause in a ledger, and what would help, in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from emulator.measure.ledger.entries import Cause
from emulator.measure.meters.metrics import Metrics
from emulator.report.hints import HINTS, Case
from emulator.report.subject import GroupFacts, Subject

LONG_STANDSTILL_S = 10
LEAST_HEARTBEATS = 4
"""A session timeout of so many heartbeat intervals is short already."""

SHORTER_SESSION = (
    "Stand-still: a dead member is noticed after {session.timeout.ms}. A smaller one, not below "
    "three times {heartbeat.interval.ms}, ends it sooner; the price: living members are given up "
    "after shorter pauses."
)

GIVEN_TWICE = "The assignor gave the partition to several members, and all of them worked on it."
SHARED_OFFSETS = (
    "Members that each need every record commit to the group's one set of offsets: one of them "
    "began behind what another had committed."
)

_SETTING = re.compile(r"\{([a-z.]+)\}")


def reason_of(case: Case) -> str:
    """Return what happened where a ledger names this cause."""
    if case.cause is Cause.TWO_OWNERS and case.given_twice:
        return GIVEN_TWICE
    if case.cause is Cause.COMMITTED_AHEAD and case.group.shared:
        return SHARED_OFFSETS
    return WHY[case.cause]


def hints_for(case: Case) -> list[str]:
    """Return what would help, the most useful first, with the settings now in force."""
    hints = [hint.text for hint in HINTS[case.cause] if hint.when(case)]
    return [_with_values(hint, case.subject, case.group) for hint in hints]


def standstill_hints(subject: Subject, metrics: Metrics) -> list[str]:
    """Return what would shorten a stand-still that was a wait for the session timeout."""
    short = metrics["standstill_max_s"] < LONG_STANDSTILL_S
    if short or "session expired" not in metrics.tables["evictions.by_reason"]:
        return []
    group = max(subject.groups, key=lambda group: int(group.settings["session.timeout.ms"]))
    least_ms = LEAST_HEARTBEATS * int(group.settings["heartbeat.interval.ms"])
    if int(group.settings["session.timeout.ms"]) <= least_ms:
        return []
    return [_with_values(SHORTER_SESSION, subject, group)]


def _with_values(text: str, subject: Subject, group: GroupFacts) -> str:
    values = {**subject.broker_settings, **group.settings}
    return _SETTING.sub(lambda match: f"{match[1]} (now {values[match[1]]})", text)


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
    Cause.OUT_OF_RANGE: "The log had no record at the position any more, and it was reset.",
    Cause.RESET: "The position was reset although an offset had been committed before.",
    Cause.NOT_REPLICATED: (
        "The coordinator had accepted the commit, and lost it with its broker, before the commit "
        "was on other brokers."
    ),
    Cause.MESSAGE_LOST: (
        "A commit, or the answer to it, never arrived; the next owner began at the commit before."
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
    Cause.DISCARDED: (
        "After a refused commit the rest of the batch was thrown away, and the consumer went on "
        "behind it."
    ),
    Cause.SKIPPED: "The handler failed on the records and went on with the next ones.",
}
