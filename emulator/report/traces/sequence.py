"""A part of a run as a sequence diagram in the language of Mermaid.

Messages are arrows between members and brokers at the time of their arrival; what members and
groups do are notes. Ordinary heartbeats and metadata are left out, and the diagram says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.events.messages import MessageCarried
from emulator.ledger.entries import Entry
from emulator.report.event_wording import event_text
from emulator.report.wording import visible

MOST_STEPS = 300
"""Arrows and notes; larger diagrams cannot be read, and Mermaid refuses them."""

AROUND_US = 200_000
"""Shown before and after the events of an entry."""

WITHOUT_ENTRY_US = 10_000_000
"""The default length of a window in a run without an entry."""

LEFT_OUT = frozenset(
    {"Metadata", "FindCoordinator", "ListOffsets", "OffsetsForLeaderEpoch", "Heartbeat"}
)
"""Shown only with an error, or if lost."""

NOTED = (
    ev.FaultBegan,
    ev.FaultEnded,
    ev.BrokerDown,
    ev.BrokerUp,
    ev.ConsumerStarted,
    ev.ConsumerStopped,
    ev.ConsumerPaused,
    ev.ConsumerResumed,
    ev.ClientDropped,
    ev.MemberRemoved,
    ev.RebalanceStarted,
    ev.JoinPhaseEnded,
    ev.GroupConverted,
    ev.GroupEpochRaised,
    ev.TargetComputed,
    ev.CoordinatorMoved,
    ev.CommitRefused,
)
MOST_NAMED = 3
"""Partitions named in one note; the others are counted."""

NO_PARTITION = TopicPartition("", -1)


class Window(NamedTuple):
    """A part of a run, both ends included."""

    begin_us: int
    end_us: int


class Step(NamedTuple):
    """One arrow or note."""

    at_us: int
    place: int
    """Breaks ties: the order of writing."""

    text: str
    """A line of Mermaid, with the time still to be added in place of ``{at}``."""

    parties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    """The steps of a window."""

    steps: tuple[Step, ...]
    window: Window
    left_out: int
    """Steps beyond the last one that is shown."""


def window_of(events: Sequence[ev.Event], entries: Iterable[Entry]) -> Window:
    """Return the part to show by default: the largest entry, else the time after the first fault."""
    largest = max(entries, key=lambda entry: entry.count, default=None)
    if largest is not None and largest.chain:
        times = [link.at_us for link in largest.chain[1:] or largest.chain]
        times += [each.at_us for each in (largest.root, largest.second_owner) if each is not None]
        return Window(max(min(times) - AROUND_US, 0), max(times) + AROUND_US)
    faults = (event.at_us for event in events if isinstance(event.what, ev.FaultBegan))
    begin_us = next(faults, 0)
    return Window(max(begin_us - AROUND_US, 0), begin_us + WITHOUT_ENTRY_US)


def diagram_of(
    events: Sequence[ev.Event], messages: Iterable[MessageCarried], window: Window
) -> Diagram:
    """Return the arrows and notes of a part of a run, at most :data:`MOST_STEPS`."""
    moved = _moved(events)
    steps = [*_arrows(messages, moved, window), *_notes(events, window)]
    steps.sort(key=lambda step: step[:2])
    return Diagram(tuple(steps[:MOST_STEPS]), window, max(len(steps) - MOST_STEPS, 0))


def mermaid(diagram: Diagram, title: str, moment: Callable[[int], str]) -> Iterator[str]:
    """Yield the lines of the diagram; *moment*: writes a time of the run."""
    begin, end = map(moment, diagram.window)
    yield f"%% rebalance-emulator: {visible(title)}, {begin} to {end}"
    yield "%% Successful heartbeats, metadata requests and fetches are left out."
    yield "sequenceDiagram"
    parties = list(dict.fromkeys(name for step in diagram.steps for name in step.parties))
    members = [name for name in parties if not name.startswith("broker-")]
    parties = sorted(members) + sorted(set(parties) - set(members))
    parties = parties or ["group"]
    for name in parties:
        yield f"  participant {_id(name)} as {_escaped(name)}"
    everyone = ",".join(dict.fromkeys(_id(name) for name in (*parties[:1], *parties[-1:])))
    for step in diagram.steps:
        text = step.text.replace("{at}", moment(step.at_us)).replace("{all}", everyone)
        yield f"  {text}"
    if diagram.left_out:
        yield f"  Note over {everyone}: {diagram.left_out} more steps until {end} are left out"


def _id(name: str) -> str:
    """Return a name that Mermaid accepts as an identifier."""
    return "p_" + "".join(each if each.isalnum() else "_" for each in name)


def _escaped(text: str) -> str:
    """Return text in which Mermaid sees no syntax.

    >>> _escaped("a; b #1")
    'a#59; b #35;1'
    """
    return "".join({"#": "#35;", ";": "#59;"}.get(each, each) for each in visible(text))


# -- arrows ------------------------------------------------------------------------------------


def _moved(events: Iterable[ev.Event]) -> frozenset[tuple[str, int]]:
    """Return when members joined, or took a step towards their target, by consumer and time."""
    return frozenset(
        (event.what.consumer, event.at_us)
        for event in events
        if isinstance(event.what, ev.MemberMoved | ev.MemberAdded | ev.GroupEpochRaised)
    )


def _arrows(
    messages: Iterable[MessageCarried], moved: frozenset[tuple[str, int]], window: Window
) -> Iterator[Step]:
    kept: set[str] = set()
    for place, message in enumerate(messages):
        at_us = message.sent_us if message.arrives_us is None else message.arrives_us
        if not _is_shown(message, moved, kept):
            continue
        kept.add(message.request)
        if not window.begin_us <= at_us <= window.end_us:
            continue
        arrow = (
            ("->>" if message.is_request else "-->>") if message.arrives_us is not None else "-x"
        )
        words = message.kind if message.is_request else f"{message.kind} response"
        words += f": {message.error}" if message.error else ""
        words += " (lost)" if message.arrives_us is None else ""
        ends = f"{_id(message.sender)}{arrow}{_id(message.receiver)}"
        text = f"{ends}: {{at}} {_escaped(words)}"
        yield Step(at_us, place, text, (message.sender, message.receiver))


def _is_shown(message: MessageCarried, moved: frozenset[tuple[str, int]], kept: set[str]) -> bool:
    if message.arrives_us is None or message.error:
        return True
    if message.kind == "ConsumerGroupHeartbeat":
        return message.request in kept or (message.sender, message.arrives_us) in moved
    return message.kind not in LEFT_OUT


# -- notes -------------------------------------------------------------------------------------


def _notes(events: Sequence[ev.Event], window: Window) -> Iterator[Step]:
    """Yield the notes; epochs that a consumer opens or closes at one time are one note."""
    together: dict[tuple[int, str, type], tuple[int, list[str]]] = {}
    for place, event in enumerate(events):
        if not window.begin_us <= event.at_us <= window.end_us:
            continue
        what: Any = event.what
        if isinstance(what, ev.EpochOpened | ev.EpochClosed):
            key = (event.at_us, what.consumer, type(what))
            offset = what.offset if isinstance(what, ev.EpochOpened) else what.processed
            together.setdefault(key, (place, []))[1].append(f"{what.partition} at {offset}")
        elif isinstance(what, NOTED):
            yield _note(event.at_us, place, getattr(what, "consumer", ""), _words(what))
    for (at_us, consumer, kind), (place, named) in together.items():
        verb = "starts" if kind is ev.EpochOpened else "stops"
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        yield _note(at_us, place, consumer, f"{verb} {', '.join(named[:MOST_NAMED])}{more}")


def _words(what: Any) -> str:
    return (
        event_text(what, NO_PARTITION)
        if not isinstance(what, ev.CommitRefused)
        else (f"commit {what.commit} is refused: {what.error}")
    )


def _note(at_us: int, place: int, consumer: str, words: str) -> Step:
    where = _id(consumer) if consumer else "{all}"
    text = f"Note over {where}: {{at}} {_escaped(words)}"
    return Step(at_us, place, text, (consumer,) if consumer else ())
