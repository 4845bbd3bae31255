"""The hints of a run: those of its causes, its verdicts, its downtime and its groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from emulator.events import Departure
from emulator.ledger.entries import Entry, EntryKind, Ledger
from emulator.metrics.group_figures import figures_of
from emulator.metrics.laws import Law
from emulator.metrics.metrics import Metrics
from emulator.report.hints.advice import hints_for, migration_hints
from emulator.report.hints.cases import Case, GivenHint
from emulator.report.hints.downtime import downtime_hints, quiet_hints, silence_hints
from emulator.report.proposals import Proposal
from emulator.report.subject import Commits, FinishedRun, GroupFacts
from emulator.verdicts.facts import LEFT_BY_ITSELF, POLL_TOO_LATE
from emulator.verdicts.verdict import Verdict, VerdictId

MAX_CAUSES = 3
MAX_HINTS_A_CAUSE = 4
MAX_HINTS = 7
"""Number of each that reports show."""

OF_BROKERS = frozenset({"fence-sooner"})
"""Hints about settings of brokers, whichever group they were found with."""

LOSSES = "lost messages"
"""The cause of hints on losses of the network."""

URGENT = {LOSSES} | frozenset(
    str(each).replace("-", " ")
    for each in (
        VerdictId.GROUP_DEAD,
        VerdictId.MEMBERS_DIED,
        VerdictId.MEMBER_LOOP,
        VerdictId.UNAVAILABLE,
        VerdictId.FOUND_LATE,
        VerdictId.TOPIC_REBALANCES,
        VerdictId.OVERLOAD,
        VerdictId.PARTITION_STALLED,
        VerdictId.LISTENER_THREW,
        VerdictId.SHARED_GROUP,
    )
)
"""Problems whose cost is in time, or in records that wait, not in those of the ledger."""

OF_REBALANCES = frozenset({"cooperative"})
"""Hints on how to rebalance, by which a group without a rebalance has nothing to gain."""

WITH_CAUSES = (EntryKind.LOST, EntryKind.REPROCESSED, EntryKind.TRUNCATED)
"""The kinds of entries that have a cause, in the order of reports."""


def hints_of(run: FinishedRun) -> list[GivenHint]:
    """Return the hints of a run without duplicates, those whose causes have the most records first.

    Hints for problems whose cost is not in records come before them.
    """
    found = dict[tuple[str, str], GivenHint]()
    rebalanced = {row["group"] for row in run.metrics.listings["rebalances"]}
    for hint in _all_hints(run):
        if hint.id in OF_REBALANCES and hint.group not in rebalanced:
            continue
        key = hint.id, hint.group
        found[key] = _merged(found[key], hint) if key in found else hint
    for hint in quiet_hints(run.subject):
        found.setdefault((hint.id, hint.group), hint)
    sizes = _records_by_cause(run.ledger)
    sized = [replace(hint, records=_records(hint, sizes)) for hint in found.values()]
    return sorted(sized, key=lambda hint: (not _is_urgent(hint), -hint.records))[:MAX_HINTS]


def _records_by_cause(ledger: Ledger) -> Counter[tuple[str, str]]:
    """Return the records reprocessed, lost or truncated, by cause and group."""
    sizes = Counter[tuple[str, str]]()
    for kind in WITH_CAUSES:
        for entry in ledger.of(kind):
            sizes[str(entry.cause), entry.group] += entry.count
    return sizes


def _records(hint: GivenHint, sizes: Counter[tuple[str, str]]) -> int:
    """Return the records for which the causes of a hint account."""
    return sum(sizes[cause, hint.group] for cause in hint.causes)


def _is_urgent(hint: GivenHint) -> bool:
    return not URGENT.isdisjoint(hint.causes)


def _merged(first: GivenHint, second: GivenHint) -> GivenHint:
    """Return two hints that recommend the same as one: the fuller text, and the causes of both."""
    fuller = max(first, second, key=lambda hint: (hint.has_numbers, len(hint.text)))
    causes = tuple(dict.fromkeys([*first.causes, *second.causes]))
    return replace(fuller, causes=causes)


def hint_texts(run: FinishedRun) -> list[str]:
    """Return the hints of a run as reports show them: with the scenario's numbers, and the id.

    With several groups a hint names those that it is about; one that says the same of all is one.
    """
    alike = dict[tuple[str, str, tuple[str, ...]], list[GivenHint]]()
    for hint in hints_of(run):
        alike.setdefault((hint.id, hint.text, hint.causes), []).append(hint)
    return [_in_words(hints, run) for hints in alike.values()]


def _in_words(hints: Sequence[GivenHint], run: FinishedRun) -> str:
    """Return a hint for one group or several as one text."""
    first = hints[0]
    groups = [hint.group for hint in hints if hint.group and hint.id not in OF_BROKERS]
    several = len(run.subject.groups) > 1
    parts = [
        first.text,
        "" if first.has_numbers else _numbers(hints, run.proposals),
        _other_changes(first, run.proposals),
        f"(For: {'; '.join(first.causes)}.)" if len(first.causes) > 1 else "",
        f"(Group{'s' * (len(groups) > 1)} {' and '.join(groups)}.)" if several and groups else "",
        f"[{first.id}]",
    ]
    return " ".join(filter(None, parts))


def _other_changes(hint: GivenHint, proposals: Sequence[Proposal]) -> str:
    """Return the changes that a hint recommends and that have another id; empty: it has its own."""
    names = dict.fromkeys(each.id for each in proposals if each.hint == hint.id)
    return f"(Changes: {', '.join(names)}.)" if {*names} - {hint.id} else ""


def _numbers(hints: Sequence[GivenHint], proposals: Sequence[Proposal]) -> str:
    """Return why the change that a hint recommends helps, with the numbers of its group."""
    groups = [hint.group for hint in hints]
    found = [each for each in proposals if each.hint == hints[0].id and each.group in groups]
    whys = {each.group: each.why for each in reversed(found)}
    if len(groups) == 1:
        return "".join(whys.values())
    return " ".join(f"In {group}: {why}" for group in groups if (why := whys.get(group)))


def _all_hints(run: FinishedRun) -> Iterator[GivenHint]:
    yield from _because("deviation", _deviation_hints(run))
    yield from _because("migration", migration_hints(run.subject, run.groups))
    if run.subject.loss:
        from emulator.report.hints.losses import loss_hints  # noqa: PLC0415  few networks lose any

        yield from _because(LOSSES, loss_hints(run.subject, run.metrics))
    if any(verdict.problem for verdict in run.verdicts):
        from emulator.report.hints.verdicts import verdict_hints  # noqa: PLC0415  only for problems

        yield from verdict_hints(run.subject, run.verdicts)
    for kind in WITH_CAUSES:
        for entries in ranked(run.ledger, kind)[:MAX_CAUSES]:
            hints = hints_for(case_of(run, entries))[:MAX_HINTS_A_CAUSE]
            yield from _because(str(entries[0].cause), hints)
    is_sound = UNSOUND.isdisjoint(verdict.id for verdict in run.verdicts)
    if any(verdict.id is VerdictId.KILLED_IN_GROUP for verdict in run.verdicts):
        from emulator.report.hints.removals import restarted  # noqa: PLC0415  few runs kill

        yield from _because("downtime", restarted(run.subject, run.verdicts))
    if not _has_entries(run.ledger):
        yield from _because("downtime", silence_hints(run.subject, run.metrics))
    yield from _because("downtime", downtime_hints(run.subject, run.metrics, is_sound=is_sound))
    if is_sound:
        yield from _refusal_hints(run)


def _refusal_hints(run: FinishedRun) -> Iterator[GivenHint]:
    if run.metrics.tables["commits_refused.by_error"]:
        from emulator.report.hints import refusals  # noqa: PLC0415  few runs refuse commits

        if refusals.refused_in_rebalance(run.metrics):
            hints = refusals.refusal_hints(run.subject, run.metrics, run.ledger)
            yield from _because(refusals.CAUSE, hints)


def _deviation_hints(run: FinishedRun) -> Iterator[GivenHint]:
    subject = run.subject
    if not (subject.outdated or any(group.deviations for group in subject.groups)):
        return
    from emulator.report.hints.deviations import deviation_hints  # noqa: PLC0415  few scenarios

    is_harmed = _has_entries(run.ledger) or any(verdict.problem for verdict in run.verdicts)
    yield from deviation_hints(subject, run.metrics, is_harmed=is_harmed)


def _has_entries(ledger: Ledger) -> bool:
    """Return whether a record was reprocessed, lost or truncated."""
    return any(True for kind in WITH_CAUSES for _ in ledger.of(kind))


UNSOUND = frozenset({VerdictId.MEMBER_LOOP, VerdictId.MEMBERS_DIED, VerdictId.GROUP_DEAD})
"""Problems that have to be solved before rebalances of restarts matter."""


def _because(cause: str, hints: Iterable[GivenHint]) -> Iterator[GivenHint]:
    return (replace(hint, causes=(cause,)) for hint in hints)


def ranked(ledger: Ledger, kind: EntryKind) -> list[list[Entry]]:
    """Return the entries of one kind by cause and group, largest first."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in ledger.of(kind):
        found.setdefault((str(entry.cause), entry.group), []).append(entry)
    ranked = sorted(found.items(), key=lambda item: (-records_of(item[1]), item[0]))
    return [entries for _, entries in ranked]


def largest(entries: Sequence[Entry]) -> Entry:
    """Return the entry with the most records, the first of equal ones."""
    return max(entries, key=lambda entry: entry.count)


def shown_first(ledger: Ledger) -> Entry:
    """Return the example that the screen of a run shows first; without one, the first of the ledger."""
    of_kinds = [ranked(ledger, kind) for kind in WITH_CAUSES]
    first = next((causes[0] for causes in of_kinds if causes), ledger.entries[:1])
    return largest(first)


def records_of(entries: Sequence[Entry]) -> int:
    """Return the number of records of some entries."""
    return sum(entry.count for entry in entries)


def case_of(run: FinishedRun, entries: Sequence[Entry]) -> Case:
    """Return the case of entries of one cause and group."""
    cause, group = entries[0].cause, run.subject.group(entries[0].group)
    assert cause is not None, "only partial entries have none"
    figures = figures_of(run.metrics, group.id)
    evictions = {*figures.removals} - _advised(run.verdicts, group.id)
    if not figures.living:
        evictions.discard("session expired")
    return Case(
        cause=cause,
        subject=run.subject,
        group=group,
        details=frozenset(entry.detail for entry in entries if entry.detail),
        verbs=frozenset(entry.root.verb for entry in entries if entry.root),
        evictions=frozenset(evictions),
        given_twice=any(finding.law is Law.GIVEN_TWICE for finding in run.findings),
        store_bound=_is_store_bound(group, run.metrics),
        one_record=any(
            each.id is VerdictId.PARTITION_STUCK and each.group == group.id and each.numbers["slow"]
            for each in run.verdicts
        ),
    )


LONG_ROUND_S = 1.0
"""A round of writes of the application's own commits that takes longer is limited by ZooKeeper."""


def _is_store_bound(group: GroupFacts, metrics: Metrics) -> bool:
    """Return whether a round of writes to ZooKeeper takes longer than the time until the next one."""
    if group.offsets != "zookeeper":
        return False
    automatic = Commits.AUTO in group.commit_kinds or Commits.BACKGROUND in group.commit_kinds
    due_s = group.settings["auto.commit.interval.ms"] / 1_000 if automatic else LONG_ROUND_S
    return metrics["commit_round_max_s"] > due_s


def _advised(verdicts: Sequence[Verdict], group: str) -> set[str]:
    """Return why members left a group or were removed where the hint for a verdict says what to do."""
    loops = [each for each in verdicts if each.id is VerdictId.MEMBER_LOOP and each.group == group]
    reasons = {reason for verdict in loops for reason in verdict.reasons}
    if any(each.id is VerdictId.DELETED_TOPIC and each.group == group for each in verdicts):
        reasons |= {Departure.DID_NOT_REVOKE, Departure.DID_NOT_REJOIN}
    return reasons | ({*LEFT_BY_ITSELF} if POLL_TOO_LATE in reasons else set())
