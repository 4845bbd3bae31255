"""What a report is about, as plain values: the report knows no scenario, whoever prints it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emulator.ledger.entries import Ledger
from emulator.metrics.checks import Expected
from emulator.metrics.laws import Finding
from emulator.metrics.metrics import Metrics
from emulator.report.chronicle import Chronicle
from emulator.report.group_state import DescribedGroup
from emulator.report.wording import paragraph

TOLD_BY_BROKERS = ("session.timeout.ms", "heartbeat.interval.ms")
"""Settings of consumers that those of the consumer protocol have from their brokers instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """A consumer group and what is in force in it."""

    id: str
    members: int
    assignors: tuple[str, ...]
    cooperative: bool
    """Whether its members keep what does not move during a rebalance."""

    by_coordinator: bool = False
    """Whether it speaks the consumer protocol: the coordinator assigns and says how long to wait."""

    mixed: bool = False
    """Whether it begins with members of both protocols."""

    static: bool
    """Whether all its members have instance ids."""

    shared: bool
    """Whether its assignor means to give a partition to several members."""

    commits: str
    """Who commits when, in words: ``auto commit every 5s``."""

    habits: frozenset[str]
    """How its members commit: ``auto``, ``none``, or ``sync`` or ``async`` with any of
    ``before work``, ``each record``, ``no offsets``, ``in listener``."""

    settings: Mapping[str, Any]
    """Kafka's consumer settings of its first member, by name; with the consumer protocol, the
    brokers' own in place of those that they tell."""

    def name_of(self, setting: str) -> str:
        """Return what a setting of consumers is called where it is made for this group."""
        told = self.by_coordinator and setting in TOLD_BY_BROKERS
        return f"group.consumer.{setting}" if told else setting

    def value(self, setting: str) -> Any:
        """Return the value in force of a setting of consumers."""
        return self.settings[self.name_of(setting)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One scenario, as the head of a report names it."""

    name: str
    """What it was called on the command line: a file or a name of the catalogue."""

    options: str
    """What to repeat on the command line to get the same run, as `` --set …``; may be empty."""

    title: str
    kafka: str
    run_for: str
    groups: tuple[GroupFacts, ...]
    broker_settings: Mapping[str, Any]
    retentions: Mapping[str, str]
    """How long each topic keeps its records, in words; topics that keep all are left out."""

    moment: Callable[[int], str]
    """Tells a time of the run, in microseconds, as people read it."""

    def group(self, group_id: str) -> GroupFacts:
        """Return a group by its id."""
        return next(group for group in self.groups if group.id == group_id)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedRun:
    """A finished run, and what it is about."""

    subject: Subject
    seed: int
    digest: str
    ledger: Ledger
    metrics: Metrics
    findings: tuple[Finding, ...]
    expectations: tuple[Expected, ...]
    chronicle: Chronicle
    groups: tuple[DescribedGroup, ...]
    """Each group as its coordinator would describe it at the end."""
