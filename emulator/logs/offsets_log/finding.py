"""Which files make up which logs: segments of one partition are one log, whoever named them."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from emulator.errors import EmulatorError
from protocols.offsets_topic.segments.segment import base_offset_of

STANDARD_INPUT: Final = Path("-")

_NAMED: Final = re.compile(r"(?:(?P<log>.+)\.)?(?P<segment>\d{20}\.log)(?:\.gz)?")
"""``00000000000000000000.log``, also with ``.gz`` behind it and a log's name before it."""

_PARTITIONS: Final = "__consumer_offsets-*"
WANTED: Final = "segments are files such as 00000000000000000000.log, or .log.gz"


class LogFileError(EmulatorError):
    """A file cannot be used: which one, and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of a log."""

    path: Path
    base_offset: int | None
    """That its name says; None for another kind of name."""


@dataclass(frozen=True, slots=True)
class Log:
    """The segments that were given of one partition, in the order of their base offsets."""

    name: str
    segments: tuple[Segment, ...]


def logs_of(paths: Iterable[Path]) -> list[Log]:
    """Return the logs that files and folders make up, in the order in which they were given.

    A folder means its segments or, if it has none, those of the offsets topic's partitions in
    it, as in a broker's ``log.dirs``. Raise LogFileError for what is missing or no file, for a
    folder without segments, and for two segments of a log with one base offset.
    """
    found = dict[str, dict[Path, Segment]]()
    for path in paths:
        for each in _files(path):
            name, segment = _placed(each)
            found.setdefault(name, {})[_real(each)] = segment
    return [Log(name, _in_order(name, segments.values())) for name, segments in found.items()]


def _files(path: Path) -> list[Path]:
    if path == STANDARD_INPUT:
        return [path]
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return list(_files_in(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LogFileError(str(path), f"cannot be read: {reason}") from None
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return [path]
    raise LogFileError(str(path), f"is a device or a socket; {WANTED}")


def _files_in(folder: Path) -> Iterator[Path]:
    folders = [folder, *sorted(each for each in folder.glob(_PARTITIONS) if each.is_dir())]
    segments = [_segments_in(each) for each in folders]
    if not any(segments):
        raise LogFileError(str(folder), f"no segment in this folder; {WANTED}")
    yield from segments[0] or (path for some in segments for path in some)


def _segments_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _NAMED.fullmatch(path.name))


def _placed(path: Path) -> tuple[str, Segment]:
    """Return the name of the log that a file belongs to, and the file as its segment."""
    named = _NAMED.fullmatch(path.name)
    if named is None:
        return str(path), Segment(path, None)
    log = path.parent / named["log"] if named["log"] else path.parent
    name = path.resolve().parent.name if log == Path() else str(log)
    return name, Segment(path, base_offset_of(named["segment"]))


def _real(path: Path) -> Path:
    """Return what makes two paths the same file."""
    return path if path == STANDARD_INPUT else path.resolve()


def _in_order(name: str, segments: Iterable[Segment]) -> tuple[Segment, ...]:
    ordered = sorted(segments, key=lambda each: each.base_offset or 0)
    for one, other in pairwise(ordered):
        if one.base_offset == other.base_offset:
            both = f"{one.path} and {other.path} begin at the same offset; give one of them"
            raise LogFileError(name, both)
    return tuple(ordered)
