"""A group in each state with someone of each kind, for tests that visit every cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from immutables import Map

from protocols.groups.classic.group import Group
from protocols.groups.classic.states import Act, Request, Sender, State, Verdict
from protocols.messages import (
    DeleteGroupsRequest,
    LeaveGroupRequest,
    LeavingMember,
    OffsetDeleteRequest,
)
from protocols.messages.errors import ErrorCode

from .driver import GroupDriver
from .wire import GROUP, Call, protocols, some


class Situation:
    """A driver whose group is in one state.

    Members: ``leader``, ``follower`` and the static ``holder`` of instance S; ``pending`` is an
    id handed out. In ABSENT and EMPTY these are former members.
    """

    def __init__(self, state: State, who: Sender, *, protocol_type: str = "consumer") -> None:
        room = 3 if who is Sender.SURPLUS else 100
        self.driver = GroupDriver(group_max_size=room)
        self.leader = self.follower = self.holder = self.pending = "nobody-1"
        if state is State.PREPARING_REBALANCE and who is Sender.SURPLUS:
            self._enter(protocol_type)
        elif state is not State.ABSENT:
            self._enter(protocol_type)
            self._settle()
            _REACH[state](self)
        if state is State.EMPTY and who is Sender.RESTARTED:
            self.keep_instance()
        self.driver.advance(1_000)
        self.before = self.driver.shard.groups.get(GROUP)
        assert state is self.driver.state

    def _enter(self, protocol_type: str) -> None:
        driver = self.driver
        self.leader, _ = driver.enter("a", protocol_type=protocol_type)
        self.follower, _ = driver.enter("b", protocol_type=protocol_type)
        driver.join("s", instance="S", protocol_type=protocol_type)
        self.holder = driver.group.static_members["S"]
        self._protocol_type = protocol_type

    def _settle(self) -> None:
        driver = self.driver
        while driver.state is State.PREPARING_REBALANCE:
            driver.advance(3_000)
        for member_id in (self.leader, self.follower, self.holder):
            driver.sync(member_id, {}, protocol_type=self._protocol_type)
        self._hand_out()

    def _hand_out(self) -> None:
        if self.driver.settings.group_max_size > 3:
            self.pending = self.driver.new_id("p", protocol_type=self._protocol_type)

    def begin_rebalance(self) -> None:
        self.driver.join("a", self.leader, protocol_type=self._protocol_type)

    def complete_join(self) -> None:
        """All rejoin; the id handed out blocks the phase, so it is given back and a new one made."""
        driver = self.driver
        if self.pending in driver.group.pending_joins:
            driver.send(_leave(LeavingMember(self.pending)))
        driver.join("b", self.follower, protocol_type=self._protocol_type)
        driver.join("s", self.holder, instance="S", protocol_type=self._protocol_type)
        self._hand_out()

    def all_leave(self) -> None:
        driver = self.driver
        driver.leave(self.leader, self.follower, self.holder, self.pending)
        self._hand_out()

    def keep_instance(self) -> None:
        """An empty group that remembers an instance: it cannot be, but has a verdict."""
        driver = self.driver
        odd = replace(driver.group, static_members=Map({"S": self.holder}))
        driver.coordinator.state = driver.shard.with_group(odd.group_id, odd)
        driver.checks = False

    def die(self) -> None:
        driver = self.driver
        dead = replace(driver.group, state=State.DEAD)
        driver.coordinator.state = driver.shard.with_group(dead.group_id, dead)
        driver.checks = False  # a dead group is never served


def _leave(*entries: LeavingMember) -> Any:
    return LeaveGroupRequest(group_id=GROUP, members=entries)


_REACH: dict[State, Callable[[Situation], None]] = {
    State.EMPTY: Situation.all_leave,
    State.PREPARING_REBALANCE: Situation.begin_rebalance,
    State.COMPLETING_REBALANCE: lambda it: (it.begin_rebalance(), it.complete_join())[-1],
    State.STABLE: lambda it: None,
    State.DEAD: Situation.die,
}


def ask(it: Situation, request: Request, who: Sender) -> Call:
    """Let someone of this kind send this request; what JoinGroup writes is not yet durable."""
    it.driver.hold = request is Request.JOIN_GROUP
    return _ASK[request](it, who)


def _generation(it: Situation) -> int:
    return it.before.generation if it.before is not None else 1


def _join(it: Situation, who: Sender) -> Call:
    join = it.driver.join
    ways: dict[Sender, Callable[[], Call]] = {
        Sender.SURPLUS: lambda: join("x"),
        Sender.UNSUPPORTED: lambda: join("x", offers=()),
        Sender.NEWCOMER: lambda: join("x"),
        Sender.OLD_NEWCOMER: lambda: join("x", version=3),
        Sender.NEW_INSTANCE: lambda: join("x", instance="X"),
        Sender.RESTARTED: lambda: join("s", instance="S"),
        Sender.PENDING: lambda: join("p", it.pending),
        Sender.PENDING_INSTANCE: lambda: join("p", it.pending, instance="P"),
        Sender.FENCED: lambda: join("s", it.follower, instance="S"),
        Sender.UNKNOWN: lambda: join("x", "x-1"),
        Sender.CHANGED: lambda: join("b", it.follower, offers=protocols(topics=("t", "u"))),
        Sender.LEADER: lambda: join("a", it.leader),
        Sender.MEMBER: lambda: join("b", it.follower),
    }
    return ways[who]()


def _ids(it: Situation, who: Sender) -> tuple[str, str | None, int]:
    """Member id, instance id and generation of one who claims to be a member."""
    generation = _generation(it)
    match who:
        case Sender.FENCED:
            return it.follower, "S", generation
        case Sender.UNKNOWN:
            return "x-1", None, generation
        case Sender.STALE:
            return it.follower, None, generation - 1
        case Sender.LEADER:
            return it.leader, None, generation
        case _:
            return it.follower, None, generation


def _sync(it: Situation, who: Sender) -> Call:
    member_id, instance, generation = _ids(it, who)
    name = "other" if who is Sender.OTHER_PROTOCOL else "range"
    return it.driver.sync(
        member_id,
        generation=generation,
        group_instance_id=instance,
        protocol_name=name,
    )


def _heartbeat(it: Situation, who: Sender) -> Call:
    member_id, instance, generation = _ids(it, who)
    return it.driver.heartbeat(member_id, generation, instance)


def _commit(it: Situation, who: Sender) -> Call:
    if who is Sender.NONE:
        return it.driver.commit()
    member_id, instance, generation = _ids(it, who)
    return it.driver.commit(member_id, generation=generation, group_instance_id=instance)


def _depart(it: Situation, who: Sender) -> Call:
    match who:
        case Sender.INSTANCE:
            return it.driver.leave(LeavingMember("", "S"))
        case Sender.PENDING:
            return it.driver.leave(LeavingMember(it.pending))
        case _:
            member_id, instance, _ = _ids(it, who)
            return it.driver.leave(LeavingMember(member_id, instance))


_ASK: dict[Request, Callable[[Situation, Sender], Call]] = {
    Request.JOIN_GROUP: _join,
    Request.SYNC_GROUP: _sync,
    Request.HEARTBEAT: _heartbeat,
    Request.LEAVE_GROUP: _depart,
    Request.OFFSET_COMMIT: _commit,
    Request.OFFSET_DELETE: lambda it, _: it.driver.send(
        OffsetDeleteRequest(group_id=GROUP, partitions=some(0, topic="unread"))
    ),
    Request.DELETE_GROUPS: lambda it, _: it.driver.send(DeleteGroupsRequest(group_ids=(GROUP,))),
}


# -- what was done, seen from outside --------------------------------------------------------


def seen(it: Situation, request: Request, call: Call) -> Verdict:
    """Say which verdict the coordinator acted on, from its answer and its group alone."""
    return _SEEN[request](it, call, it.driver.shard.groups.get(GROUP))


def _seen_join(it: Situation, call: Call, after: Group | None) -> Verdict:
    if call.answered:
        match call.error:
            case ErrorCode.MEMBER_ID_REQUIRED:
                assert after is not None
                assert call.answer.member_id in after.pending_joins
                return Act.HAND_OUT_ID
            case ErrorCode.GROUP_MAX_SIZE_REACHED:
                return Act.EVICT
            case ErrorCode.NONE:
                assert after == it.before
                return Act.REPEAT
            case error:
                return error
    assert after is not None
    waits = next(name for name, header in after.joining.items() if header == call.header)
    state = State.EMPTY if it.before is None else it.before.state
    if it.before is None or len(after.members) > len(it.before.members):
        assert after.state is State.PREPARING_REBALANCE
        return Act.ADMIT
    if waits not in it.before.members:
        returned = {
            State.STABLE: Act.RETURN,
            State.COMPLETING_REBALANCE: Act.RETURN_AND_REBALANCE,
            State.PREPARING_REBALANCE: Act.RETURN_AND_PARK,
        }[state]
        stays = returned is Act.RETURN
        assert (after.state is State.STABLE) == stays
        return returned
    assert after.state is State.PREPARING_REBALANCE
    return Act.PARK if state is State.PREPARING_REBALANCE else Act.REBALANCE


def _seen_sync(it: Situation, call: Call, after: Group | None) -> Verdict:
    if not call.answered:
        assert after is not None
        assert call.header in after.syncing.values()
        return Act.AWAIT_ASSIGNMENT
    if call.error:
        return call.error
    assert after is not None
    assert after.state is State.STABLE
    return Act.GIVE_ASSIGNMENT if it.before == after else Act.STORE_ASSIGNMENT


def _seen_heartbeat(it: Situation, call: Call, after: Group | None) -> Verdict:
    assert after == it.before
    kept = it.driver.timers.get(f"heartbeat-{GROUP}-{it.follower}") == it.driver.now_us + 45_000_000
    match call.error:
        case ErrorCode.NONE:
            assert kept
            return Act.KEEP
        case ErrorCode.REBALANCE_IN_PROGRESS if kept:
            return Act.WARN
        case error:
            assert not kept
            return error


def _seen_leave(it: Situation, call: Call, after: Group | None) -> Verdict:
    answer = call.answer
    error = answer.error or answer.members[0].error
    if error:
        assert after == it.before
        return error
    assert after is not None
    assert it.before is not None
    if len(after.pending_joins) < len(it.before.pending_joins):
        return Act.FORGET
    assert len(after.members) < len(it.before.members)
    return Act.REMOVE


def _seen_commit(it: Situation, call: Call, after: Group | None) -> Verdict:
    ((_, error),) = call.answer.errors
    if error:
        assert -1 == it.driver.committed()
        return error
    assert 1 == it.driver.committed()
    kept = it.driver.timers.get(f"heartbeat-{GROUP}-{it.follower}") == it.driver.now_us + 45_000_000
    return Act.STORE_AND_KEEP if kept else Act.STORE_OFFSETS


def _seen_offset_delete(it: Situation, call: Call, after: Group | None) -> Verdict:
    assert after == it.before
    return call.error or Act.DROP_OFFSETS


def _seen_delete(it: Situation, call: Call, after: Group | None) -> Verdict:
    ((_, error),) = call.answer.results
    assert (after is None) == (it.before is None or not error)
    return error or Act.DELETE


_SEEN: dict[Request, Callable[[Situation, Call, Group | None], Verdict]] = {
    Request.JOIN_GROUP: _seen_join,
    Request.SYNC_GROUP: _seen_sync,
    Request.HEARTBEAT: _seen_heartbeat,
    Request.LEAVE_GROUP: _seen_leave,
    Request.OFFSET_COMMIT: _seen_commit,
    Request.OFFSET_DELETE: _seen_offset_delete,
    Request.DELETE_GROUPS: _seen_delete,
}
