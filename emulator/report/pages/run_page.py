"""The page of one run: the answer, five figures, a timeline for each group, and its entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from assignors.values import dataclass
from emulator.ledger.entries import Entry, Ledger, Owner
from emulator.report.event_wording import GENERATION, link_text
from emulator.report.fault_wording import fault_text
from emulator.report.hints.advice import WHY
from emulator.report.hints.given import hint_texts
from emulator.report.merging import Merged, merged_entries
from emulator.report.pages.automation_tables import automation_parts
from emulator.report.pages.history import GroupHistory, History
from emulator.report.pages.marks import NAMES, anchor_of, entry_words, marks_of
from emulator.report.pages.page import (
    Cell,
    EntryDetails,
    EventLine,
    Figure,
    Number,
    Page,
    Part,
    Table,
    render,
)
from emulator.report.pages.thinning import largest
from emulator.report.pages.timeline import View, draw_timeline
from emulator.report.proposal_wording import (
    cell,
    columns_of,
    compared_text,
    paste_lines,
    verdict_of,
)
from emulator.report.screens.entry import Line
from emulator.report.screens.run import run_screen, totals_sentence
from emulator.report.screens.verdict import outcome
from emulator.report.subject import FinishedRun
from emulator.report.wording import counted, duration, figure, file_width

Moment = Callable[[int], str]
Sequences = Mapping[str, Sequence[Line]]
"""The sequences of events of some entries, by entry."""

MAX_GROUPS: Final = 4
MAX_CAUSES: Final = 3
"""Causes that the answer names; the ledger has all."""

MAX_ENTRIES: Final = 200
"""Entries with a place on the page; the ledger may have more."""

MAX_LINES: Final = 120
"""Lines of one entry's sequence."""

CLOSE_UP_FROM: Final = 6
"""How many times longer than its interesting part a run is that gets a second figure of that part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """What the page of a run shows besides the report."""

    history: History
    sequences: Sequences
    version: str
    """Of this program."""


@file_width()
def run_page(run: FinishedRun, content: RunContent) -> str:
    """Return the page of a run as HTML; the same run gives the same bytes."""
    subject, screen = run.subject, list(run_screen(run))
    facts = [f"seed {run.seed}", f"{subject.run_for} long", f"Apache Kafka {subject.kafka}"]
    return render(
        Page(
            title=subject.title,
            facts=" | ".join([subject.name, *facts, content.version]),
            answer=list(answer_of(run)),
            numbers=numbers_of(run),
            parts=[
                timeline_part(run.ledger, content.history, subject.moment),
                *entry_parts(
                    run.ledger.entries, content.sequences, subject.moment, content.history
                ),
                *automation_parts(content.history, subject.moment),
                *_hints(run),
            ],
            text="\n".join(screen),
        )
    )


def answer_of(run: FinishedRun) -> Iterator[str]:
    """Yield the answer: problems, why the run is inconclusive, the totals, and their causes."""
    problems = [verdict.sentence for verdict in run.verdicts if verdict.problem]
    open_ends = [each.sentence for each in run.verdicts if each.inconclusive and not each.problem]
    yield from (f"Problem: {sentence}" for sentence in problems)
    yield from (f"Inconclusive, when the run ended: {sentence}" for sentence in open_ends)
    yield totals_sentence(run.ledger, run.metrics)
    yield from (f"{verdict.sentence}." for verdict in run.verdicts if verdict.is_outcome)
    causes = list(run.ledger.tally(lambda entry: entry.cause).items())
    if causes:
        named = [
            f"{cause} ({counted(records, 'record')})" for cause, records in causes[:MAX_CAUSES]
        ]
        more = len(causes) - MAX_CAUSES
        yield f"Because: {'; '.join(named)}{f'; {more} more' if more > 0 else ''}."


def numbers_of(run: FinishedRun) -> list[Number]:
    """Return the five figures at the top of a run's page."""
    metrics = run.metrics
    first_s = [row["first_s"] for row in metrics.listings["takeovers"]]
    last = (
        Number(duration(max(first_s)), "slowest takeover, first record")
        if first_s
        else Number(
            figure(metrics["lag_processed_peak"]), f"lag at its peak ({run.subject.lag_unit}s)"
        )
    )
    return [
        Number(f"{run.ledger.reprocessed:,}", "records reprocessed", run.ledger.reprocessed > 0),
        Number(f"{run.ledger.lost:,}", "records lost", run.ledger.lost > 0),
        Number(figure(metrics["rebalances"]), "rebalances"),
        Number(duration(metrics["downtime_max_s"]), "longest time without an owner"),
        last,
    ]


# -- timelines ---------------------------------------------------------------------------------


def timeline_part(ledger: Ledger, history: History, moment: Moment) -> Part:
    """Return the timelines of a run's groups, the ones with most entries if there are many."""
    sizes = ledger.tally(lambda entry: entry.group)
    groups, left_out = largest(
        history.groups.values(), MAX_GROUPS, lambda group: sizes.get(group.name, 0)
    )
    figures = [
        shown
        for group in groups
        for shown in group_figures(group, history, ledger.entries, moment, 1 / len(groups))
    ]
    more = f"{counted(left_out, 'further group is', 'further groups are')} not drawn."
    return Part(
        title="Timeline",
        anchor="timeline",
        figures=figures,
        paragraphs=[more] if left_out else [],
    )


def group_figures(
    group: GroupHistory, history: History, entries: Sequence[Entry], moment: Moment, share: float
) -> Iterator[Figure]:
    """Yield the timeline of a group, and a close-up of the faults if they are a small part of it."""
    mine = [entry for entry in entries if entry.group == group.name]
    marks = marks_of(merged_entries(mine))
    close = close_up(group, history, mine)
    share = share / 2 if close else share
    name = f"Timeline of group {group.name}"
    whole = draw_timeline(group, history, marks, moment, View(name=name, share=share))
    yield Figure(title=f"Group {group.name}{WHAT}", caption=CAPTION, drawing=whole)
    if close:
        name = f"{name}, {moment(close[0])} to {moment(close[1])}"
        near = draw_timeline(
            group, history, marks, moment, View(name=name, window=close, share=share)
        )
        title = f"Group {group.name}, from {moment(close[0])} to {moment(close[1])}"
        yield Figure(
            title=title, caption="The same, around faults, rebalances and entries.", drawing=near
        )


WHAT: Final = ": owners, members, offsets and lag over time"
"""What a timeline shows, for its title."""

CAPTION: Final = (
    "Each row is a partition, its fill the owner. F1, F2 and so on: faults and acts, in words below. "
    "Marks of records link to the entries of the ledger. Offsets and lag are sums over all partitions; "
    "lag is counted from processed and from committed offsets."
)


def close_up(
    group: GroupHistory, history: History, entries: Sequence[Entry]
) -> tuple[int, int] | None:
    """Return the part of the run with faults, rebalances and entries, if it is much shorter."""
    owners = [entry.second_owner or entry.first_owner for entry in entries]
    times = [owner.at_us for owner in owners if owner is not None]
    times += [at for fault in history.faults for at in (fault.begin_us, fault.end_us)]
    first_us = min(times, default=0)
    times += [span.end_us for span in group.rebalances if span.begin_us >= first_us]
    if not times:
        return None
    if group.owners and not history.faults and not owners:
        return None
    if not owners and max(times) == first_us:
        return None
    length_us = max(max(times) - first_us, history.end_us // 200, 1)
    begin_us = max(first_us - length_us // 10, 0)
    end_us = min(first_us + length_us + length_us // 10, history.end_us)
    return (begin_us, end_us) if history.end_us >= CLOSE_UP_FROM * length_us else None


# -- entries -----------------------------------------------------------------------------------


def entry_parts(
    entries: Sequence[Entry], sequences: Sequences, moment: Moment, history: History
) -> Iterator[Part]:
    """Yield the ledger: a table of its largest entries, and each with its sequence of events."""
    if not entries:
        return
    every = merged_entries(entries)
    shown, left_out = largest(every, MAX_ENTRIES, lambda entry: entry.count)
    facts = f"The {len(shown)} largest of {len(every):,} entries." if left_out else ""
    if len(every) < len(entries):
        facts += f" {TOGETHER}"
    yield Part(
        title="Ledger",
        anchor="ledger",
        facts=facts,
        tables=[table_of_entries(shown, moment)],
        entries=[
            entry_details(
                each,
                sequences.get(each.leading.id),
                moment,
                history.groups[each.leading.group].term,
            )
            for each in shown
        ],
    )


TOGETHER: Final = (
    "Entries of one partition with the same cause and owners are shown together: first to last offset, "
    "perhaps with gaps. rebalance ledger --each lists every one."
)


def table_of_entries(entries: Sequence[Merged], moment: Moment, prefix: str = "") -> Table:
    """Return entries as a table; each links to its details."""
    head = ("entry", "what", "partition", "offsets", "records", "first", "then", "at", "cause")
    rows = [
        (
            Cell(merged.name, anchor_of(merged.leading.id, prefix)),
            NAMES[merged.leading.kind],
            str(merged.leading.topic_partition),
            _offsets(merged),
            f"{merged.count:,}",
            _name(merged.leading.first_owner),
            _name(merged.leading.second_owner),
            _at(merged.leading, moment),
            str(merged.leading.cause or ""),
        )
        for merged in entries
    ]
    return Table(
        caption="Ranges of records, each with one cause", rows=[head, *rows], is_index=True
    )


def _offsets(merged: Merged) -> str:
    return f"{merged.first}..{merged.last}" if merged.count > 1 else f"{merged.first}"


def _name(owner: Owner | None) -> str:
    return owner.consumer if owner else ""


def _at(entry: Entry, moment: Moment) -> str:
    owner = entry.second_owner or entry.first_owner
    return moment(owner.at_us) if owner else ""


def entry_details(
    merged: Merged,
    lines: Sequence[Line] | None,
    moment: Moment,
    terms: Moment = lambda _: GENERATION,
    prefix: str = "",
) -> EntryDetails:
    """Return an entry with its facts and its sequence of events; without *lines*, with its chain.

    *terms*: what the group counts at a time, generations or epochs.
    """
    entry = merged.leading
    facts = [("offsets", _offsets(merged))]
    if merged.number:
        facts.append(("together", f"{merged.number}; below are the events of {entry.id}"))
    if entry.cause is not None:
        detail = f" ({entry.detail})" if entry.detail else ""
        facts += [("cause", f"{entry.cause}{detail}"), ("meaning", WHY[entry.cause])]
    if entry.root is not None:
        facts.append(("root", f"{fault_text(entry.root)} at {moment(entry.root.at_us)}"))
    facts += [
        (name, f"{owner.consumer}, {terms(owner.at_us)} {owner.generation}, {moment(owner.at_us)}")
        for name, owner in (("first", entry.first_owner), ("then", entry.second_owner))
        if owner is not None
    ]
    if lines is None:
        shown = [EventLine(moment(link.at_us), link_text(link), True) for link in entry.chain]
        note = f"rebalance explain shows every event of {entry.id}."
    else:
        kept = _most_important(lines)
        shown = [EventLine(moment(line.at_us), line.text, line.shown) for line in kept]
        left_out = len(lines) - len(kept)
        note = f"{counted(left_out, 'line is', 'lines are')} left out." if left_out else ""
    return EntryDetails(
        anchor=anchor_of(entry.id, prefix),
        title=entry_words(merged),
        facts=facts,
        lines=shown,
        note=note,
    )


def _most_important(lines: Sequence[Line]) -> list[Line]:
    """Return at most :data:`MAX_LINES` lines: the evidence, then those nearest to the end."""
    kept, _ = largest(list(enumerate(lines)), MAX_LINES, lambda one: (one[1].shown, one[0]))
    return [line for _, line in kept]


def _hints(run: FinishedRun) -> Iterator[Part]:
    hints = hint_texts(run)
    if hints:
        yield Part(title="Hints", anchor="hints", items=hints)
    if run.trials:
        yield from _trials(run)
    if run.expectations:
        texts = [f"{outcome(one).strip()}: {one.message}" for one in run.expectations]
        yield Part(title="Expectations", anchor="expectations", items=texts)


def _trials(run: FinishedRun) -> Iterator[Part]:
    """Yield the changes that were tried: their effects and reasons, then the settings to paste."""
    trials, shown = run.trials, columns_of(run.trials)
    rows = [
        (each.proposal.title, *(cell(each, name) for name in shown), verdict_of(each))
        for each in trials
    ]
    titles = ("change", *shown.values(), "effect")
    yield Part(
        title="Changes tried",
        anchor="changes",
        paragraphs=[compared_text(run)],
        tables=[Table(caption="Times in seconds", rows=[titles, *rows])],
        items=[f"{each.proposal.title}: {each.proposal.why}" for each in trials],
    )
    yield Part(
        title="Settings of these changes",
        anchor="settings",
        texts=[(each.proposal.title, "\n".join(paste_lines(each.proposal))) for each in trials],
    )
