"""Laws where two coordinators believe that they coordinate one group."""

from __future__ import annotations

from emulator import events as ev
from emulator.metrics.laws import Law, LawChecker, Severity

from .coordinators import elect, led_by_1, unload
from .history import GROUP, P0


def replaced(generation, assignment):
    """Return what broker 1 reports of the group after another broker was elected."""
    return ev.GroupStabilised(
        group=GROUP, generation=generation, assignment=assignment, replaced_broker=1
    )


def test_two_coordinators_break_no_law_of_one_group():
    """Each counts generations and gives partitions to members for itself."""
    history = led_by_1()
    elect(history, 2, 1)
    history.say(replaced(2, (("a", (P0,)),)))
    history.open("a", offset=100, generation=2)
    history.stable(1, (("b", (P0,)),))
    history.stable(2, (("b", (P0,)),))
    history.open("b", offset=100, generation=2)
    history.say(replaced(1, (("a", (P0,)),)))
    unload(history, 1)
    history.stable(3, (("b", (P0,)),))

    assert () == findings(history)


def test_one_coordinator_does():
    """The same without a second one breaks both laws."""
    history = led_by_1()
    history.stable(2, (("a", (P0,)),))
    history.open("a", offset=100, generation=2)
    history.open("b", offset=100, generation=2)
    history.stable(1, (("b", (P0,)),))

    assert {Law.ONE_OWNER, Law.GENERATIONS_RISE} == {found.law for found in findings(history)}


def findings(history):
    """Return the broken laws of a history."""
    checker = LawChecker()
    for event in history.events:
        checker.feed(event)
    return tuple(
        found for found in checker.close(history.ledger()) if found.severity is Severity.ERROR
    )
