"""Differences of the two consumers in duplicates, losses and downtime, by scenario.

Each row of a scenario's ``[[variant]]`` table is played and compared with the row of the other
protocol. The first row is the scenario as it is written.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.events import ConsumerStopped, MemberAdded
from emulator.ledger.entries import Cause
from emulator.playing import Run
from emulator.scenario import catalogue
from emulator.scenario.load import load_with

from .test_catalogue import played


def row(name: str, variant: str, seed: int = 0) -> Run:
    """Play one row of a scenario's comparison."""
    rows = {each.name: each.changes for each in load_with(catalogue.path_of(name), ()).variant}
    return played(name, seed, *rows[variant])


def causes(run: Run) -> dict[Cause, int]:
    """Return how many records were repeated or lost, by cause."""
    return {Cause(cause): count for cause, count in run.ledger.by_cause().items()}


def ways_out(run: Run) -> list[tuple[str, str]]:
    """Return who died of what was not asked for, and of which exception."""
    stopped = [event.what for event in run.events if isinstance(event.what, ConsumerStopped)]
    return [(what.consumer, what.reason.split()[0]) for what in stopped if what.how == "failed"]


# -- commits ---------------------------------------------------------------------------------------


def test_a_member_that_stops_reading_before_it_commits_repeats_nothing():
    """A cooperative member works on until the revocation: work after its commit is repeated."""
    name = "kip848-commit-before-revocation"
    ours, cooperative, eager = (
        row(name, variant) for variant in ("consumer", "classic, cooperative", "classic, eager")
    )

    assert {} == causes(ours) == causes(eager)
    assert {Cause.REVOKED} == set(causes(cooperative))
    assert ours.metrics["moved"] == cooperative.metrics["moved"] == 2


@pytest.mark.long
def test_a_commit_is_judged_by_its_partition_and_not_by_the_phase_of_the_group():
    """Refused between join and sync, a classic commit leaves its records to be done again."""
    ours = row("kip848-commit-in-rebalance", "consumer")
    classic = row("kip848-commit-in-rebalance", "classic, cooperative")

    assert 0 == ours.metrics["commits_refused"]
    assert {"REBALANCE_IN_PROGRESS"} == set(classic.metrics.tables["commits_refused.by_error"])
    assert ({}, {Cause.REFUSED}) == (causes(ours), set(causes(classic)))


def test_close_commits_what_poll_returned_under_both_protocols():
    """The rest of the batch is lost either way; own commits lose nothing."""
    name = "kip848-close-in-mid-batch"

    for variant in ("consumer", "classic"):
        run = row(name, variant)

        assert {Cause.COMMITTED_AHEAD} == set(causes(run))
        assert 99 >= run.ledger.lost
    assert 0 == row(name, "consumer, own commits").ledger.lost


# -- polls, and what they tell ---------------------------------------------------------------------


@pytest.mark.long
def test_two_batches_count_as_one_poll():
    """Neither batch takes as long as max.poll.interval.ms: only the consumer's client leaves."""
    name = "kip848-poll-without-event"
    ours = row(name, "consumer")

    assert ours.metrics["drop_outs"] >= 1
    assert {Cause.REFUSED} == set(causes(ours))
    for variant in ("classic", "consumer, 30s"):
        assert 0 == row(name, variant).metrics["drop_outs"]
        assert {} == causes(row(name, variant))


@pytest.mark.long
def test_a_hand_over_needs_several_polls():
    """With max.poll.interval.ms between one batch and three, members are removed for it."""
    name = "kip848-slow-handover"
    ours, patient = row(name, "consumer"), row(name, "consumer, 5min")
    classic = [row(name, variant) for variant in ("classic, eager", "classic, cooperative")]

    assert {"did not give partitions up in time"} == set(ours.metrics.tables["evictions.by_reason"])
    assert ours.ledger.reprocessed > 0
    assert {} == causes(patient)
    assert 2 * 7 <= patient.metrics["time_to_stable_max_s"] <= 4 * 7 + 5
    assert [0, 0] == [run.metrics["evictions"] for run in classic]
    assert [{}, {}] == [causes(run) for run in classic]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["", ", static"])
def test_a_member_that_polls_too_late_repeats_what_is_not_committed(kind):
    """Both leave by themselves and come back; neither may commit what it did meanwhile."""
    ours = row("kip848-poll-timer", f"consumer{kind}")
    classic = row("kip848-poll-timer", "classic, static" if kind else "classic, eager")

    assert 1 == ours.metrics["drop_outs"] == classic.metrics["drop_outs"]
    assert 12 >= max(ours.ledger.reprocessed, classic.ledger.reprocessed)
    assert min(ours.ledger.reprocessed, classic.ledger.reprocessed) > 0
    assert 0 == ours.ledger.lost == classic.ledger.lost


# -- sessions and ids ------------------------------------------------------------------------------


@pytest.mark.long
def test_a_zombie_hears_of_its_end_before_it_reads_on():
    """Its overdue heartbeat goes first; a classic zombie takes a batch of all that came in."""
    ours, classic = row("kip848-zombie", "consumer"), row("kip848-zombie", "classic")

    assert {Cause.TWO_OWNERS} == set(causes(ours)) == set(causes(classic))
    assert 4 * ours.ledger.reprocessed < classic.ledger.reprocessed


@pytest.mark.long
def test_the_brokers_session_spares_the_living_and_waits_for_the_dead():
    """45 s for all: no zombie after 20 s, and several times the wait after a crash."""
    name = "kip848-session-by-broker"
    ours, classic, lowered = (
        row(name, variant) for variant in ("consumer", "classic, 10s", "consumer, brokers say 10s")
    )

    assert {Cause.CRASHED} == set(causes(ours))
    assert Cause.TWO_OWNERS in causes(classic)
    assert Cause.TWO_OWNERS in causes(lowered)
    assert ours.metrics["takeover_first_s"] > max(40, 3 * classic.metrics["takeover_first_s"])
    assert 15 > lowered.metrics["takeover_first_s"]


def test_a_static_member_cannot_come_back_before_its_session_is_over():
    """The classic coordinator lets the new process in; the other one lets it die."""
    ours, classic = row("kip848-static-crash", "consumer"), row("kip848-static-crash", "classic")

    assert [("billing-1", "UnreleasedInstanceIdException")] == ways_out(ours)
    assert [] == ways_out(classic)
    assert 5 <= classic.metrics["downtime_max_s"] <= 6
    assert 40 <= ours.metrics["downtime_max_s"] <= 51


@pytest.mark.long
def test_a_lost_answer_to_a_join_is_fatal_for_a_static_member():
    """It asks again under an id that is taken, by itself; a classic one is let in."""
    name = "kip848-join-answer-lost"
    ours, classic = row(name, "consumer"), row(name, "classic")
    joined = [event.what for event in classic.events if isinstance(event.what, MemberAdded)]

    assert [("billing-2", "UnreleasedInstanceIdException")] == ways_out(ours)
    assert [] == ways_out(classic)
    assert 2 == sum(what.consumer == "billing-2" for what in joined)


# -- what brokers know -----------------------------------------------------------------------------


@pytest.mark.long
def test_the_broker_finds_a_topic_before_a_client_does():
    """With latest, what comes before that is lost: one look at the metadata or one look-up."""
    by_broker, by_client, classic = (
        row("kip848-pattern-by-broker", variant)
        for variant in ("by the broker", "by the client", "classic")
    )

    assert {Cause.RESET_TO_LATEST} == set(causes(by_broker))
    assert 46 >= by_broker.ledger.lost
    assert 46 < min(by_client.ledger.lost, classic.ledger.lost)


# -- over seeds ------------------------------------------------------------------------------------

LESS: dict[str, tuple[str, str, Callable[[Run], float]]] = {
    "kip848-zombie": ("consumer", "classic", lambda run: run.ledger.reprocessed),
    "kip848-static-crash": ("classic", "consumer", lambda run: run.metrics["downtime_max_s"]),
    "kip848-pattern-by-broker": ("by the broker", "by the client", lambda run: run.ledger.lost),
}
"""Which row has less of what, whatever the seed."""


@pytest.mark.long
@pytest.mark.parametrize("name", LESS)
def test_which_protocol_costs_less_does_not_hang_on_the_seed(name):
    """The rows differ by the rule, not by the moment of the fault."""
    less, more, measured = LESS[name]

    for seed in (1, 2):
        assert measured(row(name, less, seed)) < measured(row(name, more, seed))
