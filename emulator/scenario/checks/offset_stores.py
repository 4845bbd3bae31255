"""Check groups whose offsets are outside Kafka: what only Kafka has is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.scenario.checks.commits import written
from emulator.scenario.checks.poison import read_by
from emulator.scenario.deploys import deploys_of, started_by
from emulator.scenario.kafka_settings import PROTOCOL, STRATEGY
from emulator.scenario.model import CommitPolicy, Group, Member, Scenario
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import INSTANCE_ID, client_of, commit_policy
from emulator.scenario.tables.topics import CLEANUP


def store_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is impossible with offsets in ZooKeeper or a database, with the reason."""
    if scenario.zookeeper.claim and not scenario.zookeeper.versioned:
        reason = "without versions no write is refused: set versioned = true"
        yield Problem("zookeeper.claim", reason, given=True)
    for group in scenario.group:
        if group.offsets == "zookeeper":
            yield from _group_problems(group)
            yield from _deploy_problems(group, scenario)
        if group.offsets == "database":
            yield from _transaction_problems(group)
            yield from _topic_problems(group, scenario)
        if group.offsets != "kafka":
            yield from _act_problems(group.id, scenario)


def _transaction_problems(group: Group) -> Iterator[Problem]:
    """Yield what does not go with one transaction of the application thread a batch."""
    for key, why in (
        ("handler", "a transaction has the results of one thread"),
        ("poison", "a failed record would roll back its whole transaction"),
        ("deduplication", "results in a transaction have no duplicates behind them"),
    ):
        if getattr(group, key):
            yield Problem(f"group[{group.id}].{key}", f'{why}; leave it out, or offsets = "kafka"')
    for member in group.members:
        policy = commit_policy(group, member)
        if policy != CommitPolicy(call="sync"):
            reason = (
                "a transaction has the results and the offsets of one poll: leave it out; for a "
                "transaction a record, set max.poll.records = 1"
            )
            own = f".member[{member.name}]" if member.commit is not None else ""
            yield Problem(f"group[{group.id}]{own}.commit", reason, written(policy) or policy.call)
        reason = "with offsets in a database only the Java consumer is played"
        yield from _client_problems(group, member, reason)


def _topic_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    read = read_by(group, scenario)
    for topic in scenario.topic:
        if topic.is_compacted and topic.name in read:
            reason = f'compaction is not modelled for group {group.id}, with offsets = "database"'
            given = topic.settings[CLEANUP]
            yield Problem(f"topic[{topic.name}].settings[{CLEANUP}]", reason, given)


def _client_problems(group: Group, member: Member, reason: str) -> Iterator[Problem]:
    client = client_of(group, member)
    if client != "java":
        own = f".member[{member.name}]" if member.client is not None else ""
        yield Problem(f"group[{group.id}]{own}.client", reason, client)


def _group_problems(group: Group) -> Iterator[Problem]:
    path = f"group[{group.id}]"
    yield from _commit_problems(path, group)
    yield from _newer_problems(path, group.settings)
    if group.static:
        yield Problem(f"{path}.static", _not_valid(INSTANCE_ID), given=True)
    for member in group.members:
        yield from _newer_problems(f"{path}.member[{member.name}]", member.settings)
    for member in group.members:
        yield from _commit_problems(
            f"group[{group.id}].member[{member.name}]", group, member.commit
        )
        reason = "only the Java consumer of Kafka 0.8 commits to ZooKeeper"
        yield from _client_problems(group, member, reason)


def _deploy_problems(group: Group, scenario: Scenario) -> Iterator[Problem]:
    for act in deploys_of(scenario):
        if any(other is group for other, _ in started_by(act, scenario)):
            yield from _newer_problems(f"fault[{act.id}]", act.settings or {})


def _newer_problems(path: str, settings: Mapping[str, object]) -> Iterator[Problem]:
    """Yield settings that the consumer of Kafka 0.8 does not know, and that change how a group works."""
    for name, without in ((PROTOCOL, "classic"), (INSTANCE_ID, None)):
        if settings.get(name, without) != without:
            yield Problem(f"{path}.settings[{name}]", _not_valid(name), settings[name])

    names = settings.get(STRATEGY)
    for name in names if isinstance(names, tuple | list) else ():
        if name in ("sticky", "cooperative-sticky"):
            reason = (
                "with offsets in ZooKeeper the consumer is that of Kafka 0.8, which has range and "
                "roundrobin and takes range for any other name; name one of them"
            )
            yield Problem(f"{path}.settings[{STRATEGY}]", reason, name)


def _not_valid(setting: str) -> str:
    """Return what the old consumer says about a setting (``VerifiableProperties.verify``)."""
    return (
        f'with offsets in ZooKeeper the consumer is that of Kafka 0.8, which ignores this: "Property {setting} '
        'is not valid"; leave it out'
    )


def _commit_problems(path: str, group: Group, own: object = None) -> Iterator[Problem]:
    """Yield a commit policy of a group, or a member's *own*, that only Kafka has."""
    policy = group.commit if own is None else own
    if getattr(policy, "arguments", True) is False:
        reason = "commitSync() without offsets goes to Kafka; leave it out"
        yield Problem(f"{path}.commit.arguments", reason, given=False)
    if getattr(policy, "leader_epoch", False):
        reason = "a znode holds an offset and no leader epoch (KIP-320 came with Kafka 2.1); leave it out"
        yield Problem(f"{path}.commit.leader_epoch", reason, given=True)
    if getattr(policy, "call", "") == "auto" and not group.is_serial:
        reason = 'the automatic commit of Kafka 0.8 does not know workers; set commit = "sync"'
        yield Problem(f"{path}.commit", reason, "auto")


def _act_problems(group: str, scenario: Scenario) -> Iterator[Problem]:
    """Yield acts of the admin client, which knows the offsets in Kafka only."""
    for act in scenario.fault:
        if act.verb in ("delete_offsets", "reset_offsets", "delete_group") and act.group == group:
            reason = "its offsets are not in Kafka, and Kafka's admin client changes those in Kafka"
            yield Problem(f"fault[{act.id}].{act.verb}", reason, group)


def unused_stores(scenario: Scenario) -> tuple[str, ...]:
    """Return a note for each table of a store that neither the scenario nor a variant uses."""
    used = {group.offsets for group in scenario.group}
    changes = [change for variant in scenario.variant for change in variant.changes]
    return tuple(
        f'[{store}] has no effect: no group has offsets = "{store}"'
        for store in ("zookeeper", "database")
        if store in scenario.model_fields_set
        and store not in used
        and not any(store in change.partition("=")[2] for change in changes)
    )
