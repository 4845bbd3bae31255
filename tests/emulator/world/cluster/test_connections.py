"""Connections of processes to brokers."""

from itertools import pairwise

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

    That was every 502 ms without records (consumer protocol, 3 members). A classic member may look up
    again before it fetches again: then nothing is in front of its lookup.
    """
    seen = trace(emulator.loads(KILLED.format(protocol=protocol, wait_ms=wait_ms)))
    lookups = [each for each in seen.messages if each.kind == "FindCoordinator"]
    asked_us = {each.request: each.arrives_us for each in lookups if each.is_request}
    fetches = [
        (each.sender, sent.sent_us, each.sent_us)
        for sent, each in pairwise(seen.fetches)
        if sent.is_request and each.request == sent.request
    ]
    behind = 0
    for answer in lookups:
        if answer.is_request or answer.sent_us <= 12_000_000:
            continue
        at_us = asked_us[answer.request]
        in_front = [
            end for broker, begin, end in fetches if broker == answer.sender and begin < at_us < end
        ]
        assert in_front in ([], [answer.sent_us])
        behind += bool(in_front)

    assert behind >= 2


MOVED = """
title = "a coordinator that moves, on an uneven network"
run_for = "30s"
cluster = { brokers = 2 }
network = { latency = { uniform = ["1ms", "60ms"] } }
topic = [{ name = "t", partitions = 4, rate = "0/s" }]
act = [
  { move_coordinator = "g", at = "12s" },
  { move_coordinator = "g", at = "16s" },
  { move_coordinator = "g", at = "20s" },
  { move_coordinator = "g", at = "24s" },
]

[[group]]
id = "g"
topics = ["t"]
members = 3
settings = { "fetch.max.wait.ms" = 800 }
"""


def test_a_lookup_waits_for_no_fetch_that_was_sent_after_it():
    """Requests of one connection are answered in the order in which they were sent, whichever arrived first."""
    waited = 0
    for seed in range(6):
        seen = trace(emulator.loads(MOVED), seed)
        answered = {each.request: each.sent_us for each in seen.fetches if not each.is_request}
        answers = {each.request: each for each in seen.messages if not each.is_request}
        lookups = [
            each for each in seen.messages if each.is_request and each.kind == "FindCoordinator"
        ]
        for lookup in lookups:
            answer = answers.get(lookup.request)
            if answer is None or answer.sent_us == lookup.arrives_us:
                continue
            waited += 1
            assert any(
                fetch.sent_us <= lookup.sent_us
                for fetch in seen.fetches
                if fetch.is_request
                and fetch.receiver == lookup.receiver
                and answered.get(fetch.request) == answer.sent_us
            )
    assert waited > 5


# -- one request of a connection at a time ---------------------------------------------------------
