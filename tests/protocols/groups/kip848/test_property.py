"""Random members, well-behaved or not, with failing logs and failovers.

The driver holds ``check()`` (exclusive ownership, epochs in order, indexes that fit) and the law
of replay after every step. Here are the laws that need history: epochs never fall, every member
has a session, and once the faults stop all are stable and every partition has an owner.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from assignors.types import Subscription, TopicPartition
from protocols.groups.kip848.group import Group, are_votes_settled, topics_of
from protocols.messages import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    Protocol,
    SyncGroupRequest,
    TopicDescription,
    TopicPartitions,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records.wire import uuid_text

from .driver import GROUP, ConsumerGroupDriver

NAMES = ["A", "B", "C", "D"]
MEMBERS = st.sampled_from(NAMES)
INSTANCES = {"A": None, "B": None, "C": "i", "D": "j", "C2": "i"}
WHO = st.sampled_from(list(INSTANCES))
TOPICS = st.lists(st.sampled_from(["t", "u", "v", "w"]), max_size=3, unique=True).map(tuple)
PATTERNS = st.sampled_from(["", "t", "[tu]", ".*", "x"])
COUNTS = st.fixed_dictionaries(
    {}, optional={name: st.integers(1, 5) for name in ("t", "u", "v", "w")}
)
RAW = [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER]
TIMES_MS = st.sampled_from([1, 500, 1_000, 5_000, 10_001, 30_000, 45_000, 300_000])


class Coordination(RuleBasedStateMachine):
    @initialize(
        counts=COUNTS,
        interval_ms=st.sampled_from([0, 1_000]),
        size=st.sampled_from([2, 100]),
        formed=st.integers(0, 3),
    )
    def begin(self, counts: dict[str, int], interval_ms: int, size: int, formed: int) -> None:
        self.made = 0
        self.topics = dict[str, TopicDescription]()
        self.it = ConsumerGroupDriver(
            *self.become({"t": 3} | counts),
            group_consumer_assignment_interval_ms=interval_ms,
            group_consumer_max_size=size,
        )
        self.epochs: tuple[int, int, int] | None = None
        for name in NAMES[:formed]:
            self.it.join(name, instance=INSTANCES[name], rebalance_timeout_ms=60_000)

    # -- members that behave -------------------------------------------------------------------

    @rule(
        name=WHO,
        topics=TOPICS,
        pattern=st.one_of(st.none(), PATTERNS),
        assignor=st.sampled_from([None, "uniform", "range"]),
    )
    def join(self, name: str, topics: tuple[str, ...], pattern: str | None, assignor: str) -> None:
        self.it.join(
            name,
            instance=INSTANCES[name],
            subscribed_topic_names=topics,
            subscribed_topic_regex=pattern,
            server_assignor=assignor,
            rebalance_timeout_ms=60_000,
        )

    @property
    def group(self) -> Group | None:
        """The group, if there is one and it is no classic one."""
        group = self.it.coordinator.state.durable.groups.get(GROUP)
        return group if isinstance(group, Group) else None

    def known(self, name: str) -> bool:
        return self.group is not None and self.group.member(name) is not None

    @rule(name=WHO)
    def beat(self, name: str) -> None:
        if self.known(name):
            self.it.beat(name, instance=INSTANCES[name])

    @rule(name=WHO)
    def acknowledge(self, name: str) -> None:
        if self.known(name):
            self.it.acknowledge(name, instance=INSTANCES[name])

    @rule(name=WHO, topics=TOPICS, with_owned=st.booleans())
    def read_others(self, name: str, topics: tuple[str, ...], with_owned: bool) -> None:
        if self.known(name):
            send = self.it.acknowledge if with_owned else self.it.beat
            send(name, instance=INSTANCES[name], subscribed_topic_names=topics)

    @rule(name=WHO, pattern=PATTERNS)
    def read_by(self, name: str, pattern: str) -> None:
        if self.known(name):
            self.it.beat(name, instance=INSTANCES[name], subscribed_topic_regex=pattern)

    @rule(name=WHO, epoch=st.sampled_from([-1, -2]))
    def leave(self, name: str, epoch: int) -> None:
        if epoch == -1 or INSTANCES[name]:
            self.it.beat(name, epoch, instance=INSTANCES[name])

    @rule(name=WHO, older=st.integers(0, 2), numbers=st.lists(st.integers(0, 4), min_size=1))
    def commit(self, name: str, older: int, numbers: list[int]) -> None:
        epoch = self.it.member(name).current.epoch - older if self.known(name) else 1
        offsets = tuple(OffsetToCommit(TopicPartition("t", number), 7) for number in numbers)
        request = OffsetCommitRequest(
            group_id=GROUP, member_id=name, generation_id=epoch, offsets=offsets
        )
        self.it.send(request)

    # -- members that do not ---------------------------------------------------------------------

    @rule(
        name=WHO,
        epoch=st.integers(-4, 9),
        owned=st.one_of(
            st.none(), st.lists(st.tuples(st.sampled_from(list("tuvx")), st.integers(-1, 6)))
        ),
        version=st.sampled_from([0, 1]),
    )
    def nonsense(
        self, name: str, epoch: int, owned: list[tuple[str, int]] | None, version: int
    ) -> None:
        listed = None
        if owned is not None:
            ids = {name: topic.topic_id for name, topic in self.topics.items()}
            listed = tuple(TopicPartitions(ids.get(of, of), (number,)) for of, number in owned)
        call = self.it.beat(
            name, epoch, instance=INSTANCES[name], topic_partitions=listed, version=version
        )
        assert self.it.hold or len(call.answers) == 1

    @rule(name=WHO, with_id=st.booleans(), topics=TOPICS, eager=st.booleans())
    def join_classic(self, name: str, with_id: bool, topics: tuple[str, ...], eager: bool) -> None:
        """Join by JoinGroup; a classic member may send its owned partitions."""
        owned = ()
        if self.known(name) and not eager:
            ids = {each.topic_id: each.name for each in self.topics.values()}
            owned = tuple(
                TopicPartition(ids.get(topic_id, "gone"), number)
                for topic_id, numbers in self.it.member(name).current.assigned.items()
                for number in numbers
            )
        subscription = Subscription(topics=topics, owned_partitions=owned)
        self.it.send(
            JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=60_000,
                member_id=name if with_id else "",
                group_instance_id=INSTANCES[name],
                protocols=(Protocol("range", subscription),),
            )
        )

    @rule(name=WHO, behind=st.integers(0, 1))
    def speak_classic(self, name: str, behind: int) -> None:
        epoch = self.it.member(name).current.epoch - behind if self.known(name) else 1
        self.it.send(HeartbeatRequest(group_id=GROUP, generation_id=epoch, member_id=name))
        self.it.send(SyncGroupRequest(group_id=GROUP, generation_id=epoch, member_id=name))

    @rule(name=WHO)
    def remove(self, name: str) -> None:
        self.it.send(LeaveGroupRequest(group_id=GROUP, members=(LeavingMember(name),)))

    # -- administrators, time and faults ---------------------------------------------------------

    @rule()
    def delete(self) -> None:
        self.it.send(DeleteGroupsRequest(group_ids=(GROUP,)))

    @rule()
    def describe(self) -> None:
        self.it.send(ConsumerGroupDescribeRequest(group_id=GROUP))

    @rule(ms=TIMES_MS)
    def advance(self, ms: int) -> None:
        self.it.advance(ms)

    @rule(counts=COUNTS)
    def change_topics(self, counts: dict[str, int]) -> None:
        self.it.topics_are(*self.become(counts))

    def become(self, counts: dict[str, int]) -> list[TopicDescription]:
        """Topics grow, go, and come again under another id; they never shrink."""
        known, self.topics = self.topics, {}
        for name, count in counts.items():
            old = known.get(name)
            if old is None:
                self.made += 1
                topic_id = uuid_text(self.made.to_bytes(16))
                self.topics[name] = TopicDescription(name, topic_id, (1,) * count)
            else:
                leaders = (1,) * max(count, len(old.leaders))
                self.topics[name] = TopicDescription(name, old.topic_id, leaders)
        return list(self.topics.values())

    @precondition(lambda self: not self.it.hold)
    @rule()
    def fail_over(self) -> None:
        self.it.fail_over()

    @rule(error=st.sampled_from(RAW))
    def refuse(self, error: ErrorCode) -> None:
        if not self.it.hold:
            self.it.refuse = error

    @rule()
    def hold_back(self) -> None:
        self.it.refuse = None
        self.it.hold = True

    @precondition(lambda self: self.it.hold)
    @rule()
    def replicate(self) -> None:
        self.it.hold = False
        self.it.replicate()

    # -- laws ------------------------------------------------------------------------------------

    @invariant()
    def epochs_never_fall(self) -> None:
        """Unless an append failed, or the group was deleted in between."""
        group = self.group
        epochs = None if group is None else (self.it.rejections, group.epoch, group.target_epoch)
        if epochs and self.epochs and epochs[0] == self.epochs[0]:
            assert epochs >= self.epochs
        self.epochs = epochs

    @invariant()
    def every_member_has_a_session(self) -> None:
        """One of the classic protocol has it as soon as its records are durable."""
        for member in self.group or ():
            waits = self.it.hold and member.uses_classic
            assert member.session_timer in self.it.timers or self.it.rejections or waits

    def teardown(self) -> None:
        """Check that after the faults all are stable, and every read partition has an owner.

        A tie of votes for assignors is left out: each heartbeat then raises the epoch.
        """
        if not hasattr(self, "it"):
            return
        it = self.it
        it.hold, it.refuse = False, None
        it.replicate()
        it.topics_are(*self.become({"t": 3, "u": 2}))
        for _ in range(20):
            it.advance(1_100)
            for name in NAMES:
                if self.known(name) and it.member(name).current.epoch > 0:
                    it.beat(name, instance=INSTANCES[name])
                    it.acknowledge(name, instance=INSTANCES[name])
        members = list(self.group or ())
        regular = all(
            member.current.epoch > 0  # 0: converted in its first join phase, and nothing to read
            and member.member_id in NAMES
            and not member.uses_classic
            for member in members
        )
        if self.group is not None and regular and are_votes_settled(self.group.votes):
            self._assert_arrived()

    def _assert_arrived(self) -> None:
        it = self.it
        assert it.state in {"Stable", "Empty"}
        names = {name for member in it.group for name in topics_of(it.group, member)}
        owned = sorted(
            (topic_id, number)
            for member in it.group
            for topic_id, numbers in member.current.assigned.items()
            for number in numbers
        )
        wanted = sorted(
            (topic.topic_id, number)
            for name, topic in self.topics.items()
            if name in names
            for number in range(len(topic.leaders))
        )
        assert wanted == owned


def _with(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


TestCoordination = Coordination.TestCase
TestCoordination.settings = _with(40, 20)


class LongCoordination(Coordination):
    pass


LongCoordination.TestCase.settings = _with(40, 40)
TestLongCoordination = pytest.mark.long(LongCoordination.TestCase)
