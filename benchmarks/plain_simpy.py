"""A minimal model of a consumer group, written by hand with SimPy processes.

Polls, processing, heartbeats, sessions, automatic commits, eager rebalances with range assignment,
crashes and restarts: each an event. It has no fetching, no brokers, no offsets log, and a network
of constant latency only. ``benchmarks/exact_mode.py`` compares the emulator with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import simpy

SECOND = 1_000_000

Steps = Iterator[simpy.Event]
Polled = list[tuple[int, int]]
"""Partition and number of records."""


@dataclass
class Settings:
    """The settings of the model; times in microseconds."""

    partitions: int
    members: int
    rate: int
    """Records per second and partition."""

    work: int
    session: int = 45 * SECOND
    heartbeat: int = 3 * SECOND
    commit: int = 5 * SECOND
    latency: int = 500
    max_poll: int = 500
    poll_timeout: int = 100_000


@dataclass
class Group:
    """The coordinator: members, session deadlines, committed offsets, pending joins."""

    env: simpy.Environment
    settings: Settings
    generation: int = 0
    members: dict[str, Consumer] = field(default_factory=dict)
    deadlines: dict[str, int] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    rebalancing: bool = False
    joined: dict[str, simpy.Event] = field(default_factory=dict)
    duplicates: int = 0
    frontier: dict[int, int] = field(default_factory=dict)
    polls: int = 0

    def add(self, member: Consumer) -> None:
        """Add a member; all members must rejoin."""
        self.members[member.name] = member
        self.deadlines[member.name] = self.env.now + self.settings.session
        self.rebalancing = True
        self.env.process(self.session_of(member.name))

    def session_of(self, name: str) -> Steps:
        """Evict a member after its session timeout."""
        while name in self.deadlines:
            left = self.deadlines[name] - self.env.now
            if left <= 0:
                self.remove(name)
                return
            yield self.env.timeout(left)

    def remove(self, name: str) -> None:
        """Remove a member; the others must rejoin."""
        self.members.pop(name, None)
        self.deadlines.pop(name, None)
        self.joined.pop(name, None)
        self.rebalancing = True
        self.complete()

    def heartbeat(self, name: str, generation: int) -> str:
        """Extend a member's session."""
        if name not in self.deadlines:
            return "unknown"
        self.deadlines[name] = self.env.now + self.settings.session
        return "rebalance" if self.rebalancing or generation != self.generation else "ok"

    def commit(self, name: str, generation: int, offsets: dict[int, int]) -> bool:
        """Store offsets of a current member."""
        if name not in self.deadlines or generation != self.generation:
            return False
        self.deadlines[name] = self.env.now + self.settings.session
        self.committed.update(offsets)
        return True

    def join(self, name: str) -> simpy.Event:
        """Wait for all members; the event carries the assignment."""
        waiting = self.joined[name] = self.env.event()
        self.rebalancing = True
        self.deadlines[name] = self.env.now + 300 * SECOND
        self.complete()
        return waiting

    def complete(self) -> None:
        """End the join phase when all members have joined."""
        if not self.rebalancing or not self.members or len(self.joined) < len(self.members):
            return
        self.rebalancing = False
        self.generation += 1
        names = sorted(self.members)
        share, extra = divmod(self.settings.partitions, len(names))
        first = 0
        for index, name in enumerate(names):
            count = share + (index < extra)
            self.deadlines[name] = self.env.now + self.settings.session
            self.joined.pop(name).succeed((self.generation, range(first, first + count)))
            first += count


class Consumer:
    """A member: a process that polls and processes, and one that sends heartbeats."""

    def __init__(self, env: simpy.Environment, group: Group, name: str) -> None:
        self.env = env
        self.group = group
        self.settings = group.settings
        self.name = name
        self.generation = -1
        self.positions: dict[int, int] = {}
        self.rejoin = True
        self.alive = True
        self.commit_due = 0
        self.interval = SECOND // self.settings.rate

    def start(self) -> None:
        """Join the group and start the processes."""
        self.group.add(self)
        self.process = self.env.process(self.run())
        self.env.process(self.beat())

    def crash(self) -> None:
        """End at once, without a commit or a LeaveGroup."""
        self.alive = False
        self.process.interrupt()

    def beat(self) -> Steps:
        """Send heartbeats."""
        while self.alive:
            yield self.env.timeout(self.settings.heartbeat)
            if not self.alive:
                return
            yield self.env.timeout(self.settings.latency)
            verdict = self.group.heartbeat(self.name, self.generation)
            yield self.env.timeout(self.settings.latency)
            if verdict != "ok":
                self.rejoin = True

    def send_commit(self) -> Steps:
        """Commit all positions without waiting for the response."""
        offsets = dict(self.positions)
        generation = self.generation
        yield self.env.timeout(self.settings.latency)
        accepted = self.group.commit(self.name, generation, offsets)
        yield self.env.timeout(self.settings.latency)
        if not accepted:
            self.rejoin = True

    def run(self) -> Steps:
        """Poll and process until the end."""
        try:
            while True:
                if self.rejoin:
                    yield from self.join()
                if self.env.now >= self.commit_due:
                    self.commit_due = self.env.now + self.settings.commit
                    self.env.process(self.send_commit())
                batch = self.poll()
                if not batch:
                    yield self.env.timeout(self.wait())
                    continue
                yield self.env.timeout(sum(count for _, count in batch) * self.settings.work)
                self.finish(batch)
        except simpy.Interrupt:
            return

    def join(self) -> Steps:
        """Revoke all partitions, commit, join, start from the committed offsets."""
        self.rejoin = False
        if self.positions:
            yield from self.send_commit()
            self.rejoin = False
        self.positions = {}
        yield self.env.timeout(self.settings.latency)
        self.generation, partitions = yield self.group.join(self.name)
        yield self.env.timeout(self.settings.latency)
        committed = self.group.committed
        self.positions = {p: committed.get(p, 0) for p in partitions}
        self.commit_due = self.env.now + self.settings.commit

    def begin(self, partition: int) -> int:
        """Return the time of a partition's first record; partitions are staggered."""
        return self.interval * partition // self.settings.partitions

    def available(self, partition: int) -> int:
        """Return the current end offset of a partition."""
        return (self.env.now - self.begin(partition)) // self.interval + 1

    def poll(self) -> Polled:
        """Return the available records, up to the limit of one poll."""
        self.group.polls += 1
        room = self.settings.max_poll
        batch = []
        for partition, position in self.positions.items():
            count = min(self.available(partition) - position, room)
            if count > 0:
                batch.append((partition, count))
                room -= count
        for partition, count in batch:
            self.positions[partition] += count
        return batch

    def wait(self) -> int:
        """Return the time until the next record, at most one poll timeout."""
        now = self.env.now
        nexts = [self.begin(p) + at * self.interval for p, at in self.positions.items()]
        return min([self.settings.poll_timeout, *(max(1, when - now) for when in nexts)])

    def finish(self, batch: Polled) -> None:
        """Count reprocessed records."""
        frontier = self.group.frontier
        for partition, count in batch:
            position = self.positions.get(partition)
            if position is None:
                continue
            reached = frontier.get(partition, 0)
            self.group.duplicates += max(0, min(reached, position) - (position - count))
            frontier[partition] = max(reached, position)


def simulate(settings: Settings, run_for: int, crashes: list[int]) -> Group:
    """Run a group; at each crash one member ends and restarts ten seconds later."""
    env = simpy.Environment()
    group = Group(env, settings)
    consumers = [Consumer(env, group, f"m{i:05}.0") for i in range(settings.members)]
    for consumer in consumers:
        consumer.start()

    def fault(number: int, at: int) -> Steps:
        yield env.timeout(at)
        index = number % len(consumers)
        victim = consumers[index]
        victim.crash()
        yield env.timeout(10 * SECOND)
        name = victim.name.rpartition(".")[0]
        consumers[index] = Consumer(env, group, f"{name}.{number + 1}")
        consumers[index].start()

    for number, at in enumerate(crashes):
        env.process(fault(number, at))
    env.run(until=run_for)
    return group
