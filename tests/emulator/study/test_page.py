"""The page of a study: pictures that plotly takes, and nothing from anywhere."""

from __future__ import annotations

import re

import plotly.graph_objects as go
import pytest

from emulator.report.page import plotly_script
from emulator.study import store
from emulator.study.findings import find
from emulator.study.page import pictures, study_page
from emulator.study.screen import study_screen

from .samples import plan_of, study_of, tasks_of

MEMBERS = '[[vary]]\nname = "members"\nset = "group[billing].members"\nvalues = [2, 3]'
VARIED = {
    "curves": study_of(),
    "a grid": study_of(
        ("seeds = 6", 'seeds = 2\nprotocols = ["as-written", "static"]'), more=MEMBERS
    ),
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


def test_every_picture_is_one_that_plotly_takes(findings):
    """It refuses what it does not know."""
    shown = list(pictures(findings))

    assert len(shown) >= len(findings.plan.study.metrics) + 1
    assert all(go.Figure(picture.figure).data for picture in shown)


def test_the_page_loads_nothing(findings):
    """No address that a browser could fetch, and none would be allowed."""
    page = study_page(findings)

    assert set() == set(re.findall(r"https?://(?!www\.w3\.org/)[^\s\"']*", page))
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page)
    assert "default-src 'none'" in page


def test_nothing_uploads_a_picture(findings):
    """Plotly has a tool for that."""
    page = study_page(findings)

    assert "form-action 'none'" in page
    assert '"modeBarButtonsToRemove": ["sendChartToCloud"' in page


def test_no_band_goes_below_nothing(findings):
    """Few seeds have wide intervals, and no run repeats less than no record."""
    curves = [trace for picture in pictures(findings) for trace in picture.figure["data"]]
    below = [trace for trace in curves if trace.get("hoverinfo") == "skip"]

    assert all(value >= 0 for trace in below for value in trace["y"])


def test_the_page_is_the_same_every_time(findings):
    """Byte by byte."""
    assert study_page(findings) == study_page(findings)


def test_the_screen_has_every_metric_and_fits(findings):
    """In words that people use."""
    lines = list(study_screen(findings))

    assert "reprocessed (records)" in lines
    assert any(line.startswith("In brackets") for line in lines)


def test_plotlys_script_is_in_it_whole():
    """But for the schemes of addresses."""
    script = plotly_script()

    assert len(script) > 1_000_000
    assert "newPlot" in script
    assert "</script" not in script
