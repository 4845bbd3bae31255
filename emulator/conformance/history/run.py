"""Return a captured run as the emulator's own events, so that the same code judges both."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from emulator.conformance.captured.actions import Action
from emulator.conformance.captured.capture import Capture
from emulator.conformance.captured.client_logs import positions
from emulator.conformance.captured.coordinator_log import ids_of_topics
from emulator.conformance.captured.production import Former, Production
from emulator.conformance.captured.traces import Mark, Trace
from emulator.conformance.history.commits import commit_history
from emulator.conformance.history.consumers import ConsumerHistory, Moment, Work, consumer_history
from emulator.conformance.history.epochs import epoch_history
from emulator.conformance.history.groups import group_history
from emulator.events import (
    BrokerDown,
    BrokerUp,
    ConsumerPaused,
    ConsumerResumed,
    ConsumerStarted,
    ConsumerStopped,
    EpochClosed,
    EpochOpened,
    Event,
    FaultBegan,
    FaultEnded,
    ListenerCalled,
    PartitionsAdded,
    PartlyProcessed,
    Processed,
    RunEnded,
    RunStarted,
    TopicCreated,
    TopicDeleted,
    What,
    is_data_event,
)

KAFKA = "4.4.0"

_ORDER: tuple[type[What], ...] = (
    RunStarted,
    TopicCreated,
    TopicDeleted,
    PartitionsAdded,
    Processed,
    FaultBegan,
    FaultEnded,
    BrokerDown,
    BrokerUp,
    ConsumerStarted,
    ConsumerPaused,
    ConsumerResumed,
    PartlyProcessed,
    EpochClosed,
    ListenerCalled,
    EpochOpened,
    ConsumerStopped,
)
"""The order of events in the same microsecond; others come after these, the run's end last."""

_RANKS: Mapping[type[What], int] = {kind: rank for rank, kind in enumerate(_ORDER)}


def history(capture: Capture) -> tuple[Event, ...]:
    """Return a captured run as events, in order of time, up to the instant when all was read.

    Events have no cause, since logs and traces do not show it. Processed records are joined
    into ranges that end before the next other event of the run.
    """
    lives = {trace.name: _life(capture, trace) for trace in capture.traces}
    moments = [
        *_frame(capture),
        *_done(capture),
        *(moment for life in lives.values() for moment in life.moments),
        *commit_history(capture, lives),
        *group_history(capture),
        *epoch_history(capture),
    ]
    moments = [moment for moment in moments if moment[0] <= capture.end_us]
    cuts = sorted({at_us for at_us, _ in moments})
    for life in lives.values():
        moments += _processed(life.work, cuts, capture.group)
    moments.sort(key=_place)
    moments.append((capture.end_us, _ended(capture, lives)))
    numbers = count()
    return tuple(
        Event(None if is_data_event(what) else next(numbers), max(at_us, 0), None, what, row)
        for row, (at_us, what) in enumerate(moments)
    )


def _ended(capture: Capture, lives: Mapping[str, ConsumerHistory]) -> RunEnded:
    positions = (
        (trace.member, partition, position)
        for trace in capture.traces
        for partition, position in lives[trace.name].open
    )
    return RunEnded(log_ends=capture.ends(), positions=tuple(positions))


def _place(moment: Moment) -> tuple[int, int]:
    at_us, what = moment
    return max(at_us, 0), _RANKS.get(type(what), len(_ORDER))


def _life(capture: Capture, trace: Trace) -> ConsumerHistory:
    return consumer_history(
        trace,
        positions(capture.client_logs[trace.name]),
        group=capture.group,
        crashed_us=crashed_us(capture, trace),
        end_us=capture.end_us,
    )


def crashed_us(capture: Capture, trace: Trace) -> int | None:
    """Return the time at which an incarnation was killed, or None."""
    later = [
        other.started_us
        for other in capture.traces
        if other.member == trace.member and other.incarnation > trace.incarnation
    ]
    until_us = min(later, default=capture.end_us)
    for action in capture.actions:
        hit = action.do == "sigkill" and action.member == trace.member
        if hit and trace.started_us <= action.at_us <= until_us:
            return action.at_us
    return None


def _frame(capture: Capture) -> Iterator[Moment]:
    """Yield the events of the run itself and its topics."""
    yield 0, RunStarted(scenario=capture.name, seed=0, kafka=KAFKA)
    topics = [produced.topic for produced in capture.productions]
    ids = ids_of_topics(capture.coordinator_log, topics)
    for produced in capture.productions:
        yield from _topics_named(capture, produced, ids.get(produced.topic, ()))
    for added in capture.additions:
        acts = (a for a in capture.actions if a.do == "addparts" and a.topic == added.topic)
        at_us = next((act.at_us for act in acts), added.start_us)
        topic_id = next(iter(ids.get(added.topic, ())), added.topic)
        yield at_us, PartitionsAdded(topic=added.topic, topic_id=topic_id, partitions=added.to)


def _topics_named(capture: Capture, produced: Production, ids: Sequence[str]) -> Iterator[Moment]:
    """Yield the creations and deletions of topics of one name; without a commit the name is the id."""
    formers = (former for former in capture.formers if former.topic == produced.topic)
    incarnations: tuple[Former | Production, ...] = (*formers, produced)
    for number, each in enumerate(incarnations):
        topic_id = ids[number] if number < len(ids) else produced.topic
        starts = (0,) * each.partitions
        created = TopicCreated(topic=produced.topic, topic_id=topic_id, log_starts=starts)
        yield each.created_us, created
        if isinstance(each, Former):
            ends = (
                a.at_us for a in capture.actions if a.do == "deltopic" and a.topic == each.topic
            )
            at_us = next((at_us for at_us in ends if at_us > each.created_us), each.created_us)
            yield at_us, TopicDeleted(topic=produced.topic, topic_id=topic_id)


def _done(capture: Capture) -> Iterator[Moment]:
    """Yield the faults and actions; an end has the id of its latest begin."""
    begun: dict[tuple[str, str], str] = {}
    for number, action in enumerate(capture.actions, start=1):
        verb, _, ends = (action.do if action.verb is None else action.verb).partition(" ")
        target = _target(capture, action)
        if verb and not ends:
            fault = begun[verb, target] = f"{verb}-{number}"
            yield action.at_us, FaultBegan(fault=fault, verb=verb, target=target)
            yield from _hang_ends(capture, action, fault)
        elif verb:
            fault = begun.get((verb, target), verb)
            yield action.at_us, FaultEnded(fault=fault, verb=verb, target=target)
        yield from _effects_of(action)


def _target(capture: Capture, action: Action) -> str:
    broker = None if action.broker is None else f"broker-{action.broker}"
    return action.member or action.topic or broker or capture.group


def _hang_ends(capture: Capture, action: Action, fault: str) -> Iterator[Moment]:
    if action.do == "hang" and action.member is not None:
        ends = (
            entry.at_us
            for trace in capture.traces
            for entry in trace.entries
            if trace.member == action.member
            and isinstance(entry, Mark)
            and entry.kind == "hangend"
            and entry.at_us >= action.at_us
        )
        if (at_us := next(ends, None)) is not None:
            yield at_us, FaultEnded(fault=fault, verb="hang", target=action.member)


def _effects_of(action: Action) -> Iterator[Moment]:
    """Yield the immediate effects of an action on a process or broker."""
    match action:
        case Action(do="sigstop", member=str(member)):
            yield action.at_us, ConsumerPaused(consumer=member)
        case Action(do="sigcont", member=str(member)):
            yield action.at_us, ConsumerResumed(consumer=member)
        case Action(verb="crash_broker" | "pause_broker", broker=int(broker)):
            yield action.at_us, BrokerDown(broker=broker)
        case Action(verb="crash_broker ends" | "pause_broker ends", broker=int(broker)):
            yield action.at_us, BrokerUp(broker=broker)
        case _:
            pass


def _processed(work: Iterable[Work], cuts: Sequence[int], group: str) -> Iterator[Moment]:
    """Join consecutive records of one poll without another event between them."""
    run: list[Work] = []
    for record in work:
        if run and not _follows(run[-1], record, cuts):
            yield _range(run, group)
            run = []
        run.append(record)
    if run:
        yield _range(run, group)


def _follows(last: Work, record: Work, cuts: Sequence[int]) -> bool:
    same = (last.poll, last.generation, last.partition) == (
        record.poll,
        record.generation,
        record.partition,
    )
    together = bisect_left(cuts, last.at_us) == bisect_left(cuts, record.at_us)
    return same and together and record.offset == last.offset + 1


def _range(run: Sequence[Work], group: str) -> Moment:
    first, last = run[0], run[-1]
    processed = Processed(
        consumer=first.consumer,
        group=group,
        generation=first.generation,
        partition=first.partition,
        first=first.offset,
        next_offset=last.offset + 1,
        began_us=first.began_us,
    )
    return last.at_us, processed
