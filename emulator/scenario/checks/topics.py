"""What can be wrong with topics."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.cluster import replication_problems
from emulator.scenario.checks.names import named_twice
from emulator.scenario.model import AddPartitions, Scenario, Topic
from emulator.scenario.problems import Problem
from emulator.scenario.units import format_duration

INTERNAL = "__consumer_offsets"


def topic_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with each topic, and with their names."""
    names = [(f"topic[{index}].name", topic.name) for index, topic in enumerate(scenario.topic)]
    yield from named_twice(names, "topic")
    for topic in scenario.topic:
        yield from _name_problems(topic)
        yield from _layout_problems(topic, scenario)
        yield from _late_problems(topic, scenario)


def most_partitions(topic: Topic, scenario: Scenario) -> int:
    """Return how many partitions a topic has at the end."""
    added = [
        fault.to
        for fault in scenario.fault
        if isinstance(fault, AddPartitions) and fault.topic == topic.name
    ]
    return max([topic.partitions, *added])


def _name_problems(topic: Topic) -> Iterator[Problem]:
    if topic.name in (".", "..", INTERNAL):
        yield Problem(f"topic[{topic.name}].name", "not allowed as the name of a topic", topic.name)


def _layout_problems(topic: Topic, scenario: Scenario) -> Iterator[Problem]:
    path, brokers = f"topic[{topic.name}]", scenario.cluster.brokers
    yield from replication_problems(f"{path}.replicas", topic.replicas, scenario.cluster)
    for broker in topic.leaders:
        if not 1 <= broker <= brokers:
            reason = f"no broker {broker}; allowed are 1 to {brokers}"
            yield Problem(f"{path}.leaders", reason, topic.leaders)
    most = most_partitions(topic, scenario)
    for key, given in (("leaders", topic.leaders), ("skew", topic.skew)):
        if len(given) > most:
            yield Problem(f"{path}.{key}", f"more entries than partitions; there are {most}", given)


def _late_problems(topic: Topic, scenario: Scenario) -> Iterator[Problem]:
    end = scenario.run_for
    for key in ("created", "backlog_at", "produce_from"):
        at = getattr(topic, key)
        if isinstance(at, int) and at >= end:
            yield Problem(
                f"topic[{topic.name}].{key}",
                f"after the end of the run; run_for is {format_duration(end)}",
                format_duration(at),
            )
