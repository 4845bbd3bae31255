"""Faults and acts: each is a short script in virtual time that begins at its time or trigger.

A script aimed at a step of the protocol begins inside that step: "when the batch is done" is
after its last record and before anything that would follow. A fault that chooses a message
begins, and is over, when that message is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import simpy

from emulator import events
from emulator.scenario import model
from emulator.scenario.resolution import (
    ADMIN,
    BROKERS,
    CLIENTS,
    CONTROLLER,
    COORDINATOR_OF,
    broker_number,
)
from emulator.world import faults
from emulator.world.draws import draw, stream_key
from emulator.world.faults.scripts import broker_scripts, member_scripts
from emulator.world.faults.targets import broker_of, target_of, why_ineffective, why_not_reached
from emulator.world.kernel import BEFORE_ALL, Script
from emulator.world.network import broker_name
from emulator.world.triggers import Chosen, Interference
from emulator.world.world import World

_ON_OFFSETS = (model.DeleteOffsets, model.ResetOffsets, model.DeleteGroup)
_ON_STORES = (model.SlowStore, model.StopStore, model.RestoreStore)


class Faults:
    """Plays the faults and acts of a scenario."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._run = world.run
        self._env = world.run.kernel.env
        self._faults = world.run.scenario.fault
        self._signals: dict[tuple[str, str], simpy.Event] = {
            (fault.id, phase): self._env.event()
            for fault in self._faults
            for phase in ("begins", "ends")
        }
        self._scripts: dict[type, Callable[[Any, int], Script]] = {
            model.Cut: self._cut,
            model.AddPartitions: self._add_partitions,
            model.CreateTopic: self._create_topic,
            model.DeleteTopic: self._delete_topic,
            **member_scripts(world),
            **broker_scripts(world),
        }
        if any(isinstance(fault, _ON_OFFSETS) for fault in self._faults):
            self._scripts |= faults.on_offsets.offset_scripts(world)
        if any(isinstance(fault, _ON_STORES) for fault in self._faults):
            self._scripts |= faults.on_stores.store_scripts(self._run)
        self._chosen: dict[str, Chosen] = {}
        """Messages that faults affect, by the fault's id."""

        self._idle: dict[str, str] = {}
        """Why a fault had no effect, by its id."""

    def begin(self) -> None:
        """Schedule every fault for its time or trigger."""
        for fault in self._faults:
            when = fault.when
            if isinstance(when, model.Step) and not fault.delay:
                self._wait(when, partial(self._inside, fault))
            else:
                self._run.kernel.process(self._play_when_due(fault))

    # -- times and triggers ------------------------------------------------------------------------

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
                self._wait(step, reached.succeed)
                yield reached
            case None:
                yield self._env.timeout(self._instant(fault))

    def _wait(self, step: model.Step, action: Callable[[], object]) -> None:
        """Wait for a step from the time on at which it counts: before, polls are arithmetic.

        A batch is played record by record only if a fault waits for its records when it begins.
        """
        if step.after <= self._run.kernel.now or step.step == "record done":
            self._run.triggers.wait(step, action)
            return

        def begin(_: object) -> None:
            self._world.consumers.unfold()
            self._run.triggers.wait(step, action)

        self._run.kernel.push(step.after, BEFORE_ALL, begin)

    def _instant(self, fault: model.Fault) -> int:
        if fault.between is None:
            assert fault.at is not None, "a fault has a time"
            return fault.at
        low, high = fault.between
        key = stream_key(self._run.seed, "fault", fault.id)
        return low + int(draw(key, 0) * (high - low))

    def _inside(self, fault: model.Fault) -> None:
        """Play the script up to its first wait at once, and the rest later."""
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
        idle = why_ineffective(fault, self._world)
        if idle:
            self._idle[fault.id] = idle
            return
        began = self._begins(fault)
        yield from self._scripts[type(fault)](fault, began)
        self._ends(fault, began)

    def _begins(self, fault: model.Fault) -> int:
        began = self._began(fault.id, fault.verb, target_of(fault, self._run.scenario), None)
        self._signals[fault.id, "begins"].succeed()
        return began

    def _ends(self, fault: model.Fault, began: int) -> None:
        ended = events.FaultEnded(
            fault=fault.id, verb=fault.verb, target=target_of(fault, self._run.scenario)
        )
        self._run.recorder.write(ended, began)
        self._signals[fault.id, "ends"].succeed()

    def _began(self, name: str, verb: str, target: str, cause: int | None) -> int:
        began = events.FaultBegan(fault=name, verb=verb, target=target)
        return self._run.recorder.write(began, cause)

    def write_missed(self) -> None:
        """Write, at the end of a run, which faults and acts never took effect, and why."""
        consumers = self._world.consumers
        for fault in self._faults:
            if not self._signals[fault.id, "begins"].triggered:
                chosen = self._chosen.get(fault.id)
                missed = events.FaultMissed(
                    fault=fault.id,
                    verb=fault.verb,
                    target=target_of(fault, self._run.scenario),
                    why=self._idle.get(fault.id)
                    or str(chosen or why_not_reached(fault.when, consumers)),
                    needless=fault.id in self._idle and isinstance(fault, model.Start),
                )
                self._run.recorder.write(missed)

    def _choose(self, fault: model.LoseMessage | model.DelayMessage) -> None:
        """Wait for a message; the fault begins and ends when it is sent."""

        def interference(now: int) -> Interference:
            began = self._begins(fault)
            self._run.causes.disturbed[fault.message.member] = began
            self._ends(fault, began)
            if isinstance(fault, model.LoseMessage):
                return Interference(began, loses=True)
            late = max(0, (fault.until or 0) - now) if fault.by is None else fault.by
            return Interference(began, late_us=late)

        self._chosen[fault.id] = chosen = Chosen(fault.message, interference)
        self._world.router.choose(chosen)

    # -- the network -----------------------------------------------------------------------------

    def _cut(self, fault: model.Cut, began: int) -> Script:
        one, other = (self._names(party, began) for party in fault.parties)
        if all(_is_of_cluster(party) for party in fault.parties):
            self._run.causes.brokers = began
        wire = self._run.wire
        cuts = [wire.cut(one, other)]
        if not fault.one_way:
            cuts.append(wire.cut(other, one))
        self._world.brokers.on_network_change(began)
        yield self._env.timeout(fault.lasting)
        for cut in cuts:
            wire.heal(cut)
        self._world.brokers.on_network_change(began)

    def _names(self, party: str, began: int) -> list[str]:
        """Return the parties of one side of a cut; note the cut as the last fault on its consumers."""
        run, world = self._run, self._world
        if party == BROKERS:
            return [broker_name(number) for number in world.brokers.numbers]
        if party == CONTROLLER:
            return [party]
        if _is_of_cluster(party):
            return [broker_name(broker_of(party, world))]
        everyone = [b for group in run.scenario.group for b in world.consumers.of_group(group.id)]
        names = [*everyone, ADMIN] if party == CLIENTS else [party]
        for name in names:
            run.causes.disturbed[name] = began
        return names

    # -- topics ----------------------------------------------------------------------------------

    def _add_partitions(self, fault: model.AddPartitions, began: int) -> Script:
        run, world = self._run, self._world
        log = world.topics.logs.get(fault.topic)
        if log is not None:
            world.topics.add_partitions(log, fault.to, run.kernel.now)
            added = events.PartitionsAdded(
                topic=fault.topic, topic_id=log.topic_id, partitions=fault.to
            )
            event = run.causes.topics = run.recorder.write(added, began)
            world.controller.adopt(event)
            world.on_topics_changed()
        yield from ()

    def _create_topic(self, fault: model.CreateTopic, began: int) -> Script:
        if fault.topic not in self._world.topics.logs:
            self._world.create_topic(fault.topic, began)
        yield from ()

    def _delete_topic(self, fault: model.DeleteTopic, began: int) -> Script:
        run, world = self._run, self._world
        if fault.topic in world.topics.logs:
            log = world.topics.delete(fault.topic)
            deleted = events.TopicDeleted(topic=fault.topic, topic_id=log.topic_id)
            run.causes.topics = run.recorder.write(deleted, began)
            world.on_topics_changed()
            for shard in world.offsets_topic:
                shard.topic_deleted(fault.topic, log.topic_id)
        yield from ()


def _is_of_cluster(party: str) -> bool:
    """Return whether a party of a cut is a broker, all of them, or the controller."""
    known = party in (BROKERS, CONTROLLER) or party.startswith(COORDINATOR_OF)
    return known or broker_number(party) is not None
