"""What the coordinator's log says of a group of the consumer protocol: its lines, and topic ids."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from emulator.conformance.captured.coordinator_log import CoordinatorLine, offset_lines
from protocols.offsets_topic.records.wire import uuid_bytes

GROUP = r"\[GroupId [^\]]+\] "
_ID = r"[A-Za-z0-9_-]{22}"
COMPUTED = re.compile(
    rf"{GROUP}Computed a new target assignment for epoch (\d+) with '([^']*)' assignor"
    r" in \d+ms: \{(.*)\}"
)
"""Epoch, assignor, and everybody's share."""

NUMBERS = re.compile(rf"({_ID})=\[([^\]]*)\]")
"""In a share: topic id, numbers of partitions."""

MOVED = re.compile(
    rf"{GROUP}Member (\S+) new assignment state: epoch=(-?\d+), previousEpoch=-?\d+,"
    r" state=(\w+), assignedPartitions=\[([^\]]*)\] and revokedPartitions=\[([^\]]*)\]"
)
"""Member id, epoch, state, what it has, and what it is to give up."""

OWNED = re.compile(rf"({_ID})-(\d+)@")
"""In these: topic id and number of a partition."""


def topic_ids(lines: Sequence[CoordinatorLine], topics: Sequence[str]) -> dict[str, str]:
    """Return the ids of topics, by name, as far as the log tells them.

    Committed offsets have both; an id nobody committed with is that of the topic left over.
    """
    _, told = offset_lines(lines, topics)
    ids = {topic: found for topic, found in told.items() if _is_id(found)}
    unnamed = [topic for topic in topics if topic not in ids]
    seen = {found for line in lines for found in _ids(line.text)} - set(ids.values())
    if len(unnamed) == len(seen) == 1 and all(map(_is_id, seen)):
        ids[unnamed[0]] = seen.pop()
    return ids


def _is_id(text: str) -> bool:
    """Say whether this is an id as Kafka prints it; logs that were cut off may hold others."""
    try:
        uuid_bytes(text)
    except struct.error:
        return False
    return True


def _ids(text: str) -> list[str]:
    if match := COMPUTED.match(text):
        return [found[1] for found in NUMBERS.finditer(match[3])]
    match = MOVED.match(text)
    return [found[1] for found in OWNED.finditer(match[4] + match[5])] if match else []
