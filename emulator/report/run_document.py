"""A run as one JSON document, and a ledger's entries as JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from emulator.ledger.entries import Entry, Ledger, Owner
from emulator.metrics.laws import Finding
from emulator.report.capacity import capacity_document
from emulator.report.event_wording import link_text
from emulator.report.hints.given import hints_of
from emulator.report.merging import Merged, merged_entries
from emulator.report.proposal_wording import advice_document
from emulator.report.screens.group import group_document
from emulator.report.subject import FinishedRun
from emulator.report.timeline import TimelineEntry
from emulator.verdicts.findings import inconclusive
from emulator.verdicts.verdict import Verdict

Clock = Callable[[int], str] | None
"""Returns a time of the run as clock time; None: the scenario has no start time."""


def run_document(head: Mapping[str, Any], run: FinishedRun, clock: Clock) -> dict[str, Any]:
    """Return what ``run --json`` prints: *head*, with scenario and settings, and the results."""
    return {
        **head,
        "seed": run.seed,
        "digest": run.digest,
        **totals(run.ledger),
        "rebalances": run.metrics["rebalances"],
        **conclusions(run.verdicts),
        "timeline": [_entry(each, clock) for each in run.timeline.entries],
        "groups": [group_document(group) for group in run.groups],
        "capacity": capacity_document(run),
        "hints": [hint.text for hint in hints_of(run)],
        "advice": advice_document(run),
        "ledger": ledger_document(run.ledger.entries, clock),
        "metrics": run.metrics.as_dict(),
        "expectations": [asdict(expected) for expected in run.expectations],
        "findings": [finding_document(finding, clock) for finding in run.findings],
        "folded": folded_document(run.folded, run.live),
    }


def folded_document(share: float, live: Mapping[str, float]) -> dict[str, Any]:
    """Return which part of the members' time was folded, and why the rest was not."""
    return {
        "share": round(share, 4),
        "live": {reason: round(part, 4) for reason, part in live.items()},
    }


def _entry(entry: TimelineEntry, clock: Clock) -> dict[str, Any]:
    """Return a line of the timeline: its first time, text, count and last time."""
    return {
        **timed(entry.first_us, clock),
        "what": entry.text,
        "times": entry.times,
        "last_us": entry.last_us,
    }


def conclusions(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return whether a run is conclusive, why it is not, and its verdicts."""
    why = inconclusive(verdicts)
    return {
        "conclusive": not why,
        "why": list(why),
        "verdicts": [
            {
                "id": verdict.id.value,
                "sentence": verdict.sentence,
                "numbers": dict(verdict.numbers),
                "group": verdict.group,
                "inconclusive": verdict.inconclusive,
                "problem": verdict.problem,
            }
            for verdict in verdicts
        ],
    }


def totals(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger's counts; ``by_cause`` adds up to reprocessed and lost together."""
    return {
        "reprocessed": ledger.reprocessed,
        "lost": ledger.lost,
        "truncated": ledger.truncated,
        "partial": ledger.partial,
        "by_cause": ledger.by_cause(),
    }


def ledger_document(
    entries: Sequence[Entry], clock: Clock, *, each: bool = False
) -> list[dict[str, Any]]:
    """Return entries, many that are alike as one with ``entries`` and ``last_id``, unless *each*."""
    if each:
        return [entry_document(entry, clock) for entry in entries]
    return [_merged_document(merged, clock) for merged in merged_entries(entries)]


def _merged_document(merged: Merged, clock: Clock) -> dict[str, Any]:
    document = entry_document(merged.leading, clock)
    if not merged.number:
        return document
    together = {"first": merged.first, "last": merged.last, "count": merged.count}
    return {
        **document,
        **together,
        "entries": len(merged.entries),
        "last_id": merged.entries[-1].id,
    }


def entry_document(entry: Entry, clock: Clock) -> dict[str, Any]:
    """Return one entry of a ledger; ``last`` is the last offset of the range itself."""
    root = entry.root
    return {
        "id": entry.id,
        "kind": entry.kind.value,
        "group": entry.group,
        "topic": entry.topic,
        "topic_id": entry.topic_id,
        "log_incarnation": entry.log_incarnation,
        "partition": entry.partition,
        "first": entry.first,
        "last": entry.last,
        "count": entry.count,
        "cause": None if entry.cause is None else entry.cause.value,
        "detail": entry.detail,
        "first_owner": _owner(entry.first_owner, clock),
        "second_owner": _owner(entry.second_owner, clock),
        "root": None
        if root is None
        else {
            "event": root.event,
            **timed(root.at_us, clock),
            "id": root.id,
            "verb": root.verb,
            "target": root.target,
        },
        "chain": [
            {"event": link.event, **timed(link.at_us, clock), "what": link_text(link)}
            for link in entry.chain
        ],
    }


def finding_document(finding: Finding, clock: Clock) -> dict[str, Any]:
    """Return a warning or a broken law."""
    return {
        "law": finding.law.value,
        "severity": finding.severity.value,
        "message": finding.message,
        "event": finding.event,
        **({} if finding.at_us is None else timed(finding.at_us, clock)),
        "times": finding.times,
    }


def timed(at_us: int, clock: Clock) -> dict[str, Any]:
    """Return a time in microseconds since the run began, and as clock time if there is one."""
    return {"at_us": at_us} if clock is None else {"at_us": at_us, "at": clock(at_us)}


def _owner(owner: Owner | None, clock: Clock) -> dict[str, Any] | None:
    if owner is None:
        return None
    return {
        "consumer": owner.consumer,
        "incarnation": owner.incarnation,
        "generation": owner.generation,
        **timed(owner.at_us, clock),
    }
