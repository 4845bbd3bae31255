"""Probes of the members that a deploy has started: whether they are ready, and canaries healthy."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import simpy

from emulator.events import (
    ClientDropped,
    CommitRefused,
    ConsumerStarted,
    Event,
    ListenerThrew,
    ProcessingFailed,
)
from emulator.scenario import model
from emulator.world.consumer.consumers import Replica, successor_name
from emulator.world.kernel import wait
from emulator.world.world import World

ERRORS = (ClientDropped, CommitRefused, ListenerThrew, ProcessingFailed)
"""The events that canaries are judged by."""


class Probes:
    """The probes of one deploy."""

    def __init__(self, world: World, act: model.RollingRestart) -> None:
        self._world = world
        self._consumers = world.consumers
        self._kernel = world.run.kernel
        self._act = act

    # -- readiness -----------------------------------------------------------------------------

    def await_ready(self, replica: Replica) -> Generator[simpy.Event, Any, str]:
        """Probe a started replica until it is ready; return "".

        Return the member for which it waited if that ends or is not ready in time.
        """
        act, kernel = self._act, self._kernel
        if act.readiness == "started" and not act.ready_after:
            return ""
        last_us = kernel.now + act.deadline
        yield from wait(kernel.env, act.ready_after)
        while unready := [name for name in replica if not self._is_ready(name)]:
            ended = next(filter(self.has_ended, unready), None)
            if ended or kernel.now >= last_us:
                return ended or unready[0]
            yield from wait(kernel.env, min(act.probe_every, last_us - kernel.now))
        return ""

    def has_ended(self, consumer: str) -> bool:
        """Return whether a started member does not run, and neither waits for its rack nor is withdrawn."""
        consumers = self._consumers
        if consumers.running(consumer) is not None or consumers.is_withdrawn(consumer):
            return False
        return not consumers.waits_for_rack(consumer)

    def _is_ready(self, consumer: str) -> bool:
        if self._consumers.is_withdrawn(consumer):
            return True  # nothing waits for a replica that the autoscaler has removed
        process = self._consumers.running(consumer)
        if process is None:
            return False
        return self._act.readiness == "started" or bool(process.progress.owned)

    # -- canaries ------------------------------------------------------------------------------

    def watch(self, canaries: list[str]) -> Errors:
        """Return the errors that the processes of these members will have."""
        errors = Errors(frozenset(canaries) | frozenset(map(successor_name, canaries)))
        if self._act.canary_errors is not None:
            self._world.run.recorder.add_sink(errors)
        return errors

    def watch_canaries(
        self, canaries: Iterable[str], errors: Errors
    ) -> Generator[simpy.Event, Any, tuple[str, str] | None]:
        """Probe the canaries until ``canary_for`` is over; return the first that fails, and why."""
        act, kernel = self._act, self._kernel
        last_us = kernel.now + act.canary_for
        while True:
            is_last = kernel.now >= last_us
            failed = self.failed_canary(canaries, errors, is_last=is_last)
            if failed or is_last:
                return failed
            yield from wait(kernel.env, min(act.probe_every, last_us - kernel.now))

    def failed_canary(
        self, canaries: Iterable[str], errors: Errors, *, is_last: bool
    ) -> tuple[str, str] | None:
        """Return a canary that fails a probe, and why; the last probe asks whether it is ready."""
        limit = self._act.canary_errors
        for canary in canaries:
            if self.has_ended(canary) or (is_last and not self._is_ready(canary)):
                return canary, "is not ready"
            if self._act.canary_lag is not None and self._lag(canary) > self._act.canary_lag:
                return canary, f"has a lag of more than {self._act.canary_lag:,} records"
            if limit is not None and errors.count > limit and canary in errors.of:
                return canary, f"has had more than {limit:,} errors"
        return None

    def _lag(self, consumer: str) -> int:
        """Return the most records that a member has not processed in one of its partitions."""
        process = self._consumers.running(consumer)
        if process is None:
            return 0
        process.settle()
        progress, now = process.progress, self._kernel.now
        ends = ((tp, self._world.topics.find(tp)) for tp in progress.owned)
        left = (
            progress.runs(tp, progress.done(tp) or 0, log.end(now))
            for tp, log in ends
            if log is not None
        )
        return max((sum(end - first for first, end in runs) for runs in left), default=0)


class Errors:
    """The errors of some members since they were restarted, counted from the events of the run."""

    def __init__(self, members: frozenset[str]) -> None:
        self._members = members
        self._started: set[str] = set()
        self.count = 0
        self.of: set[str] = set()
        """The members that have had one."""

    def __call__(self, event: Event) -> None:
        """Count an event that is an error of one of the members."""
        what = event.what
        if isinstance(what, ConsumerStarted) and what.consumer in self._members:
            self._started.add(what.consumer)
        elif isinstance(what, ERRORS) and what.consumer in self._started:
            self.count += what.failures if isinstance(what, ProcessingFailed) else 1
            self.of.add(what.consumer)
