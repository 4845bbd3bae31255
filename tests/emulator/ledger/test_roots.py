"""Following events back to the fault they come from."""

from __future__ import annotations

import pytest

from emulator.events import BrokerUp, ConsumerStarted, Event, FaultBegan
from emulator.ledger import attribution
from emulator.ledger.attribution import START, Roots
from emulator.ledger.entries import Link, Step

from .causes_of import owner_at_work

CRASH = FaultBegan(fault="f1", verb="crash", target="a and b")


def started(name):
    return ConsumerStarted(consumer=name, group="g", incarnation=1, instance_id=None)


def shown_by(event):
    return Link(event, event, Step.OPENED, (), event)


def test_an_event_inherits_the_root_of_its_cause():
    """However long the chain, its root is the fault."""
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    for number in range(1, 50):
        known.follow(Event(number, number, number - 1, BrokerUp(broker=1), number))

    assert "f1" == known.of(49).id


def test_an_event_without_a_cause_has_no_root():
    """Not everything comes from a fault."""
    known = Roots()
    known.follow(Event(0, 0, None, BrokerUp(broker=1), 0))

    assert known.of(0) is None


def test_a_fault_is_its_own_root_even_if_another_led_to_it():
    """A fault that waits for another one begins a chain of its own."""
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    known.follow(Event(1, 1, 0, FaultBegan(fault="f2", verb="pause", target="c"), 1))

    assert "f2" == known.of(1).id


def test_the_start_of_a_process_is_an_act_if_nothing_led_to_it():
    """A member that is simply there to join is the root of what its join does."""
    known = Roots()
    known.follow(Event(0, 0, None, started("c"), 0))
    known.follow(Event(1, 1, 0, BrokerUp(broker=1), 1))

    assert START == known.of(1).verb


def test_a_fault_wins_over_a_start():
    """Of several events the first that leads to a fault decides."""
    known = Roots()
    known.follow(Event(0, 0, None, started("a"), 0))
    known.follow(Event(1, 1, None, CRASH, 1))

    assert "f1" == known.find([shown_by(0), shown_by(1)], []).id


@pytest.mark.parametrize(
    ("act", "root"),
    [(None, None), ("add_partitions", "f1"), ("pause", None), ("start", "start c")],
)
def test_a_start_is_the_root_of_what_it_interrupts_and_else_a_change_of_topics_is(act, root):
    """A process that was there before the previous owner began has not made it stop."""
    history = owner_at_work()
    if act == "start":
        history.start("c")
    elif act is not None:
        history.fault("f1", act, "payments")
    history.close("a", 100, "revoked")
    history.next_owner("c" if act == "start" else "b", 80, 100)
    (entry,) = history.ledger().entries

    assert root == (None if entry.root is None else entry.root.id)


def test_without_links_names_decide_and_at_last_time():
    """The newest fault that names a party, else the newest of all."""
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    known.follow(Event(1, 1, None, FaultBegan(fault="f2", verb="pause", target="c"), 1))

    assert "f1" == known.find([], ["b"]).id
    assert "f2" == known.find([], ["z"]).id
    assert Roots().find([], ["z"]) is None


def test_a_link_leads_to_the_root_of_its_event_or_else_of_the_cause_that_it_names():
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    known.follow(Event(1, 1, None, FaultBegan(fault="f2", verb="pause", target="c"), 1))

    assert "f1" == known.find([Link(None, 2, Step.OPENED, (), 2, 0)], []).id
    assert "f2" == known.find([Link(1, 2, Step.OPENED, (), 2, 0)], []).id


def test_the_newest_start_of_a_process_is_known_by_its_name_unless_a_fault_names_it():
    known = Roots()
    for number in (0, 1):
        known.follow(Event(number, number, None, started("a"), number))
        known.follow(Event(number + 10, number + 10, None, started("z"), number + 10))
    assert 1 == known.find([], ["a"]).event

    known.follow(Event(20, 20, None, CRASH, 20))
    known.follow(Event(21, 21, None, started("a"), 21))
    assert "f1" == known.find([], ["a"]).id


def test_only_recent_events_are_remembered(monkeypatch):
    """The memory of roots is bounded; the newest are kept, and faults for good."""
    monkeypatch.setattr(attribution, "REMEMBERED", 10)
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    for number in range(1, 100):
        known.follow(Event(number, number, number - 1, BrokerUp(broker=1), number))

        assert (number <= 20) == (known.of(1) is not None)

    assert "f1" == known.of(0).id == known.of(99).id
    assert len(known._root_of) <= 20


def test_events_without_a_root_take_no_room_in_the_memory(monkeypatch):
    monkeypatch.setattr(attribution, "REMEMBERED", 10)
    known = Roots()
    known.follow(Event(0, 0, None, CRASH, 0))
    known.follow(Event(1, 1, 0, BrokerUp(broker=1), 1))
    for number in range(2, 50):
        known.follow(Event(number, number, None, BrokerUp(broker=1), number))

    assert "f1" == known.of(1).id
