"""Hypothesis strategies: scenarios drawn at random, for properties of your own group.

A property that a deploy, an assignor or a commit policy must have under every fault becomes a test
of ``@given(scenarios(...))``. Hypothesis then prints the smallest scenario for which it fails, also
as a file that ``rebalance run`` plays.

>>> from hypothesis import find
>>> smallest = find(scenarios(faults=["crash"]), lambda drawn: len(drawn.fault) == 1)
>>> smallest.fault[0].verb, len(smallest.group[0].members), smallest.topic[0].partitions
('crash', 1, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.model import Scenario
from emulator.scenario.part import ScenarioSource
from emulator.scenario.problems import hint, listed
from emulator.scenario.toml import to_toml

try:
    from hypothesis import note
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn, SearchStrategy
except ModuleNotFoundError as error:  # pragma: no cover  it is there when tests run
    raise ModuleNotFoundError(
        "emulator.strategies needs Hypothesis: pip install 'rebalance-emulator[test]'",
        name=error.name,
    ) from None

GROUP = "billing"
TOPIC = "orders"

EARLIEST_S, LATEST_S = 10, 60
"""Faults begin between these seconds of a run."""

LONGEST_FAULT_S = 20

AFTER_FAULTS_S = 120
"""From the last possible end of a fault to the end of the run: more than the default
``session.timeout.ms`` and a rebalance."""

CLASSIC_TIMEOUTS = ("6s", "10s", "45s")
"""The values of ``session.timeout.ms`` that are drawn."""

Table = dict[str, Any]
Drawn = Mapping[str, Any]
"""A table of a scenario file; a value may be a strategy, from which it is drawn."""


@st.composite
def scenarios(
    draw: DrawFn,
    *,
    group: Drawn | None = None,
    faults: Sequence[str] | None = None,
    members: int = 4,
    partitions: int = 6,
    most_faults: int = 3,
    folder: Path | None = None,
) -> Scenario:
    """Draw a scenario: one group that reads one topic, with faults and acts.

    *group*: keys of the ``[[group]]`` table that are fixed, such as ``settings``; a value may be a
    strategy. *faults*: verbs to draw from, of ``FAULTS``; by default all. *members*, *partitions*,
    *most_faults*: the largest numbers. *folder*: of your own assignors.

    The group is ``billing`` with the members ``billing-0``, …, the topic ``orders``. Runs last at
    least two minutes longer than the last fault.

    Raises ``RefusedError`` for an unknown verb, ``ScenarioError`` if *group* is invalid.
    """
    verbs = _known(faults)
    fixed = {key: _draw(draw, value) for key, value in (group or {}).items()}
    table = _group(draw, fixed, members)
    count = draw(st.integers(1, partitions))
    rate = draw(st.sampled_from(("1/s", "10/s", "50/s")))
    subjects = Subjects(table["id"], _member_names(table), count)
    chosen = draw(st.lists(st.sampled_from(verbs), max_size=most_faults))
    drawn = [_fault(draw, verb, subjects) for verb in _possible(chosen)]
    document = {
        "title": "drawn",
        "run_for": f"{LATEST_S + LONGEST_FAULT_S * len(subjects.members) + AFTER_FAULTS_S}s",
        "seed": draw(st.integers(0, 999)),
        "topic": [{"name": TOPIC, "partitions": count, "rate": rate}],
        "group": [table],
        **({"fault": drawn} if drawn else {}),
    }
    drawn_scenario = scenario_of(tidy(document), ScenarioSource("drawn scenario", folder))
    note(f"The drawn scenario as a file:\n\n{to_toml(drawn_scenario)}")
    return drawn_scenario


def _known(faults: Sequence[str] | None) -> list[str]:
    chosen = list(FAULTS) if faults is None else list(faults)
    for verb in chosen:
        if verb not in FAULTS:
            raise RefusedError(
                f"faults: there is no strategy for {verb!r}{hint(verb, FAULTS)}; allowed are "
                f"{listed(FAULTS)}"
            )
    return chosen


def _draw(draw: DrawFn, value: Any) -> Any:
    """Return a value in which every strategy is replaced by what it draws."""
    if isinstance(value, SearchStrategy):
        return draw(value)
    if isinstance(value, Mapping):
        return {key: _draw(draw, below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_draw(draw, below) for below in value]
    return value


def _group(draw: DrawFn, fixed: Table, members: int) -> Table:
    """Return the group's table: drawn, with the fixed keys in it."""
    settings = {"auto.offset.reset": "earliest", **fixed.get("settings", {})}
    classic = settings.get("group.protocol", "classic") == "classic"
    if classic and "session.timeout.ms" not in settings:
        settings["session.timeout.ms"] = draw(st.sampled_from(CLASSIC_TIMEOUTS))
    table = {"id": GROUP, "topics": [TOPIC], **fixed, "settings": settings}
    if not {"members", "member"} & fixed.keys():
        table["members"] = draw(st.integers(1, members))
    if "work" not in fixed:
        table["work"] = draw(st.sampled_from(("1ms", "10ms", "40ms")))
    return table


def _member_names(table: Table) -> list[str]:
    given = table.get("member", table.get("members"))
    if isinstance(given, int):
        return [f"{table['id']}-{number}" for number in range(given)]
    return [member["name"] for member in given or ()]


# -- faults ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subjects:
    """What faults and acts can be about."""

    group: str
    members: Sequence[str]
    partitions: int


FaultStrategy = Callable[[DrawFn, Subjects], Table]
"""Draws the keys of a fault, without its time."""


def _possible(verbs: Sequence[str]) -> Iterator[str]:
    """Yield verbs; partitions are added once, as their number can only grow."""
    for place, verb in enumerate(verbs):
        if verb != "add_partitions" or verb not in verbs[:place]:
            yield verb


def _fault(draw: DrawFn, verb: str, subjects: Subjects) -> Table:
    """Draw the table of one fault or act."""
    at = draw(st.integers(EARLIEST_S, LATEST_S))
    return {**FAULTS[verb](draw, subjects), "at": f"{at}s"}


def _seconds(draw: DrawFn, least: int = 1) -> str:
    return f"{draw(st.integers(least, LONGEST_FAULT_S))}s"


def _member(draw: DrawFn, subjects: Subjects) -> str:
    return draw(st.sampled_from(subjects.members))


def _with_restart(verb: str) -> FaultStrategy:
    def fault(draw: DrawFn, subjects: Subjects) -> Table:
        table: Table = {verb: _member(draw, subjects)}
        if draw(st.booleans()):
            table["restart_after"] = _seconds(draw)
        return table

    return fault


def _lasting(verb: str) -> FaultStrategy:
    def fault(draw: DrawFn, subjects: Subjects) -> Table:
        return {verb: _member(draw, subjects), "for": _seconds(draw)}

    return fault


def _cut(draw: DrawFn, subjects: Subjects) -> Table:
    return {"cut": [_member(draw, subjects), "brokers"], "for": _seconds(draw)}


def _rolling_restart(draw: DrawFn, subjects: Subjects) -> Table:
    times = {"down_time": _seconds(draw, 0), "gap": _seconds(draw, 0)}
    names = draw(st.sampled_from(("ordinal", "random")))
    return {"rolling_restart": subjects.group, **times, "names": names}


def _move_coordinator(_: DrawFn, subjects: Subjects) -> Table:
    return {"move_coordinator": subjects.group}


def _add_partitions(draw: DrawFn, subjects: Subjects) -> Table:
    return {"add_partitions": TOPIC, "to": subjects.partitions + draw(st.integers(1, 4))}


FAULTS: Mapping[str, FaultStrategy] = {
    "crash": _with_restart("crash"),
    "pause": _lasting("pause"),
    "hang": _lasting("hang"),
    "close": _with_restart("close"),
    "rolling_restart": _rolling_restart,
    "cut": _cut,
    "move_coordinator": _move_coordinator,
    "add_partitions": _add_partitions,
}
"""The verbs that are drawn, with the strategy of each."""
