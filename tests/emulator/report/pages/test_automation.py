"""Autoscalers and monitors on the page, on the screen, and in what happened."""

from __future__ import annotations

import re

import pytest

import emulator

from ...cli.commands import rebalance
from .test_run_page import figures, titles

SCENARIO = """
title = "watched and scaled"
run_for = "6min"
topic = [{ name = "t", partitions = 4, rate = "10/s" }]
fault = [{ hang = "g-1", at = "1min", for = "150s" }]

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "20ms"
settings = { "auto.offset.reset" = "earliest" }
autoscaler = { kind = "keda", lag_threshold = 500, max_replicas = 4 }
monitor = [
    { name = "burrow", rule = "burrow" },
    { name = "lag", rule = "lag", above = 300, for = "10s", every = "10s" },
]
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Return the page and the screen of the run."""
    folder = tmp_path_factory.mktemp("automation")
    (folder / "scaled.toml").write_text(SCENARIO)
    path = folder / "scaled.html"
    answer = rebalance("run", folder / "scaled.toml", "--html", path)
    return path, answer.out


@pytest.fixture(scope="module")
def listings():
    return emulator.run(emulator.loads(SCENARIO)).metrics.listings


@pytest.mark.long
def test_each_step_is_a_dot_on_the_lane_of_replicas_and_a_row_of_a_table(shown, listings):
    """Those of the listing; the starts and stops that a step makes have no line of their own."""
    path, _ = shown
    figure, content = figures(path)[0], path.read_text(encoding="utf-8")
    dots = [each.findtext("title") for each in figure.iter("circle") if each.get("class") == "step"]
    steps = [f"{row['before']} to {row['after']}" for row in listings["scalings"]]
    lines = re.findall(r"<li><b>F\d+</b> ([^<]+)</li>", content)

    assert steps
    assert steps == [re.search(r"(\d+ to \d+) replicas", tip)[1] for tip in dots]
    assert steps == re.findall(r'data-title="replicas"[^>]*>([^<]+)<', content)
    assert len(steps) + 1 == len(lines)
    assert not any("start g-" in line or "close g-" in line for line in lines)


def test_standstills_and_alarms_are_on_the_lane_of_their_monitor(shown, listings):
    """Noticed or missed, and each alarm with its time."""
    figure = figures(shown[0])[0]
    missed = [row for row in listings["standstills"] if row["noticed_s"] is None]
    noticed = [row for row in listings["standstills"] if row["noticed_s"] is not None]
    false = [row for row in listings["monitor_alarms"] if row["false"]]

    assert noticed
    assert len(noticed) == len(titles(figure, "stuck"))
    assert len(missed) == len(titles(figure, "missed"))
    alarms = [*titles(figure, "alarm"), *titles(figure, "false-alarm")]
    assert len(listings["monitor_alarms"]) == len(alarms) > 0
    assert len(false) == len(titles(figure, "false-alarm"))
    assert any(tip.startswith("lag: alarm: the group, lag above its limit") for tip in alarms)


def test_the_screen_names_steps_alarms_and_what_was_missed(shown, listings):
    """One line for the replicas, one for each monitor; steps without the starts they make."""
    _, screen = shown
    text = " ".join(screen.split())
    (row,) = listings["replicas"]
    lag = next(row for row in listings["monitors"] if row["monitor"] == "lag")

    assert f"replicas 2 to {row['replicas_max']} in {row['steps']} steps" in text
    assert re.search(rf"monitor lag: {lag['alarms']} alarms?, (the first )?at 0:0\d:", text)
    assert "the autoscaler adds members to g (2 to" in text
    assert not re.search(r"g-\d (is started|is stopped|starts again)", text)
