"""Connections of processes to brokers."""

import pytest

import emulator
from emulator.tracing import trace
from emulator.world.build import build, create_topics, make_shards
from emulator.world.run import new_run

SCENARIO = """
title = "one member"
run_for = "1min"

[[topic]]
name = "orders"
partitions = 1
rate = "1/s"

[[group]]
id = "g"
topics = ["orders"]
members = 1
work = "1ms"
"""


def test_an_ended_process_gets_no_responses():
    """Its connections end with it: responses to it are dropped, not lost on the wire."""
    world = build(new_run(emulator.loads(SCENARIO), 0, ()))
    create_topics(world)
    make_shards(world)
    process = world.consumers.start("g-0", None)
    assert process is not None
    assert world.router.is_connected(process.name)

    process.stop("crashed", None)

    assert not world.router.is_connected(process.name)
    assert world.consumers.running("g-0") is None


KILLED = """
title = "a coordinator that is killed"
run_for = "20s"
cluster = {{ brokers = 3 }}
network = {{ latency = "1ms" }}
topic = [{{ name = "t", partitions = 6, rate = "0/s" }}]
fault = [{{ crash_broker = "coordinator of g", at = "12s" }}]

[[group]]
id = "g"
topics = ["t"]
members = 1
coordinator = 1
settings = {{ "group.protocol" = "{protocol}", "fetch.max.wait.ms" = {wait_ms} }}
"""


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("wait_ms", [500, 2_000])
def test_a_lookup_is_answered_behind_a_fetch_of_the_same_connection(protocol, wait_ms):
    """In captured runs of a killed coordinator the lookups are answered as often as the fetches.

    That was every 502 ms without records (consumer protocol, 3 members).
    """
    seen = trace(emulator.loads(KILLED.format(protocol=protocol, wait_ms=wait_ms)))
    answers = [
        each
        for each in seen.messages
        if each.kind == "FindCoordinator" and not each.is_request and each.sent_us > 12_000_000
    ]
    fetched = {(each.sender, each.sent_us) for each in seen.fetches if not each.is_request}

    assert answers
    assert all((each.sender, each.sent_us) in fetched for each in answers)
