"""Changes of the course of events: what an operator or an application does otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from emulator.advice.drafts import Draft, Make
from emulator.advice.situation import Situation
from emulator.report.wording import duration, joined
from emulator.scenario.model import Close, CreateTopic, DeleteTopic, FailListener, Scenario
from emulator.scenario.patterns import client_matcher
from emulator.scenario.resolution import subscription_of
from emulator.scenario.toml import toml_value
from emulator.scenario.units import US_PER_S, format_duration
from emulator.scenario.writing import dump

STOPPED_US: Final = 5 * US_PER_S
"""How long before the deletion of a topic its group is stopped, and how long after the creation it
starts: it closes and commits meanwhile."""


def catch_in_listener(situation: Situation) -> Draft | None:
    """The listener catches its exceptions; played: it throws in no call."""
    names = situation.names
    faults = [
        fault
        for fault in situation.scenario.fault
        if isinstance(fault, FailListener) and fault.member in names and fault.lasting > 1
    ]
    if not faults:
        return None
    members = joined(list(dict.fromkeys(fault.member for fault in faults)))
    return Draft(
        f"The rebalance listener of {members} throws, and its partitions are not read.",
        ("try … catch in the rebalance listener (played: it throws in no call)",),
        tuple(f"act[{fault.id}].for=1us" for fault in faults),
    )


def stop_before_recreation(situation: Situation) -> Draft | None:
    """The group is stopped before a topic is deleted, and starts when it exists again."""
    found = next(_recreated(situation), None)
    if found is None:
        return None
    deleted_us, created_us, topic = found
    begin_us = deleted_us - STOPPED_US
    members = [each.name for each in situation.group.members if each.start == 0]
    if begin_us <= 0 or not members:
        return None
    away = format_duration(created_us - begin_us + STOPPED_US)
    at = format_duration(begin_us)
    return Draft(
        f"Members had partitions of the old {topic} when the new one was created.",
        (f"stop {situation.group.id} before {topic} is deleted; start it when it exists again",),
        tuple(
            f"act+={toml_value({'close': name, 'at': at, 'restart_after': away})}"
            for name in members
        ),
    )


def _recreated(situation: Situation) -> Iterator[tuple[int, int, str]]:
    """Yield when a topic is deleted, when it is created again, and its name."""
    acts = situation.scenario.fault
    for act in acts:
        if not isinstance(act, DeleteTopic) or not isinstance(act.at, int):
            continue
        later = [
            each.at
            for each in acts
            if isinstance(each, CreateTopic)
            and each.topic == act.topic
            and isinstance(each.at, int)
            and each.at > act.at
        ]
        if later:
            yield act.at, min(later), act.topic


def stable_topics(situation: Situation) -> Draft | None:
    """A pattern that matches only topics that exist during the whole run."""
    group, scenario = situation.group, situation.scenario
    if group.pattern is None:
        return None
    deleted = {act.topic for act in scenario.fault if isinstance(act, DeleteTopic)}
    matches = client_matcher(group.pattern)
    matched = [each for each in scenario.topic if matches(each.name)]
    stay = [each.name for each in matched if each.created == 0 and each.name not in deleted]
    others = [each.name for each in matched if each.name not in stay]
    if not stay or not others:
        return None
    pattern = "|".join(map(re.escape, stay))
    return Draft(
        f"{group.pattern} also matches {joined(others)}, which come or go.",
        (f"subscribe to {joined(stay)}",),
        (f"group[{group.id}].pattern={toml_value(pattern)}",),
    )


def separate_groups(situation: Situation) -> Draft | None:
    """Members that read other topics than the first one are a group of their own."""
    group = situation.group
    topics = {each.name: subscription_of(group, each)[0] for each in group.members}
    first, *others = topics
    beside = [
        name for name in others if topics[name] and set(topics[name]).isdisjoint(topics[first])
    ]
    known = {each.id for each in situation.scenario.group}
    if not topics[first] or not beside or any(topics[name] != topics[beside[0]] for name in beside):
        return None
    name = f"{group.id}-{topics[beside[0]][0]}"
    if name in known:
        return None
    written = _written(situation.scenario)
    whole = next(each for each in written if each["id"] == group.id)
    rest, moved = (
        [each for each in whole["member"] if (each["name"] in beside) is is_moved]
        for is_moved in (False, True)
    )
    one, other = whole | {"member": rest}, whole | {"id": name, "member": moved}
    groups = [each for old in written for each in ((one, other) if old is whole else (old,))]
    return Draft(
        f"{joined(beside)} read other topics than {first}, with the same group.id.",
        (f"group.id={name} for {joined(beside)}",),
        (f"group={toml_value(groups)}",),
    )


def _written(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the tables of all groups as a file has them."""
    return list(dump(scenario)["group"])


def keep_group_id(situation: Situation) -> Draft | None:
    """The new processes have the old group id; played: the old group is started again."""
    new = situation.group
    old = next((each for each in situation.scenario.group if each.id == new.replaces), None)
    starts = [each.start for each in new.members if isinstance(each.start, int)]
    if old is None or len(starts) != len(new.members):
        return None
    names = {each.name for each in old.members}
    closed = [
        act
        for act in situation.scenario.fault
        if isinstance(act, Close) and act.member in names and act.restart_after is None
    ]
    times = [act.at for act in closed if isinstance(act.at, int)]
    if len(times) != len(closed) or {act.member for act in closed} != names:
        return None
    back_us = [max(US_PER_S, min(starts) - at_us) for at_us in times]
    kept = [each for each in _written(situation.scenario) if each["id"] != new.id]
    return Draft(
        f"{new.id} starts without offsets, {duration(min(back_us) / US_PER_S)} after {old.id} has "
        "committed its own.",
        (f"group.id={old.id} for the new processes (played: {old.id} starts again)",),
        (
            *(
                f"act[{act.id}].restart_after={format_duration(us)}"
                for act, us in zip(closed, back_us, strict=True)
            ),
            f"group={toml_value(kept)}",
        ),
    )


COMPACTED: Final = 100
"""A compacted offsets topic is this many times smaller."""


def compacted_offsets(situation: Situation) -> Draft | None:
    """The offsets topic is compacted; played: a hundredth of its bytes and records."""
    cluster = situation.scenario.cluster
    if not cluster.offsets_backlog:
        return None
    records = (cluster.offsets_backlog_records or 0) // COMPACTED
    return Draft(
        f"The offsets partition of the group has {cluster.offsets_backlog:,} bytes when the run begins.",
        ("log.cleaner.enable=true, and a smaller offsets.topic.segment.bytes",),
        (
            f"cluster.offsets_backlog={max(1, cluster.offsets_backlog // COMPACTED)}B",
            *([f"cluster.offsets_backlog_records={records}"] if records else []),
        ),
    )


COURSE_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "catch-in-listener": (("catch-in-listener", catch_in_listener),),
    "keep-group-id": (("keep-group-id", keep_group_id),),
    "separate-groups": (("separate-groups", separate_groups),),
    "stable-topics": (("stable-topics", stable_topics),),
    "shorter-load": (("compacted-offsets", compacted_offsets),),
    "stop-before-recreation": (("stop-before-recreation", stop_before_recreation),),
}
"""For each hint its changes."""
