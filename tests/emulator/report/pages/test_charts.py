"""Charts: axes that hold all values, shapes that tell series apart, tool tips that are escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

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
from emulator.report.pages.differences import CHARACTER, WIDTH, Difference, draw_differences
from emulator.report.pages.drawing import tick_labels
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
    """With the day where there are several."""
    minutes = [words for _, words in time_axis(0, 600_001).ticks]

    assert ["00:00:00", "00:02:00", "00:04:00", "00:06:00", "00:08:00", "00:10:00"] == minutes
    assert all(" " in words for _, words in time_axis(0, 3 * 86_400_000).ticks)


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
    figure = draw_differences(found, "eager").figure
    labels = re.findall(r'<text x="([\d.-]+)%"[^>]*text-anchor="(\w+)">([^<]+)<', figure)

    assert 3 == len(labels)
    for x, anchor, words in labels:
        begin = float(x) * WIDTH / 100 - (len(words) * CHARACTER if anchor == "end" else 0)
        assert 0 <= begin
        assert begin + len(words) * CHARACTER <= WIDTH


def test_labels_that_would_overlap_on_a_phone_are_marked():
    """The style hides them there; the first of an axis stays, those that overlap anywhere are not drawn."""
    drawn = list(tick_labels([(place * 100, f"0:0{place}:00") for place in range(10)], 34))
    narrow = [words for words in drawn if "wide" not in words]

    assert 10 == len(drawn)
    assert 2 <= len(narrow) < 10
    assert "0:00:00" in narrow[0]
    assert 2 == len(list(tick_labels([(0, "0:00:00"), (5, "0:00:01"), (990, "0:00:02")], 34)))
