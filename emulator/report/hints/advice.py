"""Explanations of causes, and hints for one run with the settings in force."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from emulator.ledger.attribution import RESULTS_REMOVED
from emulator.ledger.causes import IN_CLOSE, NOT_ON_NEXT_LEADER, UNCLEAN
from emulator.ledger.entries import Cause
from emulator.report.group_state import DescribedGroup
from emulator.report.hints.by_cause import HINTS
from emulator.report.hints.cases import (
    SWITCH,
    Case,
    GivenHint,
    Hint,
    may_commit_ahead,
    only_outside,
)
from emulator.report.hints.owners import (
    COMMITTED_NOWHERE,
    WITHOUT_ID,
    commits_nowhere,
    reason_of_two_owners,
)
from emulator.report.subject import GroupFacts, Subject
from emulator.report.wording import duration

SHARED_OFFSETS = (
    "Several members read the same partition and commit to the group's one offset: a member "
    "started after records that only another member had processed."
)

AHEAD_BY_BACKGROUND_THREAD = (
    "The background thread made the automatic commit with the position after the batch that poll() "
    "was about to return, and the process ended before it had processed that batch."
)

RESULTS_GONE = (
    "A restored backup removed results, and no member went back to their records: the members wrote "
    "newer offsets over the restored ones."
)

APPENDED_ONLY = (
    "The coordinator had appended the commit, but not acknowledged it, when its broker failed. The "
    "new leader does not have it."
)
ACKNOWLEDGED_AND_LOST = (
    "Unclean election: the new leader was not in sync and does not have the newest commits, "
    "including acknowledged ones."
)
"""Used if all entries of a group have the same detail."""

RESET_FROM_OUTSIDE: Mapping[Cause, str] = {
    Cause.RESET_TO_LATEST: (
        "The position was outside the log, and auto.offset.reset=latest moved it to the end. Records up to "
        "there were skipped."
    ),
    Cause.RESET_BY_DURATION: (
        "The position was outside the log, and auto.offset.reset=by_duration moved it to a fixed time "
        "before now. Records up to there were skipped."
    ),
}
"""Why, if each position was outside the log, and not without a committed offset."""

_SETTING = re.compile(r"\{([a-z.]+)\}")


def reason_of(case: Case) -> str:
    """Return the explanation of a cause."""
    if case.cause is Cause.TWO_OWNERS:
        return reason_of_two_owners(case) or WHY[case.cause]
    if commits_nowhere(case):
        return COMMITTED_NOWHERE
    if case.cause is Cause.COMMITTED_AHEAD and case.group.shared:
        return SHARED_OFFSETS
    if (
        case.cause is Cause.COMMITTED_AHEAD
        and may_commit_ahead(case)
        and not case.mentions(IN_CLOSE)
    ):
        return AHEAD_BY_BACKGROUND_THREAD
    if case.cause is Cause.RESET and case.mentions(RESULTS_REMOVED):
        return RESULTS_GONE
    if case.cause in RESET_FROM_OUTSIDE and only_outside(case):
        return RESET_FROM_OUTSIDE[case.cause]
    if case.cause is Cause.NOT_REPLICATED and case.mentions(UNCLEAN) != case.mentions(
        NOT_ON_NEXT_LEADER
    ):
        return ACKNOWLEDGED_AND_LOST if case.mentions(UNCLEAN) else APPENDED_ONLY
    return WHY[case.cause]


def hints_for(case: Case) -> list[GivenHint]:
    """Return the hints for a cause, the most useful first, with the settings in force."""
    known = WITHOUT_ID if commits_nowhere(case) else HINTS[case.cause]
    hints = [hint for hint in known if hint.when(case)]
    return [given(hint, case.subject, case.group) for hint in hints]


def given(hint: Hint, subject: Subject, group: GroupFacts) -> GivenHint:
    """Return a hint for a group, with the values in force."""
    return GivenHint(hint.id, with_values(hint.text, subject, group), group.id)


def with_values(text: str, subject: Subject, group: GroupFacts) -> str:
    """Return a text in which each setting in braces has its name and value in force."""
    values = {**subject.broker_settings, **group.settings}
    if group.deployed_interval_ms is not None:
        values["max.poll.interval.ms"] = group.deployed_interval_ms

    def with_value(match: re.Match[str]) -> str:
        name = group.name_of(match[1])
        if name == "max.poll.records" and name in group.lacks:
            return "batch size"
        return f"{group.own_names.get(name, name)} (now {_spelled(values[name])})"

    return _SETTING.sub(with_value, text.replace(SWITCH, group.switch))


def _spelled(value: Any) -> str:
    """Return a setting's value as in Kafka's property files."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


WHY: Mapping[Cause, str] = {
    Cause.SOUGHT: "The application set the position with seek().",
    Cause.REWIND: "An older offset was committed over a newer one; the next owner started there.",
    Cause.OFF_BY_ONE: (
        "The application committed the offset of the last processed record. A committed offset is "
        "the offset of the next record to read, so that record was read again."
    ),
    Cause.EXPIRED: (
        "The committed offsets had expired: the group had no members, or no member subscribed to "
        "the topic, for longer than offsets.retention.minutes. The position was reset."
    ),
    Cause.DELETED: "The committed offsets had been deleted, and the position was reset.",
    Cause.OUT_OF_RANGE: (
        "The position was outside the log (OFFSET_OUT_OF_RANGE): before its first record or beyond "
        "its last one. The position was reset."
    ),
    Cause.RESET: (
        "An administrator reset the committed offset, a backup of its store was restored, or a "
        "client reset its position although an offset was committed."
    ),
    Cause.STALE_COORDINATOR: (
        "A new coordinator had been elected, but the old one did not know it yet. A commit was "
        "appended to the old coordinator's log and truncated later, or the old coordinator "
        "returned an older offset."
    ),
    Cause.NOT_REPLICATED: (
        "The coordinator appended the commit, but the new leader of the offsets partition does not "
        "have it: the coordinator's broker failed before it acknowledged the commit, or an unclean "
        "election lost an acknowledged commit."
    ),
    Cause.MESSAGE_LOST: (
        "The commit request or its response was lost, or no coordinator was available. The next "
        "owner started at the previous commit."
    ),
    Cause.LOADING: (
        "The group had a new coordinator, which was still loading its offsets partition. While it "
        "loads, it answers heartbeats, so no member is removed, but it refuses every commit."
    ),
    Cause.REFUSED: (
        "The commit of processed records was refused; the next owner started at the previous "
        "commit."
    ),
    Cause.TWO_OWNERS: (
        "The group had removed a member and assigned its partitions to others, but the member was "
        "still running and processed the records that it had polled."
    ),
    Cause.KEPT_REWOUND: (
        "A member revoked its partition in a rebalance, was assigned the same partition again, and "
        "restarted at the last committed offset, which was behind what it had processed."
    ),
    Cause.REVOKED: (
        "A partition was assigned to another member before its old owner had committed everything "
        "that it had processed."
    ),
    Cause.CRASHED: "The process ended before it had committed the records that it had processed.",
    Cause.RESET_TO_LATEST: (
        "A member started at the end of the partition, because no offset was committed for it. "
        "Existing records were skipped."
    ),
    Cause.RESET_BY_DURATION: (
        "A member started a fixed time back in the partition, because no offset was committed for "
        "it. Older records were skipped."
    ),
    Cause.RETENTION: "Retention deleted records before the group had read them.",
    Cause.OLD_TOPIC: (
        "The topic was deleted and created again under the same name. A member that still had the "
        "old topic's partition committed its old offset, which the coordinator stored for the new "
        "topic: the next owner started there."
    ),
    Cause.COMMITTED_AHEAD: (
        "Offsets were committed before their records were processed; the next owner started after "
        "those records."
    ),
    Cause.TRUNCATED: (
        "A replica that did not have the newest records was elected leader of the partition. Those "
        "records are lost, and new records have their offsets."
    ),
    Cause.LEADER_ALONE: (
        "The producer waited for the leader only (acks=1), and the leader failed or was stopped "
        "before another replica had the records. They were below no high watermark, so no consumer "
        "could read them."
    ),
    Cause.DISCARDED: (
        "After a refused commit the application discarded the rest of the batch and continued after "
        "it."
    ),
    Cause.SKIPPED: "The handler failed on the records and continued with the next ones.",
}
LONG_UNSERVED_S = 10
"""Longer than the heartbeat interval of the consumer protocol."""

DOWNGRADE_POLICIES = ("bidirectional", "downgrade")
"""Policies that convert a group to classic when its last KIP-848 member leaves."""

POLICY = "group.consumer.migration.policy"


ONE_CLASSIC_JOIN = Hint(
    "stuck-migration",
    "Heartbeats of classic members do not compute a new target assignment, only a join does. Restart "
    "one of them, or start a member with group.protocol=consumer.",
)
CONVERT_BACK = Hint(
    "migration-policy",
    "Set {group.consumer.migration.policy} to bidirectional or downgrade before you roll members back "
    "to the classic protocol: the group is then converted with the last of them.",
)


def migration_hints(subject: Subject, groups: Sequence[DescribedGroup]) -> Iterator[GivenHint]:
    """Yield hints for groups of the consumer protocol whose members are all classic."""
    for group in groups:
        if group.unserved_us >= LONG_UNSERVED_S * 1_000_000:
            yield GivenHint(
                ONE_CLASSIC_JOIN.id, f"{_stuck(group)} {ONE_CLASSIC_JOIN.text}", group.group
            )
            if subject.broker_settings[POLICY] not in DOWNGRADE_POLICIES:
                yield given(CONVERT_BACK, subject, subject.group(group.group))


def _stuck(group: DescribedGroup) -> str:
    waited = duration(group.unserved_us / 1_000_000)
    return (
        f"{group.group} is a group of the consumer protocol with classic members only, and was in "
        f"Assigning for {waited}."
    )
