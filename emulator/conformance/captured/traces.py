"""Read the trace that one incarnation of a member wrote about itself, line by line.

A line is written at the end of its event: a record after its processing, a listener call after
its return. All times here are microseconds since the run's first instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.captured.reading import CaptureError, Fields, Place, read_objects

MARKS = ("subscribed", "hangend", "sigterm", "wakeup", "closing", "closed")
UNUSED = ("casync", "casyncdone")
"""Entries of commit modes whose outcome is in ``committed``."""

SLACK_US = 1_000_000
"""Two threads write one trace: a line may be this much older than the one before it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment in the lifetime of the process; ``kind`` is one of :data:`MARKS`."""

    at_us: int
    kind: str


@dataclass(frozen=True, slots=True)
class GenerationSeen:
    """The consumer's ``groupMetadata()`` changed."""

    at_us: int
    generation: int
    member_id: str


@dataclass(frozen=True, slots=True)
class Polled:
    """A poll that returned records: first and last offset per partition, in the returned order.

    Of a client that hands records out one by one: a record handed out (``g``).
    """

    at_us: int
    ranges: tuple[tuple[TopicPartition, int, int], ...]


@dataclass(frozen=True, slots=True)
class Worked:
    """One record was processed from ``began_us`` to ``at_us``."""

    at_us: int
    began_us: int
    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class Listened:
    """The rebalance listener ran from ``began_us`` to ``at_us``."""

    at_us: int
    began_us: int
    call: Literal["assigned", "revoked", "lost"]
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class SyncCommit:
    """commitSync was called; ``reason``: where in the application (``poll``, ``timer``, …)."""

    at_us: int
    began_us: int
    reason: str
    accepted: bool


@dataclass(frozen=True, slots=True)
class Committed:
    """The client handled the response to a successful commit, possibly an automatic one."""

    at_us: int
    thread: str
    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass(frozen=True, slots=True)
class Hung:
    """The handler began to hang on a record."""

    at_us: int
    lasting_us: int
    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class Raised:
    """The application caught an exception."""

    at_us: int
    text: str


Entry = Mark | GenerationSeen | Polled | Worked | Listened | SyncCommit | Committed | Hung | Raised


@dataclass(frozen=True, kw_only=True)  # without slots: it keeps its member ids
class Trace:
    """One incarnation of one member, with its entries in written order."""

    path: Path
    member: str
    incarnation: int
    started_us: int
    conf: Mapping[str, str]
    """The start-up settings: Kafka's with the prefix ``c.``, the application's without."""

    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The member and its incarnation, ``m1.2``."""
        return f"{self.member}.{self.incarnation}"

    @property
    def protocol(self) -> str:
        """Its ``group.protocol``."""
        return self.conf.get("c.group.protocol", "classic")

    def marked_us(self, kind: str) -> int | None:
        """Return the time of the first mark of a kind, or None."""
        return next((e.at_us for e in self.entries if isinstance(e, Mark) and e.kind == kind), None)

    def ended_us(self) -> int:
        """Return the time of the last entry."""
        return self.entries[-1].at_us if self.entries else self.started_us

    def worked(self) -> Iterator[Worked]:
        """Yield the records in the order of their processing."""
        return (entry for entry in self.entries if isinstance(entry, Worked))

    @cached_property
    def member_ids(self) -> tuple[str, ...]:
        """The member ids it had, in order."""
        seen = (e.member_id for e in self.entries if isinstance(e, GenerationSeen))
        return tuple(dict.fromkeys(member_id for member_id in seen if member_id))


@dataclass(frozen=True, slots=True)
class Units:
    """Convert a capture's own terms to the emulator's."""

    origin: int
    """Epoch microseconds of the run's first instant."""

    prefix: str
    """The prefix of the topics' real names."""

    def time(self, fields: Fields, key: str) -> int:
        """Read an epoch time as microseconds since the run began."""
        at_us = fields.whole(key) - self.origin
        if at_us < 0:
            raise fields.place.error(
                f"inconsistent times: `{key}` lies {-at_us} us before the run began (meta.json)"
            )
        return at_us

    def span(self, fields: Fields) -> tuple[int, int]:
        """Read the end and the beginning of an event (fields ``b`` and ``a``)."""
        began_us, at_us = self.time(fields, "a"), self.time(fields, "b")
        if at_us < began_us:
            raise fields.place.error(
                f"inconsistent times: it ends (`b`) {began_us - at_us} us before it begins (`a`)"
            )
        return at_us, began_us

    def partition(self, text: str, place: Place) -> TopicPartition:
        """Read ``t0-3`` as a partition of the topic with its real name."""
        topic, dash, number = text.rpartition("-")
        if not (dash and topic and number.isdecimal() and number.isascii()):
            raise place.error(f"{text!r} is not a partition; expected TOPIC-NUMBER")
        return TopicPartition(self.prefix + topic, int(number))

    def partitions(self, fields: Fields, key: str) -> tuple[TopicPartition, ...]:
        """Read a list of partitions."""
        return tuple(self.partition(text, fields.place) for text in fields.texts(key))

    def offsets(self, fields: Fields, key: str) -> tuple[tuple[TopicPartition, int], ...]:
        """Read an object of offsets by partition, in its order."""
        table = fields.table(key)
        return tuple((self.partition(p, fields.place), table.count(p)) for p in table)


def read_trace(path: Path, units: Units) -> Trace:
    """Read one ``<member>.<incarnation>.jsonl.gz``; raise CaptureError if it is invalid."""
    member, _, number = path.name.removesuffix(".jsonl.gz").rpartition(".")
    if not (member and number.isdecimal() and number.isascii()):
        raise CaptureError(str(path), "a trace is called MEMBER.INCARNATION.jsonl.gz")
    lines = read_objects(path)
    first = next(lines, None)
    if first is None:
        raise CaptureError(str(path), "the trace is empty")
    if first.text("e") != "started":
        raise first.place.error("a trace begins with an entry `started`")
    conf = first.table("conf")
    return Trace(
        path=path,
        member=member,
        incarnation=int(number),
        started_us=units.time(first, "t"),
        conf={key: conf.text(key) for key in conf},
        entries=tuple(_in_order(lines, units)),
    )


def _in_order(lines: Iterator[Fields], units: Units) -> Iterator[Entry]:
    latest_us = worked_us = 0
    for fields in lines:
        if fields.text("e") in UNUSED:
            continue
        entry = _entry(fields, units)
        if entry.at_us < latest_us - SLACK_US:
            raise fields.place.error(
                f"inconsistent times: {latest_us - entry.at_us} us older than an entry above it"
            )
        latest_us = max(latest_us, entry.at_us)
        if isinstance(entry, Worked):
            if entry.began_us < worked_us:
                raise fields.place.error(
                    f"inconsistent times: processing begins {worked_us - entry.began_us} us before "
                    "that of an entry above it ends"
                )
            worked_us = entry.at_us
        yield entry


def _entry(fields: Fields, units: Units) -> Entry:
    match fields.text("e"):
        case "r":
            partition = units.partition(fields.text("p"), fields.place)
            return Worked(*units.span(fields), partition, fields.count("o"))
        case "poll" | "g" as kind:
            ranges = _ranges(fields, units) if kind == "poll" else _handed_out(fields, units)
            return Polled(units.time(fields, "t"), ranges)
        case "assigned" | "revoked" | "lost" as call:
            return Listened(*units.span(fields), call, units.partitions(fields, "ps"))
        case "meta":
            at_us = units.time(fields, "t")
            return GenerationSeen(at_us, fields.whole("gen"), fields.text("member"))
        case "committed":
            at_us = units.time(fields, "t")
            return Committed(at_us, fields.text("th"), units.offsets(fields, "o"))
        case "csync":
            return SyncCommit(*units.span(fields), fields.text("why"), fields.flag("ok"))
        case "hang":
            partition = units.partition(fields.text("p"), fields.place)
            lasting_us = fields.count("ms") * 1000
            return Hung(units.time(fields, "t"), lasting_us, partition, fields.count("o"))
        case "exc":
            return Raised(units.time(fields, "t"), str(dict(fields.values)))
        case kind if kind in MARKS:
            return Mark(units.time(fields, "t"), kind)
        case kind:
            raise fields.place.error(f"unknown kind of entry {kind!r}")


def _handed_out(fields: Fields, units: Units) -> tuple[tuple[TopicPartition, int, int], ...]:
    partition, offset = units.partition(fields.text("p"), fields.place), fields.count("o")
    return ((partition, offset, offset),)


def _ranges(fields: Fields, units: Units) -> tuple[tuple[TopicPartition, int, int], ...]:
    table = fields.table("ps")
    ranges = []
    for text in table:
        bounds = table.counts(text)
        if len(bounds) != 2 or bounds[0] > bounds[1]:
            raise table.wrong(text, "[first offset, last offset]")
        ranges.append((units.partition(text, fields.place), bounds[0], bounds[1]))
    if sum(last - first + 1 for _, first, last in ranges) != fields.count("n"):
        raise fields.wrong("n", "as many records as `ps` has")
    return tuple(ranges)


KAFKA = "c."
"""The prefix of Kafka's settings in a trace's ``conf``."""

NAMES = ("group.id", "client.id", "group.instance.id", "group.protocol")
"""Settings that name or place a member; a scenario has its own keys for them."""

RESET_POLICY = "earliest"
"""The application's default (Kafka's default is ``latest``)."""

POLL_TIMEOUT_US = 100_000
"""The application calls ``poll(100 ms)``."""

LIBRARIES = {"confluent": "librdkafka", "aiokafka": "aiokafka", "kafkapython": "kafka-python"}
"""The capture's names of client libraries (``lib``), and those of a scenario; without it: Java."""

STYLES = {"poll": "poll", "getone": "getone", "getmany": "getmany", "iter": "iterator"}
"""The calls that hand records out (``style``), and those of a scenario."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """The settings of one member."""

    member: str
    instance_id: str | None
    protocol: str
    """Its ``group.protocol``."""

    client: str
    """The client library, as a scenario names it."""

    read_with: str | None
    """The call that hands records out; None: the client's usual one."""

    kafka: Mapping[str, str]
    """Kafka's consumer settings by name, as strings, without those that name the member."""

    topics: tuple[str, ...]
    """Real names; empty for a member that subscribes to a pattern."""

    pattern: str | None
    """Java regular expression that matches the whole of a topic's real name."""

    pattern_by: Literal["client", "broker"]
    """Where the pattern is matched."""

    mode: str
    """The commit mode (tests/captures/README.md)."""

    commit_every_us: int | None
    """For the modes ``timer…``."""

    work_us: int
    """Nominal processing time of a record."""

    stops_in_batch: bool
    """Whether SIGTERM ends the batch after the record in progress."""

    poll_timeout_us: int = POLL_TIMEOUT_US
    listener_us: int = 0
    """Nominal duration of a call of its rebalance listener, without commits."""


def reset_policy(conf: Mapping[str, str]) -> str:
    """Return the ``auto.offset.reset`` in force."""
    return conf.get(f"{KAFKA}auto.offset.reset", RESET_POLICY)


def member_settings(trace: Trace) -> MemberSettings:
    """Return the settings of a member; raise CaptureError if a number is invalid."""
    conf = trace.conf
    given = sorted(conf.items())
    kafka = {key.removeprefix(KAFKA): value for key, value in given if key.startswith(KAFKA)}
    kafka.setdefault("auto.offset.reset", RESET_POLICY)
    automatic = conf.get("mode") in ("auto", "store")
    kafka["enable.auto.commit"] = "true" if automatic else "false"
    topics = conf.get("topics", "")
    return MemberSettings(
        member=trace.member,
        instance_id=kafka.get("group.instance.id"),
        protocol=trace.protocol,
        client=LIBRARIES.get(conf.get("lib", ""), "java"),
        read_with=STYLES.get(conf.get("style", "")),
        kafka={name: value for name, value in kafka.items() if name not in NAMES},
        topics=tuple(topics.split(",")) if topics else (),
        pattern=conf.get("pattern"),
        pattern_by="broker" if conf.get("patternBy") == "broker" else "client",
        mode=conf.get("mode", ""),
        commit_every_us=milliseconds(trace, "commitEvery"),
        work_us=milliseconds(trace, "work") or 0,
        stops_in_batch=conf.get("stop") == "midbatch",
        poll_timeout_us=milliseconds(trace, "pollTimeout") or POLL_TIMEOUT_US,
        listener_us=milliseconds(trace, "listener") or 0,
    )


def milliseconds(trace: Trace, key: str) -> int | None:
    """Return a duration of a member's ``conf`` in microseconds, or None if it is missing.

    Raise CaptureError if it is not a number.
    """
    given = trace.conf.get(key)
    if given is None:
        return None
    if not (given.isdecimal() and given.isascii()):
        problem = f"field 'conf.{key}' is {given!r}; expected whole milliseconds"
        raise CaptureError(str(trace.path), problem, 1)
    return int(given) * 1000
