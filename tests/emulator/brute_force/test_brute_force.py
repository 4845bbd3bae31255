"""Runs of the whole world against a count of every single message (law 7)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator.ledger.entries import EntryKind
from emulator.metrics.laws import Severity
from emulator.playing import Run
from emulator.scenario.load import scenario_of
from emulator.scenario.part import ScenarioSource

from .counting import Count
from .truncated_worlds import TRUNCATED
from .worlds import DISTURBED, QUIET


def tidy(value: object) -> object:
    """Return plain values with tuples for lists, as a read file has them."""
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    return tuple(map(tidy, value)) if isinstance(value, list) else value


def play(document: dict, seed: int) -> Run:
    """Play a scenario given as plain values."""
    scenario = scenario_of(tidy(document), ScenarioSource("random", None))
    return emulator.run(scenario, seed, polls=True)


def hold_against_count(run: Run) -> None:
    """Compare the ledger with the count, partition by partition and record by record."""
    count, ledger = Count(run), run.ledger
    written = {kind: Counter() for kind in EntryKind}
    for entry in ledger.entries:
        for record in range(entry.first, entry.last + 1):
            written[entry.kind][entry.topic_partition, entry.log_incarnation, record] += 1
    lost = count.lost()

    ledger.check()
    assert count.repeated() == written[EntryKind.REPROCESSED]
    assert lost == written[EntryKind.LOST]
    assert count.truncated() == written[EntryKind.TRUNCATED]
    assert count.repeated().total() == ledger.reprocessed
    assert lost.total() == ledger.lost
    assert sum(ledger.by_cause().values()) == ledger.reprocessed + ledger.lost
    assert count.unread(lost) == ledger.in_hand + ledger.backlog


def hold_laws(run: Run) -> None:
    """Assert that no law is broken."""
    assert [] == [finding for finding in run.findings if finding.severity is Severity.ERROR]


seeds = st.integers(0, 1 << 30)
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(unhurried, max_examples=6)
@given(document=DISTURBED, seed=seeds)
def test_whatever_happens_the_ledger_counts_every_message(document, seed):
    """Repeats and losses by record, and what is unread, are those of a count by hand."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@settings(unhurried, max_examples=4)
@given(document=TRUNCATED, seed=seeds)
def test_records_with_the_same_offset_are_counted_apart(document, seed):
    """Where logs lose their end, what was there and what came instead are counted by record."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.long
@settings(unhurried, max_examples=6)
@given(document=QUIET, seed=seeds)
def test_where_nothing_happens_the_ledger_is_empty(document, seed):
    """Without fault, act or mistaken policy nothing is repeated and nothing is lost (law 7)."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
    assert (0, 0, 0) == (run.ledger.reprocessed, run.ledger.lost, run.ledger.partial)


@pytest.mark.long
@pytest.mark.soak
@settings(unhurried, max_examples=15)
@given(document=DISTURBED, seed=seeds)
def test_the_ledger_counts_every_message_for_long(document, seed):
    """The same for many more runs."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=15)
@given(document=QUIET, seed=seeds)
def test_quiet_runs_have_empty_ledgers_for_long(document, seed):
    """The same for many more runs."""
    run = play(document, seed)

    assert (0, 0) == (run.ledger.reprocessed, run.ledger.lost)
    hold_laws(run)


@pytest.mark.soak
@pytest.mark.long
@settings(unhurried, max_examples=15)
@given(document=TRUNCATED, seed=seeds)
def test_records_with_the_same_offset_are_counted_apart_for_long(document, seed):
    """The same for many more runs."""
    run = play(document, seed)

    hold_against_count(run)
    hold_laws(run)
