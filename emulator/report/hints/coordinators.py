"""Hints for causes on the side of the coordinator, or of whatever keeps the offsets."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.ledger.causes import NOT_ON_NEXT_LEADER, UNCLEAN
from emulator.ledger.entries import Cause
from emulator.report.hints.cases import COMMIT_MORE_OFTEN, IDEMPOTENT, Case, Hint
from emulator.report.subject import Commits

BROKER_STOPS = frozenset({"crash_broker", "stop_broker"})


def _few_replicas(case: Case) -> bool:
    """Return whether the offsets topic has fewer than three replicas."""
    return int(case.setting("offsets.topic.replication.factor")) < 3


def _acknowledged_by_one(case: Case) -> bool:
    """Return whether there are three replicas, but one alone may acknowledge."""
    return not _few_replicas(case) and int(case.setting("min.insync.replicas")) < 2


def _evicts_early(case: Case) -> bool:
    """Return whether a member may be removed before its commit times out."""
    settings = case.group.settings
    timeout_ms = int(case.setting("offsets.commit.timeout.ms"))
    if case.commits(Commits.AUTO):
        timeout_ms += int(settings["auto.commit.interval.ms"])
    return (
        "session expired" in case.evictions
        and int(case.group.value("session.timeout.ms")) <= timeout_ms
    )


def _unclean(case: Case) -> bool:
    return bool(case.setting("unclean.leader.election.enable"))


def _alone(case: Case) -> bool:
    """Return whether a coordinator without followers acknowledged something that was lost."""
    alone = case.mentions("acknowledged", "two coordinators")
    return alone and int(case.setting("min.insync.replicas")) < 2


TWO_IN_SYNC = Hint(
    "two-in-sync",
    "Set {min.insync.replicas} to at least 2: a coordinator without its followers then acknowledges "
    "nothing. Its commits and assignments time out, and members look up the coordinator again.",
    _alone,
)

THREE_REPLICAS = Hint(
    "three-replicas",
    "Set {offsets.topic.replication.factor} to 3: without an in-sync replica the group has no "
    "coordinator, and commits fail.",
    lambda case: _few_replicas(case) and not case.verbs.isdisjoint(BROKER_STOPS),
)

COORDINATOR_HINTS: Mapping[Cause, tuple[Hint, ...]] = {
    Cause.STALE_COORDINATOR: (
        TWO_IN_SYNC,
        Hint(
            "session-above-commit-timeout",
            "Members look up the coordinator again only when a commit times out, after "
            "{offsets.commit.timeout.ms}. Set {session.timeout.ms} above the sum of that and "
            "{auto.commit.interval.ms}: they then find the new coordinator before it removes them.",
            lambda case: not case.mentions("acknowledged") and _evicts_early(case),
        ),
        Hint(
            "clean-elections",
            "Disable {unclean.leader.election.enable}: a replica that is not in sync then never "
            "replaces a coordinator that was alone in the ISR.",
            lambda case: case.mentions("acknowledged") and _unclean(case),
        ),
        Hint(
            "broker-network",
            "A broker that clients can reach but the controller cannot is a network fault: let "
            "brokers and controllers share the network paths that clients use.",
        ),
        *COMMIT_MORE_OFTEN,
        IDEMPOTENT,
    ),
    Cause.NOT_REPLICATED: (
        Hint(
            "three-replicas",
            "Set {offsets.topic.replication.factor} to 3 and {min.insync.replicas} to at least 2.",
            lambda case: case.mentions(UNCLEAN) and _few_replicas(case),
        ),
        Hint(
            "two-in-sync",
            "Set {min.insync.replicas} to at least 2: a coordinator that is alone in the ISR then "
            "acknowledges nothing.",
            lambda case: case.mentions(UNCLEAN) and _acknowledged_by_one(case),
        ),
        Hint(
            "clean-elections",
            "Disable {unclean.leader.election.enable}: acknowledged commits then survive. "
            "Trade-off: the group has no coordinator while all in-sync replicas are down.",
            lambda case: case.mentions(UNCLEAN),
        ),
        Hint(
            "unanswered-commit",
            "No acknowledged commit was lost: the commit was unanswered when the broker failed. Any "
            "crash at that moment causes the same reprocessing.",
            lambda case: case.mentions(NOT_ON_NEXT_LEADER),
        ),
        IDEMPOTENT,
    ),
    Cause.LOADING: (
        Hint(
            "shorter-load",
            "Shorten the load: it reads everything that has not been compacted. The active segment "
            "is never compacted, so use a smaller {offsets.topic.segment.bytes}; and check that the "
            "log cleaner runs (log.cleaner.enable and its metrics).",
        ),
        Hint(
            "commit-less-often",
            "Commit less often: the next load reads every commit. Use a larger "
            "{auto.commit.interval.ms}, or commit once per batch instead of once per record.",
            lambda case: case.commits(Commits.EACH_RECORD),
        ),
        Hint(
            "one-broker-at-a-time",
            "Stop brokers by controlled shutdown, one at a time, and do not restart members "
            "meanwhile: records processed during a load can only be committed after it.",
        ),
        IDEMPOTENT,
    ),
}


def _by_admin(case: Case) -> bool:
    return case.mentions("administrator")


def _by_backup(case: Case) -> bool:
    return case.mentions("backup")


def _offsets_in_zookeeper(case: Case) -> bool:
    return case.group.offsets == "zookeeper" and not _by_backup(case)


def _results_removed(case: Case) -> bool:
    return case.mentions("results removed")


RESET_HINTS = (
    Hint(
        "check-reset",
        "Check a --reset-offsets before you run it: without --execute kafka-consumer-groups only "
        "prints the result.",
        _by_admin,
    ),
    Hint(
        "undo-reset",
        "A reset back causes reprocessing, a reset forward causes loss. To undo it, stop all "
        "members and reset to the previous offsets (--to-offset, --from-file).",
        _by_admin,
    ),
    Hint(
        "fence-a-restored-store",
        "Set database.fenced=true, or stop all members before a restore and start them after it: "
        "a member that runs on writes its own offset over the restored one, and the results that "
        "the backup does not have never come back.",
        lambda case: _results_removed(case) and case.group.unfenced,
    ),
    Hint(
        "restore-with-results",
        "Restore offsets and results together, from one instant, or keep the newer offsets: with "
        "older offsets alone everything since the backup is reprocessed.",
        lambda case: _by_backup(case) and not _results_removed(case),
    ),
    Hint(
        "dual-commit",
        "A member with offsets.storage=kafka alone does not see offsets in ZooKeeper: restart all "
        "members with dual.commit.enabled=true first, and drop it in a second rolling restart when "
        "the first one has ended.",
        _offsets_in_zookeeper,
    ),
    Hint(
        "find-removal",
        "Find out what removed the committed offset: expiration or an administrator.",
        lambda case: (
            not (
                _by_admin(case)
                or _by_backup(case)
                or _offsets_in_zookeeper(case)
                or "reset" in case.group.deviations
            )
        ),
    ),
)
