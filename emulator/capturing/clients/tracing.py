"""Write the trace of a process: one JSON object for each line, unbuffered."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

LOG_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s %(message)s"


class TopicPartition(Protocol):
    """A partition, as all libraries have it."""

    topic: str
    partition: int


class Trace:
    """The trace of one process."""

    def __init__(self, path: Path, prefix: str) -> None:
        self._file = path.open("wb", buffering=0)
        self._prefix = prefix
        self._group = (0, "")

    def close(self) -> None:
        """End the trace."""
        self._file.close()

    @staticmethod
    def now() -> int:
        """Return microseconds since 1970."""
        return time.time_ns() // 1_000

    def write(self, kind: str, **fields: Any) -> None:
        """Write an entry."""
        line = json.dumps({"e": kind, **fields}, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")

    def mark(self, kind: str) -> None:
        """Write an entry that has only a time."""
        self.write(kind, t=self.now())

    def started(self, conf: Mapping[str, str]) -> None:
        """Write the first entry, with the configuration."""
        self.write("started", t=self.now(), pid=os.getpid(), conf=conf)

    def name(self, partition: TopicPartition) -> str:
        """Return a partition without the prefix of the run."""
        return f"{partition.topic.removeprefix(self._prefix)}-{partition.partition}"

    def listened(self, call: str, began: int, partitions: Iterable[TopicPartition]) -> None:
        """Write a call of the rebalance listener."""
        names = sorted(self.name(partition) for partition in partitions)
        self.write(call, a=began, b=self.now(), ps=names)

    def group(self, generation: int, member_id: str) -> None:
        """Write the generation and the member id, if one of them has changed."""
        if (generation, member_id) != self._group:
            self._group = generation, member_id
            self.write("meta", t=self.now(), gen=generation, member=member_id)

    def committed(self, thread: str, offsets: Mapping[str, int]) -> None:
        """Write a successful commit."""
        self.write("committed", t=self.now(), th=thread, o=offsets)

    def processed(self, partition: TopicPartition, offset: int, began: int) -> None:
        """Write a record after its work."""
        self.write("r", p=self.name(partition), o=offset, a=began, b=self.now())

    def handed_out(self, partition: TopicPartition, offset: int) -> None:
        """Write that the application got one record."""
        self.write("g", p=self.name(partition), o=offset, t=self.now())

    def polled(self, offsets: Mapping[str, list[int]]) -> None:
        """Write a call that returned several records."""
        shown = {name: [each[0], each[-1]] for name, each in offsets.items()}
        self.write("poll", t=self.now(), n=sum(map(len, offsets.values())), ps=shown)


def log_to(path: Path) -> None:
    """Write what the client's loggers say to a file, with UTC times."""
    handler = logging.FileHandler(path)
    formatter = logging.Formatter(LOG_FORMAT, "%H:%M:%S")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
