"""Batches that end within a time limit, and a limit that a batch fits into."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from emulator.advice.drafts import (
    MARGIN,
    Draft,
    Make,
    batches_of,
    capital,
    sufficient_grace_s,
)
from emulator.advice.situation import Situation, milliseconds, round_down
from emulator.ledger.entries import Cause
from emulator.report.subject import Commits
from emulator.report.wording import duration
from emulator.scenario.units import format_duration

POLLS_A_STEP: Final = 4
"""Batches that have to fit into the interval with the consumer protocol: a poll() that finds buffered
records does not reset the timer, and partitions are revoked one step a batch."""

INTERVAL: Final = "max.poll.interval.ms"
HEARTBEAT: Final = "heartbeat.interval.ms"


def longer_grace(situation: Situation) -> Draft | None:
    """A grace period in which a full batch and calls of the listener end, with a margin of a quarter."""
    needed_s = sufficient_grace_s(situation.stopping_s)
    if needed_s == inf:
        return None
    short = [grace for grace in situation.graces() if grace.left_s < needed_s]
    if not short:
        return None
    least = min(short, key=lambda grace: grace.left_s)
    values = [format_duration(milliseconds(needed_s + each.hook_s) * 1_000) for each in short]
    return Draft(
        f"{capital(situation.batch_text)}{situation.listener_text}, and {least.text}.",
        (f"grace period (terminationGracePeriodSeconds): {values[short.index(least)]}",),
        tuple(f"act[{g.act}].grace={value}" for g, value in zip(short, values, strict=True)),
    )


def batch_within_grace(situation: Situation) -> Draft | None:
    """Batches that end within the grace period, with a margin, before the listener's call in close()."""
    least = min(situation.graces(), key=lambda grace: grace.left_s, default=None)
    if least is None:
        return None
    within_s = least.left_s - situation.listener_s
    return _batches_within(situation, within_s, f"{least.text}{situation.listener_text}")


def batch_within_interval(situation: Situation) -> Draft | None:
    """Batches after which poll() is called in time, with a margin; none helps if one record takes longer."""
    if situation.slowest_record_s * 1_000 >= situation.facts.shortest_interval_ms:
        return None
    steps = POLLS_A_STEP if situation.facts.by_coordinator else 1
    within_s = situation.facts.shortest_interval_ms / 1_000 / steps
    name = INTERVAL if steps == 1 else f"{INTERVAL} / {steps}"
    return _batches_within(situation, within_s, f"{name} is {duration(within_s)}")


MIN_SAVED: Final = 0.1
"""Smaller batches shorten the longest downtime by a larger share than this, or are no help against it."""


def batch_within_rebalance(situation: Situation) -> Draft | None:
    """Batches that delay a rebalance by no more than a heartbeat does, if batches are what it waits for."""
    saved_s = situation.batch_s - situation.seconds(HEARTBEAT)
    if saved_s <= MIN_SAVED * situation.metrics["downtime_max_s"]:
        return None
    return batch_within_heartbeats(situation)


def batch_within_heartbeats(situation: Situation) -> Draft | None:
    """Batches that delay a rebalance by no more than a heartbeat does: members join between two polls."""
    beat_s = situation.seconds(HEARTBEAT)
    text = f"members learn of a rebalance within {duration(beat_s)}, and join when a batch is done"
    return _batches_within(situation, beat_s, text)


def batch_within_commits(situation: Situation) -> Draft | None:
    """Batches that do not delay the automatic commit: poll() makes it, or begins what it may cover."""
    if not situation.facts.settings["enable.auto.commit"]:
        return None
    within_s = situation.seconds("auto.commit.interval.ms")
    if situation.batch_s <= within_s:
        return None
    text = f"auto.commit.interval.ms is {duration(within_s)}"
    return _batches_within(situation, within_s, text)


def batch_of_causes(situation: Situation) -> Draft | None:
    """Batches that end within a heartbeat (refused commits), the grace period (kills), or the poll interval.

    Within the interval of commits where these cover earlier polls only.
    """
    if Commits.EARLIER_POLLS in situation.facts.commit_kinds:
        return batch_within_commits(situation)
    limits = (BY_CAUSE[cause] for cause in situation.causes if cause in BY_CAUSE)
    return next((draft for limit in limits if (draft := limit(situation))), None)


BY_CAUSE: Final[Mapping[str, Make]] = {
    str(Cause.REFUSED): batch_within_heartbeats,
    str(Cause.CRASHED): batch_within_grace,
    str(Cause.TWO_OWNERS): batch_within_interval,
}
"""The limit of batches for each cause that smaller ones reduce."""


def _batches_within(situation: Situation, within_s: float, limit: str) -> Draft | None:
    if not situation.group.is_serial:
        return None
    records = round_down(within_s / MARGIN / max(situation.work_s, 1e-9))
    if not 0 < records < situation.records or situation.batch_s * MARGIN <= within_s:
        return None
    taken_s = records * situation.work_s
    why = (
        f"{capital(situation.batch_text)}, and {limit}; {records} records take {duration(taken_s)}."
    )
    return batches_of(situation, records, why)
