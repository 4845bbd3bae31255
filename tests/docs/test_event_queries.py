"""The queries of ``docs/reference/events.md`` run on the events of a run, and answer what the page says."""

from __future__ import annotations

import re

import pytest

import emulator
from docs.pages.events import events_page
from emulator.events.parquet import EventFile


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", events_page(), re.DOTALL)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    run = emulator.run(emulator.load("member-crashes"))
    with EventFile(folder / "events.parquet", {}) as file:
        for event in run.events:
            file.write(event)
    return folder, run


def test_the_queries_for_duckdb_answer(run, monkeypatch):
    """Who processed how much, how long rebalances lasted, a chain to its root, and the lag."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: queries not run")
    folder, played = run
    monkeypatch.chdir(folder)
    worked, rebalances, chain, lag = (duckdb.sql(query).fetchall() for query in blocks("sql"))

    assert played.ledger.processed == sum(records for _, records in worked)
    assert played.metrics["rebalances"] + 1 == len(rebalances)
    assert "FaultBegan" in [kind for _, kind in chain]
    assert played.metrics["lag_processed_peak"] == max(records for _, records in lag)


def test_the_query_for_polars_answers(run, monkeypatch, capsys):
    """One row for each partition."""
    pytest.importorskip("polars", reason="polars is not installed: query not run")
    monkeypatch.chdir(run[0])
    polars, events = blocks("python")
    exec(polars, {})

    assert "(6, 3)" in capsys.readouterr().out
    exec(events, {})
    assert capsys.readouterr().out.startswith("[")
