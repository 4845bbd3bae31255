"""The group of the failure matrix: three members with always full batches, in every policy."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import pytest

import emulator

from .shown import Shown

BATCH = 10
"""max.poll.records, and with a backlog the size of every batch."""

FETCH = 20
"""Records of one partition in a fetch."""

WORK_S = 0.01
TAU_S = BATCH * WORK_S
"""From poll to poll."""

INTERVAL_S = 1.0
EVERY = 25
"""Records between two commits of policy NT."""

SESSION_S, HEARTBEAT_S, POLL_INTERVAL_S, RHO_S = 6.0, 1.0, 10.0, 0.1
TRIP_S = 0.05
"""More than the few round trips of one step."""

AUTO_MOST = BATCH * ceil(INTERVAL_S / TAU_S)
"""b * ceil(I / tau): what policy A leaves uncommitted at most (section 6.1)."""

POLICIES = {
    "A": '"auto"',
    "SB": '"sync"',
    "SR": '"sync per record"',
    "SRX": '{ call = "sync", when = "record", arguments = false }',
    "AS": '"async"',
    "PRE": '"sync before"',
    "NT": f'{{ call = "sync", when = "every", records = {EVERY} }}',
}

MODES = {
    "eager": ("range", "false"),
    "cooperative": ("cooperative-sticky", "false"),
    "static": ("range", "true"),
}

_QUICK = {("A", "eager"), ("A", "cooperative"), ("SB", "eager"), ("PRE", "eager")}
"""Cells that are tried where time is short."""

_LONG = {("SB", "static"), ("SRX", "cooperative"), ("AS", "eager"), ("NT", "eager")}
"""Those of the long tests; SR and SRX commit with every record. The other cells are left to the soaks."""


def _cell(policy: str, mode: str):
    cell = (policy, mode)
    marks = [pytest.mark.long] * (cell not in _QUICK)
    marks += [pytest.mark.soak] * (cell not in _QUICK | _LONG)
    return pytest.param(*cell, marks=marks)


_MARKS = (
    pytest.mark.parametrize(
        ("policy", "mode"), [_cell(policy, mode) for policy in POLICIES for mode in MODES]
    ),
    pytest.mark.parametrize(
        "seed",
        [
            0,
            pytest.param(1, marks=(pytest.mark.long, pytest.mark.soak)),
            pytest.param(2, marks=(pytest.mark.long, pytest.mark.soak)),
        ],
    ),
)


def every_cell(test):
    """Run a test for every policy and mode; over more seeds, and all long ones, where there is time."""
    for mark in _MARKS:
        test = mark(test)
    return test


TEXT = """
title = "failure matrix"
run_for = "{run_for}"

[[topic]]
name = "t"
partitions = 6
backlog = 100000
record_size = "50KiB"               # so that a fetch holds twenty
leaders = [2, 3, 2, 3, 2, 3]

[[group]]
id = "g"
topics = ["t"]
members = 3
coordinator = 1
work = "10ms"
static = {static}
commit = {commit}

[group.settings]
"partition.assignment.strategy" = "{strategy}"
"auto.offset.reset" = "earliest"
"max.poll.records" = 10
"auto.commit.interval.ms" = "1s"
"session.timeout.ms" = "6s"
"heartbeat.interval.ms" = "1s"
"max.poll.interval.ms" = "10s"

{faults}
"""


@lru_cache(maxsize=64)
def played(policy: str, mode: str, faults: str, seed: int = 0, run_for: str = "18s") -> Shown:
    """Play one cell of the matrix; *faults*: tables of TOML."""
    strategy, static = MODES[mode]
    text = TEXT.format(
        run_for=run_for,
        static=static,
        commit=POLICIES[policy],
        strategy=strategy,
        faults=faults,
    )
    run = emulator.run(emulator.loads(text), seed, polls=True)
    run.ledger.check()
    return Shown(run)


def repeated(shown: Shown, consumers: set[str] | None = None) -> int:
    """Count what the ledger has as repeated, of what these consumers had processed first."""
    return sum(
        entry.count
        for entry in shown.run.ledger.entries
        if entry.kind == "reprocessed"
        and (consumers is None or entry.first_owner.consumer in consumers)
    )


def repeated_by_rule(shown: Shown) -> int:
    """Count what the two-epoch rule says: each epoch repeats what lies below its forerunner's end."""
    return sum(max(0, before.done - after.start) for before, after in shown.successors())


def skipped_by_rule(shown: Shown) -> int:
    """Count what the two-epoch rule says: each epoch passes over what lies above that end."""
    return sum(max(0, after.start - before.done) for before, after in shown.successors())
