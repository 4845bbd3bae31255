"""Faults and acts in words: the same ones in reports, pages, explanations and traces."""

from __future__ import annotations

from typing import Final, Protocol

_VERBS: Final = {
    "crash": "{} crashes",
    "close": "{} is stopped",
    "start": "{} is started",
    "restart": "{} is restarted",
    "surge": "the replacement of {} starts beside it",
    "give_up": "the rolling restart of {}",
    "roll_back": "{} goes back to its earlier settings",
    "pause": "the process of {} is paused",
    "hang": "the handler of {} hangs",
    "fail_listener": "the rebalance listener of {} starts to fail",
    "cut": "network cut: {}",
    "crash_broker": "{} crashes",
    "pause_broker": "the process of {} is paused",
    "stop_broker": "{} is stopped",
    "restart_broker": "{} is restarted",
    "rolling_broker_restart": "a rolling restart of {} begins",
    "slow_disk": "the disk of {} is slow",
    "fill_disk": "the disk of {} is full",
    "slow_store": "the offset store {} is slow",
    "stop_store": "the offset store {} is down",
    "restore_store": "a restore of the offset store {} begins",
    "drain_node": "the machine of {} is drained",
    "zone_outage": "the rack {} fails",
    "scale_up": "the autoscaler adds members to {}",
    "scale_down": "the autoscaler removes members from {}",
    "move_coordinator": "the coordinator of {} moves",
    "add_partitions": "partitions are added to {}",
    "create_topic": "topic {} is created",
    "delete_topic": "topic {} is deleted",
    "delete_offsets": "an administrator deletes the offsets of {}",
    "reset_offsets": "an administrator resets the offsets of {}",
    "delete_group": "an administrator deletes the group {}",
    "rolling_restart": "a rolling restart of {} begins",
    "subscribe": "{} changes its subscription",
    "seek": "seek of {}",
    "pause_partitions": "{} pauses partitions",
    "lose_message": "a message is lost: {}",
    "delay_message": "a message is delayed: {}",
}
_LASTING: Final = {
    "zone_outage": "the rack {} is back",
    "pause": "the process of {} resumes",
    "hang": "the handler of {} resumes",
    "pause_partitions": "{} resumes partitions",
    "fail_listener": "the rebalance listener of {} works again",
    "cut": "network restored: {}",
    "pause_broker": "the process of {} resumes",
    "slow_disk": "the disk of {} recovered",
    "fill_disk": "the disk of {} has free space again",
    "slow_store": "the offset store {} is as fast as before",
    "stop_store": "the offset store {} is available again",
    "restore_store": "the backup of the offset store {} is restored",
    "rolling_broker_restart": "the rolling restart of {} ends",
    "rolling_restart": "the rolling restart of {} ends",
}
"""The lines for the end of faults that have one."""


class Happening(Protocol):
    """A fault or act: an event about it, or the root of an entry."""

    @property
    def verb(self) -> str:
        """Its key in scenario files, such as ``restart``, or the name of one of its steps."""

    @property
    def target(self) -> str:
        """What it concerns."""


def lasts(verb: str) -> bool:
    """Return whether the end of such a fault has a line of its own."""
    return verb in _LASTING


def beginning_text(fault: Happening) -> str:
    """Return what happens when a fault or act begins, such as ``billing-1 is restarted``."""
    return _VERBS.get(fault.verb, f"{fault.verb} {{}}").format(_named(fault.target))


def fault_text(fault: Happening) -> str:
    """Return a fault or act as a whole, such as ``a rolling restart of billing``."""
    return beginning_text(fault).removesuffix(" begins")


def end_text(fault: Happening) -> str:
    """Return what happens when a fault ends; empty: other events show it."""
    return _LASTING.get(fault.verb, "").format(_named(fault.target))


def _named(target: str) -> str:
    """Return the target of a fault for a sentence."""
    return f"the {target}" if target.startswith("coordinator of ") else target
