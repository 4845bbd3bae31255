"""A cause in one group, what fits it, and the hints that several causes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator.ledger.entries import Cause
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

    def setting(self, name: str) -> Any:
        """Return the value in force of a broker setting."""
        return self.subject.broker_settings[name]

    def said(self, *words: str) -> bool:
        """Say whether the details of some entry speak of one of these."""
        return any(word in detail for detail in self.details for word in words)


When = Callable[[Case], bool]


@dataclass(frozen=True, slots=True)
class Hint:
    """One thing that would help; ``{a.setting}`` stands for its name and present value."""

    text: str
    when: When = lambda _case: True


def auto(case: Case) -> bool:
    """Say whether members commit automatically."""
    return case.commits("auto")


def handler(case: Case) -> bool:
    """Say whether the application commits."""
    return case.commits("sync", "async")


def nobody(case: Case) -> bool:
    """Say whether nobody commits."""
    return case.commits("none")


def raced(case: Case) -> bool:
    """Say whether a commit may have been ahead of the work though nobody meant it.

    The consumer of the consumer protocol commits in one thread while poll() hands out in another.
    """
    return case.group.by_coordinator and auto(case)


def closed(case: Case) -> bool:
    """Say whether somebody was told to stop."""
    return not case.verbs.isdisjoint(RESTARTS)


def evicted(case: Case) -> bool:
    """Say whether members may have been given up that lived."""
    return "session expired" in case.evictions or not case.verbs.isdisjoint(SILENCES)


def too_slow(case: Case) -> bool:
    """Say whether members came too late to poll or to a rebalance."""
    slow = (
        "did not rejoin in time",
        "did not give partitions up in time",
        "consumer pro-actively leaving the group",
        "consumer poll timeout has expired.",
    )
    return not case.evictions.isdisjoint(slow)


def _may_commit_on_revoke(case: Case) -> bool:
    return handler(case) and not case.commits("in listener")


COMMIT_AT_ALL = Hint("Nobody commits: set enable.auto.commit=true, or call commitSync().", nobody)
COMMIT_MORE_OFTEN = (
    COMMIT_AT_ALL,
    Hint(
        "Commit more often: a smaller {auto.commit.interval.ms}. The automatic commit is made "
        "inside poll(), so long batches delay it: a smaller {max.poll.records} helps too.",
        auto,
    ),
    Hint(
        "Commit more often: after smaller batches, by a smaller {max.poll.records}, or every few "
        "records.",
        lambda case: handler(case) and not case.commits("each record", "before work"),
    ),
)
SAFE_TO_REPEAT = Hint(
    "No setting makes this nothing: let the work be safe to repeat (idempotent writes, or offsets "
    "stored together with the results)."
)
COMMIT_ON_REVOKE = Hint(
    "Call commitSync() in onPartitionsRevoked(): it is still accepted there, while commits "
    "between JoinGroup and SyncGroup are refused.",
    lambda case: _may_commit_on_revoke(case) and not case.group.by_coordinator,
)
COMMIT_BEFORE_ACKNOWLEDGING = Hint(
    "Call commitSync() in onPartitionsRevoked(): nobody else is given the partition before it "
    "returns.",
    lambda case: _may_commit_on_revoke(case) and case.group.by_coordinator,
)
STAY_A_MEMBER = (
    Hint(
        "Let {session.timeout.ms} outlast the pauses and network failures that members survive; "
        "the price: a real crash is noticed later.",
        lambda case: not case.given_twice and evicted(case),
    ),
    Hint(
        "Keep the time between two polls below {max.poll.interval.ms}: a smaller "
        "{max.poll.records}, or slow work in another thread while poll() goes on.",
        too_slow,
    ),
    Hint(
        "With group.protocol=consumer that must have room for four batches: a poll() that finds "
        "whole fetches left is no sign of life, so the consumer counts two batches as one; and it "
        "gives partitions up step by step, a batch between each, while the coordinator waits.",
        lambda case: case.group.by_coordinator and too_slow(case),
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


LISTENER_CATCHES = Hint(
    "Catch what happens in a rebalance listener inside it: with group.protocol=consumer a member "
    "whose onPartitionsRevoked() throws keeps what it should give up, reads none of it, and is put "
    "out after {max.poll.interval.ms}.",
    lambda case: "fail_listener" in case.verbs and case.group.by_coordinator,
)
