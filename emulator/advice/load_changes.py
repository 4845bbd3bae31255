"""Changes for groups whose members cannot process what arrives."""

from __future__ import annotations

from emulator.advice.drafts import MARGIN, STRATEGY, Draft, consumer
from emulator.advice.situation import Situation


def more_members(situation: Situation) -> Draft | None:
    """Members that can process what arrives, with a margin, as far as there are partitions."""
    load = situation.load
    if load is None or not load.is_overload or load.hottest_arrival > load.fastest:
        return None
    needed = round(load.arrival * MARGIN / (load.capacity / load.members) + 0.5)
    if load.members >= min(needed, load.partitions):
        return None
    value = min(needed, load.partitions)
    why = (
        f"{load.arrival:,.0f} records arrive per second, and {load.members} members process "
        f"{load.capacity:,.0f}."
    )
    group = situation.group.id
    return Draft(why, (f"members of {group}: {value}",), (f"group[{group}].members={value}",))


def even_members(situation: Situation) -> Draft | None:
    """The next number of members of which each has as many partitions."""
    load, group = situation.load, situation.group.id
    if load is None or not load.even_members:
        return None
    value = load.even_members
    return Draft(
        f"{load.partitions} partitions are {load.partitions // value} for each of {value} members.",
        (f"members of {group}: {value}",),
        (f"group[{group}].members={value}",),
    )


def balance_over_topics(situation: Situation) -> Draft | None:
    """An assignor that counts the partitions of all topics together."""
    facts = situation.facts
    if facts.by_coordinator or facts.shared or facts.mixed:
        return None
    return consumer(
        situation, STRATEGY, "roundrobin", f"{facts.assignors[0]} assigns topic by topic."
    )
