"""Advice for members without a common assignor."""

from __future__ import annotations

import pytest

import emulator


@pytest.mark.long
def test_the_old_assignor_stays_in_the_list_of_the_first_restart():
    name = "p6-second-bounce-first"
    advice = emulator.advise(name, seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == "assignor-in-two-steps"]
    after = emulator.run(emulator.load(name, overrides=proposed.overrides), 0).metrics

    assert proposed.overrides == (
        'act[one].settings[partition.assignment.strategy]=["range", "cooperative-sticky"]',
    )
    assert advice.run.metrics["member_hours"] < 0.17
    assert after["member_hours"] > 0.19
