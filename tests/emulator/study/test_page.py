"""The page of a study: pictures as SVG, and nothing from anywhere."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from emulator.report.pages.charts import Bars, Curve
from emulator.report.pages.heat_map import HeatMap
from emulator.study import store
from emulator.study.findings import find
from emulator.study.labels import name_of
from emulator.study.overview_charts import front_chart
from emulator.study.page import drawn, study_page
from emulator.study.screen import study_screen

from ..report.pages.browser import checked
from .samples import pictures, plan_of, study_of, tasks_of

MEMBERS = '[[vary]]\nname = "members"\nset = "group[billing].members"\nvalues = [2, 3]'
WORK = '[[vary]]\nname = "work"\nset = "group[billing].work"\nvalues = ["1ms", "2ms"]'
VARIED = {
    "curves": study_of(),
    "a grid": study_of(
        (
            "seeds = 6",
            'seeds = 2\nprotocols = ["as-written", "static"]\ngoal = { least = "reprocessed" }',
        ),
        more=MEMBERS,
    ),
    "three axes": study_of(("seeds = 6", "seeds = 1"), more=f"{MEMBERS}\n\n{WORK}"),
    "one cell": study_of(
        ('values = ["500ms", "5s"]', 'values = ["5s"]'), ('"commits_sent"]', '"lost", "run_s"]')
    ),
    "a hypercube": study_of(
        ('values = ["500ms", "5s"]', 'from = "500ms"\nto = "5s"'),
        ("seeds = 6", "seeds = 2\nlatin_hypercube = { points = 12 }"),
    ),
}


@pytest.fixture(scope="module", params=VARIED)
def findings(request, tmp_path_factory):
    """Return what each kind of study comes to."""
    plan = plan_of(VARIED[request.param])
    folder = tmp_path_factory.mktemp("study")
    for task in tasks_of(plan):
        store.keep(task, folder)
    return find(folder, plan)


@pytest.mark.long
def test_every_picture_can_be_drawn(findings):
    """As well-formed SVG with shapes in it."""
    shown = list(pictures(findings))

    assert len(shown) >= len(findings.plan.study.metrics) + 1
    for picture in shown:
        figure = ET.fromstring(drawn(picture).figure)
        assert [each.tag for each in figure.iter() if each.tag in {"rect", "use", "polyline"}]


def test_heat_maps_of_a_metric_share_one_scale(findings):
    """So that the panels of two protocols can be compared."""
    maps = [picture for picture in pictures(findings) if isinstance(picture, HeatMap)]
    by_metric = {}
    for each in maps:
        by_metric.setdefault(each.title.split(":")[0], set()).add(each.scale)

    assert all(len(scales) == 1 for scales in by_metric.values())
    points = [cell.settings.point for cell in findings.plan.cells]
    varied = [axis for axis in zip(*points, strict=True) if len({each.label for each in axis}) > 1]
    names = [axis[0].axis for axis in varied]
    assert all(name in f"{each.title} {each.caption}" for name in names for each in maps)


def test_the_best_cell_of_each_protocol_is_marked(findings):
    """Ringed on curves and in Pareto sets, framed in heat maps, named in legends and figures."""
    charts = list(map(drawn, pictures(findings)))
    marked = [each for each in charts if 'class="best"' in each.figure]
    over = [each for each in charts if " over " in each.title]

    assert bool(findings.answers) == bool(marked)
    assert [each for each in over if each in marked] == (over if findings.answers else [])
    assert all("best cell" in [name for _, name in each.legend] for each in marked)
    assert ("<dt>best cell: " in study_page(findings)) == bool(findings.answers)


def test_pareto_sets_and_sensitivities_are_also_tables(findings):
    """A phone and paper have no tool tips: each cell that is Pareto-optimal is named below its chart."""
    page = study_page(findings)
    names = [name_of(findings.plan, cell) for each in findings.fronts for cell in each.cells]

    tables = page.partition('id="pareto-sets"')[2]

    assert names == re.findall('<th scope="row">([^<]+)</th>', tables)
    assert ('id="sensitivity"' in page) == bool(findings.influences)
    assert all(each.points for each in front_chart(findings, findings.fronts[0]).series)


def test_a_page_marks_the_cells_that_may_not_be_best(findings):
    """With a shape of their own, and a sentence."""
    front = findings.fronts[0]
    chart = front_chart(findings, replace(front, left_out=front.cells[:1], cells=front.cells[1:]))

    assert 1 == len([each for each in chart.series if each.name.startswith("left out")])
    assert "left out of the set" in chart.caption


def test_the_page_loads_nothing(findings):
    """No address that a browser could fetch, and none would be allowed."""
    page = study_page(findings)

    assert set() == set(re.findall(r"https?://(?!www\.w3\.org/)[^\s\"']*", page))
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)
    assert "default-src 'none'" in page


def test_nothing_is_uploaded_and_the_page_is_small(findings):
    """Charts are shapes; no script draws them."""
    page = study_page(findings)

    assert 5 == len(re.findall("<dd[ >]", page))
    assert "Objective" != re.findall(r'<p class="answer">(\w+)', page)[0]
    assert "form-action 'none'" in page
    assert len(page.encode()) < 1_500_000


def test_no_band_goes_below_nothing(findings):
    """Few seeds have wide intervals, and no run repeats less than no record."""
    curves = [
        series
        for picture in pictures(findings)
        if not isinstance(picture, HeatMap)
        for series in picture.series
        if isinstance(series, Curve)
    ]

    assert all(point.low is None or point.low >= 0 for curve in curves for point in curve.points)


def test_values_fill_a_figure_also_where_intervals_are_wide(findings):
    """At least half of it; an interval of two seeds may be many times as high, and is cut off."""
    plots = [each for each in pictures(findings) if not isinstance(each, HeatMap) and each.y.high]
    plots = [each for each in plots if any(isinstance(series, Curve) for series in each.series)]
    for plot in plots:
        points = [point for s in plot.series if not isinstance(s, Bars) for point in s.points]
        most = max([*(point.y for point in points), *plot.bounds])
        cut = any((point.high or 0) > plot.y.high for point in points)

        assert most <= 0 or plot.y.high <= 2 * most
        assert cut == ("cut off" in plot.caption)


def test_the_page_is_the_same_every_time(findings):
    """Byte by byte."""
    assert study_page(findings) == study_page(findings)


def test_the_screen_has_every_metric_and_fits(findings):
    """In words that people use."""
    lines = list(study_screen(findings))

    assert "reprocessed (records)" in lines
    assert any(line.startswith("In brackets") for line in lines)


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1_280)])
def test_the_page_works_in_a_browser(findings, tmp_path, scheme, width):
    """No error of the console, nothing serious for axe, and curves, heat maps and bars fit on a phone."""
    page = tmp_path / "study.html"
    page.write_text(study_page(findings), encoding="utf-8")
    opened = checked(page, scheme, width)

    assert ([], True) == (opened.errors, opened.width <= width)
    assert [] == opened.answers[1]
