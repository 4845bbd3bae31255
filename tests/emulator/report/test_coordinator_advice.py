"""What a run's screen says where a coordinator failed: why, and what would help here."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app
from emulator.ledger.causes import UNCLEAN
from emulator.ledger.entries import Cause
from emulator.report.advice import hints_for
from emulator.report.cases import Case
from emulator.report.subject import GroupFacts, Subject

SPLIT_BRAIN = Path(__file__).parents[1] / "split_brain.toml"


def screen(scenario: str, *changes: str) -> str:
    """Return the screen of a run as one line."""
    options = [option for change in changes for option in ("--set", change)]
    return " ".join(CliRunner().invoke(app, ["run", scenario, *options]).stdout.split())


def test_a_slow_load_is_told_with_its_length_and_what_makes_it_shorter():
    """As a happening, as a cause, and as a hint."""
    said = screen("slow-load-after-a-year")

    assert "broker 2 is now coordinator of billing, after a load of 90.0 s" in said
    assert "coordinator still loading: the load took 90.0 s" in said
    assert "Make the load short: it reads all that was never compacted." in said


def test_commits_that_timed_out_at_a_stale_coordinator_ask_for_a_longer_session():
    """Nothing was acknowledged, so no replica more would help."""
    said = screen("h6-stale-coordinator")

    assert "stale coordinator: accepted the commit" in said
    assert "Let session.timeout.ms (now 6000) be longer than that" in said
    assert "a coordinator cut off from its followers acknowledges nothing" not in said


@pytest.mark.parametrize("scenario", ["coordinator-goes-on-alone", str(SPLIT_BRAIN)])
def test_what_a_coordinator_did_alone_asks_for_two_in_sync(scenario):
    """A session however long would not."""
    said = screen(scenario)

    assert "With min.insync.replicas (now 1) of at least 2 a coordinator cut off" in said
    assert "broker 2 leads __consumer_offsets-9, though it was not in sync" in said
    assert "Leave unclean.leader.election.enable (now true) off" in said
    assert "Members look for another coordinator when a commit has timed out" not in said


def test_two_owners_of_two_coordinators_are_called_so():
    """Nobody had been given up."""
    assert "Two brokers believed that they coordinate the group" in screen(str(SPLIT_BRAIN))


def test_a_commit_that_was_never_answered_is_not_blamed_on_the_settings():
    """Three copies and two in sync would not have saved it."""
    said = screen("coordinator-dies-in-commit", "cluster.settings[min.insync.replicas]=2")

    assert "commit accepted but not replicated: not on the next leader" in said
    assert "Nothing acknowledged was lost" in said
    assert "Keep offsets on three brokers" not in said
    assert "At least 2 for min.insync.replicas" not in said


def test_with_what_kafka_sets_nobody_is_told_to_have_the_copies_that_there_are():
    """Three copies; no setting changes what an election in good order leaves behind."""
    said = screen("coordinator-dies-in-commit")

    assert "had appended the commit, but not yet acknowledged it" in said
    assert "had been acknowledged" not in said
    assert "Keep offsets on three brokers" not in said
    assert "offsets.topic.replication.factor" not in said


def test_commits_that_an_unclean_election_dropped_ask_for_copies_and_clean_elections():
    """They had been acknowledged; more replicas in sync would have kept them."""
    said = screen("unclean-election-drops-commits")

    assert "lacks the newest commits, those too that had been acknowledged" in said
    assert "offsets.topic.replication.factor (now 2) of 3, and at least 2 for" in said
    assert "Leave unclean.leader.election.enable (now true) off" in said
    assert "Nothing acknowledged was lost" not in said


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
            retentions={},
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
            habits=frozenset({"auto"}),
            settings={},
        ),
        details=frozenset({UNCLEAN}),
        verbs=frozenset({"crash_broker"}),
        evictions=frozenset(),
        given_twice=False,
    )
    advice = hints_for(case)

    assert advice[0].startswith("At least 2 for min.insync.replicas (now 1)")
    assert [] == [each for each in advice if "three brokers" in each]


def test_a_dead_broker_that_had_the_only_offsets_asks_for_copies():
    """With them the same failure repeats next to nothing, and nothing is said of copies."""
    copies = "cluster.settings[offsets.topic.replication.factor]=3"

    assert "offsets.topic.replication.factor (now 1) of 3" in screen("h4-offsets-on-one-broker")
    assert "of 3" not in screen("h4-offsets-on-one-broker", copies)


def test_repeats_that_were_avoided_are_among_the_figures():
    """They are no entry of the ledger."""
    said = screen("coordinator-commit-times-out")

    assert "avoided 404 records not repeated: a commit counted whose sender never heard" in said


def test_a_dead_broker_that_is_missed_late_is_told_with_how_late_and_what_to_do():
    """Members own their partitions all the while: stand-still does not show it."""
    said = screen("h4-offsets-on-one-broker")

    assert "nothing new to read for 9.0 s at most in one partition, 54.0 s summed over" in said
    assert "no commit possible for 3 min at most" in said
    assert "a dead broker is missed after broker.session.timeout.ms (now 9000)" in said


def test_brokers_stopped_in_order_ask_for_nothing():
    """A coordinator moves within milliseconds, and no topic's partition stalls."""
    said = screen("h7-rolling-broker-restart")

    assert "brokers no commit possible for 10 ms at most" in said
    assert "nothing new to read" not in said
    assert "broker.session.timeout.ms" not in said
