"""Writes events: numbers them, links them to their causes, feeds whoever counts.

The digest is taken over every event but those that only a detailed trace has; the same
scenario and seed give the same digest on any machine, under any hash seed (law 8).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from emulator.events import Event, Polled, What, values_of
from emulator.world.kernel import Kernel

Sink = Callable[[Event], None]


class Recorder:
    """The one way by which anything in a run becomes an event."""

    def __init__(
        self, kernel: Kernel, sinks: tuple[Sink, ...], *, polls: bool, by_record: bool = False
    ) -> None:
        self._kernel = kernel
        self._sinks = sinks
        self._hash = hashlib.blake2b(digest_size=16)
        self._next = 0
        self.polls = polls
        """Whether each poll is written too."""

        self.by_record = by_record
        """Whether the work on each record is written by itself."""

    def write(self, what: What, cause: int | None = None) -> int:
        """Write what happens now; return the event's id."""
        number = self._next
        event = Event(number, self._kernel.now, cause, what)
        if type(what) is not Polled:
            self._next = number + 1
            values = tuple(values_of(what).values())
            text = f"{event.at_us}|{cause}|{type(what).__name__}|{values!r}\n"
            self._hash.update(text.encode())
        for sink in self._sinks:
            sink(event)
        return number

    @property
    def digest(self) -> str:
        """The digest of everything written so far, 32 hex digits."""
        return self._hash.hexdigest()
