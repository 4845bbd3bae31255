"""Every fault and act does what its name says, whichever of the three ways says when."""

from __future__ import annotations

import pytest

from emulator.events import (
    ActRefused,
    BrokerDown,
    BrokerUp,
    CommitSent,
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    CoordinatorMoved,
    FaultBegan,
    FaultEnded,
    FaultMissed,
    MessageLost,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)

from ..stage import SECOND, staged

TOPIC = """partitions = 6
rate = "6/s"

[[topic]]
name = "u"
created = "by act"

[[topic]]
name = "gone"
"""
GROUP = """work = "5ms"

[[group.member]]
name = "late"
start = "by act"
"""

NEVER = None

DONE = {
    'crash = "g-1"': (ConsumerStopped, {"consumer": "g-1", "how": "crashed"}, 0),
    'crash = "g-1"\nrestart_after = "2s"': (
        ConsumerStarted,
        {"consumer": "g-1", "incarnation": 2},
        2 * SECOND,
    ),
    'close = "g-1"': (ConsumerStopped, {"consumer": "g-1", "how": "closed"}, NEVER),
    'close = "g-1"\nmid_batch = true': (
        ConsumerStopped,
        {"consumer": "g-1", "how": "closed"},
        NEVER,
    ),
    'close = "g-1"\ngrace = "0s"': (ConsumerStopped, {"consumer": "g-1", "how": "killed"}, 0),
    'start = "late"': (ConsumerStarted, {"consumer": "late", "incarnation": 1}, 0),
    'pause = "g-1"\nfor = "2s"': (ConsumerPaused, {"consumer": "g-1"}, 0),
    'pause = "g-1"\nfor = "3s"': (ConsumerResumed, {"consumer": "g-1"}, 3 * SECOND),
    'hang = "g-1"\nfor = "2s"': (FaultEnded, {"fault": "x"}, 2 * SECOND),
    'cut = ["g-1", "coordinator of g"]\nfor = "2s"': (FaultEnded, {"fault": "x"}, 2 * SECOND),
    'cut = ["g-1", "brokers"]\none_way = true\nfor = "2s"': (
        FaultEnded,
        {"fault": "x"},
        2 * SECOND,
    ),
    'crash_broker = "broker-2"': (BrokerDown, {"broker": 2}, 0),
    'pause_broker = "coordinator of g"\nfor = "2s"': (BrokerUp, {"broker": 1}, 2 * SECOND),
    'cut = ["coordinator of g", "controller"]\nfor = "2s"': (
        FaultEnded,
        {"fault": "x"},
        2 * SECOND,
    ),
    'cut = ["broker-1", "broker-2"]\nfor = "2s"': (FaultEnded, {"fault": "x"}, 2 * SECOND),
    'cut = ["coordinator of g", "brokers"]\none_way = true\nfor = "2s"': (
        FaultEnded,
        {"fault": "x"},
        2 * SECOND,
    ),
    'stop_broker = "coordinator of g"': (CoordinatorMoved, {"group": "g", "broker": 2}, 10_000),
    'stop_broker = "broker-2"\nrestart_after = "2s"': (BrokerUp, {"broker": 2}, 2 * SECOND),
    'rolling_broker_restart = ["broker-2"]\ndown_time = "2s"': (
        BrokerUp,
        {"broker": 2},
        2 * SECOND,
    ),
    'slow_disk = "broker-2"\nby = "50ms"\nfor = "2s"': (FaultEnded, {"fault": "x"}, 2 * SECOND),
    'fill_disk = "broker-2"\nfor = "2s"': (FaultEnded, {"fault": "x"}, 2 * SECOND),
    'move_coordinator = "g"': (CoordinatorMoved, {"group": "g", "broker": 2}, 10_000),
    'add_partitions = "t"\nto = 8': (PartitionsAdded, {"topic": "t", "partitions": 8}, 0),
    'create_topic = "u"': (TopicCreated, {"topic": "u"}, 0),
    'delete_topic = "gone"': (TopicDeleted, {"topic": "gone"}, 0),
    'delete_offsets = "g"\ntopic = "t"': (ActRefused, {"fault": "x"}, 3_000),
    'reset_offsets = "g"\nto = "earliest"': (ActRefused, {"fault": "x"}, 2_000),
    'delete_group = "g"': (ActRefused, {"fault": "x"}, 2_000),
    'rolling_restart = "g"\norder = ["g-1"]': (FaultBegan, {"fault": "x/g-1"}, 0),
    'lose_message = { kind = "Heartbeat", member = "g-1", part = "request" }': (
        MessageLost,
        {"kind": "Heartbeat", "sender": "g-1"},
        0,
    ),
    'delay_message = { kind = "Heartbeat", member = "g-1" }\nby = "1s"': (
        FaultEnded,
        {"fault": "x"},
        0,
    ),
}
"""A verb with its target; the event that shows it, and how long after its beginning that comes."""

MESSAGES = ("lose_message", "delay_message")

every_verb = pytest.mark.parametrize("done", DONE)


def played(done, when, **more):
    fault = f'[[fault]]\nid = "x"\n{done}\n{when}\n'
    return staged(fault, topic=TOPIC, group=GROUP, run_for="15s", **more)


def hold_done(seen, done):
    """Assert that a fault began, did what it says, and is over."""
    kind, fields, after_us = DONE[done]
    began_us, ended_us = seen.began_us("x"), seen.ended_us("x")
    (at_us, *_) = seen.times(kind, **fields)

    if after_us is NEVER:
        assert began_us <= at_us == ended_us
    else:
        assert began_us + after_us == at_us
    assert began_us <= ended_us


@every_verb
def test_at_a_time(done):
    """To the microsecond; who waits for a message begins with the next one of it."""
    seen = played(done, 'at = "9123456us"')

    hold_done(seen, done)
    if done.startswith(MESSAGES):
        assert 9_123_456 <= seen.began_us("x") <= 9_123_456 + SECOND + SECOND // 10
    else:
        assert 9_123_456 == seen.began_us("x")


@pytest.mark.plain_of(4)
@every_verb
def test_at_random_in_a_window(done):
    """Within it, at another time with another seed, at the same one with the same."""
    window = 'between = ["8s", "11s"]'
    begins = []
    for seed in range(2):
        seen = played(done, window, seed=seed)
        hold_done(seen, done)
        begins.append(seen.began_us("x"))
    late = SECOND + SECOND // 10 if done.startswith(MESSAGES) else 0

    assert 8 * SECOND <= min(begins)
    assert max(begins) < 11 * SECOND + late
    assert len(set(begins)) > 1
    assert begins[1] == played(done, f"# again\n{window}", seed=1).began_us("x")


@every_verb
def test_aimed_at_a_step(done):
    """At that step of any member, there and then."""
    seen = played(done, 'when = "g-0 commit sent"')
    aim = seen.first(CommitSent, consumer="g-0")

    hold_done(seen, done)
    if not done.startswith(MESSAGES):
        assert aim.at_us == seen.began_us("x")
        assert aim.row < seen.only(FaultBegan, fault="x").row


@every_verb
def test_a_while_after_another_fault(done):
    """A delay is added to whatever says when."""
    first = '[[fault]]\nid = "first"\nhang = "g-2"\nfor = "1s"\nat = "8s"\n'
    seen = played(done, f'when = "first ends"\ndelay = "500ms"\n{first}')

    hold_done(seen, done)
    if not done.startswith(MESSAGES):
        assert 9 * SECOND + SECOND // 2 == seen.began_us("x")


@every_verb
def test_everything_that_follows_leads_back_to_it(done):
    """The event that shows it names the fault as its cause."""
    seen = played(done, 'at = "9s"')
    kind, fields, _ = DONE[done]
    began = seen.only(FaultBegan, fault="x").id
    chain = [seen.first(kind, **fields).cause]
    while chain[-1] is not None:
        chain.append(seen.control(chain[-1]).cause)

    assert began in chain


def test_all_faults_of_a_window_are_drawn_apart():
    """By their ids: not one number for all."""
    crashes = "".join(
        f'[[fault]]\nid = "{number}"\ncrash = "g-{number}"\nbetween = ["8s", "11s"]\n'
        for number in range(3)
    )
    seen = staged(crashes, topic=TOPIC, group=GROUP)

    assert 3 == len({seen.began_us(str(number)) for number in range(3)})


@pytest.mark.parametrize(
    "done",
    [
        'crash = "late"',
        'close = "late"',
        'pause = "late"\nfor = "1s"',
        'hang = "late"\nfor = "1s"',
    ],
)
def test_a_fault_on_a_stopped_process_does_nothing(done):
    """The run continues unchanged, and reports at its end that the fault did not fire."""
    seen = played(done, 'at = "9s"')
    usual = staged(topic=TOPIC, group=GROUP, run_for="15s")

    assert "late was not running" == seen.only(FaultMissed, fault="x").what.why
    assert [(event.at_us, event.what) for event in usual.events] == [
        (event.at_us, event.what)
        for event in seen.events
        if not isinstance(event.what, FaultMissed)
    ]


@pytest.mark.parametrize(
    "done",
    [
        'crash_broker = "coordinator of g"',
        'pause_broker = "coordinator of g"\nfor = "1s"',
        'fill_disk = "coordinator of g"\nfor = "1s"',
        'cut = ["coordinator of g", "controller"]\nfor = "1s"',
    ],
)
def test_a_fault_on_the_coordinator_of_a_group_that_has_none_does_nothing(done):
    """Its only copy is down; the run reports at its end that the fault did not fire."""
    down = '[[fault]]\nid = "down"\nstop_broker = "broker-1"\nat = "8s"\n'
    cluster = 'cluster = { settings = { "offsets.topic.replication.factor" = 1 } }'
    seen = played(f"{done}\n", f'at = "9s"\n{down}', run=cluster)

    assert "there was no coordinator of g" == seen.only(FaultMissed, fault="x").what.why


@pytest.mark.parametrize("to", ["", 'to = "broker-2"', 'to = "broker-1"'])
def test_a_coordinator_cannot_move_to_a_replica_out_of_sync(to):
    """With one copy there is no other replica."""
    cluster = 'cluster = { settings = { "offsets.topic.replication.factor" = 1 } }'
    seen = played(f'move_coordinator = "g"\n{to}', 'at = "9s"', run=cluster)

    missed = seen.only(FaultMissed, fault="x").what
    assert "no other copy in sync of g's offsets partition" == missed.why
