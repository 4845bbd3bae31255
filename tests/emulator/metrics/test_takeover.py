"""Time from a fault to the first record another incarnation processes."""

from __future__ import annotations

import pytest

import emulator
from emulator import events as ev
from emulator.metrics.recovery import TakeoverMeter

from ..ledger.history import GROUP, P0, P1, History
from .meters import read


def owners():
    history = History()
    history.start("a", "b")
    history.open("a", P0)
    history.open("a", P1)
    return history


def first_and_last(history):
    values = read(TakeoverMeter(), history).values
    return values["takeover_first_s"], values["takeover_last_s"]


def test_each_partition_of_the_struck_member_is_taken_over_once():
    """First and last of the partitions it owned when the fault began."""
    history = owners()
    history.crash("a", 0)
    began_us = next(e.at_us for e in history.events if type(e.what) is ev.FaultBegan)
    history.now_us = began_us + 7_000_000
    history.work("b", 0, 10)
    history.now_us = began_us + 9_000_000
    history.work("b", 0, 10, P1)
    history.work("b", 10, 20, P1)

    assert (7.0, 9.0) == first_and_last(history)


def test_another_incarnation_of_the_same_consumer_takes_over():
    """A static member that returns ends the wait."""
    history = owners()
    history.fault()
    history.stop("a")
    history.wait(3)
    history.start("a", incarnation=2)
    history.work("a", 0, 10)

    assert (3.002, 3.002) == first_and_last(history)


def test_where_nothing_is_taken_over_there_is_no_takeover():
    """A pause without a rebalance gives zero, and no row."""
    history = owners()
    history.fault("f1", "pause", "a")
    reading = read(TakeoverMeter(), history)

    assert (0, ()) == (reading.values["takeover_first_s"], reading.listings["takeovers"])


def test_an_owner_that_outlives_its_fault_keeps_its_partitions():
    """After it has committed again, a later move is no takeover of that fault."""
    history = owners()
    history.fault("f1", "pause", "a")
    history.say(ev.FaultEnded(fault="f1", verb="pause", target="a"))
    history.commit("a", 0)
    history.commit("a", 0, partition=P1)
    history.wait(100)
    history.work("b", 0, 10)

    assert (0.0, 0.0) == first_and_last(history)


def test_a_newer_fault_takes_the_watch():
    """A partition is taken over from the fault that struck its owner last."""
    history = owners()
    history.fault("f1", "pause", "a")
    history.wait(50)
    history.fault("f2", "crash", "a")
    history.wait(5)
    history.work("b", 0, 10)
    rows = read(TakeoverMeter(), history).listings["takeovers"]

    assert [("f2", 5.0)] == [(row["fault"], row["first_s"]) for row in rows]


@pytest.mark.parametrize("later", [[("start", "c")], [("cut", "b")] * 3])
def test_work_written_after_newer_faults_counts_for_the_fault_before_its_beginning(later):
    """The time of the first record decides, not when its event was written."""
    history = owners()
    history.crash("a", 0)
    history.open("b", P0)
    history.wait(3)
    history.work("b", 0, 10)
    for number, (verb, target) in enumerate(later, 2):
        history.fault(f"f{number}", verb, target)
    history.write_late(ev.Processed)
    history.work("b", 10, 20)
    rows = read(TakeoverMeter(), history).listings["takeovers"]

    assert [("crash a", 1)] == [(row["fault"], row["taken_over"]) for row in rows]


def test_a_started_member_takes_over_what_moves_to_it():
    """Every partition is watched, and those that move count."""
    history = owners()
    history.fault("f1", "start", "b")
    history.wait(2)
    history.work("a", 0, 10)
    history.work("b", 0, 10, P1)
    rows = read(TakeoverMeter(), history).listings["takeovers"]

    assert [(2, 1)] == [(row["partitions"], row["taken_over"]) for row in rows]


def test_a_commit_of_another_consumer_does_not_end_the_observation():
    """Only the owner that survived its fault keeps the partition."""
    history = owners()
    history.fault("f1", "pause", "a")
    history.say(ev.FaultEnded(fault="f1", verb="pause", target="a"))
    history.commit("b", 0)
    history.wait(4)
    history.work("b", 0, 10)

    assert 1 == read(TakeoverMeter(), history).listings["takeovers"][0]["taken_over"]


def test_a_commit_before_the_end_of_a_fault_does_not_end_the_observation():
    """An owner that commits while its fault lasts may still lose the partition."""
    history = owners()
    history.fault("f1", "pause", "a")
    history.commit("a", 0)
    history.wait(4)
    history.say(ev.FaultEnded(fault="f1", verb="pause", target="a"))
    history.work("b", 0, 10)

    assert 1 == read(TakeoverMeter(), history).listings["takeovers"][0]["taken_over"]


def test_work_that_began_before_the_fault_takes_over_nothing():
    """Another owner finishes records that it began before: it is not the next owner."""
    history = owners()
    began_us = history.now_us
    history.fault("f1", "pause", "a")
    history.wait(1)
    what = ev.Processed(
        consumer="b",
        group=GROUP,
        generation=1,
        partition=P0,
        first=0,
        next_offset=1,
        began_us=began_us - 1,
    )
    history.say(what)

    assert () == read(TakeoverMeter(), history).listings["takeovers"]


def test_without_a_takeover_there_is_no_time():
    """A quiet run has no value, and JSON shows null."""
    quiet = emulator.run(emulator.load("quiet", ["run_for=5s"]), keep_events=False).metrics

    assert not quiet.has("takeover_first_s")
    assert quiet.as_dict()["takeover_last_s"] is None
    assert quiet.has("lost")
    assert "takeover_first_s" in quiet
    assert "takeover" not in quiet


def test_the_next_owner_ends_a_takeover_also_if_it_is_restarted_before_its_first_record():
    """The restart of another member in a deploy does not add to the takeover of the first one."""
    history = owners()
    history.fault("restart a", "restart", "a")
    history.stop("a")
    history.wait(2)
    history.start("b")
    history.open("b", P0)
    history.wait(20)
    history.stop("b")
    history.start("c")
    history.open("c", P0)
    history.work("c", 0, 10)
    (row,) = read(TakeoverMeter(), history).listings["takeovers"]

    assert (1, 2.0) == (row["taken_over"], round(row["last_s"], 1))


def test_each_restart_of_a_deploy_has_its_own_takeovers():
    """A partition that moves on with the second restart counts once for each, until its next owner."""
    history = owners()
    history.fault("restart a", "restart", "a")
    history.stop("a")
    history.wait(2)
    history.start("b")
    history.open("b", P0)
    history.wait(20)
    history.fault("restart b", "restart", "b")
    history.stop("b")
    history.wait(3)
    history.start("c")
    history.open("c", P0)
    history.work("c", 0, 10)
    rows = read(TakeoverMeter(), history).listings["takeovers"]

    assert [("restart a", 2.0), ("restart b", 3.0)] == [
        (row["fault"], round(row["last_s"], 1)) for row in rows
    ]


def test_a_later_fault_of_the_new_owner_does_not_hide_its_first_record():
    """The next owner is struck before it has processed anything, lives on, and then works."""
    history = owners()
    history.crash("a", 0)
    began_us = next(e.at_us for e in history.events if type(e.what) is ev.FaultBegan)
    history.open("b", P0)
    history.fault("start c", "start", "c")
    history.now_us = began_us + 7_000_000
    history.work("b", 0, 10)
    history.work("b", 10, 20)
    (row, *_) = read(TakeoverMeter(), history).listings["takeovers"]

    assert (1, 7.0) == (row["taken_over"], row["last_s"])
