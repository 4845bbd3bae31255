"""Write the offsets log of a run as a broker does: a folder per partition, a file per segment.

During the run, batches are in one file a partition, in the order in which any replica appended
them; at the end the leader's log is assembled from it. All files are written to a temporary folder
beside the requested one, which is complete or absent.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from emulator.output_files import beside
from protocols.offsets_topic import OFFSETS_TOPIC
from protocols.offsets_topic.segments.segment import segment_file_name


class SpoolFile:
    """A file to which batches are appended, and from which they are read by position."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b")
        self._end = 0

    def add(self, data: bytes) -> int:
        """Append bytes; return their position."""
        begin = self._end
        self._file.write(data)
        self._end += len(data)
        return begin

    def read(self, position: int, size: int) -> bytes:
        """Return bytes that were appended."""
        self._file.seek(position)
        data = self._file.read(size)
        self._file.seek(self._end)
        return data

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LogFolder:
    """Writes a run's offsets log into a folder, which is complete or absent; used with ``with``.

    Raises OSError if the folder cannot be written, or exists and is not empty.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._part = beside(folder)
        self._part.mkdir()
        self._spools: dict[int, SpoolFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            for number, spool in self._spools.items():
                spool.close()
                self._spool_path(number).unlink()
            if kind is None:
                if self._folder.is_dir():
                    self._folder.rmdir()
                self._part.rename(self._folder)
        finally:
            shutil.rmtree(self._part, ignore_errors=True)

    def spool(self, log_partition: int) -> SpoolFile:
        """Return the file that collects the batches of a partition during the run."""
        made = self._spools[log_partition] = SpoolFile(self._spool_path(log_partition))
        return made

    def keep(self, log_partition: int, segments: Iterable[tuple[int, Iterable[bytes]]]) -> None:
        """Write the segments of a partition, each given as its base offset and its bytes."""
        folder = self._part / f"{OFFSETS_TOPIC}-{log_partition}"
        folder.mkdir()
        for base_offset, parts in segments:
            with (folder / segment_file_name(base_offset)).open("wb") as file:
                file.writelines(parts)

    def _spool_path(self, log_partition: int) -> Path:
        return self._part / f"{log_partition}.spool"
