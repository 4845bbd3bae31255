"""Connections to coordinators: a broker handles one request of a connection at a time.

It reads the next request when it has answered the one before (``SocketServer`` mutes the channel). So a
request waits while a JoinGroup or SyncGroup sent before it is parked, or while a commit sent before it
is replicated. Requests that any broker answers wait for fetches alone
(:meth:`~emulator.world.consumer.polling.fetches.Fetches.answer_behind`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from emulator.world.cluster.brokers import Brokers
from emulator.world.kernel import Kernel, Rank
from emulator.world.network import Caller, Wire, broker_party
from protocols.messages import Disconnected, Envelope, Header, broker_of

JOINS = frozenset({"JoinGroup", "SyncGroup"})
"""The requests that some clients send over a connection of their own."""


class Connection:
    """One connection of a process to a broker as coordinator."""

    __slots__ = ("broker", "index", "is_busy", "is_closed", "waiting")

    def __init__(self, broker: int, index: int) -> None:
        self.broker = broker
        self.index = index
        """The order of its process among events at equal times."""

        self.is_busy = False
        """Whether a request is not answered yet, or those that waited for the answer are still to be read."""

        self.is_closed = False
        """Whether the process has closed it, or has ended."""

        self.waiting = deque[Envelope]()
        """The requests that the broker has not read."""

    def close(self) -> None:
        """Close it on the side of the process.

        The broker still reads one request that it has received, because it learns of the closed connection
        when it sends the next response.
        """
        self.is_closed = True
        self.waiting = deque(islice(self.waiting, 1))

    def keep(self, envelope: Envelope) -> None:
        """Keep a request until those before it are answered."""
        if not (self.is_closed and self.waiting):
            self.waiting.append(envelope)


class Connections:
    """All connections to coordinators."""

    def __init__(
        self,
        kernel: Kernel,
        wire: Wire,
        brokers: Brokers,
        handle: Callable[[Envelope, Connection], None],
    ) -> None:
        """Begin without any; *handle* makes the broker of a connection handle a request."""
        self._kernel, self._wire = kernel, wire
        self._brokers = brokers
        self._handle = handle
        self._open: dict[tuple[str, int, bool], Connection] = {}
        self._unanswered: dict[tuple[str, int], Connection] = {}
        """By process and correlation id: the connections of the requests that the brokers handle."""

    def of(self, process: Caller, broker: int, *, joins: bool) -> Connection:
        """Return the connection of a process; *joins*: that of JoinGroup and SyncGroup, if they have their own."""
        key = (process.name, broker, joins)
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = Connection(broker, process.index)
        return found

    # -- requests and their answers ----------------------------------------------------------------

    def begin(self, connection: Connection, header: Header) -> None:
        """Note that the broker handles a request of a connection: later ones wait."""
        connection.is_busy = True
        self._unanswered[header.client, header.correlation_id] = connection

    def answered(self, header: Header) -> None:
        """Read the next request of a connection: the broker sends the response to the one before."""
        connection = self._unanswered.pop((header.client, header.correlation_id), None)
        if connection is None:
            return
        if connection.waiting:
            read = partial(self._read, connection)
            self._kernel.at(self._kernel.now, Rank.AT_BROKER, connection.index, lambda _: read())
        else:
            connection.is_busy = False

    def _read(self, connection: Connection) -> None:
        if not connection.waiting:
            return  # its broker has died
        if self._brokers.hold(connection.broker, partial(self._read, connection)):
            return
        self._handle(connection.waiting.popleft(), connection)

    # -- the end of connections ----------------------------------------------------------------------

    def close(self, process: Caller, node: int) -> None:
        """Close the connections of a process to a coordinator; its next request goes over a new one."""
        broker = broker_of(node)
        for joins in (False, True):
            connection = self._open.pop((process.name, broker, joins), None)
            if connection is not None:
                connection.close()

    def forget(self, process: Caller) -> None:
        """Close the connections of a process that has ended."""
        for broker in self._brokers.numbers:
            self.close(process, broker)

    def break_all(self, broker: int) -> None:
        """Drop the connections to a broker that died, with all that it has not read."""
        for connection in (*self._open.values(), *self._unanswered.values()):
            if connection.broker == broker:
                connection.waiting.clear()
        self._open = _without(self._open, broker)
        self._unanswered = _without(self._unanswered, broker)

    def refuse(self, process: Caller, node: int) -> None:
        """Refuse a connection to a dead broker: the attempt fails after a round trip."""
        there, now = broker_party(broker_of(node)), self._kernel.now
        self._disconnect(process, node, now + 2 * self._wire.delay(process.party, there, now))

    def break_off(self, process: Caller, node: int) -> None:
        """Break a connection of a process to a dead broker, whose operating system closes it."""
        there, now = broker_party(broker_of(node)), self._kernel.now
        self._disconnect(process, node, now + self._wire.delay(there, process.party, now))

    def _disconnect(self, process: Caller, node: int, when: int) -> None:
        disconnect = Envelope(Header(process.name, -1), Disconnected(node))

        def disconnected(_: Any) -> None:
            process.receive(disconnect)

        self._kernel.at(when, Rank.AT_CLIENT, process.index, disconnected)

    # -- periods -------------------------------------------------------------------------------------

    def waiting(self) -> list[Envelope]:
        """Return the requests that no broker has read, by process, in their order."""
        found = [each for connection in self._unanswered.values() for each in connection.waiting]
        return sorted(found, key=lambda envelope: envelope.header[:2])

    def move(self, moved: Callable[[Envelope], Envelope], later: Callable[[str, int], int]) -> None:
        """Move what waits by whole periods; *later*: the later number of a request of a process."""
        for connection in self._unanswered.values():
            connection.waiting = deque(map(moved, connection.waiting))
        self._unanswered = {
            (client, later(client, number)): connection
            for (client, number), connection in self._unanswered.items()
        }


def _without(connections: dict[Any, Connection], broker: int) -> dict[Any, Connection]:
    return {key: each for key, each in connections.items() if each.broker != broker}
