"""Random faults and acts for small worlds: every verb, every way to say when."""

from __future__ import annotations

from random import Random  # noqa: TID251  scenarios are drawn here, no part of a run
from typing import Any

from emulator.scenario.short_forms import STEPS

Table = dict[str, Any]

LENGTHS = ("100ms", "200ms", "400ms", "900ms")
EARLIEST, LATEST = "earliest", "latest"
MESSAGES = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "ConsumerGroupHeartbeat",
    "OffsetCommit",
    "OffsetFetch",
    "Metadata",
)
TO_CONSUMER = {
    "settings": {"group.protocol": "consumer"},
    "unset": ["partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"],
}
TO_CLASSIC = {"settings": {"group.protocol": "classic"}}
KAFKAS = ("delete_offsets", "reset_offsets", "delete_group")
"""Acts on offsets in Kafka."""

ONCE = ("add_partitions", "create_topic", "delete_topic", "start")


class FaultDraw:
    """Draws faults and acts for a world."""

    def __init__(self, random: Random, run_for_ms: int, world: Table) -> None:
        self.random = random
        self.run_for_ms = run_for_ms
        self.group: Table = world["group"][0]
        self.topics = {topic["name"]: topic for topic in world["topic"]}
        self.brokers: int = world["cluster"]["brokers"]
        self.racks = world["cluster"].get("racks", [])
        self.members = [member["name"] for member in self.group["members"]]

    def pick(self, *among: Any) -> Any:
        return self.random.choice(among)

    def rarely(self, one_of: int) -> bool:
        return self.random.randrange(one_of) == 0

    def faults(self, count: int) -> list[Table]:
        """Return so many faults at most; those that can be only once are there once."""
        found: list[Table] = []
        for number in range(count):
            fault = self._fault()
            if not set(fault) & set(ONCE) & set().union(*found):
                ids = [one["id"] for one in found]
                found.append({"id": f"f{number}", **fault, **self._when(fault, ids)})
        return found

    def _time(self) -> str:
        """Return a time on the grid, or a microsecond before or after."""
        at_ms = 50 * self.random.randrange(2, self.run_for_ms // 50 - 2)
        return f"{1_000 * at_ms + self.pick(0, 0, -1, 1, 500)}us"

    def _when(self, fault: Table, ids: list[str]) -> Table:
        if "lose_message" in fault or "delay_message" in fault:
            return {"at": self._time()} if self.rarely(2) else {}
        kind = self.random.randrange(10)
        if kind == 0 and ids:
            moment = {"fault": self.pick(*ids), "phase": self.pick("begins", "ends")}
            return {"when": moment, "delay": self.pick("0s", "100ms")}
        if kind == 1:
            return {"between": ["200ms", f"{self.run_for_ms - 200}ms"]}
        if kind <= 4 and "reset_offsets" not in fault:
            step = {"member": self._member(), "step": self.pick(*STEPS)}
            return {"when": {**step, "nth": self.pick(1, 1, 2, 3, 5)}}
        return {"at": self._time()}

    def _member(self) -> str:
        return str(self.pick(*self.members))

    def _broker(self) -> str:
        return str(
            self.pick("coordinator of g", f"broker-{self.random.randrange(self.brokers) + 1}")
        )

    def _fault(self) -> Table:
        groups = [self._of_member, self._of_member, self._of_broker, self._of_message]
        groups += [self._of_topic, self._of_group, self._of_deploy]
        if self.group.get("offsets") in ("zookeeper", "database"):
            groups += [self._of_store] * 4
        while True:
            fault: Table = dict(self.pick(*groups)())
            if "offsets" not in self.group or not set(fault) & set(KAFKAS):
                return fault

    def _of_member(self) -> Table:
        member, lasting = self._member(), self.pick(*LENGTHS)
        back = self.pick({}, {"restart_after": lasting})
        made: list[Table] = [
            {"crash": member, **back},
            {"close": member, "mid_batch": self.rarely(2), **back},
            {"close": member, "grace": self.pick("0s", "10ms"), **back},
            {"pause": member, "for": lasting},
            {"hang": member, "for": lasting},
            {
                "fail_listener": member,
                "for": lasting,
                "caught": self.rarely(2),
                "backoff": "200ms",
            },
            {"cut": [member, "coordinator of g"], "for": lasting, "one_way": self.rarely(2)},
            {"cut": [member, "brokers"], "for": lasting, "one_way": self.rarely(2)},
            {"drain_node": self.members[:2], "grace": self.pick("0s", "30s"), **back},
            {"pause_partitions": member, "for": lasting},
        ]
        if self.group["client"] == "java":
            made.append({"seek": member, **self._target("t")})
        if "by act" in str(self.group["members"]):
            made += [{"start": "late"}] * 3
        return self.pick(*made)  # type: ignore[no-any-return]

    def _of_broker(self) -> Table:
        broker, lasting = self._broker(), self.pick(*LENGTHS)
        back = self.pick({}, {"restart_after": lasting}, {"restart_after": lasting})
        rolling = {"gap": "100ms", "down_time": lasting, "clean": self.rarely(2)}
        made: list[Table] = [
            {"crash_broker": broker, **back},
            {"pause_broker": broker, "for": lasting},
            {"stop_broker": broker, **back},
            {"rolling_broker_restart": "brokers", **rolling},
            {"slow_disk": broker, "by": self.pick("20ms", "600ms"), "for": lasting},
            {"fill_disk": broker, "for": lasting},
            {"cut": [broker, "controller"], "for": lasting, "one_way": self.rarely(2)},
            {"move_coordinator": "g"},
        ]
        if self.brokers > 1:
            made.append({"cut": ["broker-1", "broker-2"], "for": lasting})
        if self.racks:
            made += [{"zone_outage": self.racks[0], "for": lasting}] * 3
        return self.pick(*made)  # type: ignore[no-any-return]

    def _of_message(self) -> Table:
        match = {"kind": self.pick(*MESSAGES), "member": self._member()}
        match |= {"part": self.pick("request", "response"), "nth": self.pick(1, 1, 2, 4)}
        if self.rarely(2):
            return {"lose_message": match}
        return {"delay_message": match, "by": self.pick("50ms", "350ms", "900ms")}

    def _of_topic(self) -> Table:
        made: list[Table] = [
            {"add_partitions": "t", "to": self.pick(5, 6)},
            {"delete_topic": self.pick(*self.topics)},
        ]
        if "u" in self.topics:
            made.append({"subscribe": "g", "topics": self.pick(["u"], ["t", "u"]), "gap": "100ms"})
        if self.topics.get("u", {}).get("created") == "by act":
            made += [{"create_topic": "u"}] * 3
        return self.pick(*made)  # type: ignore[no-any-return]

    def _of_group(self) -> Table:
        tool = {"timeout": self.pick("400ms", "5s")}
        return self.pick(  # type: ignore[no-any-return]
            {"delete_offsets": "g", "topic": "t", **tool},
            {"reset_offsets": "g", **self._target("t"), **tool},
            {"reset_offsets": "g", **self._target("t"), **tool},
            {"delete_group": "g", **tool},
        )

    def _target(self, topic: str) -> Table:
        """Return where offsets or a position are moved."""
        if self.rarely(3):
            return self.pick({"shift_by": -3}, {"shift_by": 3}, {"by_duration": "500ms"})  # type: ignore[no-any-return]
        return {"to": self.pick(EARLIEST, LATEST), "topic": topic}

    def _of_deploy(self) -> Table:
        surge = self.rarely(3)
        deploy: Table = {
            "rolling_restart": "g",
            "gap": self.pick("0s", "100ms"),
            "down_time": self.pick("0s", "200ms", "800ms"),
            "surge": surge,
            "start_up": self.pick("0s", "100ms"),
            "order": self.pick("listed", "reversed", "random"),
            "mid_batch": self.rarely(3),
        }
        if self.rarely(4):
            deploy |= {"readiness": "assigned", "deadline": self.pick("500ms", "10s")}
            deploy["probe_every"] = "100ms"
        if self.rarely(6):
            deploy |= {"names": "random"}
        if self.rarely(6) and len(self.members) > 1:
            deploy |= {"canary": 1, "canary_for": "300ms", "roll_back": self.rarely(2)}
            deploy |= {"canary_lag": self.pick(0, 5), "probe_every": "100ms"}
        if self.rarely(6):
            deploy["grace"] = self.pick("0s", "300ms")
        if self.rarely(6):
            deploy["stop_at_failure"] = True
        return deploy | self._change()

    def _change(self) -> Table:
        """Return the settings of a deploy: rarely those of the other protocol."""
        settings = self.group["settings"]
        if "offsets" in self.group or self.group["client"] != "java" or not self.rarely(2):
            return {}
        if "session.timeout.ms" in settings:
            return TO_CONSUMER
        return TO_CLASSIC if "group.protocol" in settings else {}

    def _of_store(self) -> Table:
        store, lasting = self.group["offsets"], self.pick(*LENGTHS)
        return self.pick(  # type: ignore[no-any-return]
            {"slow_store": store, "by": "400ms", "for": lasting},
            {"stop_store": store, "for": lasting},
            {"restore_store": store, "age": "400ms", "for": lasting},
            {"restore_store": store, "age": "400ms", "for": lasting, "what": "offsets"},
        )
