"""The page of an audit: entries over time, and for the events of a run also its owners."""

from __future__ import annotations

import json
import re

import emulator
from emulator.events.parquet import EventFile

from ...cli.commands import CRASH, rebalance


def processing_log(path):
    """Write a log in which a second consumer begins again below the end of the first."""
    rows = [
        {"topic": "orders", "partition": 0, "offset": offset, "consumer": name, "end": at + offset}
        for name, first, at in (("m1", 0, 1_795_258_000), ("m2", 30, 1_795_258_100))
        for offset in range(first, first + 40)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_entries_are_marks_that_link_to_their_details(tmp_path):
    """In the rows of their partitions, at the time of the second processing."""
    page = tmp_path / "audit.html"
    answer = rebalance("audit", processing_log(tmp_path / "log.jsonl"), "--html", page)
    content = page.read_text(encoding="utf-8")

    assert 0 == answer.status
    assert "80 records were processed: 10 reprocessed, 0 lost." in content
    assert 'href="#entry-D1"' in content
    assert '<details id="entry-D1"' in content
    assert "m2, 2026-11-21 10:48:50.000" in content
    assert set(re.findall(r'href="#([^"]+)"', content)) <= set(
        re.findall(r' id="([^"]+)"', content)
    )


def test_a_log_shows_who_worked_when(tmp_path):
    """With the time in which nobody did; a consumer has its colour from its first to its last record."""
    content = emulator.audit(processing_log(tmp_path / "log.jsonl")).page()

    assert "orders-0: m1, 2026-11-21 10:46:" in content
    assert "orders-0: m2, 2026-11-21 10:48:50.000 to " in content
    assert (
        "orders-0: nothing processed, 2026-11-21 10:47:19.000 to 2026-11-21 10:48:50.000" in content
    )
    assert "no owner" not in content


def test_consumers_at_once_are_crossed(tmp_path):
    """One that goes on while another one has begun."""
    rows = [
        {"topic": "orders", "partition": 0, "offset": offset, "consumer": name, "end": at + offset}
        for name, first, at in (("m1", 0, 1_795_258_000), ("m2", 30, 1_795_258_002))
        for offset in range(first, first + 40)
    ]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    content = emulator.audit(tmp_path / "log.jsonl").page()

    assert "orders-0: two owners, m1 and m2, " in content


def test_the_events_of_a_run_show_their_owners_too(tmp_path):
    """The same timeline as on the page of the run."""
    run = emulator.run(emulator.loads(CRASH))
    with EventFile(tmp_path / "events.parquet", {}) as file:
        for event in run.events:
            file.write(event)
    content = emulator.audit(tmp_path / "events.parquet").page()

    assert "Group billing" in content
    assert 'class="gap"' in content
    assert "crash billing-1" in content


def test_a_page_that_cannot_be_written_is_refused_first(tmp_path):
    """Before the rows are read."""
    log = processing_log(tmp_path / "log.jsonl")
    answer = rebalance("audit", log, "--html", tmp_path / "absent" / "page.html")

    assert (2, "") == (answer.status, answer.out)
    assert "there is no folder" in answer.err
