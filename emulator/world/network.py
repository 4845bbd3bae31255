"""The wire: delays, losses and cuts of each direction of each connection.

Delays are drawn by (link, time sent). Messages of one connection keep their order, as with TCP: one
that would overtake another arrives right behind it. Losses concern group requests and their
responses only; records are never lost; a fetch without a connection waits or times out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, Protocol

from emulator.scenario.model import Network
from emulator.world.draws import Sampler, constant_of, draw, sampler, stream_key
from protocols.messages import Envelope

Way = Sampler | int
"""The delay of messages of a link: constant, or drawn by the time of sending."""


class Party(NamedTuple):
    """One end of a link: its name and kind."""

    name: str
    kind: str
    """``clients`` or ``brokers``."""


class Caller(Protocol):
    """A sender of requests: a consumer's process, or an administrator's tool."""

    @property
    def name(self) -> str:
        """Unique in the run; used in headers."""

    @property
    def party(self) -> Party:
        """Its name and kind on the wire."""

    @property
    def index(self) -> int:
        """Its order among events at equal times."""

    def receive(self, envelope: Envelope) -> None:
        """Handle a response, or the disconnection of a connection."""


CONTROLLER = "controller"
"""The quorum of controllers, modelled as one party that only brokers communicate with."""


class Cut(NamedTuple):
    """A cut: no message passes from any of ``senders`` to any of ``receivers``."""

    senders: frozenset[str]
    receivers: frozenset[str]


def broker_name(number: int) -> str:
    """Return the name of a broker in scenarios."""
    return f"broker-{number}"


@cache
def broker_party(number: int) -> Party:
    """Return a broker's end of its links."""
    return Party(broker_name(number), "brokers")


class Wire:
    """All links of a run."""

    def __init__(self, network: Network, seed: int) -> None:
        self._network = network
        self._seed = seed
        self._samplers: dict[tuple[str, str], Way] = {}
        self._losses: dict[tuple[str, str], tuple[float, int]] = {}
        self._last: dict[tuple[str, str, int], int] = {}
        self._cuts: list[Cut] = []

    # -- delays --------------------------------------------------------------------------------

    def delay(self, sender: Party, receiver: Party, now: int) -> int:
        """Return the delay of a message sent now, in microseconds."""
        way = self._samplers.get((sender.name, receiver.name))
        if way is None:
            way = self._make_link(sender, receiver)
        return way if isinstance(way, int) else way(now)

    def link(self, sender: Party, receiver: Party) -> Way:
        """Return the delay of messages from one party to another."""
        way = self._samplers.get((sender.name, receiver.name))
        return self._make_link(sender, receiver) if way is None else way

    def _make_link(self, sender: Party, receiver: Party) -> Way:
        latency = self._network.latency
        for link in self._network.link:
            if _names(link.sender, sender) and _names(link.receiver, receiver) and link.latency:
                latency = link.latency
        key = stream_key(self._seed, "latency", f"{sender.name}>{receiver.name}")
        constant = constant_of(latency)
        made = constant if constant is not None else sampler(latency, key)
        self._samplers[sender.name, receiver.name] = made
        return made

    def in_order(self, sender: str, receiver: str, connection: int, arrival_us: int) -> int:
        """Return the arrival, not before that of an earlier message of the same connection."""
        key = (sender, receiver, connection)
        arrival = self._last[key] = max(arrival_us, self._last.get(key, 0))
        return arrival

    # -- losses --------------------------------------------------------------------------------

    def loses(self, sender: Party, receiver: Party, now: int) -> bool:
        """Return whether a group message sent now is lost at random."""
        pair = (sender.name, receiver.name)
        known = self._losses.get(pair)
        if known is None:
            known = self._losses[pair] = self._make_loss(sender, receiver)
        share, key = known
        return share > 0 and draw(key, now) < share

    def _make_loss(self, sender: Party, receiver: Party) -> tuple[float, int]:
        share = self._network.loss
        for link in self._network.link:
            matches = _names(link.sender, sender) and _names(link.receiver, receiver)
            if matches and link.loss is not None:
                share = link.loss
        return share, stream_key(self._seed, "loss", f"{sender.name}>{receiver.name}")

    # -- cuts ----------------------------------------------------------------------------------

    def cut(self, senders: Iterable[str], receivers: Iterable[str]) -> Cut:
        """Block messages from now on; return the cut, which :meth:`heal` takes."""
        made = Cut(frozenset(senders), frozenset(receivers))
        self._cuts.append(made)
        return made

    def heal(self, cut: Cut) -> None:
        """End a cut."""
        self._cuts.remove(cut)

    @property
    def is_cut(self) -> bool:
        """Whether any cut is in force."""
        return bool(self._cuts)

    def passes(self, sender: str, receiver: str) -> bool:
        """Return whether a message sent now passes."""
        if not self._cuts:
            return True
        return not any(sender in c.senders and receiver in c.receivers for c in self._cuts)


def _names(pattern: str, party: Party) -> bool:
    return pattern in (party.name, party.kind)
