"""Runs of groups of the consumer protocol against a count of every single message (law 7)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from .consumer_worlds import DISTURBED_BY_EPOCHS, QUIET_BY_EPOCHS
from .test_brute_force import hold_against_count, hold_laws, play, seeds, unhurried


@settings(unhurried, max_examples=4)
@given(document=DISTURBED_BY_EPOCHS, seed=seeds)
def test_whatever_happens_the_ledger_counts_every_message(document, seed):
    """Repeats and losses by record are those of a count by hand, and no law is broken."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@settings(unhurried, max_examples=4)
@given(document=QUIET_BY_EPOCHS, seed=seeds)
def test_where_nothing_happens_nothing_is_lost(document, seed):
    """Repeats while a group forms come from its policy: partitions move as members join."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
    assert (0, 0) == (run.ledger.lost, run.ledger.partial)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=25)
@given(document=DISTURBED_BY_EPOCHS, seed=seeds)
def test_the_ledger_counts_every_message_for_long(document, seed):
    """The same for many more runs."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
