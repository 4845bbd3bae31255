"""The polls of a consumer that waits for its group's rebalance, computed on demand.

A joining member without partitions polls in vain, once every poll timeout, until all members have
joined: for a whole session timeout if one has crashed. None of these polls is an event of the
kernel. Whatever happens to the process first makes the poll that it is in (:meth:`RoundWait.end`);
its client then has the state that it would have with all of them.
"""

from __future__ import annotations

from emulator.world.consumer.interfaces import ConsumerProcess
from protocols.consumer.classic.calm import POLL
from protocols.consumer.classic.machine import Client


class RoundWait:
    """The polls of one process of the classic protocol that return nothing."""

    def __init__(self, process: ConsumerProcess, client: Client) -> None:
        blueprint = process.blueprint
        self._process = process
        self._client = client
        self._timeout_us = blueprint.poll_timeout_us
        self._is_regular = (
            blueprint.lateness_us is None
            and blueprint.commit.when != "every"
            and blueprint.group.handler is None
        )
        """Whether an empty poll ends on time, and the next one begins at once."""

        self._began_us: int | None = None
        """When the first of these polls began; None: it does not wait."""

    def begin(self, now: int) -> bool:
        """Poll in vain from now on; return False if a poll could do more.

        A poll during which a timer of the client fires is made by the client itself.
        """
        if not (self._is_regular and self._process.at_rest):
            return False
        until_us = self._client.polls_in_vain_until_us(now)
        if until_us is None:
            return False
        whole = (self._process.timers.earliest(until_us) - now) // self._timeout_us
        if whole < 1:
            return False
        self._began_us = now
        self._process.timers.set(POLL, now + whole * self._timeout_us)
        return True

    def end(self, now: int, timer: str = "") -> None:
        """Make the poll in progress; one that ends at this instant has not ended yet.

        *timer*: the one that fires now, if any.
        """
        began_us = self._began_us
        if began_us is None:
            return
        self._began_us = None
        whole = max(0, now - 1 - began_us) // self._timeout_us
        poll_us = began_us + whole * self._timeout_us
        self._process.carry_out(self._client.poll(poll_us, self._timeout_us))
        if timer == POLL:
            self._process.timers.cancel(POLL)
