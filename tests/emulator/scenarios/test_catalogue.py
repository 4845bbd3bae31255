"""Every scenario of the catalogue, played: its expectations hold and it shows what it says."""

from __future__ import annotations

from collections import Counter
from functools import cache
from statistics import mean

import pytest

import emulator
from emulator.events import (
    ClientDropped,
    CommitAccepted,
    EpochOpened,
    MemberRemoved,
    Processed,
    RecordsTruncated,
)
from emulator.ledger.entries import Cause, Step
from emulator.metrics.laws import Law, Severity
from emulator.playing import Run
from emulator.scenario import catalogue
from emulator.scenario.load import load_with

from .catalogue_shows import ENDLESS, MAX_RECORDS, SHOWS, SLOW


@cache
def played(name: str, seed: int = 0, *changes: str) -> Run:
    """Play a scenario once for all tests that look at it."""
    scenario = load_with(catalogue.path_of(name), changes)
    return emulator.run(scenario, seed)


def entries(run: Run, cause: Cause) -> list:
    """Return the ledger's entries of one cause."""
    return [entry for entry in run.ledger.entries if entry.cause is cause]


def hold(run: Run) -> None:
    """Assert what holds for any scenario and any seed."""
    broken = [expected.message for expected in run.expectations() if not expected.ok]
    errors = [finding for finding in run.findings if finding.severity is Severity.ERROR]

    assert [] == broken
    assert [] == errors
    assert run.conclusive or run.scenario.title in ENDLESS, run.why
    run.ledger.check()
    for entry in run.ledger.entries:
        assert entry.root is not None or dropped_out(entry) or not run.scenario.fault


def dropped_out(entry) -> bool:
    """Return whether a member dropped out: by itself it does so again and again, without a fault."""
    return any(link.step is Step.DROPPED_OUT for link in entry.chain)


def test_every_scenario_has_its_expected_causes():
    """A new scenario needs an entry."""
    assert set(catalogue.names()) == set(SHOWS)


@pytest.mark.plain_of(6)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in SHOWS],
)
def test_a_scenario_keeps_its_own_bounds_and_shows_its_causes(name):
    """Its [expect] holds, no law is broken, and its ledger has the causes it is there for."""
    run = played(name)

    hold(run)
    assert run.scenario.expect
    assert SHOWS[name] == {Cause(cause) for cause in run.ledger.by_cause()}
    assert MAX_RECORDS > run.ledger.processed


@pytest.mark.long
@pytest.mark.one_of(10)
@pytest.mark.parametrize("name", SHOWS)
def test_the_bounds_hold_for_another_seed(name):
    """Wherever in its window the fault falls."""
    hold(played(name, 1))


@pytest.mark.long
@pytest.mark.one_of(5)
@pytest.mark.parametrize("name", SHOWS)
def test_without_its_faults_a_scenario_does_not_keep_its_bounds(name):
    """Bounds that a run with nothing wrong keeps, too, say nothing about what was found."""
    scenario = load_with(catalogue.path_of(name), ())
    if not scenario.fault:
        pytest.skip("what is wrong in it is no fault or act")
    quiet = emulator.run(scenario.model_copy(update={"fault": ()}), keep_events=False)

    assert not all(expected.ok for expected in quiet.expectations())


# -- the incidents: does each show what its report says? ---------------------------------------


@pytest.mark.long
def test_a1_two_partitions_go_far_back_and_the_others_do_not():
    """Where a lost commit was sent again a rewind is 90 s long, elsewhere one interval."""
    run = played("a1-deploy-goes-back")
    repeated = run.metrics.tables["reprocessed.by_partition"]
    far = {name for name, count in repeated.items() if count > 1_500}

    assert {"events-2", "events-3"} == far
    assert all(count <= 400 for name, count in repeated.items() if name not in far)


def test_b2_each_kill_costs_the_session_timeout_and_leaving_does_not():
    """Killed members are noticed by their silence; with time to close they say good-bye."""
    killed = played("b2-stop-without-leaving")
    closing = played("b2-stop-without-leaving", 0, "act[rolling_restart-1].grace=30s")

    assert 3 == killed.metrics["evictions"]
    assert 6.8 <= killed.metrics["downtime_max_s"] <= 10.5
    assert 0 == closing.metrics["evictions"]
    assert 3.5 >= closing.metrics["downtime_max_s"]


def test_c1_the_record_is_tried_again_and_again_and_nothing_behind_it_counts():
    """Each owner in turn meets the same record; the group never commits beyond it."""
    run = played("c1-slow-record-loop")
    attempts = Counter[bool]()
    reached = 0
    for event in run.events:
        what = event.what
        if isinstance(what, Processed) and what.partition.partition == 0:
            attempts[what.first <= 300 < what.next_offset] += 1
        if isinstance(what, CommitAccepted):
            reached = max(reached, *(end for tp, end in what.offsets if tp.partition == 0), 0)

    assert attempts[True] >= 4
    assert reached <= 300
    assert {"poison-1"} == {entry.root.id for entry in run.ledger.entries}


@pytest.mark.long
def test_d1_records_whose_commit_was_refused_are_repeated_by_the_next_owner():
    """The error is the rebalance, and the newcomer is who does it all again."""
    found = entries(played("d1-commit-refused-in-rebalance"), Cause.REFUSED)

    assert {"REBALANCE_IN_PROGRESS"} == {entry.detail for entry in found}
    assert {"billing-2"} == {entry.second_owner.consumer for entry in found}


def test_d3_an_older_commit_takes_the_group_back():
    """A committed offset falls when the kept commit is sent again, and the next owner believes it."""
    run = played("d3-older-commit-wins")

    assert run.metrics["rewinds"] > 0
    for entry in entries(run, Cause.REWIND):
        high, low = map(int, entry.detail.split(" to "))

        assert low <= entry.first < high


@pytest.mark.soak
@pytest.mark.long
def test_f3_a_crash_repeats_half_the_threshold_on_average():
    """Over seeds the repeats lie evenly between nothing and the threshold."""
    repeated = [played("f3-commit-every-n", seed).ledger.reprocessed for seed in range(24)]

    assert 100 >= max(repeated)
    assert 50 == pytest.approx(mean(repeated), abs=4 * 29 / len(repeated) ** 0.5)


def test_h1_committed_offsets_never_fall_over_a_move():
    """The new coordinator has every commit the old one had accepted; no member has to rejoin."""
    run = played("h1-coordinator-moves")

    assert 0 == run.metrics["rewinds"] == run.metrics["evictions"] == run.metrics["drop_outs"]
    assert 1 == run.metrics["generations"]


@pytest.mark.long
def test_h4_three_copies_of_the_offsets_topic_spare_the_wait_for_its_broker():
    """With one copy the group waits as long as the broker is away, with three a session."""
    factor = "cluster.settings[offsets.topic.replication.factor]=3"
    one = played("h4-offsets-on-one-broker").metrics["downtime_max_s"]
    three = played("h4-offsets-on-one-broker", 0, factor).metrics["downtime_max_s"]

    assert 60 <= one <= 80
    assert 12 >= three


@pytest.mark.long
def test_i4_an_epoch_in_the_commit_is_worth_all_that_is_left_of_the_log():
    """With it the next owner learns of the truncation; without, the reset policy applies."""
    with_epoch = "group[billing].commit.leader_epoch=true"
    latest = "group[billing].settings[auto.offset.reset]=latest"
    without = played("i4-commit-without-epoch")
    moved_back = played("i4-commit-without-epoch", 0, with_epoch)
    opened = [e.what for e in moved_back.events if isinstance(e.what, EpochOpened)]

    assert {"orders-0", "orders-3"} == {str(e.topic_partition) for e in without.ledger.entries}
    assert {0} == {entry.first for entry in without.ledger.entries}
    assert () == moved_back.ledger.entries
    assert 2 == sum(what.source == "truncated" for what in opened)
    assert {"offset out of range"} == set(
        played("i4-commit-without-epoch", 0, latest).metrics.tables["lost.by_cause"]
    )


def test_i5_a_few_records_that_are_gone_cost_the_whole_log():
    """The offset lies a handful beyond the end; the oldest is thousands before it."""
    run = played("i5-offset-beyond-the-end")
    (cut,) = [e.what for e in run.events if isinstance(e.what, RecordsTruncated)]

    assert 10 > cut.next_offset - cut.first
    assert cut.first == run.ledger.reprocessed


def test_k1_each_starter_fences_the_other():
    """The coordinator knows one process of an instance id: the last one that came."""
    run = played("k1-instance-id-reused")
    dropped = [e.what.consumer for e in run.events if isinstance(e.what, ClientDropped)]
    removed = [e.what.why for e in run.events if isinstance(e.what, MemberRemoved)]

    assert ["billing-1", "new"] == dropped
    assert ["replaced by the same instance"] * 2 == removed
    assert 0 == run.metrics["rebalances"]


def test_l1_the_zombie_is_at_work_beside_the_new_owner():
    """Evicted while it was stopped, it goes on for a moment where another has long begun."""
    run = played("l1-zombie-after-pause")

    assert 1 == run.metrics["evictions"]
    assert {"billing-1"} & {entry.first_owner.consumer for entry in run.ledger.entries}
    assert {"pause-1"} == {entry.root.id for entry in run.ledger.entries}


def test_m1_a_longer_session_spares_the_living_and_waits_for_the_dead():
    """Six seconds evict a member that was cut off for eight; 45 do not, and cost 45 at a death."""
    short = played("m1-session-timeout")
    setting = "group[billing].settings[session.timeout.ms]=45s"
    patient = played("m1-session-timeout", 0, setting)

    assert (1, 0) == (short.metrics["evictions_living"], patient.metrics["evictions_living"])
    assert short.metrics["takeover_first_s"] < 10
    assert 41 < patient.metrics["takeover_first_s"] < 49


@pytest.mark.long
@pytest.mark.parametrize("minutes", [3, 5])
def test_n1_all_members_wait_for_the_silent_member_as_long_as_max_poll_interval(minutes):
    """From the new member's JoinGroup to the end of the silent member's poll interval."""
    setting = f"group[billing].settings[max.poll.interval.ms]={minutes}min"
    stalled = played("n1-one-member-stalls-all", 0, setting).metrics["member_idle_max_s"]

    assert minutes * 60 - 34 <= stalled <= minutes * 60 - 29


def test_o1_what_is_lost_is_what_came_before_the_new_partitions_were_found():
    """With latest the unread is lost; with earliest it only waits."""
    lost = played("o1-expansion-with-latest")
    late_s = lost.metrics["downtime_max_s"]
    setting = "group[billing].settings[auto.offset.reset]=earliest"

    assert 3 * 5 * late_s == pytest.approx(lost.ledger.lost, abs=3)
    assert 0 == played("o1-expansion-with-latest", 0, setting).ledger.lost


def test_o4_the_first_member_to_find_a_topic_triggers_a_rebalance():
    """One rebalance gives every partition of the new topic an owner."""
    run = played("o4-new-topic-many-rebalances")

    assert 1 == run.metrics["rebalances"]
    assert run.metrics["downtime_max_s"] <= 105


@pytest.mark.long
def test_a_lost_answer_repeats_nothing_and_is_no_entry():
    """The commit counted though its sender did not learn it: that is a metric."""
    assert 1 == played("commit-answer-lost").ledger.duplicates_avoided


def test_commits_ahead_of_the_work_are_warned_of():
    """Committing first is a policy one may want; the run says what it risks."""
    found = played("commit-before-work").findings

    assert {Law.COMMIT_AHEAD} == {finding.law for finding in found}
