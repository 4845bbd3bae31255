"""The traced Python members: their traces, settings, orders and commits, without a broker."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from emulator.capturing.clients.application import Application
from emulator.capturing.clients.librdkafka import generation_of
from emulator.capturing.clients.tracing import Trace

CONF = {
    "strip": "g-1.",
    "topics": "g-1.t0",
    "mode": "sync-per-record",
    "work": "1",
    "pollTimeout": "100",
    "listener": "0",
    "stop": "midbatch",
    "c.session.timeout.ms": "6000",
    "c.enable.metrics": "false",
    "c.client.id": "m1",
}


class Partition:
    topic, partition = "g-1.t0", 3


@pytest.fixture
def application(tmp_path):
    with closing(Trace(tmp_path / "m1.1.jsonl", "g-1.")) as trace:
        yield Application(CONF, trace, "127.0.0.1:1")


@pytest.fixture
def entries(tmp_path):
    return lambda: [json.loads(line) for line in (tmp_path / "m1.1.jsonl").read_text().splitlines()]


def test_settings_have_the_form_of_each_library(application):
    assert application.kafka()["session.timeout.ms"] == "6000"
    arguments = {"session_timeout_ms": 6000, "enable_metrics": False, "client_id": "m1"}
    assert application.arguments() == arguments
    assert (application.topics, application.commits_itself) == (["g-1.t0"], False)
    assert application.commits_after("record")
    assert not application.commits_after("poll")


def test_a_record_is_traced_after_its_work(application, entries):
    application._hang_ms = 2
    application.work(Partition(), 7)
    application.work(Partition(), 8)
    hang, end, record, plain = entries()
    assert (hang["e"], hang["ms"], hang["p"], hang["o"]) == ("hang", 2, "t0-3", 7)
    assert (end["e"], record["e"], record["p"], record["o"]) == ("hangend", "r", "t0-3", 7)
    assert record["b"] - record["a"] >= 3_000
    assert plain["o"] == 8


def test_a_commit_that_fails_is_traced(application, entries):
    application.commit("record", lambda: None)
    application.commit("record", lambda: 1 / 0)
    accepted, failed = entries()
    assert (accepted["ok"], accepted["error"]) == (True, None)
    assert (failed["ok"], failed["error"]) == (False, "ZeroDivisionError: division by zero")


def test_polls_generations_and_listener_calls(application, entries):
    trace = application.trace
    trace.polled({"t0-3": [4, 5, 6]})
    trace.group(1, "m1-x")
    trace.group(1, "m1-x")
    trace.listened("assigned", 5, [Partition()])
    poll, meta, assigned = entries()
    assert (poll["n"], poll["ps"]) == (3, {"t0-3": [4, 6]})
    assert (meta["gen"], meta["member"]) == (1, "m1-x")
    assert (assigned["a"], assigned["ps"]) == (5, ["t0-3"])


def test_sigterm_stops_a_batch_where_the_experiment_says_so(application, entries):
    assert not application.stops_in_batch
    application._on_terminate(15, None)
    assert application.stops_in_batch
    assert entries()[0]["e"] == "sigterm"


def test_the_generation_in_the_metadata_of_librdkafka():
    assert generation_of(b"CGMDv2:" + struct.pack("=i", 4) + b"group\0member\0\0") == 4
    assert generation_of(b"") == -1


def test_a_member_ends_with_the_command_that_started_it(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({**CONF, "lib": "confluent"}))
    files = [str(tmp_path / name) for name in ("m.json", "m.jsonl", "m.log")]
    member = subprocess.Popen(
        [sys.executable, "-m", "emulator.capturing.clients", *files, "127.0.0.1:1"],
        stdin=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    member.stdin.close()
    assert member.wait(30) == 1
    assert json.loads((tmp_path / "m.jsonl").read_text().splitlines()[0])["e"] == "started"
