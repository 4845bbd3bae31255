"""The page of an audit: entries over time, and for the events of a run also its owners."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow.parquet as pq

import emulator
from emulator.events.parquet import EventFile
from emulator.logs.audit.commits import Commits, Committed
from emulator.logs.audit.ledger import draw_up
from emulator.logs.audit.partitions import AffectedRange, PartitionLedger
from emulator.logs.audit.passes import Audited, Counts
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.sequence import sequence_of

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
    assert "billing-1 crashes" in content


def test_a_page_that_cannot_be_written_is_refused_first(tmp_path):
    """Before the rows are read."""
    log = processing_log(tmp_path / "log.jsonl")
    answer = rebalance("audit", log, "--html", tmp_path / "absent" / "page.html")

    assert (2, "") == (answer.status, answer.out)
    assert "there is no folder" in answer.err


def sequence(content, entry):
    """Return the lines of an entry's sequence, those of the evidence with an asterisk."""
    (details,) = re.findall(rf'<details id="entry-{entry}".*?</details>', content, re.DOTALL)
    lines = re.findall(
        r"<li(.*?)><time>\S+ ([\d:.]+)</time> <span>(.*?)(?: <b.*?)?</span>", details
    )
    return [f"{at}{' *' * ('evidence' in kind)} {text}" for kind, at, text in lines]


def test_an_entry_has_a_sequence_of_who_worked_when(tmp_path):
    """With the processings that make it an entry as evidence; the page says where more is known."""
    content = emulator.audit(processing_log(tmp_path / "log.jsonl")).page()

    assert sequence(content, "D1") == [
        "10:46:40.000 m1 works on orders-0 until 10:47:19.000",
        "10:47:10.000 * m1 has processed offset 30",
        "10:48:50.000 m2 works on orders-0 until 10:49:29.000",
        "10:48:50.000 * m2 has processed offset 30 again",
    ]
    assert "are in the offsets log of the group (--commits)" in content


def test_an_offsets_log_adds_commits_and_assignments(tmp_path):
    """Those between the two processings, and the next ones around: the evidence of the cause, too."""
    scenario = CRASH.replace('title = "', 'start = 2026-05-04T09:00:00Z\ntitle = "', 1)
    (tmp_path / "crash.toml").write_text(scenario)
    log = tmp_path / "log"
    events = tmp_path / "events.parquet"
    rebalance("run", tmp_path / "crash.toml", "--write-log", log, "--events", events)
    audited = emulator.audit(as_rows(events, tmp_path / "rows.jsonl"), commits=log)
    entry = audited.ledger.entries[0]
    lines = sequence(audited.page(), entry.id)
    before, *between, after = (line.partition(" * ")[2] for line in lines if " * " in line)
    name = f"{entry.topic}-{entry.partition}"

    assert "rebalance between" == entry.cause
    assert before == f"the group commits offset {entry.first} of {name}"
    assert between[0] == f"{entry.first_owner} has processed offset {entry.first}"
    assert all(line.startswith("billing assigns its partitions: gener") for line in between[1:])
    assert between[1:]
    assert after == f"{entry.second_owner} has processed offset {entry.first} again"
    assert any(f" works on {name} until " in line for line in lines)


def as_rows(events, path):
    """Write what a run's consumers processed as a log of their own: one row a range."""
    table = pq.read_table(events).to_pylist()
    rows = [
        {
            **{name: row[name] for name in ("topic", "partition", "first", "consumer")},
            "next": row["next"],
            "end": row["clock"].isoformat(),
        }
        for row in table
        if row["kind"] == "Processed"
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_the_events_of_a_run_explain_its_entries(tmp_path):
    """As rebalance explain does."""
    (tmp_path / "crash.toml").write_text(CRASH)
    events = tmp_path / "events.parquet"
    rebalance("run", tmp_path / "crash.toml", "--events", events)
    content = emulator.audit(events).page()
    (details,) = re.findall(r'<details id="entry-D1".*?</details>', content, re.DOTALL)

    assert "billing-1 crashes" in details
    assert "evidence" in details
    assert "billing is stable in generation" in details


def test_of_many_commits_a_sequence_shows_the_first_and_the_last():
    """And how many others there are; the evidence is always there."""
    times = np.arange(20) * 1_000_000 + 1_000_000
    commits = Commits.of(times, np.array([10] * 9 + [40] + [20] * 10))
    affected = AffectedRange(30, 35, "a", 1_500_000, "b", 18_600_000, 18_500_000)
    name = PartitionName("orders", 0)
    part = PartitionLedger(
        name=name,
        base=0,
        frontier=35,
        processed=40,
        distinct=35,
        reprocessed=5,
        lost=0,
        unread=0,
        again=(affected,),
        never=(),
    )
    log = Committed("billing", {name: commits})
    audited = Audited(partitions=(part,), counts=Counts(rows=40, late=0))
    (entry,) = draw_up(audited, log, "billing").entries
    lines = [(each.at_us // 1_000_000, each.text) for each in sequence_of(entry, part, log)]
    commits_shown = [at for at, text in lines if "commits offset" in text]

    assert "rewind" == entry.cause
    assert [1, 2, 3, 10, 17, 18, 19] == commits_shown
    assert (4, "12 further commits until 16.000 s") in lines
