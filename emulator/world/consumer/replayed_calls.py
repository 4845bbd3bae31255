"""Replay when an application that waited for records noticed that a listener call was needed.

In a real process, fetch responses without records end such a wait at times that no log shows; the
beginning of the call shows that one did. Without them, a wait ends after ``retry.backoff.ms``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.world.kernel import Rank
from protocols.consumer.kip848.machine import Client

if TYPE_CHECKING:
    from emulator.world.consumer.interfaces import ConsumerProcess

_AGAIN_US = 1_000
_LATEST_US = 100_000
"""How long after the real time a call may be needed for the first time: then it is another one."""


class ReplayedCalls:
    """The begins of a process's first listener calls, each replayed unless it came earlier."""

    def __init__(self, process: ConsumerProcess, begins_us: tuple[int, ...]) -> None:
        """Await the calls of a process that has just started."""
        self._process = process
        self._kernel = process.run.kernel
        self._begins_us = begins_us
        self._made = 0
        self._await_next()

    def called(self) -> None:
        """Take note that a call begins."""
        self._made += 1

    def _await_next(self) -> None:
        if self._made < len(self._begins_us):
            number = self._made
            self._look_at(max(self._kernel.now, self._begins_us[number]), number)

    def _look_at(self, when_us: int, number: int) -> None:
        who = self._process.blueprint.index
        self._kernel.at(when_us, Rank.CLIENT_TIMER, who, lambda _: self._look(number))

    def _look(self, number: int) -> None:
        """Make the call if it is needed by now; else look again, or go on with the next one."""
        process, now = self._process, self._kernel.now
        if not process.alive:
            return
        client = process.client
        if self._made == number and isinstance(client, Client) and not process.paused:
            process.carry_out(client.notice(now))
        if self._made == number and now <= self._begins_us[number] + _LATEST_US:
            self._look_at(now + _AGAIN_US, number)
        else:
            self._made = max(self._made, number + 1)
            self._await_next()
