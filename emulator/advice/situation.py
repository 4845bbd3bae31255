"""What a change depends on: a group, its settings in force, its work, its restarts and its pauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor, inf, log10
from typing import Any, Final

from assignors.values import dataclass
from emulator.metrics.metrics import Metrics
from emulator.report.subject import GroupFacts
from emulator.report.wording import duration
from emulator.scenario.deploys import rolling_restarts_of, stops_of
from emulator.scenario.estimates.loads import Load, loads_of
from emulator.scenario.model import (
    Close,
    Crash,
    Cut,
    Group,
    Pause,
    RollingRestart,
    Scenario,
)
from emulator.scenario.resolution import CLIENTS, concurrency, records_at_once
from emulator.scenario.tables.distributions import p99_us
from emulator.scenario.units import US_PER_MS, US_PER_S

STEPS: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Round numbers are these times a power of ten."""


RECORDS: Final = "max.poll.records"
"""The setting that limits a batch; with some clients the application does, call by call."""

NO_LIMIT: Final = 1_000_000
"""A larger limit of a batch means all that is buffered: clients other than Java's have no limit."""


def round_up(value: float) -> int:
    """Return the smallest round number that is not below *value*, at least 1.

    >>> round_up(13.1), round_up(11_200), round_up(1)
    (15, 12000, 1)
    """
    return min(number for number in map(ceil, _round_numbers(max(value, 1))) if number >= value)


def round_down(value: float) -> int:
    """Return the largest round number that is not above *value*; 0 if it is below 1.

    >>> round_down(13.1), round_down(99), round_down(0.4)
    (12, 80, 0)
    """
    if value < 1:
        return 0
    return max(number for number in map(floor, _round_numbers(value)) if number <= value)


def _round_numbers(value: float) -> list[float]:
    power = 10 ** floor(log10(value))
    return [step * power for step in STEPS]


@dataclass(frozen=True, slots=True)
class Grace:
    """The grace period of an act; in Kubernetes the preStop hook runs within it."""

    act: str
    whole_s: float
    hook_s: float

    @property
    def left_s(self) -> float:
        """From SIGTERM to SIGKILL."""
        return max(0.0, self.whole_s - self.hook_s)

    @property
    def text(self) -> str:
        """The time that a process has, with the numbers that it follows from."""
        if not self.hook_s:
            return f"the grace period is {duration(self.whole_s)}"
        return (
            f"the grace period of {duration(self.whole_s)} leaves {duration(self.left_s)} after the "
            f"preStop hook of {duration(self.hook_s)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A group of a scenario that was played, and what the run measured."""

    scenario: Scenario
    group: Group
    facts: GroupFacts
    brokers: Mapping[str, Any]
    """The settings of the brokers, by name."""

    metrics: Metrics
    causes: tuple[str, ...] = ()
    """The causes and problems for which the hint is given."""

    def value(self, setting: str) -> int:
        """Return a consumer setting in force that is a number."""
        return int(self.facts.value(setting))

    def seconds(self, setting: str) -> float:
        """Return a consumer setting in force, given in milliseconds, in seconds."""
        return self.value(setting) / 1_000

    @property
    def records(self) -> int:
        """The largest number of records of a batch."""
        if RECORDS not in self.facts.lacks:
            return self.value(RECORDS)
        return max(records_at_once(self.group, member) for member in self.group.members)

    @property
    def work_s(self) -> float:
        """The mean time of one record, of the slowest member."""
        return self.facts.work_us / US_PER_S

    @property
    def batch_s(self) -> float:
        """The time of a full batch, or of a full queue of workers; infinite if it has no limit."""
        if self.group.pool is not None:
            return self.group.pool.queue * self.work_s / concurrency(self.group)[0]
        return self.records * self.work_s if self.records < NO_LIMIT else inf

    @property
    def stopping_s(self) -> float:
        """The longest time from SIGTERM to LeaveGroup: a batch or a listener call, and the call in close()."""
        return max(self.batch_s, self.listener_s) + self.listener_s

    @property
    def batch_text(self) -> str:
        """The time of a full batch, with the numbers that it follows from."""
        if self.batch_s == inf:
            return "a batch has no limit of records"
        work, batch = duration(self.work_s), duration(self.batch_s)
        pool = self.group.pool
        if pool is not None:
            return f"{pool.queue} queued records × {work} / {pool.workers} workers = {batch}"  # noqa: RUF001
        return f"a full batch takes {self.records} × {work} = {batch}"  # noqa: RUF001

    @property
    def load(self) -> Load | None:
        """What arrives for the group, and what it can process; None: nothing is produced."""
        return next((one for one in loads_of(self.scenario) if one.group == self.group.id), None)

    @property
    def names(self) -> set[str]:
        """The names of the members."""
        return {member.name for member in self.group.members}

    @property
    def restarts(self) -> list[RollingRestart]:
        """The rolling restarts of the group, in the order of the file."""
        return rolling_restarts_of(self.group.id, self.scenario)

    def graces(self) -> Iterator[Grace]:
        """Yield the grace period of each act that stops members within one."""
        for act in stops_of(self.group, self.scenario):
            if act.grace is not None:
                hook = act.pre_stop if isinstance(act, RollingRestart) else 0
                yield Grace(act.id, act.grace / US_PER_S, hook / US_PER_S)

    def mid_batch(self) -> Iterator[str]:
        """Yield the id of each act that stops members in the middle of a batch."""
        yield from (act.id for act in stops_of(self.group, self.scenario) if act.mid_batch)

    @property
    def down_s(self) -> float | None:
        """The longest time from the end of a member to its start, of 99 in 100; None: none starts again."""
        found = [act.down_time + int(p99_us(act.start_up)) for act in self.restarts]
        for act in self.scenario.fault:
            if isinstance(act, Close | Crash) and act.member in self.names:
                found += [] if act.restart_after is None else [act.restart_after]
        return max(found) / US_PER_S if found else None

    @property
    def pause_s(self) -> float:
        """The longest pause of a member, or cut of its connections; 0: there is none."""
        pauses = [
            fault.lasting
            for fault in self.scenario.fault
            if (isinstance(fault, Pause) and fault.member in self.names)
            or (isinstance(fault, Cut) and {CLIENTS, *self.names}.intersection(fault.parties))
        ]
        return max(pauses, default=0) / US_PER_S

    @property
    def slowest_record_s(self) -> float:
        """The longest time of one record: of a slow one, of a handler that hangs, or the mean."""
        return self.facts.slowest_us / US_PER_S

    @property
    def listener_s(self) -> float:
        """The mean duration of a call of the rebalance listener, which delays poll()."""
        return self.facts.listener_us / US_PER_S

    @property
    def listener_text(self) -> str:
        """The same as a clause; empty without a listener that takes time."""
        return (
            f", and a call of the listener {duration(self.listener_s)}" if self.listener_s else ""
        )


def milliseconds(seconds: float) -> int:
    """Return seconds as a round number of milliseconds, rounded up."""
    return round_up(seconds * US_PER_S / US_PER_MS)
