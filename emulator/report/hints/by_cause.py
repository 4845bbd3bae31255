"""Hints for each cause, with the conditions under which they apply.

A hint names Kafka's settings and its trade-off. Hints that do not apply to the settings in force are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from emulator.ledger.causes import IN_CLOSE
from emulator.ledger.entries import Cause
from emulator.report.hints.cases import (
    BATCHES_WITHIN_GRACE,
    BATCHES_WITHIN_HEARTBEATS,
    COMMIT_AFTER_PROCESSING,
    COMMIT_AFTER_WORK,
    COMMIT_AT_ALL,
    COMMIT_BEFORE_ACKNOWLEDGING,
    COMMIT_FINISHED,
    COMMIT_MORE_OFTEN,
    COMMIT_ON_REVOKE,
    DRAIN_WORKERS,
    IDEMPOTENT,
    LISTENER_CATCHES,
    LOOK_UP_AGAIN,
    RESET_EARLIEST,
    RESTARTS,
    STATIC,
    STAY_A_MEMBER,
    SWITCH,
    WAIT_IN_CLOSE,
    Case,
    Hint,
    auto,
    automatic,
    evicted,
    may_commit_ahead,
    may_repeat,
    only_outside,
    too_slow,
)
from emulator.report.hints.coordinators import COORDINATOR_HINTS, RESET_HINTS, THREE_REPLICAS
from emulator.report.hints.owners import OWNER_HINTS
from emulator.report.subject import Commits


def _unclean(case: Case) -> bool:
    return bool(case.setting("unclean.leader.election.enable"))


def _may_be_alone(case: Case) -> bool:
    """Return whether a leader alone may acknowledge records."""
    return int(case.setting("min.insync.replicas")) < 2


def _without_epoch(case: Case) -> bool:
    """Return whether members commit explicit offsets without the leader epoch."""
    return case.commits(Commits.NO_EPOCH)


CLEAN = Hint(
    "clean-elections",
    "Disable unclean.leader.election.enable: a partition then waits for a replica that has all "
    "acknowledged records. Trade-off: it is unavailable until such a broker is back.",
    _unclean,
)
NEVER_ALONE = Hint(
    "two-in-sync",
    "Set {min.insync.replicas} to at least 2, and acks=all for producers: a leader that is alone in "
    "the ISR then acknowledges nothing. Trade-off: producers wait meanwhile.",
    _may_be_alone,
)
COMMIT_THE_EPOCH = Hint(
    "commit-leader-epoch",
    "Commit the leader epoch together with the offset: ConsumerRecords.nextOffsets(), or an "
    "OffsetAndMetadata with ConsumerRecord.leaderEpoch(). The next owner then asks the leader where "
    "the log was truncated, and continues there (KIP-320).",
    _without_epoch,
)

KEEP_PARTITIONS = (
    Hint(
        "poll-in-time",
        STAY_A_MEMBER[1].text,
        lambda case: case.mentions("lost") and too_slow(case),
    ),
    Hint(
        "session-above-pauses",
        STAY_A_MEMBER[0].text,
        lambda case: case.mentions("lost") and evicted(case),
    ),
)
"""Hints for partitions that were lost with the membership."""

TRUNCATION_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.OUT_OF_RANGE: (
        COMMIT_THE_EPOCH,
        CLEAN,
        NEVER_ALONE,
        Hint(
            "longer-retention",
            "Keep records longer than the maximum lag of the group (retention.ms of the topic).",
            lambda case: not _unclean(case),
        ),
    ),
    Cause.LEADER_ALONE: (
        Hint(
            "acks-all",
            "Set acks=all for producers (here: the topic's acks): a record is then acknowledged when "
            "all in-sync replicas have it. Trade-off: each send waits for replication.",
        ),
    ),
    Cause.TRUNCATED: (CLEAN, NEVER_ALONE, COMMIT_THE_EPOCH),
}


REMOVED = ("expired", "deleted")
"""Why committed offsets were removed, as in the details of entries."""


def _had_members(case: Case) -> bool:
    return case.mentions("no member subscribed")


def _was_empty(case: Case) -> bool:
    return not _had_members(case)


def _removed_while_empty(case: Case) -> bool:
    return case.mentions(*REMOVED) and not _had_members(case)


def _found_by_metadata(case: Case) -> bool:
    """Return whether members found new partitions when they refreshed their metadata."""
    is_new = not case.verbs.isdisjoint({"add_partitions", "create_topic"})
    return is_new and case.group.finds_topics


RAISE_RETENTION = (
    "Raise {offsets.retention.minutes} above the longest time that the group may be down: four days "
    "are 5,760 minutes, the default is 10,080."
)
SET_BEFORE_THE_START = (
    "Before you restart the group, reset its offsets to where it stopped, while it has no members: "
    "kafka-consumer-groups --reset-offsets --to-datetime TIME --execute."
)

GROUP_OF_ITS_OWN = (
    "Offsets of a topic to which no member subscribes expire even if the group has members, counted "
    "from each commit. Give the consumers of such a topic their own group.id, or keep one running."
)

KEPT_FOR_OUTAGES = (
    "Keep records longer than the maximum lag of the group (retention.ms of the topic): the longest outage "
    "plus the lag recovery after it."
)
LONGER_RETENTION = Hint(
    "longer-retention",
    KEPT_FOR_OUTAGES,
    lambda case: only_outside(case) and not _unclean(case),
)

OFFSET_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.EXPIRED: (
        Hint("longer-offsets-retention", RAISE_RETENTION),
        Hint("own-group-id-per-topic", GROUP_OF_ITS_OWN, _had_members),
        Hint("reset-before-start", SET_BEFORE_THE_START, _was_empty),
        Hint(
            "cost-of-expired-offsets",
            "{auto.offset.reset} decides what expired offsets cost: earliest reprocesses everything "
            "in the topic, latest loses all unread records.",
        ),
    ),
    Cause.DELETED: (
        Hint(
            "keep-offsets", "Do not delete the offsets or topics of a group that will be restarted."
        ),
        Hint("reset-before-start", SET_BEFORE_THE_START, _was_empty),
    ),
    Cause.RESET: RESET_HINTS,
    Cause.RESET_TO_LATEST: (
        *COMMIT_AT_ALL,
        *RESET_EARLIEST,
        LONGER_RETENTION,
        Hint(
            "smaller-metadata-age",
            "Use a smaller {metadata.max.age.ms} to discover new partitions and topics earlier; this "
            "reduces the loss but does not prevent it.",
            _found_by_metadata,
        ),
        Hint("longer-offsets-retention", RAISE_RETENTION, lambda case: case.mentions("expired")),
        Hint("own-group-id-per-topic", GROUP_OF_ITS_OWN, _had_members),
        Hint("reset-before-start", SET_BEFORE_THE_START, _removed_while_empty),
    ),
    Cause.RESET_BY_DURATION: (
        *COMMIT_AT_ALL,
        *RESET_EARLIEST,
        LONGER_RETENTION,
        Hint("reset-before-start", SET_BEFORE_THE_START, _removed_while_empty),
    ),
}

SEEK: Final = "seek"
"""The verb of an act; other seeks are the application's own."""

HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.SOUGHT: (
        Hint(
            "name-failed-record",
            "Throw an exception that names the failed record (Spring: BatchListenerFailedException): what "
            "is in front of it is committed, and only the rest is polled again.",
            lambda case: case.group.repeats_batches,
        ),
        Hint(
            "check-seek",
            "Check what the application passes to seek(), and when.",
            lambda case: SEEK not in case.verbs,
        ),
        Hint(
            "seek-no-further",
            "An act sought these offsets: no setting of the group reduces what is reprocessed. Seek back no "
            "further than to the first wrong record, and make processing idempotent, or remove the wrong "
            "results first.",
            lambda case: SEEK in case.verbs,
        ),
    ),
    Cause.REWIND: (
        Hint(
            "no-older-commit",
            "Do not send an older commit after a newer one: do not retry in the callback of "
            "commitAsync(), or only if no newer commit was sent since.",
        ),
        Hint(
            "commit-sync-last",
            "Call commitSync() last: in onPartitionsRevoked() and before close().",
        ),
    ),
    Cause.OFF_BY_ONE: (
        Hint("commit-next-offset", "Commit the offset of the last processed record plus one."),
    ),
    Cause.MESSAGE_LOST: (
        THREE_REPLICAS,
        *COMMIT_MORE_OFTEN,
        Hint(
            "commit-sync-retries",
            "commitAsync() is not retried; commitSync() is, for {default.api.timeout.ms}: use it in "
            "onPartitionsRevoked() and before close().",
            lambda case: case.commits(Commits.ASYNC),
        ),
        STAY_A_MEMBER[0],
        IDEMPOTENT,
    ),
    Cause.REFUSED: (
        LISTENER_CATCHES,
        LOOK_UP_AGAIN,
        Hint(
            "poll-then-commit",
            "REBALANCE_IN_PROGRESS is retriable: call poll() until the member is in the new "
            "generation, then commit the partitions that it still owns.",
            may_repeat,
        ),
        BATCHES_WITHIN_HEARTBEATS,
        Hint(
            "own-instance-id",
            "Give each process its own group.instance.id: a second process with the same id fences the "
            "first.",
            lambda case: case.mentions("FENCED_INSTANCE_ID") and not case.group.fenced_alone,
        ),
        *STAY_A_MEMBER,
        *COMMIT_ON_REVOKE,
        Hint(
            "cooperative",
            "Set partition.assignment.strategy=cooperative-sticky: fewer partitions move in a "
            f"rebalance ({SWITCH}).",
            lambda case: case.group.stays_eager,
        ),
    ),
    Cause.TWO_OWNERS: OWNER_HINTS,
    Cause.KEPT_REWOUND: (
        *COMMIT_AT_ALL,
        Hint(
            "cooperative",
            "Set partition.assignment.strategy=cooperative-sticky: a member that keeps a partition "
            f"continues at its position ({SWITCH}).",
            lambda case: case.group.stays_eager and not case.mentions("lost"),
        ),
        *COMMIT_ON_REVOKE,
        STATIC,
        *KEEP_PARTITIONS,
    ),
    Cause.REVOKED: (
        WAIT_IN_CLOSE,
        DRAIN_WORKERS,
        *COMMIT_AT_ALL,
        Hint(
            "commit-on-revoke",
            "Call commitSync() in onPartitionsRevoked(): the automatic commit is made when a "
            "rebalance begins, but a cooperative member continues to process until it revokes.",
            lambda case: auto(case) and case.group.cooperative and not case.group.by_coordinator,
        ),
        *COMMIT_ON_REVOKE,
        COMMIT_BEFORE_ACKNOWLEDGING,
        Hint(
            "commit-before-close",
            "Commit before close(): without enable.auto.commit, close() commits nothing.",
            lambda case: case.mentions("closed") and not (automatic(case) or case.group.handler),
        ),
        STATIC,
        *KEEP_PARTITIONS,
    ),
    Cause.CRASHED: (
        LOOK_UP_AGAIN,
        Hint(
            "longer-grace",
            "Use a longer grace period: the process was killed before it had finished its batch, at "
            "most {max.poll.records} records, and closed its consumer.",
            lambda case: not case.verbs.isdisjoint(RESTARTS),
        ),
        BATCHES_WITHIN_GRACE,
        Hint(
            "catch-in-handler",
            "Catch exceptions of the handler: if one ends the process, everything since the last "
            "commit is reprocessed.",
            lambda case: case.mentions("failed"),
        ),
        *COMMIT_MORE_OFTEN,
        IDEMPOTENT,
    ),
    Cause.RETENTION: (
        Hint("longer-retention", KEPT_FOR_OUTAGES),
        Hint(
            "monitor-age",
            "Monitor the age of the next record to read, not only the lag in records.",
        ),
    ),
    Cause.OLD_TOPIC: (
        Hint(
            "stop-before-recreation",
            "Stop the group before you delete a topic that will be created again, and start it "
            "afterwards: no member can then commit an offset of the old topic.",
        ),
        Hint(
            "new-topic-name",
            "Or give the new topic another name, and let the members subscribe to that.",
        ),
    ),
    Cause.COMMITTED_AHEAD: (
        Hint(
            "own-group-id",
            "Give each member that needs every record its own group.id.",
            lambda case: case.group.shared,
        ),
        COMMIT_FINISHED,
        *COMMIT_AFTER_WORK,
        COMMIT_AFTER_PROCESSING,
        Hint(
            "pass-offsets",
            "Pass offsets to commitSync(): without them it commits the end of the whole batch.",
            lambda case: case.commits(Commits.NO_OFFSETS),
        ),
        Hint(
            "finish-before-close",
            "Finish the batch before close(): with enable.auto.commit=true, close() commits "
            "everything that poll() returned, processed or not. Or commit processed offsets yourself.",
            lambda case: case.mentions(IN_CLOSE) and not case.group.shared,
        ),
        Hint(
            "commit-sync-per-batch",
            "Set enable.auto.commit=false and call commitSync() after each batch: with "
            "group.protocol=consumer the automatic commit may cover the batch that poll() is about "
            "to return, whatever its settings.",
            may_commit_ahead,
        ),
        Hint(
            "fewer-commits",
            "Until then, fewer commits and smaller batches reduce it: a larger "
            "{auto.commit.interval.ms}, a smaller {max.poll.records}. With group.protocol=classic "
            "poll() itself commits, before it returns records.",
            may_commit_ahead,
        ),
    ),
    Cause.DISCARDED: (
        Hint(
            "process-after-refusal",
            "A refused commit does not affect polled records: process them, or seek() back to the "
            "last committed offset, because poll() continues after the batch.",
        ),
    ),
    Cause.SKIPPED: (
        Hint(
            "dead-letter-topic", "Write records that could not be processed to a dead letter topic."
        ),
    ),
    **COORDINATOR_HINTS,
    **OFFSET_HINTS,
    **TRUNCATION_HINTS,
}
