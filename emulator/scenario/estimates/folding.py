"""Whether the polls of a member are events, and whether periods of a run repeat, by the scenario alone.

The estimate of a run's time needs it before there is a run; the run itself decides while it plays
(``emulator/world/consumer/blueprints.py``, ``emulator/world/periods``).
"""

from __future__ import annotations

from emulator.scenario.model import Group, Member, Scenario
from emulator.scenario.resolution import (
    commit_policy,
    concurrency,
    consumer_settings,
    mean_work_of,
    profile_with_deviations,
    records_of,
    topics_of,
    work_of,
    writing_of,
)
from emulator.scenario.tables.distributions import Constant
from protocols.consumer.clients import Busy


def polls_by_events(group: Group, member: Member, scenario: Scenario) -> bool:
    """Return whether more than polls and work is done with the records of a member."""
    return _reads_gaps(group, scenario) or _does_more(group, member)


def _reads_gaps(group: Group, scenario: Scenario) -> bool:
    return any(topic.has_gaps for topic in topics_of(group, scenario))


def _does_more(group: Group, member: Member) -> bool:
    """Return whether a member does more than polls and work, whatever it reads."""
    if group.work_by is not None and group.work_by.depends:
        return True
    if group.poison or group.deduplication or member.assign:
        return True
    if group.offsets not in ("kafka", "none"):
        return True
    return not profile_with_deviations(group, member).heartbeats_wait_for <= {Busy.LISTENER}


def repeats(group: Group, scenario: Scenario) -> bool:
    """Return whether the members of a group do the same again and again while nothing disturbs them.

    No time of theirs is drawn, but the lags of their threads, which repeat; and they have time left,
    because fetches bring more and more while the lag grows.
    """
    times = [group.lateness, *(work_of(group, member) for member in group.members)]
    if group.work_by or not all(isinstance(each, Constant) for each in times):
        return False
    if _reads_gaps(group, scenario) or any(_does_more(group, member) for member in group.members):
        return False
    return _busiest(group, scenario) < 1


def _busiest(group: Group, scenario: Scenario) -> float:
    """Return the share of the time in which the member with the most partitions works.

    Partitions are taken as equal, and members work as the first one does.
    """
    topics = topics_of(group, scenario)
    partitions = sum(topic.partitions for topic in topics)
    share = -(-partitions // len(group.members)) / max(partitions, 1)
    run_for, (at_a_time, _) = scenario.run_for, concurrency(group)
    rate = sum(records_of(topic, run_for) / max(writing_of(topic, run_for), 1) for topic in topics)
    return rate * share * mean_work_of(group, group.members[0], scenario) / at_a_time


def refreshes_regularly(group: Group) -> bool:
    """Return whether it is known when the members of a group handle responses."""
    return all(
        consumer_settings(group, member).group_protocol == "consumer"
        or (
            commit_policy(group, member).call != "async"
            and commit_policy(group, member).when == "batch"
        )
        for member in group.members
    )
