"""Faults and acts: each one a short script in virtual time, begun when its moment comes.

A script aimed at a step of the protocol begins inside that step: "when the batch is done" is
after its last record and before anything that would follow. A fault that chooses a message
begins, and is over, when that message is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import simpy

from emulator import events
from emulator.scenario import model
from emulator.scenario.parties import (
    ADMIN,
    BROKERS,
    CLIENTS,
    CONTROLLER,
    COORDINATOR_OF,
    broker_number,
)
from emulator.world.draws import draw, stream_key
from emulator.world.faults.chosen import Chosen, Interference
from emulator.world.faults.on_brokers import broker_scripts
from emulator.world.faults.on_members import member_scripts
from emulator.world.faults.on_offsets import offset_scripts
from emulator.world.faults.targets import broker_of, in_order, target_of, why_ineffective
from emulator.world.kernel import Script, wait
from emulator.world.network import broker_name
from emulator.world.triggers import why_not_reached

if TYPE_CHECKING:
    from emulator.world.consumer.process import Process
    from emulator.world.run import Run


class Faults:
    """Plays the faults and acts of a scenario."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._env = run.kernel.env
        self._faults = run.scenario.fault
        self._signals: dict[tuple[str, str], simpy.Event] = {
            (fault.id, phase): self._env.event()
            for fault in self._faults
            for phase in ("begins", "ends")
        }
        self._scripts: dict[type, Callable[[Any, int], Script]] = {
            model.Crash: self._crash,
            model.Close: self._close,
            model.Start: self._start,
            model.Pause: self._pause,
            model.Hang: self._hang,
            model.Cut: self._cut,
            model.AddPartitions: self._add_partitions,
            model.CreateTopic: self._create_topic,
            model.DeleteTopic: self._delete_topic,
            model.RollingRestart: self._rolling_restart,
            **member_scripts(run),
            **broker_scripts(run),
            **offset_scripts(run),
        }
        self._chosen: dict[str, Chosen] = {}
        """Messages that faults have chosen, by the fault's id."""

        self._idle: dict[str, str] = {}
        """Why a fault had nothing to do, by its id."""

    def begin(self) -> None:
        """Let every fault wait for its moment."""
        for fault in self._faults:
            when = fault.when
            if isinstance(when, model.Step) and not fault.delay:
                self._run.triggers.wait(when, partial(self._inside, fault))
            else:
                self._run.kernel.process(self._play_when_due(fault))

    # -- moments ---------------------------------------------------------------------------------

    def _play_when_due(self, fault: model.Fault) -> Script:
        yield from self._moment(fault)
        if fault.delay:
            yield self._env.timeout(fault.delay)
        yield from self._play(fault)

    def _moment(self, fault: model.Fault) -> Script:
        match fault.when:
            case model.After(fault=other, phase=phase):
                yield self._signals[other, phase]
            case model.Step() as step:
                reached = self._env.event()
                self._run.triggers.wait(step, reached.succeed)
                yield reached
            case None:
                yield self._env.timeout(self._instant(fault))

    def _instant(self, fault: model.Fault) -> int:
        if fault.between is None:
            assert fault.at is not None, "a fault has a time"
            return fault.at
        low, high = fault.between
        key = stream_key(self._run.seed, "fault", fault.id)
        return low + int(draw(key, 0) * (high - low))

    def _inside(self, fault: model.Fault) -> None:
        """Play up to the first wait right now, and the rest in its time."""
        script = self._play(fault)
        first = next(script, None)

        def rest() -> Script:
            assert first is not None
            yield first
            yield from script

        if first is not None:
            self._run.kernel.process(rest())

    def _play(self, fault: model.Fault) -> Script:
        if isinstance(fault, model.LoseMessage | model.DelayMessage):
            self._choose(fault)
            return
        idle = why_ineffective(fault, self._run)
        if idle:
            self._idle[fault.id] = idle
            return
        began = self._begins(fault)
        yield from self._scripts[type(fault)](fault, began)
        self._ends(fault, began)

    def _begins(self, fault: model.Fault) -> int:
        began = self._began(fault.id, fault.verb, target_of(fault), None)
        self._signals[fault.id, "begins"].succeed()
        return began

    def _ends(self, fault: model.Fault, began: int) -> None:
        ended = events.FaultEnded(fault=fault.id, verb=fault.verb, target=target_of(fault))
        self._run.recorder.write(ended, began)
        self._signals[fault.id, "ends"].succeed()

    def _began(self, name: str, verb: str, target: str, cause: int | None) -> int:
        began = events.FaultBegan(fault=name, verb=verb, target=target)
        return self._run.recorder.write(began, cause)

    def write_missed(self) -> None:
        """Write, at the end of a run, which faults and acts never took effect, and why."""
        consumers = self._run.consumers
        for fault in self._faults:
            if not self._signals[fault.id, "begins"].triggered:
                chosen = self._chosen.get(fault.id)
                missed = events.FaultMissed(
                    fault=fault.id,
                    verb=fault.verb,
                    target=target_of(fault),
                    why=self._idle.get(fault.id)
                    or str(chosen or why_not_reached(fault.when, consumers)),
                )
                self._run.recorder.write(missed)

    def _choose(self, fault: model.LoseMessage | model.DelayMessage) -> None:
        """Wait for a message: with it the fault begins and is over, there and then."""

        def interference(now: int) -> Interference:
            began = self._begins(fault)
            self._run.causes.disturbed[fault.message.member] = began
            self._ends(fault, began)
            if isinstance(fault, model.LoseMessage):
                return Interference(began, loses=True)
            late = max(0, (fault.until or 0) - now) if fault.by is None else fault.by
            return Interference(began, late_us=late)

        self._chosen[fault.id] = chosen = Chosen(fault.message, interference)
        self._run.router.choose(chosen)

    # -- consumers -------------------------------------------------------------------------------

    def _running(self, consumer: str, cause: int) -> Process | None:
        self._run.causes.disturbed[consumer] = cause
        return self._run.consumers.running(consumer)

    def _crash(self, fault: model.Crash, began: int) -> Script:
        process = self._running(fault.member, began)
        if process is not None:
            process.stop("crashed", began)
        if fault.restart_after is not None:
            yield from wait(self._env, fault.restart_after)
            self._run.consumers.start(fault.member, began)

    def _close(self, fault: model.Close, began: int) -> Script:
        yield from self._stop_member(
            fault.member, began, mid_batch=fault.mid_batch, grace=fault.grace
        )
        if fault.restart_after is not None:
            yield from wait(self._env, fault.restart_after)
            self._run.consumers.start(fault.member, began)

    def _stop_member(
        self, consumer: str, cause: int, *, mid_batch: bool, grace: int | None
    ) -> Script:
        """Close a member and wait for its end; kill it when its grace is over.

        Without any grace it is killed at once, before it could begin to close.
        """
        process = self._running(consumer, cause)
        if process is None:
            return
        if grace == 0:
            process.stop("killed", cause)
            return
        process.leave(mid_batch=mid_batch)
        if not process.alive:
            return
        if grace is None:
            yield process.ended
            return
        yield process.ended | self._env.timeout(grace)
        if process.alive:
            process.stop("killed", cause)

    def _start(self, fault: model.Start, began: int) -> Script:
        self._run.consumers.start(fault.member, began, fault)
        yield from ()

    def _pause(self, fault: model.Pause, began: int) -> Script:
        process = self._running(fault.member, began)
        if process is None or process.paused:
            return
        process.pause(began)
        yield self._env.timeout(fault.lasting)
        if process.alive:
            process.resume(began)

    def _hang(self, fault: model.Hang, began: int) -> Script:
        process = self._running(fault.member, began)
        if process is not None:
            process.application.hang(fault.lasting)
        yield self._env.timeout(fault.lasting)

    def _rolling_restart(self, fault: model.RollingRestart, began: int) -> Script:
        successor = ""
        for index, consumer in enumerate(in_order(fault, self._run)):
            if index:
                yield from wait(self._env, fault.gap)
                if fault.stop_at_failure and self._run.consumers.running(successor) is None:
                    return
            name = f"{fault.id}/{consumer}"
            restart = self._began(name, "restart", consumer, began)
            successor = consumer
            if fault.surge:
                successor = self._run.consumers.add_surge_copy(consumer)
                self._run.consumers.start(successor, restart, fault)
                yield from wait(self._env, fault.down_time)
            yield from self._stop_member(
                consumer, restart, mid_batch=fault.mid_batch, grace=fault.grace
            )
            if not fault.surge:
                yield from wait(self._env, fault.down_time)
                self._run.consumers.start(successor, restart, fault)

    # -- the network -----------------------------------------------------------------------------

    def _cut(self, fault: model.Cut, began: int) -> Script:
        one, other = (self._names(party, began) for party in fault.parties)
        if all(_is_of_cluster(party) for party in fault.parties):
            self._run.causes.brokers = began
        wire = self._run.wire
        cuts = [wire.cut(one, other)]
        if not fault.one_way:
            cuts.append(wire.cut(other, one))
        self._run.brokers.on_network_change(began)
        yield self._env.timeout(fault.lasting)
        for cut in cuts:
            wire.heal(cut)
        self._run.brokers.on_network_change(began)

    def _names(self, party: str, began: int) -> list[str]:
        """Return the names a party of a cut stands for; consumers among them are disturbed."""
        run = self._run
        if party == BROKERS:
            return [broker_name(number) for number in run.brokers.numbers]
        if party == CONTROLLER:
            return [party]
        if _is_of_cluster(party):
            return [broker_name(broker_of(party, run))]
        everyone = [b for group in run.scenario.group for b in run.consumers.of_group(group.id)]
        names = [*everyone, ADMIN] if party == CLIENTS else [party]
        for name in names:
            run.causes.disturbed[name] = began
        return names

    # -- topics ----------------------------------------------------------------------------------

    def _add_partitions(self, fault: model.AddPartitions, began: int) -> Script:
        run = self._run
        log = run.topics.logs.get(fault.topic)
        if log is not None:
            run.topics.add_partitions(log, fault.to, run.kernel.now)
            added = events.PartitionsAdded(
                topic=fault.topic, topic_id=log.topic_id, partitions=fault.to
            )
            event = run.causes.topics = run.recorder.write(added, began)
            run.controller.adopt(event)
            run.topics_changed()
        yield from ()

    def _create_topic(self, fault: model.CreateTopic, began: int) -> Script:
        if fault.topic not in self._run.topics.logs:
            self._run.create_topic(fault.topic, began)
        yield from ()

    def _delete_topic(self, fault: model.DeleteTopic, began: int) -> Script:
        run = self._run
        if fault.topic in run.topics.logs:
            log = run.topics.delete(fault.topic)
            deleted = events.TopicDeleted(topic=fault.topic, topic_id=log.topic_id)
            run.causes.topics = run.recorder.write(deleted, began)
            run.topics_changed()
            for shard in run.shards:
                shard.topic_deleted(fault.topic, log.topic_id)
        yield from ()


def _is_of_cluster(party: str) -> bool:
    """Say whether a party of a cut is a broker, all of them, or the controller."""
    known = party in (BROKERS, CONTROLLER) or party.startswith(COORDINATOR_OF)
    return known or broker_number(party) is not None
