"""Offsets of several partitions."""

from __future__ import annotations

from assignors.types import TopicPartition

Offsets = tuple[tuple[TopicPartition, int], ...]
"""Each partition with an offset in its log, in an order that the event says."""
