"""Clients and their group on a faulty network: lost, late or paused, no partition has two owners.

1. No partition has two current owners (``Wired.check``), and the target gives each once.
2. Group, target and member epochs never fall.
3. Once the faults stop, all members are stable and every partition has an owner.
4. No client fails except C, which is static, while another process has its instance id.
5. Every machine's own invariants hold after each step.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from protocols.consumer.calls import CloseOperation
from protocols.consumer.kip848.threads import Outside
from protocols.groups.kip848.group import AWAY_EPOCH
from protocols.messages import FetchRequest

from ...groups.kip848.driver import topic
from .wired import Member, Wired

NAMES = ["A", "B", "C"]
WHO = st.sampled_from(NAMES)
TIMES_MS = st.sampled_from([1, 100, 1_000, 5_000, 20_000])


class Faulty(RuleBasedStateMachine):
    @initialize(
        interval_ms=st.sampled_from([0, 1_000]),
        commits=st.booleans(),
        formed=st.integers(1, 3),
        parts=st.integers(1, 4),
    )
    def begin(self, interval_ms: int, commits: bool, formed: int, parts: int) -> None:
        self.it = Wired(
            topic("t", parts), topic("u", 2), group_consumer_assignment_interval_ms=interval_ms
        )
        self.settings = {
            "enable_auto_commit": commits,
            "auto_commit_interval_ms": 2_000,
            "max_poll_interval_ms": 30_000,
            "request_timeout_ms": 10_000,
        }
        self.epochs = (0, 0)
        self.members: dict[str, int] = {}
        self.started = 0
        for name in NAMES[:formed]:
            self.start(name)
        self.it.calm(1_000)

    def start(self, name: str) -> None:
        """Start a new process; its member id is its own."""
        self.started += 1
        static = {"group_instance_id": "c"} if name == "C" else {}
        self.it.start(f"{name}{self.started}", **self.settings, **static)

    def who(self, name: str) -> Member | None:
        """Return the newest process of a name, if it is not over."""
        mine = [member for each, member in self.it.members.items() if each[0] == name]
        return mine[-1] if mine and not mine[-1].is_gone else None

    # -- processes -------------------------------------------------------------------------------

    @rule(name=WHO)
    def come(self, name: str) -> None:
        if self.who(name) is None:
            self.start(name)

    @rule(name=WHO)
    def crash(self, name: str) -> None:
        member = self.who(name)
        if member is not None:
            self.it.strays.extend((member.name, sent.message) for sent in member.requests)
            del self.it.members[member.name]

    @rule(name=WHO, operation=st.sampled_from(CloseOperation))
    def close(self, name: str, operation: CloseOperation) -> None:
        member = self.who(name)
        if member is not None and not member.paused and isinstance(member.state.app, Outside):
            member.close(5_000, operation)

    @rule(name=WHO, topics=st.sampled_from([("t",), ("u",), ("t", "u"), ("t", "u")]))
    def subscribe(self, name: str, topics: tuple[str, ...]) -> None:
        member = self.who(name)
        if member is not None and not member.paused and isinstance(member.state.app, Outside):
            member.subscribe(topics)

    @rule(name=WHO, held=st.booleans())
    def work(self, name: str, held: bool) -> None:
        member = self.who(name)
        if member is not None and not member.paused:
            member.hold_calls = held
            member.works()

    @rule(name=WHO, count=st.integers(1, 5))
    def produce(self, name: str, count: int) -> None:
        member = self.who(name)
        if member is not None and not member.paused and member.pending(FetchRequest):
            asked = {p.partition.topic for p in member.one(FetchRequest).partitions}
            if asked == {"t"}:
                numbers = [p.partition.partition for p in member.one(FetchRequest).partitions]
                member.records(dict.fromkeys(numbers, count))

    @rule(name=WHO)
    def pause(self, name: str) -> None:
        member = self.who(name)
        if member is not None:
            member.paused = not member.paused

    # -- the wire, the coordinator, time -----------------------------------------------------------

    @rule(name=WHO)
    def handle(self, name: str) -> None:
        member = self.who(name)
        if member is not None:
            self.it.handle(member)

    @rule(name=WHO)
    def hear(self, name: str) -> None:
        member = self.who(name)
        if member is not None:
            self.it.hear(member)

    @rule(name=WHO, lost=st.booleans())
    def break_connection(self, name: str, lost: bool) -> None:
        member = self.who(name)
        if member is not None and not member.paused:
            self.it.break_connection(member, lost=lost)

    @rule()
    def handle_stray(self) -> None:
        self.it.handle_stray()

    @rule()
    def fail_over(self) -> None:
        self.it.fail_over()

    @rule()
    def hold_back(self) -> None:
        self.it.group.hold = True

    @precondition(lambda self: self.it.group.hold)
    @rule()
    def replicate(self) -> None:
        self.it.group.hold = False
        self.it.group.replicate()

    @rule(ms=TIMES_MS)
    def wait(self, ms: int) -> None:
        self.it.pass_time(ms)

    @rule(ms=st.sampled_from([500, 3_000, 8_000]))
    def calm(self, ms: int) -> None:
        """Let all go well for a while, but for those who are paused."""
        self._heal(paused=False)
        self.it.calm(ms)

    def _heal(self, *, paused: bool) -> None:
        self.it.group.hold = False
        self.it.group.replicate()
        for member in self.it.members.values():
            member.hold_calls = False
            member.paused = member.paused and not paused

    # -- laws ------------------------------------------------------------------------------------

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        if hasattr(self, "it"):
            self.it.check()

    @invariant()
    def epochs_never_fall(self) -> None:
        if not hasattr(self, "it") or not self.it.group.exists:
            return
        group = self.it.group.group
        assert (group.epoch, group.target_epoch) >= self.epochs
        assert group.target_epoch >= self.epochs[1]
        self.epochs = (group.epoch, group.target_epoch)
        before, self.members = self.members, {}
        for member in group:
            epoch = member.current.epoch
            assert epoch >= before.get(member.member_id, epoch) or epoch == AWAY_EPOCH
            self.members[member.member_id] = epoch

    @invariant()
    def the_target_gives_each_partition_once(self) -> None:
        if not hasattr(self, "it") or not self.it.group.exists:
            return
        group = self.it.group.group
        if group.members and group.epoch == group.target_epoch:
            given = [
                (topic_id, number)
                for wanted in group.targets.values()
                for topic_id, numbers in wanted.items()
                for number in numbers
            ]
            read = sum(self.it.topics[topic] for topic in group.name_readers)
            assert len(given) == len(set(given)) == read

    def teardown(self) -> None:
        """Check that all members become stable when the faults stop."""
        if not hasattr(self, "it"):
            return
        while self.it.strays:
            self.it.handle_stray()
        self._heal(paused=True)
        self.it.come_to_rest(150_000)
        self.it.check()


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(4, 20), pytest.param(80, 50, marks=pytest.mark.long)],
)
def test_the_laws_hold_on_any_wire(examples, steps):
    """Loss, reorder, failover and paused clocks break none of the laws above."""
    case = Faulty.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    case("runTest").runTest()
