"""What would help against causes that come from the coordinator's side."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ledger.causes import NOT_ON_NEXT_LEADER, UNCLEAN
from emulator.ledger.entries import Cause
from emulator.report.cases import COMMIT_MORE_OFTEN, SAFE_TO_REPEAT, Case, Hint

BROKER_STOPS = frozenset({"crash_broker", "stop_broker"})


def _few_copies(case: Case) -> bool:
    """Say whether the offsets are on fewer brokers than Kafka means them to be."""
    return int(case.setting("offsets.topic.replication.factor")) < 3


def _acknowledged_by_one(case: Case) -> bool:
    """Say whether there are copies enough, but one of them may acknowledge what it has alone."""
    return not _few_copies(case) and int(case.setting("min.insync.replicas")) < 2


def _evicts_early(case: Case) -> bool:
    """Say whether a member may be evicted before it learns that its commit has timed out."""
    settings = case.group.settings
    learns_ms = int(case.setting("offsets.commit.timeout.ms"))
    if case.commits("auto"):
        learns_ms += int(settings["auto.commit.interval.ms"])
    return (
        "session expired" in case.evictions
        and int(case.group.value("session.timeout.ms")) <= learns_ms
    )


def _unclean(case: Case) -> bool:
    return bool(case.setting("unclean.leader.election.enable"))


def _alone(case: Case) -> bool:
    """Say whether a coordinator without followers did something that did not last."""
    alone = case.said("acknowledged", "two coordinators")
    return alone and int(case.setting("min.insync.replicas")) < 2


TWO_IN_SYNC = Hint(
    "With {min.insync.replicas} of at least 2 a coordinator cut off from its followers acknowledges "
    "nothing: its commits and assignments time out, and members look for another.",
    _alone,
)

THREE_COPIES = Hint(
    "Keep offsets on three brokers: {offsets.topic.replication.factor} of 3. While no replica in "
    "sync is up nobody coordinates the group, and commits find no one to take them.",
    lambda case: _few_copies(case) and not case.verbs.isdisjoint(BROKER_STOPS),
)

COORDINATOR_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.STALE_COORDINATOR: (
        TWO_IN_SYNC,
        Hint(
            "Members look for another coordinator when a commit has timed out, after "
            "{offsets.commit.timeout.ms}, and not before. Let {session.timeout.ms} be longer than "
            "that and {auto.commit.interval.ms} together: they then find it before it evicts them.",
            lambda case: not case.said("acknowledged") and _evicts_early(case),
        ),
        Hint(
            "Leave {unclean.leader.election.enable} off: a replica that is not in sync then never "
            "replaces a coordinator that took commits alone.",
            lambda case: case.said("acknowledged") and _unclean(case),
        ),
        Hint(
            "A controller that cannot be reached by a broker, while clients can reach both, is a "
            "fault of the network: let brokers and controllers share the paths that clients use."
        ),
        *COMMIT_MORE_OFTEN,
        SAFE_TO_REPEAT,
    ),
    Cause.NOT_REPLICATED: (
        Hint(
            "Keep offsets on three brokers: {offsets.topic.replication.factor} of 3, and at least "
            "2 for {min.insync.replicas}.",
            lambda case: case.said(UNCLEAN) and _few_copies(case),
        ),
        Hint(
            "At least 2 for {min.insync.replicas}: a coordinator that is alone in sync then "
            "acknowledges nothing that could be lost with it.",
            lambda case: case.said(UNCLEAN) and _acknowledged_by_one(case),
        ),
        Hint(
            "Leave {unclean.leader.election.enable} off: commits that were acknowledged survive "
            "then; the price: no coordinator while every replica in sync is down.",
            lambda case: case.said(UNCLEAN),
        ),
        Hint(
            "Nothing acknowledged was lost: the commit was not answered yet when its broker died. "
            "What repeats is what any crash at that moment repeats.",
            lambda case: case.said(NOT_ON_NEXT_LEADER),
        ),
        SAFE_TO_REPEAT,
    ),
    Cause.LOADING: (
        Hint(
            "Make the load short: it reads all that was never compacted. A smaller "
            "{offsets.topic.segment.bytes} lets more of it be compacted, as the newest segment "
            "never is; and see that the log cleaner lives (log.cleaner.enable, its metrics)."
        ),
        Hint(
            "Commit less: every commit is a record to be read at the next load. A larger "
            "{auto.commit.interval.ms}, or a commit a batch instead of one a record.",
            lambda case: case.commits("each record"),
        ),
        Hint(
            "Hand coordinators over before brokers stop (a controlled shutdown), one at a time, "
            "and let no member restart meanwhile: what is processed during a load is only "
            "committed after it."
        ),
        SAFE_TO_REPEAT,
    ),
}
