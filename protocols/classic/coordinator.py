"""The coordinator of the classic groups of one offsets partition, as a machine.

Built from the broker's settings; its host brings requests, timers and news of the log, and
carries out the effects of every :class:`Step` in order. It counts the offsets of its log
itself, being its only writer: the records of an ``Append`` begin at ``next_log_offset`` of
before, and the host answers with ``durable`` (all below an offset is safe) or ``rejected``.

A new coordinator loads: the host says how far its log is durable, replays the log, and says
``loaded``. Until then it answers that it is loading.

Source: ``GroupCoordinatorService``, ``GroupCoordinatorShard``, ``CoordinatorRuntime`` of Kafka
4.4.0 (spec classic-coordinator).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from protocols.classic import admin, afterwards, expiry, invariants, rebalance, sync
from protocols.classic.answers import refusal
from protocols.classic.commits import offset_commit, refused_at_the_door
from protocols.classic.door import turned_away
from protocols.classic.durability import Durability, Entry, Proposal
from protocols.classic.fetch import offset_fetch
from protocols.classic.group import Group
from protocols.classic.heartbeat import heartbeat, session_over
from protocols.classic.join import join_group
from protocols.classic.leave import leave_group
from protocols.classic.lifecycle import given_away, taken_over, vanished
from protocols.classic.shard import Broker, Moment, Shard, Turn, Waiting, on_group, replayed
from protocols.classic.states import QUIET, TABLES, Request, Who
from protocols.classic.timers import EXPIRE_OFFSETS, JOIN, OPERATION_TIMEOUT, SESSION, SYNC
from protocols.errors import ErrorCode
from protocols.messages import (
    DeleteGroupsRequest,
    DescribeGroupRequest,
    DescribeGroupResponse,
    Envelope,
    Header,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
    TopicDescription,
)
from protocols.records import GroupMetadataKey, OffsetCommitKey, Record
from protocols.settings import BrokerSettings
from protocols.step import Append, CancelTimer, Effect, Send, Step


class Phase(enum.Enum):
    """Whether the shard serves its groups."""

    LOADING = "loading"
    ACTIVE = "active"
    UNLOADED = "unloaded"


def _stable_fetch(
    shard: Shard, header: Header, request: OffsetFetchRequest, at: Moment
) -> Turn[Shard]:
    answer = offset_fetch(shard.durable, request, at.broker)
    return Turn(shard, waits=(Send(header, answer),))


_HANDLERS: Final[MappingProxyType[type, Callable[[Shard, Header, Any, Moment], Turn[Shard]]]] = (
    MappingProxyType(
        {
            JoinGroupRequest: join_group,
            SyncGroupRequest: sync.sync_group,
            HeartbeatRequest: heartbeat,
            LeaveGroupRequest: leave_group,
            OffsetCommitRequest: offset_commit,
            OffsetFetchRequest: _stable_fetch,
            OffsetDeleteRequest: admin.offset_delete,
            DeleteGroupsRequest: admin.delete_groups,
        }
    )
)


class GroupCoordinator:
    """The machine; see the module."""

    __slots__ = ("_broker", "_log", "_phase", "state")

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        new_id: Callable[[str], str],
        epoch_ms: int = 0,
        topics: Iterable[TopicDescription] | None = None,
    ) -> None:
        """Make a coordinator that is loading.

        *new_id* makes a member id of a prefix (client id or instance id), a new one each time.
        *epoch_ms* is the wall clock at time 0. Without *topics* every topic exists.
        """
        self.state = Shard()
        self._broker = Broker(settings=settings, epoch_ms=epoch_ms, new_id=new_id)
        self._log = Durability()
        self._phase = Phase.LOADING
        if topics is not None:
            self.topics_changed(topics)

    # -- what a host may ask -----------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """Whether it loads, serves, or has been unloaded."""
        return self._phase

    @property
    def next_log_offset(self) -> int:
        """Where the next record goes."""
        return self._log.next_log_offset

    @property
    def high_watermark(self) -> int:
        """Below it everything is durable."""
        return self._log.high_watermark

    def quiet(self, group_id: str, member_id: str, generation: int, kind: Request) -> bool:
        """Say whether this member's next heartbeat or commit would be nothing but accepted.

        True when the answer would be no error and only a lease or an offset would change.
        """
        group = self.state.groups.get(group_id)
        if self._phase is not Phase.ACTIVE or group is None or kind not in _PERIODIC:
            return False
        known = member_id in group.members and generation == group.generation
        return known and TABLES[kind][Who.MEMBER][group.state] in QUIET

    # -- requests and timers -----------------------------------------------------------------

    def handle(self, envelope: Envelope, now_us: int) -> Step[Shard]:
        """Answer a request, or keep it open. Raises TypeError for what is no group request."""
        header = envelope.header
        request: Any = envelope.body  # the tables below decide by its type
        at = Moment(now_us, self._broker)
        refused = turned_away(request, at.settings)
        if refused is not None:
            return Step(self.state, (Send(header, refused),))
        if self._phase is not Phase.ACTIVE:
            return Step(self.state, self._not_serving(header, request))
        if isinstance(request, DescribeGroupRequest):
            return Step(self.state, (Send(header, self._description(request)),))
        if isinstance(request, OffsetFetchRequest) and not request.require_stable:
            answer = offset_fetch(self._log.view, request, self._broker)
            return Step(self.state, (Send(header, answer),))
        handler = _HANDLERS.get(type(request))
        if handler is None:
            raise TypeError(f"a coordinator does not answer {type(request).__name__}")
        return self._settled(handler(self.state, header, request, at), at)

    def wake(self, timer: str, now_us: int) -> Step[Shard]:
        """Act on a timer that ran out; one that belongs to nobody any more does nothing."""
        if self._phase is not Phase.ACTIVE:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        if timer.startswith(SESSION):
            return self._settled(session_over(self.state, timer, at), at)
        if timer.startswith(JOIN):
            return self._group_woken(timer.removeprefix(JOIN), rebalance.time_is_up, at)
        if timer.startswith(SYNC):
            return self._group_woken(timer.removeprefix(SYNC), sync.time_is_up, at)
        if timer == EXPIRE_OFFSETS:
            return self._settled(expiry.expire(self.state, at), at)
        assert timer == OPERATION_TIMEOUT, f"no timer {timer!r} was ever set"
        late, timers = self._log.overdue(now_us)
        return self._failed(late, ErrorCode.REQUEST_TIMED_OUT, at, timers)

    # -- news of the log ---------------------------------------------------------------------

    def durable(self, log_offset: int, now_us: int) -> Step[Shard]:
        """Learn that all records below *log_offset* are durable; what waited for them goes on."""
        at = Moment(now_us, self._broker)
        effects = list[Effect]()
        for what in self._log.advance(log_offset):
            effects += self._settled(afterwards.succeeded(self.state, what, at), at).effects
        return Step(self.state, tuple(effects))

    def rejected(self, log_offset: int, error: ErrorCode, now_us: int) -> Step[Shard]:
        """Learn that the append at *log_offset* failed: it and all after it are taken back.

        Offsets and the existence of groups return to what they were; the inside of groups does
        not [Q3]. Raises ValueError if no such append is in flight.
        """
        if self._phase is Phase.UNLOADED:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        withdrawn, waits = self._log.withdraw(log_offset)
        effects = list[Effect]()
        for proposal in withdrawn:
            effects += self._taken_back(proposal, error, at)
        return self._failed(waits, error, at, effects)

    # -- coming and going --------------------------------------------------------------------

    def replay(self, record: Record, log_offset: int) -> None:
        """Apply one record of the log while loading; offsets may have gaps but rise."""
        self.replay_all(((log_offset, record),))

    def replay_all(self, entries: Iterable[Entry]) -> None:
        """Apply records of the log while loading; fast once it is said how far it is durable."""
        assert self._phase is Phase.LOADING, "only a loading shard replays"
        self.state = replace(self.state, durable=self._log.replay(self.state.durable, entries))

    def loaded(self, now_us: int, log_end: int = 0) -> Step[Shard]:
        """Begin to serve: the log was read to its end.

        *log_end*: where the log ends, if that is beyond the last record that was left in it.
        """
        assert self._phase is Phase.LOADING, "loaded once"
        self._phase = Phase.ACTIVE
        self._log.load_end(log_end)
        at = Moment(now_us, self._broker)
        return self._settled(taken_over(self.state.durable, at), at)

    def unload(self, now_us: int) -> Step[Shard]:
        """Stop serving: everyone who waits is told to look for the coordinator again.

        What a dying group still decides is not told, nor timed: only answers come out.
        """
        at = Moment(now_us, self._broker)
        effects = list[Effect]()
        if self._phase is Phase.ACTIVE:
            for what in self._log.abandon():
                turn = afterwards.failed(self.state, what, ErrorCode.NOT_COORDINATOR, at)
                self.state = turn.state
                effects += turn.effects
            turn = given_away(self.state, at)
            self.state = turn.state
            effects += turn.effects
        self._phase = Phase.UNLOADED
        spoken = (effect for effect in effects if isinstance(effect, Send | CancelTimer))
        return Step(self.state, tuple(spoken))

    def topics_changed(self, topics: Iterable[TopicDescription]) -> None:
        """Learn which topics there are, as the broker's metadata cache shows them."""
        known = {topic.name: topic for topic in topics}
        self._broker = replace(self._broker, topics=known)

    def topic_deleted(self, topic: str, topic_id: str, now_us: int) -> Step[Shard]:
        """Learn that a topic was deleted: its offsets go, in every group."""
        if self._phase is not Phase.ACTIVE:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        return self._settled(admin.topic_deleted(self.state, topic, topic_id), at)

    def check(self) -> None:
        """Assert every invariant of the shard, its groups and its log."""
        if self._phase is Phase.ACTIVE:
            invariants.check(self.state)
            self._log.check(self.state.durable)

    # -- how a turn is carried out -----------------------------------------------------------

    def _settled(self, turn: Turn[Shard], at: Moment) -> Step[Shard]:
        effects = turn.effects
        if turn.records:
            effects += (self._proposed(turn),)
        else:
            self.state = turn.state
        waits = turn.waits
        if waits:
            if self._log.settled:
                effects += tuple(what for what in waits if type(what) is Send)
            else:
                effects += self._log.park(waits, at.after(at.settings.offsets_commit_timeout_ms))
        return Step(self.state, effects)

    def _proposed(self, turn: Turn[Shard]) -> Append:
        """Apply a turn's records as a load would, and send them to the log."""
        earlier, records = self.state, turn.records
        before = earlier.durable
        after = replayed(before, records)
        made: tuple[str, ...] = ()
        ended: tuple[Group, ...] = ()
        if len(after.groups) > len(before.groups):
            first = records[0].key
            assert isinstance(first, (GroupMetadataKey, OffsetCommitKey))
            made = (first.group,)
        elif len(after.groups) < len(before.groups):
            ended = tuple(
                earlier.groups[record.key.group]
                for record in records
                if isinstance(record.key, GroupMetadataKey) and record.value is None
            )
        self.state = Shard(turn.state.groups, after)
        self._log.propose(len(records), before, after, made, ended)
        return Append(records)

    def _taken_back(self, proposal: Proposal, error: ErrorCode, at: Moment) -> tuple[Effect, ...]:
        self.state = replace(self.state, durable=proposal.before)
        for group in proposal.ended:
            self.state = self.state.with_group(group)
        effects: tuple[Effect, ...] = ()
        for group_id in proposal.made:
            turn = vanished(self.state, group_id, error, at)
            self.state = turn.state
            effects += turn.effects
        return effects

    def _failed(
        self, waits: list[Waiting], error: ErrorCode, at: Moment, first: Iterable[Effect]
    ) -> Step[Shard]:
        effects = list(first)
        for what in waits:
            effects += self._settled(afterwards.failed(self.state, what, error, at), at).effects
        return Step(self.state, tuple(effects))

    def _group_woken(
        self, group_id: str, wake: Callable[[Group, Moment], Turn[Group]], at: Moment
    ) -> Step[Shard]:
        group = self.state.groups.get(group_id)
        if group is None:
            return Step(self.state)
        return self._settled(on_group(self.state, wake(group, at)), at)

    def _description(self, request: DescribeGroupRequest) -> DescribeGroupResponse:
        """A group is shown as it is now, once its existence is durable."""
        known = request.group_id in self._log.view.groups
        group = self.state.groups.get(request.group_id) if known else None
        return admin.describe_group(group, request)

    def _not_serving(self, header: Header, request: Any) -> tuple[Effect, ...]:
        loading = self._phase is Phase.LOADING
        if loading and isinstance(request, HeartbeatRequest):
            return (Send(header, HeartbeatResponse()),)
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if loading else ErrorCode.NOT_COORDINATOR
        if isinstance(request, OffsetCommitRequest):
            return refused_at_the_door(header, request, error, self._broker)
        return (Send(header, refusal(request, error)),)


_PERIODIC: Final = frozenset({Request.HEARTBEAT, Request.OFFSET_COMMIT})
"""What a member sends again and again without being asked."""
