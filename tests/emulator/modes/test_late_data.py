"""Ledger, metrics and reports do not depend on when the events of ordinary work are written.

A run's events are written anew (:mod:`tests.emulator.modes.late_events`), and everything that comes of
them is compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest

import emulator
from emulator import events as ev
from emulator.loading import load_named
from emulator.metrics.metrics import Measurement
from emulator.playing import Run, is_mistaken, own_meters, replaced_groups, shared_assignors
from emulator.report.group_state import Describer
from emulator.report.pages.history import Historian
from emulator.report.run_document import run_document
from emulator.report.screens.run import run_screen
from emulator.report.timeline import Timeline
from emulator.scenario import catalogue
from emulator.subjects import finished_run
from emulator.verdicts.facts_meter import FactsMeter
from emulator.verdicts.findings import verdicts_of

from .late_events import Rewriter

GAPS = ev.OffsetGaps | ev.RecordsCompacted
"""Events after which some offsets hold no record."""

SCENARIOS = {
    "coordinator-broker-dies",
    "coordinator-goes-on-alone",
    "d3-older-commit-wins",
    "eager-repeats-kept",
    "k1-instance-id-reused",
    "kip848-commit-ahead",
    "kip848-member-crashes",
    "l1-zombie-after-pause",
    "member-crashes",
    "offsets-expire",
    "offsets-deleted",
    "unclean-election-drops-commits",
}

TOO_LONG = {"i2-weekend-down", "slow-load-after-a-year"}
"""Their runs take more than ten seconds."""


@cache
def played(name: str) -> Run:
    return emulator.run(emulator.loads(catalogue.read(name)))


def reported(name: str, run: Run, events: Iterable[ev.Event]) -> dict:
    """Return all that a run prints, computed from other events than its own."""
    shared = shared_assignors(run.scenario)
    measurement = Measurement(shared, replaced_groups(run.scenario), own_meters(run.scenario))
    timeline, describer = Timeline(), Describer()
    historian, facts = Historian(), FactsMeter()
    followers = (measurement, timeline, describer, historian, facts)
    for event in events:
        for follower in followers:
            follower.feed(event)
    measured = measurement.close(mistaken_policy=bool(shared) or is_mistaken(run.scenario))
    verdicts = verdicts_of(measured.ledger, measured.metrics, facts.close())
    again = replace(
        run,
        ledger=measured.ledger,
        metrics=measured.metrics,
        findings=measured.findings,
        verdicts=verdicts,
    )
    loaded = load_named(name, (), allow_large=True, runs=1)
    report = finished_run(loaded, again, timeline, describer.groups)
    return {
        "ledger": measured.ledger,
        "metrics": measured.metrics,
        "findings": measured.findings,
        "verdicts": verdicts,
        "screen": list(run_screen(report)),
        "document": run_document({}, report, None),
        "history": historian.close(),
    }


@cache
def reported_on_time(name: str) -> dict:
    return reported(name, played(name), played(name).events)


def each_scenario() -> list:
    """Return the names of the catalogue; of most, the test is a long one."""
    return [
        name if name in SCENARIOS else pytest.param(name, marks=pytest.mark.long)
        for name in catalogue.names()
        if name not in TOO_LONG
    ]


@pytest.mark.plain_of(12)
@pytest.mark.one_of(9)
@pytest.mark.parametrize("counted", [False, True], ids=["late", "counted"])
@pytest.mark.parametrize("name", each_scenario())
def test_results_do_not_depend_on_when_ordinary_work_is_written(name, counted):
    """The same ledger, with the times of all owners, metrics, findings and reports."""
    run = played(name)
    if counted and any(group.handler for group in run.scenario.group):
        pytest.skip("what workers finish is written one by one: no sum stands for it")
    if counted and any(isinstance(event.what, GAPS) for event in run.events):
        pytest.skip("work on offsets of which some hold no record is written one by one")
    if any(group.monitor for group in run.scenario.group):
        pytest.skip("monitors see each commit at its time: none is written late")
    again = Rewriter(run.events, counted=counted)
    expected, found = reported_on_time(name), reported(name, run, again.written)

    assert run.ledger == expected["ledger"]
    for what, value in expected.items():
        assert value == found[what], what
    if name in SCENARIOS:
        assert again.dropped > 0 if counted else again.delayed > 0
