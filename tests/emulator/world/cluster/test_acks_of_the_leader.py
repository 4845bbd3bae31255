"""``acks=1``: what a leader acknowledges alone, and what of it the next leader lacks."""

from __future__ import annotations

import pytest

import emulator
from emulator.events import RecordsTruncated
from emulator.scenario.model import Topic
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.topics import Topics

from ..stage import SECOND

REPLICATION = 10_000
HALF = REPLICATION // 2

TEXT = """
title = "acknowledged by the leader alone"
run_for = "40s"
cluster.settings = { "unclean.leader.election.enable" = true }

[[topic]]
name = "t"
replicas = 2
leaders = [1]
acks = "1"
rate = "20/s"

[[group]]
id = "g"
coordinator = 3
topics = ["t"]
members = 1
settings = { "auto.offset.reset" = "earliest" }
"""


def log_of(acks):
    """One record every tenth of a second, and a high watermark that has stood from 2 s to 4 s."""
    topics = Topics(0, 3, 3, lambda _: REPLICATION, ())
    log = topics.create(Topic(name="t", rate=10.0, acks=acks), 0).partitions[0]
    log.stall(2 * SECOND)
    log.move(4 * SECOND)
    return log


def gone(*faults, **topic):
    """Return which offsets each election took from the topic."""
    text = TEXT + "".join(f"[[fault]]\n{fault}\n" for fault in faults)
    for key, value in topic.items():
        text = text.replace('rate = "20/s"', f'rate = "20/s"\n{key} = {value}')
    events = emulator.run(emulator.loads(text), 0).events
    cuts = [event.what for event in events if isinstance(event.what, RecordsTruncated)]
    return [(cut.first, cut.next_offset) for cut in cuts]


def test_a_log_of_producers_that_waited_for_the_leader_only_is_visible_at_once():
    """With acks=all it becomes visible request by request."""
    assert 39 < log_of("1").high_watermark(4 * SECOND) <= 40
    assert 20 < log_of("all").high_watermark(4 * SECOND + HALF) < 30


@pytest.mark.parametrize(("before_us", "lost"), [(0, 100), (-1, 101)])
def test_a_leader_does_not_acknowledge_at_the_instant_of_its_end(before_us, lost):
    """The producer sends it again."""
    log = log_of("1")
    log.stall(10 * SECOND)
    cut = log.on_new_leader(5 * SECOND + HALF, 10 * SECOND - before_us, 15 * SECOND, clean=False)

    assert (51, lost) == (cut.first, cut.next_offset)
    assert log.visible_us(cut.first) == NEVER


def test_a_leader_whose_disk_is_full_acknowledges_nothing():
    """Its records until then are lost with it; refused ones are sent again."""
    cut = 'cut = ["broker-1", "broker-2"]\nat = "10s"\nfor = "30s"'
    full = 'fill_disk = "broker-1"\nat = "12s"\nfor = "20s"'
    crash = 'crash_broker = "broker-1"\nat = "18s"'

    assert [(200, 240)] == gone(cut, full, crash)
    assert [(200, 360)] == gone(cut, crash)


def test_a_broker_that_is_back_but_not_elected_acknowledges_nothing():
    """The leader dies alone in sync; it runs again, unknown to the controller, when another leads."""
    follower = 'crash_broker = "broker-2"\nat = "5s"\nrestart_after = "27s"'
    leader = 'crash_broker = "broker-1"\nat = "16s"\nrestart_after = "10s"'
    silent = 'cut = ["broker-1", "controller"]\nat = "17s"\nfor = "23s"'

    assert [(100, 320)] == gone(follower, leader, silent)


def test_a_topic_has_lost_nothing_when_it_is_created():
    """Its first leader is out of touch with the controller: another one leads from the start."""
    silent = 'cut = ["broker-1", "controller"]\nat = "5s"\nfor = "20s"'
    create = 'create_topic = "t"\nat = "20s"'

    assert [] == gone(silent, create, created='"by act"', backlog=50)
