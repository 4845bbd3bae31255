"""The result of a run."""

from __future__ import annotations

import emulator
from emulator.scenario.load import loads

SMALL = """
title = "small"
run_for = "20s"
topic = [{ name = "orders", partitions = 2, rate = "5/s" }]
group = [{ id = "billing", topics = ["orders"], members = 1 }]
"""


def test_a_run_shows_as_one_line():
    """Title, seed, totals and digest; not the thousands of events it holds."""
    run = emulator.run(loads(SMALL, "small.toml"), 3)

    assert (
        f"<Run of 'small', seed 3: reprocessed=0, lost=0, events={len(run.events)}, "
        f"digest={run.digest}>" == repr(run)
    )
