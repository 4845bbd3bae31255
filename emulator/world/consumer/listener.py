"""The rebalance listener of an application: it commits if the policy says so, and takes its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.events import ListenerCalled
from emulator.world.consumer.doing import Ending
from emulator.world.kernel import Rank
from protocols.step import Call

if TYPE_CHECKING:
    from emulator.world.consumer.application import Application
    from emulator.world.consumer.process import Process


class Listener:
    """Runs the listener calls of one process."""

    def __init__(self, process: Process, application: Application) -> None:
        self._process = process
        self._application = application
        self._blueprint = process.blueprint
        self._kernel = process.services.kernel
        self._began_us = 0
        self._not_before_us = iter(process.services.listened_us.get(process.name, ()))

    def call(self, call: Call) -> None:
        """Begin a call."""
        self._began_us = self._kernel.now
        if call.listener == "revoked":
            self._application.step("revoking", lambda: self._revoking(call))
        else:
            self._spend(call)

    def _revoking(self, call: Call) -> None:
        if self._blueprint.commit.on_revoke:
            commits = self._application.commits
            commits.commit_done(call.partitions, lambda: self._spend(call))
        else:
            self._spend(call)

    def _spend(self, call: Call) -> None:
        now = self._kernel.now
        when = max(now + self._blueprint.listener_us(now), next(self._not_before_us, 0))
        if when == now:
            self._ended(call)
            return
        self._kernel.at(when, Rank.APPLICATION, self._blueprint.index, lambda _: self._spent(call))

    def _spent(self, call: Call) -> None:
        if self._process.alive and not self._process.hold(lambda: self._spent(call)):
            self._ended(call)

    def _ended(self, call: Call) -> None:
        process = self._process
        event = process.services.teller.listened(process, self._heard(call))
        if call.listener != "assigned":
            why = "closed" if self._application.ending is Ending.BEGUN else call.listener
            for tp in call.partitions:
                process.progress.close(tp, why, event)
                self._application.commits.forget(tp)
        process.services.aims.reached(self._blueprint.name, call.listener)
        self._return(call)

    def _return(self, call: Call) -> None:
        """Give control back to the client, if the process still runs."""
        process = self._process
        if process.alive and not process.hold(lambda: self._return(call)):
            self._application.listened()
            process.carry_out(process.client.called(call, self._kernel.now))

    def _heard(self, call: Call) -> ListenerCalled:
        return ListenerCalled(
            consumer=self._blueprint.name,
            group=self._blueprint.group.id,
            generation=self._process.client.state.generation.id,
            call=call.listener,
            partitions=call.partitions,
            began_us=self._began_us,
        )
