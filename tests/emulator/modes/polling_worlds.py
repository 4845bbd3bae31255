"""Random scenarios of members that poll by arithmetic while they keep their group and commit.

Heartbeats, commits, metadata requests and the ends of polls have intervals that seldom divide each
other, and are short, so that each of them falls on every part of a poll. Their members do nothing
but poll and work.
"""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

Table = dict[str, Any]


def polling_world(seed: int) -> Table:
    """Return the scenario of a seed, as a TOML file has it."""
    return _Draw(seed).world()


def timed_world(seed: int) -> Table:
    """Return the same world, whose applications commit by themselves at some interval."""
    random = Random(f"commits by time {seed}")
    world = polling_world(seed)
    policy: Table = {"call": random.choice(("sync", "async")), "when": "every"}
    policy["every"] = f"{random.choice((100, 300, 500, 1_000, 1_700, 4_000))}ms"
    if policy["call"] == "async" and random.randrange(3) == 0:
        policy["retry_older"] = f"{random.choice((100, 450, 2_000))}ms"
    if random.randrange(4) == 0:
        policy["on_revoke"] = True
    world["group"][0]["commit"] = policy
    if random.randrange(3) == 0:
        settings = world["group"][0]["settings"]
        for name in (
            "partition.assignment.strategy",
            "heartbeat.interval.ms",
            "session.timeout.ms",
        ):
            del settings[name]
        settings["group.protocol"] = "consumer"
    return world


def fast_world(seed: int) -> Table:
    """Return the same world with more records, so that a period of its members has several batches."""
    random = Random(f"fast records {seed}")
    world = polling_world(seed)
    (topic,), (group,) = world["topic"], world["group"]
    topic["partitions"] = random.choice((2, 3, 4))
    rate = random.choice((40, 60, 90))
    topic["rate"] = f"{rate}/s"
    if random.randrange(3) == 0:
        topic["skew"] = [random.choice((1.0, 0.5, 2.0)) for _ in range(topic["partitions"])]
    most_us = 1_000_000 * group["members"] // (topic["partitions"] * rate)
    group["work"] = f"{random.choice((0, 100, 900, most_us // 2, most_us * 9 // 1_000 * 100))}us"
    group["settings"]["max.poll.records"] = random.choice((1, 2, 500))
    return world


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"polling world {seed}")
        self.run_for_ms = self.pick(8_000, 12_000, 16_000)

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def rarely(self, one_of: int) -> bool:
        return self.random.randrange(one_of) == 0

    def world(self) -> Table:
        topic = self._topic()
        group = self._group(topic)
        cluster: Table = {"settings": {"group.min.session.timeout.ms": 500}}
        cluster["settings"]["group.initial.rebalance.delay.ms"] = 0
        if self.rarely(3):
            cluster["brokers"] = self.pick(1, 5)
        return {
            "title": "polling",
            "run_for": f"{self.run_for_ms}ms",
            "lag_every": self.pick("1700ms", "5s", "5s"),
            "topic": [topic],
            "group": [group],
            "network": self._network(),
            "cluster": cluster,
            "fault": [self._fault() for _ in range(self.pick(0, 1, 1, 2))],
        }

    def _topic(self) -> Table:
        rate = self.pick("0.3/s", "1/s", "1/s", "3/s", "5/s", "10/s", "20/s")
        topic: Table = {"name": "t", "partitions": self.pick(1, 2, 3, 4), "rate": rate}
        if self.rarely(5):
            topic["backlog"] = self.pick(7, 150)
        if self.rarely(6):
            topic["produce_until"] = self._time()
        if self.rarely(8):
            topic["retention"] = self.pick("2s", "4s")
        return topic

    def _group(self, topic: Table) -> Table:
        busy = topic["partitions"] * float(topic["rate"][:-2])
        work_ms = [each for each in (0, 1, 2, 19, 45, 130, 450, 900) if busy * each < 1_500]
        return {
            "id": "g",
            "topics": ["t"],
            "members": self.pick(1, 2, 2, 3),
            "commit": self.pick("auto", "auto", "auto", "none"),
            "work": f"{self.pick(*work_ms)}ms",
            "poll_timeout": self.pick("5ms", "50ms", "100ms", "1s", "3s"),
            "static": self.rarely(6),
            "settings": self._settings(),
        }

    def _settings(self) -> Table:
        beat_ms = self.pick(200, 300, 400, 500, 700, 1_000)
        settings: Table = {
            "auto.offset.reset": self.pick("earliest", "latest"),
            "partition.assignment.strategy": self.pick("range", "cooperative-sticky"),
            "heartbeat.interval.ms": beat_ms,
            "session.timeout.ms": self.pick(beat_ms + 100, 2 * beat_ms, 3_000, 6_000),
            "auto.commit.interval.ms": self.pick(300, 400, 500, 1_000, 1_700, 60_000),
            "fetch.max.wait.ms": self.pick(20, 50, 90, 500),
            "max.poll.records": self.pick(1, 3, 500),
            "retry.backoff.ms": self.pick(70, 100, 100, 130),
        }
        if self.rarely(3):
            settings["max.poll.interval.ms"] = self.pick(1_000, 1_500, 2_000, 4_000)
        if self.rarely(3):
            settings["metadata.max.age.ms"] = self.pick(700, 1_500, 3_000)
        if self.rarely(4):
            settings["request.timeout.ms"] = self.pick(600, 1_000)
        return settings

    def _network(self) -> Table:
        latency = self.pick("0s", "0s", "500us", "1ms", "7ms", "50ms", "150ms")
        network: Table = {"latency": latency}
        if self.rarely(6):
            network["link"] = [{"from": "g-0", "to": "brokers", "latency": "20ms"}]
        return network

    def _time(self) -> str:
        """Return a time on a coarse grid, or a microsecond before or after."""
        at_ms = 100 * self.random.randrange(25, self.run_for_ms // 100 - 20)
        return f"{1_000 * at_ms + self.pick(0, 0, -1, 1, 500)}us"

    def _fault(self) -> Table:
        lasting = self.pick("300ms", "700ms", "2s")
        kind = self.pick("Heartbeat", "OffsetCommit", "OffsetFetch", "JoinGroup")
        part = self.pick("request", "response")
        message = {"kind": kind, "part": part, "member": "g-0", "nth": self.pick(1, 3)}
        fault = self.pick(
            {"crash": "g-0", "restart_after": lasting},
            {"close": "g-0", "restart_after": lasting},
            {"pause": "g-0", "for": lasting},
            {"hang": "g-0", "for": lasting},
            {"cut": ["g-0", "coordinator of g"], "for": lasting, "one_way": self.rarely(2)},
            {"cut": ["g-0", "brokers"], "for": lasting},
            {"stop_broker": self.pick("coordinator of g", "broker-1"), "restart_after": lasting},
            {"crash_broker": "coordinator of g", "restart_after": lasting},
            {"slow_disk": "coordinator of g", "by": "20ms", "for": lasting},
            {"move_coordinator": "g"},
            {"add_partitions": "t", "to": self.pick(5, 6)},
            {"delete_group": "g"},
            {"delay_message": message, "by": self.pick("50ms", "350ms", "700ms", "3s")},
            {"delay_message": message, "by": self.pick("50ms", "350ms", "700ms", "3s")},
            {"lose_message": message},
        )
        if not self.rarely(4) or "message" in str(fault):
            return {**fault, "at": self._time()}
        step = self.pick("batch done", "polled", "sent Heartbeat", "commit sent")
        when = {"member": "g-0", "step": step, "nth": self.random.randrange(1, 9)}
        return {**fault, "when": {**when, "after": self._time()}}
