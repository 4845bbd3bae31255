"""What the traced applications of all Python clients share: settings, orders, work, commits."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType

from emulator.capturing.clients.tracing import TopicPartition, Trace

KAFKA = "c."
COMMITTING = {"sync-per-record": "record", "noargs-per-record": "record", "sync-per-poll": "poll"}
"""The modes that commit after work, with the trace's word for the place."""


STRATEGY = "partition_assignment_strategy"
NO_ASSIGNORS: Mapping[str, type] = {}


@dataclass(slots=True)
class Application:
    """One member's application."""

    conf: Mapping[str, str]
    trace: Trace
    bootstrap: str
    stopping: bool = False
    """SIGTERM has come."""

    _hang_ms: int = 0

    @property
    def topics(self) -> list[str]:
        """The topics to subscribe to."""
        return self.conf["topics"].split(",")

    @property
    def mode(self) -> str:
        """The commit mode."""
        return self.conf["mode"]

    @property
    def commits_itself(self) -> bool:
        """Whether the client commits by itself."""
        return self.mode in ("auto", "store")

    @property
    def poll_ms(self) -> int:
        """The timeout of a poll."""
        return int(self.conf["pollTimeout"])

    @property
    def stops_in_batch(self) -> bool:
        """Whether the batch ends at once now."""
        return self.stopping and self.conf.get("stop") == "midbatch"

    def kafka(self) -> dict[str, str]:
        """Return Kafka's settings by their names."""
        prefixed = self.conf.items()
        return {name[len(KAFKA) :]: text for name, text in prefixed if name.startswith(KAFKA)}

    def arguments(self, assignors: Mapping[str, type] = NO_ASSIGNORS) -> dict[str, object]:
        """Return Kafka's settings as arguments of Python: ``session_timeout_ms=6000``.

        *assignors*: the library's classes by the names of ``partition.assignment.strategy``.
        """
        typed = {"true": True, "false": False}
        found: dict[str, object] = {
            name.replace(".", "_"): typed.get(text, int(text) if text.isdecimal() else text)
            for name, text in self.kafka().items()
        }
        if STRATEGY in found:
            found[STRATEGY] = [assignors[name] for name in str(found[STRATEGY]).split(",")]
        return found

    def listen_for_orders(self) -> None:
        """Let SIGTERM stop the application, and read orders from standard input."""
        signal.signal(signal.SIGTERM, self._on_terminate)
        threading.Thread(target=self._read_orders, name="orders", daemon=True).start()

    def _on_terminate(self, _: int, __: FrameType | None) -> None:
        self.trace.mark("sigterm")
        self.stopping = True

    def _read_orders(self) -> None:
        for line in sys.stdin:
            if line.startswith("hang "):
                self._hang_ms = int(line[5:])
        os._exit(1)

    def work(self, partition: TopicPartition, offset: int) -> None:
        """Work on a record, in the calling thread."""
        began = self.trace.now()
        hang_s = self.hang_s(partition, offset)
        if hang_s:
            time.sleep(hang_s)
            self.trace.mark("hangend")
        time.sleep(int(self.conf["work"]) / 1e3)
        self.trace.processed(partition, offset, began)

    def hang_s(self, partition: TopicPartition, offset: int) -> float:
        """Return how long the handler hangs on this record; the order counts once."""
        ms, self._hang_ms = self._hang_ms, 0
        if ms:
            name = self.trace.name(partition)
            self.trace.write("hang", t=self.trace.now(), ms=ms, p=name, o=offset)
        return ms / 1e3

    def listener_s(self) -> float:
        """Return how long a call of the listener takes."""
        return int(self.conf["listener"]) / 1e3

    def commits_after(self, what: str) -> bool:
        """Return whether the application commits after a ``record`` or a ``poll``."""
        return COMMITTING.get(self.mode) == what

    def commit(self, why: str, call: Callable[[], object]) -> None:
        """Call a commit and trace its outcome."""
        began = self.trace.now()
        error = None
        try:
            call()
        except Exception as refused:  # noqa: BLE001  each library has its own
            error = f"{type(refused).__name__}: {refused}"
        now = self.trace.now()
        self.trace.write("csync", why=why, a=began, b=now, ok=error is None, error=error)
