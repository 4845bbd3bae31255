"""A part of a run as a sequence diagram in the language of Mermaid.

Messages are arrows between members and brokers at the time of their arrival; what members and
groups do are notes. Ordinary heartbeats and metadata are left out, and the diagram says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator import events as ev
from emulator.events.messages import MessageCarried
from emulator.ledger.entries import Entry
from emulator.report.event_wording import event_text
from emulator.report.wording import visible

MAX_STEPS = 300
"""Arrows and notes; larger diagrams cannot be read, and Mermaid refuses them."""

MAX_TEXT = 45_000
"""Characters of a diagram; Mermaid draws none of more than 50,000 (``maxTextSize``)."""

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
MAX_NAMED = 3
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

    head: str
    """An arrow between two parties, or where a note stands; empty: a note over all parties."""

    words: str
    parties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    """The steps of a window."""

    steps: tuple[Step, ...]
    window: Window
    left_out: int
    """Steps beyond the last one that is shown."""

    ids: Mapping[str, str]
    """By party: its identifier in the diagram."""


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
    """Return the arrows and notes of a part of a run, at most :data:`MAX_STEPS`."""
    messages, moved = tuple(messages), _moved(events)
    names = {name for each in messages for name in (each.sender, each.receiver)}
    ids = _identifiers(names | {getattr(event.what, "consumer", "") for event in events})
    steps = [*_arrows(messages, moved, window, ids), *_notes(events, window, ids)]
    steps.sort(key=lambda step: step[:2])
    return Diagram(tuple(steps[:MAX_STEPS]), window, max(len(steps) - MAX_STEPS, 0), ids)


def mermaid(diagram: Diagram, title: str, moment: Callable[[int], str]) -> Iterator[str]:
    """Yield the lines of the diagram; *moment*: writes a time of the run."""
    begin, end = map(moment, diagram.window)
    yield f"%% rebalance-emulator: {_escaped(title)}, {begin} to {end}"
    yield "%% Successful heartbeats, metadata requests and fetches are left out."
    yield "sequenceDiagram"
    ids = diagram.ids
    parties = list(dict.fromkeys(name for step in diagram.steps for name in step.parties))
    members = [name for name in parties if not name.startswith("broker-")]
    parties = sorted(members) + sorted(set(parties) - set(members))
    yield from (f"  participant {ids[name]} as {_alias(name)}" for name in parties)
    if not parties:
        yield "  participant p_group as group"
    ends = [ids[name] for name in (*parties[:1], *parties[-1:])] or ["p_group"]
    everyone = f"Note over {','.join(dict.fromkeys(ends))}"
    size, left_out = 0, diagram.left_out
    for step in diagram.steps:
        line = f"  {step.head or everyone}: {moment(step.at_us)} {step.words}"
        size += len(line) + 1
        if size <= MAX_TEXT:
            yield line
        else:
            left_out += 1
    if left_out:
        yield f"  {everyone}: {left_out} more steps until {end} are left out"


def _identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return identifiers that Mermaid accepts, by name, no two of them the same.

    >>> _identifiers(["a.b", "a-b"])
    {'a-b': 'p_a_b', 'a.b': 'p_a_b_2'}
    """
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        plain = "p_" + "".join(each if each.isalnum() else "_" for each in name)
        number = 1
        while (made := plain if number == 1 else f"{plain}_{number}") in taken:
            number += 1
        taken.add(made)
        ids[name] = made
    return ids


_SYNTAX = re.compile(r"[#;<>&]|%(?=%)|(?<=%)%|\$(?=\$)|(?<=\$)\$")
"""Entities and tags of HTML, directives (``%%{``) and formulas (``$$``)."""


def _escaped(text: str) -> str:
    """Return text in which Mermaid sees no syntax.

    >>> _escaped("a; b #1 at 50%, <b> %%")
    'a#59; b #35;1 at 50%, #60;b#62; #37;#37;'
    """
    return _SYNTAX.sub(lambda found: f"#{ord(found[0])};", visible(text))


def _alias(name: str) -> str:
    """Return the name of a participant; Mermaid takes ``wrap:`` before it for an instruction."""
    return re.sub(r"^((?:no)?wrap):", r"\1#58;", _escaped(name))


# -- arrows ------------------------------------------------------------------------------------


def _moved(events: Iterable[ev.Event]) -> frozenset[tuple[str, int]]:
    """Return when members joined, or took a step towards their target, by consumer and time."""
    return frozenset(
        (event.what.consumer, event.at_us)
        for event in events
        if isinstance(event.what, ev.MemberMoved | ev.MemberAdded | ev.GroupEpochRaised)
    )


def _arrows(
    messages: Iterable[MessageCarried],
    moved: frozenset[tuple[str, int]],
    window: Window,
    ids: Mapping[str, str],
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
        parties = (message.sender, message.receiver)
        head = f"{ids[message.sender]}{arrow}{ids[message.receiver]}"
        yield Step(at_us, place, head, _escaped(words), parties)


def _is_shown(message: MessageCarried, moved: frozenset[tuple[str, int]], kept: set[str]) -> bool:
    if message.arrives_us is None or message.error:
        return True
    if message.kind == "ConsumerGroupHeartbeat":
        return message.request in kept or (message.sender, message.arrives_us) in moved
    return message.kind not in LEFT_OUT


# -- notes -------------------------------------------------------------------------------------


def _notes(events: Sequence[ev.Event], window: Window, ids: Mapping[str, str]) -> Iterator[Step]:
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
            over = getattr(what, "consumer", "")
            yield _note(event.at_us, place, over, _words(what), ids)
    for (at_us, consumer, kind), (place, named) in together.items():
        verb = "starts" if kind is ev.EpochOpened else "stops"
        more = f" and {len(named) - MAX_NAMED} more" if len(named) > MAX_NAMED else ""
        words = f"{verb} {', '.join(named[:MAX_NAMED])}{more}"
        yield _note(at_us, place, consumer, words, ids)


def _words(what: Any) -> str:
    return (
        event_text(what, NO_PARTITION)
        if not isinstance(what, ev.CommitRefused)
        else (f"commit {what.commit} is refused: {what.error}")
    )


def _note(at_us: int, place: int, consumer: str, words: str, ids: Mapping[str, str]) -> Step:
    head, parties = (f"Note over {ids[consumer]}", (consumer,)) if consumer else ("", ())
    return Step(at_us, place, head, _escaped(words), parties)
