"""Write a handler of your own: what an application does with the records of a poll, in virtual time.

A group names a class beside its scenario file, ``handler = "my_handlers:Batches"``. One object of it is
made at each start of a member, with a :class:`Consumer`. Its methods yield actions; each ``yield`` lets
virtual time pass and gives what the action results in::

    class Batches:
        def __init__(self, consumer):
            self.consumer = consumer

        def handle(self, records):  # after each poll, also after one without records
            for record in records:
                yield Process(record)
            error = yield Commit()

``assigned(partitions)``, ``revoked(partitions)``, ``lost(partitions)`` (calls of the rebalance listener) and
``closing()`` (before ``close()``) are optional. docs/how-to/own-handlers.md has all of it.
"""

from __future__ import annotations

from emulator.world.consumer.own_code.actions import (
    Begin,
    Commit,
    Drain,
    Exit,
    Fail,
    Forward,
    Pause,
    Process,
    Record,
    Resume,
    Seek,
    Skip,
    Wait,
)
from emulator.world.consumer.own_code.consumer import Consumer

__all__ = [
    "Begin",
    "Commit",
    "Consumer",
    "Drain",
    "Exit",
    "Fail",
    "Forward",
    "Pause",
    "Process",
    "Record",
    "Resume",
    "Seek",
    "Skip",
    "Wait",
]
