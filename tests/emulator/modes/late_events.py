"""Events written anew: data events late, and undisturbed commits only counted.

This goes as far as the guarantee of :mod:`emulator.events` allows: the data events of a consumer
wait until something concerns it, and are then written late, or in sums.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from emulator import events as ev

COMMIT_ONLY = {"OffsetCommit"}
COMMIT_EVENTS = (ev.CommitSent, ev.CommitAccepted, ev.CommitAnswered)

LONGEST_PERIOD = 4
"""The most events of one partition's processing that are looked for as a period."""

_WORDS = re.compile(r"[^\s,|<>()\[\]]+")


class Rewriter:
    """Writes the events of a run again; *counted*: undisturbed work and commits in sums."""

    def __init__(self, events: tuple[ev.Event, ...], *, counted: bool) -> None:
        self.written: list[ev.Event] = []
        self.delayed = self.dropped = 0
        self._counted = counted
        self._ordinary = ordinary_commits(events, counted=counted)
        self._waiting: dict[str | int, list[ev.Event]] = defaultdict(list)
        """By consumer, and by partition of the offsets log."""

        self._holders: dict[tuple, set[str]] = defaultdict(set)
        self._newest_epoch: dict[int, int] = defaultdict(int)
        """By partition of the offsets log: that of the newest leader that has loaded it."""

        for event in events:
            self._add(event)

    def _add(self, event: ev.Event) -> None:
        what = event.what
        key = getattr(what, "log_partition", None) if isinstance(what, ev.Appended) else None
        if key is None and ev.is_data_event(what):
            key = what.consumer
        if key is not None and self._is_ordinary(what):
            self._waiting[key].append(event)
            return
        self._release(sorted(set(self._concerned(event, key)), key=str))
        self._follow(what)
        self._write(event)

    def _is_ordinary(self, what: ev.What) -> bool:
        """Return whether a data event shows undisturbed work."""
        match what:
            case ev.Appended():
                of_commits = {kind for kind, _ in what.records} == COMMIT_ONLY
                return of_commits and what.leader_epoch >= self._newest_epoch[what.log_partition]
            case ev.CommitAnswered():
                return what.commit in self._ordinary
            case ev.CommitSent() | ev.CommitAccepted():
                owned = all(self._is_alone(what, partition) for partition, _ in what.offsets)
                return owned and what.commit in self._ordinary
            case ev.Processed():
                return self._is_alone(what, what.partition)
        return False

    def _is_alone(self, what: ev.What, partition: object) -> bool:
        """Return whether the consumer of an event is the only owner of a partition."""
        return self._holders[what.group, partition] == {what.consumer}

    def _concerned(self, event: ev.Event, key: str | int | None) -> Iterator[str | int]:
        """Yield the consumers and offsets partitions whose waiting events come before this one."""
        what = event.what
        yield from self._owners_concerned(what)
        if key is not None:
            yield key
        if isinstance(what, ev.FaultBegan | ev.FaultEnded):
            yield from self._struck(event)
        if isinstance(what, ev.RunEnded):
            yield from self._waiting
        for name in ("consumer", "sender", "receiver", "log_partition"):
            named = getattr(what, name, None)
            if named is not None:
                yield named

    def _follow(self, what: ev.What) -> None:
        """Note who owns which partition, and which leaders have loaded the offsets log."""
        match what:
            case ev.EpochOpened():
                self._holders[what.group, what.partition].add(what.consumer)
            case ev.EpochClosed():
                self._holders[what.group, what.partition].discard(what.consumer)
            case ev.CoordinatorLoaded():
                known = self._newest_epoch[what.log_partition]
                self._newest_epoch[what.log_partition] = max(known, what.leader_epoch)

    def _owners_concerned(self, what: ev.What) -> Iterator[str]:
        """Yield the owners of the partitions that an event opens, commits or takes from."""
        for (group, partition), owners in self._holders.items():
            match what:
                case ev.EpochOpened(partition=opened):
                    concerned = what.group == group and partition == opened
                case ev.CommitAccepted(offsets=offsets):
                    concerned = what.group == group and partition in dict(offsets)
                case ev.OffsetsDropped(partitions=dropped):
                    concerned = what.group == group and partition in dropped
                case ev.RecordsTruncated(partition=truncated):
                    concerned = partition == truncated
                case ev.TopicDeleted(topic=topic):
                    concerned = partition.topic == topic
                case _:
                    return
            if concerned:
                yield from owners

    def _struck(self, event: ev.Event) -> Iterator[str]:
        """Yield the consumers that a fault names, if something happened to them at its instant."""
        for name in _WORDS.findall(event.what.target):
            if any(waiting.at_us == event.at_us for waiting in self._waiting.get(name, ())):
                yield name

    def _release(self, keys: list[str | int]) -> None:
        """Write what waits under some keys."""
        late = [event for key in keys for event in self._summed(self._waiting.pop(key, []))]
        for event in sorted(late, key=lambda event: event.instant):
            self._write(event)

    def _write(self, event: ev.Event) -> None:
        self.delayed += bool(self.written) and event.at_us < self.written[-1].at_us
        self.written.append(event._replace(row=len(self.written)))

    # -- counting --------------------------------------------------------------------------------

    def _summed(self, waiting: list[ev.Event]) -> list[ev.Event]:
        if not self._counted or not waiting:
            return waiting
        if isinstance(waiting[0].what, ev.Appended):
            return list(_appends(waiting))
        commits, left_out = _commits([e for e in waiting if isinstance(e.what, COMMIT_EVENTS)])
        self.dropped += left_out
        return [*commits, *_work([e for e in waiting if isinstance(e.what, ev.Processed)])]


def _commits(waiting: list[ev.Event]) -> tuple[list[ev.Event], int]:
    """Keep the last accepted commit of each partition, and count the others."""
    last = {
        (event.what.group, partition): event.what.commit
        for event in waiting
        if isinstance(event.what, ev.CommitAccepted)
        for partition, _ in event.what.offsets
    }
    events_of = Counter(event.what.commit for event in waiting)
    whole = {commit for commit, events in events_of.items() if events == len(COMMIT_EVENTS)}
    left_out = whole - set(last.values())
    kept = [event for event in waiting if event.what.commit not in left_out]
    gone = [e for e in waiting if isinstance(e.what, ev.CommitSent) and e.what.commit in left_out]
    if gone:
        sent = gone[-1].what
        ahead = sum(is_ahead(event.what) for event in gone)
        what = ev.CommitsCounted(
            consumer=sent.consumer, group=sent.group, commits=len(gone), ahead=ahead
        )
        kept.append(gone[-1]._replace(what=what))
    return kept, len(gone)


def _work(waiting: list[ev.Event]) -> Iterator[ev.Event]:
    """Sum up the work on each partition: equal periods together, what is left as one period."""
    parts: dict[tuple, list[ev.Event]] = defaultdict(list)
    for event in waiting:
        parts[event.what.group, event.what.partition].append(event)
    for left in parts.values():
        while left:
            length, times = _periods(left)
            yield _progress(left[: length * times], length)
            del left[: length * times]


def _periods(events: list[ev.Event]) -> tuple[int, int]:
    """Return the length and number of the equal periods with which the work begins."""
    ends = [(event.what.next_offset, event.at_us) for event in events]
    begun = events[0].what.first
    for length in range(1, LONGEST_PERIOD + 1):
        if len(ends) < 2 * length:
            break
        records, took_us = ends[length - 1][0] - begun, ends[length][1] - ends[0][1]
        at = length
        while at < len(ends) and ends[at] == (
            ends[at - length][0] + records,
            ends[at - length][1] + took_us,
        ):
            at += 1
        if at >= 2 * length:
            return length, at // length
    return min(len(ends), LONGEST_PERIOD), 1


def _progress(events: list[ev.Event], length: int) -> ev.Event:
    begun, last = events[0].what, events[-1]
    what = ev.ProgressCounted(
        consumer=begun.consumer,
        group=begun.group,
        generation=begun.generation,
        partition=begun.partition,
        first=begun.first,
        next_offset=last.what.next_offset,
        began_us=begun.began_us,
        ends=tuple((event.what.next_offset, event.at_us) for event in events[:length]),
        every_us=events[length].at_us - events[0].at_us if len(events) > length else 0,
    )
    return last._replace(what=what)


def _appends(waiting: list[ev.Event]) -> Iterator[ev.Event]:
    """Sum up equal appends at equal intervals."""
    alike: dict[tuple, list[ev.Event]] = defaultdict(list)
    for event in waiting:
        alike[event.what.group, event.what.records, event.what.size].append(event)
    for left in alike.values():
        while left:
            series = [left[0]]
            for event in left[1:]:
                every_us = (series[1:] or [event])[0].at_us - series[0].at_us
                if event.at_us == series[-1].at_us + every_us:
                    series.append(event)
            yield _counted_appends(series)
            left[:] = [event for event in left if event not in series]


def _counted_appends(series: list[ev.Event]) -> ev.Event:
    what = series[-1].what
    counted = ev.AppendsCounted(
        log_partition=what.log_partition,
        group=what.group,
        records=what.records,
        size=what.size,
        times=len(series),
        every_us=series[1].at_us - series[0].at_us if len(series) > 1 else 0,
    )
    return series[-1]._replace(what=counted)


def ordinary_commits(events: tuple[ev.Event, ...], *, counted: bool) -> set[str]:
    """Return the commits that were accepted and answered, without a control event in between.

    *counted*: without the first one of each consumer that is ahead of processing, and those that
    lower a committed offset.
    """
    ahead = set[str]()
    open_commits: dict[str, ev.CommitSent] = {}
    accepted, ordinary = set[str](), set[str]()
    committed: dict[tuple, int] = {}
    for event in events:
        what = event.what
        match what:
            case ev.CommitSent() if counted and is_ahead(what) and what.consumer not in ahead:
                ahead.add(what.consumer)
            case ev.CommitSent() if what.kind != "admin":
                open_commits[what.commit] = what
            case ev.CommitAccepted():
                lower = [o for tp, o in what.offsets if o < committed.get((what.group, tp), o)]
                committed |= {(what.group, tp): offset for tp, offset in what.offsets}
                if what.commit in open_commits and not (counted and lower):
                    accepted.add(what.commit)
            case ev.CommitAnswered(commit=commit, error="NONE"):
                if open_commits.pop(commit, None) is not None and commit in accepted:
                    ordinary.add(commit)
            case _ if not ev.is_data_event(what):
                named = {getattr(what, n, None) for n in ("consumer", "sender", "receiver")}
                for commit in [c for c, sent in open_commits.items() if sent.consumer in named]:
                    del open_commits[commit]
    return ordinary


def is_ahead(what: ev.CommitSent) -> bool:
    return any(o > done >= 0 for (_, o), done in zip(what.offsets, what.processed, strict=True))
