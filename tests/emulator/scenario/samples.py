"""Texts of scenario files that tests start from."""

from __future__ import annotations

import pytest

from emulator.scenario.load import loads
from emulator.scenario.model import Scenario
from emulator.scenario.problems import ScenarioError

SMALLEST = """
title = "one of three crashes"
run_for = "10min"

[[topic]]
name = "orders"
partitions = 6
rate = "20/s"                      # to each partition

[[group]]
id = "billing"                     # members billing-0, billing-1, billing-2
topics = ["orders"]
members = 3
work = "10ms"                      # a record
settings = { "partition.assignment.strategy" = "range", "session.timeout.ms" = 6000 }

[[fault]]
crash = "billing-1"
at = "5min"

[expect]
lost = 0
reprocessed = "<= 200"             # over seeds: "reprocessed.p95"
"""


def read(*changes: tuple[str, str], more: str = "") -> Scenario:
    """Load the smallest scenario with some of its text replaced, and more text at its end."""
    return loads(text(*changes, more=more), "test.toml")


def text(*changes: tuple[str, str], more: str = "") -> str:
    """Return the smallest scenario with some of its text replaced, and more text at its end."""
    changed = SMALLEST
    for old, new in changes:
        assert old in changed
        changed = changed.replace(old, new)
    return f"{changed}\n{more}"


def refusal(*changes: tuple[str, str], more: str = "") -> str:
    """Return what is said of the smallest scenario with some of its text replaced."""
    with pytest.raises(ScenarioError) as refused:
        loads(text(*changes, more=more), "orders.toml")
    return str(refused.value)
