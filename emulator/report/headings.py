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


def in_force(group: GroupFacts, besides: GroupFacts | None = None) -> str:
    """Say what of a group's settings decides what a failure costs.

    *besides*: the same group elsewhere; what both have is left out.
    """
    known = [] if besides is None else _parts(besides)
    parts = [part for part in _parts(group) if part not in known]
    return f"{group.id}: {', '.join(parts) or 'as in the first column'}"


def _parts(group: GroupFacts) -> list[str]:
    protocol = "cooperative" if group.cooperative else "eager"
    if group.by_coordinator:
        protocol = "group.protocol=consumer"
    if group.mixed:
        protocol += "; members of both protocols"
    members = f"{group.members} {'static ' if group.static else ''}members"
    return [
        members.removesuffix("s") if group.members == 1 else members,
        f"{', '.join(group.assignors)} ({protocol})",
        group.commits,
        *(f"{group.name_of(name)}={group.value(name)}" for name in NAMED),
    ]


NAMED = (
    "session.timeout.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "auto.offset.reset",
)
