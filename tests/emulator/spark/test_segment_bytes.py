"""Lines put together again are the file that they were cut from, whatever was in it."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.spark.segment_reading import SEPARATORS, MissingBytesError, as_file, by_file

MARK = b"\xef\xbb\xbf"
"""Of a UTF-8 text: readers of lines remove it."""

files = st.lists(
    st.sampled_from([b"\n", b"\0", b"\0\0\0\0", b"\0" * 60, b"\r\n", b"\r", MARK, b"\xff", b"ab"])
    | st.binary(max_size=9)
).map(b"".join)
separators = st.sampled_from(SEPARATORS)


def lines_of(data: bytes, separator: str) -> list[bytes]:
    """Return a file as a reader of lines sees it: nothing follows a separator at the end."""
    lines = data.removeprefix(MARK).split(separator.encode())
    return lines if lines[-1] else lines[:-1]


def arrays(lines, sizes):
    """Yield lines some at a time."""
    rest = iter(lines)
    for size in [*sizes, len(lines)]:
        yield pa.array(islice(rest, size), pa.binary())


@given(files, separators, st.lists(st.integers(0, 5)))
def test_lines_are_the_file_again(data, separator, sizes):
    """With or without a separator at its end; the mark of a text alone is missed."""
    file = as_file(arrays(lines_of(data, separator), sizes), separator, len(data))

    if data.startswith(MARK):
        with pytest.raises(MissingBytesError):
            file.read()
    else:
        assert data == file.read()


@given(files, files, separators)
def test_bytes_appended_later_are_not_read(data, more, separator):
    """The file ends where it ended when it was found."""
    grown = data + more
    lines = lines_of(grown, separator)

    if not grown.startswith(MARK):
        assert data == as_file(arrays(lines, [1, 2]), separator, len(data)).read()


@given(files, files, separators)
def test_a_line_that_was_left_out_is_missed(before, behind, separator):
    """Longer ones than all else are: so the end comes too early."""
    long_line = b"x" * (len(separator) + len(before) + len(behind))
    data = separator.encode().join([before, long_line, behind])
    lines = [line for line in lines_of(data, separator) if long_line not in line]

    with pytest.raises(MissingBytesError):
        as_file(arrays(lines, []), separator, len(data)).read()


def test_files_of_one_task_are_separated():
    """At any boundary, each with its own lines and its real path."""
    batches = [
        pa.RecordBatch.from_pydict(
            {"value": values, "file_path": [f"hdfs://n/{path}" for path in paths]}
        )
        for values, paths in (
            ([b"a", b"b"], ["a%20file", "a%20file"]),
            ([b"c", b"d", b"", b"f"], ["a%20file", "2", "2", "3"]),
            ([b"g"], ["3"]),
        )
    ]
    sizes = {"hdfs://n/a file": 5, "hdfs://n/2": 3, "hdfs://n/3": 4}

    found = {
        path: as_file(lines, "\n", sizes[path]).read() for path, lines in by_file(iter(batches))
    }

    assert dict(zip(sizes, (b"a\nb\nc", b"d\n\n", b"f\ng\n"), strict=True)) == found


def test_unread_bytes_of_a_file_are_skipped():
    """The next one is complete all the same."""
    rows = {"value": [b"1", b"2", b"3"], "file_path": ["a", "a", "b"]}
    files_found = by_file(iter([pa.RecordBatch.from_pydict(rows)]))

    next(files_found)
    path, lines = next(files_found)

    assert ("b", b"3") == (path, as_file(lines, "\n", 1).read())
