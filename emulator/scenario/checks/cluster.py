"""What can be wrong between the brokers, their settings and the network."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.scenario.checks.names import unknown
from emulator.scenario.model import Cluster, Scenario
from emulator.scenario.parties import ADMIN, BROKERS, CLIENTS, Names, broker_names
from emulator.scenario.problems import Problem
from emulator.scenario.resolution import REPLICATION_FACTORS, broker_settings


def cluster_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what is wrong with the brokers and the network."""
    yield from _broker_problems(scenario.cluster)
    yield from _backlog_problems(scenario.cluster)
    yield from _compaction_problems(scenario.cluster)
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
    """Yield a problem for a backlog that would cost nothing to load."""
    for key, speed in (
        ("offsets_backlog", "load_bytes"),
        ("offsets_backlog_records", "load_records"),
    ):
        if getattr(cluster, key) and getattr(cluster, speed) is None:
            reason = f"costs nothing to load; say how fast a load is by {speed}"
            yield Problem(f"cluster.{key}", reason, getattr(cluster, key))


def _compaction_problems(cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem if records would be overdue before they may be compacted (``LogConfig``)."""
    settings = broker_settings(cluster)
    least, most = (
        settings.log_cleaner_min_compaction_lag_ms,
        settings.log_cleaner_max_compaction_lag_ms,
    )
    if least > most:
        reason = f"above log.cleaner.max.compaction.lag.ms, which is {most}"
        yield Problem("cluster.settings[log.cleaner.min.compaction.lag.ms]", reason, least)


def replication_problems(path: str, copies: object, cluster: Cluster) -> Iterator[Problem]:
    """Yield a problem if there are to be more copies than brokers."""
    if isinstance(copies, int) and copies > cluster.brokers:
        yield Problem(path, f"more copies than brokers; there are {cluster.brokers}", copies)


def _link_problems(scenario: Scenario) -> Iterator[Problem]:
    names = Names.of(scenario)
    parties = [CLIENTS, BROKERS, ADMIN, *broker_names(scenario.cluster), *names.member]
    for number, link in enumerate(scenario.network.link):
        path = f"network.link[{number}]"
        yield from unknown(f"{path}.from", link.sender, parties, "party")
        yield from unknown(f"{path}.to", link.receiver, parties, "party")
        known = link.sender in parties and link.receiver in parties
        if known and names.same_side(link.sender, link.receiver):
            yield Problem(path, "nothing passes between these two; a link has a consumer's end")
        if link.latency is None and link.loss is None:
            yield Problem(path, 'says neither "latency" nor "loss"')
