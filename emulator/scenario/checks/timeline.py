"""When faults come: not after the end, and not waiting for each other in a circle."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.model import After, Fault, Scenario, Step
from emulator.scenario.problems import NOT_GIVEN, Problem
from emulator.scenario.units import format_duration


def timeline_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for every fault that comes too late, or that waits for itself."""
    faults = {fault.id: fault for fault in scenario.fault}
    for fault in scenario.fault:
        circle = _circle(fault, faults)
        if circle:
            yield Problem(f"fault[{fault.id}].when", f"waits for itself: {' → '.join(circle)}")
        else:
            yield from _late_problems(fault, faults, scenario.run_for)


def _circle(fault: Fault, faults: dict[str, Fault]) -> list[str]:
    """Return the ids on the way from a fault back to itself; empty if the way ends."""
    way = [fault.id]
    while isinstance(fault.when, After) and fault.when.fault in faults:
        fault = faults[fault.when.fault]
        way.append(fault.id)
        if fault.id == way[0]:
            return way
        if fault.id in way[:-1]:
            return []
    return []


def _late_problems(fault: Fault, faults: dict[str, Fault], end: int) -> Iterator[Problem]:
    after = f"after the end of the run; run_for is {format_duration(end)}"
    path = f"fault[{fault.id}]"
    if fault.between is not None and fault.between[1] + fault.delay > end:
        window = [format_duration(us) for us in fault.between]
        yield Problem(f"{path}.between", f"ends {after}", window)
    elif (begins := _earliest_us(fault, faults)) >= end:
        key = next(key for key in ("at", "between", "when") if getattr(fault, key) is not None)
        given = format_duration(fault.at) if fault.at is not None else NOT_GIVEN
        moment = f" at {format_duration(begins)}," if fault.delay or key == "when" else ""
        yield Problem(f"{path}.{key}", f"comes{moment} {after}", given)


def _earliest_us(fault: Fault, faults: dict[str, Fault]) -> int:
    """Return the first moment a fault can come; one that waits for a circle comes at once."""
    begins, seen = 0, set[str]()
    while fault.id not in seen:
        seen.add(fault.id)
        begins += fault.delay
        match fault.when:
            case After(fault=aim, phase=phase) if aim in faults:
                fault = faults[aim]
                begins += getattr(fault, "lasting", 0) if phase == "ends" else 0
            case Step(after=after):
                return begins + after
            case _:
                return begins + (fault.at if fault.at is not None else (fault.between or (0,))[0])
    return 0
