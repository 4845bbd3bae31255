"""From any event back to the fault or act that began its chain.

Roots are followed along the ``cause`` links of events, forward: an event inherits the root of
its cause. Faults are remembered for good, of other events with a root the newest
:data:`REMEMBERED`. Histories
without links (a real Kafka's) are helped by the names of those concerned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from emulator.events import ConsumerStarted, Event, FaultBegan
from emulator.ledger.entries import Root

REMEMBERED = 1 << 16

START = "start process"
"""The verb of a root that is no fault but the start of a process."""

_WORDS = re.compile(r"[^\s,|<>()\[\]]+")


class Roots:
    """Knows the root of recent events, and the newest fault or start that names each party."""

    __slots__ = ("_faults", "_newest", "_newest_of", "_root_of")

    def __init__(self) -> None:
        self._faults: dict[int, Root] = {}
        self._root_of: dict[int, Root] = {}
        self._newest_of: dict[str, Root] = {}
        self._newest: Root | None = None

    def follow(self, event: Event) -> None:
        """Let *event* inherit the root of its cause; a fault is its own root."""
        what = event.what
        if type(what) is FaultBegan:
            self._began(event, what)
            return
        root = None if event.cause is None else self.of(event.cause)
        if type(what) is ConsumerStarted:
            root = self._started(event, what, root)
        if root is not None:
            self._remember(event.id, root)

    def of(self, event_id: int) -> Root | None:
        """Return the root of an event, None if it has none or is too old."""
        return self._root_of.get(event_id) or self._faults.get(event_id)

    def find(self, events: Iterable[int], parties: Iterable[str]) -> Root | None:
        """Return the root of what *events* show, asking the first of them first.

        A fault wins over the mere start of a process. Where no link leads to a fault, the
        newest fault that names one of *parties* is taken, at last the newest of all.
        """
        linked = [root for root in map(self.of, events) if root is not None]
        named = [self._newest_of[party] for party in parties if party in self._newest_of]
        for root in linked:
            if root.verb != START:
                return root
        likely = linked + [root for root in named if root.verb != START]
        return _newest(likely) or _newest(named) or self._newest

    def _began(self, event: Event, what: FaultBegan) -> None:
        root = Root(event.id, event.at_us, what.fault, what.verb, what.target)
        self._newest = root
        for party in _WORDS.findall(what.target):
            self._newest_of[party] = root
        self._faults[event.id] = root

    def _started(self, event: Event, what: ConsumerStarted, root: Root | None) -> Root:
        """Take a process start without a known cause as an act of its own."""
        if root is None:
            name = what.consumer
            root = Root(event.id, event.at_us, f"start {name}", START, name)
            named = self._newest_of.get(name)
            if named is None or named.verb == START:
                self._newest_of[name] = root
        return root

    def _remember(self, event_id: int, root: Root) -> None:
        self._root_of[event_id] = root
        if len(self._root_of) > 2 * REMEMBERED:
            for old in list(islice(self._root_of, REMEMBERED)):
                del self._root_of[old]


def _newest(roots: list[Root]) -> Root | None:
    return max(roots, key=lambda root: root.event, default=None)
