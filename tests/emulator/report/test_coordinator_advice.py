"""What a run's screen says where a coordinator failed: why, and what would help here."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.cli.main import app

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

    assert "stale coordinator: took the commit" in said
    assert "Let session.timeout.ms (now 6000) be longer than that" in said
    assert "a coordinator cut off from its followers acknowledges nothing" not in said


@pytest.mark.parametrize("scenario", ["coordinator-goes-on-alone", str(SPLIT_BRAIN)])
def test_what_a_coordinator_did_alone_asks_for_two_in_sync(scenario):
    """A session however long would not."""
    said = screen(scenario)

    assert "With min.insync.replicas (now 1) of at least 2 a coordinator cut off" in said
    assert "broker 2 leads __consumer_offsets-9, though it was not in sync" in said
    assert "Leave unclean.leader.election.enable (now True) off" in said
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


def test_repeats_that_were_avoided_are_among_the_figures():
    """They are no entry of the ledger."""
    said = screen("coordinator-commit-times-out")

    assert "avoided 404 records not repeated: a commit counted whose sender never heard" in said
