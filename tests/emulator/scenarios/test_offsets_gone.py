"""The scenarios in which committed offsets are gone or set to others: what decides their cost."""

from __future__ import annotations

from functools import cache

import pytest

import emulator
from emulator.events import CommitAccepted, EpochOpened
from emulator.ledger.entries import Cause
from emulator.metrics.laws import Law
from emulator.playing import Run
from emulator.scenario import catalogue
from emulator.scenario.load import load_with


@cache
def played(name: str, *changes: str) -> Run:
    """Play a scenario, changed as on the command line."""
    return emulator.run(load_with(catalogue.path_of(name), changes), 0)


@pytest.mark.long
def test_i1_everything_that_was_processed_is_repeated_or_what_was_not_read_is_lost():
    """The reset policy decides what offsets that expired cost."""
    run = played("i1-idle-beyond-retention")
    latest = "group[statistics].settings[auto.offset.reset]=latest"
    lost = played("i1-idle-beyond-retention", latest).ledger
    away_h = 8 * 24

    assert {0} == {entry.first for entry in run.ledger.entries}
    assert 0 == lost.reprocessed
    assert 4 * 60 * away_h == pytest.approx(lost.lost, rel=0.01)
    assert {"position reset to latest"} == set(lost.by_cause())


@pytest.mark.long
def test_i2_seven_days_outlast_a_weekend_and_two_do_not():
    """The time counts from when the last member left."""
    setting = "cluster.settings[offsets.retention.minutes]"
    two, seven = (played("i2-weekend-down", f"{setting}={days * 1440}") for days in (2, 7))

    assert [Cause.EXPIRED] == [Cause(cause) for cause in two.ledger.by_cause()]
    assert {} == seven.ledger.by_cause()


def _quiet(what: EpochOpened) -> bool:
    return what.partition.topic == "refunds"


@pytest.mark.long
def test_i3_only_unsubscribed_topics_lose_their_offsets():
    """A quiet topic keeps its offsets at any age; one without a subscriber does not (KIP-211)."""
    run = played("i3-quiet-partitions")
    late = [event.what for event in run.events if event.at_us > 15 * 60 * 1_000_000]
    commits = [what for what in late if isinstance(what, CommitAccepted)]
    starts = {what.offset for what in late if isinstance(what, EpochOpened) and _quiet(what)}
    stayed = played("i3-quiet-partitions", "act[close-1].restart_after=5min")

    assert {"audit"} == {entry.topic for entry in run.ledger.entries}
    assert "refunds" not in {tp.topic for what in commits for tp, _ in what.offsets}
    assert {100} == starts
    assert {} == stayed.ledger.by_cause()


def test_a_group_is_reset_only_while_it_has_no_members():
    """Then the act is the root of every repeat; else it is refused, and the run proves nothing."""
    run, refused = played("offsets-reset"), played("offsets-reset", "act[reset_offsets-1].at=4min")

    assert {"reset_offsets-1"} == {entry.root.id for entry in run.ledger.entries}
    assert [Law.ACT_REFUSED] == [finding.law for finding in refused.findings]
    assert not refused.ledger.entries
    assert run.conclusive
    assert not refused.conclusive


def test_a_deleted_group_loses_what_came_while_it_was_away():
    """With earliest it repeats all instead; the act is the root of both."""
    lost = played("offsets-deleted")
    again = played("offsets-deleted", "group[billing].settings[auto.offset.reset]=earliest")

    assert {"delete_group-1"} == {entry.root.id for entry in lost.ledger.entries}
    assert {Cause.DELETED} == {Cause(cause) for cause in again.ledger.by_cause()}
