"""A smallest scenario for every cause: it yields that cause and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import emulator
from emulator.ledger.entries import Cause, EntryKind

FILES = {Cause[path.stem.upper()]: path for path in sorted(Path(__file__).parent.glob("*.toml"))}

NOT_PRODUCED = {
    Cause.SOUGHT: "no policy of an application seeks",
}
"""Causes that no scenario can bring about, and why not."""

LOSSES = {
    Cause.RESET_TO_LATEST,
    Cause.RESET_BY_DURATION,
    Cause.RETENTION,
    Cause.COMMITTED_AHEAD,
    Cause.TRUNCATED,
    Cause.DISCARDED,
    Cause.SKIPPED,
}
GONE = {Cause.LEADER_ALONE}


def kind_of(cause):
    """Return what a cause is a cause of."""
    if cause in GONE:
        return EntryKind.TRUNCATED
    return EntryKind.LOST if cause in LOSSES else EntryKind.REPROCESSED


def test_each_cause_has_a_scenario_or_a_reason_why_not():
    """Nobody can add a cause and forget to show it."""
    assert set(Cause) == set(FILES) | set(NOT_PRODUCED)
    assert set() == set(FILES) & set(NOT_PRODUCED)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
@pytest.mark.parametrize("cause", FILES, ids=lambda cause: cause.name.lower())
def test_a_cause_comes_alone(cause, seed):
    """The scenario called after a cause has that cause in its ledger, and no other."""
    run = emulator.run(emulator.load(FILES[cause]), seed, keep_events=False)
    ledger = run.ledger

    ledger.check()
    kind = kind_of(cause)
    others = {EntryKind.REPROCESSED, EntryKind.LOST} - {kind}

    assert [cause] == [Cause(name) for name in ledger.by_cause(kind)]
    assert 0 < ledger.total(kind)
    assert {0} == {ledger.total(other) for other in others}


def test_what_is_not_replicated_was_dropped_by_an_unclean_election():
    """Commits that had been acknowledged; those that had not are lost without one as well."""
    run = emulator.run(emulator.load(FILES[Cause.NOT_REPLICATED]), 0, keep_events=False)

    assert {"unclean election"} == {entry.detail for entry in run.ledger.entries}


@pytest.mark.parametrize("cause", FILES, ids=lambda cause: cause.name.lower())
def test_every_entry_names_its_root_and_shows_its_chain(cause):
    """From the fault, act or record that began it, in order of time, to where it began anew."""
    run = emulator.run(emulator.load(FILES[cause]), 0)

    for entry in run.ledger.of(EntryKind.REPROCESSED):
        assert entry.first_owner.at_us <= entry.second_owner.at_us
    for entry in run.ledger.entries:
        if entry.cause is None:
            continue
        times = [link.at_us for link in entry.chain]

        assert entry.root is not None
        assert sorted(times) == times
        assert entry.root.event in [link.event for link in entry.chain]
