"""Check the times of faults and acts: when they begin, and that none waits for itself.

A file may have tens of thousands, each of which waits for the one before it: every fault is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.scenario.model import After, Fault, Scenario, Step
from emulator.scenario.problems import NOT_GIVEN, Problem
from emulator.scenario.units import format_duration


def timeline_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for every fault that begins after the run, and for every circle of faults."""
    faults = {fault.id: fault for fault in scenario.fault}
    for circle in _circles(faults):
        reason = f"waits for itself: {' → '.join((*circle, circle[0]))}"
        yield Problem(f"fault[{circle[0]}].when", reason)
    earliest = _earliest_us(faults)
    for fault in scenario.fault:
        yield from _late_problems(fault, earliest[fault.id] or 0, scenario.run_for)


def _circles(faults: Mapping[str, Fault]) -> Iterator[list[str]]:
    """Yield the ids of faults that wait for one another in a circle, from its first one on."""
    seen = set[str]()
    for first in faults.values():
        way: dict[str, int] = {}
        fault: Fault | None = first
        while fault is not None and fault.id not in seen:
            seen.add(fault.id)
            way[fault.id] = len(way)
            fault = _aim(fault, faults)
        if fault is not None and fault.id in way:
            yield list(way)[way[fault.id] :]


def _earliest_us(faults: Mapping[str, Fault]) -> dict[str, int | None]:
    """Return the earliest time of each fault; None if it waits for one that waits for itself."""
    earliest: dict[str, int | None] = {}
    for first in faults.values():
        way: list[Fault] = []
        fault: Fault | None = first
        while fault is not None and fault.id not in earliest:
            earliest[fault.id] = None
            way.append(fault)
            fault = _aim(fault, faults)
        for each in reversed(way):
            earliest[each.id] = _begins_us(each, _aim(each, faults), earliest)
    return earliest


def _aim(fault: Fault, faults: Mapping[str, Fault]) -> Fault | None:
    """Return the fault that this one waits for."""
    return faults.get(fault.when.fault) if isinstance(fault.when, After) else None


def _begins_us(fault: Fault, aim: Fault | None, earliest: Mapping[str, int | None]) -> int | None:
    """Return the earliest time of a fault, given that of the one it waits for."""
    match fault.when:
        case After(phase=phase) if aim is not None:
            before = earliest[aim.id]
            lasting = getattr(aim, "lasting", 0) if phase == "ends" else 0
            return None if before is None else before + lasting + fault.delay
        case Step(after=after):
            return after + fault.delay
        case _:
            at = fault.at if fault.at is not None else (fault.between or (0,))[0]
            return at + fault.delay


def _late_problems(fault: Fault, begins: int, end: int) -> Iterator[Problem]:
    """Yield the problem of a fault that begins, at *begins* (us) at the earliest, after the run."""
    after = f"after the end of the run; run_for is {format_duration(end)}"
    path = f"fault[{fault.id}]"
    if fault.between is not None and fault.between[1] + fault.delay > end:
        window = [format_duration(us) for us in fault.between]
        yield Problem(f"{path}.between", f"ends {after}", window)
    elif begins >= end:
        key = next(key for key in ("at", "between", "when") if getattr(fault, key) is not None)
        given = format_duration(fault.at) if fault.at is not None else NOT_GIVEN
        moment = f" at {format_duration(begins)}," if fault.delay or key == "when" else ""
        yield Problem(f"{path}.{key}", f"comes{moment} {after}", given)
