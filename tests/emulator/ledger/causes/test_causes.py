"""A smallest scenario for every cause: it yields that cause and nothing else."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

import emulator
from emulator.ledger.entries import Cause, EntryKind
from emulator.playing import Run

FILES = {Cause[path.stem.upper()]: path for path in sorted(Path(__file__).parent.glob("*.toml"))}

NOT_PRODUCED = {
    Cause.SOUGHT: "no policy of an application seeks",
}
"""Causes that no scenario can produce, and why not."""

LOSSES = {
    Cause.RESET_TO_LATEST,
    Cause.RESET_BY_DURATION,
    Cause.RETENTION,
    Cause.OLD_TOPIC,
    Cause.COMMITTED_AHEAD,
    Cause.TRUNCATED,
    Cause.DISCARDED,
    Cause.SKIPPED,
}
GONE = {Cause.LEADER_ALONE}


@pytest.fixture(scope="module", params=FILES, ids=lambda cause: cause.name.lower())
def cause(request: pytest.FixtureRequest) -> Cause:
    """Return each cause that has a scenario, with all tests of a cause in a row."""
    return request.param


@lru_cache(maxsize=1)
def played(cause: Cause, seed: int) -> Run:
    """Play the scenario of a cause."""
    return emulator.run(emulator.load(FILES[cause]), seed)


def kind_of(cause):
    """Return the kind of the entries that have a cause."""
    if cause in GONE:
        return EntryKind.TRUNCATED
    return EntryKind.LOST if cause in LOSSES else EntryKind.REPROCESSED


def test_each_cause_has_a_scenario_or_a_reason_why_not():
    """A new cause without a scenario fails here."""
    assert set(Cause) == set(FILES) | set(NOT_PRODUCED)
    assert set() == set(FILES) & set(NOT_PRODUCED)


@pytest.mark.parametrize(
    "seed",
    [
        0,
        pytest.param(1, marks=pytest.mark.long),
        pytest.param(2, marks=(pytest.mark.long, pytest.mark.soak)),
    ],
)
def test_a_cause_comes_alone(cause, seed):
    """The scenario named after a cause has that cause in its ledger, and no other."""
    ledger = played(cause, seed).ledger

    ledger.check()
    kind = kind_of(cause)
    others = {EntryKind.REPROCESSED, EntryKind.LOST} - {kind}

    assert [cause] == [Cause(name) for name in ledger.by_cause(kind)]
    assert 0 < ledger.total(kind)
    assert {0} == {ledger.total(other) for other in others}


def test_unreplicated_commits_are_lost_by_an_unclean_election():
    """Acknowledged commits; unacknowledged ones are lost without one as well."""
    run = played(Cause.NOT_REPLICATED, 0)

    assert {"unclean election"} == {entry.detail for entry in run.ledger.entries}


def test_every_entry_names_its_root_and_shows_its_chain(cause):
    """From the fault, act or record at its root, in order of time, to the second start."""
    run = played(cause, 0)

    for entry in run.ledger.of(EntryKind.REPROCESSED):
        assert entry.first_owner.at_us <= entry.second_owner.at_us
    for entry in run.ledger.entries:
        if entry.cause is None:
            continue
        times = [link.at_us for link in entry.chain]

        assert entry.root is not None
        assert sorted(times) == times
        assert entry.root.event in [link.event for link in entry.chain]
