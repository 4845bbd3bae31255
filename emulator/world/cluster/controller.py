"""The controller: live brokers, and the leader and in-sync replicas of each partition.

The quorum of KRaft controllers is modelled as one party that is never down. A broker without
heartbeats for ``broker.session.timeout.ms`` is fenced: it is removed from every ISR, and other
replicas become leaders of its partitions. Leaders come from the ISR, in the order of the replicas;
a partition without a live replica in the ISR has no leader, unless
``unclean.leader.election.enable`` is set.

Not modelled: eligible leader replicas (KIP-966), by which a replica that left an ISR below
``min.insync.replicas`` may still be elected cleanly; automatic return of leadership to the
preferred replica (``auto.leader.rebalance.enable``); the back-off of a restarted broker that may
not register before its old session has expired: it registers at that moment.

Source: ``ReplicationControlManager``, ``PartitionChangeBuilder``, ``BrokerHeartbeatManager``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from emulator.events import (
    BrokerFenced,
    BrokerUnfenced,
    IsrChanged,
    LeaderChanged,
    RecordsTruncated,
)
from emulator.world.cluster.brokers import Brokers
from emulator.world.cluster.replicas import NO_BROKER, Peer, Readers, ReplicaSet, Truncation
from emulator.world.draws import sampler, stream_key
from emulator.world.kernel import Rank
from emulator.world.run import Run


class Followers(Protocol):
    """The replication of all partitions, as the controller uses it."""

    def reevaluate(self, cause: int | None) -> None:
        """Determine again which replica fetches from which leader."""

    def hand_over(self, peer: Peer, leader: int, *, clean: bool) -> Truncation | None:
        """Prepare a partition for a new leader; return the topic records that it lacks."""


class Controller:
    """Decides on leaders and in-sync replicas; brokers know after ``metadata_time``."""

    def __init__(self, run: Run, brokers: Brokers, peers: Callable[[], Iterable[Peer]]) -> None:
        """Begin with every broker alive; *peers* yields the partitions, those of topics first."""
        settings = run.broker_settings
        self._run = run
        self._brokers = brokers
        self._replication: Followers
        self._readers: Readers
        self.peers = peers
        self._timeout_us = settings.broker_session_timeout_ms * 1_000
        self._unclean = settings.unclean_leader_election_enable
        self._fenced: set[int] = set()
        self._leaving: set[int] = set()
        """Brokers in a controlled shutdown."""

        self._session_timers: dict[int, int] = {}
        """Brokers without heartbeats, with the number of their current silence."""

        self._silences = 0
        self._stale_metadata: dict[int, tuple[int, ...]] = {}
        """Brokers that have not applied all decisions, with the live brokers that they know."""

        time = run.scenario.cluster.metadata_time
        self._apply_us = {
            broker: sampler(time, stream_key(run.seed, "metadata time", str(broker)))
            for broker in brokers.numbers
        }
        self._applying: dict[int, int] = {}
        """Brokers that have received decisions and not applied them, with the last one's number."""

        self._decisions = 0

    def connect(self, replication: Followers, readers: Readers) -> None:
        """Set the parts that react to its decisions; called once, before the run."""
        self._replication = replication
        self._readers = readers

    # -- queries ---------------------------------------------------------------------------------

    def alive(self, asked: int = NO_BROKER) -> tuple[int, ...]:
        """Return the live brokers in the metadata of the broker that is asked."""
        known = self._stale_metadata.get(asked)
        if known is not None:
            return known
        return tuple(b for b in self._brokers.numbers if b not in self._fenced)

    def in_touch(self, broker: int) -> bool:
        """Return whether a broker runs and has received all decisions."""
        return self._brokers.answers(broker) and broker not in self._stale_metadata

    def may_lead(self, broker: int) -> bool:
        """Return whether a broker is alive and not shutting down."""
        return broker not in self._fenced and broker not in self._leaving

    def has_session(self, broker: int) -> bool:
        """Return whether a broker without heartbeats still counts as alive."""
        return broker in self._session_timers

    # -- sessions --------------------------------------------------------------------------------

    def reevaluate(self, cause: int) -> None:
        """Apply a change of a broker, or of the network between brokers."""
        back = [broker for broker in self._brokers.numbers if self._update_broker(broker, cause)]
        if back:
            self._review(cause)
        self._replication.reevaluate(cause)

    def _update_broker(self, broker: int, cause: int) -> bool:
        """Update whether heartbeats and decisions reach it; return whether it is unfenced."""
        if self._brokers.heartbeats_arrive(broker):
            self._session_timers.pop(broker, None)
        elif broker not in self._session_timers and broker not in self._fenced:
            self._start_session_timeout(broker, cause)
        if not self._brokers.informed(broker):
            self._applying.pop(broker, None)
            self._freeze_metadata(broker)
            return False
        if broker not in self._applying:
            self._inform(broker)
        if broker not in self._fenced:
            return False
        self._publish(cause)
        self._fenced.discard(broker)
        self._run.recorder.write(BrokerUnfenced(broker=broker), cause)
        return True

    def _freeze_metadata(self, broker: int) -> None:
        if self._brokers.up(broker):
            self._stale_metadata.setdefault(broker, self.alive())
        else:
            self._inform(broker)

    def _inform(self, broker: int) -> None:
        """Give a broker with stale metadata the current metadata."""
        if self._stale_metadata.pop(broker, None) is not None:
            for peer in self.peers():
                peer.replicas.inform(broker)

    def _publish(self, cause: int | None) -> None:
        """Let each broker apply the decision that follows after a time of its own.

        An earlier one that it has not applied waits for it. Source: ``MetadataLoader`` and
        ``BrokerMetadataPublisher``, which run in a thread of each broker.
        """
        now = self._run.kernel.now
        self._decisions += 1
        for broker in self._brokers.numbers:
            late_us = self._apply_us[broker](now)
            if late_us and self._brokers.informed(broker):
                self._freeze_metadata(broker)
                self._applying[broker] = self._decisions
                applied = partial(self._on_applied, broker, self._decisions, cause)
                self._run.kernel.at(now + late_us, Rank.BROKER_TIMER, broker, applied)

    def _on_applied(self, broker: int, decision: int, cause: int | None, _: Any) -> None:
        if self._applying.get(broker) == decision:
            del self._applying[broker]
            self._inform(broker)
            self._replication.reevaluate(cause)
            self._readers.plan_again()

    def _start_session_timeout(self, broker: int, cause: int) -> None:
        if broker in self._leaving:
            self._leaving.discard(broker)
            self._fence(broker, cause)
            return
        self._silences += 1
        silence = self._session_timers[broker] = self._silences

        def noticed(_: Any) -> None:
            if self._session_timers.get(broker) == silence:
                del self._session_timers[broker]
                self.reevaluate(self._fence(broker, cause))
                self._readers.plan_again()
                self._brokers.on_session_end(broker)

        when = self._run.kernel.now + self._timeout_us
        self._run.kernel.at(when, Rank.BROKER_TIMER, broker, noticed)

    def _fence(self, broker: int, cause: int) -> int:
        """Fence a broker: move its leadership to other brokers."""
        self._publish(cause)
        self._fenced.add(broker)
        event = self._run.recorder.write(BrokerFenced(broker=broker), cause)
        self._review(event)
        return event

    def resign(self, broker: int, cause: int) -> None:
        """Move the leadership of a broker that is about to stop."""
        self._publish(cause)
        self._leaving.add(broker)
        self._review(cause)
        self._replication.reevaluate(cause)

    def adopt(self, cause: int | None) -> None:
        """Elect live leaders for new partitions."""
        if self._fenced or not self._brokers.sound:
            self._review(cause)
            self._replication.reevaluate(cause)

    # -- leaders and in-sync replicas --------------------------------------------------------------

    def _review(self, cause: int | None) -> None:
        """Remove dead brokers from every ISR; elect a leader where it is gone or can be found."""
        for peer in self.peers():
            replicas = peer.replicas
            left = tuple(b for b in replicas.isr if self.may_lead(b))
            if left and left != replicas.isr:
                self.alter_isr(replicas, left, "gone", cause)
            leader = self._successor(replicas)
            if leader != replicas.leader:
                self._elect(peer, leader, cause)

    def _successor(self, replicas: ReplicaSet) -> int:
        """Return the next leader: the present one if it can lead, else the next in order."""
        alive = [b for b in (replicas.leader, *replicas.brokers) if self.may_lead(b)]
        in_sync = [b for b in alive if b in replicas.isr]
        if in_sync:
            return in_sync[0]
        return next((b for b in alive if b != NO_BROKER and self._unclean), NO_BROKER)

    def _elect(self, peer: Peer, leader: int, cause: int | None) -> None:
        replicas, now = peer.replicas, self._run.kernel.now
        clean = leader == NO_BROKER or leader in replicas.isr
        self._readers.unfold()
        cut = self._replication.hand_over(peer, leader, clean=clean)
        replicas.freeze_beliefs(sorted(self._stale_metadata), now)
        replicas.elect(leader, now, clean=clean)
        changed = LeaderChanged(
            partition=replicas.partition, broker=leader, epoch=replicas.epoch, clean=clean
        )
        event = self._run.recorder.write(changed, cause)
        if cut is not None:
            self._truncated(replicas, cut, event, clean=clean)

    def _truncated(self, replicas: ReplicaSet, cut: Truncation, cause: int, *, clean: bool) -> None:
        """Write that a new leader lacks records."""
        truncated = RecordsTruncated(
            partition=replicas.partition,
            broker=replicas.leader,
            leader_epoch=replicas.epoch,
            first=cut.first,
            next_offset=cut.next_offset,
            incarnation=cut.incarnation,
            clean=clean,
        )
        self._run.recorder.write(truncated, cause)
        self._readers.truncated(replicas.partition, cut.first)

    def move(self, peer: Peer, leader: int, cause: int) -> None:
        """Move the leadership of a partition to another in-sync replica."""
        self._publish(cause)
        self._elect(peer, leader, cause)
        self._replication.reevaluate(cause)

    def alter_isr(
        self, replicas: ReplicaSet, isr: tuple[int, ...], why: str, cause: int | None
    ) -> None:
        """Set the in-sync replicas; *why*: ``gone``, ``lagging`` or ``caught up``."""
        replicas.set_isr(isr, leader_knows=replicas.leader not in self._stale_metadata)
        changed = IsrChanged(partition=replicas.partition, isr=isr, why=why)
        self._run.recorder.write(changed, cause)
