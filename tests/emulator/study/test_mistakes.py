"""What a study makes invalid in its scenario is reported at the line of the study."""

from __future__ import annotations

import pytest

import emulator
from emulator.scenario.problems import ScenarioError

SCENARIO = """
title = "a crash"
run_for = "60s"
topic = [{ name = "orders", rate = "10/s" }]
[[group]]
id = "billing"
topics = ["orders"]
members = 2
settings = { "heartbeat.interval.ms" = "3s" }
[[fault]]
crash = "billing-0"
at = "20s"
"""

STUDY = """title = "a study"
scenario = "mine.toml"
seeds = 2
set = [
    "run_for=90s",
]
metrics = ["reprocessed"]
goal = { least = "reprocessed" }

[[vary]]
name = "session"
set = "group[billing].settings[session.timeout.ms]"
values = ["10s", "20s"]

[[vary]]
name = "crash"
values = [
    { name = "early", set = "fault[crash-1].at=10s" },
    { name = "late", set = "fault[crash-1].at=30s" },
]
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("run_for=90s", "runfor=90s"), "5: set[0]: runfor: no such key; nearest: run_for"),
        (
            ("run_for=90s", "run_for=90"),
            "5: set[0]: run_for = 90: a unit is missing",
        ),
        (
            ("[billing]", "[bill]"),
            "12: vary[session]: group[bill].settings[session.timeout.ms]: no",
        ),
        (
            ('"20s"]', '"20 sec"]'),
            '13: vary[session]: group[billing].settings[session.timeout.ms] = "20',
        ),
        (("at=30s", "att=30s"), "19: vary[crash]: fault[crash-1].att: no such key"),
        (("at=30s", "at=3"), "19: vary[crash]: fault[crash-1].at = 3: a unit is missing"),
        (
            ('"10s", "20s"', '"2s", "20s"'),
            "13: vary[session]: with session = 2s, crash = early, protocol as-written: ",
        ),
        (('"mine.toml"', '"mne.toml"'), '2: scenario = "mne.toml": there is no file '),
        (('"mine.toml"', '"quite"'), '2: scenario = "quite": no such file, and no such scenario'),
        (
            ('"session"', '"takeover_last_s"'),
            "11: vary[takeover_last_s].name: 'takeover_last_s' is a metric; ",
        ),
        (("seeds = 2", 'seeds = 2\nprotocols = "eagre"'), "4: protocols: no protocol 'eagre'; did"),
        (('"10s", "20s"', ""), "10: vary[session]: values is empty"),
        (
            ('"reprocessed" }', '"reprocesed" }'),
            "8: goal.least: 'reprocesed' is not a metric or an",
        ),
        (
            ('"reprocessed" }', '"reprocessed", expect = { lost = "< 5s" } }'),
            "8: goal.expect.lost: a time, but lost is counted in records; write",
        ),
    ],
)
def test_a_mistake_has_the_line_of_the_study(tmp_path, change, said):
    """Whether the scenario is wrong with it, or the study itself; never that of the scenario."""
    (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    assert change[0] in STUDY
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace(*change), encoding="utf-8")
    with pytest.raises(ScenarioError) as raised:
        emulator.plan_study(study)

    lines = [line.removeprefix(f"{study}:") for line in str(raised.value).splitlines()]
    assert any(line.startswith(said) for line in lines), str(raised.value)
    assert f"{study}:" in str(raised.value).splitlines()[0]


def test_a_mistake_of_the_scenario_is_the_scenarios(tmp_path):
    """It would be there without the study, too."""
    (tmp_path / "mine.toml").write_text(SCENARIO.replace("members = 2", "members = 0"))
    (tmp_path / "study.toml").write_text(STUDY)
    with pytest.raises(ScenarioError, match=r"mine\.toml:8: group\[billing\]\.members = 0"):
        emulator.plan_study(tmp_path / "study.toml")
