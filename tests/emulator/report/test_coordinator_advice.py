"""The screen of a run after a failure of a coordinator: causes and advice."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.ledger.causes import UNCLEAN
from emulator.ledger.entries import Cause
from emulator.report.hints.advice import hints_for
from emulator.report.hints.cases import Case
from emulator.report.subject import Commits, GroupFacts, Subject

SPLIT_BRAIN = Path(__file__).parents[1] / "scenarios" / "split_brain.toml"


@cache
def screen(scenario: str, *changes: str) -> str:
    """Return the screen of a run as one line."""
    options = [option for change in changes for option in ("--set", change)]
    return " ".join(CliRunner().invoke(app, ["run", scenario, *options]).stdout.split())


@pytest.mark.long
def test_a_slow_load_has_its_length_and_advice():
    """In the timeline, as a cause, and as a hint."""
    said = screen("slow-load-after-a-year")

    assert "broker 2 becomes coordinator of billing, after a load of 67.5 s" in said
    assert "coordinator still loading: the load took 67.5 s" in said
    assert "Shorten the load: it reads everything that has not been compacted." in said


@pytest.mark.long
def test_commits_that_timed_out_at_a_stale_coordinator_ask_for_a_longer_session():
    """Nothing was acknowledged, so no replica more would help."""
    said = screen("h6-stale-coordinator")

    assert "stale coordinator: accepted the commit" in said
    assert "Set session.timeout.ms (now 6000) above the sum of that" in said
    assert "a coordinator without its followers then acknowledges nothing" not in said


@pytest.mark.parametrize("scenario", ["coordinator-goes-on-alone", str(SPLIT_BRAIN)])
def test_commits_of_a_coordinator_alone_ask_for_two_in_sync(scenario):
    """A longer session would not help."""
    said = screen(scenario)

    assert (
        "Set min.insync.replicas (now 1) to at least 2: a coordinator without its followers then"
        in said
    )
    assert "broker 2 leads __consumer_offsets-9 (unclean election: it was not in sync)" in said
    assert "Disable unclean.leader.election.enable (now true)" in said
    assert "Members look up the coordinator again only when a commit times out" not in said


def test_two_owners_of_two_coordinators_are_called_so():
    """No member had been removed."""
    assert "Two brokers acted as coordinator of the group" in screen(str(SPLIT_BRAIN))


@pytest.mark.long
def test_a_commit_that_was_never_answered_is_not_blamed_on_the_settings():
    """Three copies and two in sync would not have saved it."""
    said = screen("coordinator-dies-in-commit", "cluster.settings[min.insync.replicas]=2")

    assert "commit accepted but not replicated: not on the next leader" in said
    assert "No acknowledged commit was lost" in said
    assert "Set offsets.topic.replication.factor" not in said
    assert "Set min.insync.replicas" not in said


@pytest.mark.long
def test_with_kafkas_defaults_more_copies_are_not_advised():
    """Three copies; no setting avoids the effects of a clean election."""
    said = screen("coordinator-dies-in-commit")

    assert "had appended the commit, but not acknowledged it" in said
    assert "including acknowledged ones" not in said
    assert "offsets.topic.replication.factor" not in said
    assert "offsets.topic.replication.factor" not in said


def test_commits_that_an_unclean_election_dropped_ask_for_copies_and_clean_elections():
    """They had been acknowledged; more replicas in sync would have kept them."""
    said = screen("unclean-election-drops-commits")

    assert "does not have the newest commits, including acknowledged ones" in said
    assert "offsets.topic.replication.factor (now 2) to 3 and min.insync.replicas" in said
    assert "Disable unclean.leader.election.enable (now true)" in said
    assert "No acknowledged commit was lost" not in said


def test_enough_copies_of_which_one_acknowledges_alone_ask_for_two_in_sync():
    """Three of three would be no advice."""
    case = Case(
        cause=Cause.NOT_REPLICATED,
        subject=Subject(
            name="x",
            options="",
            title="x",
            kafka="4.4.0",
            run_for="1min",
            groups=(),
            broker_settings={
                "offsets.topic.replication.factor": 3,
                "min.insync.replicas": 1,
                "unclean.leader.election.enable": True,
            },
            moment=str,
        ),
        group=GroupFacts(
            id="g",
            members=1,
            assignors=(),
            cooperative=False,
            static=False,
            shared=False,
            commits="",
            commit_kinds=frozenset({Commits.AUTO}),
            settings={},
        ),
        details=frozenset({UNCLEAN}),
        verbs=frozenset({"crash_broker"}),
        evictions=frozenset(),
        given_twice=False,
    )
    advice = [hint.text for hint in hints_for(case)]

    assert advice[0].startswith("Set min.insync.replicas (now 1) to at least 2")
    assert [] == [each for each in advice if "offsets.topic.replication.factor" in each]


@pytest.mark.long
def test_a_dead_broker_that_had_the_only_offsets_asks_for_copies():
    """With them the same failure repeats next to nothing, and nothing is said of copies."""
    copies = "cluster.settings[offsets.topic.replication.factor]=3"

    few = "use three replicas for offsets.topic.replication.factor (now 1)"

    assert few in screen("h4-offsets-on-one-broker")
    assert "three replicas" not in screen("h4-offsets-on-one-broker", copies)


@pytest.mark.long
def test_repeats_that_were_avoided_are_among_the_figures():
    """They are no entry of the ledger."""
    said = screen("coordinator-commit-times-out")

    assert (
        "avoided 405 records not reprocessed: a commit took effect although its sender got no answer"
        in said
    )


@pytest.mark.long
def test_a_late_fencing_has_its_delay_and_advice():
    """Members own their partitions all the while: downtime does not show it."""
    said = screen("h4-offsets-on-one-broker")

    assert "no new records readable for 9 s at most in one partition, 36 s summed over" in said
    assert "commits unavailable for 1 min 15 s at most" in said
    assert "fences a dead broker after broker.session.timeout.ms (now 9000)" in said


def test_brokers_stopped_in_order_ask_for_nothing():
    """A coordinator moves within milliseconds, and no topic's partition stalls."""
    said = screen("h7-rolling-broker-restart")

    assert "brokers commits unavailable for 10 ms at most" in said
    assert "no new records readable" not in said
    assert "broker.session.timeout.ms" not in said
