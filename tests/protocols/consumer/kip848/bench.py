"""A client of the consumer protocol on its bench (see ``client_bench``).

Jitter is in the middle of its range, so a back-off of 100 ms is 100 ms; threads run as soon as
``lags`` say, at once by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from protocols.consumer.kip848.machine import Client
from protocols.consumer.kip848.member import MemberState
from protocols.consumer.kip848.state import ClientState, Consumer
from protocols.consumer.kip848.threads import Lag
from protocols.facts import ClientStateChanged
from protocols.machine import Call

from ...client_bench import BROKER, Bench, Sent

__all__ = ["BROKER", "MEMBER", "ClientBench", "Sent"]

MEMBER = "member-1"


class ClientBench(Bench):
    def __init__(
        self,
        *,
        topics: dict[str, int] | None = None,
        subscribe: Iterable[str] = ("t",),
        matches: Callable[[str], bool] | None = None,
        regex: str | None = None,
        brokers: tuple[int, ...] = (BROKER,),
        server_assignor: str | None = None,
        listener: bool = True,
        member_id: str = MEMBER,
        **settings: Any,
    ) -> None:
        super().__init__(
            topics={"t": 4} if topics is None else topics, brokers=brokers, settings=settings
        )
        self.lags: dict[Lag, int] = {}
        self.calls: list[tuple[str, tuple[int, ...]]] = []
        patterned = matches is not None or regex is not None
        self.client = Client(
            Consumer(
                name="c",
                group_id="g",
                member_id=member_id,
                settings=self.settings,
                topics=None if patterned else tuple(subscribe),
                matches=matches,
                regex=regex,
                server_assignor=server_assignor,
                listener=listener,
                jitter=lambda _what, _when: 0.5,
                lags=self.lag_us,
                epoch_ms=1_700_000_000_000,
                brokers=brokers,
            )
        )

    def lag_us(self, lag: Lag, now: int) -> int:
        """How long a thread takes to run, in microseconds."""
        del now
        return self.lags.get(lag, 0)

    def settle(self) -> None:
        """Let both threads do what is to be done at this instant."""
        self.advance(0)

    def note(self, call: Call) -> None:
        """Keep a listener call with the numbers of its partitions."""
        self.calls.append((call.listener, tuple(tp.partition for tp in call.partitions)))

    # -- what there is -----------------------------------------------------------------------

    @property
    def state(self) -> ClientState:
        return self.client.state

    @property
    def member(self) -> MemberState:
        return self.state.member.state

    @property
    def epoch(self) -> int:
        return self.state.member.epoch

    def ever(self, kind: type) -> list[Any]:
        """All requests of one kind that were ever sent."""
        return [sent.message for sent in self.history if isinstance(sent.message, kind)]

    def ways(self) -> list[str]:
        """Return the states it has been in, as its log would show."""
        return [fact.after for fact in self.emitted(ClientStateChanged)]

    def owned(self) -> list[int]:
        return [tp.partition for tp in self.state.assignment]
