"""The coordinator's ``uniform`` assignor: balanced, and sticky as far as balance allows.

Source: ``org.apache.kafka.coordinator.group.assignor.UniformAssignor`` (KIP-848; spec assignors
1.8, 1.9). It looks at no racks.
"""

from __future__ import annotations

from assignors.server_input import as_assignment, read_coordinator_input
from assignors.server_uniform_heterogeneous import assign_heterogeneous
from assignors.server_uniform_homogeneous import assign_homogeneous
from assignors.types import Assignment, Subscriptions, Topics


def assign_server_uniform(topics: Topics, subscriptions: Subscriptions) -> Assignment:
    """Spread the partitions evenly over the members that may have them.

    *subscriptions*: in the order of the coordinator's member map; ``owned_partitions`` is each
    member's current target assignment.

    >>> from assignors.types import Subscription
    >>> asks = Subscription(topics=("t0", "t1", "t2", "t3"))
    >>> for member, given in assign_server_uniform(
    ...     Topics(partition_counts=dict.fromkeys(asks.topics, 2)),
    ...     {"C0": asks, "C1": asks, "C2": asks},
    ... ).items():
    ...     print(member, *given)
    C0 t2-0 t2-1
    C1 t1-0 t0-0 t0-1
    C2 t1-1 t3-0 t3-1
    """
    group = read_coordinator_input(topics, subscriptions)
    assign = assign_homogeneous if group.homogeneous else assign_heterogeneous
    return as_assignment(subscriptions, assign(group))
