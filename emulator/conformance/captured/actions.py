"""The actions of a captured run, and the scenario's words for them."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.conformance.captured.reading import Fields
from emulator.conformance.captured.traces import Units

VERBS = {
    "sigkill": "crash",
    "sigterm": "close",
    "sigstop": "pause",
    "sigcont": "pause ends",
    "hang": "hang",
    "start": "start",
    "waitexit": "",
    "none": "",
    "addparts": "add_partitions",
    "maketopic": "create_topic",
    "deltopic": "delete_topic",
}
"""The scenario's verb for each action of a capture; empty if the action does nothing."""

VERBS_ON_BROKERS = {
    "kill": "crash_broker",
    "restart": "crash_broker ends",
    "stop": "pause_broker",
    "cont": "pause_broker ends",
}
"""The same by prefix, for actions on a broker."""

COORDINATOR = "coord"
"""The suffix for the coordinator's broker, which needs no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the run; ``do`` is the capture's name of it."""

    do: str
    at_us: int
    member: str | None
    topic: str | None
    broker: int | None

    @property
    def verb(self) -> str | None:
        """Its verb in a scenario, with `` ends`` if it ends an action; None if there is none."""
        for word, verb in VERBS_ON_BROKERS.items():
            named = self.broker is not None and self.do.startswith(word)
            if named or self.do == word + COORDINATOR:
                return verb
        return VERBS.get(self.do)


def read_action(fields: Fields, units: Units) -> Action:
    """Read one action of ``meta.json``; raise CaptureError if it is invalid."""
    return Action(
        do=fields.text("do"),
        at_us=units.time(fields, "t"),
        member=fields.text("member") if "member" in fields else None,
        topic=units.prefix + fields.text("topic") if "topic" in fields else None,
        broker=fields.count("broker") if "broker" in fields else None,
    )
