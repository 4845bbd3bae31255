"""Resolve the settings of a scenario, its names, rates and mean work.

A member's settings override its group's, which override Kafka's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from emulator.scenario.model import (
    Bursts,
    Cluster,
    CommitPolicy,
    Distribution,
    Group,
    Hang,
    Member,
    Poisson,
    Scenario,
    Topic,
)
from emulator.scenario.tables.deviations import Deviations, deviating
from emulator.scenario.tables.distributions import Constant, Pareto, Trace, Uniform, mean_us
from emulator.scenario.tables.rates import mean_rate, rate_in_the_end, segments_of
from emulator.scenario.units import US_PER_S
from protocols.consumer.clients import Amount, ClientProfile, profile_of
from protocols.settings import (
    INT_MAX,
    BrokerSettings,
    ClientSettings,
    ConsumerSettings,
    TopicSettings,
    defaults_of,
    fields_by_name,
    settings_of,
)
from protocols.settings.topic import OF_BROKERS

AUTO_COMMIT = "enable.auto.commit"
COMMIT_INTERVAL = "auto.commit.interval.ms"
OLD_COMMIT_INTERVAL_MS = 60_000
"""Its default in the consumer of Kafka 0.8.2, which commits to ZooKeeper."""

OFFSET_STORE = "enable.auto.offset.store"
STRATEGY = "partition.assignment.strategy"
"""The setting with which a classic member votes."""

REBALANCE_TIMEOUT = "rebalance.timeout.ms"
USUAL_RECORDS = 500
"""Records that ``consume`` and ``PollRecords`` ask for, unless the scenario says how many."""

INSTANCE_ID = "group.instance.id"
RECONNECT, RECONNECT_MAX = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
REPLICATION_FACTORS = ("default.replication.factor", "offsets.topic.replication.factor")

CLIENTS, BROKERS = "clients", "brokers"
CONTROLLER = "controller"
"""The controller quorum, modelled as one node."""

ADMIN = "admin"
"""The admin client, which deletes and resets offsets."""

COORDINATOR_OF = "coordinator of "

_BROKER = re.compile(r"broker-([1-9]\d{0,8})")


def consumer_settings(group: Group, member: Member) -> ConsumerSettings:
    """Return the settings with which a member runs.

    A static group gives each member its name as ``group.instance.id``. A commit policy other
    than ``auto`` switches ``enable.auto.commit`` off, unless the scenario sets it. A reconnect
    back-off that is set alone does not grow (``postProcessReconnectBackoffConfigs``).
    """
    profile = profile_of(client_of(group, member))
    given = {**profile.defaults, **group.settings, **member.settings}
    if group.static and INSTANCE_ID not in member.settings:
        given[INSTANCE_ID] = member.name
    if commit_policy(group, member).call not in ("auto", "store"):
        given.setdefault(AUTO_COMMIT, False)
    if group.offsets == "zookeeper":
        given.setdefault(COMMIT_INTERVAL, OLD_COMMIT_INTERVAL_MS)
    if RECONNECT in given:
        given.setdefault(RECONNECT_MAX, given[RECONNECT])
    return ConsumerSettings(**_fields(ConsumerSettings, given))


def client_settings(group: Group, member: Member) -> ClientSettings:
    """Return the settings of a member that the Java consumer does not have."""
    profile = profile_of(client_of(group, member))
    given = {**profile.defaults, **group.settings, **member.settings}
    if commit_policy(group, member).call == "store":
        given.setdefault(OFFSET_STORE, False)
    if REBALANCE_TIMEOUT in profile.own and profile.rebalances_within in profile.defaults:
        given.setdefault(REBALANCE_TIMEOUT, given[profile.rebalances_within])
    return ClientSettings(
        **_fields(ClientSettings, {name: given[name] for name in given if name in profile.own})
    )


def client_of(group: Group, member: Member) -> str:
    """Return the name of a member's client."""
    return group.client if member.client is None else member.client


def deviations_of(group: Group, member: Member) -> Deviations | None:
    """Return what a member does otherwise than its client; None: nothing."""
    return group.deviates if member.deviates is None else member.deviates


def profile_with_deviations(group: Group, member: Member) -> ClientProfile:
    """Return the client of a member, with what it does otherwise."""
    client = profile_of(client_of(group, member), member.coordinator_lookup)
    return deviating(client, deviations_of(group, member))


def deviations_in(group: Group) -> tuple[str, ...]:
    """Return the keys in which a member of a group differs from its client."""
    found = (deviations_of(group, member) for member in group.members)
    keys = dict.fromkeys(key for each in found if each is not None for key in each.given)
    if any(member.coordinator_lookup == "once" for member in group.members):
        keys["coordinator_lookup"] = None
    return tuple(keys)


def read_with(group: Group, member: Member) -> str:
    """Return the call with which a member's application takes records."""
    mine = member.read_with
    if mine is None and member.client is None:
        mine = group.read_with
    return next(iter(profile_of(client_of(group, member)).reads)) if mine is None else mine


def records_at_once(group: Group, member: Member) -> int:
    """Return how many records one call hands out at most."""
    match profile_of(client_of(group, member)).reads[read_with(group, member)]:
        case Amount.ONE:
            return 1
        case Amount.GIVEN:
            given = group.read_records if member.read_records is None else member.read_records
            return USUAL_RECORDS if given is None else given
        case Amount.SETTING:
            return consumer_settings(group, member).max_poll_records
        case Amount.ALL:
            return INT_MAX


def broker_settings(cluster: Cluster) -> BrokerSettings:
    """Return the settings of all brokers.

    Kafka's default replication factors are lowered to the number of brokers, as the operator of a
    real cluster with fewer brokers must do.
    """
    defaults = defaults_of(BrokerSettings)
    lowered = {name: min(defaults[name], cluster.brokers) for name in REPLICATION_FACTORS}
    return BrokerSettings(**_fields(BrokerSettings, {**lowered, **cluster.settings}))


def topic_settings(topic: Topic, cluster: Cluster) -> TopicSettings:
    """Return the settings of a topic; what it leaves out is the brokers' (``LogConfig``)."""
    theirs = settings_in_force(broker_settings(cluster))
    given = {name: theirs[of_brokers] for name, of_brokers in OF_BROKERS.items()} | topic.settings
    return TopicSettings(**_fields(TopicSettings, given))


def _fields(kind: Any, given: dict[str, object]) -> dict[str, Any]:
    fields = fields_by_name(kind)
    return {fields[name]: value for name, value in given.items() if name in fields}


# -- a member's own values, else its group's -------------------------------------------------


def commit_policy(group: Group, member: Member) -> CommitPolicy:
    """Return the commit policy of a member.

    Without a policy and with ``enable.auto.commit`` off, it does not commit.
    """
    if member.commit is not None:
        return member.commit
    if "commit" not in group.model_fields_set and group.offsets in ("database", "none"):
        return CommitPolicy(call="sync" if group.offsets == "database" else "none")
    given = {**group.settings, **member.settings}
    if "commit" not in group.model_fields_set and given.get(AUTO_COMMIT) is False:
        return CommitPolicy(call="none")
    return group.commit


def work_of(group: Group, member: Member) -> Distribution:
    """Return the processing time of one record by a member."""
    return group.work if member.work is None else member.work


def poll_timeout_us(group: Group, member: Member) -> int:
    """Return the timeout of a member's poll."""
    return group.poll_timeout if member.poll_timeout is None else member.poll_timeout


def has_listener(group: Group, member: Member) -> bool:
    """Return whether the application of a member has a rebalance listener."""
    return group.has_listener if member.has_listener is None else member.has_listener


def subscription_of(group: Group, member: Member) -> tuple[tuple[str, ...], str | None]:
    """Return the topics and the pattern to which a member subscribes; one of them is empty."""
    if member.assign is not None:
        return tuple(member.assign), None
    if member.topics is None and member.pattern is None:
        return group.topics, group.pattern
    return member.topics or (), member.pattern


def matches_patterns(group: Group) -> bool:
    """Return whether consumers match a pattern with the topics of their own metadata."""
    patterns = [subscription_of(group, member)[1] for member in group.members]
    return group.pattern_by == "client" and any(patterns)


def settings_in_force(
    settings: ConsumerSettings | ClientSettings | BrokerSettings,
) -> dict[str, Any]:
    """Return all settings by Kafka's names, including defaults."""
    kind: Any = type(settings)
    return {setting.name: getattr(settings, field) for field, setting in settings_of(kind).items()}


# -- names -----------------------------------------------------------------------------------


def members_of(scenario: Scenario) -> Iterator[tuple[Group, Member]]:
    """Yield every member with its group, in the order of the file."""
    for group in scenario.group:
        for member in group.members:
            yield group, member


def broker_number(party: str) -> int | None:
    """Return the number of ``broker-N``; None for any other party."""
    match = _BROKER.fullmatch(party)
    return int(match[1]) if match else None


def broker_names(cluster: Cluster) -> list[str]:
    """Return the names of all brokers: ``broker-1``, ``broker-2``, and so on."""
    return [f"broker-{number}" for number in range(1, cluster.brokers + 1)]


# -- work ------------------------------------------------------------------------------------


def concurrency(group: Group) -> tuple[int, int]:
    """Return how many records a member processes at a time, and how many of one partition."""
    pool = group.pool
    if pool is None:
        return 1, 1
    of_partition = {"partition": 1, "key": pool.keys, "none": pool.workers}[pool.order]
    return pool.workers, min(pool.workers, of_partition)


def mean_work_of(group: Group, member: Member, scenario: Scenario) -> float:
    """Return the mean processing time of a record of a group's topics, in microseconds."""
    by_topic = group.work_by.topic if group.work_by else {}
    topics = topics_of(group, scenario)
    return mean_work_us(work_of(group, member), by_topic, topics, scenario.run_for)


def mean_works_of(group: Group, scenario: Scenario) -> dict[str, float]:
    """Return the mean processing time of a record by each member, in microseconds, by its name."""
    by_topic = group.work_by.topic if group.work_by else {}
    topics, run_for = topics_of(group, scenario), scenario.run_for
    usual_us = mean_work_us(group.work, by_topic, topics, run_for)
    return {
        each.name: usual_us
        if each.work is None
        else mean_work_us(each.work, by_topic, topics, run_for)
        for each in group.members
    }


def topics_of(group: Group, scenario: Scenario) -> list[Topic]:
    """Return the topics that a group may read; a pattern may match every topic."""
    wanted = {topic for member in group.members for topic in subscription_of(group, member)[0]}
    everything = any(subscription_of(group, member)[1] for member in group.members)
    return [topic for topic in scenario.topic if everything or topic.name in wanted]


def contested_groups(scenario: Scenario) -> frozenset[str]:
    """Return the groups whose members list different assignors: their votes decide."""
    named = {group.id for group, member in members_of(scenario) if STRATEGY in member.settings}
    lists: dict[str, set[object]] = {name: set() for name in named}
    for group, member in members_of(scenario):
        if group.id in named:
            settings = consumer_settings(group, member)
            lists[group.id].add(settings.partition_assignment_strategy)
    return frozenset(group for group, found in lists.items() if len(found) > 1)


def _longest_us(distribution: Distribution) -> float | None:
    """Return the longest time that a distribution has (us); None: it has no bound."""
    match distribution:
        case Constant(constant=us):
            return us
        case Uniform(uniform=(_, high)):
            return high
        case Pareto(pareto=shape):
            return shape.maximum
        case Trace(trace=times):
            return max(times)
    return None


def slowest_us(group: Group, scenario: Scenario, usual_us: float) -> float:
    """Return the longest work on one record of a group (us).

    Of a rule, of a hang, of a distribution with a bound, or the usual one.
    """
    names = {member.name for member in group.members}
    drawn = [_longest_us(work_of(group, member)) or 0 for member in group.members]
    rules = [rule.work_us(int(usual_us)) for rule in group.poison]
    hangs = [act.lasting for act in scenario.fault if isinstance(act, Hang) and act.member in names]
    return max([usual_us, *drawn, *rules, *hangs])


# -- rates ------------------------------------------------------------------------------------


def rate_of(topic: Topic, run_for: int) -> float:
    """Return the mean rate of a partition in a run, in records per second.

    Of a rate that changes: the one at the end of the writing, or the mean of one that repeats.
    """
    match topic.rate:
        case float() as rate:
            return rate
        case Poisson(poisson=rate):
            return rate
        case Bursts(bursts=shape) if shape.every is not None:
            share = shape.lasting / shape.every
            return shape.rate * share + shape.between * (1 - share)
    segments = segments_of(topic.rate)
    assert segments is not None, "all other rates change"
    return rate_in_the_end(segments, *written_between(topic, run_for))


def written_between(topic: Topic, run_for: int) -> tuple[int, int]:
    """Return from when until when the producer of a topic writes in a run (us)."""
    until = run_for if topic.produce_until is None else min(topic.produce_until, run_for)
    return topic.produce_from, max(until, topic.produce_from)


def writing_of(topic: Topic, run_for: int) -> int:
    """Return for how long the producer of a topic writes in a run (us)."""
    begin, until = written_between(topic, run_for)
    return until - begin


def records_of(topic: Topic, run_for: int) -> float:
    """Return about how many records are produced in a run, in all partitions."""
    begin, until = written_between(topic, run_for)
    segments = segments_of(topic.rate)
    mean = mean_rate(segments, begin, until) if segments else rate_of(topic, run_for)
    factors = sum(factor_of(topic, number) for number in range(topic.partitions))
    return mean * factors * (until - begin) / US_PER_S


def factor_of(topic: Topic, partition: int) -> float:
    """Return the factor on the rate of one partition."""
    if topic.keys is not None:
        from emulator.scenario.keys import factors_of  # noqa: PLC0415  few topics have keys

        return factors_of(topic)[partition]
    return topic.skew[partition] if partition < len(topic.skew) else 1.0


def rates_of(topic: Topic, run_for: int) -> list[float]:
    """Return the mean rate of each partition in a run, in records per second."""
    mean = rate_of(topic, run_for)
    return [mean * factor_of(topic, number) for number in range(topic.partitions)]


def mean_work_us(
    usual: Distribution, by_topic: dict[str, Distribution], topics: list[Topic], run_for: int
) -> float:
    """Return the mean time of a record of some topics (us), weighted by what arrives in each.

    *usual*: for topics without an entry in *by_topic*.
    """
    if len(topics) == 1:
        return mean_us(by_topic.get(topics[0].name, usual))
    if not by_topic:
        return mean_us(usual)
    rates = [(topic.name, sum(rates_of(topic, run_for))) for topic in topics]
    total = sum(rate for _, rate in rates)
    if not total:
        return mean_us(usual)
    return sum(mean_us(by_topic.get(name, usual)) * rate for name, rate in rates) / total
