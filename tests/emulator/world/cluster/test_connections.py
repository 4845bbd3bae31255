"""Connections of processes to brokers."""

import emulator
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
