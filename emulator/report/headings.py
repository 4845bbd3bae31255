"""The head of every report: which scenario, which seeds, which Kafka, what is in force."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.report.subject import GroupFacts, Subject
from emulator.report.wording import paragraph

MOST_GROUPS = 3


def heading(subject: Subject, seeds: str) -> Iterator[str]:
    """Yield the first lines of a report."""
    parts = [subject.title, seeds, f"Apache Kafka {subject.kafka}", f"{subject.run_for} long"]
    yield from paragraph(" | ".join(parts), "", "  ")
    for group in subject.groups[:MOST_GROUPS]:
        yield from paragraph(in_force(group), "", "  ")
    if len(subject.groups) > MOST_GROUPS:
        yield f"and {len(subject.groups) - MOST_GROUPS} more groups"


def in_force(group: GroupFacts) -> str:
    """Say what of a group's settings decides what a failure costs."""
    settings = group.settings
    protocol = "cooperative" if group.cooperative else "eager"
    members = f"{group.members} {'static ' if group.static else ''}members"
    parts = [
        f"{group.id}: {members.removesuffix('s') if group.members == 1 else members}",
        f"{', '.join(group.assignors)} ({protocol})",
        group.commits,
        *(f"{name}={settings[name]}" for name in NAMED),
    ]
    return ", ".join(parts)


NAMED = (
    "session.timeout.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "auto.offset.reset",
)
