"""Advice for consumers with workers: tried out, it removes what it is given for."""

from __future__ import annotations

import pytest

import emulator


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "change", "figure"),
    [
        pytest.param(
            *("workers-and-auto-commit", "commit-finished-offsets", "lost"), marks=pytest.mark.long
        ),
        ("e7-workers-commit-the-highest", "commit-finished-offsets", "lost"),
        ("e5-workers-and-a-join", "drain-workers", "reprocessed"),
    ],
)
def test_the_advice_for_workers_removes_what_it_is_given_for(name, change, figure):
    advice = emulator.advise(name, seeds=1)
    (proposed,) = [each for each in advice.changes if each.id == change]
    before, after = (
        emulator.run(emulator.load(name, overrides=overrides), 0).metrics[figure]
        for overrides in ((), proposed.overrides)
    )

    assert before > 0
    assert after == 0
