"""Groups that change from one protocol to the other: the one place that knows both.

A group without members becomes whatever its next member speaks, under any policy: its records
are deleted and the other type's begin, in one batch; its offsets stay.

With members it depends on ``group.consumer.migration.policy``. *Upgrade*: the first heartbeat of
the consumer protocol makes a consumer group of a classic one. *Downgrade*: when the last member of
the consumer protocol goes, or a classic one takes its place, and only classic ones are left, the
group is classic again.

Source: KIP-848, "Online Migration"; ``convertToConsumerGroup``, ``convertToClassicGroup``,
``maybeDeleteEmptyClassicGroup``, ``maybeDeleteEmptyConsumerGroup`` of 4.4.0 (spec kip848 5).

Its modules are imported when a request or timer of a consumer group first needs them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protocols.migration.requests import (
        beat_at_any_group,
        heartbeat_at_any_group,
        join_at_any_group,
        leave_any_group,
        sync_at_any_group,
        woken,
    )

__all__ = [
    "beat_at_any_group",
    "heartbeat_at_any_group",
    "join_at_any_group",
    "leave_any_group",
    "sync_at_any_group",
    "woken",
]


def __getattr__(name: str) -> Any:
    """Find a public name where it is, when it is first asked for (PEP 562)."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.requests"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
