"""Verdicts on partitions that had no owner for long."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, longest_wait, wait_text

LONG_DOWNTIME_S = 60
UNSYNCED = "did not sync in time"
"""The coordinator's reason for a member that joined and sent no SyncGroup."""


def long_downtime(evidence: Evidence) -> Iterator[Verdict]:
    """Yield a verdict if a partition had no owner for a minute or more."""
    longest_s = evidence.metrics["downtime_max_s"]
    if longest_s < LONG_DOWNTIME_S:
        return
    table = evidence.metrics.tables["downtime.by_partition"]
    long = [name for name, down_s in table.items() if down_s >= LONG_DOWNTIME_S]
    worst = max(table, key=lambda name: table[name])
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
            "rebalance_s": evidence.metrics["time_to_stable_max_s"],
            "unsynced": evidence.metrics.tables["evictions.by_reason"].get(UNSYNCED, 0),
            "session_expired": wait is not None and wait.expired,
        },
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
