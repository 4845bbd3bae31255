"""Advice for retries that wait in the poll loop."""

from __future__ import annotations

import pytest

import emulator


@pytest.mark.long
def test_paused_retries_let_the_group_pass_the_record():
    name = "c4-retries-block-the-poll-loop"
    (proposed,) = [c for c in emulator.advise(name, seeds=1).changes if c.id == "pause-retries"]
    metrics = emulator.run(emulator.load(name, overrides=proposed.overrides), 0).metrics

    assert metrics["drop_outs"] == metrics["reprocessed"] == metrics["lost"] == 0


@pytest.mark.parametrize(
    "name", ["record-skipped", pytest.param("spring-kept-commits", marks=pytest.mark.long)]
)
def test_records_in_a_dead_letter_topic_are_not_lost(name):
    (proposed,) = [c for c in emulator.advise(name, seeds=1).changes if c.id == "forward-failed"]
    before, after = (
        emulator.run(emulator.load(name, overrides=overrides), 0).metrics
        for overrides in ((), proposed.overrides)
    )

    assert before["lost"] == after["forwarded"] > 0
    assert after["lost"] == 0
