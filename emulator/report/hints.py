"""What would help against each cause: hints with the conditions under which they fit.

A hint names Kafka's settings, and says what it costs where it costs something. Hints that do
not fit what is in force are left out: nobody is told to do what they do already.
"""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ledger.entries import Cause
from emulator.report.cases import (
    COMMIT_AT_ALL,
    COMMIT_BEFORE_ACKNOWLEDGING,
    COMMIT_MORE_OFTEN,
    COMMIT_ON_REVOKE,
    LISTENER_CATCHES,
    RESTARTS,
    SAFE_TO_REPEAT,
    STATIC,
    STAY_A_MEMBER,
    Hint,
    auto,
    closed,
    evicted,
    raced,
    too_slow,
)
from emulator.report.coordinator_hints import COORDINATOR_HINTS, THREE_COPIES, TWO_IN_SYNC
from emulator.report.offset_hints import OFFSET_HINTS
from emulator.report.truncation_hints import TRUNCATION_HINTS

HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.SOUGHT: (Hint("Look at what the application passes to seek(), and when."),),
    Cause.REWIND: (
        Hint(
            "Never send an older commit again after a newer one: in the callback of commitAsync() "
            "do not retry, or only if nothing newer was sent since."
        ),
        Hint("End with commitSync(): in onPartitionsRevoked(), and before close()."),
    ),
    Cause.OFF_BY_ONE: (Hint("Commit the offset of the last processed record plus one."),),
    Cause.MESSAGE_LOST: (
        THREE_COPIES,
        *COMMIT_MORE_OFTEN,
        Hint(
            "commitAsync() is never sent again; commitSync() is, until {default.api.timeout.ms}: "
            "use it in onPartitionsRevoked() and before close().",
            lambda case: case.commits("async"),
        ),
        STAY_A_MEMBER[0],
        SAFE_TO_REPEAT,
    ),
    Cause.REFUSED: (
        LISTENER_CATCHES,
        Hint(
            "REBALANCE_IN_PROGRESS is no reason to stop: call poll() until the member is in the "
            "new generation, then commit what it still owns.",
            lambda case: case.said("REBALANCE_IN_PROGRESS"),
        ),
        Hint(
            "Give each process a group.instance.id of its own: a second one fences the first.",
            lambda case: case.said("FENCED_INSTANCE_ID"),
        ),
        *STAY_A_MEMBER,
        COMMIT_ON_REVOKE,
        Hint(
            "partition.assignment.strategy=cooperative-sticky: fewer partitions change hands in a "
            "rebalance (switching a running group takes two rolling restarts).",
            lambda case: not case.group.cooperative,
        ),
    ),
    Cause.TWO_OWNERS: (
        LISTENER_CATCHES,
        Hint("Let the assignor give each partition to one member.", lambda case: case.given_twice),
        TWO_IN_SYNC,
        *STAY_A_MEMBER,
        Hint(
            "The old owner hears of it at its next poll(): a smaller {max.poll.records} makes that "
            "sooner.",
            lambda case: not case.given_twice,
        ),
        Hint(
            "Only where the results go can both be told apart: idempotent writes, or transactions "
            "that carry the group's metadata (sendOffsetsToTransaction).",
            lambda case: not case.given_twice,
        ),
    ),
    Cause.KEPT_REWOUND: (
        COMMIT_AT_ALL,
        Hint(
            "partition.assignment.strategy=cooperative-sticky: who keeps a partition goes on "
            "where it is (switching a running group takes two rolling restarts).",
            lambda case: not case.group.cooperative and not case.said("lost"),
        ),
        COMMIT_ON_REVOKE,
        STATIC,
        Hint(STAY_A_MEMBER[1].text, lambda case: case.said("lost") and too_slow(case)),
        Hint(STAY_A_MEMBER[0].text, lambda case: case.said("lost") and evicted(case)),
    ),
    Cause.REVOKED: (
        COMMIT_AT_ALL,
        Hint(
            "Call commitSync() in onPartitionsRevoked(): the automatic commit is made when a "
            "rebalance begins, and a cooperative member works on until it must give up.",
            lambda case: auto(case) and case.group.cooperative and not case.group.by_coordinator,
        ),
        COMMIT_ON_REVOKE,
        COMMIT_BEFORE_ACKNOWLEDGING,
        Hint(
            "Commit before close(): without enable.auto.commit it commits nothing.",
            lambda case: case.said("closed") and not auto(case),
        ),
        STATIC,
        Hint(STAY_A_MEMBER[1].text, lambda case: case.said("lost") and too_slow(case)),
        Hint(STAY_A_MEMBER[0].text, lambda case: case.said("lost") and evicted(case)),
    ),
    Cause.CRASHED: (
        Hint(
            "Give a process that is told to stop more time: it was killed before it had finished "
            "its batch, at most {max.poll.records} records, and closed its consumer.",
            lambda case: not case.verbs.isdisjoint(RESTARTS),
        ),
        Hint(
            "Catch what the handler throws: an exception that ends the process leaves all since "
            "the last commit to be repeated.",
            lambda case: case.said("failed"),
        ),
        *COMMIT_MORE_OFTEN,
        SAFE_TO_REPEAT,
    ),
    Cause.RETENTION: (
        Hint(
            "Keep records longer than the group can be behind (retention.ms of the topic): the "
            "longest outage, and the time to catch up after it."
        ),
        Hint("Watch how old the next record to read is, not only how many there are."),
    ),
    Cause.COMMITTED_AHEAD: (
        Hint(
            "Give each member that needs every record a group.id of its own.",
            lambda case: case.group.shared,
        ),
        Hint(
            "Commit after the work: committing first turns every crash into a loss.",
            lambda case: case.commits("before work"),
        ),
        Hint(
            "Pass offsets to commitSync(): without them it commits the end of the whole batch.",
            lambda case: case.commits("no offsets"),
        ),
        Hint(
            "Finish the batch before close(): with enable.auto.commit=true it commits all that "
            "poll() returned, processed or not. Or commit processed offsets yourself.",
            lambda case: auto(case) and not case.group.shared and (closed(case) or not raced(case)),
        ),
        Hint(
            "enable.auto.commit=false, and commitSync() after each batch: with "
            "group.protocol=consumer the automatic commit may cover the batch that poll() is just "
            "handing out, whatever its settings.",
            raced,
        ),
        Hint(
            "Until then, fewer commits and smaller batches make it rarer and cheaper: a larger "
            "{auto.commit.interval.ms}, a smaller {max.poll.records}. With group.protocol=classic "
            "poll() itself commits, before it hands out.",
            raced,
        ),
    ),
    Cause.DISCARDED: (
        Hint(
            "A refused commit says nothing about the records in hand: process them, or seek() back "
            "to the last committed offset; poll() goes on behind the batch."
        ),
    ),
    Cause.SKIPPED: (
        Hint("Keep what could not be processed: write it to a topic of its own (dead letters)."),
    ),
    **COORDINATOR_HINTS,
    **OFFSET_HINTS,
    **TRUNCATION_HINTS,
}
