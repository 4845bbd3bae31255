"""The rates of partitions that follow from the keys of records, as Kafka's producer places them."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import lru_cache
from itertools import accumulate

from emulator.scenario.model import Topic

_SEED, _M, _R = 0x9747B28C, 0x5BD1E995, 24
_32_BITS = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Return the 32-bit murmur2 hash of a key, without a sign (``Utils.murmur2``)."""
    digest = (_SEED ^ len(key)) & _32_BITS
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _M & _32_BITS
        word = (word ^ word >> _R) * _M & _32_BITS
        digest = digest * _M & _32_BITS ^ word
    if rest := key[whole:]:
        digest = (digest ^ int.from_bytes(rest, "little")) * _M & _32_BITS
    digest = (digest ^ digest >> 13) * _M & _32_BITS
    return digest ^ digest >> 15


def partition_of(key: str, partitions: int) -> int:
    """Return the partition of a key (``BuiltInPartitioner.partitionForKey``)."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


def factors_of(topic: Topic) -> tuple[float, ...]:
    """Return for each partition how many times the mean rate it gets, by the keys of a topic."""
    keys = topic.keys
    assert keys is not None, "only topics with keys have them"
    return _factors(keys.count, keys.zipf, hot_shares(topic), topic.partitions)


def hot_shares(topic: Topic) -> tuple[tuple[str, float], ...]:
    """Return the named keys of a topic, each with the share of its records; split keys by part."""
    keys = topic.keys
    if keys is None:
        return ()
    if keys.split == 1:
        return tuple(keys.hot.items())
    return tuple(
        (f"{name}-{part}", share / keys.split)
        for name, share in keys.hot.items()
        for part in range(keys.split)
    )


def hottest_key(topic: Topic, partition: int) -> tuple[str, float]:
    """Return the named key with the most records in a partition, and its share of the topic."""
    here = [one for one in hot_shares(topic) if partition_of(one[0], topic.partitions) == partition]
    return max(here, key=lambda one: one[1], default=("", 0.0))


def key_at(topic: Topic, partition: int, drawn: float) -> str:
    """Return the key of a record of a partition, by a draw in [0, 1): as frequent as its share."""
    assert topic.keys is not None, "only topics with keys have them"
    keys = topic.keys.count, topic.keys.zipf, hot_shares(topic), topic.partitions
    names, ends = _keys_in(*keys, partition)
    return names[min(bisect_right(ends, drawn * ends[-1]), len(names) - 1)]


@lru_cache(maxsize=256)
def _keys_in(
    count: int, zipf: float, hot: tuple[tuple[str, float], ...], partitions: int, partition: int
) -> tuple[list[str], list[float]]:
    """Return the keys of a partition, and the sum of the shares of each and of those before it."""
    weights = [rank**-zipf for rank in range(1, count + 1)]
    left = (1 - sum(share for _, share in hot)) / sum(weights)
    places = _places(count, partitions)
    here = [(name, share) for name, share in hot if partition_of(name, partitions) == partition]
    here += [(f"key-{n}", weights[n] * left) for n in range(count) if places[n] == partition]
    return [name for name, _ in here], list(accumulate(share for _, share in here))


@lru_cache(maxsize=64)
def _factors(
    count: int, zipf: float, hot: tuple[tuple[str, float], ...], partitions: int
) -> tuple[float, ...]:
    found = defaultdict[int, float](float)
    for name, share in hot:
        found[partition_of(name, partitions)] += share
    weights = [rank**-zipf for rank in range(1, count + 1)]
    left = (1 - sum(share for _, share in hot)) / sum(weights)
    places = _places(count, partitions)
    for number, weight in enumerate(weights):
        found[places[number]] += weight * left
    return tuple(round(found[number] * partitions, 6) for number in range(partitions))


@lru_cache(maxsize=8)
def _places(count: int, partitions: int) -> list[int]:
    """Return the partition of each key without a name: ``key-0``, ``key-1`` and so on."""
    return [partition_of(f"key-{number}", partitions) for number in range(count)]
