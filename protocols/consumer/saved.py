"""The state of a consumer's reads at an instant, relative to its positions: it may come again."""

from __future__ import annotations

from typing import NamedTuple

from assignors.types import TopicPartition
from protocols.messages import EpochStart


class SavedPositions(NamedTuple):
    """What changes beside the positions while records are polled, and nothing else happens."""

    readings: tuple[tuple[TopicPartition, tuple[EpochStart, ...]], ...]
    by_leader: tuple[tuple[int, tuple[TopicPartition, ...]], ...]


class SavedFetcher(NamedTuple):
    """What changes in a fetcher meanwhile."""

    positions: SavedPositions
    in_flight: frozenset[int]
    buffer: tuple[tuple[TopicPartition, int, int], ...]
    epochs: tuple[tuple[EpochStart, ...], ...]
    """Of each part of the buffer."""

    drains: bool
    """Whether records were taken from the first of the buffer."""
