"""Settings, ports, traces, times and noise: the parts of a capture that need no Kafka."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from emulator.capturing import toolchain
from emulator.capturing.capturing import capture
from emulator.capturing.children import Children, send
from emulator.capturing.cluster import (
    CONTROLLER,
    Layout,
    Node,
    free_ports,
    new_cluster_id,
    node_settings,
)
from emulator.capturing.experiment import plan_of
from emulator.capturing.members import member_conf, properties
from emulator.capturing.noise import noise_json
from emulator.capturing.plan import Do, MemberPlan, Track
from emulator.capturing.production import Stream, tick_ns
from emulator.capturing.reading_traces import auto_commit_times_us, beyond_work_us, entries_of
from emulator.capturing.steps import Player, moment_us
from emulator.capturing.traces import TraceTail, is_formed, next_offsets
from emulator.errors import RefusedError
from emulator.events import FaultBegan
from emulator.playing import run as play
from emulator.scenario.load import load

EXPERIMENTS = Path(__file__).parents[3] / "examples" / "experiments"


def test_settings_of_nodes():
    layout = Layout(brokers=3, settings=(("offsets.topic.num.partitions", "7"),), racks=("x", "y"))
    broker = node_settings(layout, Node(3, 9003, Path("/d")), 9100)
    assert broker["controller.quorum.voters"] == f"{CONTROLLER}@127.0.0.1:9100"
    assert broker["min.insync.replicas"] == "2"
    assert broker["broker.rack"] == "x"
    assert broker["offsets.topic.num.partitions"] == "7"
    assert node_settings(layout, Node(CONTROLLER, 9100, Path("/d")), 9100)["process.roles"] == (
        "controller"
    )


def test_free_ports_differ_and_can_be_bound():
    ports = free_ports(4)
    assert len(set(ports)) == 4
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", ports[0]))


def test_no_cluster_id_begins_with_a_hyphen():
    """The storage tool takes such an argument for an option; Uuid.randomUuid avoids them, too."""
    drawn = iter([b"\xf8" + bytes(15), b"\x00" * 16])

    assert "A" * 22 == new_cluster_id(lambda _: next(drawn))
    assert 22 == len(new_cluster_id())


def test_topics_and_patterns_of_members_have_the_prefix_of_the_run():
    plan = MemberPlan(id="m", start_us=0, topics=("t0",), application={"mode": "auto"})
    conf = member_conf(plan, "g-1", {"session.timeout.ms": "6000"})
    assert (conf["topics"], conf["strip"]) == ("g-1.t0", "g-1.")
    assert conf["c.session.timeout.ms"] == "6000"
    pattern = member_conf(replace(plan, topics=(), pattern="t.*"), "g-1", {})["pattern"]
    assert pattern == "g-1\\.(?:t.*)"
    assert properties({"pattern": pattern}) == "pattern=g-1\\\\.(?:t.*)\n"


def test_a_tail_reads_complete_lines_only(tmp_path):
    path = tmp_path / "m.1.jsonl"
    tail = TraceTail(path)
    lines = [
        {"e": "meta", "t": 1, "gen": 3, "member": "x"},
        {"e": "assigned", "a": 1, "b": 2, "ps": ["t-0", "t-1"]},
        {"e": "r", "p": "t-0", "o": 4, "a": 3, "b": 5},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_text(text[:-5])
    tail.read()
    assert (tail.generation, tail.owned, tail.next_offsets) == (3, {"t-0", "t-1"}, {})
    assert is_formed([tail], ["t-0", "t-1"])
    assert not is_formed([tail, tail], ["t-0", "t-1"])
    path.write_text(text)
    tail.read()
    assert next_offsets([tail]) == {"t-0": 5}
    assert entries_of(path) == lines


def test_records_are_due_by_their_number():
    stream = Stream(
        topic="t", first=0, to=6, tick_ns=tick_ns(20, 6), start_us=1_000, stop_us=9, record_bytes=1
    )
    stream.sent = 600
    assert stream.due_us == pytest.approx(1_000 + 5_000_000, abs=100)


def test_a_fault_has_the_time_that_the_emulator_draws():
    path = EXPERIMENTS / "crash-classic.toml"
    (track,) = plan_of(path).tracks
    events = play(load(path), seed=3).events
    (began,) = [event.at_us for event in events if isinstance(event.what, FaultBegan)]
    assert moment_us(track, 3) == began
    assert moment_us(Track(id="x", between_us=(5, 5), steps=()), 3) == 5


def test_noise_is_measured_and_marked():
    quiet = noise_json([100] * 99 + [900], [200.0], [5_000.0], 4.0)
    assert (quiet["noisy"], quiet["thread_late_ms"]["p50"]) == (False, 0.1)
    noisy = noise_json([20_000] * 10, [], [], 0.4)
    assert noisy["noisy"]
    assert [why.split()[0] for why in noisy["why"]] == ["thread_late_ms"]
    assert noisy["commit_ms"] is None


def test_work_beyond_its_time_leaves_hangs_out():
    entries = [{"e": "hang"}, {"e": "r", "a": 0, "b": 99_000}, {"e": "r", "a": 0, "b": 11_000}]
    assert list(beyond_work_us(entries, 10)) == [1_000]


def test_automatic_commits_are_timed_from_the_log():
    said = "{} [main] DEBUG ConsumerCoordinator - [Consumer clientId=m] {}"
    log = "\n".join(
        said.format(*line)
        for line in [
            ("07:01:03.100", "Sending asynchronous auto-commit of offsets {}"),
            ("07:01:03.140", "Completed asynchronous auto-commit of offsets {}"),
            ("07:01:04.100", "Sending asynchronous auto-commit of offsets {t-0=Offset"),
            ("07:01:04.130", "Completed asynchronous auto-commit of offsets {t-0=Offset"),
        ]
    )
    assert list(auto_commit_times_us(log)) == pytest.approx([30_000])


def test_children_end_even_if_they_are_paused(tmp_path):
    with Children() as children:
        sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
        process = children.start(sleeping, tmp_path / "out")
        send(process, signal.SIGSTOP)
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


def test_what_the_machine_lacks_is_said(monkeypatch, tmp_path):
    with pytest.raises(RefusedError, match="--kafka-version: '4' is not a version"):
        toolchain.prepare("4", tmp_path)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    with pytest.raises(RefusedError, match="java was not found"):
        toolchain.prepare("4.4.0", tmp_path)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: name if name != "mvn" else None)
    monkeypatch.setattr(
        toolchain.subprocess,
        "run",
        lambda *_, **__: subprocess.CompletedProcess([], 0, "javac 17.0.1", ""),
    )
    with pytest.raises(RefusedError, match="mvn was not found"):
        toolchain.prepare("4.4.0", tmp_path)


def test_a_version_that_maven_lacks_names_the_option():
    said = toolchain._unresolved("9.9.9", "[INFO] x\n[ERROR] Could not find artifact kafka\n")
    assert "Kafka 9.9.9: Could not find artifact kafka" in said
    assert "--kafka-version" in said


def test_existing_runs_are_skipped(tmp_path):
    plan = plan_of(EXPERIMENTS / "crash-classic.toml")
    (tmp_path / plan.name / "run-1").mkdir(parents=True)
    (tmp_path / plan.name / "run-1" / "summary.json").write_text("{}")
    assert list(capture([plan], tmp_path, runs=1)) == []
    with pytest.raises(RefusedError, match="two experiments are called 'crash-classic'"):
        list(capture([plan, plan], tmp_path))


def test_a_member_that_runs_is_not_started_again():
    """An act that restarts a member may find that another one has done so, as in a deploy."""
    started = []
    members = SimpleNamespace(
        latest=lambda name: SimpleNamespace(runs=True) if name == "running" else None,
        start=lambda name, _settings, _unset: started.append(name),
    )
    player = Player(
        members=members, cluster=None, find_coordinator=None, on_topic=None, start_us=0, seed=1
    )
    steps = tuple(Do(action="start", target=name) for name in ("running", "ended"))
    player.add(Track(id="t", steps=steps))
    while not player.done:
        player.turn()

    assert started == [action["member"] for action in player.actions] == ["ended"]
