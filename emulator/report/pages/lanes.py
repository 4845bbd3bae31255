"""Draw a lane for the process of each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.report.pages.canvas import Canvas, clipped_spans, natural_order, times_of
from emulator.report.pages.drawing import element, title
from emulator.report.pages.history import MemberState, Span
from emulator.report.pages.thinning import Piece, largest, longest_drawn
from emulator.report.wording import counted

MAX_LANES: Final = 60
LIKE_THE_REST: Final = 8
"""Members drawn, of a large group, that have no more changes than most others."""

MAX_STATES: Final = 2_000
"""States of all members of a page; the shorter ones are left out."""

LANES: Final[Mapping[str, str]] = {
    MemberState.MEMBER: "lane-member",
    MemberState.OUTSIDE: "lane-outside",
    MemberState.PAUSED: "lane-paused",
}


def draw_lanes(canvas: Canvas, members: Mapping[str, Sequence[Span]], share: float) -> None:
    """Draw the states of each process; *share*: of the page's states that the figure may use."""
    if not members:
        return
    names = sorted(members, key=natural_order)
    ended_us = max((spans[-1].end_us for spans in members.values() if spans), default=0)

    def changes(name: str) -> int:
        """Return how often its state changes; the end of its process is a change, too."""
        spans = members[name]
        return len(spans) + (not spans or spans[-1].end_us < ended_us)

    shown, left_out = largest(names, _most(list(map(changes, names))), changes)
    states = [(name, span) for name in shown for span in _inside(canvas, members[name])]
    most = max(round(MAX_STATES * share), MAX_LANES)
    kept, shorter = largest(states, most, lambda one: one[1].end_us - one[1].begin_us, spread=True)
    canvas.heading("members")
    height = 14.0 if len(shown) <= 30 else 12.0
    for place, name in enumerate(shown):
        y = canvas.bottom + (place + 1) * height - 3
        canvas.label(y, name)
    tops = {name: canvas.bottom + place * height for place, name in enumerate(shown)}
    for name, span in kept:
        shape = canvas.rect(span.begin_us, span.end_us, tops[name] + 1, height - 3)
        tip = title(f"{name}: {span.name}, {times_of(canvas, Piece(*span))}")
        canvas.drawn.append(element("rect", tip, class_=LANES[span.name], **shape))
    canvas.bottom += len(shown) * height
    if left_out:
        canvas.notes.append(f"{counted(left_out, 'member')} with fewer changes are not drawn.")
    if shorter:
        canvas.notes.append(longest_drawn(len(kept), shorter, "states of members"))


def _most(changes: Sequence[int]) -> int:
    """Return how many members are drawn: of many, a few besides those that change more than the rest."""
    if len(changes) <= MAX_LANES:
        return MAX_LANES
    least = min(changes)
    return min(sum(each > least for each in changes) + LIKE_THE_REST, MAX_LANES)


def _inside(canvas: Canvas, spans: Sequence[Span]) -> list[Span]:
    return clipped_spans(spans, canvas.scale.begin_us, canvas.scale.end_us)
