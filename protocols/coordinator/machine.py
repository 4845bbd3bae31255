"""The coordinator of all groups of one offsets partition, as a machine.

The host passes in requests, timers and outcomes of the log, and carries out the effects of every
:class:`Step` in order. The coordinator is the only writer of its log and counts its offsets: the
records of an ``Append`` begin at the previous ``next_log_offset``, and the host reports their
outcome: ``durable`` (all records below an offset are durable) or ``rejected``.

A new coordinator loads: the host sets the high watermark by ``durable``, replays the log, and
calls ``loaded``. Until then requests get COORDINATOR_LOAD_IN_PROGRESS.

A shard may have classic groups and consumer groups. The rules of each type are in a package;
``dispatch.py`` maps requests to handlers.

Source: ``GroupCoordinatorService``, ``GroupCoordinatorShard``, ``CoordinatorRuntime`` of Kafka
4.4.0.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from assignors.registry import SERVER_SIDE
from protocols.coordinator import queries
from protocols.coordinator.dispatch import (
    HANDLERS,
    kind_of,
    on_append_failed,
    on_durable,
    on_timer,
    read,
    reject_unavailable,
    validate,
)
from protocols.coordinator.durability import (
    OPERATION_TIMEOUT,
    Durability,
    Entry,
    HostContractError,
    Proposal,
    proposed,
)
from protocols.groups import deletion, kip848
from protocols.groups.classic.kind import discard, restore
from protocols.groups.deletion import EXPIRE_OFFSETS
from protocols.groups.shard import (
    AnyShard,
    Broker,
    Fix,
    Moment,
    ServerAssignor,
    Shard,
    Turn,
    Waiting,
    is_classic,
)
from protocols.groups.topics import TopicsImage
from protocols.machine import CancelTimer, Effect, Send, Step
from protocols.messages import (
    ConsumerGroupHeartbeatRequest,
    Envelope,
    Header,
    TopicDescription,
)
from protocols.messages.errors import ErrorCode
from protocols.offsets_topic.records.errors import BrokenLogError
from protocols.settings import BrokerSettings
from protocols.values import replace


class GroupCoordinator:
    """The coordinator of all groups of one offsets partition; see the module docstring."""

    __slots__ = ("_broker", "_log", "_phase", "state")

    def __init__(
        self,
        settings: BrokerSettings,
        *,
        new_id: Callable[[str], str],
        epoch_ms: int = 0,
        topics: Iterable[TopicDescription] | None = None,
        assignors: Mapping[str, ServerAssignor] = SERVER_SIDE,
        pattern_us: int = 0,
        lacks: Collection[Fix] = (),
    ) -> None:
        """Create a coordinator in phase LOADING.

        *new_id* generates a new member id from a prefix: a client id or instance id, or an
        empty text in consumer groups.
        *epoch_ms* is the wall clock at time 0. Without *topics* every topic exists.
        *assignors* are those that ``group.consumer.assignors`` may name. *pattern_us*: the time to
        look up a group's patterns. *lacks*: corrections that an older coordinator does not have.
        """
        self.state: AnyShard = Shard()
        self._broker = Broker(
            settings=settings,
            epoch_ms=epoch_ms,
            new_id=new_id,
            assignors=assignors,
            pattern_us=pattern_us,
            lacks=lacks,
        )
        self._log = Durability()
        self._phase = Phase.LOADING
        if topics is not None:
            self.topics_changed(topics)

    # -- state for the host ------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        """The phase of the coordinator."""
        return self._phase

    @property
    def next_log_offset(self) -> int:
        """The log offset of the next record."""
        return self._log.next_log_offset

    @property
    def high_watermark(self) -> int:
        """The log offset below which all records are durable."""
        return self._log.high_watermark

    def generation(self, group_id: str) -> int:
        """Return a group's generation, or its group epoch; -1 if there is no such group."""
        return queries.generation_of(self.state, group_id)

    def target_size(self, group_id: str) -> tuple[int, int]:
        """Return the members of a consumer group, and the partitions of its target assignment."""
        return queries.target_size(self.state, group_id)

    def recurring(self, now_us: int) -> object:
        """Return the state without the offsets if it is the same after every quiet period.

        None: more than responses wait for the log, or the time alone may change a group. The host
        sets the timer of the timeout again (:meth:`~protocols.coordinator.durability.Durability.renew_timeout`).
        """
        if self._phase is not Phase.ACTIVE or not queries.recurs(self.state):
            return None
        state, rest = self.state, self._log.relative(now_us)
        return rest and (state.groups, state.durable.groups, state.soft, self._broker, rest)

    @property
    def log(self) -> Durability:
        """The log as the coordinator sees it, for a host that skips whole periods."""
        return self._log

    def expires_nothing(self) -> bool:
        """Return whether no offset expires, and no group is deleted, while the groups stay so."""
        return deletion.expires_nothing(self.state, kind_of)

    def skip(self, entries: Iterable[Entry], log_end: int) -> None:
        """Apply the last commits of skipped periods; the log ends at *log_end*."""
        durable = self._log.skip(self.state.durable, tuple(entries), log_end)
        self.state = replace(self.state, durable=durable)

    # -- requests and timers -----------------------------------------------------------------

    def handle(self, envelope: Envelope, now_us: int) -> Step[AnyShard]:
        """Respond to a request or park it. Raises TypeError if it is not a group request."""
        header = envelope.header
        request: Any = envelope.body  # the tables decide by its type
        at = Moment(now_us, self._broker)
        if type(request) is ConsumerGroupHeartbeatRequest:
            step = self._quiet_heartbeat(header, request, at)
            if step is not None:
                return step
        refused = validate(request, at.settings)
        if refused is not None:
            return Step(self.state, (Send(header, refused),))
        if self._phase is not Phase.ACTIVE:
            loading = self._phase is Phase.LOADING
            topics = self._broker.topics
            return Step(self.state, reject_unavailable(header, request, topics, loading=loading))
        seen = read(request, self.state, self._log.view, at.broker)
        if seen is not None:
            return Step(self.state, (Send(header, seen),))
        handler = HANDLERS.get(type(request))
        if handler is None:
            raise TypeError(f"a coordinator does not respond to {type(request).__name__}")
        return self._carry_out(handler(self.state, header, request, at), at)

    def wake(self, timer: str, now_us: int) -> Step[AnyShard]:
        """Handle a timer that fired; a timer of a member that has left has no effect."""
        if self._phase is not Phase.ACTIVE:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        if timer != OPERATION_TIMEOUT:
            atomic = timer != EXPIRE_OFFSETS
            return self._carry_out(on_timer(self.state, timer, at), at, atomic=atomic)
        expired, timers = self._log.expire(now_us)
        return self._fail(expired, ErrorCode.REQUEST_TIMED_OUT, at, timers)

    # -- outcomes of the log -----------------------------------------------------------------

    def durable(self, log_offset: int, now_us: int) -> Step[AnyShard]:
        """Handle that all records below *log_offset* are durable; release their waits."""
        effects = self._released(self._log.advance(log_offset), Moment(now_us, self._broker))
        return Step(self.state, effects)

    def rejected(self, log_offset: int, error: ErrorCode, now_us: int) -> Step[AnyShard]:
        """Handle a failed append at *log_offset*: withdraw it and all later ones.

        Offsets and the existence of groups are rolled back; the state inside groups is not.
        Raises ValueError if no such append is in flight.
        """
        if self._phase is Phase.UNLOADED:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        withdrawn, waits = self._log.withdraw(log_offset)
        effects = list[Effect]()
        for proposal in withdrawn:
            effects += self._roll_back(proposal, error, at)
        return self._fail(waits, error, at, effects)

    # -- loading and unloading ---------------------------------------------------------------

    def replay(self, entries: Iterable[Entry]) -> None:
        """Apply records of the log while loading; log offsets increase but may have gaps.

        It is faster if the high watermark is set before.

        Raises BrokenLogError for a record that makes the load fail. From then on the shard has
        no groups and rejects every request.
        """
        self._must_be_loading("replay")
        try:
            durable = self._log.replay(self.state.durable, entries)
        except BrokenLogError:
            self._phase, self.state = Phase.FAILED, Shard()
            raise
        self.state = replace(self.state, durable=durable)

    def loaded(self, now_us: int, log_end: int = 0) -> Step[AnyShard]:
        """Activate the coordinator: the log has been read to its end.

        *log_end*: the log end offset, if compaction removed the last records.
        """
        self._must_be_loading("loaded")
        self._phase = Phase.ACTIVE
        self._log.load_end(log_end)
        at = Moment(now_us, self._broker)
        turn: Turn[AnyShard] = Turn(self.state)
        for group_id in self.state.durable.groups:
            on_loaded = kind_of(self.state, group_id).on_loaded
            turn = turn.then(functools.partial(on_loaded, group_id=group_id, at=at))
        return self._carry_out(turn.also(deletion.next_run(at)), at)

    def unload(self, now_us: int) -> Step[AnyShard]:
        """Unload the coordinator: every parked request gets NOT_COORDINATOR.

        The effects are only responses and cancelled timers, no facts.
        """
        at = Moment(now_us, self._broker)
        effects = list[Effect]()
        if self._phase is Phase.ACTIVE:
            for waiting in self._log.abandon():
                turn = on_append_failed(self.state, waiting, ErrorCode.NOT_COORDINATOR, at)
                self.state = turn.state
                effects += turn.effects
            for group_id in self.state.durable.groups:
                turn = kind_of(self.state, group_id).on_unloaded(self.state, group_id, at)
                self.state = turn.state
                effects += turn.effects
            effects += (CancelTimer(EXPIRE_OFFSETS), CancelTimer(OPERATION_TIMEOUT))
        self._phase = Phase.UNLOADED
        carried_out = (effect for effect in effects if isinstance(effect, Send | CancelTimer))
        return Step(self.state, tuple(carried_out))

    def topics_changed(
        self, topics: Iterable[TopicDescription], version: int | None = None
    ) -> None:
        """Update the topics from the broker's metadata cache.

        *version*: of the cluster's metadata; it increases with every change, the same on all
        brokers.
        """
        listed, old = tuple(topics), self._broker.image
        newer = old.version + 1 if version is None else version
        if self._phase is Phase.LOADING:
            image = TopicsImage(listed, newer, names_since=newer)
        else:
            image = old.followed_by(listed, newer)
        self._broker = replace(self._broker, topics=image.by_name, image=image)
        if not all(map(is_classic, self.state.durable.groups.entries.values())):
            self.state = kip848.shard.on_topics_changed(self.state, image.differs(old))

    def topic_deleted(self, topic: str, topic_id: str, now_us: int) -> Step[AnyShard]:
        """Handle the deletion of a topic: delete its offsets in every group."""
        if self._phase is not Phase.ACTIVE:
            return Step(self.state)
        at = Moment(now_us, self._broker)
        turn = deletion.topic_deleted(self.state, topic, topic_id)
        return self._carry_out(turn, at, atomic=False)

    def check(self) -> None:
        """Assert every invariant of the shard, its groups and its log."""
        if self._phase is Phase.ACTIVE:
            queries.check(self.state)
            self._log.check(self.state.durable)

    def _must_be_loading(self, call: str) -> None:
        if self._phase is not Phase.LOADING:
            raise HostContractError(
                f"{call} is called while the coordinator loads; it is {self._phase.value}"
            )

    # -- carrying out turns ------------------------------------------------------------------

    def _carry_out(
        self, turn: Turn[AnyShard], at: Moment, *, atomic: bool = True
    ) -> Step[AnyShard]:
        effects = turn.effects
        if turn.records:
            self.state, appends = proposed(self._log, self.state, turn, atomic=atomic)
            effects += appends
        else:
            self.state = turn.state
        if turn.waits and self._log.all_durable:
            effects += self._released(turn.waits, at)
        elif turn.waits:
            deadline_us = at.after(at.settings.offsets_commit_timeout_ms)
            effects += self._log.defer(turn.waits, deadline_us)
        return Step(self.state, effects)

    def _released(self, waits: Iterable[Waiting], at: Moment) -> tuple[Effect, ...]:
        """Carry out steps that waited for the log: everything proposed before them is durable."""
        effects = list[Effect]()
        for waiting in waits:
            if type(waiting) is Send:
                effects.append(waiting)
            else:
                effects += self._carry_out(on_durable(self.state, waiting, at), at).effects
        return tuple(effects)

    def _roll_back(self, proposal: Proposal, error: ErrorCode, at: Moment) -> tuple[Effect, ...]:
        self.state = replace(self.state, durable=proposal.before)
        effects: tuple[Effect, ...] = ()
        for _, group in proposal.ended:
            self.state = restore(self.state, group)
        for group_id in proposal.made:
            turn = discard(self.state, group_id, error, at)
            self.state = turn.state
            effects += turn.effects
        if self.state.soft:
            self.state = kip848.shard.drop_orphaned_soft_state(self.state)
        return effects

    def _fail(
        self, waits: list[Waiting], error: ErrorCode, at: Moment, first: Iterable[Effect]
    ) -> Step[AnyShard]:
        effects = list(first)
        for waiting in waits:
            effects += self._carry_out(on_append_failed(self.state, waiting, error, at), at).effects
        return Step(self.state, tuple(effects))

    def _quiet_heartbeat(
        self, header: Header, request: ConsumerGroupHeartbeatRequest, at: Moment
    ) -> Step[AnyShard] | None:
        """Respond to a heartbeat that only renews a session, the most frequent request, else None.

        A coordinator that is not active has no soft state, so that no member of it is quiet.
        """
        group = self.state.durable.groups.entries.get(request.group_id)
        if type(group) is not kip848.group.Group:
            return None
        soft = kip848.shard.soft_of(self.state, request.group_id)
        member = kip848.heartbeat.quiet_member(group, soft, header, request, at)
        if member is None:
            return None
        session, reply = kip848.heartbeat.quiet_response(member, header, at)
        if self._log.all_durable:
            return Step(self.state, (session, reply))
        return self._carry_out(Turn(self.state, (session,), (), (reply,)), at)


class Phase(enum.Enum):
    """The phase of a coordinator."""

    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"
    """The log cannot be loaded: only a later leader can serve these groups."""

    UNLOADED = "unloaded"
