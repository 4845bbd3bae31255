"""Ledger, metrics and findings do not depend on when the events of ordinary work are written.

A recorded run is written anew: the data events of undisturbed work wait until the next control
event that concerns their consumer, or their partition of the offsets log. They are then written
late, or all but the last accepted commit of each partition are only counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

import emulator
from emulator import events as ev
from emulator.ledger.entries import Ledger
from emulator.metrics.metrics import measure
from emulator.playing import Run, is_mistaken
from emulator.scenario import catalogue

SECOND = 1_000_000
COMMIT_ONLY = {"OffsetCommit"}
COMMIT_EVENTS = (ev.CommitSent, ev.CommitAccepted, ev.CommitAnswered)


class Rewriter:
    """Writes the events of a run again; *counted*: undisturbed commits are only counted."""

    def __init__(self, events: tuple[ev.Event, ...], *, counted: bool) -> None:
        self.written: list[ev.Event] = []
        self.delayed = self.dropped = 0
        self._counted = counted
        self._ordinary = ordinary_commits(events)
        self._waiting: dict[str | int, list[ev.Event]] = defaultdict(list)
        """By consumer, and by partition of the offsets log."""

        self._frontier: dict[tuple, int] = {}
        self._holders: dict[tuple, set[str]] = defaultdict(set)
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
        self._write(event)

    def _is_ordinary(self, what: ev.What) -> bool:
        """Return whether a data event shows undisturbed work."""
        if isinstance(what, ev.Appended):
            return {kind for kind, _ in what.records} == COMMIT_ONLY
        if isinstance(what, COMMIT_EVENTS):
            return what.commit in self._ordinary
        if not isinstance(what, ev.Processed):
            return False
        known = self._frontier.get((what.group, what.partition), what.first)
        self._frontier[what.group, what.partition] = max(known, what.next_offset)
        return what.first >= known and len(self._holders[what.group, what.partition]) == 1

    def _concerned(self, event: ev.Event, key: str | int | None) -> Iterator[str | int]:
        """Yield the consumers and offsets partitions whose waiting events come before this one."""
        what = event.what
        if key is not None:
            yield key
        if isinstance(what, ev.CommitAccepted):
            for partition, _ in what.offsets:
                yield from self._holders[what.group, partition]
        if isinstance(what, ev.EpochOpened):
            yield from self._holders[what.group, what.partition]
            self._holders[what.group, what.partition].add(what.consumer)
        if isinstance(what, ev.EpochClosed):
            self._holders[what.group, what.partition].discard(what.consumer)
        if isinstance(what, ev.RunEnded):
            yield from self._waiting
        for name in ("consumer", "sender", "receiver", "log_partition"):
            named = getattr(what, name, None)
            if named is not None:
                yield named

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
        what = ev.CommitsCounted(consumer=sent.consumer, group=sent.group, commits=len(gone))
        kept.append(gone[-1]._replace(what=what))
    return kept, len(gone)


def _work(waiting: list[ev.Event]) -> Iterator[ev.Event]:
    """Merge the work of each partition."""
    parts: dict[tuple, list[ev.Event]] = defaultdict(list)
    for event in waiting:
        parts[event.what.group, event.what.partition].append(event)
    for events in parts.values():
        begun, last = events[0].what, events[-1]
        yield last._replace(what=replace(last.what, first=begun.first, began_us=begun.began_us))


def _appends(waiting: list[ev.Event]) -> Iterator[ev.Event]:
    """Keep the last append of each second, and count the others."""
    last = {event.at_us // SECOND: event.row for event in waiting}
    for event in waiting:
        what = event.what
        if last[event.at_us // SECOND] != event.row:
            what = ev.AppendsCounted(
                log_partition=what.log_partition,
                group=what.group,
                records=what.records,
                size=what.size,
            )
        yield event._replace(what=what)


def ordinary_commits(events: tuple[ev.Event, ...]) -> set[str]:
    """Return the commits that were accepted and answered, without a control event in between.

    Those that are ahead of processing, or lower a committed offset, are not ordinary.
    """
    open_commits: dict[str, ev.CommitSent] = {}
    accepted, ordinary = set[str](), set[str]()
    committed: dict[tuple, int] = {}
    for event in events:
        what = event.what
        match what:
            case ev.CommitSent() if what.kind != "admin" and not is_ahead(what):
                open_commits[what.commit] = what
            case ev.CommitAccepted():
                lower = [o for tp, o in what.offsets if o < committed.get((what.group, tp), o)]
                committed |= {(what.group, tp): offset for tp, offset in what.offsets}
                if what.commit in open_commits and not lower:
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


def comparable(ledger: Ledger, counted: bool) -> Ledger:
    """Return a ledger; of *counted* work, without when its first owner had finished a range.

    That time has the resolution of the events of processing.
    """
    entries = ledger.entries
    if counted:
        entries = tuple(
            replace(entry, first_owner=entry.first_owner and replace(entry.first_owner, at_us=0))
            for entry in entries
        )
    return replace(ledger, entries=entries)


SCENARIOS = [
    "coordinator-broker-dies",
    "coordinator-goes-on-alone",
    "d3-older-commit-wins",
    "eager-repeats-kept",
    "k1-instance-id-reused",
    "kip848-member-crashes",
    "l1-zombie-after-pause",
    "member-crashes",
    "offsets-expire",
    "offsets-deleted",
    "unclean-election-drops-commits",
]


@cache
def played(name: str) -> Run:
    return emulator.run(emulator.loads(catalogue.read(name)))


@pytest.mark.parametrize("counted", [False, True], ids=["late", "counted"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_results_do_not_depend_on_when_ordinary_work_is_written(name, counted):
    """The same ledger, metrics and findings."""
    run = played(name)
    again = Rewriter(run.events, counted=counted)
    found = measure(again.written, mistaken_policy=is_mistaken(run.scenario))

    assert comparable(run.ledger, counted) == comparable(found.ledger, counted)
    assert run.metrics == found.metrics
    assert run.findings == found.findings
    assert again.dropped > 0 if counted else again.delayed > 0
