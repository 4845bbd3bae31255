"""What a report is about, as plain values: the report knows no scenario, whoever prints it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
