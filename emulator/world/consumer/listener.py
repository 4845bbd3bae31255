"""The rebalance listener of an application: it commits if the policy requires it, and takes time.

While a fault makes it fail, its calls end in an exception, which poll() throws.
"""

from __future__ import annotations

from collections.abc import Iterable

from assignors.types import TopicPartition
from emulator.events import ListenerCalled, ListenerThrew
from emulator.scenario.model import FailListener
from emulator.world.consumer.handler import Doing, Ending
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.kernel import Rank
from protocols.consumer.calls import Failed
from protocols.machine import Call

THREW = Failed("KafkaException", message="its rebalance listener threw")


class Listener:
    """Runs the listener calls of one process."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        self._process = process
        self._application = application
        self._blueprint = process.blueprint
        self._kernel = process.run.kernel
        self._began_us = 0
        self._failing: FailListener | None = None
        """The fault behind its last call that threw."""

        listened_us = process.run.replay.listened_us or {}
        self._not_before_us = iter(listened_us.get(process.name, ()))

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
        event = process.write_listener_call(self._heard(call))
        fault = process.listener_fault
        if fault is not None and fault.call in (None, call.listener):
            self._failing = fault
            self._threw(call, event)
            return
        if call.listener != "assigned":
            self._close_epochs(call, call.partitions, event)
        process.run.triggers.reached(self._blueprint.name, call.listener)
        self._return(call)

    def _close_epochs(self, call: Call, partitions: Iterable[TopicPartition], event: int) -> None:
        why = "closed" if self._application.ending is Ending.BEGUN else call.listener
        for tp in partitions:
            self._process.progress.close(tp, why, event)
            self._application.commits.forget(tp)

    def _return(self, call: Call) -> None:
        """Return control to the client, if the process still runs."""
        process = self._process
        if process.alive and not process.hold(lambda: self._return(call)):
            self._application.listened()
            process.carry_out(process.client.called(call, self._kernel.now))

    # -- calls that fail -------------------------------------------------------------------------

    def _threw(self, call: Call, event: int) -> None:
        """End a call with an exception: only partitions that the client revokes are closed."""
        process = self._process
        threw = ListenerThrew(
            consumer=self._blueprint.name,
            group=self._blueprint.group.id,
            call=call.listener,
            partitions=call.partitions,
        )
        cause = process.run.causes.disturbed.get(self._blueprint.name)
        process.run.recorder.write(threw, cause)
        self._application.listened()
        step = process.client.called(call, self._kernel.now, THREW)
        kept = frozenset(process.client.state.assignment)
        if call.listener != "assigned":
            self._close_epochs(call, (tp for tp in call.partitions if tp not in kept), event)
        process.carry_out(step)

    def catches(self, failed: Failed) -> bool:
        """Catch the listener's exception if the application does so, and poll again later."""
        fault = self._failing
        if failed != THREW or fault is None or not fault.caught:
            return False
        self._application.doing = Doing.RECOVERING
        when = self._kernel.now + fault.backoff
        self._kernel.at(when, Rank.APPLICATION, self._blueprint.index, lambda _: self._poll_again())
        return True

    def _poll_again(self) -> None:
        if self._process.alive and not self._process.hold(self._poll_again):
            self._application.poll()

    def _heard(self, call: Call) -> ListenerCalled:
        return ListenerCalled(
            consumer=self._blueprint.name,
            group=self._blueprint.group.id,
            generation=self._process.client.state.generation.id,
            call=call.listener,
            partitions=call.partitions,
            began_us=self._began_us,
        )
