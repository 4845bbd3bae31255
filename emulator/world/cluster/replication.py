"""Replication: which follower fetches from which leader, stalled high watermarks, changes of ISRs.

A follower fetches while it and its leader run and can reach each other, it knows the leader, and
its disk has room. A replica in the ISR that does not fetch holds the high watermark back until the
controller fences it, or its leader removes it from the ISR: every half of
``replica.lag.time.max.ms`` the leader removes those that have not caught up for that long. A
follower that fetches again has caught up after one replication, and is then in sync.

A topic's partition is stalled while its high watermark does not move: it has no leader, or a
replica in sync does not fetch. A partition of the offsets topic is also stalled while no
coordinator serves its groups, or its leader cannot write: then commits are unavailable.

Source: ``ReplicaManager.maybeShrinkIsr``, ``Partition.maybeExpandIsr``,
``Partition.maybeIncrementLeaderHW`` of Kafka 4.4.0.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, TypeVar

from emulator.events import PartitionResumed, PartitionStalled
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.controller import Controller
from emulator.world.cluster.partitions.arrivals import NEVER
from emulator.world.cluster.partitions.partition_log import PartitionLog
from emulator.world.cluster.replicas import NO_BROKER, Peer, Readers, ReplicaSet, Truncation
from emulator.world.cluster.shards import OffsetsTopic, Shard
from emulator.world.cluster.topics import Topics
from emulator.world.draws import draw, stream_key
from emulator.world.kernel import Rank
from emulator.world.network import CONTROLLER, Party, broker_name
from emulator.world.run import Run

T = TypeVar("T")


AGAIN = -1
"""The return of a follower to the ISR failed and is retried."""


class Stop(NamedTuple):
    """A follower that does not fetch, or has not caught up since it fetches again."""

    since_us: int
    until_us: int
    """It has everything appended until then."""

    cause: int | None
    """The event that stopped it."""


class LastLeader(NamedTuple):
    """The leader of a partition before the hand-over, and until when it could append."""

    broker: int
    wrote_until_us: int


class Replication:
    """All followers of all partitions."""

    def __init__(
        self,
        run: Run,
        *,
        brokers: Brokers,
        controller: Controller,
        topics: Topics,
        offsets_topic: OffsetsTopic,
        stalls: Stalls,
        readers: Readers,
    ) -> None:
        settings = run.broker_settings
        self._run = run
        self._brokers = brokers
        self._controller = controller
        self._topics = topics
        self._offsets_topic = offsets_topic
        self._stalls = stalls
        self._readers = readers
        self._lag_us = settings.replica_lag_time_max_ms * 1_000
        self._least = settings.min_insync_replicas
        self._stopped: dict[Peer, dict[int, Stop]] = {}
        """Followers that do not fetch, or are not in sync again."""

        self._back: dict[Peer, dict[int, int]] = {}
        """Followers out of the ISR that fetch, since when; ``AGAIN``: were not taken in."""

        self._led_last: dict[Peer, LastLeader] = {}
        """By partition: its leader before the last hand-over."""

        self._coming: dict[int, list[Peer]] = {}
        """By broker: the partitions whose leader it has just begun to fetch from."""

        self._ticking: set[int] = set()
        """Leaders with a scheduled check of their followers."""

    # -- when something changes ------------------------------------------------------------------

    def reevaluate(self, cause: int | None) -> None:
        """Update which replica fetches from which leader, and the high watermarks."""
        now = self._run.kernel.now
        self._readers.unfold()
        for shard in self._offsets_topic:
            shard.settle(now)
        for shard in self._offsets_topic:
            shard.take_roles(cause)
        for _, log in self._topics.partitions():
            self._update_topic(log, cause, now)
        for shard in self._offsets_topic:
            self._update_shard(shard, cause, now)
        self._stalls.reevaluate(cause)
        self._return_later(cause, now)

    def hand_over(self, peer: Peer, leader: int, *, clean: bool) -> Truncation | None:
        """Prepare a partition for a new leader: it measures the lag of followers from now on.

        Return the records of a topic that it lacks.
        """
        now, before = self._run.kernel.now, peer.replicas.leader
        if before != NO_BROKER:
            self._led_last[peer] = LastLeader(before, self._brokers.wrote_until(before))
        last = self._led_last[peer]
        stopped = self._stopped.setdefault(peer, {})
        cut = None
        if leader != NO_BROKER:
            stop = stopped.pop(leader, None)
            until = self._copied_by(peer, leader, now) if stop is None else stop.until_us
            wrote_until = until if leader == last.broker else last.wrote_until_us
            cut = peer.on_new_leader(until, wrote_until, now, clean=clean)
        for broker, stop in stopped.items():
            stopped[broker] = stop._replace(since_us=now)
        if before != NO_BROKER:
            stopped[before] = Stop(now, last.wrote_until_us, None)
        self._back.pop(peer, None)
        return cut

    def _copied_by(self, peer: Peer, broker: int, now: int) -> int:
        """Return the append time up to which a follower that fetches until now has all records."""
        return peer.copied_by(now, self._brokers.disk_us(broker))

    def _update_topic(self, log: PartitionLog, cause: int | None, now: int) -> None:
        replicas = log.replicas
        leader = replicas.leader
        if self._brokers.sound and replicas.whole and log not in self._stopped:
            log.move(now)
            return
        metadata_us = self._metadata_delay_us(leader, now) if log in self._stopped else 0
        self._update_followers(log, cause, now)
        late = self._late_us(replicas, leader, replicas.isr_of_leader)
        if late == NEVER or self._brokers.disk_is_full(leader) or not replicas.led_by(leader):
            log.stall(now)
        else:
            late += self._brokers.disk_us(leader)
            log.move(now, late, metadata_us)

    def _metadata_delay_us(self, leader: int, now: int) -> int:
        """Return the delay of the metadata that lets a leader's high watermarks advance again.

        Decisions of the controller reach each broker with a fetch of its own (in the
        capture coordinator-kill the second leader continued some 0.07 s after the first).
        """
        wire, receiver = self._run.wire, Party(broker_name(leader), "brokers")
        return wire.delay(Party(CONTROLLER, "brokers"), receiver, now)

    def _update_shard(self, shard: Shard, cause: int | None, now: int) -> None:
        replicas = shard.replicas
        self._update_followers(shard, cause, now)
        for leader, log in sorted(shard.led.items()):
            for broker in replicas.brokers:
                if broker == leader:
                    continue
                if self._fetches(broker, leader, replicas):
                    shard.follow(log, broker, self._brokers.disk_us(broker), cause)
                else:
                    log.leave(broker)
                    if broker not in log.isr:
                        log.expel(broker)
            log.gate(self._late_us(replicas, leader, log.isr))

    def _update_followers(self, peer: Peer, cause: int | None, now: int) -> None:
        """Note which followers have ceased to fetch, and which have begun."""
        replicas, leader = peer.replicas, peer.replicas.leader
        stopped, back = self._stopped.get(peer, {}), self._back.get(peer, {})
        for broker in replicas.brokers:
            if broker == leader:
                continue
            if not self._fetches(broker, leader, replicas):
                back.pop(broker, None)
                if broker not in stopped:
                    until = self._copied_by(peer, broker, now)
                    stopped[broker] = Stop(now, until, cause)
            elif broker in replicas.isr:
                back.pop(broker, None)
                stopped.pop(broker, None)
            elif back.get(broker, AGAIN) == AGAIN:
                back[broker] = now
                self._coming.setdefault(broker, []).append(peer)
        _keep(self._stopped, peer, stopped)
        _keep(self._back, peer, back)
        if leader != NO_BROKER and self._may_lag(peer):
            self._schedule_isr_check(leader, now)

    def _may_lag(self, peer: Peer) -> bool:
        """Return whether some follower in the ISR does not fetch, or only slowly."""
        replicas, stopped = peer.replicas, self._stopped.get(peer, {})
        followers = (broker for broker in replicas.isr if broker != replicas.leader)
        return any(broker in stopped or self._is_slow(peer, broker) for broker in followers)

    def _fetches(self, broker: int, leader: int, replicas: ReplicaSet) -> bool:
        """Return whether a broker fetches from a leader."""
        return (
            leader != NO_BROKER
            and replicas.leader_known_to(broker) == leader
            and self._brokers.reach(broker, leader)
            and not self._brokers.disk_is_full(broker)
        )

    def _late_us(self, replicas: ReplicaSet, leader: int, isr: tuple[int, ...]) -> int:
        """Return how much later than usual a leader's appends are durable; ``NEVER``: they are not.

        The high watermark is stalled while fewer than ``min.insync.replicas`` are in sync, at most
        as many as there are replicas.
        """
        if not self._brokers.answers(leader) or leader == NO_BROKER:
            return NEVER
        if len(isr) < min(self._least, len(replicas.brokers)):
            return NEVER
        followers = [broker for broker in isr if broker != leader]
        if not all(self._fetches(broker, leader, replicas) for broker in followers):
            return NEVER
        return max((self._brokers.disk_us(broker) for broker in followers), default=0)

    # -- the ISR grows ---------------------------------------------------------------------------

    def _return_later(self, cause: int | None, now: int) -> None:
        """Schedule the return of brokers that have begun to fetch: all partitions together."""
        coming, self._coming = self._coming, {}
        for broker, peers in sorted(coming.items()):
            slowest = max(peer.replication_us for peer in peers)
            when = now + slowest + self._brokers.disk_us(broker)
            caught_up = partial(self._return, broker, peers, now, cause)
            self._run.kernel.at(when, Rank.BROKER_TIMER, broker, caught_up)

    def _return(
        self, broker: int, peers: list[Peer], since_us: int, cause: int | None, _: object
    ) -> None:
        still = [p for p in peers if self._back.get(p, {}).get(broker) == since_us]
        late = [peer for peer in still if not self._add_to_isr(peer, broker, cause)]
        if len(late) < len(still):
            self.reevaluate(cause)
            self._readers.plan_again()
        for peer in late:
            self._back[peer][broker] = AGAIN
            self._schedule_isr_check(peer.replicas.leader, self._run.kernel.now)

    def _add_to_isr(self, peer: Peer, broker: int, cause: int | None) -> bool:
        """Return a follower that has caught up to the ISR; return whether it is in the ISR now."""
        replicas, now = peer.replicas, self._run.kernel.now
        until = self._copied_by(peer, broker, now)
        knows = self._controller.in_touch(replicas.leader)
        if not (knows and self._controller.may_lead(broker)):
            return False
        if not peer.caught_up(broker, until, now):
            return False
        isr = tuple(b for b in replicas.brokers if b in replicas.isr or b == broker)
        self._controller.alter_isr(replicas, isr, "caught up", cause)
        return True

    # -- the ISR shrinks -------------------------------------------------------------------------

    def _schedule_isr_check(self, leader: int, now: int) -> None:
        """Schedule a leader's next check of its followers (``isr-expiration``)."""
        if leader in self._ticking:
            return
        self._ticking.add(leader)
        every = self._lag_us // 2 or 1
        when = now + every - (now - self._phase_us(leader, every)) % every
        tick = partial(self._check_isr, leader)
        self._run.kernel.at(when, Rank.BROKER_TIMER, leader, tick)

    def _phase_us(self, leader: int, every: int) -> int:
        """Return an instant of a broker's periodic checks: it counts them from its start."""
        started = self._brokers.started_us.get(leader)
        if started is not None:
            return started
        key = stream_key(self._run.seed, "isr expiration", str(leader))
        return int(draw(key, 0) * every)

    def _check_isr(self, leader: int, _: object) -> None:
        self._ticking.discard(leader)
        if not self._controller.in_touch(leader):
            return
        now = self._run.kernel.now
        led = [peer for peer in self._controller.peers() if peer.replicas.leader == leader]
        peers = [peer for peer in led if self._may_lag(peer) or peer in self._back]
        causes = [cause for peer in peers for cause in self._review_followers(peer, now)]
        if causes:
            self.reevaluate(causes[0])
            self._readers.plan_again()
        elif peers:
            self._schedule_isr_check(leader, now)

    def _review_followers(self, peer: Peer, now: int) -> list[int | None]:
        """Remove lagging followers, add followers that have caught up; return their causes."""
        replicas = peer.replicas
        causes: list[int | None] = []
        for broker in replicas.isr:
            stop = self._stopped.get(peer, {}).get(broker)
            if broker != replicas.leader and self._lags(peer, broker, stop, now):
                isr = tuple(b for b in replicas.isr if b != broker)
                cause = None if stop is None else stop.cause
                self._controller.alter_isr(replicas, isr, "lagging", cause)
                causes.append(cause)
        back = sorted(self._back.get(peer, {}))
        return causes + [None for broker in back if self._add_to_isr(peer, broker, None)]

    def _lags(self, peer: Peer, broker: int, stop: Stop | None, now: int) -> bool:
        if stop is not None:
            long_ago = now - stop.since_us > self._lag_us
            return long_ago and peer.is_behind(broker, stop.until_us, now)
        behind = peer.is_behind(broker, self._copied_by(peer, broker, now), now)
        return behind and self._is_slow(peer, broker)

    def _is_slow(self, peer: Peer, broker: int) -> bool:
        """Return whether a follower's disk alone makes it lag too far behind."""
        late = self._brokers.disk_us(broker)
        return late > 0 and late + peer.replication_us > self._lag_us


def _keep(known: dict[Peer, dict[int, T]], peer: Peer, found: dict[int, T]) -> None:
    """Store the state of a partition's followers; remove it if it is empty."""
    if found:
        known[peer] = found
    else:
        known.pop(peer, None)


class Stalls:
    """Writes when a partition stalls, and when it resumes."""

    def __init__(
        self, run: Run, brokers: Brokers, topics: Topics, offsets_topic: OffsetsTopic
    ) -> None:
        self._run = run
        self._brokers = brokers
        self._topics = topics
        self._offsets_topic = offsets_topic
        self._stalled: set[Peer] = set()

    def reevaluate(self, cause: int | None) -> None:
        """Write which partitions stalled or resumed after a change of brokers or replicas."""
        for _, log in self._topics.partitions():
            self._update(log, cause, stalled=log.is_stalled)
        for shard in self._offsets_topic:
            self._update_shard(shard, cause)

    def update_shard(self, number: int, cause: int | None) -> None:
        """Write whether an offsets partition stalled or resumed with a change of coordinator."""
        self._update_shard(self._offsets_topic.partition(number), cause)

    def _update_shard(self, shard: Shard, cause: int | None) -> None:
        """Write whether one offsets partition stalled or resumed."""
        leader = shard.leader
        log = shard.led.get(leader)
        is_stalled = log is None or log.is_stalled
        full = self._brokers.disk_is_full(leader)
        self._update(shard, cause, stalled=is_stalled or full or not shard.serves(leader))

    def _update(self, peer: Peer, cause: int | None, *, stalled: bool) -> None:
        if stalled is (peer in self._stalled):
            return
        partition, leader = peer.replicas.partition, peer.replicas.leader
        if stalled:
            self._stalled.add(peer)
            what: PartitionStalled | PartitionResumed = PartitionStalled(
                partition=partition, broker=leader
            )
        else:
            self._stalled.discard(peer)
            what = PartitionResumed(partition=partition, broker=leader)
        self._run.recorder.write(what, cause)
