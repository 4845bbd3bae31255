"""The hint for a cooperative assignor: how many restarts the change takes, and who has made it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from emulator.advising import reported
from emulator.loading import load_named
from emulator.report.hints.given import hints_of

STRATEGY = "settings[partition.assignment.strategy]"


def cooperative_hints(*changes: str) -> list[str]:
    loaded = load_named("rolling-restart-eager", ["run_for=100s", *changes])
    return [hint.text for hint in hints_of(reported(loaded, 0)[1]) if hint.id == "cooperative"]


@pytest.mark.parametrize(
    ("listed", "restarts"),
    [
        ("range", "two rolling restarts"),
        ("range,cooperative-sticky", "one rolling restart that removes range from the list"),
    ],
)
def test_a_list_with_both_assignors_needs_one_restart(listed, restarts):
    """KIP-429; Java's default list has both."""
    (text,) = cooperative_hints(f"group[billing].{STRATEGY}={listed}")

    assert restarts in text


def test_a_deploy_that_makes_the_change_is_not_told_to_make_it():
    """What runs at the end is cooperative."""
    listed = f"group[billing].{STRATEGY}=range,cooperative-sticky"

    assert not cooperative_hints(listed, f"act[rolling_restart-1].{STRATEGY}=cooperative-sticky")


def test_a_run_without_a_rebalance_has_nothing_to_gain():
    """Causes alone do not make the hint."""
    report = reported(load_named("rolling-restart-eager", ["run_for=100s"]), 0)[1]
    listings = {**report.metrics.listings, "rebalances": ()}
    without = replace(report, metrics=replace(report.metrics, listings=listings))

    found = ["cooperative" in [hint.id for hint in hints_of(run)] for run in (report, without)]
    assert found == [True, False]


@pytest.mark.long
def test_a_client_without_a_cooperative_assignor_is_not_told_to_take_one():
    """Aiokafka has none, and only the classic protocol."""
    assert not cooperative_hints('group[billing].client="aiokafka"')
    assert cooperative_hints('group[billing].client="kafka-python"')


def test_members_that_assign_partitions_by_hand_are_not_told_to_take_an_assignor():
    """No rebalance moves their partitions."""
    report = reported(load_named("h3-coordinator-not-looked-up"), 0)[1]

    assert ["look-up-coordinator"] == [hint.id for hint in hints_of(report)]
