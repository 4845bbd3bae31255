"""Resolve the settings and the loads of a scenario.

A member's settings override its group's, which override Kafka's defaults; a deploy changes them. A
load follows from rates and mean work alone; polls, rebalances and faults come on top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import combinations
from math import inf
from typing import Any

from assignors.values import dataclass
from emulator.scenario.handlers import KEYS, mean_extra_us
from emulator.scenario.model import (
    Bursts,
    Cluster,
    CommitPolicy,
    Distribution,
    Group,
    Member,
    Poisson,
    RollingRestart,
    Scenario,
    Start,
    Topic,
    mean_us,
)
from emulator.scenario.units import US_PER_S
from protocols.consumer.clients import Amount, profile_of
from protocols.settings import (
    INT_MAX,
    BrokerSettings,
    ClientSettings,
    ConsumerSettings,
    defaults_of,
    fields_by_name,
    settings_of,
)

AUTO_COMMIT = "enable.auto.commit"
COMMIT_INTERVAL = "auto.commit.interval.ms"
OLD_COMMIT_INTERVAL_MS = 60_000
"""Its default in the consumer of Kafka 0.8.2, which commits to ZooKeeper."""

OFFSET_STORE = "enable.auto.offset.store"
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


def subscription_of(group: Group, member: Member) -> tuple[tuple[str, ...], str | None]:
    """Return the topics and the pattern to which a member subscribes; one of them is empty."""
    if member.assign is not None:
        return tuple(member.assign), None
    if member.topics is None and member.pattern is None:
        return group.topics, group.pattern
    return member.topics or (), member.pattern


def settings_in_force(settings: ConsumerSettings | BrokerSettings) -> dict[str, Any]:
    """Return all settings by Kafka's names, including defaults."""
    kind: Any = type(settings)
    return {setting.name: getattr(settings, field) for field, setting in settings_of(kind).items()}


# -- deploys ---------------------------------------------------------------------------------

Deploy = RollingRestart | Start
"""The acts that start members, possibly with other settings."""


def deploys_of(scenario: Scenario) -> list[Deploy]:
    """Return the acts of a scenario that start members with other settings."""
    acts = (act for act in scenario.fault if isinstance(act, RollingRestart | Start))
    return [act for act in acts if changes_settings(act)]


def changes_settings(act: Deploy) -> bool:
    """Return whether an act changes the settings with which its members start."""
    return act.settings is not None or bool(act.unset)


def deployed(group: Group, member: Member, act: Deploy) -> tuple[Group, Member]:
    """Return a group and a member with the settings after an act.

    *group*, *member*: as the file has them; changes by earlier acts are not included.
    """
    of_group = {name: value for name, value in group.settings.items() if name not in act.unset}
    own = {name: value for name, value in member.settings.items() if name not in act.unset}
    own |= act.settings or {}
    return (
        group.model_copy(update={"settings": of_group}),
        member.model_copy(update={"settings": own}),
    )


def started_by(act: Deploy, scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return the members that an act starts, each with its group, as written in the file."""
    return [
        (group, member)
        for group in scenario.group
        for member in group.members
        if _starts(act, group, member)
    ]


def _starts(act: Deploy, group: Group, member: Member) -> bool:
    if isinstance(act, Start):
        return member.name == act.member
    if group.id != act.group:
        return False
    return isinstance(act.order, str) or member.name in act.order


def ever_running(scenario: Scenario) -> list[tuple[Group, Member]]:
    """Return every member with its group, and again with its settings after each deploy."""
    written = [(group, member) for group in scenario.group for member in group.members]
    return written + [
        deployed(group, member, act)
        for act in deploys_of(scenario)
        for group, member in started_by(act, scenario)
    ]


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


# -- loads -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What arrives for one group, and what it can process; in records per second."""

    group: str
    members: int
    partitions: int
    arrival: float
    capacity: float
    """Of all members together."""

    store: float = inf
    """What the database with its offsets can commit at most."""

    hottest: str
    """The partition that gets the most."""

    hottest_arrival: float
    fastest: float
    """Of the fastest member."""

    disjoint: tuple[str, str] | tuple[()] = ()
    """The topics of two members that have none in common; empty: there are no such members."""

    topics: int = 1
    """Topics with a rate."""

    speeds: Mapping[str, float] = field(default_factory=dict)
    """What each member can process."""

    period_s: float = 0.0
    """The longest period of a rate that varies; 0: all are steady."""

    failing: float = 0.0
    """The share of its members' time for slow and failing records, with their back-offs."""

    @property
    def even_members(self) -> int:
        """The next larger number of members of which each gets as many partitions; 0: none."""
        more = range(self.members + 1, self.partitions + 1)
        return next((number for number in more if self.partitions % number == 0), 0)

    @property
    def is_overload(self) -> bool:
        """Whether more arrives than the members, or the owner of one partition, can process."""
        return self.arrival > self.capacity or self.hottest_arrival > self.fastest


def loads_of(scenario: Scenario) -> Iterator[Load]:
    """Yield the load of each group to whose topics records are produced until the end."""
    for group in scenario.group:
        topics = topics_of(group, scenario)
        rates = {
            f"{topic.name}-{number}": rate
            for topic in topics
            if topic.produce_until is None or topic.produce_until >= scenario.run_for
            for number, rate in enumerate(_rates(topic))
        }
        bursts = [topic.rate.bursts.every for topic in topics if isinstance(topic.rate, Bursts)]
        of_member, of_partition = concurrency(group)
        work = {each.name: max(mean_us(work_of(group, each)), 1.0) for each in group.members}
        keys = KEYS if group.pool is None else group.pool.keys
        extra = {name: mean_extra_us(group.poison, rates, work[name], keys) for name in work}
        alone = {name: US_PER_S / max(work[name] + extra[name], 1.0) for name in work}
        speeds = [*alone.values()][: group.most_running]
        at_once = max(records_at_once(group, member) for member in group.members)
        store = scenario.database.records_per_s(at_once) if group.offsets == "database" else inf
        if rates and speeds:
            at_most = len(rates) * of_partition * max(speeds)
            hottest = max(rates, key=lambda name: rates[name])
            yield Load(
                group=group.id,
                members=len(speeds),
                partitions=len(rates),
                arrival=sum(rates.values()),
                capacity=min(sum(speeds) * of_member, at_most if group.pool else inf, store),
                store=store,
                hottest=hottest,
                hottest_arrival=rates[hottest],
                fastest=max(speeds) * of_partition,
                disjoint=_disjoint(group),
                topics=len({name.rpartition("-")[0] for name in rates}),
                speeds={name: speed * of_member for name, speed in alone.items()},
                period_s=max(bursts, default=0) / US_PER_S,
                failing=max((extra[name] / (work[name] + extra[name]) for name in work), default=0),
            )


def _disjoint(group: Group) -> tuple[str, str] | tuple[()]:
    """Return the first two subscriptions of a group, by name, that have no topic in common."""
    topics = dict.fromkeys(subscription_of(group, member)[0] for member in group.members)
    pairs = (
        pair for pair in combinations(filter(None, topics), 2) if set(pair[0]).isdisjoint(pair[1])
    )
    first = next(pairs, None)
    return () if first is None else (", ".join(first[0]), ", ".join(first[1]))


def concurrency(group: Group) -> tuple[int, int]:
    """Return how many records a member processes at a time, and how many of one partition."""
    pool = group.pool
    if pool is None:
        return 1, 1
    of_partition = {"partition": 1, "key": pool.keys, "none": pool.workers}[pool.order]
    return pool.workers, min(pool.workers, of_partition)


def _rates(topic: Topic) -> list[float]:
    factors = [*topic.skew[: topic.partitions], *[1.0] * (topic.partitions - len(topic.skew))]
    return [rate_of(topic) * factor for factor in factors]


def topics_of(group: Group, scenario: Scenario) -> list[Topic]:
    """Return the topics that a group may read; a pattern may match every topic."""
    wanted = {topic for member in group.members for topic in subscription_of(group, member)[0]}
    everything = any(subscription_of(group, member)[1] for member in group.members)
    return [topic for topic in scenario.topic if everything or topic.name in wanted]


def rate_of(topic: Topic) -> float:
    """Return the mean rate of a partition, in records per second."""
    match topic.rate:
        case Poisson(poisson=rate):
            return rate
        case Bursts(bursts=shape):
            share = shape.lasting / shape.every
            return shape.rate * share + shape.between * (1 - share)
        case rate:
            return rate
