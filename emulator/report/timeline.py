"""The timeline of a run: its faults and actions, and the members that were removed or ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from assignors.values import dataclass
from emulator import events as ev
from emulator.ledger.cluster import OFFSETS_TOPIC
from emulator.report.wording import counted
from emulator.verdicts.facts import LEFT_BY_ITSELF

LONG_LOAD_US = 1_000_000
"""Loads of at least this duration are shown with their duration."""

LATE_US = 1_000_000
"""A group is late if its first member starts this long after the first member of the run."""

DISTINCT = 200
"""The number of different lines of a kind that are kept."""

_SUSPENDING = frozenset({"pause", "hang"})

SCALING_VERBS = frozenset({"scale_up", "scale_down"})
"""Steps of autoscalers: the id of each start or stop that a step makes begins with that of the step."""

CALLS = {
    "assigned": "onPartitionsAssigned()",
    "revoked": "onPartitionsRevoked()",
    "lost": "onPartitionsLost()",
}

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
"""Explanations of errors that end a consumer."""

KINDS: Final = {
    ev.ConsumerStarted: "start",
    ev.ConsumerStopped: "end of a process",
    ev.ClientDropped: "drop-out",
    ev.ListenerThrew: "failed listener",
    ev.MemberRemoved: "removal",
    ev.GroupConverted: "conversion",
    ev.ActRefused: "refused act",
    ev.OffsetsDropped: "removal of offsets",
    ev.JoinPhaseEnded: "election of an assignor",
    ev.AssignorFailed: "failed assignor",
    ev.CoordinatorMoved: "change of the coordinator",
    ev.LeaderChanged: "unclean election",
    ev.RecordsTruncated: "truncation",
}
"""The kinds of lines that are no beginning or end of a fault or act: those are of its verb."""

EXPECTED_ENDS = {ev.End.CRASHED, ev.End.CLOSED, ev.End.KILLED}
"""Ends of processes that their fault shows already, or that are expected."""


@dataclass(slots=True)
class TimelineEntry:
    """One line of the timeline, and how often it occurred."""

    text: str
    first_us: int
    last_us: int
    times: int = 1
    is_consequence: bool = False
    """Whether it is no fault or act, but what followed: a member was removed, ended or failed."""

    kind: str = ""
    """One of :data:`KINDS`, or the verb of the fault or act that begins or ends."""


def shortened(
    entries: Sequence[TimelineEntry], most: int
) -> tuple[list[TimelineEntry], list[TimelineEntry]]:
    """Return at most *most* lines, and the others; one more is shown rather than left out.

    The first fault or act stays. Of all others each kind has some: of the rarer ones all, of the more
    frequent ones the first.
    """
    if len(entries) <= most + 1:
        return list(entries), []
    from emulator.report.cutting import shares  # noqa: PLC0415  most timelines are short

    begins = next((entry for entry in entries if not entry.is_consequence), entries[0])
    others = [entry for entry in entries if entry is not begins]
    consequences_first = sorted(others, key=lambda entry: not entry.is_consequence)
    room = shares(Counter(entry.kind for entry in consequences_first), most - 1)
    shown, left_out = list[TimelineEntry](), list[TimelineEntry]()
    for entry in entries:
        fits = entry is begins or room[entry.kind] > 0
        if fits and entry is not begins:
            room[entry.kind] -= 1
        (shown if fits else left_out).append(entry)
    return shown, left_out


CONSEQUENCES = (
    ev.ConsumerStopped,
    ev.ClientDropped,
    ev.ListenerThrew,
    ev.MemberRemoved,
    ev.ActRefused,
    ev.OffsetsDropped,
    ev.AssignorFailed,
    ev.RecordsTruncated,
)


class GroupStarts:
    """Finds the start of each group that begins later than the run's first group."""

    def __init__(self) -> None:
        self._first_us: int | None = None
        self._groups: set[str] = set()

    def late(self, event: ev.Event) -> ev.ConsumerStarted | None:
        """Return the start of the first member of a late group, if the event is one."""
        what = event.what
        if not isinstance(what, ev.ConsumerStarted) or what.group in self._groups:
            return None
        self._groups.add(what.group)
        if self._first_us is None:
            self._first_us = event.at_us
        return what if event.at_us >= self._first_us + LATE_US else None


class Timeline:
    """The timeline of a run, in order of first occurrence; pass every event to ``feed``."""

    def __init__(self, contested: Collection[str] = ()) -> None:
        """Begin; *contested*: the groups whose first election of an assignor is shown, too."""
        self.left_out = Counter[str]()
        """The number of further lines of each kind, of which there are too many."""

        self._contested = contested
        self._elected: dict[str, str] = {}
        """The assignor of each classic group, which its members have elected."""

        self._entries: dict[str, TimelineEntry] = {}
        self._kinds = Counter[str]()
        """The number of entries of each kind."""

        self._restarted: set[str] = set()
        self._down: set[str] = set()
        """Consumers that a restart has stopped and not started yet."""

        self._suspended: set[str] = set()
        """Consumers whose process is paused, or whose handler hangs."""

        self._group_starts = GroupStarts()
        self._started_by_act: set[str] = set()
        self._steps: set[str] = set()
        self._added: set[str] = set()
        """Consumers that a step of an autoscaler starts."""

        self._words = self._texts()

    def _texts(self) -> Mapping[type, Callable[[Any], str]]:
        """Return, by type of event, the function that makes its line; an empty line is none."""
        return {
            ev.FaultBegan: self._began,
            ev.FaultEnded: self._ended,
            ev.ConsumerStarted: self._started,
            ev.ConsumerStopped: self._stopped,
            ev.ClientDropped: _dropped,
            ev.ListenerThrew: lambda w: f"{CALLS[w.call]} throws in {w.consumer}",
            ev.MemberRemoved: self._removed,
            ev.GroupConverted: _converted,
            ev.ActRefused: lambda w: f"{w.fault} is refused: {w.why or w.error}",
            ev.OffsetsDropped: lambda w: f"committed offsets of {w.group} are removed: {w.why}",
            ev.JoinPhaseEnded: self._elects,
            ev.AssignorFailed: lambda w: f"the assignor {w.assignor} fails in {w.consumer}",
            ev.CoordinatorMoved: _coordinator_moved,
            ev.LeaderChanged: _led_uncleanly,
            ev.RecordsTruncated: lambda w: (
                f"{w.partition} loses {counted(w.next_offset - w.first, 'record')}: broker "
                f"{w.broker} was elected without {'it' if w.next_offset - w.first == 1 else 'them'}"
            ),
        }

    @property
    def entries(self) -> list[TimelineEntry]:
        """Return the lines of the timeline."""
        return list(self._entries.values())

    def feed(self, event: ev.Event) -> None:
        """Add an event if it belongs to the timeline."""
        words = self._words.get(type(event.what))
        text = words(event.what) if words is not None else ""
        late = self._group_starts.late(event)
        if late is not None and late.consumer not in self._started_by_act:
            text = group_start(late)
        if not text:
            return
        known = self._entries.get(text)
        if known is not None:
            known.times, known.last_us = known.times + 1, event.at_us
        else:
            self._add(text, event)

    def _add(self, text: str, event: ev.Event) -> None:
        """Add another line, unless there are too many of its kind."""
        kind = _kind(event.what)
        if self._kinds[kind] >= DISTINCT:
            self.left_out[kind] += 1
            return
        self._kinds[kind] += 1
        is_consequence = isinstance(event.what, CONSEQUENCES) and not _is_back(event.what)
        self._entries[text] = TimelineEntry(
            text, event.at_us, event.at_us, is_consequence=is_consequence, kind=kind
        )

    def _began(self, what: ev.FaultBegan) -> str:
        if what.verb in SCALING_VERBS:
            self._steps.add(what.fault)
        step, _, member = what.fault.partition("/")
        if member and step in self._steps:
            if what.verb == "start":
                self._added.add(what.target)
            return ""
        if what.verb == "start":
            self._started_by_act.add(what.target)
        if what.verb in ("restart", "surge"):
            self._restarted.add(what.target)
            self._down.add(what.target)
        elif what.verb in _SUSPENDING:
            self._suspended.add(what.target)
        from emulator.report.fault_wording import beginning_text  # noqa: PLC0415  as for its end

        return beginning_text(what)

    def _ended(self, what: ev.FaultEnded) -> str:
        """Return the line for the end of a fault; a process that died meanwhile does not resume."""
        if what.verb in _SUSPENDING:
            if what.target not in self._suspended:
                return ""
            self._suspended.discard(what.target)
        from emulator.report.fault_wording import end_text  # noqa: PLC0415  some runs have no faults

        return end_text(what)

    def _elects(self, what: ev.JoinPhaseEnded) -> str:
        """Return the line for the winner of a vote: a new one, or the first where votes differ."""
        before = self._elected.get(what.group)
        if not what.protocol or what.protocol == before or ev.by_replaced_coordinator(what):
            return ""
        self._elected[what.group] = what.protocol
        if before is not None:
            return f"{what.group} elects the assignor {what.protocol}, until now {before}"
        return (
            f"{what.group} elects the assignor {what.protocol}"
            if what.group in self._contested
            else ""
        )

    def _stopped(self, what: ev.ConsumerStopped) -> str:
        self._suspended.discard(what.consumer)
        return _stopped(what)

    def _started(self, what: ev.ConsumerStarted) -> str:
        """Return the line for a start, unless a restart or a step of an autoscaler shows it already."""
        self._down.discard(what.consumer)
        if what.consumer in self._added:
            self._added.discard(what.consumer)
            return ""
        if what.incarnation == 1 or what.consumer in self._restarted:
            return ""
        return f"{what.consumer} starts again"

    def _removed(self, what: ev.MemberRemoved) -> str:
        """Return the line for a removal, with the restart that took too long for the session."""
        if what.why == ev.Departure.LEFT:
            return ""
        by = f"broker {what.replaced_broker}, no longer coordinator of {what.group},"
        remover = by if ev.by_replaced_coordinator(what) else what.group
        text = f"{remover} removes {what.consumer}: {what.why}"
        late = what.why == ev.Departure.EXPIRED and what.consumer in self._down
        return f"{text} before its restart is over" if late else text


def _kind(what: ev.What) -> str:
    if isinstance(what, ev.FaultBegan):
        return what.verb
    return f"end of {what.verb}" if isinstance(what, ev.FaultEnded) else KINDS[type(what)]


def group_start(what: ev.ConsumerStarted) -> str:
    """Return the text for the start of a late group."""
    return f"group {what.group} starts, with {what.consumer}"


def _stopped(what: ev.ConsumerStopped) -> str:
    if what.how == ev.End.KILLED:
        return f"{what.consumer} is killed: it did not close in time"
    if what.how in EXPECTED_ENDS:
        return ""
    why = next((why for error, why in REFUSED.items() if error in what.reason), "")
    return f"{what.consumer} ends: {what.reason or what.how}{why}"


def _dropped(what: ev.ClientDropped) -> str:
    if what.reason not in LEFT_BY_ITSELF:
        return ""
    return f"{what.consumer} leaves {what.group}: no poll() within max.poll.interval.ms"


def _coordinator_moved(what: ev.CoordinatorMoved) -> str:
    text = f"broker {what.broker} becomes coordinator of {what.group}"
    if what.loaded_us < LONG_LOAD_US:
        return text
    return f"{text}, after a load of {what.loaded_us / 1_000_000:.1f} s"


def _led_uncleanly(what: ev.LeaderChanged) -> str:
    """Return the line for an unclean election of an offsets partition."""
    if what.clean or what.partition.topic != OFFSETS_TOPIC:
        return ""
    return f"broker {what.broker} leads {what.partition} (unclean election: it was not in sync)"


def _converted(what: ev.GroupConverted) -> str:
    others = f" with {len(what.members)} classic members" if what.members else "; it was empty"
    return f"{what.group} is converted to the {what.protocol} protocol{others}"


def _is_back(what: ev.What) -> bool:
    """Return whether a member is removed because its own restart joined under its instance id."""
    return isinstance(what, ev.MemberRemoved) and what.why == ev.Departure.REPLACED
