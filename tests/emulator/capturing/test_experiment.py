"""A scenario becomes a plan, and what a capture cannot do is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.capturing.capturing import layout_of
from emulator.capturing.experiment import MODES, mode_of, plan_of
from emulator.capturing.plan import Do, Wait, WaitForExit
from emulator.scenario.load import load
from emulator.scenario.model import CommitPolicy
from emulator.scenario.problems import ScenarioError

from ..cli.commands import rebalance

EXPERIMENTS = Path(__file__).parents[3] / "examples" / "experiments"
RETAINED = ("retention-overtakes-classic", "crash-classic")

GROUP = """
title = "x"
run_for = "60s"
[[topic]]
name = "t"
partitions = 2
rate = "10/s"
[[group]]
id = "g"
topics = ["t"]
members = [{ name = "a" }, { name = "b", start = "by act" }]
work = "5ms"
static = true
"""


def plan_from(tmp_path, text):
    path = tmp_path / "x.toml"
    path.write_text(GROUP + text)
    return plan_of(path)


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_experiment_can_be_captured_and_played(path):
    plan = plan_of(path)
    assert plan.name == path.stem
    assert [member.id for member in plan.members] == [m.name for m in load(path).group[0].members]


def test_members_have_the_settings_of_their_group(tmp_path):
    plan = plan_from(tmp_path, 'settings = { "partition.assignment.strategy" = "sticky" }\n')
    first, second = plan.members
    assert (first.start_us, second.start_us) == (0, None)
    assert first.application["mode"] == "auto"
    assert first.application["work"] == "5"
    assert dict(first.kafka) == {
        "auto.offset.reset": "latest",  # Kafka's default: the traced application's is another
        "group.instance.id": "a",
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor",
    }


def test_settings_of_a_rolling_restart_are_written_like_those_of_the_group(tmp_path):
    plan = plan_from(
        tmp_path,
        '[[fault]]\nrolling_restart = "g"\nat = "9s"\n'
        'settings = { "partition.assignment.strategy" = ["sticky", "range"], "auto.commit.interval.ms" = 1000 }\n',
    )
    (track,) = plan.tracks
    starts = [step for step in track.steps if isinstance(step, Do) and step.action == "start"]
    java = "org.apache.kafka.clients.consumer"
    assert [dict(start.settings) for start in starts] == [
        {
            "auto.commit.interval.ms": "1000",
            "partition.assignment.strategy": f"{java}.StickyAssignor,{java}.RangeAssignor",
        }
    ]


def test_a_restart_waits_for_the_end_of_the_process(tmp_path):
    plan = plan_from(tmp_path, '[[fault]]\nclose = "a"\nat = "9s"\nrestart_after = "2s"\n')
    (track,) = plan.tracks
    assert track.between_us == (9_000_000, 9_000_000)
    assert track.steps == (
        Do(action="sigterm", target="a"),
        WaitForExit(member="a"),
        Wait(2_000_000),
        Do(action="start", target="a"),
    )


def test_faults_of_brokers_and_moments_after_others(tmp_path):
    plan = plan_from(
        tmp_path,
        '[[fault]]\nid = "p"\npause_broker = "coordinator of g"\nat = "9s"\nfor = "3s"\n'
        '[[fault]]\nstart = "b"\nwhen = "p ends"\ndelay = "1s"\n',
    )
    paused, started = plan.tracks
    assert [step.action for step in paused.steps if isinstance(step, Do)] == ["stop", "cont"]
    assert {step.target for step in paused.steps if isinstance(step, Do)} == {"coord"}
    assert (started.after, started.delay_us) == (("p", "ends"), 1_000_000)


def test_without_an_end_the_run_lasts_beyond_the_longest_session(tmp_path):
    path = tmp_path / "x.toml"
    text = GROUP.replace('run_for = "60s"\n', "") + '[[fault]]\ncrash = "a"\nat = "20s"\n'
    path.write_text(text)
    assert plan_of(path).length_us == 20_000_000 + 45_000_000 + 15_000_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("handler = { workers = 2 }\n", "one by one"),
        ("has_listener = false\n", "writes the calls of its listener"),
        ('commit = { call = "sync", off_by_one = true }\n', "commit modes of captures"),
        ('client = "franz-go"\n', '"librdkafka"'),
        ('[[fault]]\nlose_message = { kind = "Heartbeat", member = "a" }\n', '"lose_message"'),
        ('[[fault]]\ncrash = "a"\nwhen = "a sent JoinGroup"\n', "not steps of the protocol"),
        ("[network]\nloss = 0.1\n", "loopback only"),
    ],
)
def test_what_cannot_be_captured_is_refused_with_its_line(tmp_path, text, said):
    with pytest.raises(ScenarioError) as refused:
        plan_from(tmp_path, text)
    assert said in str(refused.value)
    assert "x.toml" in str(refused.value)


def test_retention_is_checked_as_often_as_it_is_emulated():
    """Such an experiment has brokers of its own; others share theirs."""
    plan, other = (plan_of(EXPERIMENTS / f"{name}.toml") for name in RETAINED)
    (topic,) = plan.topics

    assert topic.retention_us == 4_000_000
    assert ("log.retention.check.interval.ms", "1000") in layout_of(plan).settings
    assert not any("retention" in name for name, _ in layout_of(other).settings)


def test_each_commit_mode_belongs_to_one_policy():
    assert len(set(MODES.values())) == len(MODES)
    assert mode_of(CommitPolicy(call="sync", when="record", arguments=False)) == "noargs-per-record"
    assert mode_of(CommitPolicy(call="async", when="record")) is None


def test_runs_are_written_to_a_folder_only(tmp_path):
    """Said before Kafka is looked for."""
    file = tmp_path / "page.html"
    file.write_text("kept")
    status, out, err = rebalance("capture", EXPERIMENTS / "crash-classic.toml", "-o", file)

    assert (2, "") == (status, out)
    assert f"--output {file}: a file; name a folder for the runs" in " ".join(err.split())
    assert "kept" == file.read_text()
