"""Hints for partitions with two owners, and for consumers without a group id."""

from __future__ import annotations

from typing import Final

from emulator.ledger.attribution import UNFINISHED
from emulator.ledger.entries import Cause
from emulator.report.hints.cases import DRAIN_WORKERS, LISTENER_CATCHES, STAY_A_MEMBER, Case, Hint
from emulator.report.hints.coordinators import TWO_IN_SYNC


def by_hand(case: Case) -> bool:
    """Return whether one of two owners has assigned the partition to itself."""
    return case.mentions("assign()")


def was_given_up(case: Case) -> bool:
    """Return whether each older owner had given its partition up, and only its workers went on."""
    return bool(case.details) and all(UNFINISHED in each for each in case.details)


def commits_nowhere(case: Case) -> bool:
    """Return whether records are repeated because consumers have no group id."""
    return not case.group.has_id and case.cause in (Cause.REVOKED, Cause.CRASHED)


ASSIGNED_TWICE: Final = (
    "The assignor gave the partition to several members, and all of them processed it."
)
TWO_COORDINATORS: Final = (
    "Two brokers acted as coordinator of the group, and each assigned the partition to a different "
    "member; both processed it."
)
READ_BESIDE: Final = (
    "A consumer had assigned the partition to itself (assign()) and read it beside the member to "
    "which the group had given it. The group does not know such a consumer: it refuses its commits "
    "while it has members, and its offset is theirs when it has none."
)
WORKERS_WENT_ON: Final = (
    "The rebalance listener had been called, but records of the partition were still in progress or in a "
    "queue. They were finished when the next owner had begun, at the last committed offset."
)
COMMITTED_NOWHERE: Final = "The consumer has no group.id and commits nothing: each start begins where auto.offset.reset says."


def reason_of_two_owners(case: Case) -> str:
    """Return why a partition had two owners; empty: the older one did not know of its removal."""
    if case.given_twice:
        return ASSIGNED_TWICE
    if by_hand(case):
        return READ_BESIDE
    if was_given_up(case):
        return WORKERS_WENT_ON
    return TWO_COORDINATORS if case.mentions("two coordinators") else ""


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
        lambda case: (
            not (case.given_twice or case.one_record or by_hand(case) or was_given_up(case))
        ),
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
