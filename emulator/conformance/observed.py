"""Extract the compared facts from a run's events, for real and emulated runs alike.

Only the events are read. Consumers are named with their incarnation
(``m1.2``), partitions as the capture writes them (``t0-3``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from operator import attrgetter

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.conformance.stalls import Pace
from emulator.events import (
    CommitAccepted,
    ConsumerStarted,
    EpochOpened,
    Event,
    GroupEpochRaised,
    ListenerCalled,
    MemberAdded,
    MemberMoved,
    MemberRemoved,
    PartitionsAdded,
    Processed,
    TargetComputed,
    TopicCreated,
)
from emulator.world.consumer.handling.handler import RecordWork

Call = tuple[str, tuple[str, ...]]
"""A listener call and its partitions, sorted."""

Life = tuple[TopicPartition, int]
"""A partition, and how often its topic had been created again: offsets began at 0 each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The parameters of an observation."""

    prefix: str
    """The prefix of real topic names, which names in the result lack."""

    fault_us: int
    """The first fault or action."""

    faulted: str | None
    """The consumer that it affects; None for others (a join, a broker, a topic)."""

    end_us: int
    """Events after this time are ignored."""

    counted: frozenset[str] = frozenset()
    """Consumers whose generations are the numbers of their ``assigned`` calls.

    Their library does not show the member epoch, so their traces count.
    """


@dataclass(frozen=True, slots=True)
class Observed:
    """The compared facts of a run."""

    generations: tuple[int, ...]
    """Generations in which a member received an assignment, by first appearance."""

    rebalances: int
    """The number of them above the highest one before the fault."""

    assignments: dict[int, dict[str, tuple[str, ...]]]
    """By generation and consumer: the partitions owned after its ``assigned`` call."""

    calls: dict[str, tuple[Call, ...]]
    """By consumer, in order."""

    duplicates: dict[str, int]
    """By partition: the number of completed processings after the first of their record."""

    lost: dict[str, int]
    """By partition: records never processed, although later ones were reached."""

    takeovers: dict[str, float]
    """By partition: seconds from the fault to the beginning of the first record under a new owner."""

    owners: dict[str, str]
    """By partition: the consumer with its incarnation that owned it at the fault."""

    stalls: dict[str, float]
    """By partition: the longest time in seconds without processing that ended after the fault."""

    first_commit_s: float | None
    """From the fault to the first successful response to a commit sent after it."""

    commit_wait_s: float | None
    """The longest time from sending such a commit to its successful response."""

    commits: dict[str, int]
    """By consumer: accepted commits of at least one offset."""

    epochs: tuple[int, ...] = ()
    """Consumer protocol only, like the following: the group's epochs, in order."""

    targets: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """By epoch and consumer: the target assignment."""

    steps: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    """By consumer: its steps towards the target, as the coordinator saw them."""


@dataclass(slots=True)
class _Watch:
    """The state of reading a run's events."""

    view: View
    pace: Pace
    epochs: Epochs = field(init=False)
    incarnations: dict[str, int] = field(default_factory=dict)
    owned: dict[str, set[TopicPartition]] = field(default_factory=dict)
    at_fault: dict[TopicPartition, str] | None = None
    faulted: str | None = None
    """The consumer that the fault affected, with its incarnation at that time."""

    generations: dict[int, int] = field(default_factory=dict)
    """Generations with the time of their first appearance."""

    assignments: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    calls: dict[str, list[Call]] = field(default_factory=dict)
    ranges: dict[Life, list[tuple[int, int]]] = field(default_factory=dict)
    starts: dict[Life, list[int]] = field(default_factory=dict)
    again_us: dict[str, list[int]] = field(default_factory=dict)
    """By topic: when it was created again."""

    first_partitions: dict[str, int] = field(default_factory=dict)
    """Number of partitions of each topic when the group was first assigned any."""

    begun: dict[TopicPartition, list[tuple[int, str]]] = field(default_factory=dict)
    """By partition: the begins of ranges after the fault, with their consumers."""

    commits: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Use the same consumer names for the epochs."""
        self.epochs = Epochs(name=self.name, shown=self.shown)

    def name(self, consumer: str) -> str:
        """Return a consumer with its current incarnation."""
        return f"{consumer}.{self.incarnations.get(consumer, 1)}"

    def shown(self, partition: TopicPartition) -> str:
        """Return a partition without the prefix of its topic."""
        return str(partition).removeprefix(self.view.prefix)


def observe(
    events: Iterable[Event], view: View, records: Iterable[RecordWork] | None = None
) -> Observed:
    """Read a run's events, in order, up to the end of the view.

    *records*: the work on each record, if the events sum up several records.
    """
    watch = _Watch(view, Pace(view.fault_us))
    for work in sorted(records or (), key=attrgetter("ended_us")):
        watch.pace.work(work)
    for event in events:
        if event.at_us > view.end_us:
            break
        if records is None or not isinstance(event.what, Processed):
            watch.pace.see(event)
        watch.epochs.see(event)
        if watch.at_fault is None and event.at_us >= view.fault_us:
            watch.at_fault = {p: name for name, owned in watch.owned.items() for p in owned}
            watch.faulted = None if view.faulted is None else watch.name(view.faulted)
        _see(watch, event)
    seen = watch.generations
    before = max((g for g, at_us in seen.items() if at_us < view.fault_us), default=0)
    return Observed(
        generations=tuple(seen),
        rebalances=sum(generation > before for generation in seen),
        assignments=watch.assignments,
        calls={name: tuple(watch.calls[name]) for name in sorted(watch.calls)},
        epochs=tuple(watch.epochs.raised),
        targets=watch.epochs.targets,
        steps={name: tuple(watch.epochs.steps[name]) for name in sorted(watch.epochs.steps)},
        duplicates=_nonzero(watch, _duplicates),
        lost=_nonzero(watch, _lost),
        takeovers=_takeovers(watch),
        owners={watch.shown(tp): name for tp, name in sorted((watch.at_fault or {}).items())},
        stalls={watch.shown(tp): stall_s for tp, stall_s in watch.pace.stalls.items()},
        first_commit_s=watch.pace.first_commit_s,
        commit_wait_s=watch.pace.commit_wait_s,
        commits={name: watch.commits[name] for name in sorted(watch.commits)},
    )


def _see(watch: _Watch, event: Event) -> None:
    match event.what:
        case ConsumerStarted(consumer=consumer, incarnation=incarnation):
            watch.incarnations[consumer] = incarnation
            watch.calls[watch.name(consumer)] = []
        case TopicCreated(topic=topic) if topic in watch.first_partitions:
            watch.again_us.setdefault(topic, []).append(event.at_us)
        case TopicCreated(topic=topic, log_starts=starts):
            watch.first_partitions[topic] = 0 if watch.generations else len(starts)
        case PartitionsAdded(topic=topic, partitions=partitions) if not watch.generations:
            watch.first_partitions[topic] = partitions
        case ListenerCalled() as call:
            _listen(watch, call, event.at_us)
        case EpochOpened(partition=partition, offset=offset):
            watch.starts.setdefault(_life(watch, partition, event.at_us), []).append(offset)
        case Processed() as processed:
            _work(watch, processed)
        case CommitAccepted(consumer=consumer, offsets=offsets) if offsets:
            name = watch.name(consumer)
            watch.commits[name] = watch.commits.get(name, 0) + 1
        case _:
            pass


def _life(watch: _Watch, partition: TopicPartition, at_us: int) -> Life:
    """Return the life in which a partition is at a time."""
    return partition, sum(at_us >= again for again in watch.again_us.get(partition.topic, ()))


def _listen(watch: _Watch, call: ListenerCalled, at_us: int) -> None:
    name = watch.name(call.consumer)
    owned = watch.owned.setdefault(name, set())
    shown = tuple(watch.shown(partition) for partition in sorted(call.partitions))
    watch.calls.setdefault(name, []).append((call.call, shown))
    if call.call == "assigned":
        owned.update(call.partitions)
        number = call.generation
        if call.consumer in watch.view.counted:
            number = sum(listener == "assigned" for listener, _ in watch.calls[name])
        watch.generations.setdefault(number, at_us)
        by_consumer = watch.assignments.setdefault(number, {})
        by_consumer[name] = tuple(watch.shown(partition) for partition in sorted(owned))
    else:
        owned.difference_update(call.partitions)


def _work(watch: _Watch, processed: Processed) -> None:
    life = _life(watch, processed.partition, processed.began_us)
    ranges = watch.ranges.setdefault(life, [])
    ranges.append((processed.first, processed.next_offset))
    if processed.began_us >= watch.view.fault_us:
        begun = watch.begun.setdefault(processed.partition, [])
        begun.append((processed.began_us, watch.name(processed.consumer)))


def _union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join half-open ranges that touch or overlap; return them in order."""
    joined: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return joined


def _length(ranges: Iterable[tuple[int, int]]) -> int:
    return sum(end - first for first, end in ranges)


def _duplicates(watch: _Watch, life: Life) -> int:
    ranges = watch.ranges.get(life, [])
    return _length(ranges) - _length(_union(ranges))


def _lost(watch: _Watch, life: Life) -> int:
    """Count the unprocessed records between the first start and the farthest progress.

    A partition that was added later counts from its beginning, as one that was created again.
    """
    partition, again = life
    starts = watch.starts.get(life, [0])
    done = _union(watch.ranges.get(life, []))
    existed = watch.first_partitions.get(partition.topic)
    later = again > 0 or (existed is not None and partition.partition >= existed)
    base = 0 if later else starts[0]
    frontier = max([*starts, *(end for _, end in done)])
    return frontier - base - _length((max(first, base), end) for first, end in done if end > base)


def _nonzero(watch: _Watch, count: Callable[[_Watch, Life], int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for life in sorted(watch.ranges.keys() | watch.starts.keys()):
        if number := count(watch, life):
            name = watch.shown(life[0])
            counts[name] = counts.get(name, 0) + number
    return counts


def _takeovers(watch: _Watch) -> dict[str, float]:
    """Return how long each partition of the faulted consumer waited for a new owner.

    Without a faulted consumer, this covers all partitions that get another owner than before.
    """
    before = watch.at_fault or {}
    taken: dict[str, float] = {}
    for partition, begun in sorted(watch.begun.items()):
        owner = before.get(partition)
        if watch.faulted is not None and owner != watch.faulted:
            continue
        times = [at_us for at_us, name in begun if name != owner]
        if times:
            taken[watch.shown(partition)] = (min(times) - watch.view.fault_us) / 1_000_000
    return taken


Step = tuple[str, tuple[str, ...]]
"""A member's epoch, state and partitions; those to revoke have the prefix ``-``."""


@dataclass(slots=True, kw_only=True)
class Epochs:
    """Collects the epochs of one group; call :meth:`see` with every event in order."""

    name: Callable[[str], str]
    """Returns the displayed name of a consumer."""

    shown: Callable[[TopicPartition], str]
    raised: list[int] = field(default_factory=list)
    """The group's epochs, in order."""

    targets: dict[int, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """By epoch and consumer: the target assignment. Epochs without a target are omitted."""

    steps: dict[str, list[Step]] = field(default_factory=dict)
    """By consumer: its steps towards the targets."""

    _target: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _by_id: dict[str, str] = field(default_factory=dict)
    """By member id: the name of the consumer when the member was first seen."""

    _newest: dict[str, str] = field(default_factory=dict)
    """By consumer: the name of its newest member."""

    def see(self, event: Event) -> None:
        """Process one event."""
        match event.what:
            case GroupEpochRaised(epoch=epoch):
                self.raised.append(epoch)
            case MemberAdded(consumer=consumer, member_id=member_id):
                self._member(consumer, member_id)
            case TargetComputed() as computed:
                self._compute(computed)
            case MemberRemoved() as removed:
                self._remove(removed)
            case MemberMoved(epoch=epoch) as moved if epoch >= 0:
                self._move(moved)
            case _:
                pass

    def _compute(self, computed: TargetComputed) -> None:
        """Add a target; without member ids each consumer has one member."""
        ids = computed.member_ids or (None,) * len(computed.changed)
        for (consumer, given), member_id in zip(computed.changed, ids, strict=True):
            self._target[self._member(consumer, member_id)] = self._names(given)
        self.targets[computed.epoch] = {
            member: given for member, given in self._target.items() if given
        }

    def _member(self, consumer: str, member_id: str | None) -> str:
        """Return the displayed name of a member: that of the process which it is a member for.

        A process that was started again may run before the coordinator removes the old member, and
        before the new one joins.
        """
        if member_id is None:
            return self._newest.setdefault(consumer, self.name(consumer))
        if member_id not in self._by_id:
            self._by_id[member_id] = self._newest[consumer] = self.name(consumer)
        return self._by_id[member_id]

    def _remove(self, removed: MemberRemoved) -> None:
        """Remove a member's target; of an unknown one, that of the consumer's oldest process."""
        name = self._by_id.get(removed.member_id)
        if name is None:
            mine = [n for n in self._target if n.rpartition(".")[0] == removed.consumer]
            name = min(mine, key=lambda each: int(each.rpartition(".")[2]), default="")
        self._target.pop(name, None)

    def _move(self, moved: MemberMoved) -> None:
        """Add a step, unless its displayed text equals that of the step before."""
        going = tuple(f"-{each}" for each in self._names(moved.revoking))
        step = (f"{moved.epoch} {moved.state}", self._names(moved.assigned) + going)
        steps = self.steps.setdefault(self.name(moved.consumer), [])
        if steps[-1:] != [step]:
            steps.append(step)

    def _names(self, partitions: Iterable[TopicPartition]) -> tuple[str, ...]:
        return tuple(self.shown(partition) for partition in sorted(partitions))
