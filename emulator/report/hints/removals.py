"""Hints for members that were removed before they had left, or wait for a commit of a deleted topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.report.hints.advice import given
from emulator.report.hints.cases import GivenHint, Hint, can_become_static
from emulator.report.hints.lag import Given, now
from emulator.report.subject import Commits, GroupFacts, Subject
from emulator.report.wording import duration
from emulator.verdicts.verdict import Verdict, VerdictId

TAKES_ITS_PLACE = Hint(
    "static-membership",
    "Processes started again while the group still had the killed ones as members. With a "
    "group.instance.id for each member (static membership) the new process takes the place of the old one, "
    "and its partitions do not wait for {session.timeout.ms}. Trade-off: one that does not come back is "
    "detected only after that time.",
)


def killed(_verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    """Yield what lets a process leave before it is killed."""
    batch = ""
    if group.batch_us is not None:
        batch = f"a full batch of at most {now(group, 'max.poll.records')} records, "
    listener = "the calls of the rebalance listener, " if group.listener_us else ""
    yield Given(
        "longer-grace",
        f"Use a longer grace period: it has to cover {batch}{listener}the last commit and close(). A "
        f"process that is killed earlier stays a member until {now(group, 'session.timeout.ms')} is "
        "over, and its partitions wait.",
        has_numbers=False,
    )


def restarted(subject: Subject, verdicts: Iterable[Verdict]) -> Iterator[GivenHint]:
    """Yield what lets the restart of a killed process take its place, for each group that can have it."""
    for verdict in verdicts:
        if verdict.id is VerdictId.KILLED_IN_GROUP and verdict.numbers["restarted"]:
            group = subject.group(verdict.group)
            if can_become_static(group) and not group.autoscaler:
                yield given(TAKES_ITS_PLACE, subject, group)


def removed_in_close(
    _verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]
) -> Iterator[Given]:
    """Yield what lets close() end within a session."""
    yield Given(
        "close-within-session",
        f"Keep close() shorter than {now(group, 'session.timeout.ms')}, or raise that: while the "
        f"listener runs in close() the client sends no heartbeats. A call of the listener takes "
        f"{duration(group.listener_us / 1_000_000)} on average: flush and commit before close().",
    )


def removed_assigning(
    _verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]
) -> Iterator[Given]:
    """Yield what lets a leader compute within its session."""
    yield Given(
        "session-above-assignor",
        f"Raise {now(group, 'session.timeout.ms')} and request.timeout.ms above the time of the assignor: "
        "the leader sends no heartbeats while it computes, and SyncGroup of the others waits. A simpler assignor (range, roundrobin) or several smaller groups "
        "shorten it; with group.protocol=consumer the coordinator computes.",
    )


def deleted_topics(_verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    """Yield what keeps members from repeating commits of a deleted topic."""
    sync = f"commitSync() for {now(group, 'default.api.timeout.ms')}"
    auto = f"an automatic commit before a revocation up to {now(group, 'max.poll.interval.ms')}"
    by_itself = not group.commit_kinds.isdisjoint((Commits.AUTO, Commits.BACKGROUND))
    yield Given(
        "unsubscribe-first",
        "Let all members unsubscribe from a topic before it is deleted (with a pattern: change it), or "
        f"name only other topics in commits: the client repeats a commit that names a deleted one, "
        f"{auto if by_itself else sync}, and in a revocation all partitions of the member wait.",
    )
