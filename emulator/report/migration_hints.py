"""What would help a group that is left between the protocols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.report.described import DescribedGroup
from emulator.report.subject import Subject
from emulator.report.wording import span

LONG_UNSERVED_S = 10
"""A member of the consumer protocol sends a heartbeat more often than that."""

WAYS_BACK = ("bidirectional", "downgrade")
"""Policies under which a group becomes classic when its last other member leaves."""

POLICY = "group.consumer.migration.policy"


def migration_hints(subject: Subject, groups: Sequence[DescribedGroup]) -> Iterator[str]:
    """Yield what helps groups of the consumer protocol whose members are all classic."""
    for group in groups:
        if group.unserved_us >= LONG_UNSERVED_S * 1_000_000:
            yield _stuck(group)
            policy = subject.broker_settings[POLICY]
            if policy not in WAYS_BACK:
                yield (
                    f"Before members are rolled back to the classic protocol: {POLICY} (now "
                    f"{policy}) = bidirectional or downgrade lets the group go back with the last "
                    f"of them."
                )


def _stuck(group: DescribedGroup) -> str:
    waited = span(group.unserved_us / 1_000_000)
    return (
        f"{group.group} is a group of the consumer protocol with classic members alone, and was in "
        f"Assigning for {waited}: their heartbeats compute no new target, only a join does. Restart "
        f"one of them, or start one with group.protocol=consumer."
    )
