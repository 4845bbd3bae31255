"""What a join costs the coordinator, and an assignment the leader or the coordinator."""

from __future__ import annotations

import tomllib
from itertools import pairwise

import pytest

import emulator
from emulator.events import (
    AssignorRan,
    Event,
    GroupEpochRaised,
    GroupStabilised,
    MemberRemoved,
    Processed,
    TargetComputed,
)
from emulator.playing import Run
from emulator.scenario.tables.groups import AssignorTime
from emulator.world import build
from emulator.world.run import Replay
from tests.emulator.modes.both_ways import hold_both_ways

SECOND = 1_000_000

TEXT = """
title = "costs"
run_for = "{run_for}"
topic = [{{ name = "t", partitions = 6, rate = "2/s" }}]
{cluster}
{fault}

[[group]]
id = "g"
topics = ["t"]
members = 3
work = "5ms"
{group}
settings = {{ "auto.offset.reset" = "earliest", {settings} }}
"""


CLASSIC = '"session.timeout.ms" = "10s"'
BY_EPOCHS = '"group.protocol" = "consumer"'


def text_of(run_for="40s", cluster="", fault="", group="", settings=CLASSIC) -> str:
    return TEXT.format(
        run_for=run_for, cluster=cluster, fault=fault, group=group, settings=settings
    )


def play(**how: str) -> Run:
    return emulator.run(emulator.loads(text_of(**how)), keep_events=True)


def first(run: Run, kind: type) -> Event:
    return next(event for event in run.events if isinstance(event.what, kind))


def test_every_join_takes_the_coordinator_its_time():
    plain, slow = play(), play(cluster='cluster = { join_time = "500ms" }')
    # Each member joins twice: the first response gives it its member id. The first join begins
    # the initial delay of 3 s; the six joins take 3 s.
    late_us = first(slow, GroupStabilised).at_us - first(plain, GroupStabilised).at_us
    assert 500_000 <= late_us <= 3 * SECOND


def test_the_size_of_the_metadata_takes_time():
    plain, slow = play(), play(cluster='cluster = { join_bytes = "20B/s" }')
    assert first(slow, GroupStabilised).at_us > first(plain, GroupStabilised).at_us + SECOND


def test_the_leader_computes_before_it_syncs():
    plain = play()
    slow = play(group='assignor_time = { base = "1s", member = "1s", partition = "500ms" }')
    ran = first(slow, AssignorRan).what
    assert (ran.members, ran.partitions, ran.takes_us) == (3, 6, 7 * SECOND)
    assert ran.consumer == "g-0"
    late_us = first(slow, GroupStabilised).at_us - first(plain, GroupStabilised).at_us
    assert abs(late_us - 7 * SECOND) < 10_000
    assert not any(isinstance(event.what, MemberRemoved) for event in slow.events)


def test_the_leader_sends_no_heartbeats_while_it_computes():
    slow = play(group='assignor_time = "12s"')
    removed = first(slow, MemberRemoved)
    ran = first(slow, AssignorRan)
    assert removed.what.consumer == ran.what.consumer
    assert removed.what.why == "session expired"
    assert removed.at_us - ran.at_us < 10 * SECOND + 10_000


def test_a_paused_leader_syncs_when_it_resumes():
    pause = 'fault = [{ pause = "g-0", at = "9s", for = "5s" }]'
    slow = play(fault=pause, group='assignor_time = "4s"')
    assert 14 * SECOND <= first(slow, GroupStabilised).at_us < 14 * SECOND + 100_000


@pytest.mark.parametrize("verb", ["crash", "close"])
def test_a_leader_may_end_while_it_computes(verb):
    act = f'fault = [{{ {verb} = "g-0", at = "9s" }}]'
    slow = play(fault=act, group='assignor_time = "4s"')
    assert sum(isinstance(event.what, AssignorRan) for event in slow.events) >= 2
    assert slow.metrics["lost"] == 0
    assert slow.metrics["processed"] > 0


def test_the_coordinator_computes_for_a_consumer_group():
    slow = play(settings=BY_EPOCHS, group='assignor_time = "2s"').events
    ran = next(event for event in slow if isinstance(event.what, AssignorRan))
    assert (ran.what.consumer, ran.what.partitions) == ("", 6)
    computed = [event.at_us for event in slow if isinstance(event.what, TargetComputed)]
    assert all(later - earlier >= 2 * SECOND for earlier, later in pairwise(computed))


def test_a_coordinator_that_dies_in_a_join_answers_nothing_twice():
    fault = 'fault = [{ crash_broker = "coordinator of g", at = "1s" }]'
    slow = play(run_for="90s", fault=fault, cluster='cluster = { join_time = "900ms" }')
    assert slow.metrics["processed"] > 0


@pytest.mark.parametrize(
    "how",
    [
        {"cluster": 'cluster = { join_time = "300ms", join_bytes = "1KiB/s" }'},
        {"group": 'assignor_time = "3s"'},
        {"group": 'assignor_time = "3s"', "settings": BY_EPOCHS},
        {"group": 'assignor_time = "3s"\nclient = "aiokafka"'},
    ],
)
def test_both_modes_agree(how):
    fault = 'fault = [{ crash = "g-1", at = "20s", restart_after = "3s" }]'
    hold_both_ways(tomllib.loads(text_of(fault=fault, **how)))


def test_the_parts_of_the_time_add_up():
    time = AssignorTime(base=5, member=10, partition=100, pair=1_000)
    assert time.us(2, 3) == 5 + 20 + 300 + 6_000


@pytest.mark.parametrize(("time", "raised"), [("0s", 2), ("2s", 1)])
def test_members_that_join_while_a_pattern_is_looked_up_share_its_epoch(time, raised):
    """The look-up raises the epoch; after it, each join does so."""
    group = 'pattern = "t"\npattern_by = "broker"\nmembers = [{ name = "a" }, { name = "b", start = "1s" }]'
    text = text_of("10s", f'cluster.pattern_time = "{time}"', settings=BY_EPOCHS)
    text = text.replace('topics = ["t"]\nmembers = 3', group)
    run = emulator.run(emulator.loads(text), keep_events=True)

    epochs = [event.what.epoch for event in run.events if isinstance(event.what, GroupEpochRaised)]
    assert len(epochs) == raised


def ends_beside_an_assignment(client: str, fault: str = "") -> list[int]:
    """Return when records end at the leader of a second assignment of 2 s, which begins at 0."""
    calls = {"aiokafka": "getmany", "franz-go": "PollFetches"}
    late = '[{ name = "g-0" }, { name = "g-1", start = "8s" }]'
    group = f'client = "{client}"\nread_with = "{calls[client]}"\nassignor_time = "2s"'
    text = text_of(group=group, fault=fault, run_for="20s")
    text = text.replace("members = 3", f"members = {late}").replace('"5ms"', '"300ms"')
    events: list[Event] = []
    build.play(emulator.loads(text), 0, (events.append,), replay=Replay(by_record=True))
    ran = [event for event in events if isinstance(event.what, AssignorRan)][1]
    ends = [event.at_us for event in events if isinstance(event.what, Processed)]
    assert ran.what.consumer == "g-0"
    return [at_us - ran.at_us for at_us in ends if at_us >= ran.at_us]


def test_a_handler_in_the_event_loop_of_the_client_waits_for_the_assignor():
    """The assignor of aiokafka runs there: the record in progress, which takes 300 ms, ends with it."""
    assert [2 * SECOND, 2_300_000] == ends_beside_an_assignment("aiokafka")[:2]
    assert ends_beside_an_assignment("franz-go")[1] < SECOND


@pytest.mark.parametrize(("lasting", "ends_us"), [("500ms", 2 * SECOND), ("3s", 3_991_000)])
def test_a_pause_of_such_a_leader_may_end_before_the_assignor_or_behind_it(lasting, ends_us):
    """The assignor began at 8.009 s."""
    pause = f'fault = [{{ pause = "g-0", at = "9s", for = "{lasting}" }}]'
    assert [ends_us, ends_us + 300_000] == ends_beside_an_assignment("aiokafka", pause)[:2]
