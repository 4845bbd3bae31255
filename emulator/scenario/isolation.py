"""Which groups read committed records alone (``isolation.level``), and what is refused about it."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.deploys import ever_running
from emulator.scenario.model import Group, Member, Scenario, Topic
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import consumer_settings, topics_of
from protocols.settings.consumer import READ_COMMITTED


def reads_committed(group: Group, member: Member) -> bool:
    """Return whether a member skips records of transactions that are aborted, and waits for open ones."""
    return consumer_settings(group, member).isolation_level == READ_COMMITTED


def groups_of_committed_readers(scenario: Scenario) -> frozenset[str]:
    """Return the groups with a member that skips aborted records, if there are transactions."""
    if not any(topic.transaction_records for topic in scenario.topic):
        return frozenset()
    return frozenset(
        group.id
        for group in scenario.group
        if any(reads_committed(group, member) for member in group.members)
    )


def committed_readers(scenario: Scenario, topic: Topic) -> list[str]:
    """Return the groups that read committed records of a topic; members of a group are alike."""
    return [
        group.id
        for group in scenario.group
        if topic in topics_of(group, scenario)
        and any(reads_committed(group, member) for member in group.members)
    ]


def isolation_problems(topic: Topic, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for each group whose members differ in what they skip of a topic."""
    if topic.aborted_every is None:
        return
    levels: dict[str, set[str]] = {}
    for group, member in ever_running(scenario):
        if topic in topics_of(group, scenario):
            level = consumer_settings(group, member).isolation_level
            levels.setdefault(group.id, set()).add(level)
    for name, found in levels.items():
        if len(found) > 1:
            reason = (
                f"members of {name} read {topic.name} with different levels, so that its records are not "
                "the same for all of them; set it for the group (librdkafka's default is read_committed)"
            )
            yield Problem(
                f"group[{name}].settings[isolation.level]", reason, " and ".join(sorted(found))
            )
