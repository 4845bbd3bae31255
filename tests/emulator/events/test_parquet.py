"""Events as a Parquet file: flat columns, the rest as JSON, whole or not there."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from assignors.types import TopicPartition
from emulator.events import (
    CommitSent,
    EpochOpened,
    Event,
    PartlyProcessed,
    Processed,
    RunStarted,
    TopicCreated,
)
from emulator.events import parquet as tables
from emulator.events.parquet import EventFile

TP = TopicPartition("orders", 3)
WORK = Processed(
    consumer="m1",
    group="g",
    generation=2,
    partition=TP,
    first=10,
    next_offset=15,
    began_us=400,
)
EVENTS = [
    Event(0, 0, None, RunStarted(scenario="s", seed=1, kafka="4.4.0"), 0),
    Event(1, 5, None, TopicCreated(topic="orders", topic_id="x", log_starts=(0, 0)), 1),
    Event(None, 500, None, WORK, 2),
    Event(
        2,
        600,
        None,
        PartlyProcessed(consumer="m1", group="g", partition=TP, offset=15, began_us=5),
        3,
    ),
]


def rows(path):
    return pq.read_table(path).to_pylist()


def write(path, events=EVENTS, start=None):
    with EventFile(path, {"seed": "1"}, start) as file:
        for event in events:
            file.write(event)
    return path


def test_ranges_and_partitions_have_columns_of_their_own(tmp_path):
    """Queries need no JSON for the usual questions."""
    worked = rows(write(tmp_path / "e.parquet"))[2]

    rest = json.loads(worked.pop("rest"))
    assert {
        "row": 2,
        "id": None,
        "at_us": 500,
        "cause": None,
        "kind": "Processed",
        "consumer": "m1",
        "group": "g",
        "generation": 2,
        "topic": "orders",
        "partition": 3,
        "first": 10,
        "next": 15,
    } == worked
    assert {"began_us": 400} == rest


def test_fields_without_a_column_are_in_the_rest(tmp_path):
    """Nothing is lost on the way."""
    began, created, _, cut = rows(write(tmp_path / "e.parquet"))

    assert {"scenario": "s", "seed": 1, "kafka": "4.4.0"} == json.loads(began["rest"])
    assert ("orders", None) == (created["topic"], created["partition"])
    assert {"topic_id": "x", "log_starts": [0, 0]} == json.loads(created["rest"])
    assert (15, 16) == (cut["first"], cut["next"])


def test_other_fields_of_an_event_keep_their_names(tmp_path):
    """Offsets of a commit, or where an epoch opened."""
    opened = EpochOpened(
        consumer="m1", group="g", generation=2, partition=TP, offset=7, source="committed"
    )
    sent = CommitSent(
        consumer="m1",
        group="g",
        generation=2,
        commit="m1#1",
        kind="auto",
        offsets=((TP, 9),),
        processed=(9,),
    )
    one, other = rows(
        write(tmp_path / "e.parquet", [Event(0, 1, None, opened, 0), Event(None, 2, 0, sent, 1)])
    )

    assert {"offset": 7, "source": "committed", "why": ""} == json.loads(one["rest"])
    assert [[["orders", 3], 9]] == json.loads(other["rest"])["offsets"]


def test_a_run_with_a_start_has_clock_times(tmp_path):
    """In UTC, to the microsecond."""
    start = datetime(2026, 5, 4, 9, tzinfo=UTC)

    worked = rows(write(tmp_path / "e.parquet", start=start))[2]

    assert datetime(2026, 5, 4, 9, 0, 0, 500, tzinfo=UTC) == worked["clock"]


def test_rows_are_written_in_groups(tmp_path, monkeypatch):
    """No more than one group of them is held in memory."""
    monkeypatch.setattr(tables, "ROWS", 10)
    events = [Event(None, number, None, WORK, number) for number in range(25)]

    path = write(tmp_path / "e.parquet", events)

    assert 3 == pq.ParquetFile(path).metadata.num_row_groups
    assert list(range(25)) == [row["row"] for row in rows(path)]


def test_a_file_without_events_can_be_read(tmp_path):
    """It has its columns and its metadata."""
    table = pq.read_table(write(tmp_path / "e.parquet", []))

    assert 0 == table.num_rows
    assert b"1" == table.schema.metadata[b"seed"]


def test_after_an_error_nothing_is_left(tmp_path):
    """The old file of that name stays what it was."""
    path = write(tmp_path / "e.parquet", EVENTS[:1])

    def fail():
        with EventFile(path, {}) as file:
            file.write(EVENTS[1])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert [path] == list(tmp_path.iterdir())
    assert ["RunStarted"] == [row["kind"] for row in rows(path)]


def test_a_folder_that_is_not_there_is_an_error_at_once(tmp_path):
    """Before anything is played."""
    with pytest.raises(OSError, match="absent"):
        EventFile(tmp_path / "absent" / "e.parquet", {})
