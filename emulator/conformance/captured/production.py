"""How records were produced in a captured run, from ``meta.json``."""

from __future__ import annotations

from collections.abc import Sequence

from assignors.values import dataclass
from emulator.conformance.captured.reading import Fields
from emulator.conformance.captured.traces import Units

RECORD_BYTES = 100
"""The records of captures whose ``meta.json`` has no size are small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Production:
    """The records produced to a topic: record k of partition p has a time at which it is due.

    This time is ``start_us + (k * partitions + p) * tick_ns / 1000``, its offset ``preload + k``.
    """

    topic: str
    partitions: int
    rate: float
    """Records per second and partition."""

    preload: int
    """Records in each partition before ``start_us``."""

    record_bytes: int
    """The size of a record's value."""

    preload_when_formed: bool
    """Whether they came after the group formed, just before ``start_us``; else before the run."""

    created_us: int
    start_us: int
    tick_ns: int
    stop_us: int
    ends: tuple[int, ...]
    """End offset of each partition, including added ones."""

    retention_us: int | None = None
    """Records older than this are deleted; None: they are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """The production to a topic that was deleted and created again, until it was deleted.

    Records were due at the times of :class:`Production`.
    """

    topic: str
    partitions: int
    preload: int
    created_us: int
    start_us: int
    tick_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Partitions ``first`` to ``to`` (exclusive) of a topic, added and produced to during the run.

    Record k of partition p is due at ``start_us + (k * (to - first) + p - first) * tick_ns / 1000``.
    """

    topic: str
    first: int
    to: int
    start_us: int
    tick_ns: int


def read_productions(meta: Fields, units: Units, plan: Fields) -> tuple[Production, ...]:
    """Read how records are produced to each topic."""
    produce = meta.table("produce")
    topics = [topic for topic in produce if not topic.endswith("+")]
    return tuple(_production(topic, produce.table(topic), units, plan) for topic in topics)


def _production(topic: str, fields: Fields, units: Units, plan: Fields) -> Production:
    if fields.count("partitions") > len(fields.counts("end")):
        raise fields.wrong("end", "the end of each partition")
    kept = fields.count("retention_ms") * 1_000 if "retention_ms" in fields else None
    planned = [table for table in plan.tables("topics") if table.text("name") == topic]
    return Production(
        topic=units.prefix + topic,
        partitions=fields.count("partitions"),
        rate=fields.number("rate"),
        preload=fields.count("preload"),
        record_bytes=fields.count("record_bytes") if "record_bytes" in fields else RECORD_BYTES,
        preload_when_formed=any(table.flag("preload_when_formed") for table in planned),
        created_us=units.time(fields, "t_created"),
        start_us=units.time(fields, "t_start"),
        tick_ns=fields.count("tick_ns"),
        stop_us=units.time(fields, "t_stop"),
        ends=tuple(fields.counts("end")),
        retention_us=kept or None,
    )


def read_additions(meta: Fields, units: Units) -> tuple[Addition, ...]:
    """Read how records are produced to added partitions; the key is the topic's name and ``+``."""
    produce = meta.table("produce")
    added = [(topic, produce.table(topic)) for topic in produce if topic.endswith("+")]
    return tuple(
        Addition(
            topic=units.prefix + topic.removesuffix("+"),
            first=fields.count("from"),
            to=fields.count("to"),
            start_us=units.time(fields, "t_start"),
            tick_ns=fields.count("tick_ns"),
        )
        for topic, fields in added
    )


def deleted(meta: Fields) -> Sequence[Fields]:
    """Return what ``meta.json`` has about topics that were deleted and created again."""
    return meta.tables("former") if "former" in meta else []


def read_formers(meta: Fields, units: Units) -> tuple[Former, ...]:
    """Read how records were produced to topics that were deleted and created again."""
    return tuple(
        Former(
            topic=units.prefix + fields.text("topic"),
            partitions=fields.count("partitions"),
            preload=fields.count("preload"),
            created_us=units.time(fields, "t_created"),
            start_us=units.time(fields, "t_start"),
            tick_ns=fields.count("tick_ns"),
        )
        for fields in deleted(meta)
    )
