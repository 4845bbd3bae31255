"""How a member of a capture was set up: what its application was told, and what it assumes.

The application of the captures sets a few of Kafka's settings itself; only what a scenario said
beyond that is written in a trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emulator.conformance.captured.reading import CaptureError
from emulator.conformance.captured.traces import Trace

KAFKA = "c."
"""In a trace's ``conf`` Kafka's settings stand behind this."""

NAMES = ("group.id", "client.id", "group.instance.id", "group.protocol")
"""Settings that name or place a member; a scenario says them in its own words."""

RESET_POLICY = "earliest"
"""What the application uses where nothing else is said (Kafka's default is ``latest``)."""

POLL_TIMEOUT_US = 100_000
"""The application calls ``poll(100 ms)``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """One member's set-up."""

    member: str
    instance_id: str | None
    protocol: str
    """Its ``group.protocol``."""

    kafka: Mapping[str, str]
    """Kafka's consumer settings by name, as strings; those that name the member are left out."""

    topics: tuple[str, ...]
    """Real names; empty for a member that subscribes to a pattern."""

    pattern: str | None
    """Java's regular expression for the whole of a topic's real name."""

    mode: str
    """The commit mode (tests/captures/README.md)."""

    commit_every_us: int | None
    """Of the modes ``timer…``."""

    work_us: int
    """A record, nominally."""

    stops_in_batch: bool
    """SIGTERM leaves the batch after the record under work."""

    poll_timeout_us: int = POLL_TIMEOUT_US


def reset_policy(conf: Mapping[str, str]) -> str:
    """Return the ``auto.offset.reset`` in force."""
    return conf.get(f"{KAFKA}auto.offset.reset", RESET_POLICY)


def member_settings(trace: Trace) -> MemberSettings:
    """Return the set-up of a member; raise CaptureError if a number in it is none."""
    conf = trace.conf
    kafka = {
        key.removeprefix(KAFKA): value
        for key, value in sorted(conf.items())
        if key.startswith(KAFKA)
    }
    kafka.setdefault("auto.offset.reset", RESET_POLICY)
    kafka["enable.auto.commit"] = "true" if conf.get("mode") == "auto" else "false"
    topics = conf.get("topics", "")
    return MemberSettings(
        member=trace.member,
        instance_id=kafka.get("group.instance.id"),
        protocol=trace.protocol,
        kafka={name: value for name, value in kafka.items() if name not in NAMES},
        topics=tuple(topics.split(",")) if topics else (),
        pattern=conf.get("pattern"),
        mode=conf.get("mode", ""),
        commit_every_us=milliseconds(trace, "commitEvery"),
        work_us=milliseconds(trace, "work") or 0,
        stops_in_batch=conf.get("stop") == "midbatch",
    )


def milliseconds(trace: Trace, key: str) -> int | None:
    """Return a duration of a member's ``conf`` in us, None if it is not there.

    Raise CaptureError if it is no number.
    """
    given = trace.conf.get(key)
    if given is None:
        return None
    if not (given.isdecimal() and given.isascii()):
        problem = f"field `conf.{key}` is {given!r}; expected whole milliseconds"
        raise CaptureError(str(trace.path), problem, 1)
    return int(given) * 1000
