"""Make an assignor of a function: for those that remember nothing and send no user data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assignors.types import Assignment, RebalanceProtocol, Subscriptions, TopicPartition, Topics

AssignFunction = Callable[[Topics, Subscriptions], Assignment]


@dataclass(frozen=True, slots=True)
class FunctionAssignor:
    """An assignor that is nothing but a function of topics and subscriptions."""

    name: str
    function: AssignFunction
    rebalance_protocols: tuple[RebalanceProtocol, ...] = (RebalanceProtocol.EAGER,)
    exclusive: bool = True
    """False says that it gives a partition to several members on purpose."""

    def subscription_user_data(self, topics: frozenset[str]) -> bytes | None:  # noqa: ARG002 -- the interface passes it
        """Return None: the leader needs to know nothing."""
        return None

    def assign(self, topics: Topics, subscriptions: Subscriptions) -> Assignment:
        """Return what the function returns."""
        return self.function(topics, subscriptions)

    def on_assignment(self, partitions: tuple[TopicPartition, ...], generation: int) -> None:
        """Remember nothing."""
