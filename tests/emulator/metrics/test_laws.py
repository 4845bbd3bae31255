"""Laws that events show: broken ones are found, kept ones are not."""

from __future__ import annotations

import dataclasses

import pytest

from emulator import events as ev
from emulator.ledger.builder import LedgerBuilder
from emulator.metrics.laws import Law, LawChecker, Severity

from ..ledger.history import GROUP, P0, History


def findings(history, *, shared=(), mistaken_policy=False, ledger=None):
    checker, builder = LawChecker(shared), LedgerBuilder()
    for event in history.events:
        checker.feed(event)
        builder.feed(event)
    ledger = builder.close() if ledger is None else ledger
    return checker.close(ledger, mistaken_policy=mistaken_policy)


def laws(history, **arguments):
    return [(finding.law, finding.severity) for finding in findings(history, **arguments)]


def quiet():
    history = History()
    history.topic()
    history.start("a", "b")
    history.joined("a", "b", generation=1)
    history.stable(1, (("a", (P0,)), ("b", ())))
    history.open("a")
    history.work("a", 0, 50)
    history.commit("a", 50)
    return history


def test_a_quiet_run_breaks_no_law():
    """Nothing is found where nothing is wrong."""
    assert [] == laws(quiet())


def test_a_partition_given_twice_breaks_the_law_of_one_owner():
    """An exclusive assignor gives each partition to one member."""
    history = quiet()
    history.stable(2, (("a", (P0,)), ("b", (P0,))))

    assert [(Law.ONE_OWNER, Severity.ERROR)] == laws(history)


def test_an_assignor_may_share_partitions_on_purpose():
    """Where it says so there is nothing to find."""
    history = quiet()
    history.joined("a", "b", protocol="broadcast")
    history.stable(2, (("a", (P0,)), ("b", (P0,))))

    assert [] == laws(history, shared=["broadcast"])


def test_a_plug_in_that_shares_without_saying_so_is_a_warning():
    """The assignor is the user's: the run goes on and the ledger says so."""
    history = quiet()
    warning = ev.AssignmentWarning(
        group=GROUP, generation=2, assignor="mine", partition=P0, consumers=("a", "b")
    )
    history.say(warning)
    history.stable(2, (("a", (P0,)), ("b", (P0,))))

    assert [(Law.GIVEN_TWICE, Severity.WARNING)] == laws(history)


def test_two_epochs_in_one_generation_break_the_law_of_one_owner():
    """A second consumer begins while the first works, in the same generation."""
    history = quiet()
    history.open("b", generation=1)

    assert [(Law.ONE_OWNER, Severity.ERROR)] == laws(history)


def moved(history, name, *assigned):
    """Say what the coordinator counts as owned by a member of the consumer protocol."""
    fact = ev.MemberMoved(
        group=GROUP, consumer=name, epoch=1, state="STABLE", assigned=assigned, revoking=()
    )
    history.say(fact)


def test_a_partition_taken_from_a_member_that_is_about_to_own_it_is_a_warning():
    """Kafka takes it, because a heartbeat has acknowledged an older assignment."""
    history = quiet()
    moved(history, "b", P0)
    moved(history, "b")
    history.open("b", generation=1)

    assert [(Law.TAKEN_UNHEARD, Severity.WARNING)] == laws(history)


def test_a_member_that_owns_again_what_it_has_revoked_breaks_the_law_of_one_owner():
    """It knew that it had lost the partition."""
    history = History()
    history.topic()
    history.start("a", "b")
    moved(history, "b", P0)
    history.open("b")
    history.close("b", 0, "revoked")
    moved(history, "b")
    history.open("a")
    history.open("b")

    assert [(Law.ONE_OWNER, Severity.ERROR)] == laws(history)


def test_a_partition_given_again_is_not_taken_any_more():
    """Two owners break the law, whatever was before the grant."""
    history = quiet()
    moved(history, "b", P0)
    moved(history, "b")
    moved(history, "b", P0)
    history.open("b", generation=1)

    assert [(Law.ONE_OWNER, Severity.ERROR)] == laws(history)


@pytest.mark.parametrize(
    ("why", "found"), [("left", []), (None, [(Law.QUIET_IS_EMPTY, Severity.ERROR)])]
)
def test_a_member_that_leaves_a_stable_group_disturbs_the_run(why, found):
    """Its batch takes longer than its poll interval: no fault says so."""
    history = quiet()
    history.work("a", 50, 60)
    if why is not None:
        history.remove_member("a", why)
    history.close("a", 60, "revoked")
    history.next_owner("b", 50, 60, generation=2)

    assert found == laws(history)


def taken_again(history):
    """Process ten records again, and end."""
    history.close("a", 50, "revoked")
    history.next_owner("b", 40, 60, generation=2)
    return history


@pytest.mark.parametrize("stable", [False, True], ids=["while it starts", "when it is stable"])
def test_a_rebalance_of_a_group_that_works_disturbs_the_run(stable):
    """Its reason may be a request that timed out: no fault, and the same members."""
    history = History()
    history.topic()
    history.start("a", "b")
    history.joined("a", "b", generation=1)
    if stable:
        history.stable(1, (("a", (P0,)), ("b", ())))
    history.open("a")
    history.work("a", 0, 50)
    history.rebalance("rebalance failed due to DisconnectException", "b")

    assert [] == laws(taken_again(history))


def test_a_rebalance_before_anybody_reads_disturbs_nothing():
    history = History()
    history.topic()
    history.start("a", "b")
    history.rebalance()
    history.open("a")
    history.work("a", 0, 50)

    assert [(Law.QUIET_IS_EMPTY, Severity.ERROR)] == laws(taken_again(history))


def test_a_zombie_of_an_older_generation_breaks_no_law():
    """Two owners of different generations are what the ledger is for."""
    history = quiet()
    history.open("b", generation=2)

    assert [] == laws(history)


def test_a_zombie_of_a_deleted_group_breaks_no_law():
    """An empty group without offsets is deleted; the generations of the new one begin again."""
    history = quiet()
    history.say(ev.GroupEmptied(group=GROUP, generation=2))
    history.open("b", generation=1)

    assert [] == laws(history)


def test_one_instance_in_two_processes_breaks_no_law():
    """A static member that was replaced may work on in the same generation."""
    history = quiet()
    history.start("c", instance_id="x")
    history.start("d", instance_id="x")
    history.close("a", 50, "revoked")
    history.open("c", offset=50)
    history.open("d", offset=50)

    assert [] == laws(history)


def test_a_generation_that_falls_breaks_a_law():
    """Unless the coordinator moved or the group was empty meanwhile."""
    history = quiet()
    history.stable(5)
    history.stable(4)
    excused = quiet()
    excused.stable(5)
    excused.coordinator_moves()
    excused.stable(4)

    assert [(Law.GENERATIONS_RISE, Severity.ERROR)] == laws(history)
    assert [] == laws(excused)


def test_an_owner_that_jumps_breaks_a_law():
    """Within an epoch work goes on where it stopped, but for what is said to be let go."""
    history = quiet()
    history.let_go("a", 50, 60, "skipped")
    history.work("a", 60, 70)
    history.work("a", 75, 80)
    found = findings(history, mistaken_policy=True)

    assert [Law.NO_GAPS] == [finding.law for finding in found]
    assert "a was at 70 of orders-0, then 75" == found[0].message


def test_committing_ahead_is_a_warning_counted_once_a_member():
    """A policy may do it on purpose; it is named with the first event."""
    history = quiet()
    history.commit("a", 80, processed=50)
    history.commit("a", 90, processed=50)
    found = findings(history)

    assert [(Law.COMMIT_AHEAD, Severity.WARNING, 2)] == [
        (finding.law, finding.severity, finding.times) for finding in found
    ]
    assert (
        "a commits offset 80 of orders-0 and has not processed all records from 50 on: a crash now "
        "loses those"
    ) == found[0].message


def test_commits_ahead_in_a_sum_are_counted_with_the_first_one():
    """A sum says how many of its commits were ahead of processing."""
    history = quiet()
    history.commit("a", 80, processed=50)
    history.say(ev.CommitsCounted(consumer="a", group=GROUP, commits=5, ahead=3))
    (found,) = findings(history)

    assert (Law.COMMIT_AHEAD, 4) == (found.law, found.times)


def test_an_undisturbed_run_must_have_an_empty_ledger():
    """Repeats without fault, act or mistaken policy are an error of ours."""
    history = quiet()
    history.open("a", offset=0, source="seek", generation=2)
    history.work("a", 0, 10)

    assert [(Law.QUIET_IS_EMPTY, Severity.ERROR)] == laws(history)
    assert [] == laws(history, mistaken_policy=True)


def test_a_join_disturbs():
    """A member that comes to a stable group is an act, and a hand-over may repeat."""
    history = quiet()
    history.start("c")
    history.close("a", 50, "revoked")
    history.open("c", offset=40, generation=2)
    history.work("c", 40, 50)

    assert [] == laws(history)


def test_totals_that_disagree_are_found():
    """A ledger whose entries do not add up is an error."""
    history = quiet()
    builder = LedgerBuilder()
    for event in history.events:
        builder.feed(event)
    broken = dataclasses.replace(builder.close(), lost=7)

    assert (Law.SUMS_AGREE, Severity.ERROR) in laws(history, ledger=broken)
