"""One log in many forms: the same ledger."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.logs.audit.passes import Audited, InProcess, Terms, audit
from emulator.logs.audit.reading import find_files, open_source

from .logs import EPOCH, SECOND, Row, audited, records, write

ROWS = [*records(0, 30, "m1", 0), *records(20, 50, "m2", 100), *records(0, 9, "m1", 0, partition=3)]


def as_dicts(**spelled) -> list[dict]:
    """Return the rows as a log of single records has them, with times spelled in some way."""
    spell = spelled.get("time", lambda at: at)
    return [
        {
            "topic": row.topic,
            "partition": row.partition,
            "offset": row.lo,
            "consumer": row.consumer,
            "start": spell(row.start),
            "end": spell(row.end),
        }
        for row in ROWS
    ]


def iso(at_us: int) -> str:
    """Spell a time as ISO 8601."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at_us)).isoformat()


@pytest.fixture
def expected(tmp_path) -> Audited:
    """Return the ledger of the rows as ranges of one record."""
    return audited(write(tmp_path / "ranges.parquet", ROWS))


@pytest.mark.parametrize("spell", [lambda at: at, iso, lambda at: at // 1000])
@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_a_format_and_a_spelling_of_times_change_nothing(tmp_path, expected, ending, spell):
    """Epoch microseconds, milliseconds and ISO 8601, in each format."""
    rows, path = as_dicts(time=spell), tmp_path / f"log.{ending}"
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif ending == "csv":
        body = "".join(",".join(map(str, row.values())) + "\n" for row in rows)
        path.write_text(",".join(rows[0]) + "\n" + body)
    else:
        path.write_bytes(gzip.compress(lines.encode()) if ending.endswith("gz") else lines.encode())

    assert expected == audited(path)


def test_a_folder_is_one_log(tmp_path, expected):
    """Files of a folder, each of one consumer, in any depth."""
    for number, consumer in enumerate(("m1", "m2")):
        folder = tmp_path / "logs" / f"{number}"
        folder.mkdir(parents=True)
        write(folder / "log.parquet", [row for row in ROWS if row.consumer == consumer])
    (tmp_path / "logs" / "_SUCCESS").write_text("")

    assert expected == audited(tmp_path / "logs")


def test_columns_can_have_any_names(tmp_path, expected):
    """--column maps them; a range may have its last offset."""
    table = pa.table(
        {
            "t": [row.topic for row in ROWS],
            "p": [str(row.partition) for row in ROWS],
            "from": [row.lo for row in ROWS],
            "upto": [row.hi - 1 for row in ROWS],
            "who": [row.consumer for row in ROWS],
            "b": pa.array([row.start for row in ROWS], pa.timestamp("us", "UTC")),
            "e": pa.array([row.end for row in ROWS], pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, tmp_path / "log.parquet")
    wanted = {
        "topic": "t",
        "partition": "p",
        "lo": "from",
        "last": "upto",
        "consumer": "who",
        "start": "b",
        "end": "e",
    }
    source = open_source(find_files([tmp_path / "log.parquet"]), wanted, None)

    assert expected == audit(InProcess(source, Terms()), Terms())


def test_rows_after_the_cut_do_not_count(tmp_path):
    """Work that ended at the cut does."""
    path = write(tmp_path / "log.parquet", records(0, 10, "m1", 0))
    found = audited(path, terms=Terms(end_us=EPOCH + 4 * SECOND))

    assert (10, 5) == found.counts
    assert [5] == [part.processed for part in found.partitions]


def test_a_row_may_be_a_range_that_is_processed_again_in_part(tmp_path):
    """Its time is that of the whole row, the only one in the log."""
    rows = [
        Row("orders", 0, 0, 100, "m1", EPOCH, EPOCH + 10 * SECOND),
        Row("orders", 0, 90, 150, "m2", EPOCH + 20 * SECOND, EPOCH + 30 * SECOND),
    ]
    (part,) = audited(write(tmp_path / "log.parquet", rows)).partitions
    (again,) = part.again

    assert (160, 150, 10) == (part.processed, part.distinct, part.reprocessed)
    assert (90, 100, "m1", EPOCH + 10 * SECOND) == again[:4]
    assert ("m2", EPOCH + 30 * SECOND, EPOCH + 20 * SECOND, False) == again[4:]


def typed(**changed: pa.Array) -> pa.Table:
    """Return the rows as a table in which some columns are of another type."""
    return pa.table({**pa.Table.from_pylist(as_dicts()).to_pydict(), **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"offset": pa.array([Decimal(row.lo) for row in ROWS], pa.decimal128(20, 0))},
        {"offset": pa.array([f" {row.lo}" for row in ROWS]).dictionary_encode()},
        {"offset": pa.array([float(row.lo) for row in ROWS])},
        {"partition": pa.array([row.partition for row in ROWS]).dictionary_encode()},
        {"topic": pa.array([row.topic.encode() for row in ROWS])},
        {"topic": pa.array([row.topic for row in ROWS], pa.string_view())},
        {"consumer": pa.array([row.consumer for row in ROWS], pa.large_string())},
        {"end": pa.array([iso(row.end) for row in ROWS], pa.string_view())},
        {"end": pa.array([iso(row.end) for row in ROWS]).dictionary_encode()},
        {"end": pa.array([row.end for row in ROWS], pa.timestamp("us", "Europe/Berlin"))},
        {"meta": pa.array([{"topic": "another"} for _ in ROWS])},
    ],
)
def test_a_type_changes_nothing(tmp_path, expected, changed):
    """Decimals, floats, bytes, views, dictionaries and zones, as tools write them."""
    pq.write_table(typed(**changed), tmp_path / "log.parquet")

    assert expected == audited(tmp_path / "log.parquet")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_csv_is_of_any_country(tmp_path, expected, separator, begin, newline):
    """Whatever separates its fields and ends its lines, with a mark of its encoding or without."""
    lines = [separator.join(as_dicts()[0])]
    lines += [separator.join(map(str, row.values())) for row in as_dicts()]
    (tmp_path / "log.csv").write_text(begin + newline.join(lines) + newline, newline="")

    assert expected == audited(tmp_path / "log.csv")


def test_text_may_hold_whole_seconds_and_fractions(tmp_path):
    """The first row need not have a fraction."""
    lines = ["topic,partition,offset,consumer,end", "o,0,0,m,1700000000", "o,0,1,m,1700000000.5"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    (part,) = audited(tmp_path / "log.csv").partitions

    assert 2 == part.processed


def test_lives_of_one_consumer_are_separated(tmp_path):
    """By a column, if the name stays the same over a restart; without it the name is reused."""
    rows = [{**row, "consumer": "m", "life": row["consumer"][1:]} for row in as_dicts()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    source = open_source(find_files([tmp_path / "log.parquet"]), {"incarnation": "life"}, None)

    assert {("m.1", "m.2")} == owners_in(audit(InProcess(source, Terms()), Terms()))
    assert {("m", "m")} == owners_in(audited(tmp_path / "log.parquet"))


def owners_in(found: Audited) -> set[tuple[str | None, str | None]]:
    """Return who was first and who was second, of all that was processed again."""
    return {
        (each.first_owner, each.second_owner) for part in found.partitions for each in part.again
    }


@pytest.mark.parametrize("name", ["log.parquet", "log.csv"])
def test_a_path_may_be_relative_or_absolute(tmp_path, monkeypatch, expected, name):
    """The ledger is the same."""
    rows = as_dicts()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)

    for path in (Path(name), Path("..") / tmp_path.name / name, tmp_path / name):
        assert expected == audited(path)
