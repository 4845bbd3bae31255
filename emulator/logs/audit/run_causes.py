"""The causes of a run's own ledger, for an audit of its file of events.

The file of ``rebalance run --events`` holds everything from which the ledger of the run was
computed. The audit counts its processed ranges like those of any other log, and takes the causes of
these ranges from the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from emulator.errors import RefusedError
from emulator.events.stored import begin_us_of, iterate_events
from emulator.ledger.builder import LedgerBuilder
from emulator.ledger.entries import Entry, EntryKind
from emulator.logs.audit.causes import Judgement
from emulator.logs.audit.partitions import AffectedRange
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.audit.reading import Source

MOST_ROWS: Final = 5_000_000
"""Files with more events are not read a second time; it would take minutes."""

LOST: Final = frozenset({EntryKind.LOST, EntryKind.TRUNCATED})

RunCauses = Mapping[PartitionName, Sequence[Entry]]
"""The entries of a run's ledger that have a cause, by partition."""

Part = tuple[int, int, Judgement | None]
"""A range of offsets, and its cause if it is known."""

NO_CAUSES: Final[RunCauses] = {}


def run_causes(source: Source | None) -> RunCauses:
    """Return the entries of the run whose events a log holds; none for every other log."""
    if source is None or not source.mapped.events or len(source.files) > 1:
        return NO_CAUSES
    if source.files[0].uri or (source.rows or 0) > MOST_ROWS:
        return NO_CAUSES
    builder = LedgerBuilder()
    try:
        begin_us = begin_us_of(source.files[0].path)
        for event in iterate_events(source.files[0].path):
            builder.feed(event)
    except RefusedError:
        return NO_CAUSES
    found = defaultdict[PartitionName, list[Entry]](list)
    group = source.mapped.of_group
    for entry in builder.close().entries:
        if entry.kind is not EntryKind.PARTIAL and group in (None, entry.group):
            found[PartitionName(entry.topic, entry.partition)].append(_later(entry, begin_us))
    return found


def _later(entry: Entry, by_us: int) -> Entry:
    """Return an entry with the time of day of its second owner."""
    owner = entry.second_owner
    if owner is None or not by_us:
        return entry
    return replace(entry, second_owner=replace(owner, at_us=owner.at_us + by_us))


def judged_by_run(
    affected: AffectedRange, entries: Sequence[Entry], *, lost: bool
) -> Iterator[tuple[AffectedRange, Judgement | None]]:
    """Yield a range in parts of one cause each; None: the run's ledger has no entry of that part."""
    left = [(affected.first, affected.next_offset)]
    found: list[Part] = []
    for entry in sorted(_matching(affected, entries, lost=lost), key=_distance_from(affected)):
        assert entry.cause is not None, "partial entries are left out"
        judgement = Judgement(entry.cause, entry.detail)
        rest = []
        for first, end in left:
            low, high = max(first, entry.first), min(end, entry.last + 1)
            if low >= high:
                rest.append((first, end))
                continue
            found.append((low, high, judgement))
            rest += [part for part in ((first, low), (high, end)) if part[0] < part[1]]
        left = rest
    found += [(first, end, None) for first, end in left]
    for first, end, shown in _merged(sorted(found, key=lambda part: part[:2])):
        yield affected._replace(first=first, next_offset=end), shown


def _matching(affected: AffectedRange, entries: Sequence[Entry], *, lost: bool) -> Iterator[Entry]:
    for entry in entries:
        if (entry.kind in LOST) != lost:
            continue
        owner = entry.second_owner
        if lost or (owner is not None and owner.consumer == affected.second_owner):
            yield entry


def _distance_from(affected: AffectedRange) -> Callable[[Entry], int]:
    """Return the function by which entries are ordered: those of about the same time first."""
    at_us = affected.second_us or 0
    return lambda entry: abs((entry.second_owner.at_us if entry.second_owner else 0) - at_us)


def _merged(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield adjacent parts of one cause as one."""
    at = 0
    while at < len(parts):
        first, end, judgement = parts[at]
        at += 1
        while at < len(parts) and parts[at][0] == end and parts[at][2] == judgement:
            end = parts[at][1]
            at += 1
        yield first, end, judgement
