"""Records that take long or fail: checks of their rules, and the topics they are forwarded to."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping

from emulator.scenario.checks.cluster import most_partitions, named_twice, unknown
from emulator.scenario.model import Group, Member, OwnHandler, Poison, Scenario, Topic
from emulator.scenario.patterns import CostlyPatternError, client_matcher
from emulator.scenario.problems import Problem, hint
from emulator.scenario.resolution import client_of, subscription_of
from emulator.scenario.tables.handlers import KEYS


def forwarded_topics(scenario: Scenario) -> frozenset[str]:
    """Return the topics of a scenario to which failed records are sent."""
    known = frozenset(topic.name for topic in scenario.topic)
    found = {name for group in scenario.group for name in _forwarded_by(group, scenario)}
    return known & found


def _forwarded_by(group: Group, scenario: Scenario) -> set[str]:
    """Return the topics to which a group sends failed records."""
    rules = [rule for rule in group.poison if rule.forwards]
    read = read_by(group, scenario) if rules else set()
    found = {name for rule in rules for name in _targets(rule, read)}
    if isinstance(group.handler, OwnHandler):
        found.update(group.handler.forwards)
    return found


def _targets(rule: Poison, read: set[str]) -> set[str]:
    """Return the topics to which a rule may send records; *read*: the topics of its group."""
    return {rule.target(topic) for topic in _sources(rule, read)}


def read_by(group: Group, scenario: Scenario) -> set[str]:
    """Return the topics of a scenario that some member of a group reads."""
    found: set[str] = set()
    for member in group.members:
        topics, pattern = subscription_of(group, member)
        found.update(topics)
        if pattern is not None:
            found.update(topic.name for topic in scenario.topic if _matches(pattern, topic))
    return found


def with_keys(names: Container[str], scenario: Scenario) -> str:
    """Return the first of some topics that has ``keys``; empty if none has."""
    return next((t.name for t in scenario.topic if t.name in names and t.keys is not None), "")


def _matches(pattern: str, topic: Topic) -> bool:
    try:
        return client_matcher(pattern)(topic.name)
    except (
        re.error,
        RecursionError,
        OverflowError,
        CostlyPatternError,
    ):  # another check reports it
        return False


def reads_forwarded(scenario: Scenario, group: Group, member: Member) -> bool:
    """Return whether a member may read a topic to which failed records are sent."""
    fed = forwarded_topics(scenario)
    topics, pattern = subscription_of(group, member)
    return bool(fed) and (pattern is not None or not fed.isdisjoint(topics))


# -- checks --------------------------------------------------------------------------------------


def poison_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of the rules of a group."""
    path = f"group[{group.id}].poison"
    read = read_by(group, scenario) if group.poison else set()
    topics = {topic.name: topic for topic in scenario.topic}
    partitions = most_partitions(scenario)
    for number, rule in enumerate(group.poison):
        yield from _place_problems(f"{path}[{number}]", rule, partitions)
        yield from _reaction_problems(f"{path}[{number}]", rule, group)
        yield from _key_problems(f"{path}[{number}].key", rule, (group, read), scenario)
        yield from _target_problems(f"{path}[{number}]", rule, read, (topics, partitions))
    unread = ((f"{path}[{n}].to", rule.to) for n, rule in enumerate(group.poison) if rule.forwards)
    yield from _unread_problems(unread, read, scenario)
    places = [
        (f"{path}[{number}]", f"{rule.topic}-{rule.partition}, offset {rule.offset}")
        for number, rule in enumerate(group.poison)
        if rule.offset is not None
    ]
    yield from named_twice(places, "record")


def _place_problems(path: str, rule: Poison, partitions: Mapping[str, int]) -> Iterator[Problem]:
    """Yield topics and partitions that do not exist; *partitions*: of each topic."""
    if rule.topic is not None:
        yield from unknown(f"{path}.topic", rule.topic, partitions, "topic")
    if rule.partition is None:
        return
    named = partitions if rule.topic is None else {rule.topic}
    most = max((partitions[name] for name in named if name in partitions), default=None)
    if most is not None and rule.partition >= most:
        reason = f"no such partition; allowed are 0 to {most - 1}"
        yield Problem(f"{path}.partition", reason, rule.partition)


def _reaction_problems(path: str, rule: Poison, group: Group) -> Iterator[Problem]:
    """Yield reactions that the handler or the client does not have, and keys it does not know."""
    if rule.seeks and not group.is_serial:
        reason = (
            "workers have the records behind it already; with a pool of workers, allowed are "
            '"retry", "forward", "skip" and "stop"'
        )
        yield Problem(f"{path}.error", reason, rule.error)
    if rule.error == "retry" and group.is_serial and group.handler is not None:
        reason = (
            'a batch listener is called again with the batch: write "seek", or "pause" if the consumer '
            "polls while it waits"
        )
        yield Problem(f"{path}.error", reason, rule.error)
    other = next((m for m in group.members if client_of(group, m) != "java"), None)
    if rule.seeks and other is not None:
        reason = (
            "follows the error handler of Spring for Apache Kafka, which has the Java client; "
            f'{other.name} has client = "{client_of(group, other)}": use "retry"'
        )
        yield Problem(f"{path}.error", reason, rule.error)


def _key_problems(
    path: str, rule: Poison, of: tuple[Group, set[str]], scenario: Scenario
) -> Iterator[Problem]:
    """Yield keys that do not exist, and rules for a key of a topic that has keys of its own.

    *of*: the group, and the topics that it reads.
    """
    group, read = of
    if rule.key is None:
        return
    keys = KEYS if group.pool is None else group.pool.keys
    if rule.key >= keys:
        yield Problem(path, f"no such key; allowed are 0 to {keys - 1}", rule.key)
    if found := with_keys(_sources(rule, read), scenario):
        reason = (
            f'{found} has "keys", which place records only: the keys of a rule are numbers, all equally '
            'frequent; use "share" with "partition", or give the topic "skew" instead of "keys"'
        )
        yield Problem(path, reason, rule.key)


Topics = tuple[Mapping[str, Topic], Mapping[str, int]]
"""The topics of a scenario, and the number of their partitions at its end, by name."""


def _target_problems(path: str, rule: Poison, read: set[str], topics: Topics) -> Iterator[Problem]:
    """Yield targets that a producer of the scenario writes to, or that are the source."""
    if not rule.forwards:
        return
    if rule.to is not None and rule.to in _sources(rule, read):
        reason = "a record that fails would come back for ever; name another topic"
        yield Problem(f"{path}.to", reason, rule.to)
        return
    yield from _fed_problems(_targets(rule, read), _sources(rule, read), topics)


def forwards_problems(group: Group, handler: OwnHandler, scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of topics to which code of the user sends records."""
    path, sources = f"group[{group.id}].handler.forwards", read_by(group, scenario)
    for name in handler.forwards:
        if name in sources:
            reason = "the group reads it: a record would come back for ever; name another topic"
            yield Problem(path, reason, name)
    yield from _unread_problems(((path, name) for name in handler.forwards), sources, scenario)
    topics = {topic.name: topic for topic in scenario.topic}
    yield from _fed_problems({*handler.forwards}, sources, (topics, most_partitions(scenario)))


def _fed_problems(targets: set[str], sources: set[str], topics: Topics) -> Iterator[Problem]:
    """Yield the topics that records are sent to and that cannot take them."""
    by_name, partitions = topics
    needed = max((partitions.get(name, 0) for name in sources), default=0)
    for topic in [by_name[name] for name in sorted(targets) if name in by_name]:
        if partitions[topic.name] < needed:
            reason = (
                f"a failed record is sent to the partition with the number of its own; allowed are {needed} "
                "partitions or more"
            )
            yield Problem(f"topic[{topic.name}].partitions", reason, topic.partitions)
        if topic.rate != 0 or topic.backlog:
            reason = "failed records are sent to it, so it has no producer: leave out its rate and backlog"
            yield Problem(f"topic[{topic.name}]", reason)


def _unread_problems(
    targets: Iterable[tuple[str, str | None]], sources: set[str], scenario: Scenario
) -> Iterator[Problem]:
    """Yield targets that are not declared, if a topic without producer has nearly their name.

    *targets*: paths and names. A target outside the scenario is allowed: its records are counted and
    not read. *sources*: what the group reads, which another check refuses.
    """
    declared = {topic.name for topic in scenario.topic} | sources
    outside = [(path, name) for path, name in targets if name is not None and name not in declared]
    fed = forwarded_topics(scenario) if outside else frozenset()
    waiting = [
        topic.name
        for topic in scenario.topic
        if topic.name not in fed and topic.rate == 0 and not topic.backlog
    ]
    for path, name in outside:
        if near := hint(name, waiting):
            reason = f"the scenario does not declare this topic, and no group reads it{near}"
            yield Problem(path, reason, name)


def _sources(rule: Poison, read: set[str]) -> set[str]:
    """Return the topics whose records a rule concerns; *read*: those of its group."""
    return read if rule.topic is None else {rule.topic}
