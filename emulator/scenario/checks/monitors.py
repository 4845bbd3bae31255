"""Checks of monitors against their group and the samples that they read."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.model import Group, Monitor, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.units import format_duration


def monitor_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Yield names that two monitors share, and intervals shorter than those of the samples."""
    names = [monitor.name or monitor.rule for monitor in group.monitor]
    for number, (name, monitor) in enumerate(zip(names, group.monitor, strict=True)):
        path = f"group[{group.id}].monitor[{number}]"
        if name in names[:number]:
            reason = "another monitor of the group has this name; give each a name"
            yield Problem(f"{path}.name", reason, name)
        yield from _finer_than_samples(path, monitor, scenario.lag_every)


def _finer_than_samples(path: str, monitor: Monitor, lag_every_us: int) -> Iterator[Problem]:
    """Yield intervals of a monitor that are shorter than those of the samples that it reads."""
    samples = format_duration(lag_every_us)
    intervals = {"every": monitor.every}
    if monitor.rule == "burrow":
        intervals["offset_refresh"] = monitor.offset_refresh
    for key, interval_us in intervals.items():
        if interval_us < lag_every_us:
            given = format_duration(interval_us)
            reason = (
                f"a monitor reads lag at samples, and lag_every is {samples}; allowed is at least "
                f'{samples}, or set lag_every = "{given}" for the scenario'
            )
            yield Problem(f"{path}.{key}", reason, given)
