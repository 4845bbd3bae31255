"""Random small worlds: any group, client, policy and handler; a few members, partitions and seconds.

Sessions, intervals and back-offs are short, so that something happens in one to a few seconds, and
times lie on a coarse grid or one microsecond beside it. A world takes some milliseconds to play, so
that very many can be. Some draws ask for what a scenario may not have; those are refused.
"""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

from protocols.consumer.clients import CLIENTS, Amount, profile_of

from .small_faults import FaultDraw

Table = dict[str, Any]

PROTOCOLS = ("classic", "consumer", "consumer", "mixed")
COMMITS: tuple[Any, ...] = (
    *["auto"] * 6,
    "none",
    "sync",
    "sync",
    "async",
    "async",
    "sync per record",
    "async per record",
    "sync before",
    "async before",
    {"call": "sync", "when": "every", "records": 3},
    {"call": "async", "when": "every", "every": "300ms"},
    {"call": "sync", "when": "every", "every": "300ms", "between_batches": False},
    {"call": "sync", "arguments": False},
    {"call": "async", "when": "record", "arguments": False},
    {"call": "sync", "on_revoke": True},
    {"call": "auto", "on_revoke": True},
    {"call": "sync", "leader_epoch": True},
    {"call": "sync", "off_by_one": True},
    {"call": "sync", "on_refusal": "discard"},
    {"call": "sync", "on_refusal": "stop"},
    {"call": "sync", "on_refusal": "keep"},
    {"call": "async", "retry_older": "400ms"},
    {"call": "async", "retry_older_in": "revoked"},
    {"call": "async", "retry_older_in": "assigned"},
)
STORES = ("store", "store per record")
POISON: tuple[Table, ...] = (
    {"every": 4, "error": "skip"},
    {"every": 5, "error": "forward", "to": "u"},
    {"share": 0.2, "error": "retry", "attempts": 2, "backoff": "100ms", "then": "skip"},
    {"topic": "t", "partition": 0, "offset": 2, "error": "stop"},
    {"topic": "t", "partition": 0, "offset": 3, "work": "700ms"},
)
POISON_OF_JAVA: tuple[Table, ...] = (
    {"share": 0.2, "error": "seek", "attempts": 2, "backoff": "100ms"},
    {"key": 1, "error": "pause", "backoff": "200ms", "then": "skip"},
)
CLASSIC_ONLY = ("partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms")


def small_world(seed: int) -> Table:
    """Return the scenario of a seed, as a TOML file has it."""
    world = _Draw(seed).world()
    _draw_replacement(Random(f"replacement {seed}"), world)
    return world


def _draw_replacement(random: Random, world: Table) -> None:
    """Choose by which rules acts replace processes: apart, so that all else of a world stays as it was."""
    for fault in world["fault"]:
        may_rename = "rolling_restart" in fault or {"drain_node", "restart_after"} <= fault.keys()
        if may_rename and random.randrange(2):
            fault["names"] = "random"
        if "rolling_restart" in fault and random.randrange(2):
            fault["surge"] = random.choice((0, 1, 2))
            fault["max_unavailable"] = random.choice((0, 1)) if fault["surge"] else 1
        if fault.get("canary") and random.randrange(2):
            fault |= {"roll_back": True, "canary": max(1, len(world["group"][0]["members"]) - 1)}


def _taken(value: Any, bounds: tuple[int, int] | None) -> Any:
    """Return the value of a setting closest to *value* that a client takes."""
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"small world {seed}")
        self.run_for_ms = self.pick(600, 800, 1_000, 1_000, 1_500, 2_500)

    def pick(self, *among: Any) -> Any:
        """Return one of some values; a table is copied, since a world may change its own."""
        chosen = self.random.choice(among)
        return dict(chosen) if isinstance(chosen, dict) else chosen

    def rarely(self, one_of: int) -> bool:
        return self.random.randrange(one_of) == 0

    def world(self) -> Table:
        brokers = self.pick(1, 1, 2, 3)
        group = self._group()
        world: Table = {
            "title": "small",
            "run_for": f"{self.run_for_ms}ms",
            "lag_every": self.pick("700ms", "1s", "5s"),
            "topic": [self._topic(brokers), *self._second_topic()],
            "group": [group],
            "network": self._network(),
            "cluster": self._cluster(brokers),
        }
        if group.get("offsets") == "zookeeper":
            world["zookeeper"] = {"writes": self.pick("5/s", "1000/s"), "latency": "10ms"}
            world["zookeeper"]["versioned"] = self.rarely(3)
        if group.get("offsets") == "database":
            world["database"] = {"fenced": self.rarely(2), "backoff": "300ms"}
            world["database"]["on_failure"] = self.pick("retry", "stop")
        draw = FaultDraw(self.random, self.run_for_ms, world)
        world["fault"] = draw.faults(self.pick(0, 1, 1, 1, 2, 3))
        return world

    # -- topics and brokers ------------------------------------------------------------------------

    def _topic(self, brokers: int) -> Table:
        topic: Table = {"name": "t", "partitions": self.pick(1, 1, 2, 3, 4)}
        topic["rate"] = self.pick("1/s", "2/s", "5/s", "5/s", "10/s", "0/s")
        if self.rarely(8):
            bursts = {"rate": "20/s", "for": "300ms", "every": "900ms"}
            topic["rate"] = self.pick({"poisson": "4/s"}, {"bursts": bursts})
        if self.rarely(3):
            topic["backlog"] = self.pick(3, 7, 20)
        if self.rarely(12):
            topic["retention"] = self.pick("500ms", "1500ms")
        if self.rarely(12):
            topic["produce_until"] = f"{self.run_for_ms // 2}ms"
        if brokers > 1:
            topic["replicas"] = self.pick(1, 2, brokers)
            topic["acks"] = self.pick("all", "all", "1")
        if self.rarely(10):
            topic |= self.pick(
                {"repeats": {"records": 1, "of": 4}},
                {"skew": [2.0, 0.5]},
                {"keys": {"count": 5}},
                {"record_size": "100KiB"},
                {"transaction_records": 2, "acks": "all"},
                {"transaction_records": 2, "aborted_every": 2, "acks": "all"},
                {"compacted": 3, "backlog": 9, "acks": "all"},
            )
        return topic

    def _second_topic(self) -> list[Table]:
        if not self.rarely(3):
            return []
        topic = {"name": "u", "partitions": self.pick(1, 2), "rate": "2/s"}
        return [topic | self.pick({}, {"created": "by act"}, {"created": "400ms"})]

    def _cluster(self, brokers: int) -> Table:
        beat_ms = self.pick(100, 200, 300)
        settings: Table = {
            "group.min.session.timeout.ms": 100,
            "group.initial.rebalance.delay.ms": self.pick(0, 0, 0, 200),
            "group.consumer.min.session.timeout.ms": 200,
            "group.consumer.min.heartbeat.interval.ms": 50,
            "group.consumer.session.timeout.ms": self.pick(2, 3, 5) * beat_ms,
            "group.consumer.heartbeat.interval.ms": beat_ms,
            "group.consumer.assignment.interval.ms": self.pick(0, 0, 300, 1_000),
            "broker.session.timeout.ms": self.pick(300, 700, 9_000),
            "replica.lag.time.max.ms": self.pick(500, 700, 30_000),
            "offsets.commit.timeout.ms": self.pick(400, 5_000),
            "offsets.topic.replication.factor": self.pick(1, brokers),
        }
        if self.rarely(8):
            settings["unclean.leader.election.enable"] = True
        if self.rarely(8):
            settings["min.insync.replicas"] = self.pick(1, brokers)
        if self.rarely(8):
            policies = ("bidirectional", "upgrade", "downgrade", "disabled")
            settings["group.consumer.migration.policy"] = self.pick(*policies)
        if self.rarely(8):
            settings["group.consumer.assignors"] = self.pick("range", "uniform")
        cluster: Table = {"brokers": brokers, "settings": settings}
        if self.rarely(6):
            cluster["racks"] = [self.pick("a", "b") for _ in range(brokers)]
        if self.rarely(8):
            cluster |= self.pick({"load": "300ms"}, {"load_bytes": "1kB/s"}, {"join_time": "20ms"})
        return cluster

    def _network(self) -> Table:
        latency = self.pick("500us", "1ms", "5ms", "20ms", {"exponential": "2ms"})
        network: Table = {"latency": latency, "loss": self.pick(0.0, 0.0, 0.0, 0.05)}
        if self.rarely(12):
            network["link"] = [{"from": "g-0", "to": "brokers", "latency": "70ms"}]
        return network

    # -- the group ---------------------------------------------------------------------------------

    def _group(self) -> Table:
        count = self.pick(1, 1, 1, 2, 2, 3)
        client = self.pick(*["java"] * 4, *CLIENTS[1:])
        group: Table = {
            "id": "g",
            "topics": ["t"],
            "client": client,
            "members": [{"name": f"g-{number}"} for number in range(count)],
            "work": self.pick("0s", "1ms", "20ms", "90ms", {"uniform": ["1ms", "150ms"]}),
            "poll_timeout": self.pick("50ms", "200ms", "1s", "3s"),
            "static": self.rarely(6),
        }
        if self.rarely(4):
            group["members"].append({"name": "late", "start": self.pick("by act", "300ms")})
        if self.rarely(6):
            del group["topics"]
            group["pattern"] = "[tu]"
        group["commit"] = self.pick(*COMMITS, *(STORES * 4 if profile_of(client).stores else ()))
        self._add_handler(group)
        self._add_times(group)
        self._speak(group)
        self._read(group)
        self._keep_offsets(group)
        return group

    def _speak(self, group: Table) -> None:
        """Choose protocols: one for all members, or one for each."""
        profile = profile_of(group["client"])
        protocol = self.pick(*PROTOCOLS) if "consumer" in profile.protocols else "classic"
        group["settings"] = self._settings(group["client"])
        if protocol == "classic":
            group["settings"] |= self._classic(group["client"])
        elif protocol == "consumer":
            group["settings"]["group.protocol"] = "consumer"
            if self.rarely(3):
                group["wake_up"] = self.pick("50us", "10ms")
        else:
            for member in group["members"]:
                other = member is group["members"][0] or self.rarely(2)
                newer = {"group.protocol": "consumer"}
                member["settings"] = newer if other else self._classic(group["client"])

    def _classic(self, client: str) -> Table:
        names = tuple(profile_of(client).assignors.values())
        beat_ms = self.pick(100, 200, 300)
        return {
            "partition.assignment.strategy": self.pick(*names),
            "session.timeout.ms": beat_ms * self.pick(2, 3, 5),
            "heartbeat.interval.ms": beat_ms,
        }

    def _settings(self, client: str) -> Table:
        settings: Table = {
            "auto.offset.reset": self.pick("earliest", "earliest", "latest"),
            "auto.commit.interval.ms": self.pick(100, 300, 500, 5_000),
            "max.poll.records": self.pick(1, 2, 500),
            "max.poll.interval.ms": self.pick(400, 1_000, 300_000),
            "fetch.max.wait.ms": self.pick(50, 300, 500, 500),
            "request.timeout.ms": self.pick(300, 700, 30_000),
            "retry.backoff.ms": self.pick(50, 100),
        }
        if self.rarely(4):
            settings["metadata.max.age.ms"] = self.pick(400, 1_000)
        if self.rarely(4):
            settings["default.api.timeout.ms"] = self.pick(400, 2_000)
        if self.rarely(8):
            settings["isolation.level"] = "read_committed"
        if self.rarely(8):
            settings |= self.pick({"fetch.max.bytes": 1}, {"max.partition.fetch.bytes": 2_000})
        profile = profile_of(client)
        return {
            name: _taken(value, profile.ranges.get(name))
            for name, value in settings.items()
            if name not in profile.lacks
        }

    def _read(self, group: Table) -> None:
        """Choose the call that hands records out."""
        reads = profile_of(group["client"]).reads
        group["read_with"] = call = self.pick(*reads)
        if reads[call] is Amount.GIVEN:
            group["read_records"] = self.pick(2, 500)

    def _add_handler(self, group: Table) -> None:
        """Choose what processes records; commits are made possible for it."""
        if self.rarely(6):
            is_java = group["client"] == "java"
            group["poison"] = [self.pick(*POISON, *(POISON_OF_JAVA if is_java else ()))]
        if self.rarely(10):
            group["deduplication"] = {"scope": self.pick("shared", "process")}
            group["deduplication"]["mark"] = self.pick("after", "before")
        if self.rarely(12):
            group["handler"] = self.pick("batch", {"listener": "batch", "names_failed": True})
        elif self.rarely(6):
            self._add_pool(group)

    def _add_pool(self, group: Table) -> None:
        commit = group["commit"]
        commit = {"call": commit.split()[0]} if isinstance(commit, str) else dict(commit)
        commit.pop("on_refusal", None)
        if commit.get("when") in ("record", "before"):
            commit["when"] = "batch"
        if commit["call"] in ("sync", "async") and commit.get("arguments", True):
            commit["offsets"] = self.pick("frontier", "highest", "last")
        group["commit"] = commit
        group["handler"] = {
            "workers": self.pick(1, 2, 4),
            "order": self.pick("partition", "key", "none"),
            "keys": 3,
            "queue": self.pick(2, 20),
            "when_full": self.pick("pause", "block"),
            "drain": self.pick("none", "running", "all"),
            "drain_for": self.pick("100ms", "30s"),
            "commit_first": self.rarely(3),
            "revoked": self.pick("discard", "continue"),
        }

    def _add_times(self, group: Table) -> None:
        """Choose rarely how long listeners, assignors and late threads take."""
        if self.rarely(8):
            group["listener"] = self.pick("20ms", "400ms")
            group["listener_commits"] = self.pick("before", "after")
        if self.rarely(12):
            group["lateness"] = {"uniform": ["0s", "5ms"]}
        if self.rarely(12):
            group["assignor_time"] = self.pick("30ms", "500ms")
        if self.rarely(10):
            group["close_timeout"] = self.pick("0s", "100ms")
        if self.rarely(16) and group["client"] == "java":
            group["close_operation"] = self.pick("LEAVE_GROUP", "REMAIN_IN_GROUP")

    def _keep_offsets(self, group: Table) -> None:
        """Choose rarely another place for offsets, or partitions that members assign themselves."""
        where = self.pick(*["kafka"] * 18, "zookeeper", "database", "none", "assign")
        if where == "kafka" or group["client"] != "java":
            return
        for name in ("handler", "poison", "deduplication"):
            group.pop(name, None)
        group["static"] = False
        if where in ("zookeeper", "none", "assign"):
            self._make_classic(group)
        if where == "assign":
            group["members"][-1] |= {"assign": {"t": [0]}, "start": "300ms"}
            return
        group["offsets"] = where
        if where == "none":
            group.pop("topics", None), group.pop("pattern", None)
            for member in group["members"]:
                member["assign"] = {"t": "all"}
        if where != "zookeeper":
            group.pop("commit")
        elif isinstance(group["commit"], dict):
            group["commit"].pop("arguments", None)

    def _make_classic(self, group: Table) -> None:
        """Let all members speak the classic protocol."""
        group.pop("wake_up", None)
        group["settings"].pop("group.protocol", None)
        group["settings"] |= self._classic("java")
        for member in group["members"]:
            member.pop("settings", None)
