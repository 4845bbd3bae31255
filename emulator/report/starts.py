"""Tell the processes of one member name apart, in events that name their consumer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from emulator import events as ev


def named(consumer: str, start: int) -> str:
    """Return a consumer's name with the number of its process.

    >>> named("billing-1", 2)
    'billing-1 (start 2)'
    """
    return f"{consumer} (start {start})"


class Starts:
    """The process that each event of a history is about: the starts of a name, counted from 1.

    A member and a commit outlive the process that they come from, so these are known by their ids.
    """

    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._known: dict[str, int] = {}
        """By member id and by commit."""

        self._by_row: dict[int, int] = {}

    def follow(self, event: ev.Event) -> None:
        """Take the next event of the history."""
        what = event.what
        if isinstance(what, ev.ConsumerStarted):
            self._running[what.consumer] = what.incarnation
        consumer = getattr(what, "consumer", "")
        if not consumer:
            return
        running = self._running.get(consumer, 1)
        known = getattr(what, "commit", "") or getattr(what, "member_id", "")
        self._by_row[event.row] = self._known.setdefault(known, running) if known else running

    def marked(self, events: Iterable[ev.Event]) -> Iterator[ev.Event]:
        """Yield events, with the process beside each name that had several in them."""
        shown = list(events)
        starts: dict[str, set[int]] = {}
        for event in shown:
            if event.row in self._by_row:
                starts.setdefault(_consumer(event), set()).add(self._by_row[event.row])
        for event in shown:
            yield self._mark(event) if len(starts.get(_consumer(event), ())) > 1 else event

    def _mark(self, event: ev.Event) -> ev.Event:
        if isinstance(event.what, ev.ConsumerStarted):  # its line has the number anyway
            return event
        name = named(_consumer(event), self._by_row[event.row])
        what: Any = event.what
        return event._replace(what=replace(what, consumer=name))


def _consumer(event: ev.Event) -> str:
    return getattr(event.what, "consumer", "")
