"""Hints that shorten downtime, or avoid rebalances of restarts: for each group by its own figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from emulator.events import Departure
from emulator.metrics.group_figures import GroupFigures, figures_of
from emulator.metrics.metrics import Metrics
from emulator.metrics.rebalances import reason_kind
from emulator.report.hints.advice import given, with_values
from emulator.report.hints.cases import (
    COMMIT_STORED,
    STAY_A_MEMBER,
    SWITCH,
    GivenHint,
    Hint,
    can_become_static,
)
from emulator.report.subject import Commits, GroupFacts, Subject
from emulator.report.wording import duration
from emulator.verdicts.facts import LEFT_BY_ITSELF

LONG_DOWNTIME_S = 10
LONGEST_SESSION_MS = 1_800_000
"""No longer session is recommended: it is Kafka's default of ``group.max.session.timeout.ms``."""

MIN_SAVED = 0.1
"""A hint shortens the longest downtime of a group by a larger share than this."""

MIN_HEARTBEATS = 4
"""No hint asks for a session timeout of fewer heartbeat intervals."""

SHORTER_SESSION = Hint(
    "shorter-session",
    "Downtime: the group detects a dead member after {session.timeout.ms}. A smaller value, at "
    "least three times {heartbeat.interval.ms}, shortens the downtime. Trade-off: shorter pauses "
    "are enough to remove a running member.",
)

FENCE_SOONER = Hint(
    "fence-sooner",
    "No new records: the controller fences a dead broker after {broker.session.timeout.ms}. Until "
    "then the high watermark of every partition with an in-sync replica on it does not advance, "
    "and commits to such offsets partitions time out. A smaller value shortens this. Trade-off: "
    "shorter pauses are enough to fence a running broker. A controlled shutdown causes no wait.",
)

POLLED_TOO_LATE = Hint("poll-in-time", STAY_A_MEMBER[1].text)

KEPT_BY_ID = Hint(
    "static-membership",
    "Members that left and joined again caused two rebalances each. With a group.instance.id for each "
    "member (static membership), a member that is back within {session.timeout.ms} keeps its "
    "partitions. Trade-off: one that does not come back is detected only after that time.",
)

SESSION_ABOVE_RESTARTS = Hint(
    "session-above-restarts",
    "Static members were back later than {session.timeout.ms}, and had lost their partitions: set it "
    "above the longest restart. Trade-off: a member that stays away is detected only after that time.",
)

STABLE_IDS = Hint(
    "stable-instance-ids",
    "Give static members names that outlast a deploy (a StatefulSet, or an id by ordinal): an id that "
    "does not come back keeps its partitions until {session.timeout.ms} is over.",
)

INITIAL_DELAY = Hint(
    "longer-initial-delay",
    "The members started one after the other, and those that came late caused rebalances of the new group. "
    "Its first rebalance waits {group.initial.rebalance.delay.ms}, and again so long with each member that "
    "joins meanwhile: set it above the time between two starts. Trade-off: the first record comes later after "
    "each start of the whole group.",
)
LONGEST_GAP_US = 30_000_000
"""Members that start further apart are not waited for."""

REMOVED_IN_SILENCE = Hint(
    "watch-heartbeats",
    "The group removed a running member that could not reach its coordinator, and gave its partitions to "
    "others; the member kept them until a heartbeat was answered again. It would have processed records "
    "twice. No setting changes that: alert on last-heartbeat-seconds-ago of the consumer above "
    "{session.timeout.ms}, and end a process that is above it.",
)
LONG_OVERLAP_S = 10

BATCH_BEYOND_GRACE = (
    "No record was reprocessed for it in this run, but a deploy that meets a backlog kills processes before "
    "they have committed: use a longer grace period, or a smaller {max.poll.records}."
)

ONLY_MOVED_STOP = Hint(
    "cooperative",
    "Each rebalance of the eager protocol stops all partitions. With "
    "partition.assignment.strategy=cooperative-sticky or group.protocol=consumer only those that move "
    f"stop ({SWITCH}). Trade-off: members of a cooperative-sticky group work on during a rebalance, and a "
    "commit that meets one is refused (REBALANCE_IN_PROGRESS), so long batches are reprocessed: use a smaller "
    "{max.poll.records} with it.",
)


def downtime_hints(subject: Subject, metrics: Metrics, *, is_sound: bool) -> Iterator[GivenHint]:
    """Yield hints that shorten waits for session timeouts, or avoid rebalances of restarts.

    *is_sound*: members left for restarts only, not because they had died or dropped out in a loop.
    """
    groups = [(group, figures_of(metrics, group.id)) for group in subject.groups]
    for group, _ in groups:
        if group.new_ids:
            yield given(STABLE_IDS, subject, group)
    for group, figures in groups:
        if is_sound and not figures.removals.isdisjoint(LEFT_BY_ITSELF):
            yield given(POLLED_TOO_LATE, subject, group)
    for group, figures in groups:
        removed_by_losses = subject.loss and figures.living
        if _waits_for_sessions(group, figures) and not removed_by_losses:
            yield given(SHORTER_SESSION, subject, group)
    yield from _for_brokers(subject, metrics)
    yield from _for_starts(subject, metrics)
    for group, figures in groups:
        if came_late(group, figures):
            yield given(SESSION_ABOVE_RESTARTS, subject, group)
        if is_sound:
            yield from _for_restarts(subject, group, figures)


def _for_restarts(
    subject: Subject, group: GroupFacts, figures: GroupFigures
) -> Iterator[GivenHint]:
    """Yield hints for a group that members left and joined again."""
    if are_back(subject, group, figures):
        yield given(KEPT_BY_ID, subject, group)
    if {*RESTARTED} <= figures.reasons and group.stays_eager and not group.shared:
        yield given(ONLY_MOVED_STOP, subject, group)


RESTARTED = ("member left", "member added")
"""The reasons of the rebalances of a restart."""


def are_back(subject: Subject, group: GroupFacts, figures: GroupFigures) -> bool:
    """Return whether members left a group and joined again under their names, within a reasonable session."""
    may_be_kept = can_become_static(group) and group.starts_again and not group.autoscaler
    is_restarted = {*RESTARTED} <= figures.reasons
    return may_be_kept and is_restarted and _session_may_last(subject, group, figures)


def _session_may_last(subject: Subject, group: GroupFacts, figures: GroupFigures) -> bool:
    """Return whether a session as long as the longest time without an owner is reasonable.

    Its limit may be one that the brokers have, or are recommended to have.
    """
    kind = "group.consumer" if group.by_coordinator else "group"
    longest_ms = int(subject.broker_settings[f"{kind}.max.session.timeout.ms"])
    return figures.downtime_max_s * 1_000 <= max(longest_ms, LONGEST_SESSION_MS)


def _for_starts(subject: Subject, metrics: Metrics) -> Iterator[GivenHint]:
    """Yield hints for groups that rebalance while their members start for the first time."""
    delay_us = int(subject.broker_settings["group.initial.rebalance.delay.ms"]) * 1_000
    for group in subject.groups:
        gap_us = longest_gap_us(group)
        if not group.by_coordinator and delay_us < gap_us <= LONGEST_GAP_US:
            rounds = [row for row in metrics.listings["rebalances"] if row["group"] == group.id]
            until_s = (group.starts_us[-1] + gap_us) / 1_000_000
            added = [row for row in rounds if reason_kind(row["reason"]) == "member added"]
            if any(row["started_s"] <= until_s for row in added):
                yield given(INITIAL_DELAY, subject, group)


def longest_gap_us(group: GroupFacts) -> int:
    """Return the longest time between two members that start one after the other; 0: all at once."""
    return max((two - one for one, two in pairwise(group.starts_us)), default=0)


def silence_hints(subject: Subject, metrics: Metrics) -> Iterator[GivenHint]:
    """Yield hints for members that did not notice their removal, where nothing was reprocessed for it."""
    if metrics["overlap_s"] < LONG_OVERLAP_S:
        return
    for group in subject.groups:
        figures = figures_of(metrics, group.id)
        if figures.living and Departure.EXPIRED in figures.removals:
            yield given(REMOVED_IN_SILENCE, subject, group)


def came_late(group: GroupFacts, figures: GroupFigures) -> bool:
    """Return whether static members were removed before they came back."""
    return group.static and {"session expired", "member added"} <= figures.reasons


def _for_brokers(subject: Subject, metrics: Metrics) -> Iterator[GivenHint]:
    timeout_ms = int(subject.broker_settings["broker.session.timeout.ms"])
    unreadable_ms = metrics["unreadable_max_s"] * 1_000
    if unreadable_ms >= timeout_ms > MIN_SAVED * unreadable_ms:
        yield given(FENCE_SOONER, subject, subject.groups[0])


def _waits_for_sessions(group: GroupFacts, figures: GroupFigures) -> bool:
    """Return whether partitions of dead members waited long, and a shorter session is of use.

    It is not where nobody runs to get the partitions, nor where they waited mainly for something else.
    """
    short = figures.downtime_max_s < LONG_DOWNTIME_S
    if short or not figures.inherited or came_late(group, figures):
        return False
    min_ms = MIN_HEARTBEATS * int(group.value("heartbeat.interval.ms"))
    saved_s = (int(group.value("session.timeout.ms")) - min_ms) / 1_000
    return saved_s > MIN_SAVED * figures.downtime_max_s


def quiet_hints(subject: Subject) -> Iterator[GivenHint]:
    """Yield hints on risks that a run need not have shown: missing commits, batches beyond the grace period."""
    for group in subject.groups:
        if Commits.STORED_ONLY in group.commit_kinds:
            yield replace(given(COMMIT_STORED, subject, group), quiet=True)
        batch_us, grace_us = group.batch_us, group.grace_us
        if batch_us is None or grace_us is None or batch_us <= grace_us:
            continue
        if Commits.EACH_RECORD not in group.commit_kinds:
            text = with_values(BATCH_BEYOND_GRACE, subject, group)
            numbers = (
                f"A full batch takes {group.value('max.poll.records')} × "  # noqa: RUF001
                f"{duration(group.work_us / 1_000_000)} = {duration(batch_us / 1_000_000)}, and a process "
                f"has {duration(grace_us / 1_000_000)} from SIGTERM to SIGKILL."
            )
            yield GivenHint(
                "longer-grace", f"{numbers} {text}", group.id, has_numbers=True, quiet=True
            )
