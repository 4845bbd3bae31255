"""Advice for retries that wait in the poll loop."""

from __future__ import annotations

import emulator


def test_paused_retries_let_the_group_pass_the_record():
    name = "c4-retries-block-the-poll-loop"
    (proposed,) = [c for c in emulator.advise(name, seeds=1).changes if c.id == "pause-retries"]
    metrics = emulator.run(emulator.load(name, overrides=proposed.overrides), 0).metrics

    assert metrics["drop_outs"] == metrics["reprocessed"] == metrics["lost"] == 0
