"""Hints for partitions with two owners, and for consumers without a group id."""

from __future__ import annotations

from typing import Final

from emulator.ledger.entries import Cause
from emulator.report.cases import DRAIN_WORKERS, LISTENER_CATCHES, STAY_A_MEMBER, Case, Hint
from emulator.report.coordinator_hints import TWO_IN_SYNC


def by_hand(case: Case) -> bool:
    """Return whether one of two owners has assigned the partition to itself."""
    return case.mentions("assign()")


def commits_nowhere(case: Case) -> bool:
    """Return whether records are repeated because consumers have no group id."""
    return not case.group.has_id and case.cause in (Cause.REVOKED, Cause.CRASHED)


READ_BESIDE: Final = (
    "A consumer had assigned the partition to itself (assign()) and read it beside the member to "
    "which the group had given it. The group does not know such a consumer: it refuses its commits "
    "while it has members, and its offset is theirs when it has none."
)
COMMITTED_NOWHERE: Final = "The consumer has no group.id and commits nothing: each start begins where auto.offset.reset says."

OWNER_HINTS: Final = (
    Hint(
        "own-group-id",
        "Give a consumer that calls assign() a group.id of its own: with the id of a group that "
        "subscribes, its commits are refused (UNKNOWN_MEMBER_ID, a CommitFailedException that blames "
        "slow polls) or move the offsets of the group.",
        by_hand,
    ),
    DRAIN_WORKERS,
    LISTENER_CATCHES,
    Hint(
        "exclusive-assignor",
        "Make the assignor give each partition to one member.",
        lambda case: case.given_twice,
    ),
    TWO_IN_SYNC,
    *STAY_A_MEMBER,
    Hint(
        "smaller-batches",
        "A removed member notices its removal at its next poll(): a smaller {max.poll.records} makes "
        "that earlier.",
        lambda case: not (case.given_twice or case.one_record or by_hand(case)),
    ),
    Hint(
        "fence-at-destination",
        "Only the destination of the results can reject the old owner: use idempotent writes, or "
        "transactions with the group's metadata (sendOffsetsToTransaction).",
        lambda case: not (case.given_twice or case.group.unfenced or by_hand(case)),
    ),
    Hint(
        "fence-at-destination",
        "Write the offset only if it is the one read last, so that the transaction of an old owner "
        "is rolled back: --set database.fenced=true.",
        lambda case: case.group.unfenced,
    ),
)

WITHOUT_ID: Final = (
    Hint(
        "own-group-id",
        "If a restart has to continue where it stopped, give the consumer a group.id and let it "
        "commit; assign() may stay. If it rebuilds its state from the topic, reading all of it again "
        "is what auto.offset.reset=earliest is for.",
    ),
)
