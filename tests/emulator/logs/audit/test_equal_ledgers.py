"""The ledger of an emulated run, and an audit of its processing log: the same."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import emulator
from emulator.ledger import epochs
from emulator.ledger.entries import EntryKind, Ledger
from emulator.logs.audit.passes import Audited, Terms
from emulator.playing import Run
from emulator.scenario.catalogue import path_of
from emulator.scenario.load import scenario_of
from emulator.scenario.part import ScenarioSource

from ...brute_force.worlds import DISTURBED
from ...cli.commands import written
from .logs import audited, ends_of_run, lost_in, processings, repeats_in, rows_of_run, write

ALL_MARKS = 1 << 30
"""A run's ledger forgets times of progress by and by; not here, where times are compared."""


def tidy(value: object) -> object:
    """Return plain values with tuples for lists, as a read file has them."""
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    return tuple(map(tidy, value)) if isinstance(value, list) else value


def play(document: dict | str, seed: int) -> Run:
    """Play a scenario and remember when everything was done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(epochs, "RECENT", ALL_MARKS)
        if isinstance(document, str):
            return emulator.run(emulator.load(document), seed)
        return emulator.run(scenario_of(tidy(document), ScenarioSource("random", None)), seed)


def hold_against_run(run: Run) -> None:
    """Compare ranges, counts, who and when."""
    rows, ledger = rows_of_run(run.events), run.ledger
    if not rows:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "log.parquet", rows, row_group_size=20)
        found = audited(path, unit="us", terms=Terms(limits=_limits(run)))
    expected = Counter(
        {
            (entry.topic, entry.partition, offset, *_owners(entry)): 1
            for entry in ledger.of(EntryKind.REPROCESSED)
            for offset in range(entry.first, entry.last + 1)
        }
    )
    again = Counter(
        (entry.topic, entry.partition, offset)
        for entry in ledger.of(EntryKind.REPROCESSED)
        for offset in range(entry.first, entry.last + 1)
    )
    found_again = Counter()
    for (topic, partition, offset, _, _), times in repeats_in(found).items():
        found_again[topic, partition, offset] += times

    assert ledger.processed == sum(part.processed for part in found.partitions)
    assert ledger.distinct == sum(part.distinct for part in found.partitions)
    assert again == found_again
    assert expected.keys() == repeats_in(found).keys()
    hold_times(found, ledger)
    hold_losses(found, run)


def _owners(entry) -> tuple[str, str]:
    return entry.first_owner.consumer, entry.second_owner.consumer


def _limits(run: Run) -> dict:
    return ends_of_run(run.events)


def _lost_in_run(run: Run) -> set:
    return {
        (entry.topic, entry.partition, offset)
        for entry in run.ledger.of(EntryKind.LOST)
        for offset in range(entry.first, entry.last + 1)
    }


def hold_losses(found: Audited, run: Run) -> None:
    """Check that both miss the same lost records between processed ones.

    The audit misses more where a living owner is about to read them; a log does not show that.
    """
    between = {
        (*part.name, offset)
        for part in found.partitions
        for offset in range(part.base, part.frontier)
    }
    lost, missed = _lost_in_run(run), lost_in(found)

    assert lost & between <= missed
    assert len(missed - lost) <= run.ledger.in_hand + run.ledger.backlog


def hold_times(found: Audited, ledger: Ledger) -> None:
    """Each entry of the audit begins where one of the run does, with the same times.

    The run's ledger may have more: it knows causes that cut a range in two.
    """
    there = {
        (*entry.topic_partition, entry.first, *_owners(entry)): (
            entry.first_owner.at_us,
            entry.second_owner.at_us,
        )
        for entry in ledger.of(EntryKind.REPROCESSED)
    }
    for part in found.partitions:
        for each in part.again:
            key = (*part.name, each.first, each.first_owner, each.second_owner)
            assert there[key] == (each.first_us, each.second_us)


def hold_brute_force(run: Run) -> None:
    """The ledger is that of a count by record, too."""
    done = processings(rows_of_run(run.events))
    assert run.ledger.reprocessed == sum(len(each) - 1 for each in done.values())


def test_an_audit_of_a_crash_comes_to_its_ledger(tmp_path):
    """Repeats with who and when."""
    run = play(str(written(tmp_path)), 0)

    assert run.ledger.reprocessed
    hold_against_run(run)
    hold_brute_force(run)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["eager-repeats-kept", "l1-zombie-after-pause", "f3-commit-every-n"]
)
def test_an_audit_of_a_scenario_comes_to_its_ledger(name):
    """Of one consumer after itself, and of two at once."""
    run = play(str(path_of(name)), 0)

    hold_against_run(run)
    hold_brute_force(run)


unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(unhurried, max_examples=1)
@given(document=DISTURBED, seed=st.integers(0, 1 << 30))
def test_an_audit_of_any_run_comes_to_its_ledger(document, seed):
    """Whatever faults and acts there were."""
    hold_against_run(play(document, seed))


@pytest.mark.long
@pytest.mark.soak
@settings(unhurried, max_examples=8)
@given(document=DISTURBED, seed=st.integers(0, 1 << 30))
def test_an_audit_of_any_run_comes_to_its_ledger_for_long(document, seed):
    """The same for many runs."""
    hold_against_run(play(document, seed))
