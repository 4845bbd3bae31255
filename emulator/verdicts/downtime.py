"""Verdicts on partitions that had no owner for long, and on commits that make them wait."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.metrics.group_figures import figures_of
from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, longest_wait, named, wait_text

LONG_DOWNTIME_S = 60


def long_downtime(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict if a partition had no owner for a minute or more."""
    longest_s = evidence.metrics["downtime_max_s"]
    if longest_s < LONG_DOWNTIME_S:
        return
    table = evidence.metrics.tables["downtime.by_partition"]
    long = [name for name, down_s in table.items() if down_s >= LONG_DOWNTIME_S]
    by_group = evidence.metrics.tables["downtime_max.by_group"]
    group = max(by_group, key=lambda name: by_group[name])
    its_own = [name for name in table if name.startswith(f"{group}/")] or table
    worst = max(its_own, key=lambda name: table[name])
    figures = figures_of(evidence.metrics, group)
    wait = longest_wait(evidence.facts, worst, longest_s)
    yield Verdict(
        id=VerdictId.LONG_DOWNTIME,
        sentence=(
            f"{counted(len(long), 'partition')} had no owner that processes for a minute or more, {worst} for "
            f"{duration(longest_s)}{wait_text(wait)}"
        ),
        numbers={
            "partitions": len(long),
            "longest_s": longest_s,
            "rebalance_s": figures.rebalance_max_s,
            "unsynced": figures.unsynced,
            "session_expired": wait is not None and wait.expired,
        },
        group=group,
        problem=True,
    )


REPEATED_LONG_S = 10


def deleted_topics(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each group whose members repeated commits of a deleted topic for long."""
    for group in evidence.facts.groups:
        long = [each for each in group.of_deleted if each.lasted_us >= REPEATED_LONG_S * 1_000_000]
        if long:
            worst = max(long, key=lambda each: each.lasted_us)
            members = list(dict.fromkeys(each.consumer for each in long))
            down_s = evidence.metrics[f"downtime_max.by_group[{group.group}]"]
            yield Verdict(
                id=VerdictId.DELETED_TOPIC,
                sentence=(
                    f"{named(members)} repeated commits of {worst.topic}, which had been deleted, for up to "
                    f"{duration(worst.lasted_us / 1_000_000)} ({worst.error}); the longest downtime of a "
                    f"partition was {duration(down_s)}"
                ),
                numbers={
                    "members": len(members),
                    "times": sum(each.times for each in long),
                    "longest_s": worst.lasted_us / 1_000_000,
                },
                group=group.group,
                problem=True,
            )


FOUND_LATE_S = 30


def found_late(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each topic whose new partitions had no owner for long."""
    for group, topic, after_us, is_found in evidence.facts.found:
        if after_us >= FOUND_LATE_S * 1_000_000:
            waited = duration(after_us / 1_000_000)
            when = f"only after {waited}" if is_found else f"until the end, {waited} later"
            verb = "an owner" if is_found else "no owner"
            yield Verdict(
                id=VerdictId.FOUND_LATE,
                sentence=f"new partitions of {topic} had {verb} in {group} {when}",
                numbers={"after_s": after_us / 1_000_000},
                group=group,
                problem=True,
            )
