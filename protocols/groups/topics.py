"""The topics in the metadata of a coordinator's broker, and their hashes.

A coordinator looks topics up by name (as in subscriptions) and by id (as in its log).

Source: ``CoordinatorMetadataImage``, ``Utils.computeTopicHash``, ``computeGroupHash`` of Kafka
4.4.0 (KIP-1101). The hashed bytes were verified with the hash of a real group.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

import xxhash

from assignors.java import string_order, uuid_hash
from protocols.messages import TopicDescription
from protocols.offsets_topic.records.wire import uuid_bytes

_VERSION = b"\0"
"""Version of the hash input of a topic."""

_SIGN = 1 << 63


@lru_cache(maxsize=1 << 12)
def topic_id_bytes(topic_id: str) -> bytes:
    """Return the 16 bytes of a topic id given as text."""
    return uuid_bytes(topic_id)


@lru_cache(maxsize=1 << 12)
def topic_id_hash(topic_id: str) -> int:
    """Return ``Uuid.hashCode()`` of a topic id given as text; it orders Kafka's maps of ids."""
    return uuid_hash(topic_id_bytes(topic_id))


class TopicsImage:
    """All topics at one version of the cluster's metadata; never changes."""

    __slots__ = ("_hashes", "by_name", "name_of", "names_since", "version")

    def __init__(
        self, topics: Iterable[TopicDescription] = (), version: int = 0, names_since: int = -1
    ) -> None:
        """Take *topics* as of metadata *version*; the last new one came with *names_since*."""
        self.by_name: Mapping[str, TopicDescription] = MappingProxyType(
            {topic.name: topic for topic in topics}
        )
        self.name_of: Mapping[str, str] = MappingProxyType(
            {topic.topic_id: topic.name for topic in self.by_name.values()}
        )
        self.version = version
        self.names_since = names_since
        self._hashes: dict[str, int] = {}

    def id_of(self, name: str) -> str | None:
        """Return the id of the topic with that name, or None."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.topic_id

    def followed_by(self, topics: Iterable[TopicDescription], version: int) -> TopicsImage:
        """Return the image that comes after this one."""
        listed = tuple(topics)
        grows = not {topic.name for topic in listed} <= self.by_name.keys()
        return TopicsImage(listed, version, version if grows else self.names_since)

    def differs(self, other: TopicsImage) -> frozenset[str]:
        """Return the names of topics that are not the same in both."""
        ours, theirs = self.by_name, other.by_name
        return frozenset(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))

    def hash_of(self, names: Iterable[str]) -> int:
        """Return the hash of some topics that a group subscribes to; 0 if none of them exists."""
        known = [name for name in names if name in self.by_name]
        hashes = [self._topic_hash(name) for name in sorted(known, key=string_order)]
        return _signed_hash(struct.pack(f"<{len(hashes)}q", *hashes)) if hashes else 0

    def _topic_hash(self, name: str) -> int:
        if name not in self._hashes:
            self._hashes[name] = topic_hash(self.by_name[name])
        return self._hashes[name]


def topic_hash(topic: TopicDescription) -> int:
    """Return the 64-bit hash of the properties of a topic that affect an assignment.

    These are its id, name and number of partitions, and the racks of each partition's replicas.
    """
    high, low = struct.unpack(">qq", topic_id_bytes(topic.topic_id))
    count = len(topic.leaders)
    parts = [_VERSION, struct.pack("<qq", high, low), _text(topic.name), struct.pack("<i", count)]
    for number in range(count):
        parts.append(struct.pack("<i", number))
        racks = topic.racks[number] if number < len(topic.racks) else ()
        for rack in sorted(racks, key=string_order):
            parts += (struct.pack("<i", _length(rack)), _text(rack))
    return _signed_hash(b"".join(parts))


def _text(text: str) -> bytes:
    """Return the hash input of a text: its UTF-16 units followed by their number."""
    return text.encode("utf-16-le", "surrogatepass") + struct.pack("<i", _length(text))


def _length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _signed_hash(content: bytes) -> int:
    value = xxhash.xxh3_64_intdigest(content)
    return value - 2 * _SIGN if value >= _SIGN else value
