"""Lay out a run on tracks: faults, brokers, and for each group its phases, members, partitions.

Arrows lead from a request to its handling at the broker, from there to its response, and from the
first processing of a record to a further one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assignors.types import TopicPartition
from emulator import events as ev
from emulator.events.messages import FETCH, MessageCarried
from emulator.ledger.entries import Entry, EntryKind
from emulator.report.fault_wording import fault_text
from emulator.report.group_state import RULES, Describer
from emulator.report.traces.tracks import Slice, Track, Tracks
from emulator.report.wording import offset_range

FAULTS = "Faults"
BROKERS = "Brokers"


def lay_out(
    events: Sequence[ev.Event], messages: Iterable[MessageCarried], entries: Iterable[Entry]
) -> Tracks:
    """Return the tracks of a run; *events*: with each poll, the records of a batch one by one."""
    tracks = Tracks()
    _order(tracks, events)
    end_us = events[-1].at_us if events else 0
    groups = _add_members(tracks, events, end_us)
    _add_faults(tracks, events, end_us)
    _add_phases(tracks, events, end_us)
    _add_owners(tracks, events, end_us)
    work = _add_work(tracks, events)
    _add_lag(tracks, events)
    _add_messages(tracks, messages, groups)
    _add_entries(tracks, entries, work)
    return tracks


def phases_of(group: str) -> Track:
    """Return the track of a group's phases."""
    return Track(f"Group {group}", "phases")


def member_of(group: str, consumer: str, what: str = "") -> Track:
    """Return a track of a member; *what*: its requests, its listener."""
    return Track(f"Members of {group}", f"{consumer}: {what}" if what else consumer)


def partition_of(group: str, partition: TopicPartition) -> Track:
    """Return the track of a partition's owners."""
    return Track(f"Partitions of {group}", str(partition))


def _order(tracks: Tracks, events: Iterable[ev.Event]) -> None:
    """Set the order of the tracks: faults, phases, members and partitions by name, brokers."""
    groups: dict[str, tuple[set[str], set[TopicPartition]]] = {}
    for event in events:
        match event.what:
            case ev.ConsumerStarted(group=group, consumer=consumer):
                groups.setdefault(group, (set(), set()))[0].add(consumer)
            case ev.EpochOpened(group=group, partition=partition):
                groups.setdefault(group, (set(), set()))[1].add(partition)
    tracks.order[Track(FAULTS, "faults")] = None
    for group, (consumers, partitions) in groups.items():
        tracks.order[phases_of(group)] = None
        for consumer in sorted(consumers, key=_by_number):
            for what in ("", "listener", "requests", "fetches"):
                tracks.order[member_of(group, consumer, what)] = None
        for partition in sorted(partitions):
            tracks.order[partition_of(group, partition)] = None


def _by_number(name: str) -> tuple[str, int, str]:
    """Return a sort key by which ``billing-2`` precedes ``billing-10``."""
    stem, _, number = name.rpartition("-")
    return (stem, int(number), name) if number.isdecimal() else (name, -1, name)


# -- faults, phases, owners --------------------------------------------------------------------


def _add_faults(tracks: Tracks, events: Iterable[ev.Event], end_us: int) -> None:
    began: dict[str, ev.Event] = {}
    track = Track(FAULTS, "faults")
    for event in events:
        match event.what:
            case ev.FaultBegan(fault=fault):
                began[fault] = event
            case ev.FaultEnded(fault=fault) if fault in began:
                _add_fault(tracks, track, began.pop(fault), event.at_us)
            case ev.BrokerDown(broker=broker):
                tracks.instants.append((track, event.at_us, f"broker {broker} down", {}))
            case ev.BrokerUp(broker=broker):
                tracks.instants.append((track, event.at_us, f"broker {broker} up", {}))
    for event in began.values():
        _add_fault(tracks, track, event, end_us)


def _add_fault(tracks: Tracks, track: Track, began: ev.Event, end_us: int) -> None:
    what = began.what
    assert isinstance(what, ev.FaultBegan)
    tracks.add(track, began.at_us, end_us, fault_text(what), {"fault": what.fault})


def _add_phases(tracks: Tracks, events: Iterable[ev.Event], end_us: int) -> None:
    """Add a slice for each state of each group, and an instant for each reason to rebalance."""
    describer = Describer()
    since: dict[str, tuple[str, int, int]] = {}
    for event in events:
        what: Any = event.what
        if isinstance(what, ev.RebalanceStarted | ev.GroupEpochRaised):
            tracks.instants.append((phases_of(what.group), event.at_us, what.reason, {}))
        describer.feed(event)
        if type(what) not in RULES:
            continue
        for group in describer.groups:
            state, epoch, begin_us = since.get(group.group, ("", 0, 0))
            if (group.state, group.epoch) != (state, epoch):
                if state:
                    _add_phase(tracks, group.group, state, epoch, (begin_us, event.at_us))
                since[group.group] = (group.state, group.epoch, event.at_us)
    for name, (state, epoch, begin_us) in since.items():
        _add_phase(tracks, name, state, epoch, (begin_us, end_us))


def _add_phase(
    tracks: Tracks, group: str, state: str, epoch: int, between_us: tuple[int, int]
) -> None:
    if between_us[0] < between_us[1]:
        tracks.add(phases_of(group), *between_us, f"{state} {epoch}", {"generation": epoch})


def _add_owners(tracks: Tracks, events: Iterable[ev.Event], end_us: int) -> None:
    held: dict[tuple[str, TopicPartition], ev.Event] = {}
    for event in events:
        what = event.what
        if isinstance(what, ev.EpochOpened):
            held[what.consumer, what.partition] = event
        elif isinstance(what, ev.EpochClosed):
            opened = held.pop((what.consumer, what.partition), None)
            if opened is not None:
                args = {"ended": what.why, "processed up to": what.processed}
                _add_owner(tracks, opened, event.at_us, args)
    for opened in held.values():
        _add_owner(tracks, opened, end_us, {})


def _add_owner(tracks: Tracks, opened: ev.Event, end_us: int, args: dict[str, Any]) -> None:
    what = opened.what
    assert isinstance(what, ev.EpochOpened)
    began = {"generation": what.generation, "offset": what.offset, "from": what.source}
    track = partition_of(what.group, what.partition)
    tracks.add(track, opened.at_us, end_us, what.consumer, {**began, **args})


# -- members -----------------------------------------------------------------------------------


def _add_members(tracks: Tracks, events: Iterable[ev.Event], end_us: int) -> dict[str, str]:
    """Add listener calls and pauses of each member; return the group by member."""
    groups: dict[str, str] = {}
    paused: dict[str, int] = {}
    for event in events:
        match event.what:
            case ev.ConsumerStarted(consumer=consumer, group=group):
                groups[consumer] = group
            case ev.ListenerCalled(consumer=consumer, group=group, call=call) as what if what.made:
                args = {"partitions": ", ".join(map(str, what.partitions))}
                track = member_of(group, consumer, "listener")
                tracks.add(track, what.began_us, event.at_us, call, args)
            case ev.ConsumerPaused(consumer=consumer):
                paused[consumer] = event.at_us
            case ev.ConsumerResumed(consumer=consumer) if consumer in paused:
                track = member_of(groups[consumer], consumer, "listener")
                tracks.add(track, paused.pop(consumer), event.at_us, "paused")
            case ev.ConsumerStopped(consumer=consumer, group=group, how=how, reason=reason):
                track = member_of(group, consumer)
                args = {"reason": reason} if reason else {}
                tracks.instants.append((track, event.at_us, f"process ends: {how}", args))
    for consumer, begin_us in paused.items():
        tracks.add(member_of(groups[consumer], consumer, "listener"), begin_us, end_us, "paused")
    return groups


def _add_work(tracks: Tracks, events: Iterable[ev.Event]) -> dict[TopicPartition, list[Slice]]:
    """Add polls and the work on their records; return the work by partition, in order."""
    work: dict[TopicPartition, list[Slice]] = {}
    current: dict[str, Slice] = {}
    free_us: dict[str, int] = {}
    for event in events:
        match event.what:
            case ev.ConsumerStarted(consumer=consumer):
                free_us[consumer] = event.at_us
            case ev.Polled(consumer=consumer, group=group, ranges=ranges):
                records = sum(end - first for _, first, end in ranges)
                args = {str(tp): offset_range(first, end) for tp, first, end in ranges}
                begin_us = min(free_us.get(consumer, event.at_us), event.at_us)
                track = member_of(group, consumer)
                tracks.add(track, begin_us, event.at_us, f"poll: {records}", args)
                current.pop(consumer, None)
                free_us[consumer] = event.at_us
            case ev.Processed(consumer=consumer, partition=partition) as what:
                known = current.get(consumer)
                if known is not None and known.args["next"] == (partition, what.first):
                    known.end_us = event.at_us
                else:
                    track = member_of(what.group, consumer)
                    known = tracks.add(track, what.began_us, event.at_us, "")
                    known.args["first"] = what.first
                    current[consumer] = known
                    work.setdefault(partition, []).append(known)
                known.args["next"] = (partition, what.next_offset)
                free_us[consumer] = event.at_us
            case ev.ProcessedOutOfOrder(consumer=consumer, partition=partition) as what:
                track = member_of(what.group, consumer, "workers out of order")
                made = tracks.add(track, what.began_us, event.at_us, "")
                made.args |= {"first": what.first, "next": (partition, what.next_offset)}
                work.setdefault(partition, []).append(made)
    _name_work(work)
    return work


def _name_work(work: dict[TopicPartition, list[Slice]]) -> None:
    for partition, slices in work.items():
        for each in slices:
            each.args["next"] = each.args["next"][1]
            each.name = f"{partition} {offset_range(each.args['first'], each.args['next'])}"


def _add_lag(tracks: Tracks, events: Iterable[ev.Event]) -> None:
    """Add the lag of each partition, behind committed and behind processed offsets."""
    for event in events:
        what = event.what
        if not isinstance(what, ev.LagSampled):
            continue
        group, total = f"Partitions of {what.group}", 0
        columns = zip(what.partitions, what.log_ends, what.processed, strict=True)
        for partition, log_end, processed in columns:
            lag = log_end - max(processed, 0)
            total += lag
            tracks.counters.append((group, event.at_us, f"lag of {partition}", lag))
        tracks.counters.append((f"Group {what.group}", event.at_us, "lag", total))


# -- messages ----------------------------------------------------------------------------------


def _add_messages(
    tracks: Tracks, messages: Iterable[MessageCarried], groups: dict[str, str]
) -> None:
    """Add requests at their sender and at the broker, with arrows there and back."""
    sent: dict[str, tuple[MessageCarried, Slice]] = {}
    for message in messages:
        if message.is_request:
            track = _sender(message, groups)
            args = {} if message.kind == FETCH else {"request": message.request}
            if message.arrives_us is None:
                args["outcome"] = "lost"
            made = tracks.add(track, message.sent_us, message.sent_us, message.kind, args)
            sent[message.request] = (message, made)
        elif message.request in sent:
            _answer(tracks, message, *sent.pop(message.request))
    for request, made in sent.values():
        if request.arrives_us is not None:
            _handled(tracks, request, request.arrives_us, made)


def _sender(request: MessageCarried, groups: dict[str, str]) -> Track:
    """Return the track of a member's fetches or other requests, or that of another sender."""
    if request.sender not in groups:
        return Track(FAULTS, request.sender)
    what = "fetches" if request.kind == FETCH else "requests"
    return member_of(groups[request.sender], request.sender, what)


def _answer(
    tracks: Tracks, response: MessageCarried, request: MessageCarried, asked: Slice
) -> None:
    """Add the handling of a request at the broker, and its response."""
    assert request.arrives_us is not None, "a request that is answered has arrived"
    handled = _handled(tracks, request, response.sent_us, asked)
    if response.error:
        handled.args["error"] = asked.args["error"] = response.error
    if response.arrives_us is None:
        handled.args["response"] = "lost"
        return
    asked.end_us = response.arrives_us + 1
    name = f"{response.kind} response"
    answered = tracks.add(
        asked.track, response.arrives_us, asked.end_us, name, _error_of(response), asked
    )
    tracks.flows.append(("response", handled, answered))


def _error_of(response: MessageCarried) -> dict[str, str]:
    return {} if response.kind == FETCH else {"error": response.error}


def _handled(tracks: Tracks, request: MessageCarried, end_us: int, asked: Slice) -> Slice:
    assert request.arrives_us is not None
    name = f"{request.kind} of {request.sender}"
    fetches = ": fetches" if request.kind == FETCH else ""
    track = Track(BROKERS, f"{request.receiver}{fetches}")
    args = {} if request.kind == FETCH else {"request": request.request}
    made = tracks.add(track, request.arrives_us, end_us, name, args)
    tracks.flows.append(("request", asked, made))
    return made


# -- the ledger --------------------------------------------------------------------------------


def _add_entries(
    tracks: Tracks, entries: Iterable[Entry], work: dict[TopicPartition, list[Slice]]
) -> None:
    """Mark duplicates, with an arrow from the first processing, and losses."""
    for entry in entries:
        partition = entry.topic_partition
        text = f"{entry.id}: {entry.kind} {offset_range(entry.first, entry.last + 1)}"
        args = {"cause": str(entry.cause or ""), "offsets": f"{entry.first}..{entry.last}"}
        owner = entry.second_owner or entry.first_owner
        if owner is not None:
            track = partition_of(entry.group, partition)
            tracks.instants.append((track, owner.at_us, text, args))
        if entry.kind is EntryKind.REPROCESSED:
            _connect(tracks, entry, work.get(partition, ()))


def _connect(tracks: Tracks, entry: Entry, work: Sequence[Slice]) -> None:
    """Add the arrow from the first processing of an entry's first record to the second one."""
    one, other = entry.first_owner, entry.second_owner
    if one is None or other is None:
        return
    both = [each for each in work if each.args["first"] <= entry.first < each.args["next"]]
    first = next((each for each in both if _is_of(each, one.consumer)), None)
    second = next(
        (
            each
            for each in both
            if _is_of(each, other.consumer) and each.end_us >= other.at_us and each is not first
        ),
        None,
    )
    if first is None or second is None:
        return
    second.args["duplicate of"] = entry.id
    tracks.flows.append((f"duplicate {entry.id}", first, second))


def _is_of(work: Slice, consumer: str) -> bool:
    return work.track.name.partition(":")[0] == consumer
