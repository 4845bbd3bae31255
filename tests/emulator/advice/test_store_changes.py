"""Advice for groups whose offsets are outside Kafka: the run confirms it."""

from __future__ import annotations

import pytest

import emulator


@pytest.mark.long
def test_results_go_back_with_their_offsets():
    advice = emulator.advise("database-restored", seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == "restore-with-results"]
    after = emulator.run(emulator.load("database-restored", overrides=proposed.overrides), 0)

    assert proposed.overrides == ("act[restore].what=everything",)
    assert advice.run.metrics["reprocessed"] == after.metrics["results_undone"] == 240
    assert after.metrics["reprocessed"] == after.metrics["lost"] == 0


@pytest.mark.long
def test_a_database_that_compares_offsets_loses_no_results():
    loaded = emulator.load(
        "database-restored",
        overrides=("act[restore].what=everything", "database.fenced=false"),
    )
    advice = emulator.advise(loaded, seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == "fenced-database"]
    after = emulator.run(emulator.load("database-restored", overrides=proposed.overrides), 0)

    assert advice.run.metrics["lost"] == 240
    assert after.metrics["lost"] == 0
