"""The chart and the tables of ``benchmarks/README.md``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.scaling import BEGIN, END, PICTURE, README, WAYS, minutes_text, picture, table

ROWS = {1: {"plain": 0.02, "exact": 0.4, "folded": 0.03}, 60: {"plain": 1.6, "folded": 0.3}}


def test_a_way_that_was_not_measured_has_an_empty_cell():
    """In the order of the heading."""
    lines = table("simulated time", ROWS, minutes_text)

    assert "| 1 min | 0.02 | 0.40 | 0.03 |" == lines[2]
    assert "| 1 h | 1.60 |  | 0.30 |" == lines[3]


def test_the_chart_has_a_line_for_each_way():
    """In each of its two panels."""
    root = ET.fromstring(picture(ROWS, ROWS))

    assert 2 * len(WAYS) == sum(each.tag.endswith("polyline") for each in root.iter())


def test_the_figures_and_the_chart_are_there():
    """Written by the script."""
    figures = Path(README).read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]

    assert figures.count("| folded |") == 2
    assert PICTURE.stat().st_size < 10_000
