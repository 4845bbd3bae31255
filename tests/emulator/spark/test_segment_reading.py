"""Segments behind a URI of Hadoop's: found, read and refused by Spark's own file systems."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from hashlib import shake_256
from importlib.util import find_spec
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from emulator.logs.imports.pieces import Selection, segments_of
from emulator.logs.imports.reading import Task, keep
from emulator.logs.offsets_log.finding import LogFileError
from emulator.spark import segment_finding, segment_reading
from emulator.spark import session as sessions
from emulator.spark.errors import SparkError
from emulator.spark.import_runs import read_on_spark
from emulator.spark.segment_finding import find_segments
from emulator.spark.segment_reading import SEPARATORS, as_file, by_file, lines_of

from ..cli.commands import rebalance
from ..logs.imports.logs import batch, bytes_of, commit, written
from .conftest import QUICK

pytestmark = pytest.mark.spark

SHORT_LINES = "3000"
MAX_LENGTH = "mapreduce.input.linerecordreader.line.maxlength"
ZEROS = bytes(4_000)
KINDS = [b"\n", b"\r\n", b"\0", b"\0" * 4, b"\0" * 64, b"\xff\xfe", b"a", b"\n\n"]
GZIPPED = f"{0:020}.log.gz"


@pytest.fixture(scope="session")
def folder(session, tmp_path_factory):
    """Make a folder that Spark alone reaches, as ``viewfs://segments/logs``.

    One for a process: Hadoop keeps the file system of a URI with the mount of its first use.
    """
    folder = tmp_path_factory.mktemp("far")
    link = "fs.viewfs.mounttable.segments.link./logs"
    session.spark.conf.set(link, folder.as_uri())
    for partition in (4, 11):
        written(folder / f"__consumer_offsets-{partition}", bytes_of(partition))
    sound = b"".join(batch(commit(offset=n), at=n) for n in range(20))
    written(folder / "__consumer_offsets-5", sound[:700] + b"spoilt" * 20 + sound[700:])
    written(folder / "__consumer_offsets-6", gzip.compress(sound)[:-30], GZIPPED)
    written(folder / "__consumer_offsets-7", sound + ZEROS)
    written(folder / "__consumer_offsets-8", b"")
    written(folder / "orders-0", b"another topic's")
    written(folder / "notes", b"a text", "notes.txt")
    return folder


LOGS = "viewfs://segments/logs"


def found_in(session, uri):
    """Return the segments that Spark finds."""
    return segments_of([uri], partial(find_segments, session))


def drawn(number, size):
    """Return bytes of no kind."""
    return shake_256(bytes([number])).digest(size)


@pytest.mark.parametrize(
    "separator",
    [SEPARATORS[0], *(pytest.param(each, marks=pytest.mark.long) for each in SEPARATORS[1:])],
    ids=["lines", "many zeros", "zeros"],
)
def test_any_bytes_come_out_as_they_went_in(session, folder, separator):
    """Spark's reader of lines changes nothing, but for the mark at the beginning of a text."""
    made = {f"{n:02}": b"".join(KINDS[each % 8] for each in drawn(n, n // 2)) for n in range(24)}
    made |= {"[odd] {name}*": drawn(99, 200_000), "all": bytes(range(256)) * 600}
    place = folder / f"fuzz-{len(separator)}"
    place.mkdir()
    for name, data in made.items():
        (place / name).write_bytes(data)
    paths = [f"{LOGS}/{place.name}/{name}" for name, data in made.items() if data]

    rows = lines_of(session, paths, separator).toArrow()

    assert rows.num_rows
    sizes = {f"{LOGS}/{place.name}/{name}": len(data) for name, data in made.items()}
    found = {
        Path(path).name: as_file(lines, separator, sizes[path]).read()
        for path, lines in by_file(iter(rows.to_batches()))
    }
    assert {name: data for name, data in made.items() if data} == found


def test_a_folder_is_found_as_a_path_to_it_is(session, folder):
    """Though Spark itself passes over names that begin with an underscore."""
    local = {Path(each.path).parent.name: each for each in segments_of([str(folder)])}
    far = {Path(each.path).parent.name: each for each in found_in(session, LOGS)}

    assert list(local) == list(far)
    assert [(each.name, each.size) for each in local.values()] == [
        (each.name, each.size) for each in far.values()
    ]


@pytest.mark.parametrize(
    ("uri", "partitions"),
    [
        (f"{LOGS}/__consumer_offsets-4/", [4]),
        (f"{LOGS}/__consumer_offsets-4/{0:020}.log", [4]),
        (f"{LOGS}/__consumer_offsets-6/{GZIPPED}", [6]),
        (f"{LOGS}/__consumer_offsets-[45]", [4, 5]),
        (f"{LOGS}/__consumer_offsets-*/*.log", [4, 5, 7, 8, 11]),
    ],
)
def test_folders_files_and_patterns_are_found(session, folder, uri, partitions):
    """As Hadoop reads patterns."""
    del folder

    assert partitions == [each.log_partition for each in found_in(session, uri)]


@pytest.mark.long
def test_rows_are_those_of_the_same_files_on_a_path(session, folder, tmp_path, monkeypatch):
    """Byte for byte; gaps are the same, with the URI. Gzip, damage and long zeros too."""
    monkeypatch.setitem(segment_reading.OPTIONS, MAX_LENGTH, SHORT_LINES)
    far, near = tmp_path / "far", tmp_path / "near"
    tasks = [Task(each, Selection()) for each in found_in(session, LOGS) if each.size]

    results = list(read_on_spark(session, tasks, far))

    local = [Task(each, Selection()) for each in segments_of([str(folder)]) if each.size]
    assert sorted(keep(task, near).name for task in local) == sorted(each.name for each in results)
    assert files_in(near, "commits", "groups") == files_in(far, "commits", "groups")
    assert gaps_in(near, str(folder)) == gaps_in(far, LOGS)


def files_in(folder, *tables):
    """Return the files of some tables."""
    paths = [path for table in tables for path in sorted((folder / table).glob("*"))]
    assert paths
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def gaps_in(folder, place):
    """Return all gaps, their files named as below *place*."""
    rows = [
        row
        for path in sorted((folder / "gaps").glob("*"))
        for row in pq.read_table(path).to_pylist()
    ]
    assert all(row["source"].startswith(place) for row in rows)
    return [{**row, "source": row["source"].removeprefix(place)} for row in rows]


def test_the_settings_of_the_session_are_as_before(session, folder, tmp_path):
    """The user's own partition size is kept."""
    del folder
    name = "spark.sql.files.maxPartitionBytes"
    before = session.spark.conf.get(name)
    (task,) = [
        Task(each, Selection()) for each in found_in(session, f"{LOGS}/__consumer_offsets-4")
    ]

    list(read_on_spark(session, [task], tmp_path))

    assert before == session.spark.conf.get(name)


@pytest.mark.long
def test_a_file_of_one_endless_line_is_refused(session, folder, tmp_path, monkeypatch):
    """Whatever it is; Java does not hold it."""
    monkeypatch.setitem(segment_reading.OPTIONS, MAX_LENGTH, SHORT_LINES)
    data = batch(commit()).replace(b"\n", b"\x0b") + b"x" * 9_000
    written(folder / "endless", data)
    tasks = [Task(each, Selection()) for each in found_in(session, f"{LOGS}/endless")]

    with pytest.raises(LogFileError, match="Spark cannot read it: more than 16 MiB"):
        list(read_on_spark(session, tasks, tmp_path))


def refused(session, uri):
    """Return why a URI is refused."""
    with pytest.raises(LogFileError) as caught:
        find_segments(session, uri)
    return str(caught.value)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        (f"{LOGS}/nowhere", "nowhere: no such file or folder"),
        (f"{LOGS}/nowhere/*.log", "no such file or folder"),
        (f"{LOGS}/note*", "none of the matching files is a segment"),
        ("viewfs://segments", "viewfs://segments: no segment in this folder; segments are files"),
        ("what://is/that", 'No FileSystem for scheme "what". Spark has no file system for this'),
        ("s3a://bucket/logs", "S3AFileSystem not found. Spark has no file system for this"),
        ("hdfs:///logs", "hdfs:///logs: cannot be read: IOException: Incomplete HDFS URI, no host"),
        ("viewfs://unknown/logs", "cannot be read: IOException: ViewFs: Cannot initialize"),
    ],
)
def test_missing_files_are_refused(session, folder, uri, reason):
    """In the file system's own words, in one line."""
    del folder

    results = refused(session, uri)

    assert reason in results
    assert "\n" not in results


def test_a_file_that_hadoop_would_inflate_is_refused(session, folder):
    """Its size would not be that of what comes."""
    written(folder / "packed", b"x", "a.log.zst")

    assert "a.log.zst: is compressed" in refused(session, f"{LOGS}/packed/a.log.zst")


def test_a_file_system_without_an_answer_is_reported(session, folder, monkeypatch):
    """After a timeout; the job is cancelled."""
    del folder
    monkeypatch.setattr(segment_finding, "PATIENCE_S", 0.0)

    with pytest.raises(SparkError, match="logs: no response from its file system within 0 s"):
        find_segments(session, LOGS)


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def this_session(session, monkeypatch):
    """Let commands use the session that there is."""
    monkeypatch.setattr(sessions, "open_session", lambda *_, **__: nullcontext(session))


@pytest.mark.long
@pytest.mark.usefixtures("this_session")
def test_a_uri_is_imported_by_spark(folder, tmp_path):
    """By default: only Spark can read it. The folder equals that of a path."""
    far = rebalance("import", f"{LOGS}/__consumer_offsets-[48]", "-o", tmp_path / "far")
    near = rebalance("import", folder / "__consumer_offsets-4", "-o", tmp_path / "near")

    assert (0, 0) == (far.status, near.status)
    assert "Read by: Spark on this machine's cores, through its own file systems" in far.out
    assert f"{LOGS}/__consumer_offsets-8/{0:020}.log: an empty segment" in far.out
    folders = ("commits", "groups", "gaps", "findings")
    assert files_in(tmp_path / "near", *folders) == files_in(tmp_path / "far", *folders)


@pytest.mark.usefixtures("this_session")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([f"{LOGS}/nowhere"], "nowhere: no such file or folder"),
        pytest.param(
            [f"{LOGS}/orders-0/{0:020}.log"],
            "orders-0/00000000000000000000.log: not a log: it contains no",
            marks=pytest.mark.long,
        ),
        ([LOGS, "--engine", "pool"], "without Spark only s3:// and gs:// can be read"),
        ([LOGS, "--from", "noon"], "--from noon: not a time"),
    ],
)
def test_sources_that_cannot_be_imported_are_refused(folder, tmp_path, arguments, reason):
    """With status 2, and nothing left where DIR would be."""
    del folder

    done = rebalance("import", *arguments, "-o", tmp_path / "imported")

    assert (2, "") == (done.status, done.out)
    assert reason in done.err
    assert not (tmp_path / "imported").exists()


@pytest.mark.soak
@pytest.mark.long
def test_spark_submit_imports_a_uri(tmp_path):
    """With the file systems that it was given, the same folder as from a path."""
    written(tmp_path / "__consumer_offsets-4", bytes_of(4))
    script = tmp_path / "play.py"
    script.write_text("from emulator.cli.main import main\nmain()\n")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.defaultJavaOptions": QUICK,
        "spark.hadoop.fs.viewfs.mounttable.segments.link./logs": tmp_path.as_uri(),
    }
    submit = Path(find_spec("pyspark").submodule_search_locations[0]) / "bin" / "spark-submit"
    options = [f"--conf={name}={value}" for name, value in settings.items()]
    arguments = [script, "import", f"{LOGS}/__consumer_offsets-4", "-o", tmp_path / "far"]

    done = subprocess.run(
        [submit, "--master", "local[2]", *options, *arguments],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "Read by: Spark, through its own file systems" in done.stdout, done.stderr
    rebalance("import", tmp_path / "__consumer_offsets-4", "-o", tmp_path / "near")
    folders = ("commits", "groups", "gaps", "findings")
    assert files_in(tmp_path / "near", *folders) == files_in(tmp_path / "far", *folders)
