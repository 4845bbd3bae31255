"""Random scenarios whose runs have many short periods, disturbed at random times.

All intervals divide one period of a few seconds at most, and all times lie on a coarse grid, or one
microsecond beside it, so that much falls together.
"""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

Table = dict[str, Any]

EARLIEST, LATEST = "earliest", "latest"
PERIODS_MS = (400, 600, 600, 800, 1_000, 1_200)
COMMITS: tuple[Any, ...] = (
    *["auto"] * 5,
    "none",
    "sync",
    "sync",
    "sync",
    "async",
    "async",
    "sync per record",
    "async per record",
    "sync before",
    "async before",
    {"call": "sync", "when": "every", "records": 7},
    {"call": "async", "when": "every", "records": 20, "between_batches": False},
    {"call": "sync", "arguments": False},
    {"call": "async", "when": "record", "arguments": False},
    {"call": "sync", "on_revoke": True},
    {"call": "sync", "leader_epoch": True},
    {"call": "async", "off_by_one": True},
    {"call": "sync", "on_refusal": "discard"},
    {"call": "async", "retry_older": "2s"},
)
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")
WORK_MS = (0, 1, 1, 2, 7, 10, 17, 40, 50)
WHILE = ("300ms", "1s", "2500ms", "4s")


def periodic_world(seed: int) -> Table:
    """Return the scenario of a seed, as a TOML file has it."""
    world, names = _Draw(seed).world(), Random(f"names {seed}")
    for fault in world["fault"]:
        if "rolling_restart" in fault and names.randrange(2):
            fault["names"] = "random"  # drawn apart, so that all else of a world stays as it was
    return world


def period_ms_of(seed: int) -> int:
    """Return the period of that scenario, which all its intervals divide."""
    return _Draw(seed).period_ms


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"periodic world {seed}")
        self.period_ms = self.pick(PERIODS_MS)
        self.run_for_ms = 7_000 + self.period_ms * self.pick((9, 12, 15, 25))
        self.grid_ms = self.pick((10, 50, 100))

    def pick(self, among: tuple[Any, ...]) -> Any:
        return self.random.choice(among)

    def rarely(self, one_of: int) -> bool:
        return self.random.randrange(one_of) == 0

    def world(self) -> Table:
        topics = [self._topic(f"t{n}") for n in range(self.pick((1, 1, 1, 2)))]
        groups = [self._group(f"g{n}", topics) for n in range(self.pick((1, 1, 1, 2)))]
        if self.rarely(12):
            topics.append({"name": "t-new", "partitions": 2, "rate": "5/s", "created": "by act"})
        return {
            "title": "periodic",
            "run_for": f"{self.run_for_ms}ms",
            "lag_every": self._lag_every(),
            "topic": topics,
            "group": groups,
            "network": self._network(groups),
            "cluster": self._cluster(),
            "fault": self._faults(topics, groups),
        }

    def _lag_every(self) -> str:
        lag_ms = self.period_ms * self.pick((1, 1, 1, 2)) // self.pick((1, 1, 2))
        return "4100ms" if self.rarely(20) else f"{lag_ms}ms"

    def _divisor(self, min_ms: int, max_ms: int) -> int:
        """Return a whole part of the period; rarely any time on the grid."""
        if self.rarely(50):
            return self.random.randrange(min_ms, max_ms + 1, 100)
        parts = [self.period_ms // n for n in range(1, 16) if self.period_ms % n == 0]
        return self.pick(tuple(p for p in parts if min_ms <= p <= max_ms) or (min_ms,))

    def _topic(self, name: str) -> Table:
        every_ms = self.pick((50, 100, 100, 200, 200, 300, self.period_ms))
        topic: Table = {
            "name": name,
            "partitions": self.pick((1, 2, 3, 4)),
            "rate": f"{1_000 / every_ms}/s",
        }
        if self.rarely(15):
            topic["rate"] = self.pick(("0/s", "7/s"))
        if self.rarely(5):
            topic["skew"] = [1.0, 2.0, 0.5, 1.0][: topic["partitions"]]
        if self.rarely(6):
            topic["backlog"] = self.pick((7, 150, 900))
        if self.rarely(12):
            topic["produce_from"] = self._time(0, 3)
        if self.rarely(15):
            topic["produce_until"] = self._time(
                self.run_for_ms * 7 // 10_000, self.run_for_ms // 1_000
            )
        if self.rarely(20):
            topic["retention"] = self.pick(("2s", "4s"))
        return topic

    def _group(self, name: str, topics: list[Table]) -> Table:
        count = self.pick((1, 2, 2, 3, 5))
        commit = self.pick(COMMITS)
        if self.rarely(12):
            commit = {
                "call": self.pick(("sync", "async")),
                "when": "every",
                "every": f"{self._divisor(300, 2_000)}ms",
                "between_batches": self.pick((True, False)),
            }
        read = tuple(t["name"] for t in topics if not self.rarely(3)) or (topics[0]["name"],)
        group: Table = {
            "id": name,
            "members": [{"name": f"{name}-{n}"} for n in range(count)],
            "commit": commit,
            "work": self._work(count, topics),
            "poll_timeout": self.pick(("5ms", "50ms", "100ms", "1s")),
            "settings": self._settings(),
            "static": self.rarely(5),
        }
        if self.rarely(8):
            group["pattern"] = "t.*"
        else:
            group["topics"] = list(read)
        if self.rarely(40):
            group["poison"] = [{"topic": read[0], "partition": 0, "offset": 60, "work": "2s"}]
        if self.rarely(8):
            group["members"].append({"name": f"{name}-late", "start": self._time(2, 7)})
        return group

    def _work(self, members: int, topics: list[Table]) -> str:
        """Return the time of a record, rarely more than the members have."""
        rate = sum(topic["partitions"] * float(topic["rate"][:-2]) for topic in topics)
        allowed = [w for w in WORK_MS if rate * w < 950 * members or self.rarely(20)]
        return f"{self.pick(tuple(allowed))}ms"

    def _settings(self) -> Table:
        settings: Table = {
            "auto.offset.reset": self.pick((EARLIEST, EARLIEST, LATEST)),
            "partition.assignment.strategy": self.pick(STRATEGIES),
            "session.timeout.ms": self.pick((2_000, 3_000, 6_000)),
            "heartbeat.interval.ms": self._divisor(200, 600),
            "auto.commit.interval.ms": self._divisor(300, 2_000),
            "max.poll.records": self.pick((1, 3, 500, 500)),
            "fetch.max.wait.ms": self.pick((50, 500, 500)),
        }
        if self.rarely(4):
            settings["metadata.max.age.ms"] = self.pick((2_000, 3_000, 5_000))
        if self.rarely(30):
            settings["fetch.min.bytes"] = 3_000
        if self.rarely(10):
            settings["max.poll.interval.ms"] = 4_000
        if self.rarely(10):
            settings["request.timeout.ms"] = 3_000
        if self.rarely(15):
            settings["isolation.level"] = "read_committed"
        return settings

    def _network(self, groups: list[Table]) -> Table:
        network: Table = {"latency": self.pick(("0s", "0s", "500us", "500us", "2ms", "10ms"))}
        if self.rarely(12):
            network["latency"] = "50ms"
        if self.rarely(5):
            latency = self.pick(("0s", "1ms", "10ms"))
            network["link"] = [
                {"from": f"{groups[0]['id']}-0", "to": "brokers", "latency": latency}
            ]
        return network

    def _cluster(self) -> Table:
        settings: Table = {"group.min.session.timeout.ms": 1_000}
        if not self.rarely(16):
            settings["group.initial.rebalance.delay.ms"] = 0
        if self.rarely(4):
            settings["offsets.topic.num.partitions"] = 1
        if self.rarely(6):
            settings["offsets.topic.replication.factor"] = self.pick((1, 2))
        if self.rarely(8):
            settings["log.roll.ms"] = self.pick((3_000, 5_300))
        if self.rarely(6):
            settings["log.cleaner.backoff.ms"] = self.pick((1_000, 2_000))
        cluster: Table = {"settings": settings}
        if self.rarely(4):
            cluster["brokers"] = self.pick((1, 4))
        if self.rarely(5):
            cluster["replication"] = self.pick(("0s", "5ms", "50ms"))
        if self.rarely(6):
            cluster["load_bytes"] = "10kB/s"
        if cluster.get("brokers") == 1:
            settings.pop("offsets.topic.replication.factor", None)
        return cluster

    # -- faults and acts ---------------------------------------------------------------------------

    def _time(self, min_s: int, max_s: int) -> str:
        """Return a time on the grid, or a microsecond before or after."""
        least, most = (1_000 * s // self.grid_ms for s in (min_s, max_s))
        beside_us = self.pick((0, 0, 0, -1, 1, 500))
        return f"{self.random.randrange(least + 1, most) * self.grid_ms * 1_000 + beside_us}us"

    def _faults(self, topics: list[Table], groups: list[Table]) -> list[Table]:
        faults = []
        for _ in range(self.pick((0, 1, 1, 1, 1, 2))):
            fault = self._fault(topics, groups)
            if not (
                set(fault) & {"add_partitions", "create_topic", "start"} & set().union(*faults)
            ):
                faults.append(fault)
        return faults

    def _fault(self, topics: list[Table], groups: list[Table]) -> Table:
        group, topic = self.pick(tuple(groups)), topics[0]["name"]
        member = self.pick(tuple(m["name"] for m in group["members"]))
        gid, lasting = group["id"], self.pick(WHILE)
        coordinator = f"coordinator of {gid}"
        made = [
            {"crash": member, "restart_after": lasting},
            {"crash": member},
            {"close": member, "restart_after": lasting},
            {"close": member, "mid_batch": True},
            {"close": member, "grace": self.pick(("0s", "10ms"))},
            {"pause": member, "for": lasting},
            {"pause": member, "for": lasting},
            {"hang": member, "for": lasting},
            {"cut": [member, coordinator], "for": lasting},
            {"cut": [member, "brokers"], "for": lasting, "one_way": self.rarely(2)},
            {"cut": ["broker-1", "controller"], "for": lasting},
            {"crash_broker": coordinator, "restart_after": lasting},
            {"pause_broker": self.pick((coordinator, "broker-1")), "for": lasting},
            {"stop_broker": self.pick((coordinator, "broker-1")), "restart_after": lasting},
            {"slow_disk": coordinator, "by": self.pick(("20ms", "1s")), "for": lasting},
            {"fill_disk": coordinator, "for": lasting},
            {"move_coordinator": gid},
            {"add_partitions": topic, "to": 5},
            {"reset_offsets": gid, "to": self.pick((EARLIEST, LATEST, 40))},
            {"reset_offsets": gid, "shift_by": self.pick((-15, 15))},
            {"delete_offsets": gid, "topic": topic},
            {"delete_group": gid},
            {"rolling_restart": gid, "gap": lasting, "surge": self.rarely(3)},
            {"rolling_restart": gid, "gap": "1s", "settings": {"heartbeat.interval.ms": 400}},
            {"rolling_broker_restart": "brokers", "gap": lasting},
            {"subscribe": gid, "topics": [topics[-1]["name"]]},
            self._on_message(member),
            self._on_message(member),
        ]
        if topics[-1]["name"] == "t-new":
            made += [{"create_topic": "t-new"}] * 4
        fault = dict(self.pick(tuple(made)))
        last_s = self.run_for_ms // 1_000 - 3
        if "reset_offsets" not in fault and self.rarely(16) and "message" not in str(fault):
            step = self.pick(("batch done", "commit sent", "polled", "sent Heartbeat"))
            steps = {"member": member, "step": step, "nth": self.random.randrange(1, 40)}
            return {**fault, "when": {**steps, "after": self._time(last_s // 2, last_s)}}
        first_s = self.pick((3, last_s // 2, last_s // 2, last_s * 3 // 4))
        return {**fault, "at": self._time(first_s, last_s)}

    def _on_message(self, member: str) -> Table:
        kind = self.pick(("Heartbeat", "OffsetCommit", "JoinGroup", "OffsetFetch"))
        part = self.pick(("request", "response"))
        match = {"kind": kind, "part": part, "member": member, "nth": self.pick((1, 3, 9))}
        if self.rarely(2):
            return {"delay_message": match, "by": self.pick(("50ms", "700ms", "4s"))}
        return {"lose_message": match}


def how_played(seed: int) -> Table:
    """Return how to play the scenario of a seed: with log files, checks, or small segments."""
    random = Random(f"how to play {seed}")
    return {
        "files": random.randrange(4) == 0,
        "check": random.randrange(16) == 0,
        "segment_bytes": random.choice((None, None, None, 5_000, 20_000, 60_000)),
    }
