"""The listener of an application: its calls commit if the policy requires it, and take time.

While a fault makes it fail, its calls end in an exception, which poll() throws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from assignors.types import TopicPartition
from emulator.events import ListenerCalled, ListenerThrew
from emulator.scenario.model import FailListener
from emulator.scenario.resolution import has_listener
from emulator.world.consumer.handling.handler import Doing, Ending
from emulator.world.consumer.interfaces import ConsumerApplication, ConsumerProcess
from emulator.world.kernel import Rank
from protocols.consumer.calls import ExceptionName, Failed
from protocols.machine import Call, Unheard

if TYPE_CHECKING:
    from emulator.world.consumer.replayed_calls import ReplayedCalls

THREW = Failed(ExceptionName.KAFKA, message="its rebalance listener threw")


def _replayed(process: ConsumerProcess, begins_us: tuple[int, ...]) -> ReplayedCalls | None:
    """Return the begins of listener calls to replay, if a capture has some of the process."""
    if not begins_us:
        return None
    from emulator.world.consumer.replayed_calls import ReplayedCalls  # noqa: PLC0415  only captures have some

    return ReplayedCalls(process, begins_us)


class Listener:
    """Runs the listener calls of one process."""

    def __init__(self, process: ConsumerProcess, application: ConsumerApplication) -> None:
        self._process = process
        self._application = application
        self._blueprint = process.blueprint
        self._kernel = process.run.kernel
        self._began_us, self._lasts_us, self._generation = 0, 0, -1
        self._given_up = Call("revoked", ())
        """Its last call about partitions that were given up."""

        self._failing: FailListener | None = None
        """The fault behind its last call that threw."""

        replay = process.run.replay
        self._not_before_us = iter((replay.listened_us or {}).get(process.name, ()))
        self._replayed = _replayed(process, (replay.called_us or {}).get(process.name, ()))

    def call(self, call: Call) -> None:
        """Begin a call."""
        if self._replayed:
            self._replayed.called()
        self._began_us = self._kernel.now
        self._generation = self._process.client.state.shown_generation
        flush = partial(self._application.commits.flush_late, call)
        if call.listener == "revoked":
            self._application.step("revoking", lambda: self._revoking(call, flush))
        else:
            self._spend(call, lambda: flush(lambda: self._ended(call)))

    def pass_over(self, unheard: Unheard) -> None:
        """Do what a call entails for the partitions; the client goes on by itself."""
        self._process.settle()
        self._generation = self._process.client.state.shown_generation
        call = Call(unheard.listener, unheard.partitions)
        self._settle(call, self._process.write_listener_call(self._listener_event(call)))

    def _revoking(self, call: Call, flush: Callable[[Callable[[], None]], None]) -> None:
        policy = self._blueprint.commit
        stores = policy.call == "store" and self._blueprint.group.pool is not None
        commits = policy.on_revoke or stores or self._blueprint.commits_by_timer
        finish, end = self._application.finish, partial(self._ended, call)
        if self._blueprint.group.listener_commits == "after":
            commit = partial(finish, call.partitions, partial(flush, end), commits=commits)
            self._spend(call, lambda: end() if self._fails(call) else commit())
        else:
            spend = partial(flush, partial(self._spend, call, end))
            finish(call.partitions, spend, commits=commits)

    def _spend(self, call: Call, then: Callable[[], None]) -> None:
        """Let the time of a call pass, and code of the user run, then continue."""
        then = partial(self._application.listen, call, then)
        now = self._kernel.now
        self._lasts_us = self._takes_us(call, now)
        when = max(now + self._lasts_us, next(self._not_before_us, 0))
        if when == now:
            then()
        else:
            order = (Rank.APPLICATION, self._blueprint.index)
            self._kernel.at(when, *order, lambda _: self._spent(then))

    def _takes_us(self, call: Call, now: int) -> int:
        group = self._blueprint.group
        if call.listener not in group.listener_calls:
            return 0
        return self._blueprint.listener_us(now) + group.listener_partition * len(call.partitions)

    def _spent(self, then: Callable[[], None]) -> None:
        if self._process.alive and not self._process.hold(lambda: self._spent(then)):
            then()

    def _ended(self, call: Call) -> None:
        process = self._process
        event = process.write_listener_call(self._listener_event(call))
        if self._fails(call):
            self._failing = process.listener_fault
            self._threw(call, event)
            return
        if self._blueprint.profile.takes_calls_for_whole and self._is_part(call):
            self._failing = None
            self._threw(call, event)
            return
        self._settle(call, event)
        self._return(call)

    def _settle(self, call: Call, event: int) -> None:
        """End the epochs of partitions that were given up, at the *event* of the call.

        If the position of such a partition came after that call, the next assignment ends its epoch.
        """
        assigned = call.listener == "assigned"
        kept = self._process.client.state.assignment if assigned else ()
        self._given_up = given_up = self._given_up if assigned else call
        self._close_epochs(given_up, (tp for tp in given_up.partitions if tp not in kept), event)
        self._process.run.triggers.reached(self._blueprint.name, call.listener)

    def _fails(self, call: Call) -> bool:
        """Return whether a fault makes this call throw, before the commits that come after its time."""
        fault = self._process.listener_fault
        return fault is not None and fault.call in (None, call.listener)

    def _is_part(self, call: Call) -> bool:
        """Return whether the consumer has other partitions than those of a call."""
        return not set(self._process.client.state.assignment) <= set(call.partitions)

    def _close_epochs(self, call: Call, partitions: Iterable[TopicPartition], event: int) -> None:
        why = "closed" if self._application.ending is Ending.BEGUN else call.listener
        for tp in partitions:
            self._application.revoked(tp, why, event)
            self._application.commits.forget(tp)

    def _return(self, call: Call) -> None:
        """Return control to the client, if the process still runs."""
        process = self._process
        if process.alive and not process.hold(lambda: self._return(call)):
            self._application.listened()
            lasted: Any = {"lasted_us": self._lasts_us} if self._blueprint.has_two_threads else {}
            process.carry_out(process.client.called(call, self._kernel.now, **lasted))

    def _threw(self, call: Call, event: int) -> None:
        """End a call with an exception: only partitions that the client revokes are closed."""
        process = self._process
        name, group = self._blueprint.name, self._blueprint.group.id
        threw = ListenerThrew(
            consumer=name, group=group, call=call.listener, partitions=call.partitions
        )
        cause = process.run.causes.disturbed.get(name)
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

    def _listener_event(self, call: Call) -> ListenerCalled:
        group = self._blueprint.group
        return ListenerCalled(
            consumer=self._blueprint.name,
            group=group.id,
            generation=self._generation,
            call=call.listener,
            partitions=call.partitions,
            began_us=self._began_us if has_listener(group, self._blueprint.member) else -1,
        )
