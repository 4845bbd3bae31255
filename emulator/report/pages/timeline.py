"""Draw the timeline of a consumer group: owners, members, offsets and lag on one time axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from assignors.values import dataclass
from emulator.report.pages.automation import draw_automation
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
    WIDTH,
    Attributes,
    TimeScale,
    across,
    element,
    figure_of,
    fill_of,
    number,
    stretched,
    text,
    tick_labels,
    tick_text,
    title,
    value_axis,
    value_ticks,
)
from emulator.report.pages.faults import fault_lines
from emulator.report.pages.history import GroupHistory, History, Sample, Span
from emulator.report.pages.lanes import draw_lanes
from emulator.report.pages.marks import MAX_MARKS, Mark, glyphs
from emulator.report.pages.owner_names import owner_name, places_of
from emulator.report.pages.thinning import (
    MAX_PIECES,
    Piece,
    Row,
    Rows,
    largest,
    longest_drawn,
    rows_of,
    samples_within,
    thin_samples,
)
from emulator.report.wording import counted, duration, figure

MAX_TITLED: Final = 2_000
"""Pieces with a tool tip of their own; more are drawn as one shape for each owner."""

MAX_BANDS: Final = 250
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
    without: str
    """What a time without an owner is called."""

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
    rows = rows_of(clipped, begin_us, end_us, round(MAX_PIECES * view.share))
    owners = sorted({span.name for spans in clipped.values() for span in spans}, key=natural_order)
    canvas.heading("partitions")
    numbers = {each: at for at, each in enumerate(owners)}
    inside = [mark for mark in marks if begin_us <= mark.at_us <= end_us]
    canvas.marked = places_of(canvas.scale, inside)
    places = _draw_rows(canvas, rows, numbers, view)
    draw_lanes(canvas, group.members, view.share)
    if group.automation is not None:
        draw_automation(canvas, group.automation)
    _draw_curves(canvas, samples_within(group.samples, begin_us, end_us))
    bands = _bands(canvas, group.rebalances)
    lines, faults = fault_lines(canvas, history.faults)
    most = max(round(MAX_MARKS * view.share), 20)
    shown, smaller = largest(inside, most, lambda mark: mark.records)
    shapes = glyphs(shown, places, canvas.scale, moment, view.prefix)
    if smaller:
        canvas.notes.append(f"{counted(smaller, 'smaller entry', 'smaller entries')} have no mark.")
    grid, times = _axis(canvas)
    parts = [bands, grid, *canvas.drawn, lines, times, shapes]
    labels, figure_ = figure_of(
        "".join(canvas.labels), "".join(parts), canvas.bottom, view.name, BETWEEN
    )
    return Drawing(
        labels=labels,
        figure=figure_,
        owners=tuple(owners),
        notes=tuple(canvas.notes),
        without=view.without,
        faults=tuple(faults),
    )


# -- partitions --------------------------------------------------------------------------------


def _draw_rows(
    canvas: Canvas, rows: Rows, owners: Mapping[str, int], view: View
) -> dict[str, float]:
    """Draw the partitions; return the middle of each row by its partition."""
    height = _row_height(len(rows.rows))
    each_label = max(round(14 / height), 1)
    places: dict[str, float] = {}
    titled = not rows.step_us and sum(row.size for row in rows.rows) <= MAX_TITLED * view.share
    blocks: dict[tuple[str, int, int], list[list[int]]] = {}
    top = canvas.bottom
    for place, row in enumerate(rows.rows):
        y = top + place * height
        places[row.name] = y + height / 2
        if place % each_label == 0:
            canvas.label(y + (min(height, 16) - 2 if height >= 12 else 9), row.name)
        if titled:
            _draw_gaps(canvas, row, y, height, view.without)
            _draw_row(canvas, row, y, height, owners)
            continue
        for piece in row.pieces:
            _stack(blocks, f"{owners[piece.owner] % FILLS}", piece, place)
        for kind, pieces in (("gap", row.gaps), ("double", row.doubles)):
            for piece in pieces:
                _stack(blocks, kind, piece, place)
    canvas.bottom = top + len(rows.rows) * height
    _draw_blocks(canvas, blocks, top, height, is_exact=not rows.step_us)
    canvas.notes += _reductions(rows)
    return places


def _stack(
    blocks: dict[tuple[str, int, int], list[list[int]]], kind: str, piece: Piece, place: int
) -> None:
    """Add a piece to the block of equal pieces in the rows above it, or begin a block."""
    runs = blocks.setdefault((kind, piece.begin_us, piece.end_us), [])
    if runs and runs[-1][1] == place:
        runs[-1][1] = place + 1
    else:
        runs.append([place, place + 1])


def _draw_blocks(
    canvas: Canvas,
    blocks: Mapping[tuple[str, int, int], Sequence[Sequence[int]]],
    top: float,
    height: float,
    *,
    is_exact: bool,
) -> None:
    """Draw blocks of rows, from a first row up to another one, as one shape for each kind."""
    shapes: dict[str, list[str]] = {}
    for (kind, begin_us, end_us), runs in blocks.items():
        for first, end in runs:
            y, tall = top + first * height, (end - first) * height
            shapes.setdefault(kind, []).append(_outline(canvas, (begin_us, end_us), y, tall))
    for kind, outlines in sorted(shapes.items()):
        look = {"fill": fill_of(int(kind))} if kind.isdecimal() else {"class_": kind}
        path = element("path", d="".join(outlines), **look)
        if _inner(height) == height or not is_exact:
            path = element("g", path, class_="fine")
        canvas.drawn.append(stretched(path, canvas.bottom))


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
    if height >= 12:
        middle = y + height / 2 + 3.5
        canvas.drawn += [owner_name(canvas, row.name, piece, middle) for piece in row.pieces]


def _reductions(rows: Rows) -> Iterator[str]:
    if rows.is_grouped:
        yield "The rows are too thin to be told apart: those of one owner are together, not in the order of their numbers."
    if rows.step_us:
        hidden = counted(rows.merged, "shorter change is", "shorter changes are")
        yield (
            f"Drawn in steps of {duration(rows.step_us / 1e6)}: each shows the owner that held the "
            "partition longest, and the longest time without an owner or with two (a short one as "
            f"{duration(rows.part_us / 1e6)}, so that it can be seen)"
            + (f"; {hidden} not visible." if rows.merged else ".")
        )
    if rows.rows_left_out:
        yield f"{counted(rows.rows_left_out, 'further partition is', 'further partitions are')} not drawn."


def _row_height(rows: int) -> float:
    """Return the height of a row: all rows together take at most about 1,000 pixels."""
    return max(min(20.0, 1_000 / max(rows, 1)), 1.0)


def _inner(height: float) -> float:
    """Return the height of the shape in a row, which leaves a line between large rows."""
    return height - 2 if height >= 8 else height


def _piece(canvas: Canvas, row: str, piece: Piece, y: float, height: float, index: int) -> str:
    shape = canvas.rect(piece.begin_us, piece.end_us, y, _inner(height))
    tip = title(f"{row}: {piece.owner}, {times_of(canvas, piece)}")
    return element("rect", tip, fill=fill_of(index), class_="piece", **shape)


def _outline(canvas: Canvas, span_us: tuple[int, int], y: float, height: float) -> str:
    x = canvas.scale.x(span_us[0])
    wide, down = number(max(canvas.scale.x(span_us[1]) - x, 0.5)), number(_inner(height))
    return f"M{number(x)} {number(y)}h{wide}v{down}h-{wide}z"


# -- offsets and lag ---------------------------------------------------------------------------


def _draw_curves(canvas: Canvas, samples: Sequence[Sample]) -> None:
    thinned = thin_samples(samples)
    if not thinned:
        return
    canvas.heading("offsets (records)")
    offsets = (
        ("log-end", [one.log_end for one in thinned]),
        ("processed", [one.processed for one in thinned]),
        ("committed", [one.committed for one in thinned]),
    )
    _draw_panel(canvas, thinned, offsets, min(min(values) for _, values in offsets))
    canvas.heading("lag (records)")
    lags = (
        ("committed", [max(one.log_end - one.committed, 0) for one in thinned]),
        ("processed", [max(one.log_end - one.processed, 0) for one in thinned]),
    )
    _draw_panel(canvas, thinned, lags, 0)


def _draw_panel(
    canvas: Canvas,
    samples: Sequence[Sample],
    curves: Sequence[tuple[str, Sequence[int]]],
    least: int,
) -> None:
    """Draw curves over time on one scale, which begins at the *least* value."""
    bottom = canvas.bottom + CURVES
    most = max((max(values) for _, values in curves), default=0)

    def y_of(value: float) -> float:
        return bottom - (CURVES - 8) * (value - least) / max(most - least, 1)

    steps = value_ticks(most - least)
    step = steps[1] if len(steps) > 1 else 1
    ticks = [-(-least // step) * step + each for each in steps]
    lines, labels = value_axis([each for each in ticks if each <= most], y_of, figure)
    canvas.drawn.append(lines)
    canvas.labels.append(labels)
    drawn = []
    for kind, values in curves:
        points = " ".join(
            f"{number(canvas.scale.x(sample.at_us))},{number(y_of(value))}"
            for sample, value in zip(samples, values, strict=True)
        )
        drawn.append(element("polyline", points=points, class_=f"curve {kind}"))
    canvas.bottom = bottom
    canvas.drawn.append(stretched("".join(drawn), bottom))


# -- across all parts --------------------------------------------------------------------------


def _axis(canvas: Canvas) -> tuple[str, str]:
    """Return the lines and the labels of the time axis."""
    ticks = [(canvas.scale.x(at), tick_text(canvas.moment(at))) for at in canvas.scale.ticks()]
    ends: Attributes = {"y1": TOP + 8, "y2": canvas.bottom, "class_": "grid"}
    lines = [element("line", x1=across(x), x2=across(x), **ends) for x, _ in ticks]
    moment = canvas.moment(canvas.scale.begin_us)
    unit = "UTC" if "-" in moment else "s" if moment.endswith(" s") else "h:mm:ss"
    canvas.labels.append(text(0, TOP + 4, f"time ({unit})", class_="part"))
    return "".join(lines), "".join(tick_labels(ticks, TOP + 4, canvas.bottom + 16))


AND_THE_FIRST: Final = "rebalances, with the one in which the group formed,"
"""What a timeline draws from the start of a group; its number of rebalances does not count the first."""


def _bands(canvas: Canvas, rebalances: Sequence[Span]) -> str:
    """Return a band for each rebalance; if there are many, for the longest one of each stretch."""
    scale = canvas.scale
    inside = clipped_spans(rebalances, scale.begin_us, scale.end_us)
    shown = inside if len(inside) <= MAX_BANDS else _longest_of_stretches(inside, scale)
    left_out = len(inside) - len(shown)
    if left_out:
        names = "rebalances" if inside[0] != rebalances[0] else AND_THE_FIRST
        canvas.notes.append(longest_drawn(len(shown), left_out, names))
    height = canvas.bottom - TOP - 8
    bands = []
    for span in shown:
        shape = canvas.rect(span.begin_us, span.end_us, TOP + 8, height, least=2)
        tip = title(f"rebalance: {span.name}, {times_of(canvas, Piece(*span))}")
        bands.append(element("rect", tip, class_="rebalance", **shape))
    return "".join(bands)


def _longest_of_stretches(spans: Sequence[Span], scale: TimeScale) -> list[Span]:
    """Return the longest span that begins in each of :data:`MAX_BANDS` stretches of equal length."""
    longest: dict[int, Span] = {}
    for span in spans:
        place = int(scale.x(span.begin_us) * MAX_BANDS / WIDTH)
        known = longest.get(place)
        if known is None or span.end_us - span.begin_us > known.end_us - known.begin_us:
            longest[place] = span
    return [longest[place] for place in sorted(longest)]
