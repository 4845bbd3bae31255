"""The random worlds with periods, with members of the consumer protocol in them."""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

from .periodic_worlds import how_played, period_ms_of, periodic_world

Table = dict[str, Any]

CLASSIC_ONLY = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")
HEARTBEAT = "ConsumerGroupHeartbeat"


def periodic_consumer_world(seed: int) -> Table:
    """Return the scenario of a seed: all groups, one of them or single members speak KIP-848."""
    random = Random(f"protocols of periodic world {seed}")
    document = periodic_world(seed)
    first = document["group"][0]
    kind = random.choice(("all", "all", "first", "members"))
    if kind == "members":
        split(first, random)
    for group in document["group"] if kind == "all" else [first] if kind == "first" else []:
        speak(group)
        if random.randrange(3) == 0:
            group["wake_up"] = random.choice(("50us", "10ms"))
    set_brokers(document["cluster"]["settings"], period_ms_of(seed), random)
    document["fault"] = [_translated(fault) for fault in document["fault"]]
    return document


def how_consumers_played(seed: int) -> Table:
    """Return how to play the scenario of a seed: lags of threads repeat with its period."""
    return {**how_played(seed), "lags_repeat_us": 1_000 * period_ms_of(seed)}


def speak(group: Table) -> None:
    """Let all members of a group use the consumer protocol."""
    settings = {
        name: value for name, value in group["settings"].items() if name not in CLASSIC_ONLY
    }
    group["settings"] = {**settings, "group.protocol": "consumer"}


def split(group: Table, random: Random) -> None:
    """Let some members of a group use the other protocol."""
    classic = {name: group["settings"][name] for name in CLASSIC_ONLY}
    group["settings"] = {
        name: value for name, value in group["settings"].items() if name not in CLASSIC_ONLY
    }
    for number, member in enumerate(group["members"]):
        newer = number == 0 or random.randrange(2) == 0
        member["settings"] = {"group.protocol": "consumer"} if newer else classic


def set_brokers(settings: Table, period_ms: int, random: Random) -> None:
    """Let brokers ask for heartbeats after a whole part of the period."""
    beats = [period_ms // n for n in range(1, 9) if period_ms % n == 0 and period_ms // n >= 100]
    settings |= {
        "group.consumer.min.heartbeat.interval.ms": 50,
        "group.consumer.heartbeat.interval.ms": random.choice(beats),
        "group.consumer.min.session.timeout.ms": 1_000,
        "group.consumer.session.timeout.ms": random.choice((2_000, 3_000, 6_000)),
    }


def _translated(fault: Table) -> Table:
    """Return a fault that waits for the heartbeats of the consumer protocol."""
    found = dict(fault)
    for name in ("lose_message", "delay_message"):
        match = found.get(name)
        if match and match["kind"] in ("Heartbeat", "JoinGroup"):
            found[name] = {**match, "kind": HEARTBEAT}
    when = found.get("when")
    if when and when["step"] == "sent Heartbeat":
        found["when"] = {**when, "step": f"sent {HEARTBEAT}"}
    if found.get("settings") == {"heartbeat.interval.ms": 400}:
        found["settings"] = {"fetch.max.wait.ms": 400}
    return found
