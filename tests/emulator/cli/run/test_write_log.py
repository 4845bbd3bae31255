"""``rebalance run --write-log``: segments as a broker keeps them, whole or not there at all."""

from __future__ import annotations

import errno
import json
import signal

import pytest

from emulator.cli import main
from emulator.logs.offsets_log import writing
from emulator.logs.offsets_log.writing import LogFolder, SpoolFile
from protocols.offsets_topic import partition_for
from protocols.offsets_topic.records import decode
from protocols.offsets_topic.segments.reader import Gap, read_log

from ..commands import changed, rebalance, written

NAME = "00000000000000000000.log"
PARTITION = f"__consumer_offsets-{partition_for('billing')}"

ROLLING = changed(
    ('title = "one of two crashes"', 'title = "rolling"\nstart = 2026-05-04T09:00:00Z'),
    more="""
[cluster.settings]
"log.roll.ms" = "10s"
"log.cleaner.backoff.ms" = "5s"
""",
)


def run(folder, *more, text=None):
    path = written(folder) if text is None else written(folder, text)
    target = folder / "log"
    answer = rebalance("run", path, "--write-log", target, "--json", *more)
    assert 0 == answer.status, answer.err
    return target, answer.document


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def records_in(path):
    found = list(read_log(path.read_bytes()))
    assert [] == [each for each in found if isinstance(each, Gap)]
    return [record for each in found for record in each.records]


# -- what is written -----------------------------------------------------------------------------


def test_a_folder_a_partition_and_a_file_a_segment(tmp_path):
    """Under the names a broker gives them; nothing else is left."""
    target, _ = run(tmp_path)

    assert {f"{PARTITION}/{NAME}"} == files_in(target)
    assert {"log", "crash.toml"} == {path.name for path in tmp_path.iterdir()}


def test_the_written_log_has_the_appended_records(tmp_path):
    """As many bytes, as many records, of the counted types; each at its log offset."""
    target, document = run(tmp_path)
    path = target / PARTITION / NAME
    records = records_in(path)
    metrics = document["metrics"]

    assert metrics["log_bytes"] == metrics["log_size"] == path.stat().st_size
    assert list(range(metrics["log_records"])) == [record.offset for record in records]
    kinds = [type(decode(record.key, record.value).key).__name__ for record in records]
    for kind, count in metrics["tables"]["log_records.by_type"].items():
        assert count == kinds.count(f"{kind}Key")


def test_it_changes_nothing_of_the_run(tmp_path):
    """The same digest, with and without."""
    _, document = run(tmp_path, text=ROLLING)
    answer = rebalance("run", written(tmp_path, ROLLING), "--json")

    assert answer.document["digest"] == document["digest"]


def test_a_log_that_rolls_and_is_compacted_has_a_file_a_segment(tmp_path):
    """As large as the run says, with the wall clock's times."""
    target, document = run(tmp_path, text=ROLLING)
    metrics = document["metrics"]
    paths = sorted((target / PARTITION).iterdir())
    records = [record for path in paths for record in records_in(path)]

    assert metrics["log_compactions"] > 0
    assert metrics["log_segments"] == len(paths) > 1
    assert metrics["log_size"] == sum(path.stat().st_size for path in paths)
    assert metrics["log_size_records"] == len(records) < metrics["log_records"]
    assert all(1_777_885_200_000 <= record.timestamp < 1_777_885_240_000 for record in records)
    for path in paths[1:]:
        assert int(path.stem) <= records_in(path)[0].offset


def test_rebalance_log_reads_it_back_to_where_the_run_ended(tmp_path):
    """Without a word of complaint; the state is that of the group."""
    target, document = run(tmp_path)
    status, out, err = rebalance("log", target / PARTITION, "--state-only")
    group = json.loads(out)

    assert (0, "") == (status, err)
    assert ("billing", "Stable", 2) == (group["group"], group["state"], group["generation"])
    assert {"0", "1", "2", "3"} == set(group["offsets"]["orders"])
    assert 1 == len(group["members"])
    assert document["metrics"]["commits_accepted"] > 0


def test_records_before_the_run_are_only_counted(tmp_path):
    """The file is named for the log offset at which the run begins."""
    backlog = '[cluster]\nload_records = "1000/s"\noffsets_backlog_records = 1_000'
    target, _ = run(tmp_path, text=changed(more=backlog))

    assert {f"{PARTITION}/00000000000000001000.log"} == files_in(target)
    assert 1_000 == records_in(target / PARTITION / "00000000000000001000.log")[0].offset


def test_after_a_failover_it_is_the_log_of_the_new_leader(tmp_path):
    """Its batches have the new leader's epoch, and nothing is there twice."""
    fault = '[[fault]]\nmove_coordinator = "billing"\nat = "25s"'
    target, document = run(tmp_path, text=changed(more=fault))
    found = list(read_log((target / PARTITION / NAME).read_bytes()))
    epochs = [each.batch.header.partition_leader_epoch for each in found]
    offsets = [record.offset for each in found for record in each.records]

    assert [0, 1] == sorted(set(epochs))
    assert sorted(epochs) == epochs
    assert list(range(document["metrics"]["log_size_records"])) == offsets


# -- what is refused -----------------------------------------------------------------------------


def refused(tmp_path, target, *more):
    """Return why the folder cannot be written; nothing is played or left behind."""
    path = written(tmp_path)
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    status, out, err = rebalance("run", path, "--write-log", target, *more)
    assert (2, "") == (status, out)
    assert before == {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    assert [] == list(tmp_path.glob(".*"))
    return err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent/log", "there is no folder"),
        ("crash.toml", "it exists and is not a folder"),
        ("crash.toml/log", "there is no folder"),
        (".", "the folder is not empty"),
        ("l" * 250, "File name too long"),
        ("l" * 300, "File name too long"),
    ],
)
def test_a_folder_that_cannot_be_meant_or_made_is_refused(tmp_path, name, said):
    """Before the run, in one line."""
    err = refused(tmp_path, tmp_path / name)

    assert said in err
    assert 1 == err.count("\n")


def test_a_folder_with_something_in_it_is_not_replaced(tmp_path):
    """Also not one of an earlier run: brokers' folders look the same."""
    target, _ = run(tmp_path)

    assert "the folder is not empty" in refused(tmp_path, target)


def test_a_link_is_not_replaced(tmp_path):
    """Whatever it leads to."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")

    assert "it is a link" in refused(tmp_path, tmp_path / "link")


def test_an_empty_folder_is_taken(tmp_path):
    """People make one beforehand."""
    (tmp_path / "log").mkdir()
    target, _ = run(tmp_path)

    assert {f"{PARTITION}/{NAME}"} == files_in(target)


def test_many_runs_have_no_log(tmp_path):
    """One folder is of one run."""
    assert "--seeds" in refused(tmp_path, tmp_path / "log", "--seeds", 3)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path, monkeypatch):
    """Not half a log, and no traceback."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(SpoolFile, "add", full)

    assert "No space left on device" in refused(tmp_path, tmp_path / "log")


def test_a_terminated_process_leaves_nothing(tmp_path, monkeypatch):
    """Schedulers send SIGTERM: status 143, and no half-written folder."""
    path = written(tmp_path)
    add, batches = SpoolFile.add, []

    def terminate(spool, data):
        batches.append(data)
        if len(batches) == 10:
            signal.raise_signal(signal.SIGTERM)
        return add(spool, data)

    monkeypatch.setattr(SpoolFile, "add", terminate)
    before = signal.signal(signal.SIGTERM, main._terminate)
    try:
        answer = rebalance("run", path, "--write-log", tmp_path / "log")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (143, "", "") == answer
    assert [path] == list(tmp_path.iterdir())


def test_a_folder_that_fills_meanwhile_is_left_alone(tmp_path):
    """Files of others are not replaced, whenever they were written."""
    target = tmp_path / "log"
    with pytest.raises(OSError, match="not empty"), LogFolder(target):  # noqa: PT012  it is the end of the block that raises
        target.mkdir()
        (target / "notes").write_text("dear to somebody")

    assert "dear to somebody" == (target / "notes").read_text()
    assert [target] == list(tmp_path.iterdir())


def test_files_are_read_in_pieces(tmp_path):
    """However large a segment is, little of it is in memory."""
    with LogFolder(tmp_path / "log") as folder:
        spool = folder.spool(3)
        places = [spool.add(bytes([number]) * 10) for number in range(4)]
        assert b"\2" * 10 == spool.read(places[2], 10)
        places.append(spool.add(b"end"))
        folder.keep(3, [(0, (spool.read(place, 3) for place in places))])

    kept = (tmp_path / "log" / f"{writing.OFFSETS_TOPIC}-3" / NAME).read_bytes()
    assert b"".join(bytes([number]) * 3 for number in range(4)) + b"end" == kept
