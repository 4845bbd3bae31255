"""The page of one ledger entry: the timeline around it, and its sequence of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assignors.values import dataclass
from emulator.ledger.entries import Entry
from emulator.report.merging import Merged
from emulator.report.pages.history import History
from emulator.report.pages.marks import entry_words, marks_of
from emulator.report.pages.page import Figure, Number, Page, Part, render
from emulator.report.pages.run_page import CAPTION, entry_details
from emulator.report.pages.timeline import View, draw_timeline
from emulator.report.screens.entry import Line
from emulator.report.wording import duration


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedEntry:
    """What the page of an entry shows."""

    title: str
    facts: str
    entry: Entry
    lines: Sequence[Line]
    history: History
    window: tuple[int, int]
    """The part of the run around the entry."""

    moment: Callable[[int], str]
    screen: Sequence[str]
    """The explanation as on a terminal."""


def explain_page(shown: ExplainedEntry) -> str:
    """Return the page of an entry as HTML; the same entry gives the same bytes."""
    entry, moment = shown.entry, shown.moment
    details = entry_details(
        Merged((entry,)), shown.lines, moment, shown.history.groups[entry.group].term
    )
    name = f"Timeline of group {entry.group} around {entry.id}"
    drawing = draw_timeline(
        shown.history.groups[entry.group],
        shown.history,
        marks_of([Merged((entry,))]),
        moment,
        View(name=name, window=shown.window),
    )
    title = f"From {moment(shown.window[0])} to {moment(shown.window[1])}"
    figure = Figure(title=title, caption=CAPTION, drawing=drawing)
    return render(
        Page(
            title=f"{entry.id} of {shown.title}",
            facts=shown.facts,
            answer=[f"{entry_words(Merged((entry,)))}."],
            numbers=_numbers(entry),
            parts=[
                Part(title="Timeline", anchor="timeline", figures=[figure]),
                Part(title="Events", anchor="events", entries=[replace(details, is_open=True)]),
            ],
            text="\n".join(shown.screen),
        )
    )


def _numbers(entry: Entry) -> list[Number]:
    first, then = entry.first_owner, entry.second_owner
    numbers = [
        Number(f"{entry.count:,}", f"records {entry.kind}", is_bad=True),
        Number(f"{entry.first} to {entry.last}", f"offsets of {entry.topic_partition}"),
    ]
    if first is not None:
        numbers.append(Number(first.consumer, "first owner"))
    if then is not None:
        numbers.append(Number(then.consumer, "next owner"))
    if first is not None and then is not None:
        numbers.append(Number(duration((then.at_us - first.at_us) / 1e6), "time between"))
    return numbers
