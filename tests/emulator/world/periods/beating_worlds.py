"""Random groups of Java's classic client with its default intervals, disturbed once or twice.

They send a heartbeat every three seconds and commit every five, so that most of a minute is skipped in periods
that heartbeats are no part of.
"""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

Table = dict[str, Any]

MEMBERS = (1, 2, 3, 3, 4)
LASTING = ("300ms", "2s", "7s", "20s", "50s")
MICROSECONDS_BESIDE = (0, 0, 100_000, 500_000, 1, -1)


def beating_world(seed: int) -> Table:
    """Return the scenario of a seed, as a TOML file has it."""
    return _Draw(seed).world()


class _Draw:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"beating world {seed}")
        self.members = self.pick(*MEMBERS)
        self.partitions = self.members * self.pick(1, 2)
        self.run_for_s = self.pick(60, 90, 150)

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def world(self) -> Table:
        rate = self.pick(1, 2, 5, 10)
        return {
            "title": "beating",
            "run_for": f"{self.run_for_s}s",
            "lag_every": self.pick("5s", "1s", "30s", "600s"),
            "network": {"latency": self.pick("0s", "500us", "1ms", "2ms", "7ms", "25ms")},
            "cluster": {"replication": self.pick("0s", "2ms", "20ms")},
            "topic": [{"name": "t", "partitions": self.partitions, "rate": f"{rate}/s"}],
            "group": [self._group(rate)],
            "fault": [each for each in self.random.sample(self._faults(), 2) if each],
        }

    def _group(self, rate: int) -> Table:
        work_ms = self.pick(0, 1, 5, 10, 20, 60)
        if rate * self.partitions * work_ms > 900 * self.members:
            work_ms = 5
        settings = {
            "auto.offset.reset": "earliest",
            "session.timeout.ms": self.pick(10_000, 45_000),
            "max.poll.interval.ms": self.pick(300_000, 300_000, 9_000, 20_000),
            "metadata.max.age.ms": self.pick(300_000, 300_000, 7_000, 20_000),
            "partition.assignment.strategy": self.pick("range", "cooperative-sticky"),
        }
        return {
            "id": "g",
            "topics": ["t"],
            "members": self.members,
            "work": f"{work_ms}ms",
            "poll_timeout": self.pick("100ms", "100ms", "500ms", "1s", "5s"),
            "static": self.random.randrange(5) == 0,
            "commit": self.pick("auto", "auto", "auto", "none"),
            "settings": settings,
        }

    def _time(self) -> str:
        at_us = 1_000_000 * self.random.randrange(20, self.run_for_s - 10)
        beside_us = self.pick(*MICROSECONDS_BESIDE, self.random.randrange(1_000_000))
        return f"{at_us + beside_us}us"

    def _faults(self) -> list[Table]:
        member, lasting = f"g-{self.random.randrange(self.members)}", self.pick(*LASTING)
        part, brokers = self.pick("request", "response"), self.pick("brokers", "coordinator of g")
        made: list[Table] = [
            {"crash": member},
            {"crash": member, "restart_after": lasting},
            {"close": member, "restart_after": lasting},
            {"pause": member, "for": lasting},
            {"hang": member, "for": lasting},
            {"cut": [member, brokers], "for": lasting, "one_way": self.pick(True, False)},
            {"move_coordinator": "g"},
            {"crash_broker": "coordinator of g", "restart_after": lasting},
            {"stop_broker": "coordinator of g", "restart_after": lasting},
            {"pause_broker": "coordinator of g", "for": lasting},
            {"slow_disk": "coordinator of g", "by": self.pick("20ms", "1s"), "for": lasting},
            {"add_partitions": "t", "to": self.partitions + 1},
            {"rolling_restart": "g", "gap": self.pick("1s", "10s")},
            {"lose_message": self._message("Heartbeat", member, part)},
            {"delay_message": self._message("Heartbeat", member, part), "by": "4s"},
            {"delay_message": self._message("OffsetCommit", member, part), "by": "700ms"},
        ]
        return [{}, *({**fault, "at": self._time()} for fault in made)]

    def _message(self, kind: str, member: str, part: str) -> Table:
        return {"kind": kind, "part": part, "member": member, "nth": self.pick(1, 2)}
