"""Draw the timeline of a consumer group: owners, members, offsets and lag on one time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from assignors.values import dataclass
from emulator.report.pages.canvas import (
    BETWEEN,
    TOP,
    Canvas,
    clipped_spans,
    natural_order,
    times_of,
)
from emulator.report.pages.drawing import (
    FILLS,
    LABELS_WIDTH,
    WIDTH,
    TimeScale,
    element,
    fill_of,
    number,
    text,
    tick_text,
    title,
    value_axis,
    value_ticks,
)
from emulator.report.pages.history import GroupHistory, History, Moment, Sample, Span
from emulator.report.pages.lanes import draw_lanes
from emulator.report.pages.marks import MOST_MARKS, Mark, glyphs
from emulator.report.pages.thinning import (
    MOST_PIECES,
    Piece,
    Row,
    Rows,
    largest,
    rows_of,
    thin_samples,
)
from emulator.report.wording import counted, duration, figure

MOST_TITLED: Final = 2_000
"""Pieces with a tool tip of their own; more are drawn as one shape for each owner."""

MOST_LINES: Final = 60
"""Faults drawn as lines."""

MOST_BANDS: Final = 250
"""Rebalances drawn as bands."""

CURVES: Final = 110
"""Height in pixels of each part with curves."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A finished figure as SVG, in two parts side by side."""

    labels: str
    figure: str
    owners: tuple[str, ...]
    """Consumers in the order of their fills."""

    notes: tuple[str, ...]
    faults: tuple[tuple[str, str], ...]
    """The faults that are drawn as lines: number, and time with text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What part of a run a figure shows, and where it is."""

    name: str
    """For those who do not see the figure."""

    window: tuple[int, int] | None = None
    """The part of the run; None: all."""

    share: float = 1.0
    """The part of the page's pieces that the figure may use."""

    prefix: str = ""
    """Of the places of the entries on the page."""

    without: str = "no owner"
    """What a time without an owner is called."""


def draw_timeline(
    group: GroupHistory,
    history: History,
    marks: Sequence[Mark],
    moment: Callable[[int], str],
    view: View,
) -> Drawing:
    """Return the timeline of a group; *marks*: the entries of the group."""
    begin_us, end_us = view.window or (0, history.end_us)
    canvas = Canvas(TimeScale(begin_us, end_us, WIDTH), moment)
    clipped = {tp: clipped_spans(spans, begin_us, end_us) for tp, spans in group.owners.items()}
    rows = rows_of(clipped, begin_us, end_us, round(MOST_PIECES * view.share))
    owners = sorted({span.name for spans in clipped.values() for span in spans}, key=natural_order)
    canvas.heading("partitions")
    numbers = {each: at for at, each in enumerate(owners)}
    places = _draw_rows(canvas, rows, numbers, view)
    draw_lanes(canvas, group.members, view.share)
    _draw_curves(canvas, [one for one in group.samples if begin_us <= one.at_us <= end_us])
    bands = _bands(canvas, group.rebalances)
    lines, faults = _fault_lines(canvas, history.faults)
    inside = [mark for mark in marks if begin_us <= mark.at_us <= end_us]
    most = max(round(MOST_MARKS * view.share), 20)
    shown, smaller = largest(inside, most, lambda mark: mark.records)
    shapes = glyphs(shown, places, canvas.scale, moment, view.prefix)
    if smaller:
        canvas.notes.append(f"{counted(smaller, 'smaller entry', 'smaller entries')} have no mark.")
    axis = _axis(canvas)
    parts = [bands, axis, *canvas.drawn, lines, shapes]
    height = canvas.bottom + BETWEEN
    return Drawing(
        labels=_svg("".join(canvas.labels), LABELS_WIDTH, height, "labels", None),
        figure=_svg("".join(parts), WIDTH, height, "figure", view.name),
        owners=tuple(owners),
        notes=tuple(canvas.notes),
        faults=tuple(faults),
    )


def _svg(content: str, width: float, height: float, kind: str, name: str | None) -> str:
    box = f"0 0 {number(width)} {number(height)}"
    about = {"role": "group", "aria_label": name} if name else {"aria_hidden": "true"}
    return element("svg", content, class_=kind, width=width, height=height, viewBox=box, **about)


# -- partitions --------------------------------------------------------------------------------


def _draw_rows(
    canvas: Canvas, rows: Rows, owners: Mapping[str, int], view: View
) -> dict[str, float]:
    """Draw the partitions; return the middle of each row by its partition."""
    height = _row_height(len(rows.rows))
    each_label = max(round(14 / height), 1)
    places: dict[str, float] = {}
    titled = sum(row.size for row in rows.rows) <= round(MOST_TITLED * view.share)
    shapes: dict[str, list[str]] = {}
    top = canvas.bottom
    for place, row in enumerate(rows.rows):
        y = top + place * height
        places[row.name] = y + height / 2
        if place % each_label == 0:
            canvas.label(
                y + min(height, 14) - 2, row.name if len(row.name) < 17 else f"…{row.name[-15:]}"
            )
        if titled:
            _draw_gaps(canvas, row, y, height, view.without)
            _draw_row(canvas, row, y, height, owners)
            continue
        for piece in row.pieces:
            outline = _outline(canvas, piece, y, height)
            shapes.setdefault(f"{owners[piece.owner] % FILLS}", []).append(outline)
        for kind, pieces in (("gap", row.gaps), ("double", row.doubles)):
            shapes.setdefault(kind, []).extend(
                _outline(canvas, piece, y, height) for piece in pieces
            )
    for kind, outlines in sorted(shapes.items()):
        look = {"fill": fill_of(int(kind))} if kind.isdecimal() else {"class_": kind}
        canvas.drawn.append(element("path", d="".join(outlines), **look))
    canvas.bottom = top + len(rows.rows) * height
    canvas.notes += _reductions(rows)
    return places


def _draw_gaps(canvas: Canvas, row: Row, y: float, height: float, name: str) -> None:
    """Draw the times of a partition without an owner."""
    for piece in row.gaps:
        shape = canvas.rect(piece.begin_us, piece.end_us, y, _inner(height))
        tip = title(f"{row.name}: {name}, {times_of(canvas, piece)}")
        canvas.drawn.append(element("rect", tip, class_="gap", **shape))


def _draw_row(canvas: Canvas, row: Row, y: float, height: float, owners: Mapping[str, int]) -> None:
    """Draw the owners of a partition, each piece with a tool tip."""
    for piece in row.pieces:
        canvas.drawn.append(_piece(canvas, row.name, piece, y, height, owners[piece.owner]))
    for piece in row.doubles:
        shape = canvas.rect(piece.begin_us, piece.end_us, y, _inner(height))
        tip = title(f"{row.name}: two owners, {piece.owner}, {times_of(canvas, piece)}")
        canvas.drawn.append(element("rect", tip, class_="double", **shape))


def _reductions(rows: Rows) -> Iterator[str]:
    if rows.step_us:
        yield (
            f"Drawn in steps of {duration(rows.step_us / 1e6)}: each shows the owner that held the "
            f"partition longest, and every time without an owner or with two; "
            f"{counted(rows.merged, 'shorter change is', 'shorter changes are')} not visible."
        )
    if rows.rows_left_out:
        yield f"{counted(rows.rows_left_out, 'further partition is', 'further partitions are')} not drawn."


def _row_height(rows: int) -> float:
    """Return the height of a row: all rows together take at most about 1,600 pixels."""
    return max(min(20.0, 1_600 / max(rows, 1)), 1.5)


def _inner(height: float) -> float:
    """Return the height of the shape in a row, which leaves a line between large rows."""
    return height - 2 if height >= 8 else height


def _piece(canvas: Canvas, row: str, piece: Piece, y: float, height: float, index: int) -> str:
    shape = canvas.rect(piece.begin_us, piece.end_us, y, _inner(height))
    tip = title(f"{row}: {piece.owner}, {times_of(canvas, piece)}")
    drawn = element("rect", tip, fill=fill_of(index), class_="piece", **shape)
    if height >= 12 and shape["width"] > 8 * len(piece.owner):
        inside = text(shape["x"] + 4, y + height / 2 + 3.5, piece.owner, class_="owner")
        return drawn + inside
    return drawn


def _outline(canvas: Canvas, piece: Piece, y: float, height: float) -> str:
    shape = canvas.rect(piece.begin_us, piece.end_us, y, height)
    across, down = number(shape["width"]), number(_inner(height))
    return f"M{number(shape['x'])} {number(y)}h{across}v{down}h-{across}z"


# -- offsets and lag ---------------------------------------------------------------------------


def _draw_curves(canvas: Canvas, samples: Sequence[Sample]) -> None:
    thinned = thin_samples(samples)
    if not thinned:
        return
    canvas.heading("offsets")
    least = min(min(one.log_end, one.processed, one.committed) for one in thinned)
    offsets = (
        ("log-end", [one.log_end - least for one in thinned]),
        ("processed", [one.processed - least for one in thinned]),
        ("committed", [one.committed - least for one in thinned]),
    )
    _draw_panel(canvas, thinned, offsets, lambda value: figure(value + least))
    canvas.heading("lag")
    lags = (
        ("committed", [max(one.log_end - one.committed, 0) for one in thinned]),
        ("processed", [max(one.log_end - one.processed, 0) for one in thinned]),
    )
    _draw_panel(canvas, thinned, lags, figure)


def _draw_panel(
    canvas: Canvas,
    samples: Sequence[Sample],
    curves: Sequence[tuple[str, Sequence[int]]],
    words: Callable[[float], str],
) -> None:
    """Draw curves over time, below each other on one scale from 0."""
    top = canvas.bottom
    most = max((max(values) for _, values in curves), default=0)

    def y_of(value: float) -> float:
        return top + CURVES - (CURVES - 8) * value / max(most, 1)

    lines, labels = value_axis(value_ticks(most), y_of, WIDTH, words)
    canvas.drawn.append(lines)
    canvas.labels.append(labels)
    for kind, values in curves:
        points = " ".join(
            f"{number(canvas.scale.x(sample.at_us))},{number(y_of(value))}"
            for sample, value in zip(samples, values, strict=True)
        )
        canvas.drawn.append(element("polyline", points=points, class_=f"curve {kind}"))
    canvas.bottom += CURVES


# -- across all parts --------------------------------------------------------------------------


def _axis(canvas: Canvas) -> str:
    drawn = []
    for at_us in canvas.scale.ticks():
        x, words = canvas.scale.x(at_us), tick_text(canvas.moment(at_us))
        anchor = "start" if x < 30 else "end" if x > WIDTH - 30 else "middle"
        drawn.append(element("line", x1=x, x2=x, y1=TOP + 8, y2=canvas.bottom, class_="grid"))
        places = (TOP + 4, canvas.bottom + 16)
        drawn += [text(x, y, words, class_="tick", text_anchor=anchor) for y in places]
    return "".join(drawn)


def _bands(canvas: Canvas, rebalances: Sequence[Span]) -> str:
    """Return a band for each rebalance; if there are many, for the longest one of each stretch."""
    scale = canvas.scale
    inside = clipped_spans(rebalances, scale.begin_us, scale.end_us)
    shown = inside if len(inside) <= MOST_BANDS else _longest_of_stretches(inside, scale)
    left_out = len(inside) - len(shown)
    if left_out:
        canvas.notes.append(f"{counted(left_out, 'shorter rebalance')} are not drawn.")
    height = canvas.bottom - TOP - 8
    bands = []
    for span in shown:
        shape = canvas.rect(span.begin_us, span.end_us, TOP + 8, height)
        shape["width"] = max(shape["width"], 2)
        tip = title(f"rebalance: {span.name}, {times_of(canvas, Piece(*span))}")
        bands.append(element("rect", tip, class_="rebalance", **shape))
    return "".join(bands)


def _longest_of_stretches(spans: Sequence[Span], scale: TimeScale) -> list[Span]:
    """Return the longest span that begins in each of :data:`MOST_BANDS` stretches of equal length."""
    longest: dict[int, Span] = {}
    for span in spans:
        place = int(scale.x(span.begin_us) * MOST_BANDS / WIDTH)
        known = longest.get(place)
        if known is None or span.end_us - span.begin_us > known.end_us - known.begin_us:
            longest[place] = span
    return [longest[place] for place in sorted(longest)]


def _fault_lines(canvas: Canvas, faults: Sequence[Moment]) -> tuple[str, list[tuple[str, str]]]:
    """Return a numbered line for each fault, and the texts of the numbers."""
    scale = canvas.scale
    inside = [one for one in faults if scale.begin_us <= one.begin_us <= scale.end_us]
    shown, left_out = largest(inside, MOST_LINES, lambda one: one.end_us - one.begin_us)
    if left_out:
        canvas.notes.append(f"{counted(left_out, 'shorter fault')} are not drawn.")
    lines, named, busy = [], [], -99.0
    for place, fault in enumerate(shown, 1):
        x, label = scale.x(fault.begin_us), f"F{place}"
        length = duration((fault.end_us - fault.begin_us) / 1e6)
        lasted = f", for {length}" if fault.end_us > fault.begin_us else ""
        words = f"{canvas.moment(fault.begin_us)} {fault.text}{lasted}"
        line = element("line", title(f"{label}: {words}"), x1=x, x2=x, y1=16, y2=canvas.bottom)
        lines.append(element("g", line, class_="fault"))
        if fault.end_us > fault.begin_us:
            shape = canvas.rect(fault.begin_us, fault.end_us, 16, 4)
            lines.append(element("rect", class_="fault-length", **shape))
        if x - busy >= 22:
            anchor = "end" if x > WIDTH - 20 else "start" if x < 12 else "middle"
            lines.append(text(x, 12, label, class_="fault-name", text_anchor=anchor))
            busy = x
        named.append((label, words))
    return "".join(lines), named
