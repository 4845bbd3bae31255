"""Rebalances, their phases and rounds, and what they moved."""

from __future__ import annotations

import pytest

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.metrics.rebalances import Moves, RebalanceMeter, count_moves, reason_kind

from ..ledger.history import GROUP, History
from .meters import read

T = [TopicPartition("orders", number) for number in range(6)]


def formed(**owned):
    """A group that has become stable with this assignment."""
    history = History()
    history.topic(starts=(0,) * 6)
    history.rebalance(generation=0)
    history.joined(*owned, generation=1)
    history.stable(1, tuple((name, tuple(parts)) for name, parts in owned.items()))
    return history


def stable(history, generation, **owned):
    history.stable(generation, tuple((name, tuple(parts)) for name, parts in owned.items()))


def test_forming_the_group_is_no_rebalance():
    """Generations before the group is first stable are only counted as generations."""
    values = read(RebalanceMeter(), formed(a=T)).values

    assert (0, 1, 0) == (values["rebalances"], values["generations"], values["moved"])


def joined_alone(*started):
    """Return a group of the consumer protocol whose first member is alone; others were started."""
    history = History()
    history.topic(starts=(0,) * 6)
    history.start(*started)
    raised(history, 2, "a")
    stable(history, 2, a=T)
    return history


def raised(history, epoch, consumer, reason="a member joined"):
    """Let the epoch rise, and a target follow."""
    history.say(ev.GroupEpochRaised(group=GROUP, epoch=epoch, reason=reason, consumer=consumer))
    history.say(ev.TargetComputed(group=GROUP, epoch=epoch, assignor="uniform", changed=()))


def test_members_that_were_started_before_the_first_was_stable_form_the_group():
    """Under the consumer protocol the first comer is a stable group; who is late only joins it."""
    history = joined_alone("a", "b", "c")
    raised(history, 3, "b")
    raised(history, 4, "c")
    stable(history, 4, a=T[:2], b=T[2:4], c=T[4:])
    formed_by_then = read(RebalanceMeter(), history).values
    history.start("d")
    raised(history, 5, "d")
    stable(history, 5, a=T[:2], b=T[2:3], c=T[4:], d=T[3:4])
    values = read(RebalanceMeter(), history).values

    assert (0, 2) == (formed_by_then["rebalances"], formed_by_then["generations"])
    assert (1, 3) == (values["rebalances"], values["generations"])
    assert 1 == values["moved"]


def test_a_crash_while_the_group_forms_is_a_rebalance_of_its_own():
    """It begins when the epoch rises for it, though the group is on its way to another."""
    history = joined_alone("a", "b")
    raised(history, 3, "b")
    history.stop("a")
    raised(history, 4, "a", "a member is gone: session expired")
    stable(history, 4, b=T)
    reading = read(RebalanceMeter(), history)

    assert {"a member is gone: session expired": 1} == reading.tables["rebalances.by_reason"]


def test_a_returning_consumer_is_a_rebalance():
    """Only the first join of a consumer forms the group."""
    history = joined_alone("a", "b")
    raised(history, 3, "b")
    stable(history, 3, a=T[:3], b=T[3:])
    history.stop("b")
    raised(history, 4, "b", "a member is gone: left")
    stable(history, 4, a=T)
    history.start("b", incarnation=2)
    raised(history, 5, "b")
    stable(history, 5, a=T[:3], b=T[3:])

    assert 2 == read(RebalanceMeter(), history).values["rebalances"]


def test_phases_are_measured_from_event_to_event():
    """The join phase ends when the generation has its members, the sync phase when it is stable."""
    history = formed(a=T)
    history.rebalance("Adding new member b", "b")
    history.wait(2)
    history.joined("a", "b")
    history.wait(0.5)
    stable(history, 2, a=T[:3], b=T[3:])
    reading = read(RebalanceMeter(), history)

    assert 2.001 == reading.values["join_phase_max_s"]
    assert 0.501 == reading.values["sync_phase_total_s"]
    assert 2.502 == reading.values["time_to_stable_max_s"]
    assert {"member added": 1} == reading.tables["rebalances.by_reason"]
    assert [2] == [row["generation"] for row in reading.listings["rebalances"]]


def test_a_cooperative_hand_over_is_one_upheaval_of_two_rounds():
    """While a donor that stays has yet to give up a partition, its rebalance is a further round."""
    history = formed(a=T)
    history.rebalance("Adding new member b", "b")
    history.joined("a", "b")
    stable(history, 2, a=T[:3], b=())
    history.rebalance("Updating metadata for member a; client reason: need to revoke", "a", 2)
    history.joined("a", "b", generation=3)
    stable(history, 3, a=T[:3], b=T[3:])
    values = read(RebalanceMeter(), history).values

    assert (2, 2) == (values["rebalances"], values["rounds_max"])
    assert (3, 0) == (values["moved_needed"], values["moved_unneeded"])
    assert 0.005 == values["time_to_stable_total_s"]


def test_the_time_until_stable_contains_rebalances_that_another_one_cuts():
    """Of the first member 1 s, then 2 s of another until stable; and 4 s until the run ends."""
    history = formed(a=T)
    history.rebalance("Adding new member b", "b")
    history.wait(1)
    history.rebalance("Adding new member c", "c")
    history.wait(2)
    history.joined("a", "b", "c")
    stable(history, 2, a=T[:2], b=T[2:4], c=T[4:])
    history.rebalance("removing member c", "c", 2)
    history.wait(4)
    values = read(RebalanceMeter(), history).values

    assert 3 == values["rebalances"]
    assert 7 == pytest.approx(values["time_to_stable_total_s"], abs=0.01)
    assert 4 == pytest.approx(values["time_to_stable_max_s"], abs=0.01)


def test_the_time_until_stable_ends_where_the_group_is_empty():
    """Nobody waits for a rebalance of no members."""
    history = formed(a=T)
    history.rebalance("removing member a", "a")
    history.wait(1)
    history.say(ev.GroupEmptied(group=GROUP, generation=2))
    history.wait(5)
    values = read(RebalanceMeter(), history).values

    assert 1 == pytest.approx(values["time_to_stable_total_s"], abs=0.01)


def test_a_rebalance_of_another_member_ends_an_upheaval():
    """A partition that is not read any more does not connect later rebalances."""
    history = formed(a=T, b=())
    history.rebalance("Updating metadata for member a", "a")
    history.joined("a", "b")
    stable(history, 2, a=T[:3], b=())
    history.rebalance("Adding new member c", "c", 2)
    history.joined("a", "b", "c", generation=3)
    stable(history, 3, a=T[:3], b=(), c=())
    values = read(RebalanceMeter(), history).values

    assert 1 == values["rounds_max"]
    assert 0.002 * 2 == values["time_to_stable_total_s"]


def test_a_rebalance_that_a_failover_forgot_is_counted_and_has_no_end():
    """The coordinator that takes over knows nothing of it."""
    history = formed(a=T)
    history.rebalance()
    history.coordinator_moves()
    reading = read(RebalanceMeter(), history)

    assert 1 == reading.values["rebalances"]
    assert [None] == [row["stable_s"] for row in reading.listings["rebalances"]]


CUTS = {
    "another rebalance": lambda history: history.rebalance("removing member b", "b", 2),
    "an empty group": lambda history: history.say(ev.GroupEmptied(group=GROUP, generation=3)),
    "another coordinator": lambda history: history.coordinator_moves(),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_sync_phase_that_is_cut_is_counted_with_its_time(cut):
    """It was in no metric: a member that never syncs makes the group wait all the same."""
    history = formed(a=T)
    history.rebalance("Adding new member b", "b")
    history.joined("a", "b")
    history.wait(5)
    CUTS[cut](history)
    reading = read(RebalanceMeter(), history)
    (first, *_) = reading.listings["rebalances"]

    assert (1, 5.001) == (
        reading.values["sync_phases_cut"],
        reading.values["sync_phase_cut_total_s"],
    )
    assert (None, 5.001) == (first["stable_s"], round(first["cut_s"] - first["joined_s"], 6))
    assert 0 == reading.values["sync_phase_total_s"]


def test_no_sync_phase_is_cut_before_it_began_or_while_the_group_forms():
    """Nor by the end of the run, at which it may still go on."""
    joining = formed(a=T)
    joining.rebalance()
    joining.coordinator_moves()
    forming = History()
    forming.topic(starts=(0,) * 6)
    forming.rebalance(generation=0)
    forming.joined("a", generation=1)
    forming.rebalance("Adding new member b", "b", 1)
    going_on = formed(a=T)
    going_on.rebalance()
    going_on.joined("a", "c")

    for history in (joining, forming, going_on):
        assert 0 == read(RebalanceMeter(), history).values["sync_phases_cut"]


def test_a_newer_target_or_coordinator_cuts_no_rebalance_of_the_consumer_protocol():
    """Members go on to the newer target; only a group that becomes empty has none."""
    newer, moved, emptied = (joined_alone("a") for _ in range(3))
    for history in (newer, moved, emptied):
        history.start("b")
        raised(history, 3, "b")
    raised(newer, 4, "a", "a member is gone: left")
    stable(newer, 4, b=T)
    moved.coordinator_moves()
    emptied.say(ev.GroupEmptied(group=GROUP, generation=4))

    assert [0, 0, 1] == [
        read(RebalanceMeter(), history).values["sync_phases_cut"]
        for history in (newer, moved, emptied)
    ]


def test_a_round_of_a_replaced_coordinator_is_cut_once():
    """Where it was replaced; it goes on by itself, and its next round cuts no phase of the group."""
    history = formed(a=T)
    history.rebalance("Adding new member b", "b")
    history.joined("a", "b")
    history.coordinator_moves()
    replaced = {"group": GROUP, "replaced_broker": 1}
    history.say(ev.RebalanceStarted(generation=2, reason="removing member a", **replaced))
    history.say(ev.GroupEmptied(generation=3, **replaced))
    history.rebalance("Adding new member a", "a", generation=2)
    history.joined("a", generation=3)
    stable(history, 3, a=T)

    assert 1 == read(RebalanceMeter(), history).values["sync_phases_cut"]


def test_a_coordinator_that_was_replaced_ends_nothing():
    """It rebalances and empties a generation that is over: the newer one goes on meanwhile."""
    history = formed(a=T)
    history.coordinator_moves(generation=1)
    replaced = {"group": GROUP, "replaced_broker": 1}
    begins = ev.RebalanceStarted(generation=2, reason="removing member a", **replaced)
    history.say(begins)
    history.say(ev.GroupEmptied(generation=3, **replaced))
    history.rebalance("Adding new member a", "a", generation=2)
    history.say(begins)
    history.say(ev.GroupEmptied(generation=3, **replaced))
    history.joined("a", generation=3)
    stable(history, 3, a=T)
    reading = read(RebalanceMeter(), history)

    assert [None, 0.004, None] == [
        each["stable_s"] and round(each["stable_s"] - each["started_s"], 6)
        for each in reading.listings["rebalances"]
    ]
    assert 0.004 == reading.values["time_to_stable_total_s"]


def test_a_leaving_member_moves_only_what_it_had():
    """A move is needed where the old owner is gone, unneeded where a stayer loses for nothing."""
    before = dict(zip(T, "aabbcc", strict=True))
    sticky = dict(zip(T, "bcbbcc", strict=True))
    ranged = dict(zip(T, "bbbccc", strict=True))

    assert Moves(2, 0) == count_moves(before, sticky, ("b", "c"))
    assert Moves(2, 1) == count_moves(before, ranged, ("b", "c"))


def test_swapping_owners_is_unneeded():
    """Where balance holds already no move is needed."""
    before = dict(zip(T, "aaabbb", strict=True))

    assert Moves(0, 6) == count_moves(before, dict(zip(T, "bbbaaa", strict=True)), ("a", "b"))


def test_reasons_lose_their_ids():
    """A table by reason has one line a kind, not one a member."""
    member = "m1-8e4ff3ba-0000-4000-8000-0123456789ab"

    assert "member left" == reason_kind(f"explicit `LeaveGroup` request for ({member}) members.")
    assert "member joined again" == reason_kind(
        f"Updating metadata for member {member} during Stable; client reason: not provided"
    )
    assert "static … is here" == reason_kind(f"static {member} is here")
