"""Faults and acts on the applications of members: what they subscribe to, listeners that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from emulator.scenario import model
from emulator.world.faults.script import Script, wait
from emulator.world.faults.targets import in_order

if TYPE_CHECKING:
    from emulator.world.services import Services


class MemberActs:
    """Plays them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._env = services.kernel.env

    def subscribe(self, act: model.Subscribe, began: int) -> Script:
        """Let one member after the other read other topics."""
        for index, consumer in enumerate(in_order(act, self._services)):
            if index:
                yield from wait(self._env, act.gap)
            self._services.crew.subscribe(consumer, act.topics, began)

    def fail_listener(self, fault: model.FailListener, began: int) -> Script:
        """Let the calls of a member's listener throw for a while, whichever process makes them."""
        self._services.causes.disturbed[fault.member] = began
        failing = self._services.crew.failing
        failing[fault.member] = fault
        yield self._env.timeout(fault.lasting)
        if failing.get(fault.member) is fault:
            del failing[fault.member]


def member_scripts(services: Services) -> dict[type, Callable[[Any, int], Script]]:
    """Return the script of each such act by its kind."""
    acts = MemberActs(services)
    return {model.Subscribe: acts.subscribe, model.FailListener: acts.fail_listener}
