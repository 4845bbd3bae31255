"""Groups that change from one protocol to the other, as laws, meters and stories see them."""

from __future__ import annotations

from emulator import events as ev
from emulator.metrics.laws import LawChecker
from emulator.metrics.rebalances import RebalanceMeter
from emulator.report.event_wording import EPOCH, GENERATION, event_text, term_of
from emulator.report.explain import explain
from emulator.report.timeline import Timeline

from ..metrics.meters import read
from .history import GROUP, P0, P1, History


def convert(history, protocol, generation, *members):
    """Let the group go over, with these members, because of ``c``."""
    history.say(
        ev.GroupConverted(
            group=GROUP, protocol=protocol, generation=generation, consumer="c", members=members
        )
    )
    return history.now_us


def raise_epoch(history, epoch):
    """Let the epoch rise, and a target follow."""
    history.say(
        ev.GroupEpochRaised(group=GROUP, epoch=epoch, reason="a member joined", consumer="c")
    )
    history.say(ev.TargetComputed(group=GROUP, epoch=epoch, assignor="uniform", changed=()))


def formed():
    """Two members in generation 3."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.rebalance(generation=2)
    history.joined("a", "b", generation=3)
    history.stable(3, (("a", (P0,)), ("b", (P1,))))
    return history


def broken(history):
    """Return the laws that are broken."""
    checker = LawChecker()
    for event in history.events:
        checker.feed(event)
    return [finding.law for finding in checker.close(history.ledger())]


def test_a_group_counts_one_thing_and_then_the_other():
    """Generations before it goes over, epochs until it goes back."""
    history = formed()
    first = history.now_us
    there = convert(history, "consumer", 3, "a", "b")
    raise_epoch(history, 4)
    back = convert(history, "classic", 4, "a")
    term = term_of(GROUP, history.events)

    assert [GENERATION, EPOCH, EPOCH, GENERATION] == [
        term(at) for at in (first, there, back - 1, back)
    ]
    assert GENERATION == term_of("other", history.events)(back)


def test_a_group_that_was_a_consumer_group_from_the_start_counts_epochs_until_it_goes_back():
    """Also where it never changes."""
    history = History()
    raise_epoch(history, 2)
    never = term_of(GROUP, list(history.events))
    back = convert(history, "classic", 2, "a")
    later = term_of(GROUP, history.events)

    assert [EPOCH, EPOCH] == [never(0), never(back)]
    assert [EPOCH, GENERATION] == [later(0), later(back)]


def test_a_change_is_described():
    """From which generation or epoch on, and for which members."""
    history = formed()
    convert(history, "consumer", 3, "a", "b")
    convert(history, "classic", 5, "a")
    convert(history, "consumer", 6)
    texts = [event_text(event.what, P0) for event in history.events[-3:]]

    assert texts == [
        "billing is converted to the consumer protocol when c joins: generation 3 becomes epoch 3, also for a, b",
        "billing is converted to the classic protocol when c joins: epoch 5 becomes generation 5, also for a",
        "billing is converted to the consumer protocol when c joins; it had no members and starts counting at zero",
    ]


def test_the_explanation_has_the_change_and_then_epochs():
    """The first owner had a generation, the second has an epoch."""
    history = formed()
    history.open("a", generation=3)
    history.work("a", 0, 100, generation=3)
    history.commit("a", 80, generation=3)
    history.crash("a", 100)
    convert(history, "consumer", 3, "a", "b")
    history.remove_member("a")
    raise_epoch(history, 4)
    history.open("b", offset=80, generation=4)
    history.work("b", 80, 130, generation=4)
    texts = [line.text for line in explain(history.ledger().entry("D1"), history.events)]

    assert "a starts orders-0 at offset 0 (committed) in generation 3" in texts
    assert any(line.startswith("billing is converted to the consumer protocol") for line in texts)
    assert "b starts orders-0 at offset 80 (committed) in epoch 4" in texts


def test_the_first_screen_has_each_change():
    """With the number of members, and the error of a refused consumer."""
    history = formed()
    convert(history, "consumer", 3, "a", "b")
    convert(history, "classic", 4)
    history.say(
        ev.ConsumerStopped(
            consumer="c",
            group=GROUP,
            how="failed",
            reason="GroupIdNotFoundException (GROUP_ID_NOT_FOUND)",
        )
    )
    timeline = Timeline()
    for event in history.events:
        timeline.feed(event)
    there, back, death = [entry.text for entry in timeline.entries][-3:]

    assert "billing is converted to the consumer protocol with 2 classic members" == there
    assert "billing is converted to the classic protocol; it was empty" == back
    assert "group.consumer.migration.policy" in death


def test_the_count_continues_and_restarts_only_without_members():
    """A generation below the last epoch is a broken law unless the group was empty."""
    fallen, anew = formed(), formed()
    convert(fallen, "consumer", 3, "a", "b")
    fallen.stable(2, (("a", (P0,)), ("b", (P1,))))
    convert(anew, "consumer", 3)
    anew.stable(2, (("c", (P0, P1)),))

    assert 1 == len(broken(fallen))
    assert [] == broken(anew)


def test_an_owner_of_the_former_count_is_no_second_owner():
    """Generation 3 of a group whose count restarted is another one."""
    history = formed()
    history.open("a", generation=3)
    convert(history, "consumer", 3)
    history.open("c", generation=3)

    assert [] == broken(history)


def test_rebalances_are_counted_over_the_change():
    """One to let the newcomer in, one when it goes: each once, whatever they are made of."""
    history = formed()
    convert(history, "consumer", 3, "a", "b")
    raise_epoch(history, 4)
    history.stable(4, (("a", (P0,)), ("b", ()), ("c", (P1,))))
    convert(history, "classic", 4, "a", "b")
    history.rebalance("the last member of the consumer protocol is gone", "c", generation=4)
    history.joined("a", "b", generation=5)
    history.stable(5, (("a", (P0,)), ("b", (P1,))))
    reading = read(RebalanceMeter(), history)

    assert 2 == reading.values["rebalances"]
    assert {"a member joined": 1, "the last member of the consumer protocol is gone": 1} == (
        reading.tables["rebalances.by_reason"]
    )
    assert all(row["stable_s"] is not None for row in reading.listings["rebalances"])


def test_a_group_whose_count_restarted_has_rebalances_again():
    """Its small numbers are not those of a replaced coordinator."""
    history = formed()
    convert(history, "consumer", 3)
    history.say(ev.GroupEmptied(group=GROUP, generation=2))
    convert(history, "classic", 2)
    history.joined("a", generation=1)
    history.stable(1, (("a", (P0, P1)),))
    history.rebalance(generation=1)
    history.joined("a", "c", generation=2)
    history.stable(2, (("a", (P0,)), ("c", (P1,))))
    (row,) = read(RebalanceMeter(), history).listings["rebalances"]

    assert (2, 2) == (row["generation"], row["members"])
