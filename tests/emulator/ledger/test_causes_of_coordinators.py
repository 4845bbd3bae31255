"""Causes from the coordinator's side: each yielded by a history of its own, and no other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from emulator import events as ev
from emulator.ledger.cluster import NO_BROKER, Coordinators, OffsetsPartition
from emulator.ledger.entries import Cause, Link, Step
from emulator.report.event_wording import link_text

from .causes_of import only, owner_at_work
from .coordinators import accept, append, elect, led_by_1, load, unload
from .history import GROUP, History


def taken_over_at(history, offset, processed=100):
    history.crash("a", processed)
    history.open("b", offset=offset)
    history.work("b", offset, processed)


def the_detail(history) -> str:
    (entry,) = history.ledger().entries
    return entry.detail


# -- a coordinator that was replaced ---------------------------------------------------------


def test_a_commit_that_a_replaced_coordinator_took_is_worth_nothing():
    """It went into a log without followers; the next owner asks the successor."""
    history = led_by_1()
    fault = history.fault(verb="cut", target="broker-1 and controller")
    elect(history, 2, 1, cause=fault)
    accept(history, 100, broker=1, epoch=0)
    taken_over_at(history, 80)

    only(history, Cause.STALE_COORDINATOR, 20)
    (entry,) = history.ledger().entries
    assert "accepted the commit" == entry.detail
    assert fault == entry.root.event
    assert any("broker 2 elected to lead" in link_text(link) for link in entry.chain)


@pytest.mark.parametrize(
    ("answer", "detail"),
    [("NONE", "acknowledged the commit"), ("NOT_COORDINATOR", "accepted the commit")],
)
def test_a_commit_that_was_acknowledged_in_vain_is_called_so(answer, detail):
    """Its sender had every reason to believe in it; one that got an error had not."""
    history = led_by_1()
    elect(history, 2, 1, clean=False)
    commit = accept(history, 100, broker=1, epoch=0)
    history.answer("a", commit, answer)
    taken_over_at(history, 80)

    only(history, Cause.STALE_COORDINATOR, 20)
    assert detail == the_detail(history)


def test_a_commit_to_a_broker_that_died_with_its_sender_never_arrived():
    """No broker decided on it, and no client learned of that."""
    history = led_by_1()
    history.send("a", 100)
    history.say(ev.BrokerDown(broker=1))
    history.crash("a", 100)
    elect(history, 2, 1)
    history.coordinator_moves()
    history.next_owner("b", 80, 100)

    only(history, Cause.MESSAGE_LOST, 20)


def test_a_commit_that_was_taken_while_its_sender_died_avoids_duplicates():
    """The coordinator's answer is not received."""
    history = led_by_1()
    accept(history, 100, broker=1, epoch=0)
    history.stop("a")
    history.next_owner("b", 100, 120)
    ledger = history.ledger()

    assert () == ledger.entries
    assert 20 == ledger.duplicates_avoided


@pytest.mark.parametrize(
    ("second", "error", "avoided"),
    [(100, "COORDINATOR_NOT_AVAILABLE", 20), (100, "NONE", 10), (85, "NONE", 5)],
)
def test_of_commits_sent_in_a_row_the_last_that_was_heard_of_counts(second, error, avoided):
    """The second one is taken before the fate of the first is known; a higher one says nothing of it."""
    history = led_by_1()
    first = accept(history, 90, broker=1, epoch=0)
    accept(history, second, broker=1, epoch=0)
    history.answer("a", first, error)
    history.stop("a")
    history.next_owner("b", second, 120)

    assert avoided == history.ledger().duplicates_avoided


def test_a_member_that_commits_again_repeats_nothing():
    """The successor has the commit."""
    history = led_by_1()
    elect(history, 2, 1)
    accept(history, 100, broker=1, epoch=0)
    unload(history, 1)
    accept(history, 100, broker=2, epoch=1)
    taken_over_at(history, 100)

    assert () == history.ledger().entries


def test_a_commit_to_a_replaced_coordinator_is_not_the_committed_offset():
    """A successor's lower commit is no rewind."""
    history = led_by_1()
    elect(history, 2, 1)
    accept(history, 100, broker=1, epoch=0)
    accept(history, 90, broker=2, epoch=1)
    taken_over_at(history, 90)

    only(history, Cause.STALE_COORDINATOR, 10)


def test_an_older_offset_from_a_replaced_coordinator_is_its_cause():
    """The successor has the newer one, and was not asked."""
    history = led_by_1()
    elect(history, 2, 1)
    accept(history, 100, broker=2, epoch=1)
    taken_over_at(history, 80)

    only(history, Cause.STALE_COORDINATOR, 20)
    assert "returned an older offset" == the_detail(history)


def test_two_owners_may_be_those_of_two_coordinators():
    """Each has given the partition to a member of its own."""
    history = led_by_1()
    fault = history.fault(verb="cut", target="broker-1 and controller")
    elect(history, 2, 1, cause=fault)
    history.next_owner("b", 80, 100)

    only(history, Cause.TWO_OWNERS, 20)
    assert "two coordinators" == the_detail(history)
    assert fault == history.ledger().entries[0].root.event


@pytest.mark.parametrize("end", ["unloaded", "down"])
def test_a_coordinator_that_stopped_or_died_is_no_second_coordinator(end):
    """Two owners then have another reason."""
    history = led_by_1()
    elect(history, 2, 1)
    history.say(ev.BrokerDown(broker=1)) if end == "down" else unload(history, 1)
    history.next_owner("b", 80, 100)

    only(history, Cause.TWO_OWNERS, 20)
    assert "" == the_detail(history)


def test_a_leader_that_was_down_when_replaced_never_took_part():
    """A broker that dies and comes back steps down before it does anything."""
    history = led_by_1()
    history.say(ev.BrokerDown(broker=1))
    elect(history, 2, 1)
    history.say(ev.BrokerUp(broker=1))
    history.next_owner("b", 80, 100)

    assert "" == the_detail(history)


def test_a_leader_without_a_successor_keeps_its_commits():
    """The only copy leads again, in a new epoch, with all it has."""
    history = led_by_1()
    elect(history, -1, 1)
    accept(history, 100, broker=1, epoch=0)
    elect(history, 1, 2)
    taken_over_at(history, 100)

    assert () == history.ledger().entries


# -- a coordinator that died -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("clean", "detail"), [(True, "not on the next leader"), (False, "unclean election")]
)
def test_an_election_says_how_an_accepted_commit_could_vanish(clean, detail):
    """Unacknowledged before a clean one; even acknowledged before one that is not."""
    history = led_by_1()
    accept(history, 100, broker=1, epoch=0)
    history.say(ev.BrokerDown(broker=1))
    elect(history, 2, 1, clean=clean)
    history.coordinator_moves()
    taken_over_at(history, 80)

    only(history, Cause.NOT_REPLICATED, 20)
    assert detail == the_detail(history)


def test_a_reset_after_a_failover_shows_that_no_offset_is_committed():
    """A later commit is then no rewind, and its records are covered."""
    history = led_by_1()
    accept(history, 100, broker=1, epoch=0)
    history.say(ev.BrokerDown(broker=1))
    history.coordinator_moves()
    history.crash("a", 100)
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 50)
    history.commit("b", 50)
    history.crash("b", 50)
    history.next_owner("c", 50, 120)

    assert {str(Cause.NOT_REPLICATED): 100} == history.ledger().by_cause()
    assert 120 == history.ledger().distinct


@pytest.mark.parametrize(
    ("failed", "cause"), [(1, Cause.NOT_REPLICATED), (2, Cause.RESET), (3, Cause.RESET)]
)
def test_only_the_failure_of_the_groups_own_coordinator_can_lose_its_commits(failed, cause):
    """Broker 1 coordinates it; the others lead what other groups commit to."""
    history = led_by_1(100, 90)
    accept(history, 100, broker=1, epoch=0)
    history.say(ev.BrokerDown(broker=failed))
    history.crash("a", 100)
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 50)

    only(history, cause, 50)


@pytest.mark.parametrize(("clean", "cause"), [(True, Cause.RESET), (False, Cause.NOT_REPLICATED)])
def test_only_an_unclean_election_can_lose_a_commit_that_was_acknowledged(clean, cause):
    """All in sync have it: after a clean election the client has reset its position by itself."""
    history = led_by_1(100, 90)
    history.answer("a", accept(history, 100, broker=1, epoch=0))
    history.say(ev.BrokerDown(broker=1))
    elect(history, 2, 1, clean=clean)
    history.coordinator_moves()
    history.crash("a", 100)
    history.open("b", offset=0, source="earliest", why="no offset")
    history.work("b", 0, 50)

    only(history, cause, 50)


def test_an_accepted_commit_that_failover_lost_was_not_replicated():
    """The successor reads an older offset than the newest accepted one after a failover."""
    history = owner_at_work()
    history.commit("a", 100)
    history.coordinator_moves()
    history.crash("a", 100)
    history.next_owner("b", 80, 100)
    history.commit("b", 95)

    only(history, Cause.NOT_REPLICATED, 20)


def test_a_commit_that_the_next_coordinator_has_is_still_shown():
    """Its offset was fetched after the failover; what goes wrong later names it."""
    history = owner_at_work()
    history.coordinator_moves()
    history.crash("a", 100)
    history.open("b", offset=80)
    history.open("b", offset=120, source="earliest", why="out of range")
    history.work("b", 120, 130)
    (entry,) = history.ledger().entries

    assert Cause.RETENTION is entry.cause
    assert Step.COMMITTED in [link.step for link in entry.chain]


def test_a_commit_written_after_the_failover_that_lost_it_was_not_replicated():
    """Its time counts, not when its event was written."""
    history = owner_at_work()
    history.commit("a", 100)
    history.coordinator_moves()
    history.write_late(ev.CommitAccepted)
    history.crash("a", 100)
    history.next_owner("b", 80, 100)

    only(history, Cause.NOT_REPLICATED, 20)


def test_work_after_an_unreplicated_commit_is_judged_by_what_the_coordinator_has():
    """The new owner's commits, lower than the lost one, are no rewind."""
    history = owner_at_work()
    history.commit("a", 100)
    history.coordinator_moves()
    history.crash("a", 100)
    history.next_owner("b", 80, 95)
    history.commit("b", 90)
    history.crash("b", 95)
    history.next_owner("c", 90, 100)
    by_cause = history.ledger().by_cause()

    assert by_cause == {str(Cause.NOT_REPLICATED): 15 + 5, str(Cause.CRASHED): 5}


# -- a coordinator that loads ----------------------------------------------------------------


def test_a_commit_that_a_loading_coordinator_turned_away_has_a_cause_of_its_own():
    """Its sender was answered: no message was lost, and no member was removed."""
    history = led_by_1()
    elect(history, 2, 1)
    unload(history, 1)
    commit = history.send("a", 100)
    history.answer("a", commit, "COORDINATOR_LOAD_IN_PROGRESS")
    history.crash("a", 100)
    load(history, 2, 30)
    history.next_owner("b", 80, 100)

    only(history, Cause.LOADING, 20)
    assert "the load took 30.0 s" == the_detail(history)


def test_without_the_load_s_end_the_cause_is_the_same():
    """A history may have only the answers."""
    history = owner_at_work()
    commit = history.send("a", 100)
    history.answer("a", commit, "COORDINATOR_LOAD_IN_PROGRESS")
    taken_over_at(history, 80)

    only(history, Cause.LOADING, 20)
    assert "" == the_detail(history)


@pytest.mark.parametrize(("elected", "leader"), [((), 1), ((NO_BROKER,), NO_BROKER), ((2,), 2)])
def test_an_append_shows_the_leader_only_until_the_first_election(elected, leader):
    """A broker that was replaced, even by none, may still append."""
    history, coordinators = History(), Coordinators()
    for broker in elected:
        elect(history, broker, 1)
    append(history, 1)
    for event in history.events:
        coordinators.follow(event)

    assert leader == coordinators.of(GROUP).leader


@pytest.mark.parametrize(
    ("broker", "epoch", "at", "is_stale"),
    [
        (1, 1, 15, True),
        (1, 1, 5, False),
        (1, 1, 21, False),
        (1, 2, 15, False),
        (3, 1, 15, False),
    ],
)
def test_a_commit_that_is_written_late_went_to_the_leader_of_its_time(broker, epoch, at, is_stale):
    """Broker 1 was replaced at 10 and stopped at 20; broker 3, which stops too, never led."""
    elected = Link(0, 10, Step.ELECTED, (2,), 0)
    known = OffsetsPartition(leader=2, epoch=2, stale={1: elected})
    for stopping in (3, 1):
        known.stop(stopping, ev.Instant(20, 1))
    fact = SimpleNamespace(broker=broker, leader_epoch=epoch)

    assert (elected if is_stale else None) is known.successor_of(
        ev.Event(None, at, None, fact, 2), fact
    )
