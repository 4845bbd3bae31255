"""Metrics together: the catalogue, names, tables of the ledger."""

from __future__ import annotations

import json

import pytest

from docs.pages.metrics import metrics_page
from emulator import events as ev
from emulator.metrics.catalogue import TABLES, VALUES, is_metric
from emulator.metrics.listings import LISTINGS
from emulator.metrics.metrics import measure

from ..ledger.history import P0, P1, History


def crashed():
    history = History()
    history.topic()
    history.start("a", "b")
    history.stable()
    history.open("a")
    history.open("a", P1)
    history.work("a", 0, 50)
    history.work("a", 0, 20, P1)
    history.crash("a", 50)
    history.open("b")
    history.open("b", P1)
    history.work("b", 0, 60)
    history.work("b", 0, 20, P1)
    return history


def test_the_catalogue_lists_exactly_what_there_is():
    """Every value, table and listing has its line, and no line is idle."""
    metrics = measure(crashed().events).metrics

    assert [metric.name for metric in VALUES] == list(metrics.values)
    assert {metric.name for metric in TABLES} == set(metrics.tables)
    assert {metric.name for metric in LISTINGS} == set(metrics.listings)


def test_the_ledger_is_tabled_by_cause_partition_member_and_fault():
    """Each table sums to the total."""
    metrics = measure(crashed().events).metrics

    assert 70 == metrics["reprocessed"]
    assert {"orders-0": 50, "orders-1": 20} == metrics.tables["reprocessed.by_partition"]
    assert {"b": 70} == metrics.tables["reprocessed.by_member"]
    assert {"crash a": 70} == metrics.tables["reprocessed.by_fault"]
    assert {"crashed while uncommitted": 70} == metrics.tables["reprocessed.by_cause"]


def test_several_groups_are_named_with_their_partitions():
    """A partition alone does not say whose repeat it was."""
    history = crashed()
    for event in list(history.events):
        what = event.what
        if isinstance(what, ev.EpochOpened | ev.Processed):
            history.say(
                type(what)(
                    **{**ev.values_of(what), "group": "audit", "consumer": what.consumer * 2}
                )
            )
    tables = measure(history.events).metrics.tables

    assert "billing/orders-0" in tables["reprocessed.by_partition"]
    assert "audit/orders-1" in tables["downtime.by_partition"]


def test_an_entry_of_a_table_is_named_in_brackets():
    """A missing entry counts 0."""
    metrics = measure(crashed().events).metrics

    assert 70 == metrics["reprocessed.by_cause[crashed while uncommitted]"]
    assert 0 == metrics["reprocessed.by_cause[rewind]"]


def test_an_unknown_name_is_answered_with_the_nearest():
    """The error offers what was probably meant."""
    metrics = measure([]).metrics

    with pytest.raises(KeyError, match=r"no metric 'reproccessed'; did you mean reprocessed"):
        metrics["reproccessed"]
    assert not is_metric("reprocessed.by_cause")
    assert not is_metric("downtime")


def test_metrics_are_plain_values():
    """They go to JSON as they are."""
    plain = measure(crashed().events).metrics.as_dict()

    assert plain == json.loads(json.dumps(plain))


def test_the_documentation_has_a_line_for_each_name():
    """The page is printed from the catalogue."""
    page = metrics_page()

    assert all(f"| `{metric.name}` |" in page for metric in (*VALUES, *TABLES, *LISTINGS))


def test_an_empty_run_has_numbers_too():
    """Nothing happened: every value is zero."""
    metrics = measure([]).metrics

    assert {0} == set(metrics.values.values())
    assert {P0.topic} == {"orders"}
