"""Faults and acts on the applications of members: what they subscribe to, listeners that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emulator.scenario import model
from emulator.world.faults.targets import in_order
from emulator.world.kernel import Script, wait

if TYPE_CHECKING:
    from emulator.world.run import Run


class MemberActs:
    """Plays them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._env = run.kernel.env

    def subscribe(self, act: model.Subscribe, began: int) -> Script:
        """Let one member after the other read other topics."""
        for index, consumer in enumerate(in_order(act, self._run)):
            if index:
                yield from wait(self._env, act.gap)
            self._run.consumers.subscribe(consumer, act.topics, began)

    def fail_listener(self, fault: model.FailListener, began: int) -> Script:
        """Let the calls of a member's listener throw for a while, whichever process makes them."""
        self._run.causes.disturbed[fault.member] = began
        failing = self._run.consumers.failing
        failing[fault.member] = fault
        yield self._env.timeout(fault.lasting)
        if failing.get(fault.member) is fault:
            del failing[fault.member]


def member_scripts(run: Run) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each such act by its kind."""
    acts = MemberActs(run)
    return {model.Subscribe: acts.subscribe, model.FailListener: acts.fail_listener}
