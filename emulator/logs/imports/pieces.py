"""The pieces of an import: segment files on this machine or at a URI, and ranges of a live log.

Remote files are opened through pyarrow's file systems; Spark reads those that only Hadoop's file
systems reach.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, cast

import numpy as np
import pyarrow as pa

from assignors.values import dataclass
from emulator.errors import reason_of
from emulator.input_files import is_there
from emulator.logs.imports.tables import NO_PARTITION
from emulator.logs.offsets_log.finding import STANDARD_INPUT, WANTED, LogFileError, logs_of, opened
from emulator.logs.offsets_log.recognising import read_opened
from emulator.logs.remote_files import file_system, files_at, is_remote, is_uri

_PARTITION: Final = re.compile(r"__consumer_offsets-(\d{1,9})(?!\d)")
_SEGMENT: Final = re.compile(r"(?:.+\.)?\d{20}\.log(?:\.gz)?")
_BASE_OFFSET: Final = re.compile(r"(\d{20})\.log(?:\.gz)?$")
_MIN_DIGITS: Final = 5


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a log."""

    path: str
    """The path or URI; absolute, because a process elsewhere may read it."""

    log: str
    """The log that it is part of."""

    log_partition: int
    size: int
    """Stored size in bytes."""

    changed: str
    """The modification time in any form; a different value means a different file."""

    @property
    def name(self) -> str:
        """The name of its files of rows; sorted by name they are in log order."""
        base = _BASE_OFFSET.search(self.path)
        return f"{log_name(self.log_partition)}-{base[1] if base else 0:0>20}"

    @property
    def key(self) -> str:
        """Identify the content: equal keys mean equal rows."""
        return f"{self.path} {self.size} {self.changed}"


Finder = Callable[[str], Iterable[Segment]]
"""Returns the segments at a URI; raises LogFileError."""


def log_name(log_partition: int) -> str:
    """Return the prefix of the files of a log."""
    return "unnamed" if log_partition == NO_PARTITION else f"{log_partition:0{_MIN_DIGITS}}"


def segments_of(sources: Sequence[str], far: Finder | None = None) -> list[Segment]:
    """Return the segments at some sources, log by log, each in offset order.

    *far*: lists the segments at a remote URI; by default pyarrow does. Raise LogFileError for a
    source that is missing or not a segment, and for two logs of one partition.
    """
    local = [source for source in sources if not is_uri(source)]
    found = [*_local(local)] if local else []
    for source in sources:
        if is_uri(source):
            find = far if far is not None and is_remote(source) else _at
            found += find(source)
    found = [*{each.path: each for each in found}.values()]
    _refuse_replicas(found)
    return sorted(found, key=lambda each: each.name)


def segment_at(path: str, size: int, changed: str) -> Segment:
    """Return the segment at a URI."""
    log = path.rpartition("/")[0]
    if not _PARTITION.search(log):
        log = _BASE_OFFSET.sub("", path)
    return Segment(path, log, _partition_of(log), size, changed)


def is_named_as_segment(path: str) -> bool:
    """Return whether a path or URI has the file name of a segment."""
    return _SEGMENT.fullmatch(path.rpartition("/")[2]) is not None


def open_segment(path: str) -> AbstractContextManager[BinaryIO]:
    """Open a segment; raise LogFileError if that fails."""
    if not is_uri(path):
        return opened(Path(path))
    system, inner = file_system(path)
    try:
        return cast("AbstractContextManager[BinaryIO]", system.open_input_stream(inner, None))
    except OSError as error:
        raise LogFileError(path, f"cannot be read: {error.strerror or error}") from None


def is_empty(segment: Segment) -> bool:
    """Return whether a segment is empty; raise LogFileError if it is not one of this topic."""
    with open_segment(segment.path) as file:
        return holds_nothing(file, segment.path)


def holds_nothing(file: BinaryIO, path: str) -> bool:
    """Return whether an opened segment is empty; read only as much as necessary."""
    return next(read_opened(file, path), None) is None


# -- on this machine ---------------------------------------------------------------------------


def _local(sources: Iterable[str]) -> Iterator[Segment]:
    paths = [path for source in sources for path in _matches(source)]
    for log in logs_of(paths):
        partition = _partition_of(log.name)
        for each in log.segments:
            state = _state_of(each.path)
            changed = str(state.st_mtime_ns)
            yield Segment(str(each.path.absolute()), log.name, partition, state.st_size, changed)


def _state_of(path: Path) -> os.stat_result:
    """Return the state of a file; raise LogFileError if it is none, or cannot be looked up."""
    try:
        state = path.stat()
    except FileNotFoundError:
        raise LogFileError(str(path), f"not a file; {WANTED}") from None
    except OSError as error:
        raise LogFileError(str(path), f"cannot be read: {reason_of(error)}") from None
    if not stat.S_ISREG(state.st_mode):
        raise LogFileError(str(path), f"not a file; {WANTED}")
    return state


def _matches(source: str) -> list[Path]:
    """Return the paths that match a pattern that the shell has not expanded."""
    if Path(source) == STANDARD_INPUT:
        raise LogFileError("-", "segments to import are files or folders")
    if is_there(Path(source)) or not glob.has_magic(source):
        return [Path(source)]
    found = sorted(glob.glob(source))  # noqa: PTH207  the pattern may be absolute
    if not found:
        raise LogFileError(source, f"no file matches; {WANTED}")
    return [Path(each) for each in found]


def _partition_of(text: str) -> int:
    match = _PARTITION.search(PurePosixPath(text).name) or _PARTITION.search(text)
    return int(match[1]) if match else NO_PARTITION


# -- elsewhere ---------------------------------------------------------------------------------


def _at(uri: str) -> Iterator[Segment]:
    is_folder, files = files_at(uri)
    if is_folder:
        wanted = _wanted_of([info for _, info in files], file_system(uri)[1].rstrip("/"))
        files = [(path, info) for path, info in files if info in wanted]
    if not files:
        raise LogFileError(uri, f"no segment in this folder; {WANTED}")
    for path, info in files:
        yield segment_at(path, info.size, str(info.mtime_ns))


def _wanted_of(files: Iterable[Any], folder: str) -> list[Any]:
    """Return the segments in a folder or, if it has none, in the offsets topic's folders there."""
    segments = [each for each in files if _SEGMENT.fullmatch(each.base_name)]
    own = [each for each in segments if each.path.rpartition("/")[0] == folder]
    below = (each for each in segments if _PARTITION.match(each.path[len(folder) + 1 :]))
    return own or list(below)


def _refuse_replicas(segments: Iterable[Segment]) -> None:
    """Raise LogFileError for two logs of one partition, which would duplicate all rows."""
    logs = dict[int, str]()
    for each in segments:
        log = logs.setdefault(each.log_partition, each.log)
        if log == each.log:
            continue
        if each.log_partition == NO_PARTITION:
            raise LogFileError(
                each.log,
                f"neither its name nor {log} shows the partition; rename folders or "
                "files as in __consumer_offsets-12",
            )
        reason = f"partition {each.log_partition} of the topic is in {log}, too"
        raise LogFileError(each.log, f"{reason}: replicas have the same content; give one of them")


@dataclass(frozen=True, slots=True)
class LogRange:
    """A range of log offsets of a live partition."""

    topic: str
    log_partition: int
    begin: int
    """Log offset of its first record."""

    end: int
    """Offset after its last record: the high watermark when the import was planned."""

    @property
    def path(self) -> str:
        """The name in the table ``gaps``."""
        return f"{self.topic}-{self.log_partition}"

    @property
    def name(self) -> str:
        """The name of its files of rows."""
        return f"{log_name(self.log_partition)}-{self.begin:020}"

    @property
    def size(self) -> int:
        """The number of log offsets in the range."""
        return self.end - self.begin

    @property
    def key(self) -> str:
        """Identify the content: equal keys mean equal rows, unless compaction removes some."""
        return f"{self.path} {self.begin} {self.end}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested rows; gaps are always included, because their group is unknown."""

    groups: tuple[str, ...] = ()
    """Shell patterns for group ids, such as ``billing-*``; none: all groups."""

    begin_ms: int | None = None
    """Epoch ms of the first record; None: from the beginning."""

    end_ms: int | None = None
    """Epoch ms after the last record, exclusive; None: to the end."""

    @property
    def is_everything(self) -> bool:
        """Whether all rows are requested."""
        return not self.groups and self.begin_ms is None and self.end_ms is None

    def takes_group(self, group: str) -> bool:
        """Return whether a group is requested."""
        return not self.groups or any(fnmatchcase(group, pattern) for pattern in self.groups)

    def takes(self, group: str, timestamp: int) -> bool:
        """Return whether a record is requested."""
        late_enough = self.begin_ms is None or timestamp >= self.begin_ms
        early_enough = self.end_ms is None or timestamp < self.end_ms
        return late_enough and early_enough and self.takes_group(group)

    def of_commits(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the requested ones of some commits; ``group`` is dictionary-encoded."""
        if self.is_everything:
            return batch
        groups = batch.column("group")
        wanted = np.array([self.takes_group(name) for name in groups.dictionary.to_pylist()])
        mask = wanted[groups.indices.to_numpy()]
        times = batch.column("timestamp").to_numpy()
        if self.begin_ms is not None:
            mask &= times >= self.begin_ms
        if self.end_ms is not None:
            mask &= times < self.end_ms
        return batch if mask.all() else batch.filter(pa.array(mask))


Piece = Segment | LogRange
"""A part of an import that is read and written as a whole."""
