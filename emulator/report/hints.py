"""What would help against each cause: hints with the conditions under which they fit.

A hint names Kafka's settings, and says what it costs where it costs something. Hints that do
not fit what is in force are left out: nobody is told to do what they do already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from emulator.measure.ledger.entries import Cause
from emulator.report.subject import GroupFacts, Subject

RESTARTS = frozenset({"restart", "rolling_restart", "close"})
SILENCES = frozenset({"pause", "cut", "pause_broker", "lose_message", "delay_message"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cause in one group, and what is known of the entries that have it."""

    cause: Cause
    subject: Subject
    group: GroupFacts
    details: frozenset[str]
    """What entries say besides their cause."""

    verbs: frozenset[str]
    """The faults and acts at their roots."""

    evictions: frozenset[str]
    """Why members were removed from groups in this run, or dropped out by themselves; without
    the sessions that expired only for processes that had died."""

    given_twice: bool
    """Whether an assignor of the user's own gave a partition to several members."""

    def commits(self, *habits: str) -> bool:
        """Say whether members commit in one of these ways."""
        return not self.group.habits.isdisjoint(habits)

    def said(self, *words: str) -> bool:
        """Say whether the details of some entry speak of one of these."""
        return any(word in detail for detail in self.details for word in words)


When = Callable[[Case], bool]


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing that would help; ``{a.setting}`` stands for its name and present value."""

    text: str
    when: When = lambda _case: True


def _auto(case: Case) -> bool:
    return case.commits("auto")


def _handler(case: Case) -> bool:
    return case.commits("sync", "async")


def _nobody(case: Case) -> bool:
    return case.commits("none")


def _evicted(case: Case) -> bool:
    return "session expired" in case.evictions or not case.verbs.isdisjoint(SILENCES)


def _too_slow(case: Case) -> bool:
    slow = ("did not rejoin in time", "consumer pro-actively leaving the group")
    return not case.evictions.isdisjoint(slow)


COMMIT_AT_ALL = Hint("Nobody commits: set enable.auto.commit=true, or call commitSync().", _nobody)
COMMIT_MORE_OFTEN = (
    COMMIT_AT_ALL,
    Hint(
        "Commit more often: a smaller {auto.commit.interval.ms}. The automatic commit is made "
        "inside poll(), so long batches delay it: a smaller {max.poll.records} helps too.",
        _auto,
    ),
    Hint(
        "Commit more often: after smaller batches, by a smaller {max.poll.records}, or every few "
        "records.",
        lambda case: _handler(case) and not case.commits("each record", "before work"),
    ),
)
SAFE_TO_REPEAT = Hint(
    "No setting makes this nothing: let the work be safe to repeat (idempotent writes, or offsets "
    "stored together with the results)."
)
COMMIT_ON_REVOKE = Hint(
    "Call commitSync() in onPartitionsRevoked(): it is still accepted there, while commits "
    "between JoinGroup and SyncGroup are refused.",
    lambda case: _handler(case) and not case.commits("in listener"),
)
STAY_A_MEMBER = (
    Hint(
        "Let {session.timeout.ms} outlast the pauses and network failures that members survive; "
        "the price: a real crash is noticed later.",
        lambda case: not case.given_twice and _evicted(case),
    ),
    Hint(
        "Keep the time between two polls below {max.poll.interval.ms}: a smaller "
        "{max.poll.records}, or slow work in another thread while poll() goes on.",
        _too_slow,
    ),
)
STATIC = Hint(
    "A group.instance.id for each member (static membership): one that is back within "
    "{session.timeout.ms} keeps its partitions, without a rebalance.",
    lambda case: not case.group.static and not case.verbs.isdisjoint(RESTARTS),
)
RESET_EARLIEST = Hint(
    "auto.offset.reset=earliest reads a partition without a committed offset from its beginning.",
    lambda case: case.group.settings["auto.offset.reset"] != "earliest",
)

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
    Cause.EXPIRED: (
        Hint("Raise {offsets.retention.minutes} above the longest time the group may be down."),
        Hint(
            "{auto.offset.reset} decides what expired offsets cost: earliest repeats what the "
            "topic still has, latest loses what was not read."
        ),
    ),
    Cause.DELETED: (
        Hint("Do not delete the offsets, or the topics, of a group that will come back."),
    ),
    Cause.OUT_OF_RANGE: (
        Hint("Keep records longer than the group can be behind: the topic's retention.ms."),
    ),
    Cause.RESET: (
        Hint("Look for what removed the committed offset: expiry, or an administrator."),
    ),
    Cause.NOT_REPLICATED: (
        Hint(
            "Keep offsets on three brokers: {offsets.topic.replication.factor} of 3, and at least "
            "2 for {min.insync.replicas}; leave unclean.leader.election.enable off."
        ),
    ),
    Cause.MESSAGE_LOST: (
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
        Hint("Let the assignor give each partition to one member.", lambda case: case.given_twice),
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
        Hint(STAY_A_MEMBER[1].text, lambda case: case.said("lost") and _too_slow(case)),
        Hint(STAY_A_MEMBER[0].text, lambda case: case.said("lost") and _evicted(case)),
    ),
    Cause.REVOKED: (
        COMMIT_AT_ALL,
        Hint(
            "Call commitSync() in onPartitionsRevoked(): the automatic commit is made when a "
            "rebalance begins, and a cooperative member works on until it must give up.",
            lambda case: _auto(case) and case.group.cooperative,
        ),
        COMMIT_ON_REVOKE,
        Hint(
            "Commit before close(): without enable.auto.commit it commits nothing.",
            lambda case: case.said("closed") and not _auto(case),
        ),
        STATIC,
        Hint(STAY_A_MEMBER[1].text, lambda case: case.said("lost") and _too_slow(case)),
        Hint(STAY_A_MEMBER[0].text, lambda case: case.said("lost") and _evicted(case)),
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
    Cause.RESET_TO_LATEST: (
        RESET_EARLIEST,
        Hint(
            "A smaller {metadata.max.age.ms} finds new partitions and topics sooner; that "
            "shortens the loss and does not end it.",
            lambda case: not case.verbs.isdisjoint({"add_partitions", "create_topic"}),
        ),
        Hint(
            "Raise {offsets.retention.minutes} above the longest time the group may be down.",
            lambda case: case.said("expired"),
        ),
    ),
    Cause.RESET_BY_DURATION: (RESET_EARLIEST,),
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
            lambda case: _auto(case) and not case.group.shared,
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
}
