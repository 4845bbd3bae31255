"""Clients and their coordinator under anything: the laws that hold between them (design, 10).

1. In one generation no partition has two owners; in a calm group each has one.
2. An acknowledged commit is in the durable log, and what a member starts from is no older.
3. Live durable state equals replay of the log, after every step (held by the group's driver).
6. Faults off, every run comes to rest within a bound; generations never fall.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from .cluster import Cluster
from .process import Doing, Process

ASSIGNORS = [
    ("range",),
    ("sticky",),
    ("cooperative-sticky",),
    ("range", "cooperative-sticky"),
]
LOSSES = [
    "JoinGroupRequest",
    "JoinGroupResponse",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "OffsetCommitRequest",
    "OffsetCommitResponse",
    "OffsetFetchResponse",
    "LeaveGroupRequest",
]
PLACES = st.integers(0, 3)
THEN_MS = st.sampled_from([0, 20, 300, 1_200, 4_000])
REST_MS = 90_000
"""Session, rebalance timeout and a lost join one after the other, and some back-offs."""


def close(process: Process) -> None:
    if process.doing in (Doing.IDLE, Doing.POLLING, Doing.WORKING):
        process.close()


def stop_polling(process: Process) -> None:
    """The application turns to something else, but for what it is called for."""
    process.restless = False


def poll_again(process: Process) -> None:
    process.restless = True
    process.poll_again()


def commit_async(process: Process) -> None:
    if process.doing in (Doing.IDLE, Doing.WORKING):
        process.commit_async()


def cut_off(process: Process) -> None:
    """Nothing passes between the consumer and the coordinator any more."""
    process.cluster.cut.add(process.name)


ACTS = {
    "crash": Process.crash,
    "close": close,
    "stop polling": stop_polling,
    "poll again": poll_again,
    "commit": commit_async,
    "cut off": cut_off,
}


class Living(RuleBasedStateMachine):
    @initialize(
        assignors=st.sampled_from(ASSIGNORS),
        policy=st.sampled_from(["auto", "auto", "sync", "async", "revoked"]),
        partitions=st.integers(1, 5),
        members=st.integers(1, 4),
        delays_ms=st.lists(st.sampled_from([1, 2, 5, 30, 120]), min_size=1, max_size=4),
        work_ms=st.sampled_from([5, 50, 700]),
        begun=st.sampled_from(["new", "formed", "static"]),
    )
    def begin(self, assignors, policy, partitions, members, delays_ms, work_ms, begun) -> None:
        self.assignors = assignors
        self.static = begun == "static"
        self.policy = policy
        self.settings = {
            "session_timeout_ms": 6_000,
            "heartbeat_interval_ms": 1_000,
            "max_poll_interval_ms": 8_000,
            "request_timeout_ms": 4_000,
            "default_api_timeout_ms": 5_000,
            "auto_commit_interval_ms": 1_000,
            "max_poll_records": 10,
            "enable_auto_commit": policy == "auto",
        }
        self.work_us = work_ms * 1_000
        self.cluster = Cluster(
            partitions,
            [delay * 1_000 for delay in delays_ms],
            group_initial_rebalance_delay_ms=0,
        )
        for place in range(members):
            self.begin_one(place)
        if begun != "new":
            self.cluster.run(3_000)

    # -- people come and go --------------------------------------------------------------------

    def at(self, place: int) -> Process | None:
        """Return the living process at a place, or None."""
        living = [p for p in self.cluster.alive() if p.name.startswith(f"p{place}.")]
        return living[0] if living else None

    @rule(place=PLACES, then_ms=THEN_MS)
    def start(self, place, then_ms=0) -> None:
        """A consumer starts where none lives."""
        if self.at(place) is None:
            self.begin_one(place)
        self.cluster.run(then_ms)

    def begin_one(self, place: int) -> None:
        incarnation = len(self.cluster.processes)
        name = f"p{place}.{incarnation}"
        more = {"group_instance_id": f"i-{place}"} if self.static and place % 2 else {}
        process = Process(self.cluster, name, self.assignors, incarnation, **self.settings, **more)
        process.work_us = self.work_us
        process.restless = True
        process.policy = self.policy
        self.cluster.processes[name] = process
        process.poll()

    @rule(place=PLACES, what=st.sampled_from(sorted(ACTS)), then_ms=THEN_MS)
    def something_happens(self, place, what, then_ms) -> None:
        """To a consumer, if one lives there."""
        process = self.at(place)
        if process is not None:
            ACTS[what](process)
        self.cluster.run(then_ms)

    # -- the world -----------------------------------------------------------------------------

    @rule(ms=st.sampled_from([10, 1_000, 3_000, 9_000, 14_000]))
    def time_passes(self, ms) -> None:
        self.cluster.run(ms)

    @rule(number=st.integers(0, 4), count=st.sampled_from([1, 8, 40]), then_ms=THEN_MS)
    def records_are_produced(self, number, count, then_ms) -> None:
        self.cluster.produce(number, count)
        self.cluster.run(then_ms)

    @rule(place=PLACES, kind=st.sampled_from(LOSSES), then_ms=THEN_MS)
    def a_message_is_lost(self, place, kind, then_ms) -> None:
        """The next of its kind, to or from that consumer."""
        process = self.at(place)
        if process is not None:
            self.cluster.to_lose[process.name, kind] = 1
        self.cluster.run(then_ms)

    @rule()
    def heal(self) -> None:
        self.cluster.cut.clear()

    @rule(then_ms=THEN_MS)
    def the_coordinator_moves(self, then_ms) -> None:
        self.cluster.move_coordinator()
        self.cluster.run(then_ms)

    @rule(slow=st.booleans(), then_ms=THEN_MS)
    def the_log_slows_down_or_catches_up(self, slow, then_ms) -> None:
        self.cluster.slow_log(slow=slow)
        self.cluster.run(then_ms)

    # -- laws ----------------------------------------------------------------------------------

    @invariant()
    def a_calm_group_reads_every_partition_once(self) -> None:
        self.cluster.check()

    @invariant()
    def no_application_throws(self) -> None:
        """Only a process whose instance id was taken may fail."""
        failed = [p.failed for p in self.cluster.processes.values() if p.failed is not None]
        assert all(f.exception in ALLOWED for f in failed), failed

    def teardown(self) -> None:
        """Check that without further faults all living members settle in one generation."""
        if not hasattr(self, "cluster"):
            return
        self.cluster.cut.clear()
        self.cluster.to_lose.clear()
        self.cluster.slow_log(slow=False)
        for process in self.cluster.alive():
            process.restless = True
            process.poll_again()
        for _ in range(REST_MS // 500):
            self.cluster.run(500)
            if self.cluster.settled() and self.cluster.now_us > 0:
                break
        assert self.cluster.settled(), "the group found no rest"
        self.cluster.check()


ALLOWED = {"KafkaException", "FencedInstanceIdException"}
"""A SyncGroup that meets a loading coordinator throws, and so does a fenced double."""


class LongLiving(Living):
    """The same, at length."""


def _bounds(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


Living.TestCase.settings = _bounds(20, 30)
TestLiving = Living.TestCase
LongLiving.TestCase.settings = _bounds(150, 45)
TestLongLiving = pytest.mark.soak(pytest.mark.long(LongLiving.TestCase))
