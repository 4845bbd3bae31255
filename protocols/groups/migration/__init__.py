"""Groups that change from one protocol to the other: the one place that knows both.

A group without members becomes whatever its next member speaks, under any policy: its records
are deleted and the other type's begin, in one batch; its offsets stay.

With members it depends on ``group.consumer.migration.policy``. *Upgrade*: the first heartbeat of
the consumer protocol makes a consumer group of a classic one. *Downgrade*: when the last member of
the consumer protocol goes, or a classic one takes its place, and only classic ones are left, the
group is classic again.

Source: KIP-848, "Online Migration"; ``convertToConsumerGroup``, ``convertToClassicGroup``,
``maybeDeleteEmptyClassicGroup``, ``maybeDeleteEmptyConsumerGroup`` of 4.4.0.

Its requests are imported when a request or timer of a consumer group first needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from protocols.groups.migration import requests

__all__ = ["requests"]

__getattr__ = lazy_modules(__name__, __all__)
