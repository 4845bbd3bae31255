"""Runs of groups that change their protocol, against a count of every single message (law 7)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from ..modes.test_folding import hold_equal
from .migrating_worlds import MIGRATING
from .test_brute_force import hold_against_count, hold_laws, play, seeds, unhurried


@settings(unhurried, max_examples=3)
@given(document=MIGRATING, seed=seeds)
def test_whatever_happens_on_the_way_the_ledger_counts_every_message(document, seed):
    """Repeats and losses by record are those of a count by hand, and no law is broken."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.long
@pytest.mark.soak
@settings(unhurried, max_examples=6)
@given(document=MIGRATING, seed=seeds)
def test_the_ledger_counts_every_message_on_the_way_for_long(document, seed):
    """The same for more runs."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.long
@settings(unhurried, max_examples=5)
@given(document=MIGRATING, seed=seeds)
def test_folding_changes_no_event_on_the_way(document, seed):
    """Machines assert their invariants meanwhile."""
    hold_equal(document, seed)
