"""Tables for what autoscalers and monitors did: the timeline in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from emulator.report.pages.history import Automation, History, Step, Watched
from emulator.report.pages.page import Part, Table
from emulator.report.pages.thinning import largest
from emulator.report.wording import counted, duration

MAX_ROWS: Final = 100
"""Rows of each table."""

Moment = Callable[[int], str]


def automation_parts(history: History, moment: Moment) -> Iterator[Part]:
    """Yield the steps of autoscalers and what monitors noticed, as tables."""
    found = [(name, each.automation) for name, each in history.groups.items() if each.automation]
    tables, left_out = [], 0
    for group, automation in found:
        if automation.steps:
            shown, more = largest(automation.steps, MAX_ROWS, lambda s: abs(s.after - s.before))
            rows = [_step_row(step, moment) for step in shown]
            tables.append(Table(caption=f"Steps of the autoscaler of {group}", rows=[STEP, *rows]))
            left_out += more
        for name, watched in automation.monitors.items():
            ordered = sorted(watched)
            kept, more = largest(ordered, MAX_ROWS, lambda one: one.end_us - one.begin_us)
            rows = [_watched_row(one, moment) for one in kept]
            caption = f"What the monitor {name} of {group} noticed"
            tables += [Table(caption=caption, rows=[WATCHED, *rows])] if rows else []
            left_out += more
    if tables:
        facts = f"{counted(left_out, 'smaller one is', 'smaller ones are')} not listed."
        yield Part(
            title=_title(automation for _, automation in found),
            anchor="automation",
            facts=facts if left_out else "",
            tables=tables,
        )


def _title(found: Iterable[Automation]) -> str:
    automations = list(found)
    names = ["Autoscaler"] if any(each.steps for each in automations) else []
    names += ["monitors" if names else "Monitors"] if any(a.monitors for a in automations) else []
    return " and ".join(names)


STEP: Final = ("at", "replicas", "why")
WATCHED: Final = ("from", "to", "length", "what")


def _step_row(step: Step, moment: Moment) -> tuple[str, ...]:
    return moment(step.at_us), f"{step.before} to {step.after}", step.words


def _watched_row(one: Watched, moment: Moment) -> tuple[str, ...]:
    length = duration((one.end_us - one.begin_us) / 1_000_000)
    return moment(one.begin_us), moment(one.end_us), length, one.words
