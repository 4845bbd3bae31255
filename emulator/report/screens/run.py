"""One run on one screen: totals, events, causes with hints, and the main figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.metrics.checks import Expected
from emulator.metrics.laws import Law, Severity
from emulator.metrics.metrics import Metrics
from emulator.report.capacity import capacity_lines
from emulator.report.hints.advice import reason_of
from emulator.report.hints.given import (
    MAX_CAUSES,
    case_of,
    hint_texts,
    largest,
    ranked,
    records_of,
    shown_first,
)
from emulator.report.key_figures import figure_line, key_figures
from emulator.report.screens.group import groups_at_the_end
from emulator.report.subject import FinishedRun, Subject, heading, overload_lines
from emulator.report.timeline import TimelineEntry, shortened
from emulator.report.wording import WIDTH, counted, duration, figure, paragraph, width
from emulator.verdicts.verdict import VerdictId

MAX_ENTRIES = 8
"""Number of lines shown of each; the others are counted."""

SETTLED = "until all faults had ended, every group was stable, and none lagged more than before the first fault"
"""What is said of a run that ended when it had settled; lag may be above its level before a later fault."""

OPEN_END = "its limit, without settling: some group is not stable, or lags more than before the first fault"
"""What is said of a run that was to end when it has settled, and has not."""

SMALLEST_SHARE = 0.0005
MAX_AHEAD = 3
"""Number of members shown that commit ahead of processing; the others are counted."""

MAX_REASONS = 2
"""Number of reasons shown why members were not folded."""

TITLES = {
    EntryKind.LOST: "Lost",
    EntryKind.REPROCESSED: "Reprocessed",
    EntryKind.TRUNCATED: "Truncated from the log before they were processed",
}
"""The kinds of entries that have a cause, in the order of the screen."""


def run_screen(run: FinishedRun) -> Iterator[str]:
    """Yield the lines of a run's screen, none of them wider than 100 columns."""
    yield from opening(run.subject, run.seed)
    yield from results(run)


def opening(subject: Subject, seed: int) -> Iterator[str]:
    """Yield the lines that are known before the run: what is in force, and overloads."""
    yield from heading(subject, f"seed {seed}")
    yield from overload_lines(subject)


def results(run: FinishedRun) -> Iterator[str]:
    """Yield the lines of a run's screen below the opening."""
    yield from _length(run)
    yield ""
    if run.verdicts:
        from emulator.report.screens.verdict import first_lines  # noqa: PLC0415  most runs have none

        yield from first_lines(run.verdicts, said=VerdictId.OVERLOAD)
    yield from paragraph(totals_sentence(run.ledger, run.metrics))
    if run.verdicts:
        from emulator.report.screens.verdict import outcomes  # noqa: PLC0415  as above

        yield from outcomes(run.verdicts)
    yield from what_happened(run)
    yield from groups_at_the_end(run)
    for kind in TITLES:
        yield from _causes(run, kind)
    yield from _help(run)
    yield from _warnings(run)
    yield from _expectations(run.expectations)
    yield from key_figures(run, _more_figures(run))
    yield from figure_line("folded", folded_text(run.folded, run.live))
    yield from _where_to_look_next(run)


def _length(run: FinishedRun) -> Iterator[str]:
    """Yield how long a run lasted whose end the scenario leaves open."""
    if run.subject.until_settled:
        ran_s = run.metrics["run_s"]
        settled = ran_s < run.subject.run_for_s
        why = SETTLED if settled else OPEN_END
        yield from paragraph(f"The run lasted {duration(ran_s)}, {why}.", "", "  ")


def _across_groups(metrics: Metrics) -> str:
    """Return what a group and its replacement processed together; empty: each record once, by one of them."""
    both, neither = int(metrics["processed_by_both"]), int(metrics["processed_by_neither"])
    if not (both or neither):
        return ""
    twice = counted(both, "record was", "records were") if both else "no records were"
    return f"{twice} processed by both groups, {f'{neither:,}' if neither else 'none'} by neither"


def totals_sentence(ledger: Ledger, metrics: Metrics) -> str:
    """Return how many records were reprocessed, lost, truncated and in flight.

    Where a group replaces another one, also those that both or neither processed: the ledger is that of
    each group by itself.
    """
    across = _across_groups(metrics)
    if not ledger.reprocessed and not ledger.lost:
        within = " within a group" if across else ""
        first = f"No records were reprocessed{within}, none were lost"
    else:
        again = counted(ledger.reprocessed, "record") if ledger.reprocessed else "No records"
        lost = f"{ledger.lost:,}" if ledger.lost else "none"
        verb = "was" if ledger.reprocessed == 1 else "were"
        first = f"{again} {verb} reprocessed, {lost} lost"
    first += f"; {across}." if across else "."
    if ledger.truncated:
        truncated = counted(ledger.truncated, "record was", "records were")
        first += f" {truncated} truncated before processing (counted separately)."
    if not ledger.partial:
        return first
    in_flight = counted(ledger.partial, "record was", "records were")
    processes = "its process" if ledger.partial == 1 else "their process"
    return f"{first} {in_flight} in flight when {processes} ended (counted separately)."


# -- what happened -----------------------------------------------------------------------------


def what_happened(run: FinishedRun) -> Iterator[str]:
    """Yield the lines of the timeline and the number of rebalances, if there is anything to say."""
    timeline, moment = run.timeline, run.subject.moment
    entries = timeline.entries
    rebalances = run.metrics["rebalances"]
    if not entries and not rebalances:
        return
    yield from ("", "What happened")
    shown, others = shortened(entries, MAX_ENTRIES)
    for entry in shown:
        yield from paragraph(_entry_text(entry, run), f"  {moment(entry.first_us)}  ")
    yield from _left_out([*(each.kind for each in others), *timeline.left_out.elements()])
    if rebalances:
        table = run.metrics.tables["rebalances.by_reason"]
        reasons = [f"{reason} ({figure(number)})" for reason, number in table.items()]
        text = f"{counted(int(rebalances), 'rebalance')}: {', '.join(reasons)}"
        yield from paragraph(text, "  ", "    ")


def _left_out(kinds: Sequence[str]) -> Iterator[str]:
    """Yield how many lines are left out, and of which kinds."""
    if kinds:
        from emulator.report.cutting import counted_kinds  # noqa: PLC0415  most timelines are short

        yield from paragraph(f"… and {len(kinds):,} more: {counted_kinds(kinds)}", "  ", "    ")


def _entry_text(entry: TimelineEntry, run: FinishedRun) -> str:
    if entry.times == 1:
        return entry.text
    until = run.subject.moment(entry.last_us)
    return f"{entry.text} ({entry.times} times, until {until})"


# -- causes and hints --------------------------------------------------------------------------


def _causes(run: FinishedRun, kind: EntryKind) -> Iterator[str]:
    """Yield each cause of one kind: number of records, explanation, example."""
    total = run.ledger.total(kind)
    if not total:
        return
    yield from ("", f"{TITLES[kind]}: {counted(total, 'record')}")
    by_cause = ranked(run.ledger, kind)
    for entries in by_cause[:MAX_CAUSES]:
        yield from _cause(run, entries)
    for entries in by_cause[MAX_CAUSES:]:
        yield f"{records_of(entries):>9,}  {_name(run, entries)}"


def _name(run: FinishedRun, entries: Sequence[Entry]) -> str:
    """Return the name of a cause, with its group if there are several groups."""
    cause, group = entries[0].cause, entries[0].group
    name = f"{cause}" if len(run.subject.groups) == 1 else f"{cause} (group {group})"
    details = sorted({entry.detail for entry in entries if entry.detail})
    if not details:
        return name
    more = f", and {len(details) - 2} more" if len(details) > 2 else ""
    return f"{name}: {', '.join(details[:2])}{more}"


def _cause(run: FinishedRun, entries: Sequence[Entry]) -> Iterator[str]:
    yield from paragraph(_name(run, entries), f"{records_of(entries):>9,}  ", " " * 11)
    yield from paragraph(reason_of(case_of(run, entries)), " " * 11)
    yield from paragraph(f"e.g. {_example(run, entries)}", " " * 11, " " * 16)


def _example(run: FinishedRun, entries: Sequence[Entry]) -> str:
    """Return the largest of some entries in words."""
    entry = largest(entries)
    moment = run.subject.moment
    offsets = f"{entry.first}..{entry.last}" if entry.count > 1 else f"{entry.first}"
    text = f"{entry.id}: {entry.topic_partition} {offsets}"
    if entry.first_owner is not None:
        text += f" by {entry.first_owner.consumer}"
    if entry.second_owner is not None:
        consumer, when = entry.second_owner.consumer, moment(entry.second_owner.at_us)
        again = entry.kind is EntryKind.REPROCESSED
        verb = "reprocessed" if again else "skipped"
        text += f", {verb} by {consumer} at {when}"
    return text if len(entries) == 1 else f"{text} (one of {len(entries)} such entries)"


def _help(run: FinishedRun) -> Iterator[str]:
    hints = hint_texts(run)
    if hints:
        yield from ("", "Hints")
    for hint in hints:
        yield from paragraph(hint, "  - ")


# -- the rest ----------------------------------------------------------------------------------


def _warnings(run: FinishedRun) -> Iterator[str]:
    """Yield the findings: of commits ahead of processing, which each member may make, the first few."""
    if not run.findings:
        return
    yield ""
    ahead = 0
    for finding in run.findings:
        ahead += finding.law is Law.COMMIT_AHEAD
        if finding.law is Law.COMMIT_AHEAD and ahead > MAX_AHEAD:
            continue
        label = "warning: " if finding.severity is Severity.WARNING else "internal error: "
        text = finding.message
        if finding.at_us is not None:
            text += f" ({run.subject.moment(finding.at_us)}"
            text += f", {finding.times:,} times in total)" if finding.times > 1 else ")"
        yield from paragraph(text, label)
    if ahead > MAX_AHEAD:
        more = counted(ahead - MAX_AHEAD, "other member")
        yield from paragraph(f"{more} too: {Law.COMMIT_AHEAD}; --json has all", "warning: ")


def _expectations(expectations: Sequence[Expected]) -> Iterator[str]:
    if not expectations:
        return
    from emulator.report.screens.verdict import outcome  # noqa: PLC0415  as above

    yield from ("", "Expectations")
    for expected in expectations:
        yield from paragraph(expected.message, outcome(expected))


def _more_figures(run: FinishedRun) -> Iterator[tuple[str, str]]:
    """Yield the figures that only some runs have: capacity, autoscalers, monitors."""
    yield from capacity_lines(run)
    listings = run.metrics.listings
    if listings["replicas"] or listings["monitors"]:
        from emulator.report.screens.automation import automation_lines  # noqa: PLC0415  as above

        yield from automation_lines(run.metrics, run.subject.moment)


def folded_text(share: float, live: Mapping[str, float]) -> str:
    """Return which part of the members' time was folded, and the main reasons of the rest.

    >>> folded_text(0.95, {"commits": 0.03, "joins": 0.008})
    "95.0% of the members' time; live: 3.0% (commits), 0.8% (joins), 1.2% (other reasons)"
    """
    parts = [f"{part:.1%} ({reason})" for reason, part in [*live.items()][:MAX_REASONS]]
    others = 1 - share - sum([*live.values()][:MAX_REASONS])
    if parts and others >= SMALLEST_SHARE:
        parts.append(f"{others:.1%} (other reasons)")
    reasons = f"; live: {', '.join(parts)}" if parts else ""
    return f"{share:.1%} of the members' time{reasons}"


def _where_to_look_next(run: FinishedRun) -> Iterator[str]:
    entries = run.ledger.entries
    if not entries:
        return
    rest = f"--seed {run.seed}{run.subject.options}"
    shown = shown_first(run.ledger).id
    name = run.subject.name
    yield ""
    yield from _command(
        f"The events that led to {shown}", f"rebalance explain {name} {shown} {rest}"
    )
    if len(entries) > 1:
        yield from _command(f"All {len(entries):,} entries", f"rebalance ledger {name} {rest}")


def _command(what: str, command: str) -> Iterator[str]:
    """Yield a command to paste; on a narrow screen that it does not fit on a line of its own."""
    line = f"{what}: {command}"
    is_whole = width() == WIDTH or len(line) <= width()
    yield from [line] if is_whole else [f"{what}:", f"  {command}"]
