"""Lanes for what autoscalers and monitors did: replicas, standstills and alarms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from emulator.metrics.metrics import Metrics
from emulator.metrics.monitors import ABOVE
from emulator.report.pages.canvas import Canvas, times_of
from emulator.report.pages.drawing import (
    Attributes,
    across,
    element,
    number,
    stretched,
    title,
    value_axis,
)
from emulator.report.pages.history import Automation, History, Step, Watched
from emulator.report.pages.thinning import Piece, largest, longest_drawn
from emulator.report.wording import counted, duration, figure

MAX_STEPS: Final = 100
"""Dots of steps of an autoscaler in a figure."""

MAX_WATCHED: Final = 200
"""Standstills and alarms of a monitor in a figure."""

REPLICAS_HEIGHT: Final = 64
LANE_HEIGHT: Final = 30
"""Pixels of a monitor's lane: standstills above, alarms below."""

US_PER_S: Final = 1_000_000
Rows = Sequence[Mapping[str, Any]]


def add_automation(history: History, metrics: Metrics) -> None:
    """Add to the groups of a history what their autoscalers and monitors did."""
    for row in (*metrics.listings["replicas"], *metrics.listings["monitors"]):
        group = history.groups.get(row["group"])
        if group is not None and group.automation is None:
            group.automation = _automation_of(group.name, metrics, history.end_us)


def _automation_of(group: str, metrics: Metrics, ended_us: int) -> Automation:
    mine = {name: _of_group(rows, group) for name, rows in metrics.listings.items()}
    steps = tuple(
        Step(_us(row["at_s"]), row["before"], row["after"], _reason(row))
        for row in mine["scalings"]
    )
    at_first = steps[0].before if steps else next((r["replicas_max"] for r in mine["replicas"]), 0)
    return Automation(
        replicas=at_first if mine["replicas"] else None,
        steps=steps,
        monitors={
            row["monitor"]: tuple(_watched(row["monitor"], mine, ended_us))
            for row in mine["monitors"]
        },
    )


def _of_group(rows: Rows, group: str) -> Rows:
    return [row for row in rows if row.get("group") == group]


def _us(seconds: float) -> int:
    return round(seconds * US_PER_S)


def _reason(row: Mapping[str, Any]) -> str:
    parts = [f"lag {figure(row['lag'])}, which asks for {row['wanted']}"]
    if row["reverses"]:
        parts.append("undoes a recent step")
    if row["reprocessed"]:
        parts.append(f"{counted(row['reprocessed'], 'record')} reprocessed")
    return "; ".join(parts)


def _watched(monitor: str, mine: Mapping[str, Rows], ended_us: int) -> Iterator[Watched]:
    for row in mine["standstills"]:
        if row["monitor"] == monitor:
            found = row["noticed_s"]
            after = (
                "no alarm" if found is None else f"alarm after {duration(found - row['from_s'])}"
            )
            kind = "missed" if found is None else "stuck"
            words = f"{row['partition']} stuck, {after}"
            yield Watched(_us(row["from_s"]), _end_us(row, ended_us), kind, words)
    for row in mine["monitor_alarms"]:
        if row["monitor"] == monitor:
            about = row["partition"] or "the group"
            kind, words = ("false-alarm", "false alarm") if row["false"] else ("alarm", "alarm")
            state = "lag above its limit" if row["state"] == ABOVE else row["state"]
            words = f"{words}: {about}, {state}"
            yield Watched(_us(row["from_s"]), _end_us(row, ended_us), kind, words)


def _end_us(row: Mapping[str, Any], ended_us: int) -> int:
    return ended_us if row["to_s"] is None else _us(row["to_s"])


# -- lanes -------------------------------------------------------------------------------------


def draw_automation(canvas: Canvas, automation: Automation) -> None:
    """Draw a lane for the replicas of a group, and one for each of its monitors."""
    if automation.replicas is not None:
        _draw_replicas(canvas, automation.replicas, automation.steps)
        canvas.notes.append("Replicas: those that the autoscaler asked for; each dot is a step.")
    if automation.monitors:
        canvas.heading("monitors")
        canvas.notes.append("Monitors: partitions that were stuck, and below them the alarms.")
    for name, watched in automation.monitors.items():
        _draw_monitor(canvas, name, watched)


def _draw_replicas(canvas: Canvas, at_first: int, steps: Sequence[Step]) -> None:
    canvas.heading("replicas")
    scale, bottom = canvas.scale, canvas.bottom + REPLICAS_HEIGHT
    most = max([at_first, *(step.after for step in steps)], default=1)

    def y_of(value: float) -> float:
        return bottom - 6 - (REPLICAS_HEIGHT - 14) * value / max(most, 1)

    lines, labels = value_axis([0, most] if most else [0], y_of, figure)
    canvas.drawn.append(lines)
    canvas.labels.append(labels)
    before = [step for step in steps if step.at_us <= scale.begin_us]
    inside = [step for step in steps if scale.begin_us < step.at_us <= scale.end_us]
    value = before[-1].after if before else at_first
    points = [(0.0, y_of(value))]
    for step in inside:
        x = scale.x(step.at_us)
        points += [(x, points[-1][1]), (x, y_of(step.after))]
    points.append((scale.width, points[-1][1]))
    drawn = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    line = element("polyline", points=drawn, class_="curve replicas")
    canvas.bottom = bottom
    canvas.drawn.append(stretched(line, bottom))
    shown, left_out = largest(
        inside, MAX_STEPS, lambda step: abs(step.after - step.before), spread=True
    )
    for step in shown:
        tip = title(
            f"{canvas.moment(step.at_us)}: {step.before} to {step.after} replicas, {step.words}"
        )
        place: Attributes = {"cx": across(scale.x(step.at_us)), "cy": y_of(step.after), "r": 3}
        canvas.drawn.append(element("circle", tip, class_="step", **place))
    if left_out:
        canvas.notes.append(f"{counted(left_out, 'smaller step')} of the autoscaler have no dot.")


def _draw_monitor(canvas: Canvas, name: str, watched: Sequence[Watched]) -> None:
    """Draw standstills as a row of bars, and below it the alarms, each with a mark at its beginning."""
    top = canvas.bottom
    canvas.label(top + LANE_HEIGHT / 2 + 3, name)
    scale = canvas.scale
    inside = [
        one for one in watched if one.end_us >= scale.begin_us and one.begin_us <= scale.end_us
    ]
    shown, left_out = largest(
        inside, MAX_WATCHED, lambda one: one.end_us - one.begin_us, spread=True
    )
    for one in shown:
        is_alarm = one.kind.endswith("alarm")
        y = top + (LANE_HEIGHT / 2 if is_alarm else 1)
        shape = canvas.rect(one.begin_us, one.end_us, y, LANE_HEIGHT / 2 - 4, least=2)
        tip = title(f"{name}: {one.words}, {times_of(canvas, Piece(*one[:2], ''))}")
        canvas.drawn.append(element("rect", tip, class_=one.kind, **shape))
        if is_alarm and one.begin_us >= scale.begin_us:
            begins: Attributes = {"x": across(scale.x(one.begin_us)), "y": y + LANE_HEIGHT / 4 - 2}
            canvas.drawn.append(element("use", href=f"#{BELL}", class_="bell", **begins))
    canvas.bottom += LANE_HEIGHT
    if left_out:
        canvas.notes.append(longest_drawn(len(shown), left_out, "standstills and alarms"))


BELL: Final = "m-alarm"
BELL_PATH: Final = "M-5 4H5L4 2V-1a4 4 0 0 0 -8 0V2Z M-1.5 4.5a1.5 1.5 0 0 0 3 0Z"
