"""The few events of a run that a person wants to see first: what was done to it, who fell out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.report.wording import counted

LONG_LOAD_US = 1_000_000
"""A load that took so long is worth a word."""

DISTINCT = 200
"""So many different happenings are kept; a run has more only if something is very wrong."""

VERBS = {
    "crash": "{} crashes",
    "close": "{} is told to stop",
    "start": "{} is started",
    "restart": "{} is restarted",
    "pause": "{} is paused as a whole",
    "hang": "the handler of {} hangs",
    "fail_listener": "the rebalance listener of {} begins to fail",
    "cut": "network cut: {}",
    "crash_broker": "{} crashes",
    "pause_broker": "{} is paused as a whole",
    "stop_broker": "{} is stopped",
    "restart_broker": "{} is restarted",
    "rolling_broker_restart": "a rolling restart of {} begins",
    "slow_disk": "the disk of {} is slow",
    "fill_disk": "the disk of {} is full",
    "move_coordinator": "the coordinator of {} moves",
    "add_partitions": "partitions are added to {}",
    "create_topic": "topic {} is created",
    "delete_topic": "topic {} is deleted",
    "delete_offsets": "an administrator deletes the offsets of {}",
    "reset_offsets": "an administrator resets the offsets of {}",
    "delete_group": "an administrator deletes the group {}",
    "rolling_restart": "a rolling restart of {} begins",
    "subscribe": "other topics are subscribed to by {}",
    "lose_message": "a message is lost: {}",
    "delay_message": "a message is held up: {}",
}
LASTING = {
    "pause": "{} goes on",
    "hang": "the handler of {} goes on",
    "fail_listener": "the rebalance listener of {} works again",
    "cut": "the network is whole again: {}",
    "pause_broker": "{} goes on",
    "slow_disk": "the disk of {} is as fast as ever",
    "fill_disk": "the disk of {} has room again",
    "rolling_broker_restart": "the rolling restart of {} is over",
    "rolling_restart": "the rolling restart of {} is over",
}
"""Of faults whose end is worth a line."""

CALLS = {
    "assigned": "onPartitionsAssigned()",
    "revoked": "onPartitionsRevoked()",
    "lost": "onPartitionsLost()",
}

LEFT_BY_ITSELF = (
    "consumer pro-actively leaving the group",
    "consumer poll timeout has expired.",
)
"""The Java client's words when its poll interval has run out: classic, and consumer protocol."""

REFUSED = {
    "(GROUP_ID_NOT_FOUND)": (
        ": there is no group for a member of the consumer protocol, and a classic group may not "
        "become one (group.consumer.migration.policy)"
    ),
    "(INCONSISTENT_GROUP_PROTOCOL)": (
        ": no assignor that all members have, or classic members may not enter a group of the "
        "consumer protocol (group.consumer.migration.policy)"
    ),
}
"""Answers that end a consumer, in other words: what the group would not do."""

EXPECTED_ENDS = {"crashed", "closed", "killed"}
"""Ends of processes that the fault behind them tells already, or that are as they should be."""


@dataclass(slots=True)
class Happening:
    """Something that happened, and how often."""

    text: str
    first_us: int
    last_us: int
    times: int = 1


class Chronicle:
    """Keeps the happenings of a run, in order of their first time; ``hear`` every event."""

    def __init__(self) -> None:
        self.left_out = 0
        self._happenings: dict[str, Happening] = {}
        self._restarted: set[str] = set()
        self._words: dict[type, Callable[[Any], str]] = {
            ev.FaultBegan: self._began,
            ev.FaultEnded: _ended,
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: _stopped,
            ev.ClientDropped: _dropped,
            ev.ListenerThrew: lambda w: f"{CALLS[w.call]} throws in {w.consumer}",
            ev.MemberRemoved: _removed,
            ev.GroupConverted: _converted,
            ev.ActRefused: lambda w: f"{w.fault} is refused: {w.why or w.error}",
            ev.OffsetsDropped: lambda w: f"committed offsets of {w.group} vanish: {w.why}",
            ev.AssignorFailed: lambda w: f"the assignor {w.assignor} fails in {w.consumer}",
            ev.CoordinatorMoved: _coordinator_moved,
            ev.LeaderChanged: _led_uncleanly,
            ev.RecordsTruncated: lambda w: (
                f"{w.partition} loses {counted(w.next_offset - w.first, 'record')}: broker "
                f"{w.broker} leads without {'it' if w.next_offset - w.first == 1 else 'them'}"
            ),
        }

    @property
    def happenings(self) -> list[Happening]:
        """Return what happened."""
        return list(self._happenings.values())

    def hear(self, event: ev.Event) -> None:
        """Take in one event; most of them are none of ours."""
        words = self._words.get(type(event.what))
        text = words(event.what) if words is not None else ""
        if not text:
            return
        known = self._happenings.get(text)
        if known is not None:
            known.times, known.last_us = known.times + 1, event.at_us
        elif len(self._happenings) < DISTINCT:
            self._happenings[text] = Happening(text, event.at_us, event.at_us)
        else:
            self.left_out += 1

    def _began(self, what: ev.FaultBegan) -> str:
        if what.verb == "restart":
            self._restarted.add(what.target)
        return VERBS.get(what.verb, f"{what.verb} {{}}").format(_named(what.target))

    def _started(self, what: ev.ConsumerStarted) -> str:
        """Tell a start that no restart has told already."""
        if what.incarnation == 1 or what.consumer in self._restarted:
            return ""
        return f"{what.consumer} starts again"


def _ended(what: ev.FaultEnded) -> str:
    return LASTING.get(what.verb, "").format(_named(what.target))


def _named(target: str) -> str:
    """Return what a fault is done to as a sentence has it."""
    return f"the {target}" if target.startswith("coordinator of ") else target


def _stopped(what: ev.ConsumerStopped) -> str:
    if what.how == "killed":
        return f"{what.consumer} is killed: it had not closed in time"
    if what.how in EXPECTED_ENDS:
        return ""
    why = next((why for error, why in REFUSED.items() if error in what.reason), "")
    return f"{what.consumer} dies: {what.reason or what.how}{why}"


def _dropped(what: ev.ClientDropped) -> str:
    if what.reason not in LEFT_BY_ITSELF:
        return ""
    return f"{what.consumer} leaves {what.group}: no poll() within max.poll.interval.ms"


def _coordinator_moved(what: ev.CoordinatorMoved) -> str:
    text = f"broker {what.broker} is now coordinator of {what.group}"
    if what.loaded_us < LONG_LOAD_US:
        return text
    return f"{text}, after a load of {what.loaded_us / 1_000_000:.1f} s"


def _led_uncleanly(what: ev.LeaderChanged) -> str:
    """Tell of an election that may have cost commits; those of topics are told by what is lost."""
    if what.clean or what.partition.topic != OFFSETS_TOPIC:
        return ""
    return f"broker {what.broker} leads {what.partition}, though it was not in sync"


def _converted(what: ev.GroupConverted) -> str:
    others = f", {len(what.members)} classic members with it" if what.members else ", empty before"
    return f"{what.group} goes over to the {what.protocol} protocol{others}"


def _removed(what: ev.MemberRemoved) -> str:
    return "" if what.why == "left" else f"{what.group} removes {what.consumer}: {what.why}"
