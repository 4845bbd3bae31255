"""All consumers of a run: the running processes, and the number of starts of each consumer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from assignors.types import TopicPartition
from emulator.scenario.deploys import Deploy, changes_settings
from emulator.scenario.model import FailListener
from emulator.world import consumer as consumer_room
from emulator.world.consumer import handling
from emulator.world.consumer.blueprints import (
    Blueprint,
    redeployed,
    resubscribed,
    with_instance_id,
)
from emulator.world.consumer.process import ConsumerContext, Process
from emulator.world.consumer.progress import Owners
from emulator.world.draws import sampler, stream_key
from protocols.consumer.classic.state import punctual
from protocols.values import replace

if TYPE_CHECKING:
    from emulator.world.consumer.blueprints import AnyClient
    from emulator.world.run import Replay

Replica = tuple[str, ...]
"""The members that run in one process: one for each of its threads."""


class Consumers:
    """Starts processes and finds them."""

    def __init__(self, context: ConsumerContext, blueprints: Sequence[Blueprint]) -> None:
        self.context = context
        self._blueprints = {blueprint.name: blueprint for blueprint in blueprints}
        self._incarnations: dict[str, int] = {}
        self._running: dict[str, Process] = {}
        self._processes: dict[str, Process] = {}
        self._owners: dict[str, Owners] = {}
        self._failed_racks: dict[str, dict[str, int | None]] = {}
        """Racks that are down; the consumers that start when a rack is back, each with its cause."""

        self._successors: dict[str, str] = {}
        """By member: the one that was started in its place, under another name."""

        self.spares: set[str] = set()
        """Names that no deploy restarts: of stand-ins for members that are down, and of successors that
        were taken back."""

        self.withdrawn: set[str] = set()
        """Members, by their names in the file, that an autoscaler does not want to run: neither they nor
        their successors are started."""

        self.newest: dict[str, Deploy] = {}
        """By group: the deploy whose settings members have that an autoscaler starts."""

        self.surging: defaultdict[str, set[Replica]] = defaultdict(set)
        """By group: replicas that a deploy has started beside those that they replace."""

        self._created: dict[str, int] = {}
        """When an autoscaler started a member last."""

        self._left: defaultdict[str, set[str]] = defaultdict(set)
        """By group: the topics of processes that have ended. Their records wait, also uncommitted."""

        self.failing: dict[str, FailListener] = context.failing
        """Consumers whose rebalance listeners throw at present."""

        for blueprint in blueprints:
            if blueprint.conditions is not None:
                blueprint.conditions.connect(self._end_of, self._in_work)

    def _end_of(self, partition: TopicPartition) -> int:
        """Return the log end offset of a partition; 0 if there is none."""
        log = self.context.topics.find(partition)
        return 0 if log is None else log.end(self.context.run.kernel.now)

    def _in_work(self, group: str) -> dict[str, int]:
        """Return the number of records that each running member of a group has in work."""
        return {
            name: sum(1 for _ in process.application.records_in_progress())
            for name, process in self._running.items()
            if process.blueprint.group.id == group
        }

    def owners(self, group: str) -> Owners:
        """Return the owners of a group's partitions, and their progress."""
        return self._owners.setdefault(group, Owners())

    def _owners_of(self, consumer: str) -> Owners:
        group = self._blueprints[consumer].group
        if group.deduplication is not None and group.id not in self._owners:
            deliveries = handling.seen_set.Deliveries(group.deduplication)
            self._owners[group.id] = Owners(deliveries)
        return self.owners(group.id)

    def truncated(self, partition: TopicPartition, first: int) -> None:
        """Note for the readers of a partition that its log was truncated at *first*."""
        for owners in self._owners.values():
            owners.truncated(partition, first)

    def unfold(self) -> None:
        """Unfold every running process before a change that affects all."""
        for process in self.everyone():
            process.unfold()

    def plan_again(self) -> None:
        """Compute again when fetches in flight are answered: a condition has changed."""
        self.unfold()
        self.context.fetches.plan_again()

    def overtaken(self) -> bool:
        """Return whether retention has removed records that a fetch requests or will request."""
        running = self.everyone()
        return any(p.is_overtaken() for p in running) or self.context.fetches.overtaken()

    def disconnect(self, broker: int) -> list[Process]:
        """Drop the fetches to a broker that died; return the processes that were connected."""
        names = self.context.fetches.disconnect(broker)
        return [self._processes[name] for name in names if name in self._processes]

    def topics(self, group: str) -> set[str]:
        """Return the topics that members of a group subscribe to, or did when they ended."""
        members = [p for p in self._running.values() if p.blueprint.group.id == group]
        existing = self.context.topics.logs
        return self._left[group].union(*(_topics_of(each.client, existing) for each in members))

    def start(
        self, consumer: str, cause: int | None, deploy: Deploy | None = None
    ) -> Process | None:
        """Start a consumer that does not run; return the new process.

        *deploy*: the act that starts it; changed settings apply from now on.
        """
        if consumer in self._running or self.is_withdrawn(consumer):
            return None
        if deploy is not None and changes_settings(deploy):
            self._blueprints[consumer] = redeployed(self._blueprints[consumer], deploy)
        waiting = self._failed_racks.get(self._blueprints[consumer].settings.client_rack)
        if waiting is not None:
            waiting[consumer] = cause
            return None
        number = self._incarnations.get(consumer, 0) + 1
        self._incarnations[consumer] = number
        process = Process(
            _with_replayed_lateness(
                self._blueprints[consumer], f"{consumer}.{number}", self.context.run.replay
            ),
            number,
            self.context,
            self._owners_of(consumer),
            self._ended,
        )
        self._running[consumer] = process
        self._processes[process.name] = process
        self.context.router.connect(process)
        process.start(cause)
        return process

    def create(self, consumer: str, cause: int) -> None:
        """Start a consumer for an autoscaler, with the settings of the last deploy of its group."""
        self._created[consumer] = self.context.run.kernel.now
        self.start(consumer, cause, self.newest.get(self._blueprints[consumer].group.id))

    def is_created_since(self, consumer: str, at_us: int) -> bool:
        """Return whether an autoscaler has started a consumer since an instant."""
        return self._created.get(consumer, -1) >= at_us

    def is_withdrawn(self, consumer: str) -> bool:
        """Return whether an autoscaler does not want a member, or the one that it replaced, to run."""
        if not self.withdrawn:
            return False
        return _written_name(self._blueprints[consumer]) in self.withdrawn

    def surplus(self, group: str) -> int:
        """Return the number of replicas that a deploy has added to those that are wanted."""
        return sum(not self.is_withdrawn(replica[0]) for replica in self.surging[group])

    def subscribe(self, consumer: str, topics: tuple[str, ...], cause: int) -> None:
        """Subscribe a consumer to other topics, from its next poll on and after later starts."""
        self._blueprints[consumer] = resubscribed(self._blueprints[consumer], topics)
        process = self._running.get(consumer)
        if process is not None:
            process.ask("subscribe", partial(self._call_subscribe, process, topics), cause)

    def _call_subscribe(self, process: Process, topics: tuple[str, ...]) -> None:
        """Call subscribe() with other topics, as an application does between two polls."""
        self.context.events.subscribed(process, topics)
        process.carry_out(process.client.subscribe(self.context.run.kernel.now, topics))

    def add_copy(
        self, consumer: str, *, own_id: bool = False, like: Blueprint | None = None
    ) -> str:
        """Add a copy of a consumer's blueprint under the name of its successor; return the name.

        *own_id*: a static member gets an instance id of its own. *like*: copied instead.
        """
        name = successor_name(consumer)
        copy = self._blueprints[consumer] if like is None else like
        if own_id and copy.settings.group_instance_id is not None:
            base = _written_name(copy)
            copy = with_instance_id(copy, f"{base}.{len(name) - len(base) + 1}")
        self._successors[consumer] = name
        self.spares.discard(name)
        self._add(copy, name)
        return name

    def keep(self, consumer: str) -> None:
        """Take the successor of a member back: it has ended, and the member still runs."""
        self.spares.add(self._successors.pop(consumer))

    def add_stand_in(self, consumer: str) -> str:
        """Add a copy of a consumer's blueprint that runs in its place; return its name."""
        name = f"{consumer}*"
        self.spares.add(name)
        self._add(self._blueprints[consumer], name)
        return name

    def _add(self, copy: Blueprint, name: str) -> None:
        known = self._blueprints.get(name)
        index = len(self._blueprints) if known is None else known.index
        self._blueprints[name] = replace(copy, name=name, index=index)

    def names(self) -> list[str]:
        """Return all consumers by index: also those that deploys have added."""
        return list(self._blueprints)

    def blueprint(self, consumer: str) -> Blueprint:
        """Return what the next process of a consumer is started from."""
        return self._blueprints[consumer]

    def restore(self, earlier: list[Blueprint]) -> None:
        """Let the next starts of consumers use earlier blueprints."""
        for blueprint in earlier:
            self._blueprints[blueprint.name] = blueprint

    def fail_rack(self, rack: str) -> list[Process]:
        """Let no consumer of a rack start until it is back; return those that run there."""
        self._failed_racks.setdefault(rack, {})
        return [p for p in self.everyone() if p.blueprint.settings.client_rack == rack]

    def restore_rack(self, rack: str) -> None:
        """Start the consumers that acts or autoscalers wanted to start in a rack that was down."""
        for consumer, cause in self._failed_racks.pop(rack, {}).items():
            self.start(consumer, cause)

    def waits_for_rack(self, consumer: str) -> bool:
        """Return whether a consumer was started in a rack that is down."""
        return any(consumer in waiting for waiting in self._failed_racks.values())

    def running(self, consumer: str) -> Process | None:
        """Return the process of a consumer, None if it does not run."""
        return self._running.get(consumer)

    def _ended(self, process: Process, event: int) -> None:
        """Forget a process that has ended."""
        consumer = process.blueprint.name
        self._running.pop(consumer, None)
        self._processes.pop(process.name, None)
        self.context.router.disconnect(process)
        self.context.fetches.forget(process)
        self.context.run.causes.disturbed[consumer] = event
        read = _topics_of_ended(process.client, self.context.topics.logs)
        self._left[process.blueprint.group.id].update(read)

    def everyone(self) -> list[Process]:
        """Return every running process, in the order of the scenario."""
        return sorted(self._running.values(), key=lambda process: process.blueprint.index)

    def threads(self, group: str) -> int:
        """Return the number of members in each process of a group."""
        return next(b.group.threads for b in self._blueprints.values() if b.group.id == group)

    def replica_of(self, consumer: str) -> Replica:
        """Return the members that run in the process of a member, itself (or its successor) among them."""
        blueprint = self._blueprints[consumer]
        threads = blueprint.group.threads
        if threads == 1:
            return (self.at_present(consumer),)
        names = [member.name for member in blueprint.group.members]
        begin = names.index(_written_name(blueprint)) // threads * threads
        return tuple(map(self.at_present, names[begin : begin + threads]))

    def at_present(self, consumer: str) -> str:
        """Return the name under which a member runs: that of its last successor if it was replaced."""
        while consumer not in self._running and consumer in self._successors:
            consumer = self._successors[consumer]
        return consumer

    def in_place_of(self, consumer: str) -> list[str]:
        """Return those of a member and its successors that run."""
        line = [consumer]
        while line[-1] in self._successors:
            line.append(self._successors[line[-1]])
        return [name for name in line if name in self._running]

    def is_replaced(self, consumer: str) -> bool:
        """Return whether a member has a successor under another name."""
        return consumer in self._successors

    def start_again(self, consumer: str, cause: int) -> None:
        """Start a member that was stopped, unless a successor runs in its place by now."""
        if self.at_present(consumer) not in self._running:
            self.start(consumer, cause)

    def of_group(self, group: str) -> list[str]:
        """Return the consumers of a group, in the order of the scenario."""
        return [b.name for b in self._blueprints.values() if b.group.id == group]


def successor_name(consumer: str) -> str:
    """Return the name under which the process runs that is started in the place of a member."""
    return f"{consumer}+"


def _written_name(blueprint: Blueprint) -> str:
    """Return the name of a member in the scenario file; a successor runs under another one."""
    return blueprint.as_written[1].name


def _topics_of(client: AnyClient, existing: Iterable[str]) -> Iterable[str]:
    """Return the topics that a client reads; for a pattern matched by brokers, the existing ones."""
    if client.consumer.settings.group_protocol == "consumer":
        matched = consumer_room.async_client.matched_by_brokers(client, existing)  # type: ignore[arg-type]  # its own
        if matched is not None:
            return matched
    return client.state.subscribed or ()


def _topics_of_ended(client: AnyClient, existing: Iterable[str]) -> Iterable[str]:
    """Return the topics that a client asked for; close() may have dropped its subscription."""
    consumer = client.consumer
    if consumer.matches is not None:
        return filter(consumer.matches, existing)
    return _topics_of(client, existing) if consumer.topics is None else consumer.topics


def _with_replayed_lateness(old: Blueprint, process: str, replay: Replay) -> Blueprint:
    """Return the blueprint of a process with the lateness that a replay has for it."""
    polls, known = replay.poll_lateness, replay.heartbeat_late_us
    if replay.background_lateness is not None and old.settings.group_protocol == "consumer":
        key = stream_key(old.seed, "lateness", old.member.name)
        old = replace(old, lateness_us=sampler(replay.background_lateness, key))
    if polls is not None and not old.profile.takes_late_joins:
        late = sampler(polls, stream_key(old.seed, "lateness of polls", old.member.name))
        old = replace(old, heartbeat_late_us=old.lateness_us, lateness_us=late)
    if known is None:
        return old
    usual = old.heartbeat_late_us or old.lateness_us or punctual

    def beat_late(due_us: int) -> int:
        late_us = known(process, due_us)
        return usual(due_us) if late_us is None else late_us

    return replace(old, heartbeat_late_us=beat_late)
