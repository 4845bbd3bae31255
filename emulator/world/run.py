"""The shared parts of one run: the scenario, the clock, the wire, the recorder of events.

A part that needs another part gets it as an argument (:mod:`emulator.world.build`).

The recorder numbers the control events, links them to their causes and passes all events to the
sinks. Its digest covers every control event; the same scenario and seed give the same digest on any
machine, with any hash seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.events import ControlEvent, DataEvent, Event, LagSampled, RequestsCounted, row_of
from emulator.scenario.model import Distribution, Scenario
from emulator.scenario.resolution import broker_settings
from emulator.world.cluster.offsets_log.stored_segment import LogFiles
from emulator.world.consumer.handling.handler import RecordWork, WorkTimes
from emulator.world.consumer.polling.folded_time import FoldedTime
from emulator.world.kernel import Kernel
from emulator.world.network import Wire
from emulator.world.triggers import Triggers
from protocols.messages import OffsetFetchRequest, OffsetToCommit
from protocols.offsets_topic.records import Record
from protocols.settings import BrokerSettings

if TYPE_CHECKING:
    from emulator.events.messages import MessageCarried
    from emulator.world.store_service import StoreService

Sink = Callable[[Event], None]

_SAMPLES = frozenset({LagSampled, RequestsCounted})
"""The control events that an undisturbed run has."""


class Recorder:
    """Writes every event of a run."""

    def __init__(
        self,
        kernel: Kernel,
        sinks: tuple[Sink, ...],
        *,
        polls: bool,
        by_record: bool = False,
        on_record: Callable[[RecordWork], None] | None = None,
    ) -> None:
        self._kernel = kernel
        self._sinks = sinks
        self._hash = hashlib.blake2b(digest_size=16)
        self._next = 0
        self._rows = 0
        self._taken: list[list[Event]] = []
        self.disturbances = 0
        """The number of control events so far, without samples."""

        self.polls = polls
        """Whether each poll is written too."""

        self.by_record = by_record
        """Whether the processing of each record is written separately."""

        self.on_record = on_record
        """Called with the work on each record, beside the events."""

    def write(self, what: ControlEvent, cause: int | None = None) -> int:
        """Write a control event at the present time; return its id."""
        number = self._next
        self._next = number + 1
        if type(what) not in _SAMPLES:
            self.disturbances += 1
        event = Event(number, self._kernel.now, cause, what, self._rows)
        text = f"{event.at_us}|{cause}|{type(what).__name__}|{row_of(what)!r}\n"
        self._hash.update(text.encode())
        self._pass_on(event)
        return number

    def write_data(self, what: DataEvent, cause: int | None = None) -> None:
        """Write a data event at the present time."""
        self._pass_on(Event(None, self._kernel.now, cause, what, self._rows))

    def write_late(self, what: DataEvent, at_us: int) -> None:
        """Write a data event that happened at *at_us*; :mod:`emulator.events` has the rules."""
        self._pass_on(Event(None, at_us, None, what, self._rows))

    def _pass_on(self, event: Event) -> None:
        self._rows += 1
        for taken in self._taken:
            taken.append(event)
        for sink in self._sinks:
            sink(event)

    def watch(self, taken: list[list[Event]]) -> None:
        """Add every event from now on to each of these lists."""
        self._taken = taken

    def add_sink(self, sink: Sink) -> None:
        """Pass every event from now on to *sink*, too."""
        self._sinks = (*self._sinks, sink)

    @property
    def digest(self) -> str:
        """The digest of all control events so far, 32 hex digits."""
        return self._hash.hexdigest()


@dataclass(slots=True, eq=False)
class Causes:
    """The latest event of each kind that may be the cause of a later event."""

    disturbed: dict[str, int] = field(default_factory=dict)
    """Consumer: the last fault or act on it, or its end."""

    dropped: dict[str, int] = field(default_factory=dict)
    """Consumer: its last :class:`~emulator.events.ClientDropped`."""

    started: dict[str, int] = field(default_factory=dict)
    """Consumer: its last start."""

    membership: dict[str, int] = field(default_factory=dict)
    """Group: the last member that joined or left."""

    rebalance: dict[str, int] = field(default_factory=dict)
    """Group: the rebalance in progress, or the last one."""

    joined: dict[str, int] = field(default_factory=dict)
    """Group: the end of the last join phase."""

    stable: dict[str, int] = field(default_factory=dict)
    """Group: when it was last stable."""

    moved: dict[str, int] = field(default_factory=dict)
    """Consumer: its last reconciliation step towards the target assignment (consumer protocol)."""

    called: dict[str, int] = field(default_factory=dict)
    """Consumer: its last listener call."""

    removed: dict[str, int] = field(default_factory=dict)
    """Consumer: when it was last removed from the group."""

    commits: dict[str, int] = field(default_factory=dict)
    """Commit in flight: the last control event about it, such as the loss of its request."""

    refused: dict[str, int] = field(default_factory=dict)
    """Consumer: the last refusal of one of its commits."""

    administered: dict[str, int] = field(default_factory=dict)
    """Group: the last act of an administrator on its offsets."""

    topics: int | None = None
    """The last change of topics."""

    brokers: int | None = None
    """The last fault on a broker."""

    def behind_departure(self, consumer: str) -> int | None:
        """Return why a member left: its own action or last disturbance; else a broker fault."""
        own = _latest(self.disturbed.get(consumer), self.dropped.get(consumer))
        return self.brokers if own is None else own

    def behind_arrival(self, consumer: str) -> int | None:
        """Return why a member joined: its start, or its return after it dropped out."""
        return _latest(self.started.get(consumer), self.dropped.get(consumer))

    def behind_drop(self, group: str, why: str) -> int | None:
        """Return the event that removed committed offsets: a topic deletion or an admin's act."""
        if why == "deleted":
            return self.administered.get(group)
        return self.topics if "topic" in why else None

    def behind_rebalance(self, group: str, reason: str) -> int | None:
        """Return why a group rebalances: a member, or a change of topics."""
        if "re-joining" in reason and "metadata has changed" in reason:
            return self.topics
        return self.membership.get(group)

    def behind_refusal(self, consumer: str, group: str) -> int | None:
        """Return why a commit was refused: its sender's removal, or the rebalance."""
        return _latest(self.removed.get(consumer), self.rebalance.get(group))


def _latest(*events: int | None) -> int | None:
    """Return the last of the given events; None if there is none."""
    return max((event for event in events if event is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Values of a real history that a replay uses instead of drawing them."""

    work: WorkTimes | None = None
    member_ids: Callable[[str], str | None] | None = None
    """By client id: the next member id; its result None: draw one."""

    topic_ids: Mapping[str, str] | None = None
    """By name; a coordinator's order of topics in assignments depends on them."""

    produced_from_us: Mapping[str, tuple[int, ...]] | None = None
    """By name: when the producer began in each topic of that name, in order of their creation; of the
    first one the scenario says it."""

    appended: Callable[[tuple[Record, ...]], None] | None = None
    """Called with every batch appended to the offsets topic."""

    listened_us: Mapping[str, tuple[int, ...]] | None = None
    """By process: the earliest end times of its first listener calls."""

    called_us: Mapping[str, tuple[int, ...]] | None = None
    """By process: when its application noticed that its first listener calls were needed."""

    background_lateness: Distribution | None = None
    """How late timers of members with a background thread (consumer protocol) run out; None: as those of
    their group."""

    poll_lateness: Distribution | None = None
    """How late the polls of a client that drops late joins end; None: as late as its heartbeats are sent."""

    heartbeat_late_us: Callable[[str, int], int | None] | None = None
    """By classic process and the time at which a heartbeat is due: how late it is; its result None: as
    other timers of the process."""

    carried: Callable[[MessageCarried], None] | None = None
    """Called with every request and response, except fetches; one cut off by a dead broker is no
    message."""

    fetched: Callable[[MessageCarried], None] | None = None
    """Called with every fetch and its response when that arrives or is given up."""

    log_files: LogFiles | None = None
    """Takes the bytes of the offsets log."""

    on_record: Callable[[RecordWork], None] | None = None
    """Called with the work on each record: in order within a process, not always at its end."""

    by_record: bool = False
    """Whether each record's processing is written separately when it is done, as in a real trace
    (slow).
    """


NOTHING_REPLAYED = Replay()


class StoreCommits(Protocol):
    """The commits of one process to an offset store."""

    def worked(self, tp: TopicPartition, next_offset: int, began_us: int) -> None:
        """Take the records that the handler has finished."""

    def abandon(self) -> None:
        """Drop what is not written: the process ends."""

    def write(self, ends: dict[TopicPartition, int], kind: str, then: Callable[[], None]) -> bool:
        """Write offsets, then continue; return False if the client has to commit them to Kafka."""

    def finish(self, then: Callable[[], None]) -> None:
        """Continue when everything is written that the client has committed to Kafka."""


class OffsetStore(Protocol):
    """A store of offsets outside Kafka."""

    @property
    def service(self) -> StoreService:
        """How it serves its clients."""

    def stop(self, fault: int) -> None:
        """Make it unavailable."""

    def restore(self, offsets: Mapping[tuple[str, TopicPartition], int]) -> None:
        """Replace all offsets, by group and partition, by those of a backup."""

    def fetch(self, process: Any, correlation_id: int, request: OffsetFetchRequest) -> bool:
        """Read offsets for a process, and answer its client; return False if Kafka has to."""

    def accepted(self, process: Any, offsets: tuple[OffsetToCommit, ...]) -> None:
        """Take offsets that Kafka has accepted from a process."""

    def commits_of(self, process: Any) -> StoreCommits:
        """Return the commits of a process that has just started."""

    def committed(self, group: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the stored offsets of a group, for readers outside the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The shared parts of one run."""

    scenario: Scenario
    seed: int
    broker_settings: BrokerSettings
    kernel: Kernel
    recorder: Recorder
    wire: Wire
    triggers: Triggers
    replay: Replay = NOTHING_REPLAYED
    folding: bool = True
    """Whether calm consumers poll by arithmetic (:mod:`emulator.world.consumer.polling.poll_loop`)."""

    folded: FoldedTime = field(default_factory=FoldedTime)
    """How much of the consumers' time was computed that way."""

    skipping: bool = False
    """Whether whole periods may be skipped (:mod:`emulator.world.periods`)."""

    folding_commits: bool = False
    """Whether the commits of calm consumers, too, may be computed on demand and written in sums."""

    causes: Causes = field(default_factory=Causes)
    consumers: dict[str, str] = field(default_factory=dict)
    """By member id: the consumer that received it."""

    appended: list[Callable[[tuple[Record, ...]], None]] = field(default_factory=list)
    """Called with every batch appended to the offsets topic."""

    stores: dict[str, OffsetStore] = field(default_factory=dict)
    """Group: the store of its offsets, if that is not Kafka."""

    @property
    def epoch_ms(self) -> int:
        """The wall clock at time 0, in milliseconds since 1970."""
        start = self.scenario.start
        return 0 if start is None else int(start.timestamp() * 1000)

    def consumer(self, member_id: str) -> str:
        """Return the consumer that received a member id."""
        return self.consumers.get(member_id, member_id)

    def member_id(self, client_id: str) -> str | None:
        """Return a member id of the replayed history; None: it has none left."""
        given = self.replay.member_ids
        return None if given is None else given(client_id)


def new_run(
    scenario: Scenario,
    seed: int,
    sinks: tuple[Sink, ...],
    *,
    polls: bool = False,
    replay: Replay = NOTHING_REPLAYED,
    folding: bool = True,
    each_commit: bool = True,
) -> Run:
    """Return the shared parts of a new run; for the arguments see ``emulator.world.build.play``."""
    kernel = Kernel()
    folding = folding and not polls and not replay.by_record
    takes_records = replay.appended is not None or replay.log_files is not None
    watches = (replay.appended, replay.carried, replay.fetched, replay.on_record)
    return Run(
        scenario=scenario,
        seed=seed,
        broker_settings=broker_settings(scenario.cluster),
        kernel=kernel,
        recorder=Recorder(
            kernel, sinks, polls=polls, by_record=replay.by_record, on_record=replay.on_record
        ),
        wire=Wire(scenario.network, seed),
        triggers=Triggers(kernel),
        replay=replay,
        folding=folding,
        skipping=folding and not any(watch is not None for watch in watches),
        folding_commits=folding and not each_commit and not takes_records,
        appended=[] if replay.appended is None else [replay.appended],
    )
