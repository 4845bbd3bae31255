"""Convert groups from one protocol to the other; the only package that depends on both.

A group without members takes the protocol of its next member, under any policy: one batch deletes
its records and writes those of the other type; the offsets stay.

For a group with members ``group.consumer.migration.policy`` applies. *Upgrade*: the first
heartbeat of the consumer protocol converts a classic group to a consumer group. *Downgrade*: when
the last member of the consumer protocol leaves or is replaced by a classic one, so that only
classic members remain, the group becomes classic again.

Source: KIP-848, "Online Migration"; ``convertToConsumerGroup``, ``convertToClassicGroup``,
``maybeDeleteEmptyClassicGroup``, ``maybeDeleteEmptyConsumerGroup`` of 4.4.0.

The module ``requests`` is imported when a request or timer of a consumer group first needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_modules

if TYPE_CHECKING:
    from protocols.groups.migration import requests

__all__ = ["requests"]

__getattr__ = lazy_modules(__name__, __all__)
