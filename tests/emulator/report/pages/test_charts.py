"""Charts: axes that hold all values, shapes that tell series apart, tool tips that are escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from emulator.report.pages.charts import (
    Axis,
    Bar,
    Bars,
    Curve,
    Plot,
    Point,
    category_axis,
    draw_plot,
    time_axis,
    value_axis_of,
)
from emulator.report.pages.differences import (
    CHARACTER,
    NAME_WIDTH,
    WIDTH,
    Difference,
    draw_differences,
)
from emulator.report.pages.drawing import CHARACTER as CHARACTER_PX
from emulator.report.pages.drawing import FIGURE_WIDTHS, name_labels, tick_labels
from emulator.report.pages.faults import fault_names
from emulator.report.pages.heat_map import HeatMap, draw_heat_map


@pytest.mark.parametrize("values", [[3, 4204], [-7.5, 2], [0], [0.0004, 0.002], [1e12]])
def test_an_axis_holds_all_its_values(values):
    """And its ticks are within it."""
    axis = value_axis_of("records", values)

    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert all(axis.low <= at <= axis.high for at, _ in axis.ticks)
    assert len(axis.ticks) <= 8


def test_a_logarithmic_axis_has_equal_factors_at_equal_distances():
    """From its low end to its high end."""
    axis = Axis("interval", 1, 100, [], is_log=True)

    assert [0, 0.5, 1] == [round(axis.share(value), 6) for value in (1, 10, 100)]


def test_times_have_round_ticks():
    """With the day where there are several, and with parts of a second where a label would come twice."""
    minutes = [words for _, words in time_axis(0, 600_001).ticks]

    assert ["00:00:00", "00:02:00", "00:04:00", "00:06:00", "00:08:00", "00:10:00"] == minutes
    assert all(" " in words for _, words in time_axis(0, 3 * 86_400_000).ticks)
    assert ["00:00:00.000", "00:00:00.500"] == [words for _, words in time_axis(0, 3_400).ticks][:2]


def test_series_differ_in_more_than_colour():
    """Curves in dash or marker; names and tool tips are text, whatever they contain."""
    curves = [
        Curve(f"<b>{n}", n, [Point(0, n, n - 1, n + 1, "a & b"), Point(1, n)]) for n in range(4)
    ]
    bars = [Bars("bars", 4, [Bar(0, 1, 0, 3, 2, 4, "<i>")])]
    axis = value_axis_of("y", [0, 5])
    chart = draw_plot(
        Plot(
            title="t",
            caption="",
            x=axis,
            y=axis,
            series=[*curves, *bars],
            bounds=[2],
            bands=[(0, 1)],
        )
    )
    figure = ET.fromstring(chart.figure)
    shapes = {each.get("href") for each in figure.iter("use")}

    assert len(shapes) == 4
    assert "a & b" in [each.text for each in figure.iter("title")]
    assert ["<b>0", "<b>1", "<b>2", "<b>3", "bars"] == [name for _, name in chart.legend]


def test_the_same_value_has_the_same_shade_in_all_panels():
    """The scale is given, not taken from the panel."""
    x, y = category_axis("x", ["a", "b"]), category_axis("y", ["c"])
    low, high = (
        ET.fromstring(draw_heat_map(HeatMap("t", "", x, y, [[5.0, other]], (0, 10))).figure)
        for other in (None, 10.0)
    )
    shade = [
        next(
            each.get("class") for each in figure.iter("rect") if "heat" in (each.get("class") or "")
        )
        for figure in (low, high)
    ]

    assert shade[0] == shade[1]


def test_labels_of_differences_are_inside_the_picture():
    """Also those of long intervals on both sides."""
    found = [
        Difference("lag", "static", -2850.0, -2983.0, -2716.0),
        Difference("lag", "cooperative", 1511.0, 75.2, 2947.0),
        Difference("lost", "static", 1_511_000.0, 1_075_222.0, 1_947_333.0),
    ]
    figure = draw_differences(found, "eager", "the range").figure
    labels = re.findall(r'<text x="([\d.-]+)%"[^>]*text-anchor="(\w+)">([^<]+)<', figure)

    assert 3 == len(labels)
    for x, anchor, words in labels:
        begin = float(x) * WIDTH / 100 - (len(words) * CHARACTER if anchor == "end" else 0)
        assert 0 <= begin
        assert begin + len(words) * CHARACTER <= WIDTH


def ends_of(label, width):
    """Return where a label begins and ends in a figure of that many pixels."""
    x, anchor, words = re.search(r'x="([\d.]+)%".*text-anchor="(\w+)">([^<]+)<', label).groups()
    long = CHARACTER_PX * len(words)
    begin = float(x) * width / 100 - {"start": 0, "middle": long / 2, "end": long}[anchor]
    return begin, begin + long


def shown_in(labels, level):
    """Return the labels that the style shows at a class of widths."""
    return [each for each in labels if " fit" not in each or f" w{level}" in each]


@pytest.mark.parametrize("level", range(len(FIGURE_WIDTHS)))
@pytest.mark.parametrize("number", [1, 4, 9, 23])
def test_labels_never_cover_each_other(level, number):
    """Those of an axis and those of faults, on a phone, a tablet and a desktop; the first is shown."""
    width = FIGURE_WIDTHS[level]
    for step in range(1, 400, 19):
        places = sorted((step * (place + 1) ** 2) % WIDTH for place in range(number))
        ticks = shown_in(tick_labels([(x, "0:04:00.500") for x in [0, *places]], 34), level)
        faults = shown_in(fault_names(places), level)
        for labels in (ticks, faults):
            ends = [ends_of(each, width) for each in labels]
            assert all(before[1] < after[0] for before, after in pairwise(ends))
            assert ends[-1][1] <= width + 4
        assert ">0:04:00.500<" in ticks[0]
        assert ">F1" in faults[0]
        assert f"F{number}<" in faults[-1]


def test_labels_that_do_not_all_fit_stay_equally_spaced():
    """The first one, which begins at the edge, would only cover its neighbour."""
    moments = [(9.5 + 158.9 * number, f"0:01:{number}0") for number in range(7)]
    for level, every in ((0, 3), (1, 2), (2, 1)):
        shown = shown_in(tick_labels(moments, 34), level)

        assert [words for _, words in moments[::every]] == [
            words for _, words in moments if any(f">{words}<" in each for each in shown)
        ]


@pytest.mark.parametrize("first", range(0, 200, 3))
def test_a_first_label_without_room_leaves_room_to_the_others(first):
    """Near the left edge it would begin outside a narrow figure."""
    moments = [(first + 300.0 * number, f"10:52:{number}0") for number in range(3)]

    assert all(shown_in(tick_labels(moments, 34), level) for level in range(3))
    assert shown_in(tick_labels(moments[:2], 34), 0)


@pytest.mark.parametrize("level", range(len(FIGURE_WIDTHS)))
def test_every_name_of_an_axis_is_shown(level):
    """On a phone, too: on several lines where they would cover each other, and inside the figure."""
    names = ["commit interval", "protocol", "records per poll", "work"]
    ticks = [((place + 0.5) * WIDTH / 4, name) for place, name in enumerate(names)]
    labels, lines = name_labels(ticks, 20)
    shown = sorted(shown_in(labels, level), key=lambda label: ends_of(label, 805))
    by_line = {}
    for label in shown:
        by_line.setdefault(re.search(r' y="(\d+)"', label)[1], []).append(label)

    assert names == [re.search(r">([^<]+)<", label)[1] for label in shown]
    assert (3, 1, 1)[level] == len(by_line) == lines[FIGURE_WIDTHS[level]]
    for line in by_line.values():
        ends = [ends_of(each, FIGURE_WIDTHS[level]) for each in line]
        assert all(before[1] < after[0] for before, after in pairwise(ends))
        assert -1 < ends[0][0]
        assert ends[-1][1] < FIGURE_WIDTHS[level] + 1


def test_of_too_many_names_every_nth_is_shown():
    """Where even several lines do not hold them; a long one is cut."""
    ticks = [((place + 0.5) * WIDTH / 60, f"cell number {place}") for place in range(60)]
    labels, lines = name_labels(ticks, 20)
    shown = [re.search(r">([^<]+)<", label)[1] for label in shown_in(labels, 0)]
    numbers = [int(name.split()[-1]) for name in shown]

    assert 1 == lines[FIGURE_WIDTHS[0]]
    assert 1 == len({after - before for before, after in pairwise(numbers)})
    assert "…" in name_labels([(WIDTH / 2, "x" * 200)], 20)[0][0]


def test_long_names_of_variants_are_in_lines():
    """Each line is short enough for the column, and no word is left out."""
    name = "a session that is much shorter than that of the others, with static members"
    found = [Difference("lag", name, 1.0, 1.0, 1.0), Difference("lag", "eager", 2.0, 2.0, 2.0)]
    chart = draw_differences(found, "as written", "the range")
    lines = re.findall(r"<text[^>]*>([^<]+)<", chart.labels)

    assert f"{name} eager" == " ".join(lines)
    assert max(map(len, lines)) <= NAME_WIDTH
    assert "Whiskers" not in chart.caption


@pytest.mark.parametrize("markers", [True, False])
def test_a_legend_shows_markers_only_where_the_curve_has_them(markers):
    """Marks of a chart whose curves have none mean something else."""
    axis = value_axis_of("y", [0, 5])
    curve = Curve("name", 0, [Point(0, 1), Point(1, 2)], markers=markers)
    (swatch, _), *_ = draw_plot(Plot(title="t", caption="", x=axis, y=axis, series=[curve])).legend

    assert markers == ("<use" in swatch)
