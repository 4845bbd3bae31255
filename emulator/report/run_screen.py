"""One run on one screen: what happened, how many, why, what would help; then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.metrics.checks import Expected
from emulator.metrics.laws import Law, Severity
from emulator.metrics.metrics import Metrics
from emulator.report.advice import hints_for, reason_of, standstill_hints
from emulator.report.cases import Case
from emulator.report.chronicle import Happening
from emulator.report.faults_shown import drain, takeover
from emulator.report.group_screen import groups_at_the_end, stable_groups
from emulator.report.headings import heading
from emulator.report.migration_hints import migration_hints
from emulator.report.told import Told
from emulator.report.wording import counted, figure, listed, paragraph, span

MOST_HAPPENINGS = 8
MOST_CAUSES = 3
MOST_HINTS_A_CAUSE = 3
MOST_HINTS = 6
"""Lines a screen has for each; the rest is counted."""

TITLES = {
    EntryKind.LOST: "Lost",
    EntryKind.REPROCESSED: "Processed again",
    EntryKind.TRUNCATED: "Gone from the log before they were processed",
}
"""The kinds of entries that have a cause, in the order in which a screen tells them."""

COLUMN = 15
"""Where the text beside a heading or number begins."""


def run_screen(told: Told) -> Iterator[str]:
    """Yield the lines of a run's screen, none of them wider than 100 columns."""
    yield from heading(told.subject, f"seed {told.seed}")
    yield ""
    yield from paragraph(_verdict(told.ledger))
    yield from _happened(told)
    yield from groups_at_the_end(told)
    for kind in TITLES:
        yield from _causes(told, kind)
    yield from _help(told)
    yield from _warnings(told)
    yield from _expectations(told.expectations)
    yield from _key_figures(told.metrics, stable_groups(told.groups))
    yield from _where_to_look_next(told)


def _verdict(ledger: Ledger) -> str:
    if not ledger.reprocessed and not ledger.lost:
        first = "Nothing was processed again, nothing was lost."
    else:
        again = counted(ledger.reprocessed, "record") if ledger.reprocessed else "No record"
        lost = f"{ledger.lost:,}" if ledger.lost else "none"
        verb = "was" if ledger.reprocessed <= 1 else "were"
        first = f"{again} {verb} processed again, {lost} lost."
    if ledger.truncated:
        gone = counted(ledger.truncated, "record is", "records are")
        first += f" {gone} gone from the log, unprocessed (counted apart)."
    if not ledger.partial:
        return first
    cut = counted(ledger.partial, "record was", "records were")
    return f"{first} {cut} under work when the process died (counted apart)."


# -- what happened -----------------------------------------------------------------------------


def _happened(told: Told) -> Iterator[str]:
    chronicle, moment = told.chronicle, told.subject.moment
    happenings = chronicle.happenings
    rebalances = told.metrics["rebalances"]
    if not happenings and not rebalances:
        return
    yield from ("", "What happened")
    shown = happenings[:MOST_HAPPENINGS]
    for happening in shown:
        yield from paragraph(_told(happening, told), f"  {moment(happening.first_us)}  ")
    more = len(happenings) - len(shown) + chronicle.left_out
    if more:
        yield f"  … and {more} more"
    if rebalances:
        table = told.metrics.tables["rebalances.by_reason"]
        reasons = [f"{reason} ({figure(number)})" for reason, number in table.items()]
        text = f"{counted(int(rebalances), 'rebalance')}: {', '.join(reasons)}"
        yield from paragraph(text, "  ", "    ")


def _told(happening: Happening, told: Told) -> str:
    if happening.times == 1:
        return happening.text
    until = told.subject.moment(happening.last_us)
    return f"{happening.text} ({happening.times} times, until {until})"


# -- why, and what would help ------------------------------------------------------------------


def _causes(told: Told, kind: EntryKind) -> Iterator[str]:
    """Yield each cause of one kind: how many, what it means, an example."""
    total = told.ledger.total(kind)
    if not total:
        return
    yield from ("", f"{TITLES[kind]}: {counted(total, 'record')}")
    ranked = _ranked(told, kind)
    for entries in ranked[:MOST_CAUSES]:
        yield from _cause(told, entries)
    for entries in ranked[MOST_CAUSES:]:
        yield f"{_records(entries):>9,}  {_name(told, entries)}"


def _ranked(told: Told, kind: EntryKind) -> list[list[Entry]]:
    """Return the entries of one kind by cause and group, most records first."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in told.ledger.of(kind):
        found.setdefault((str(entry.cause), entry.group), []).append(entry)
    ranked = sorted(found.items(), key=lambda item: (-_records(item[1]), item[0]))
    return [entries for _, entries in ranked]


def _records(entries: Sequence[Entry]) -> int:
    return sum(entry.count for entry in entries)


def _name(told: Told, entries: Sequence[Entry]) -> str:
    """Name a cause; its group too where there are several."""
    cause, group = entries[0].cause, entries[0].group
    name = f"{cause}" if len(told.subject.groups) == 1 else f"{cause} (group {group})"
    details = sorted({entry.detail for entry in entries if entry.detail})
    if not details:
        return name
    more = f", and {len(details) - 2} more" if len(details) > 2 else ""
    return f"{name}: {', '.join(details[:2])}{more}"


def _cause(told: Told, entries: Sequence[Entry]) -> Iterator[str]:
    yield from paragraph(_name(told, entries), f"{_records(entries):>9,}  ", " " * 11)
    yield from paragraph(reason_of(_case(told, entries)), " " * 11)
    yield from paragraph(f"e.g. {_example(told, entries)}", " " * 11, " " * 16)


def _case(told: Told, entries: Sequence[Entry]) -> Case:
    tables = told.metrics.tables
    cause, group = entries[0].cause, told.subject.group(entries[0].group)
    assert cause is not None, "only partial entries have none"
    evictions = {*tables["evictions.by_reason"], *tables["drop_outs.by_reason"]}
    if not told.metrics["evictions_living"]:
        evictions.discard("session expired")
    return Case(
        cause=cause,
        subject=told.subject,
        group=group,
        details=frozenset(entry.detail for entry in entries if entry.detail),
        verbs=frozenset(entry.root.verb for entry in entries if entry.root),
        evictions=frozenset(evictions),
        given_twice=any(finding.law is Law.GIVEN_TWICE for finding in told.findings),
    )


def _example(told: Told, entries: Sequence[Entry]) -> str:
    """Tell the largest of some entries."""
    entry = max(entries, key=lambda entry: entry.count)
    moment = told.subject.moment
    offsets = f"{entry.first}..{entry.last}" if entry.count > 1 else f"{entry.first}"
    text = f"{entry.id}: {entry.topic_partition} {offsets}"
    if entry.first_owner is not None:
        text += f" by {entry.first_owner.consumer}"
    if entry.second_owner is not None:
        who, when = entry.second_owner.consumer, moment(entry.second_owner.at_us)
        again = entry.kind is EntryKind.REPROCESSED
        text += (
            f", again by {who}, done by {when}" if again else f", passed over by {who} at {when}"
        )
    return text if len(entries) == 1 else f"{text} ({len(entries)} entries in all)"


def what_would_help(told: Told) -> list[str]:
    """Return what would help, each thing once, for the causes with the most records first.

    Before them: what frees a group that cannot go on by itself.
    """
    hints = dict.fromkeys(migration_hints(told.subject, told.groups))
    for kind in TITLES:
        for entries in _ranked(told, kind)[:MOST_CAUSES]:
            hints |= dict.fromkeys(hints_for(_case(told, entries))[:MOST_HINTS_A_CAUSE])
    hints |= dict.fromkeys(standstill_hints(told.subject, told.metrics))
    return list(hints)[:MOST_HINTS]


def _help(told: Told) -> Iterator[str]:
    hints = what_would_help(told)
    if hints:
        yield from ("", "What would help")
    for hint in hints:
        yield from paragraph(hint, "  - ")


# -- the rest ----------------------------------------------------------------------------------


def _warnings(told: Told) -> Iterator[str]:
    if not told.findings:
        return
    yield ""
    for finding in told.findings:
        label = "warning: " if finding.severity is Severity.WARNING else "the emulator erred: "
        text = finding.message
        if finding.at_us is not None:
            text += f" ({told.subject.moment(finding.at_us)}"
            text += f", {finding.times:,} times in all)" if finding.times > 1 else ")"
        yield from paragraph(text, label)


def _expectations(expectations: Sequence[Expected]) -> Iterator[str]:
    if not expectations:
        return
    yield from ("", "Expectations")
    for expected in expectations:
        yield from paragraph(expected.message, "  ok      " if expected.ok else "  FAILED  ")


def _without_standstill(metrics: Metrics) -> str:
    if not metrics["processed"]:
        return "nobody ever worked on a partition"
    return "none: every partition always had a working owner"


def _key_figures(metrics: Metrics, stable: str) -> Iterator[str]:
    """Yield the figures that a person asks for next, in sentences; *stable*: groups that are."""
    yield from ("", "Figures")
    still, longest = metrics["standstill_total_s"], metrics["standstill_max_s"]
    yield from _figure(
        "stand-still",
        f"{span(longest)} at most for one partition, {span(still)} summed over partitions"
        if still
        else _without_standstill(metrics),
    )
    if away := _brokers_away(metrics):
        yield from _figure("brokers", away)
    if taken_over := takeover(metrics):
        yield from _figure("takeover", taken_over)
    moved, unneeded = metrics["moved"], metrics["moved_unneeded"]
    if metrics["rebalances"]:
        yield from _figure(
            "rebalances",
            f"{figure(metrics['rebalances'])}, {span(metrics['time_to_stable_total_s'])} until "
            f"stable in all; {counted(int(moved), 'partition')} moved, {figure(unneeded)} needlessly",
        )
    if stable:
        yield from _figure("group", stable)
    yield from _figure("lag", _lag(metrics))
    yield from _figure("commits", _commits(metrics))
    if metrics["log_loads"]:
        yield from _figure("loads", _loads(metrics))
    avoided = int(metrics["duplicates_avoided"])
    if avoided:
        records = counted(avoided, "record")
        yield from _figure(
            "avoided",
            f"{records} not repeated: a commit counted whose sender never heard that it did",
        )


def _brokers_away(metrics: Metrics) -> str:
    """Tell how long there was nothing to read, or no commit to be had; empty if never."""
    parts = []
    if total := metrics["unreadable_total_s"]:
        parts.append(
            f"nothing new to read for {span(metrics['unreadable_max_s'])} at most in one "
            f"partition, {span(total)} summed over partitions"
        )
    if longest := metrics["uncommittable_max_s"]:
        parts.append(f"no commit possible for {span(longest)} at most")
    return "; ".join(parts)


def _figure(name: str, text: str) -> list[str]:
    return paragraph(text, f"  {name:<13}", " " * COLUMN)


def _lag(metrics: Metrics) -> str:
    text = f"{figure(metrics['lag_processed_peak'])} records unprocessed at most"
    drained = drain(metrics)
    return f"{text}, {drained}" if drained else text


def _commits(metrics: Metrics) -> str:
    parts = [f"{figure(metrics['commits_accepted'])} accepted"]
    refused = metrics.tables["commits_refused.by_error"]
    if refused:
        errors = listed([f"{figure(number)} {error}" for error, number in refused.items()])
        parts.append(f"{figure(metrics['commits_refused'])} refused ({errors})")
    if metrics["commit_messages_lost"]:
        lost = counted(
            int(metrics["commit_messages_lost"]), "request or answer", "requests or answers"
        )
        parts.append(f"{lost} of commits lost")
    if metrics["commits_unanswered"]:
        parts.append(f"{figure(metrics['commits_unanswered'])} never answered")
    return ", ".join(parts)


def _loads(metrics: Metrics) -> str:
    """Tell how much of the offsets log brokers have read to coordinate."""
    number = counted(int(metrics["log_loads"]), "offsets partition")
    taken = f"{span(metrics['log_loads_s'])} in all, waiting included"
    return f"{number} loaded, {taken}; {figure(metrics['log_loads_bytes'])} bytes read"


def _where_to_look_next(told: Told) -> Iterator[str]:
    if told.ledger.entries:
        first = told.ledger.entries[0].id
        command = f"rebalance explain {told.subject.name} {first} --seed {told.seed}"
        yield from ("", f"How {first} came about, step by step: {command}{told.subject.options}")
