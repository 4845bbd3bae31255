"""Which files are read, what they are called, and what is refused."""

from __future__ import annotations

import shutil

import pytest

from emulator.logs.imports.pieces import (
    is_empty,
    open_segment,
    segment_at,
    segments_of,
)
from emulator.logs.offsets_log.finding import LogFileError
from emulator.logs.remote_files import is_remote, needs_java

from .logs import batch, commit, segment_of, written

LATER = "00000000000000000005.log"


def broker_folder(folder):
    """Make a broker's data folder: two partitions of ours, one of another topic."""
    for partition in (12, 3):
        written(folder / f"__consumer_offsets-{partition}", batch(commit(), at=5), LATER)
        written(folder / f"__consumer_offsets-{partition}", batch(commit()))
    written(folder / "orders-0", b"something else")
    return folder


def named(folder, **_):
    """Return a folder as a path."""
    return str(folder)


def as_uri(folder):
    """Return a folder as a URI."""
    return folder.as_uri()


@pytest.mark.parametrize("spelt", [named, as_uri], ids=["a path", "a URI"])
def test_a_brokers_folder_is_read_log_by_log(spelt, tmp_path):
    """Only the offsets topic, in order of partitions and offsets."""
    found = segments_of([spelt(broker_folder(tmp_path))])

    names = [f"{partition:05}-{offset:020}" for partition in (3, 12) for offset in (0, 5)]
    assert names == [each.name for each in found]
    assert [3, 3, 12, 12] == [each.log_partition for each in found]
    assert all(each.size for each in found)
    with open_segment(found[0].path) as file:
        assert batch(commit()) == file.read()


@pytest.mark.parametrize("spelt", [named, as_uri], ids=["a path", "a URI"])
def test_one_file_is_a_log(spelt, tmp_path):
    """Compressed or not."""
    shutil.copy(segment_of(4), tmp_path)

    (only,) = segments_of([spelt(tmp_path / segment_of(4).name)])

    assert (4, f"00004-{0:020}", False) == (only.log_partition, only.name, is_empty(only))
    with open_segment(only.path) as file:
        assert segment_of(4).read_bytes() == file.read()


def test_a_pattern_that_no_shell_has_seen_is_looked_up(tmp_path):
    """As in quotes, or from a scheduler."""
    folder = broker_folder(tmp_path)

    found = segments_of([f"{folder}/__consumer_offsets-*/{LATER}"])

    assert [3, 12] == [each.log_partition for each in found]


def test_another_file_has_another_key(tmp_path):
    """The key identifies the files of an interrupted import."""
    path = written(tmp_path / "__consumer_offsets-1", b"")
    (before,) = segments_of([str(path)])
    path.write_bytes(batch(commit()))
    (after,) = segments_of([str(path)])

    assert before.name == after.name
    assert before.key != after.key


def test_a_log_without_a_partition_in_its_name_is_read_alone(tmp_path):
    """Its rows say -1."""
    path = written(tmp_path, batch(commit()), "copy.bin")

    assert [(-1, f"unnamed-{0:020}")] == [
        (each.log_partition, each.name) for each in segments_of([str(path)])
    ]


def refused(*sources):
    """Return why sources are refused."""
    with pytest.raises(LogFileError) as caught:
        segments_of([str(source) for source in sources])
    return str(caught.value)


def test_replicas_of_one_partition_are_refused(tmp_path):
    """All rows would be there twice."""
    for broker in ("a", "b"):
        written(tmp_path / broker / "__consumer_offsets-3", batch(commit()))

    assert "partition 3 of the topic is in" in refused(tmp_path / "a", tmp_path / "b")


def test_two_logs_without_names_are_refused(tmp_path):
    """Their rows could not be distinguished."""
    paths = [written(tmp_path, batch(commit()), name) for name in ("one.bin", "two.bin")]

    assert "__consumer_offsets-12" in refused(*paths)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("nowhere", "No such file or directory"),
        ("empty", "no segment in this folder"),
        ("no-*.log", "no file matches"),
        ("-", "segments to import are files or folders"),
        ("file:///nowhere/at/all", "no such file or folder"),
        ("what://is/that", "what"),
    ],
)
def test_other_paths_are_refused(source, reason, tmp_path, monkeypatch):
    """With the possible sources."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)

    assert reason in refused(source)


def test_an_empty_folder_behind_a_uri_is_refused(tmp_path):
    """As one on a path is."""
    assert "no segment in this folder" in refused(tmp_path.as_uri())


@pytest.mark.parametrize(
    ("source", "who"),
    [
        ("logs/__consumer_offsets-3", (False, None)),
        ("file:///logs", (False, None)),
        ("s3://bucket/logs", (True, False)),
        ("gs://bucket/logs", (True, False)),
        ("s3a://bucket/logs", (True, True)),
        ("hdfs://host:8020/logs", (True, True)),
        ("abfss://logs@account.dfs.core.windows.net/kafka", (True, True)),
    ],
)
def test_the_uri_decides_the_reader(source, who):
    """Remote files may need the file systems of Hadoop."""
    assert who == (is_remote(source), needs_java(source) if is_remote(source) else None)


def test_remote_segments_are_found_by_the_given_file_system(tmp_path):
    """Once, in order with those of this machine."""
    written(tmp_path / "__consumer_offsets-3", batch(commit()))
    asked = []

    def find(uri):
        asked.append(uri)
        return [segment_at(f"{uri}/__consumer_offsets-{n}/{LATER}", 9, "then") for n in (12, 2)]

    found = segments_of(["hdfs://host/logs", str(tmp_path), "hdfs://host/logs"], find)

    assert ["hdfs://host/logs"] * 2 == asked
    assert [(2, 9), (3, len(batch(commit()))), (12, 9)] == [
        (each.log_partition, each.size) for each in found
    ]


def test_the_same_file_twice_is_one_segment(tmp_path):
    """Also by its URI."""
    path = written(tmp_path / "__consumer_offsets-3", batch(commit()))

    assert 1 == len(segments_of([path.as_uri(), path.parent.as_uri()]))


def test_without_spark_files_that_need_it_are_named(tmp_path):
    """The user can leave them out."""
    del tmp_path

    assert "without Spark only s3:// and gs:// can be read" in refused("what://is/that")
    assert "Spark" not in refused("file:///nowhere/at/all")
