"""Explain one entry of a ledger as a sequence of events: ``emulator.explain``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NoReturn

from assignors.values import dataclass
from emulator.errors import RefusedError
from emulator.events import Event, Instant
from emulator.ledger.entries import Entry
from emulator.loading import load
from emulator.playing import Run, run
from emulator.report.event_wording import term_of
from emulator.report.explain import explain as explain_entry
from emulator.report.group_state import DescribedGroup, describe
from emulator.report.hints.given import shown_first
from emulator.report.run_document import entry_document, timed
from emulator.report.screens.entry import Line, entry_screen
from emulator.report.screens.group import group_document, group_screen
from emulator.scenario.model import AddPartitions, Scenario
from emulator.scenario.units import format_moment
from emulator.scenario.writing import manifest
from emulator.subjects import clock_of
from emulator.versions import KAFKA

MAX_LISTED: Final = 5
"""Number of entries that a refusal names."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation:
    """One entry of a ledger, with the events before it that explain it."""

    run: Run
    entry: Entry
    lines: tuple[Line, ...]
    """The events that explain it, in order of time."""

    others: tuple[str, ...]
    """The names of other entries that have the record that was asked for."""

    group: DescribedGroup | None
    """The group as ``kafka-consumer-groups --describe`` shows it at the last event."""

    def __repr__(self) -> str:
        """Return one line."""
        what = f"{self.entry.kind}, {self.entry.cause}" if self.entry.cause else self.entry.kind
        return f"<Explanation of {self.entry.id}: {what}, {len(self.lines)} lines>"

    def __str__(self) -> str:
        """Return the explanation as the command prints it."""
        return "\n".join(self.screen())

    def screen(self) -> list[str]:
        """Return the lines that ``rebalance explain`` prints."""
        scenario = self.run.scenario
        title = f"{scenario.title} | seed {self.run.seed} | Apache Kafka {KAFKA}"
        term = term_of(self.entry.group, self.run.events)

        def moment(at_us: int) -> str:
            return format_moment(at_us, scenario.start)

        lines = [*entry_screen(title, self.entry, self.lines, moment, term)]
        if self.others:
            lines += ["", f"The record is in other entries, too: {', '.join(self.others)}"]
        if self.group is not None:
            lines += ["", *group_screen(self.group, moment(_end(self.entry).at_us))]
        return lines

    def as_dict(self) -> dict[str, Any]:
        """Return the document that ``rebalance explain --json`` prints."""
        clock = clock_of(self.run.scenario)
        return {
            **manifest(self.run.scenario),
            "seed": self.run.seed,
            "digest": self.run.digest,
            "entry": entry_document(self.entry, clock),
            "others": list(self.others),
            "lines": [
                {
                    "event": line.event,
                    **timed(line.at_us, clock),
                    "text": line.text,
                    "shown": line.shown,
                    "began": None if line.began_us is None else timed(line.began_us, clock),
                    "log": None if line.log is None else asdict(line.log),
                }
                for line in self.lines
            ],
            "described": None if self.group is None else group_document(self.group),
        }


def explain(
    scenario: Scenario | Run | str | Path,
    entry: str | None = None,
    seed: int | None = None,
    *,
    sink: Callable[[Event], None] | None = None,
) -> Explanation:
    """Explain one entry of a run's ledger: owners, polls, commits and the coordinator's changes.

    *scenario*: a scenario, the path or catalogue name of one, or a finished run. It is played (a
    finished run again, with its seed), since the explanation needs more events than a run keeps.
    *entry*: its name in the ledger, such as ``D3`` or ``L1``, or one of its records, such as
    ``orders-2:1650``; without it the example that the report of the run shows first. *sink*: called
    with each event when it happens.

    Raises ``RefusedError`` if the ledger has no such entry.
    """
    if isinstance(scenario, Run):
        scenario, seed = scenario.scenario, scenario.seed if seed is None else seed
    elif not isinstance(scenario, Scenario):
        scenario = load(scenario)
    finished = run(scenario, seed, polls=True, sink=sink)
    found, *others = _entries(finished, entry)
    return Explanation(
        run=finished,
        entry=found,
        others=tuple(other.id for other in others),
        lines=tuple(explain_entry(found, finished.events)),
        group=describe(found.group, finished.events, _end(found).row),
    )


_RECORD = re.compile(r"(.+)-(\d{1,19})[:@](\d{1,19})")
"""Topic, partition and offset of a record."""

_WITHOUT_PARTITION = re.compile(r"(.+)[:@](\d{1,19})")


def _entries(finished: Run, name: str | None) -> tuple[Entry, ...]:
    """Return the entries that are meant, the one to explain first."""
    ledger = finished.ledger
    if name is None:
        if not ledger.entries:
            raise RefusedError(f"seed {finished.seed}: nothing to explain: the ledger is empty")
        return (shown_first(ledger),)
    if record := _RECORD.fullmatch(name):
        topic, partition, offset = record[1], int(record[2]), int(record[3])
        return ledger.with_record(topic, partition, offset) or _refuse_record(finished, name)
    if record := _WITHOUT_PARTITION.fullmatch(name):
        _refuse_without_partition(finished, record[1], int(record[2]))
    known = {entry.id for entry in ledger.entries}
    try:
        return (ledger.entry(name.upper() if name.upper() in known else name),)
    except KeyError as error:
        raise RefusedError(f"seed {finished.seed}: {error.args[0]}") from None


def _partitions(scenario: Scenario) -> dict[str, int]:
    """Return how many partitions each topic has at the end of a run."""
    added = [act for act in scenario.fault if isinstance(act, AddPartitions)]
    return {
        topic.name: max([topic.partitions, *(act.to for act in added if act.topic == topic.name)])
        for topic in scenario.topic
    }


def _refuse_without_partition(finished: Run, topic: str, offset: int) -> None:
    """Raise RefusedError for a record without a partition, with the entries that have its offset."""
    partitions = _partitions(finished.scenario)
    if topic not in partitions:
        return
    there = [
        f"{entry.id} ({entry.topic}-{entry.partition})"
        for entry in finished.ledger.entries
        if entry.topic == topic and entry.first <= offset <= entry.last
    ]
    raise RefusedError(
        f"seed {finished.seed}: a record has a partition; write {topic}-PARTITION:{offset}, with a "
        f"partition from 0 to {partitions[topic] - 1}. Entries with this offset: "
        f"{', '.join(there[:MAX_LISTED]) or 'none'}"
    )


def _refuse_record(finished: Run, name: str) -> NoReturn:
    """Raise RefusedError, with the entries of the record's partition."""
    place = name.replace("@", ":").rpartition(":")[0]
    topic, _, number = place.rpartition("-")
    known = _partitions(finished.scenario)
    if topic not in known:
        raise RefusedError(f"there is no topic {topic}; the scenario has {', '.join(known)}")
    if int(number) >= known[topic]:
        raise RefusedError(
            f"there is no partition {place}; {topic} has the partitions 0 to {known[topic] - 1}"
        )
    there = [
        f"{entry.id} has {entry.first}..{entry.last}"
        for entry in finished.ledger.entries
        if f"{entry.topic}-{entry.partition}" == place
    ]
    rest = ", ".join(there[:MAX_LISTED]) + ", …" * (len(there) > MAX_LISTED)
    raise RefusedError(
        f"seed {finished.seed}: no ledger entry has the record {name}; of {place} "
        f"{rest or 'there is no entry'}"
    )


def _end(entry: Entry) -> Instant:
    """Return when the last event of an entry's chain happened."""
    return max((link.instant for link in entry.chain), default=Instant(0, 0))
