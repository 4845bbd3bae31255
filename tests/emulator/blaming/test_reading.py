"""The logs of an incident as evidence, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import emulator
from emulator.blaming.hypotheses import happenings
from emulator.blaming.reading import Logs, read_logs
from emulator.blaming.symptoms import symptoms_of
from emulator.errors import EmulatorError
from emulator.events.parquet import table_of
from emulator.logs.offsets_log.writing import LogFolder

START_US = 1_777_888_800_000_000
"""2026-05-04 10:00 UTC."""

START_LINE = 'start = "2026-05-04T10:00:00Z"'

SCENARIO = """
title = "an incident"
run_for = "30s"
start = "2026-05-04T10:00:00Z"
[[topic]]
name = "orders"
partitions = 2
rate = "5/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 2
settings = { "session.timeout.ms" = "6s", "partition.assignment.strategy" = "range" }
[[fault]]
crash = "billing-1"
at = "15s"
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a processing log with a row for each record, and the offsets log of the same run."""
    folder = tmp_path_factory.mktemp("incident")
    with LogFolder(folder / "offsets") as log_files:
        run = emulator.run(emulator.loads(SCENARIO), seed=0, log_files=log_files)
    rows = [
        {
            "topic": "orders",
            "partition": event.what.partition.partition,
            "offset": offset,
            "consumer": f"{event.what.consumer}.1",
            "ended": START_US + event.at_us,
        }
        for event in run.events
        if isinstance(event.what, emulator.events.Processed)
        for offset in range(event.what.first, event.what.next_offset)
    ]
    processed = folder / "processed.jsonl"
    processed.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return processed, folder / "offsets"


def read(logs, **more):
    processed, offsets = logs
    return read_logs(Logs(processing=(processed,), offsets=(str(offsets),), **more))


def test_work_commits_and_generations_are_those_of_the_run(logs):
    """The number behind a consumer's name is that of its process."""
    evidence, setup = read(logs)

    assert {"billing-0", "billing-1"} == {done.consumer for done in evidence.work}
    assert all(done.next_offset == done.first + 1 for done in evidence.work)
    assert 2 <= len(evidence.generations_us)
    assert evidence.generations_us[-1] > START_US + 15_000_000, "after the session"
    assert {"billing-0", "billing-1"} == {each.consumer for each in evidence.joins}
    assert all(START_US < commit.at_us for commit in evidence.commits)
    assert 2 == sum(each.at_us < START_US + 10_000_000 for each in evidence.joins)
    assert ("billing", "classic", "range", 6_000, False) == (
        setup.group,
        setup.protocol,
        setup.assignor,
        setup.session_timeout_ms,
        setup.is_static,
    )


def test_only_the_chosen_time_is_explained(logs):
    evidence, _ = read(logs, begin_us=START_US + 10_000_000, end_us=START_US + 20_000_000)
    times = [done.ended_us - START_US for done in evidence.work]
    times += [commit.at_us - START_US for commit in evidence.commits]

    assert 10_000_000 <= min(times)
    assert max(times) <= 20_000_000


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"group": "biling"}, "group biling: not in the offsets log; did you mean billing?"),
        ({"begin_us": START_US + 3_600_000_000}, "no record was processed in that time"),
    ],
    ids=["another group", "another time"],
)
def test_what_cannot_be_explained_is_refused(logs, more, words):
    with pytest.raises(EmulatorError) as caught:
        read(logs, **more)

    assert words in str(caught.value)


def test_logs_of_other_times_are_refused(logs, tmp_path):
    """The clock of the processing log is a year behind."""
    processed, offsets = logs
    earlier = tmp_path / "processed.jsonl"
    rows = [json.loads(line) for line in processed.read_text().splitlines()]
    earlier.write_text(
        "\n".join(json.dumps(row | {"ended": row["ended"] - 31_536_000_000_000}) for row in rows)
    )

    with pytest.raises(EmulatorError, match="the logs are of different times") as caught:
        read((earlier, offsets))
    assert "2025-05-04 10:00" in str(caught.value)
    assert "2026-05-04 10:00" in str(caught.value)


def test_a_missing_log_is_named(logs):
    with pytest.raises(EmulatorError, match=r"nowhere\.jsonl: no such file or folder"):
        read((Path("nowhere.jsonl"), logs[1]))


def test_logs_in_the_wrong_order_are_said_to_be(logs):
    """The folder of segments has no processing log."""
    with pytest.raises(
        EmulatorError, match=r"no file in this folder .* processing log comes first"
    ):
        read((logs[1], logs[0]))


def test_an_unknown_extension_is_refused_without_an_option_that_blame_lacks(logs, tmp_path):
    """Only an audit can be given the format of its logs."""
    (tmp_path / "processed.log").write_text("{}")

    with pytest.raises(EmulatorError) as caught:
        read((tmp_path / "processed.log", logs[1]))
    assert "unknown file name extension; expected .parquet" in str(caught.value)
    assert "format" not in str(caught.value)


EXAMPLE = Path(emulator.__file__).parent / "conformance" / "example" / "crash-range-auto"


@pytest.mark.parametrize("where", ["run-22/m1.1.jsonl.gz", "run-22/meta.json", "run-22", ".", ".."])
def test_a_captured_run_is_recognised(logs, where):
    """Its command is named, for a file of it, the run and folders of runs."""
    with pytest.raises(EmulatorError, match=r"captured run.*: rebalance verify /.*example"):
        read(((EXAMPLE / where).resolve(), logs[1]))


@pytest.mark.parametrize("packed", [True, False])
def test_a_trace_without_its_run_is_recognised(logs, tmp_path, packed):
    """By its first line, with which a processing log does not begin."""
    trace = (EXAMPLE / "run-22" / "m1.1.jsonl.gz").read_bytes()
    path = tmp_path / ("trace.jsonl.gz" if packed else "trace.jsonl")
    path.write_bytes(trace if packed else gzip.decompress(trace))

    with pytest.raises(EmulatorError, match=r"a file of a captured run, no processing log"):
        read((path, logs[1]))


def test_member_ids_belong_to_who_processed_their_partitions(logs, tmp_path):
    """The processing log has names of hosts; the offsets log has other ones."""
    processed, offsets = logs
    renamed = tmp_path / "processed.jsonl"
    renamed.write_text(processed.read_text().replace("billing-", "host-"))
    evidence, _ = read((renamed, offsets))

    assert {"host-0", "host-1"} == {each.consumer for each in evidence.joins}


def test_client_ids_and_epochs_of_commits_are_read(logs):
    """In a run of the emulator the client id is the name of the member."""
    _, setup = read(logs)

    assert {"billing-0", "billing-1"} == set(setup.client_ids)
    assert setup.carries_epochs is True


def events_of(scenario, folder):
    """Return the file of events and the offsets log of a run with a restart in place of the crash."""
    scenario = emulator.loads(
        scenario.replace(
            '[[fault]]\ncrash = "billing-1"',
            '[[act]]\nclose = "billing-1"\nrestart_after = "300ms"',
        )
    )
    with LogFolder(folder / "offsets") as log_files:
        run = emulator.run(scenario, seed=0, log_files=log_files)
    start = scenario.start
    pq.write_table(table_of(run.events, start), folder / "processed.parquet")
    return folder / "processed.parquet", folder / "offsets"


def test_events_of_a_run_with_a_start_have_the_times_of_its_offsets_log(tmp_path):
    """Of the offsets log all times are times of day."""
    evidence, _ = read(events_of(SCENARIO, tmp_path))
    found = symptoms_of(evidence)

    assert START_US <= evidence.work[0].ended_us < START_US + 15_000_000
    assert abs(found.stops[0].stopped_us - START_US - 15_000_000) < 500_000


def test_a_quick_restart_is_found_in_the_events_of_a_run(tmp_path):
    """They have processed records as ranges up to a commit; the new member id has its exact time."""
    evidence, setup = read(events_of(SCENARIO.replace(START_LINE, ""), tmp_path))
    found = symptoms_of(evidence)
    (stop,) = found.stops

    assert "billing-1" == stop.consumer
    assert abs(stop.stopped_us - 15_000_000) < 500_000
    assert stop.resumed_us is not None
    assert stop.resumed_us - stop.stopped_us < 4_000_000
    assert {"restart", "crash and return"} <= {each.name for each in happenings(found, setup)}
