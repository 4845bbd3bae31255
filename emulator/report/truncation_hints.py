"""What would help against topic partitions that lose their end, and positions beyond it."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ledger.entries import Cause
from emulator.report.cases import Case, Hint


def _unclean(case: Case) -> bool:
    return bool(case.setting("unclean.leader.election.enable"))


def _may_be_alone(case: Case) -> bool:
    """Say whether a leader may acknowledge what nobody else has."""
    return int(case.setting("min.insync.replicas")) < 2


def _without_epoch(case: Case) -> bool:
    """Say whether members commit offsets that they name themselves, without the leader epoch."""
    return case.commits("no epoch")


CLEAN = Hint(
    "Leave unclean.leader.election.enable off: a partition then waits for a replica that has all "
    "that was acknowledged. The price: it stands still until such a broker is back.",
    _unclean,
)
NEVER_ALONE = Hint(
    "{min.insync.replicas} of at least 2 and acks=all for producers: a leader that is left alone "
    "acknowledges nothing, so nothing it has can be lost. The price: producers wait meanwhile.",
    _may_be_alone,
)
COMMIT_THE_EPOCH = Hint(
    "Commit the leader epoch along with the offset: ConsumerRecords.nextOffsets(), or an "
    "OffsetAndMetadata with ConsumerRecord.leaderEpoch(). The next owner then asks the leader "
    "where the log was cut, and goes on there.",
    _without_epoch,
)

TRUNCATION_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.OUT_OF_RANGE: (
        COMMIT_THE_EPOCH,
        CLEAN,
        NEVER_ALONE,
        Hint(
            "Keep records longer than the group can be behind: the topic's retention.ms.",
            lambda case: not _unclean(case),
        ),
    ),
    Cause.LEADER_ALONE: (
        Hint(
            "acks=all for producers (here: the topic's acks): a record is then acknowledged when all "
            "replicas in sync have it. The price: each send waits for a replication."
        ),
    ),
    Cause.TRUNCATED: (CLEAN, NEVER_ALONE, COMMIT_THE_EPOCH),
}
