"""Play the tracks of a plan: each fault and act at its time, one step after the other."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from emulator.capturing.clock import now_us
from emulator.capturing.cluster import Cluster
from emulator.capturing.members import Members
from emulator.capturing.plan import COORDINATOR, ON_BROKERS, Do, Step, Track, Wait
from emulator.world.draws import draw, stream_key

SIGNALS = {
    "sigterm": signal.SIGTERM,
    "sigkill": signal.SIGKILL,
    "sigstop": signal.SIGSTOP,
    "sigcont": signal.SIGCONT,
}
ON_NODES = {"stop": signal.SIGSTOP, "cont": signal.SIGCONT, "shutdown": signal.SIGTERM}


@dataclass(slots=True, kw_only=True)
class Player:
    """Plays tracks; call :meth:`turn` every few milliseconds until :attr:`done`."""

    members: Members
    cluster: Cluster
    find_coordinator: Callable[[], int]
    """Returns the broker that coordinates the group now."""

    on_topic: Callable[[Do], None]
    """Does an action on a topic."""

    start_us: int
    seed: int
    actions: list[dict[str, Any]] = field(default_factory=list)
    """What was done, as ``meta.json`` has it."""

    _moments: dict[tuple[str, str], int] = field(default_factory=dict)
    _running: list[Iterator[None]] = field(default_factory=list)
    _brokers: dict[str, int] = field(default_factory=dict)
    """The broker that each track last acted on as the coordinator's."""

    def add(self, track: Track) -> None:
        """Play a track."""
        self._running.append(self._play(track))

    @property
    def done(self) -> bool:
        """Whether all tracks have ended."""
        return not self._running

    def turn(self) -> None:
        """Continue every track until it has to wait."""
        self._running = [track for track in self._running if next(track, "ended") is None]

    def _play(self, track: Track) -> Iterator[None]:
        yield from self._until(track)
        self._moments[track.id, "begins"] = now_us()
        for step in track.steps:
            yield from self._step(track, step)
        self._moments[track.id, "ends"] = now_us()

    def _until(self, track: Track) -> Iterator[None]:
        if track.after is None:
            at_us = self.start_us + moment_us(track, self.seed)
        else:
            while track.after not in self._moments:
                yield
            at_us = self._moments[track.after]
        while now_us() < at_us + track.delay_us:
            yield

    def _step(self, track: Track, step: Step) -> Iterator[None]:
        begun = now_us()
        if isinstance(step, Do):
            self._do(track, step)
            return
        if isinstance(step, Wait):
            while now_us() < begun + step.us:
                yield
            return
        latest = self.members.latest(step.member)
        while latest is not None and latest.runs:
            if step.grace_us is not None and now_us() > begun + step.grace_us:
                self._do(track, Do(action="sigkill", target=step.member))
                step = replace(step, grace_us=None)
            yield
        self._record("waitexit", member=step.member)

    def _do(self, track: Track, step: Do) -> None:
        if step.action in ON_BROKERS:
            self._on_broker(track, step)
        elif step.action in SIGNALS:
            self._record(step.action, member=step.target)
            self.members.signal(step.target, SIGNALS[step.action])
        elif step.action == "hang":
            self._record("hang", member=step.target)
            self.members.hang(step.target, step.value)
        elif step.action == "start":
            self._start(step)
        else:
            self._record(step.action, topic=step.target)
            self.on_topic(step)

    def _start(self, step: Do) -> None:
        """Start a member; like the emulator, leave one alone that another act has started by now."""
        latest = self.members.latest(step.target)
        if latest is None or not latest.runs:
            self._record("start", member=step.target)
            self.members.start(step.target, step.settings, step.unset)

    def _on_broker(self, track: Track, step: Do) -> None:
        number = self._broker(track, step)
        whose = COORDINATOR if step.target == COORDINATOR else "broker"
        self._record(f"{step.action}{whose}", broker=number)
        if step.action == "kill":
            self.cluster.kill(number)
        elif step.action == "restart":
            self.cluster.start(number)
        else:
            self.cluster.signal(number, ON_NODES[step.action])

    def _broker(self, track: Track, step: Do) -> int:
        if step.target != COORDINATOR:
            return int(step.target)
        if step.action not in ("restart", "cont"):
            self._brokers[track.id] = self.find_coordinator()
        return self._brokers[track.id]

    def _record(self, do: str, **about: object) -> None:
        at_us = now_us()
        first = self.actions[0]["t"] if self.actions else at_us
        action = {"do": do, "member": None, **about, "t": at_us}
        self.actions.append({**action, "rel_s": round((at_us - first) / 1e6, 3)})


def moment_us(track: Track, seed: int) -> int:
    """Return when a track begins, by the draw with which the emulator times the same fault."""
    low, high = track.between_us
    return low + int(draw(stream_key(seed, "fault", track.id), 0) * (high - low))
