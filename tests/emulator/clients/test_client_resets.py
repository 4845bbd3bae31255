"""Where a position continues that its log does not hold any more, by client."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import EpochOpened
from emulator.metrics.laws import Severity
from emulator.scenario.load import loads

SCENARIO = """
title = "a process stands still for longer than records are kept"
run_for = "60s"
topic = [{{ name = "t", partitions = 1, rate = "20/s", retention = "10s" }}]

[[group]]
id = "g"
topics = ["t"]
members = 1
work = "1ms"
client = "{client}"
settings = {{ "auto.offset.reset" = "{reset}", "session.timeout.ms" = 60000{more} }}

[[fault]]
pause = "g-0"
at = "10s"
for = "30s"
"""


def resumed(client: str, reset: str) -> tuple[list[str], dict[str, int]]:
    """Return the sources of positions that were out of range, and the losses by cause."""
    more = "" if client == "franz-go" else ', "max.poll.interval.ms" = 60000'
    text = SCENARIO.format(client=client, reset=reset, more=more)
    run = emulator.run(loads(text, "a test"), seed=1)
    assert [] == [f for f in run.findings if f.severity is Severity.ERROR]
    opened = [event.what for event in run.events if isinstance(event.what, EpochOpened)]
    sources = [str(what.source) for what in opened if what.why == "out of range"]
    return sources, run.ledger.by_cause("lost")


@pytest.mark.parametrize("reset", ["AtStart", "AtEnd"])
def test_franz_go_resumes_at_the_time_of_the_last_record_read(reset: str):
    """Only what retention removed is lost, whatever the reset policy is."""
    sources, lost = resumed("franz-go", reset)

    assert ["time of the last record read"] == sources
    assert {"retention overtook the position"} == set(lost)


def test_others_resume_by_their_policy():
    """They lose what has been produced meanwhile, too."""
    sources, lost = resumed("librdkafka", "latest")

    assert ["latest"] == sources
    assert {"position reset to latest"} == set(lost)


TRUNCATED = """
title = "the log is truncated below a position"
run_for = "100s"
cluster = {{ settings = {{ "unclean.leader.election.enable" = true, "replica.lag.time.max.ms" = "5s" }} }}
topic = [{{ name = "t", partitions = 1, replicas = 2, leaders = [1], rate = "20/s", acks = "1" }}]

[[group]]
id = "g"
coordinator = 3
topics = ["t"]
members = 1
work = "1ms"
client = "{client}"
settings = {{ "auto.offset.reset" = "earliest" }}

[[fault]]
cut = ["broker-1", "broker-2"]
at = "12s"
for = "60s"

[[fault]]
crash_broker = "broker-1"
at = "22s"
"""


@pytest.mark.parametrize(
    ("client", "source"),
    [("java", "truncated"), ("librdkafka", "truncated"), ("aiokafka", "earliest")],
)
def test_a_client_without_leader_epochs_does_not_notice_a_truncation(client: str, source: str):
    """Its position is out of range and is reset, which repeats the whole log."""
    run = emulator.run(loads(TRUNCATED.format(client=client), "a test"), seed=1)
    opened = [event.what for event in run.events if isinstance(event.what, EpochOpened)]

    assert source == opened[-1].source
