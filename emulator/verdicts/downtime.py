"""Verdicts on partitions that had no owner for long."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.metrics.group_figures import figures_of
from emulator.report.wording import counted, duration
from emulator.scenario.units import US_PER_S
from emulator.verdicts.verdict import (
    LONG_S,
    Evidence,
    Verdict,
    VerdictId,
    longest_wait,
    longest_wait_for,
    no_process_text,
    wait_text,
)


def found_late(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each topic whose new partitions had no owner for a minute or more."""
    for group, topic, after_us, is_found in evidence.facts.found:
        if after_us >= LONG_S * US_PER_S:
            waited = duration(after_us / US_PER_S)
            when = f"only after {waited}" if is_found else f"until the end, {waited} later"
            verb = "an owner" if is_found else "no owner"
            yield Verdict(
                id=VerdictId.FOUND_LATE,
                sentence=f"new partitions of {topic} had {verb} in {group} {when}",
                numbers={"after_s": after_us / US_PER_S},
                group=group,
                problem=True,
            )


def long_downtime(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict if a partition had no owner for a minute or more, after it had been found."""
    unfound = _unfound(evidence)
    table = evidence.metrics.tables["downtime_max.by_partition"]
    long = {
        name: down_s
        for name, down_s in table.items()
        if down_s - unfound.get(name.rpartition("-")[0], 0) >= LONG_S
    }
    if long:
        yield _long_downtime(evidence, long)


def _unfound(evidence: Evidence) -> dict[str, float]:
    """Return how long new partitions of a topic were not found, by topic and by group and topic."""
    found: dict[str, float] = {}
    for group, topic, after_us, _ in evidence.facts.found:
        found[topic] = found[f"{group}/{topic}"] = after_us / US_PER_S
    return found


def _long_downtime(evidence: Evidence, long: dict[str, float]) -> Verdict:
    worst = max(long, key=lambda name: long[name])
    group = _group_of(evidence, worst)
    figures = figures_of(evidence.metrics, group)
    wait = longest_wait(evidence.facts, worst, long[worst])
    longest = longest_wait_for(evidence.facts, worst)
    return Verdict(
        id=VerdictId.LONG_DOWNTIME,
        sentence=(
            f"{counted(len(long), 'partition')} had no owner that processes for a minute or more, {worst} for "
            f"{duration(long[worst])}{wait_text(wait) or no_process_text(evidence.facts, group)}"
        ),
        numbers={
            "partitions": len(long),
            "longest_s": long[worst],
            "rebalance_s": figures.rebalance_max_s,
            "unsynced": figures.unsynced,
            "session_expired": longest is not None and longest.expired,
            "left_out": _left_out(evidence, group),
        },
        group=group,
        problem=True,
    )


def _left_out(evidence: Evidence, group: str) -> int:
    """Return the number of partitions that no assignment of a group had."""
    rows = evidence.metrics.listings.get("without_owner", ())
    return sum(bool(row["left_out"]) for row in rows if row["group"] == group)


def _group_of(evidence: Evidence, partition: str) -> str:
    """Return the group of a partition; metrics name both, or with one group the partition alone."""
    by_group = evidence.metrics.tables["downtime_max.by_group"]
    groups = [group for group in by_group if partition.startswith(f"{group}/")]
    return max(groups, key=len, default=next(iter(by_group)))
