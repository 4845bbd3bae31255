"""The random worlds with periods, with clients in them that work in the background."""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

from protocols.consumer.clients import CLIENTS, Amount, profile_of

from .periodic_consumer_worlds import periodic_consumer_world
from .periodic_worlds import periodic_world

Table = dict[str, Any]

STRATEGY = "partition.assignment.strategy"
BACKGROUND = tuple(name for name in CLIENTS if profile_of(name).in_background)


def periodic_background_world(seed: int) -> Table:
    """Return the scenario of a seed: all groups, or single members, have one of these clients."""
    random = Random(f"clients of periodic world {seed}")
    document = periodic_world(seed)
    client = random.choice(BACKGROUND)
    for group in document["group"]:
        if random.randrange(4):
            _repeat_soon(document, group, random)
        give(group, client if random.randrange(8) else random.choice(BACKGROUND), random)
    return document


def background_consumer_world(seed: int) -> Table:
    """Return the scenario of a seed: members of the consumer protocol, and perhaps others, of librdkafka."""
    random = Random(f"clients of periodic consumer world {seed}")
    document = periodic_consumer_world(seed)
    for group in document["group"]:
        group.pop("wake_up", None)
        give(group, "librdkafka", random)
    return document


def _repeat_soon(document: Table, group: Table, random: Random) -> None:
    """Give a group intervals that fit to those of the clients: half a second, 250 ms, 100 ms."""
    document["lag_every"] = random.choice(("500ms", "1s"))
    for topic in document["topic"]:
        topic["rate"] = random.choice(("20/s", "10/s", "10/s", "5/s", "2/s"))
    group["settings"] |= {
        "heartbeat.interval.ms": random.choice((250, 500)),
        "auto.commit.interval.ms": random.choice((250, 500, 1_000)),
    }


def give(group: Table, client: str, random: Random) -> None:
    """Let the members of a group have a client, with a call and settings that it has."""
    profile = profile_of(client)
    call = random.choice(tuple(profile.reads))
    group |= {"client": client, "read_with": call}
    if profile.reads[call] is Amount.GIVEN:
        group["read_records"] = random.choice((1, 3, 500))
    if profile.stores and random.randrange(4) == 0:
        group["commit"] = random.choice(("store", "store per record"))
    if client == "franz-go" and group["commit"] == "auto" and random.randrange(3) == 0:
        group["settings"]["greedy.auto.commit"] = True
    group["settings"] = {
        name: _taken(value, profile.ranges.get(name))
        for name, value in group["settings"].items()
        if name not in profile.lacks
    }
    for settings in (group["settings"], *(m.get("settings", {}) for m in group["members"])):
        if STRATEGY in settings:
            settings[STRATEGY] = _assignor(settings[STRATEGY], profile.assignors)
            if group["settings"].get("max.poll.interval.ms"):
                settings["session.timeout.ms"] = 3_000


def _assignor(wanted: str, assignors: Any) -> str:
    """Return the client's name of an assignor, or of its first one."""
    names = [own for own, kafkas in assignors.items() if kafkas == wanted]
    return names[0] if names else next(iter(assignors))


def _taken(value: Any, bounds: tuple[int, int] | None) -> Any:
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])
