"""Text on a real Spark: cut or whole, at paths or addresses, its rows and refusals are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from emulator.logs.audit.passes import InProcess, Terms, audit
from emulator.logs.audit.reading import find_files, open_source
from emulator.logs.errors import AuditError
from emulator.spark.audit_files import parts_on
from emulator.spark.audit_ranges import OnSpark, open_table
from emulator.spark.audit_tables import SparkTable

from ..logs.audit.logs import audited, records

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROWS = [
    {"topic": row.topic, "partition": 0, "offset": row.lo, "consumer": 'm "1"', "end": row.end}
    | {"note": 'a\n"b",' if number % 9 == 0 else ""}
    for number, row in enumerate([*records(0, 90, "m1", 0), *records(70, 99, "m1", 100)])
]
NONE = Terms()


def as_csv(newline: str) -> str:
    """Return the rows as CSV with newlines and quotes in values."""

    def cell(value: object) -> str:
        return '"' + str(value).replace('"', '""') + '"'

    lines = [";".join(ROWS[0]), *(";".join(map(cell, row.values())) for row in ROWS)]
    return newline.join(lines)


@pytest.fixture(params=["log.csv", "log.jsonl"])
def log(request, tmp_path) -> Path:
    """Return a log of text; in a folder, as addresses often are."""
    path = tmp_path / f"logs.{request.param.partition('.')[2]}" / request.param
    path.parent.mkdir()
    text = "".join(f"{json.dumps(row)}\n" for row in ROWS)
    path.write_text(as_csv("\r\n") if path.suffix == ".csv" else text, newline="")
    return path


def test_text_is_read_alike_whole_and_cut_at_a_path_and_at_an_address(session, log):
    """Newlines in values, wherever a file is cut."""
    source, address = open_source(find_files([log]), {}, None), f"file://{log.parent}"
    table = SparkTable((address,), None, {}, None)
    expected = audited(log)

    assert 5 <= len(parts_on(session, source, 200))
    assert (119, 20) == (expected.counts.rows, expected.partitions[0].reprocessed)
    assert expected == audit(OnSpark(session, source, NONE, 200), NONE)
    assert expected == audit(OnSpark(session, open_table(session, table), NONE), NONE)


def refusal(engine: InProcess | OnSpark) -> str:
    """Return what is said of a log that cannot be used, from where its name ends."""
    with pytest.raises(AuditError) as refused:
        audit(engine, NONE)
    return str(refused.value).partition("/log.")[2]


def test_errors_of_text_are_reported_alike(session, log):
    """By its line, if it is known; JSON lines of a byte range have no numbers."""
    with log.open("a", newline="") as file:
        file.write("\r\norders;0;x;m;1;\r\n" if log.suffix == ".csv" else '{"offset": 9}\n')
    source, table = (
        open_source(find_files([log]), {}, None),
        SparkTable((str(log),), None, {}, None),
    )
    said = refusal(InProcess(source, NONE))
    at_an_address = refusal(OnSpark(session, open_table(session, table), NONE))

    assert ", line " in said
    assert said == refusal(OnSpark(session, source, NONE, 200))
    if log.suffix == ".csv":
        assert said == at_an_address
    else:
        assert said.rpartition(": ")[2] == at_an_address.rpartition(": ")[2]
        assert """, at '{"offset": 9}': """ in at_an_address
