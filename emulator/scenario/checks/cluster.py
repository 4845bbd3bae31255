"""Check brokers, network, topics and variants, and that names are unique and exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, KeysView, Mapping, Sequence
from typing import NamedTuple, Self

from emulator.scenario.isolation import isolation_problems
from emulator.scenario.model import AddPartitions, Cluster, Group, Scenario, Topic
from emulator.scenario.problems import Problem, hint, listed
from emulator.scenario.resolution import (
    ADMIN,
    BROKERS,
    CLIENTS,
    CONTROLLER,
    COORDINATOR_OF,
    REPLICATION_FACTORS,
    broker_names,
    broker_settings,
    client_of,
    has_listener,
    members_of,
)
from emulator.scenario.tables.rates import number_of_changes, segments_of
from emulator.scenario.tables.topics import CLEANUP
from emulator.scenario.units import format_duration
from protocols.settings import BrokerSettings, fields_by_name


def cluster_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of the brokers and the network."""
    yield from _broker_problems(scenario.cluster)
    yield from _backlog_problems(scenario.cluster)
    yield from _compaction_problems(scenario.cluster)
    yield from _start_problems(scenario.cluster)
    yield from _link_problems(scenario)


def _broker_problems(cluster: Cluster) -> Iterator[Problem]:
    if len(cluster.racks) > cluster.brokers:
        reason = f"more racks than brokers; there are {cluster.brokers}"
        yield Problem("cluster.racks", reason, cluster.racks)
    for name in REPLICATION_FACTORS:
        yield from replication_problems(
            f"cluster.settings[{name}]", cluster.settings.get(name), cluster
        )


def _backlog_problems(cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem for a backlog whose load would take no time."""
    for key, speed in (
        ("offsets_backlog", "load_bytes"),
        ("offsets_backlog_records", "load_records"),
    ):
        if getattr(cluster, key) and getattr(cluster, speed) is None:
            reason = f"loads in no time; set {speed}, the speed of a load"
            yield Problem(f"cluster.{key}", reason, getattr(cluster, key))


def _compaction_problems(cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem if the maximum compaction lag is below the minimum one (``LogConfig``)."""
    settings = broker_settings(cluster)
    least, most = (
        settings.log_cleaner_min_compaction_lag_ms,
        settings.log_cleaner_max_compaction_lag_ms,
    )
    if least > most:
        reason = f"above log.cleaner.max.compaction.lag.ms, which is {most}"
        yield Problem("cluster.settings[log.cleaner.min.compaction.lag.ms]", reason, least)


def replication_problems(path: str, copies: object, cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem if there are more replicas than brokers."""
    if isinstance(copies, int) and copies > cluster.brokers:
        yield Problem(path, f"more copies than brokers; there are {cluster.brokers}", copies)


MIN_TO_START = {
    "log.cleaner.dedupe.buffer.size": (2**20 + 1, "more than 1 MiB for the thread of the cleaner"),
    "replica.lag.time.max.ms": (500, "at least replica.fetch.wait.max.ms, which is 500"),
}
"""Settings that a broker refuses at its start (``KafkaConfig.validateValues``) though ConfigDef does not."""


def _start_problems(cluster: Cluster) -> Iterator[Problem]:
    for name, (least, wanted) in MIN_TO_START.items():
        value = getattr(broker_settings(cluster), fields_by_name(BrokerSettings)[name])
        if value < least:
            reason = f"brokers do not start: allowed is {wanted}"
            yield Problem(f"cluster.settings[{name}]", reason, value)


def _link_problems(scenario: Scenario) -> Iterator[Problem]:
    names = Names.of(scenario)
    parties = [CLIENTS, BROKERS, ADMIN, *broker_names(scenario.cluster), *names.member]
    for number, link in enumerate(scenario.network.link):
        path = f"network.link[{number}]"
        yield from unknown(f"{path}.from", link.sender, parties, "party")
        yield from unknown(f"{path}.to", link.receiver, parties, "party")
        known = link.sender in parties and link.receiver in parties
        if known and names.same_side(link.sender, link.receiver):
            yield Problem(path, "these two exchange no messages; one of them must be a client")
        if link.latency is None and link.loss is None:
            yield Problem(path, 'has neither "latency" nor "loss"')


INTERNAL = "__consumer_offsets"


def topic_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of topics and their names."""
    names = [(f"topic[{index}].name", topic.name) for index, topic in enumerate(scenario.topic)]
    yield from named_twice(names, "topic")
    for topic in scenario.topic:
        yield from _name_problems(topic)
        yield from _layout_problems(topic, scenario)
        yield from _late_problems(topic, scenario)
        yield from _gap_problems(topic, scenario)
        yield from isolation_problems(topic, scenario)
        yield from _rate_problems(topic, scenario)


MAX_CHANGES = 100_000
"""Of the rate of a topic in a run: each is an event, and no whole period reaches beyond one."""


def _rate_problems(topic: Topic, scenario: Scenario) -> Iterator[Problem]:
    """Yield a problem for a curve that repeats so fast that its changes would take all the time."""
    segments = segments_of(topic.rate)
    number = number_of_changes(segments, scenario.run_for) if segments else 0
    if segments and segments.every_us and number > MAX_CHANGES:
        given = format_duration(segments.every_us)
        reason = (
            f"the rate changes {number:,} times in the run of {format_duration(scenario.run_for)}; "
            f"allowed are {MAX_CHANGES:,} times: make it longer, or the run shorter"
        )
        yield Problem(f"topic[{topic.name}].rate.curve.every", reason, given)


def _gap_problems(topic: Topic, scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of a topic with offsets that hold no record."""
    if not topic.has_gaps:
        return
    path, given = _cause_of_gaps(topic)
    if broker_settings(scenario.cluster).unclean_leader_election_enable:
        yield Problem(path, "not together with unclean.leader.election.enable = true", given)


def _cause_of_gaps(topic: Topic) -> tuple[str, object]:
    """Return the path of the key that makes offsets without records, and its value."""
    path = f"topic[{topic.name}]"
    if topic.is_compacted:
        return f"{path}.settings[{CLEANUP}]", topic.settings[CLEANUP]
    key = "compacted" if topic.compacted is not None else "transaction_records"
    return f"{path}.{key}", getattr(topic, key)


def most_partitions(scenario: Scenario) -> dict[str, int]:
    """Return the number of partitions of each topic at the end of the run."""
    most = {topic.name: topic.partitions for topic in scenario.topic}
    for fault in scenario.fault:
        if isinstance(fault, AddPartitions) and fault.topic in most:
            most[fault.topic] = max(most[fault.topic], fault.to)
    return most


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
    if topic.keys is None and not topic.leaders and not topic.skew:
        return
    most = most_partitions(scenario)[topic.name]
    if topic.keys is not None and topic.skew:
        yield Problem(
            f"{path}.skew", 'the keys give partitions their rates; leave out "keys" or "skew"'
        )
    if topic.keys is not None and most > topic.partitions:
        reason = (
            "partitions cannot be added during the run: keys would move to other partitions; give the "
            'topic more "partitions", or "skew" instead of "keys"'
        )
        yield Problem(f"{path}.keys", reason)
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


def named_twice(paths_and_names: Iterable[tuple[str, str]], what: str) -> Iterator[Problem]:
    """Yield a problem for every name that an earlier object already has."""
    seen: set[str] = set()
    for path, name in paths_and_names:
        if name in seen:
            yield Problem(path, f"{what} named twice; names must differ", name)
        seen.add(name)


def repeated_in(path: str, names: Sequence[str], what: str) -> Iterator[Problem]:
    """Yield a problem, with the whole list, for each name that is in a list more than once."""
    for name, times in Counter(names).items():
        if times > 1:
            yield Problem(path, f'"{name}": {what} named twice; names must differ', names)


def taken_names(
    path: str, members: Iterable[str], taken: Container[str], given: object
) -> Iterator[Problem]:
    """Yield a problem for each member whose replacement, ``<name>+``, would have the name of a member."""
    for name in members:
        if f"{name}+" in taken:
            reason = f'the replacement of {name} would have the name of a member, "{name}+"'
            yield Problem(path, reason, given)


def unknown(path: str, name: str, known: Collection[str], what: str) -> Iterator[Problem]:
    """Yield a problem, with the closest name, if a name is not among the known ones."""
    if name in known:
        return
    near = hint(name, known)
    few = f"{' There' if near else '; there'} are {listed(known)}" if len(known) <= 6 else ""
    few = few if known else "; there is none"
    yield Problem(path, f"no such {what}{near}{few}", name)


def unknown_in(
    path: str, names: Sequence[str], known: Collection[str], what: str
) -> Iterator[Problem]:
    """Yield a problem, with the whole list, for each name in a list that is not among the known ones."""
    for name in names:
        which = f'"{name}": ' if len(names) > 1 else ""
        for one in unknown(path, name, known, what):
            yield Problem(path, which + one.reason, names)


def variant_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield the problems of the variants."""
    named = [(f"variant[{index}].name", each.name) for index, each in enumerate(scenario.variant)]
    yield from named_twice(named, "variant")
    for variant in scenario.variant:
        for change in variant.changes:
            path = change.partition("=")[0].strip()
            if path == change.strip() or path.startswith("variant"):
                reason = "not understood; allowed is path=value, such as run_for=20s"
                yield Problem(f"variant[{variant.name}].set", reason, change)


# -- names -----------------------------------------------------------------------------------


def _distinct(names: Iterable[str]) -> KeysView[str]:
    """Return names in their order, among which one is found at once."""
    return dict.fromkeys(names).keys()


class Names(NamedTuple):
    """All names that a scenario can refer to, in the order of the file."""

    member: dict[str, Group]
    """Each member's name, with its group."""

    not_java: frozenset[str]
    """Members whose client is not Java's."""

    without_listener: frozenset[str]
    """Members without a rebalance listener."""

    group: dict[str, Group]
    topic: Mapping[str, int]
    """With the number of its partitions at the end of the run."""

    broker: KeysView[str]
    """``broker-N``, and ``coordinator of GROUP``."""

    fault: KeysView[str]
    rack: KeysView[str]
    party: KeysView[str]
    """All nodes that can send and receive."""

    @classmethod
    def of(cls, scenario: Scenario) -> Self:
        """Return the names of a scenario."""
        coordinators = [f"{COORDINATOR_OF}{group.id}" for group in scenario.group]
        members = {member.name: group for group, member in members_of(scenario)}
        brokers = (*coordinators, *broker_names(scenario.cluster))
        return cls(
            member=members,
            not_java=frozenset(
                member.name
                for group, member in members_of(scenario)
                if client_of(group, member) != "java"
            ),
            without_listener=frozenset(
                member.name
                for group, member in members_of(scenario)
                if not has_listener(group, member)
            ),
            group={group.id: group for group in scenario.group},
            topic=most_partitions(scenario),
            broker=_distinct(brokers),
            fault=_distinct(fault.id for fault in scenario.fault),
            rack=_distinct(scenario.cluster.racks),
            party=_distinct((CLIENTS, BROKERS, CONTROLLER, ADMIN, *members, *brokers)),
        )

    def same_side(self, one: str, other: str) -> bool:
        """Return whether both are clients, or neither: then they exchange no client requests."""
        return self._sends_requests(one) == self._sends_requests(other)

    def exchange_messages(self, one: str, other: str) -> bool:
        """Return whether two nodes exchange messages of any kind."""
        if self._sends_requests(one) or self._sends_requests(other):
            return not self.same_side(one, other) and CONTROLLER not in (one, other)
        return one != other

    def _sends_requests(self, party: str) -> bool:
        return party in (CLIENTS, ADMIN) or party in self.member
