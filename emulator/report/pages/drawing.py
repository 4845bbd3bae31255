"""Pieces of SVG that all figures of a page share: escaped elements, scales, ticks, fills.

A figure is as wide as the page permits. Places across it are computed for a width of 1,000 and
written as percentages, so that text and shapes keep their size. Lines and areas, which cannot be
written so, are stretched.

Colours are classes, which the page's style defines for light and dark; each owner has a colour and
a pattern, so that neither alone carries a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Final

from assignors.values import dataclass

COLOURS: Final = 8
PATTERNS: Final = ("", "M-2 2l4 -4M0 8l8 -8M6 10l4 -4", "M2 2h2v2h-2z M6 6h2v2h-2z", "M0 2h8M0 6h8")
"""Paths drawn over a colour, in a tile of 8 by 8: none, diagonals, dots, lines."""

FILLS: Final = COLOURS * len(PATTERNS)
"""The number of owners that can be told apart."""

MARKERS: Final = (
    "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.5L4.5 4H-4.5Z",
    "M0 -5L5 0L0 5L-5 0Z",
)
"""Shapes of the points of charts."""

WIDTH: Final = 1_000
"""The width of a figure beside its labels, in units of its computation."""

FIGURE_WIDTHS: Final = (230, 445, 805)
"""Pixels of a figure on the narrowest screens of three classes: phones, tablets and paper, desktops.

Labels are laid out for each; the style of the page shows those of the reader's class.
"""

CHARACTER: Final = 6.4
"""Pixels of a character of a label."""

US_PER_S: Final = 1_000_000
_STEPS_S: Final = (
    *(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800),
    *(3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800),
)
"""Distances of ticks of a time axis, in seconds."""


Attributes = dict[str, str | float]
"""Attributes of an element by their names, as :func:`element` takes them."""


def element(name: str, content: str = "", /, **attributes: str | float | None) -> str:
    """Return an element; *content* is markup already. An underscore in a name stands for a hyphen.

    >>> element("rect", x=1.50, class_="gap", aria_label="a & b")
    '<rect x="1.5" class="gap" aria-label="a &amp; b"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else number(value)


def number(value: float) -> str:
    """Return a coordinate with at most one decimal.

    >>> number(12.0), number(12.345)
    ('12', '12.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def across(x: float) -> str:
    """Return a place or length across a figure as a percentage of its width.

    >>> across(123.4), across(1000), across(0)
    ('12.34%', '100%', '0%')
    """
    return f"{x * 100 / WIDTH:.2f}".rstrip("0").rstrip(".") + "%"


def stretched(content: str, height: float) -> str:
    """Return lines or areas, drawn for a width of 1,000, as wide as their figure."""
    box = f"0 0 {WIDTH} {number(height)}"
    place: Attributes = {"width": "100%", "height": height, "viewBox": box}
    return element("svg", content, class_="stretched", preserveAspectRatio="none", **place)


def figure_of(
    labels: str, drawn: str, height: float, name: str, below: float = 0
) -> tuple[str, str]:
    """Return the two parts of a figure as SVG, side by side: its labels, and what is drawn.

    *name*: for those who do not see the figure.
    """
    size = {"height": height + below}
    about = {"role": "group", "aria_label": name}
    return (
        element("svg", labels, class_="labels", width=LABELS_WIDTH, aria_hidden="true", **size),
        element("svg", drawn, class_="figure", width="100%", **size, **about),
    )


def text(x: str | float, y: float, content: str, **attributes: str | float | None) -> str:
    """Return text at a point."""
    return element("text", escape(content), x=x, y=y, **attributes)


def title(content: str) -> str:
    """Return the title of an element, which browsers show as a tool tip."""
    return element("title", escape(content))


def fill_of(index: int) -> str:
    """Return the fill of the owner with a number: a colour and a pattern."""
    return f"url(#p{index % FILLS})"


def definitions(names: Collection[str], marks: Iterable[tuple[str, str]]) -> str:
    """Return the patterns and shapes with one of the *names*, once for a page.

    *marks*: names of shapes besides :data:`MARKERS`, and their paths.
    """
    made = []
    for index in range(FILLS):
        if f"p{index}" not in names:
            continue
        colour = index % COLOURS
        pattern = PATTERNS[(index + index // COLOURS) % len(PATTERNS)]
        tile = element("rect", width=8, height=8, class_=f"c{colour}")
        tile += element("path", d=pattern, class_="hatch") if pattern else ""
        made.append(_pattern(f"p{index}", tile))
    cross = element("path", d="M0 0l8 8M8 0l-8 8", class_="double-line")
    outside = element("path", d="M-2 2l4 -4M0 8l8 -8M6 10l4 -4", class_="lane-line")
    paused = element("path", d="M1 1h3v3h-3z M5 5h3v3h-3z", class_="lane-dot")
    made += [_pattern("double", cross), _pattern("outside", outside), _pattern("paused", paused)]
    shapes = [*marks, *((f"k{place}", path) for place, path in enumerate(MARKERS))]
    made += [element("path", id=name, d=path) for name, path in shapes if name in names]
    defs = element("defs", "".join(made))
    return element("svg", defs, width=0, height=0, class_="definitions", aria_hidden="true")


def _pattern(name: str, tile: str) -> str:
    return element("pattern", tile, id=name, width=8, height=8, patternUnits="userSpaceOnUse")


@dataclass(frozen=True, slots=True)
class TimeScale:
    """Maps times of a run to horizontal positions."""

    begin_us: int
    end_us: int
    width: float

    def x(self, at_us: int) -> float:
        """Return the position of a time; outside the scale, its nearer end."""
        within = min(max(at_us, self.begin_us), self.end_us)
        return (within - self.begin_us) * self.width / max(self.end_us - self.begin_us, 1)

    def ticks(self, most: int = 9) -> list[int]:
        """Return round times for an axis, at most about *most*."""
        length_s = (self.end_us - self.begin_us) / US_PER_S
        step_s = next((step for step in _STEPS_S if length_s / step <= most), length_s / most)
        step_us = max(round(step_s * US_PER_S), 1)
        first = -(-self.begin_us // step_us) * step_us
        return list(range(first, self.end_us + 1, step_us))


def tick_text(moment: str) -> str:
    """Return a time for an axis: without the date, and without zero milliseconds.

    >>> tick_text("2026-05-04 09:05:00.000"), tick_text("0:05:03.250"), tick_text("61.000 s")
    ('09:05:00', '0:05:03.250', '61 s')
    """
    date, _, time = moment.rpartition(" ")
    return (time if "-" in date else moment).replace(".000", "")


def value_ticks(largest: float) -> list[float]:
    """Return up to five round values from 0 to at most *largest*.

    >>> value_ticks(4204), value_ticks(0)
    ([0, 1000, 2000, 3000, 4000], [0])
    """
    if largest <= 0:
        return [0]
    step = next(step for step in _round_steps(largest) if largest / step <= 4.5)
    return [step * place for place in range(int(largest / step) + 1)]


def _round_steps(largest: float) -> Iterator[float]:
    power = 10.0 ** (len(f"{int(largest)}") - 3)
    if largest < 1:
        power = 10.0 ** -len(f"{1 / largest:.0f}") / 10
    while True:
        for factor in (1, 2, 5):
            step = power * factor
            yield int(step) if step >= 1 else step
        power *= 10


Format = Callable[[float], str]


def value_axis(
    ticks: list[float], y_of: Callable[[float], float], words: Format
) -> tuple[str, str]:
    """Return horizontal grid lines, and their labels for the column of labels."""
    lines = "".join(
        element("line", x1=0, x2="100%", y1=y_of(value), y2=y_of(value), class_="grid")
        for value in ticks
    )
    labels = "".join(
        text(LABELS_WIDTH - 6, y_of(value) + 4, words(value), class_="tick", text_anchor="end")
        for value in ticks
    )
    return lines, labels


LABELS_WIDTH: Final = 116
"""Pixels of the column of labels at the left of a figure, which does not scroll."""


def shown_at(widths: Collection[float]) -> str:
    """Return the classes of a label that is shown at some of :data:`FIGURE_WIDTHS` only.

    >>> shown_at((230, 445, 805)), shown_at((445, 805))
    ('', ' fit w1 w2')
    """
    kinds = [f" w{place}" for place, width in enumerate(FIGURE_WIDTHS) if width in widths]
    return "" if len(kinds) == len(FIGURE_WIDTHS) else f" fit{''.join(kinds)}"


def shown_from(pixels: float) -> str | None:
    """Return the classes of a label that a figure must be that wide for; None: no figure is."""
    widths = [width for width in FIGURE_WIDTHS if width >= pixels]
    return shown_at(widths) if widths else None


def shortened(name: str, most: int = 16) -> str:
    """Return a name with at most that many characters: its beginning and its end.

    >>> shortened("orders-12"), shortened("orders-of-all-shops-12")
    ('orders-12', 'orders-…shops-12')
    """
    before = (most - 1) // 2
    return name if len(name) <= most else f"{name[:before]}…{name[before + 1 - most :]}"


def tick_labels(ticks: Iterable[tuple[float, str]], *heights: float) -> Iterator[str]:
    """Yield the labels of a horizontal axis at some heights, at each width those that do not overlap."""
    labels = list(ticks)
    fitting = {width: _fitting_ticks(labels, width) for width in FIGURE_WIDTHS}
    for place, (x, label) in enumerate(labels):
        widths = [width for width, places in fitting.items() if place in places]
        if widths:
            kind = f"tick{shown_at(widths)}"
            for y in heights:
                yield text(across(x), y, label, class_=kind, text_anchor=_anchor(x, 0)[0])


LINE: Final = 13
"""Pixels from one line of labels to the next."""

MAX_LINES: Final = 4
"""Lines of names below an axis."""


def name_labels(ticks: Sequence[tuple[float, str]], y: float) -> tuple[list[str], dict[float, int]]:
    """Return the names below an axis, at each width on as few lines as hold all, and these numbers.

    Names that would overlap take turns on the lines; where even :data:`MAX_LINES` do not hold all,
    every n-th is shown.
    """
    drawn, lines = dict[tuple[str, float, str, str], list[float]](), dict[float, int]()
    for width in FIGURE_WIDTHS:
        names = [(x, shortened(name, int(width / CHARACTER))) for x, name in ticks]
        turns = range(1, MAX_LINES + 1)
        lines[width] = next((each for each in turns if _fit_on(names, each, width)), 1)
        chosen = range(len(names))
        if not _fit_on(names, lines[width], width):
            every = (chosen[::step] for step in range(1, len(names) + 1))
            chosen = next(each for each in every if _fit_on([names[one] for one in each], 1, width))
        for place in chosen:
            x, name = names[place]
            _, at, anchor = _within(x, CHARACTER * len(name), width)
            line = y + LINE * (place % lines[width])
            drawn.setdefault((at, line, name, anchor), []).append(width)
    labels = [
        text(at, line, name, class_=f"tick{shown_at(widths)}", text_anchor=anchor)
        for (at, line, name, anchor), widths in drawn.items()
    ]
    return labels, lines


def _fit_on(names: Sequence[tuple[float, str]], lines: int, width: float) -> bool:
    """Return whether names that take turns on some lines do not overlap in a figure of that width."""
    free = [0.0] * lines
    for place, (x, name) in enumerate(names):
        long = CHARACTER * len(name)
        begin, _, _ = _within(x, long, width)
        if begin < free[place % lines]:
            return False
        free[place % lines] = begin + long + 6
    return True


def _within(x: float, long: float, width: float) -> tuple[float, str, str]:
    """Return where a label begins, centred at *x* unless it would leave the figure; its place and anchor."""
    begin = x * width / WIDTH - long / 2
    if begin < 0:
        return 0, "0%", "start"
    if begin + long > width:
        return width - long, "100%", "end"
    return begin, across(x), "middle"


def _fitting_ticks(labels: Sequence[tuple[float, str]], width: float) -> set[int]:
    """Return the numbers of the labels that do not overlap in a figure of that many pixels.

    Of equally spaced ones it is every n-th, so that they stay so.
    """
    places = range(len(labels))
    if not _apart(labels, places[:1], width):  # it would begin outside the figure
        places = places[1:]
    if len({round(b - a) for (a, _), (b, _) in pairwise(labels)}) > 1:
        return _apart(labels, places, width)
    every = (places[::step] for step in range(1, len(labels) + 1))
    # The last one may end outside the figure.
    chosen = next((each for each in every if {*each[:-1]} <= _apart(labels, each, width)), places)
    return _apart(labels, chosen, width)


def _apart(labels: Sequence[tuple[float, str]], places: Iterable[int], width: float) -> set[int]:
    """Return those of the places whose labels do not overlap, from the left."""
    free, found = -4.0, set()
    for place in places:
        x, label = labels[place]
        long = CHARACTER * len(label)
        begin = x * width / WIDTH - _anchor(x, long)[1]
        if begin >= free and begin + long <= width + 4:
            free = begin + long + 6
            found.add(place)
    return found


def _anchor(x: float, long: float) -> tuple[str, float]:
    """Return on which side of a point its label is, and how much of the label is before the point."""
    if x < 60:
        return "start", 0
    return ("end", long) if x > WIDTH - 60 else ("middle", long / 2)
