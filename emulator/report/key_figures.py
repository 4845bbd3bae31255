"""The main figures of a run in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.metrics.metrics import Metrics
from emulator.report.capacity import drained
from emulator.report.figures import lag_recovery, takeover
from emulator.report.screens.group import stable_groups
from emulator.report.subject import FinishedRun
from emulator.report.wording import (
    aborted_text,
    compacted_text,
    copies_text,
    counted,
    duration,
    figure,
    joined,
    paragraph,
)
from emulator.verdicts.verdict import named

CLEARLY_LONGER = 1.1
"""The ratio of two times that a reader would ask about."""

COLUMN = 15
"""The column at which the text after a heading or number begins."""


def key_figures(run: FinishedRun, more: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the main figures in sentences, with *more* before those of lag and commits."""
    metrics = run.metrics
    yield from ("", "Figures")
    total, longest = metrics["downtime_total_s"], metrics["downtime_max_s"]
    yield from figure_line(
        "downtime",
        f"{duration(longest)} at most for one partition, {duration(total)} summed over partitions"
        if total
        else _without_downtime(metrics),
    )
    for name, text in _without_readers(metrics):
        yield from figure_line(name, text)
    if taken_over := takeover(metrics):
        yield from figure_line("takeover", f"{taken_over}{_since(metrics)}")
    if metrics["rebalances"]:
        yield from figure_line(
            "rebalances",
            f"{figure(metrics['rebalances'])}, {duration(metrics['time_to_stable_total_s'])} until "
            f"stable in total; {counted(int(metrics['moved']), 'partition')} moved, "
            f"{figure(metrics['moved_unneeded'])} unnecessarily{_cut(metrics)}",
        )
    if stable := stable_groups(run.groups):
        yield from figure_line("group", stable)
    if idle := _idle(metrics):
        yield from figure_line("idle", idle)
    for name, text in more:
        yield from figure_line(name, text)
    yield from figure_line("lag", _lag(metrics, run.subject.lag_unit))
    yield from figure_line("commits", _commits(metrics))
    for name, text in _handled(metrics):
        yield from figure_line(name, text)
    if metrics["log_loads"]:
        yield from figure_line("loads", _loads(metrics))
    avoided = int(metrics["duplicates_avoided"])
    if avoided:
        records = counted(avoided, "record")
        yield from figure_line(
            "avoided",
            f"{records} not reprocessed: a commit took effect although its sender got no answer",
        )


def _since(metrics: Metrics) -> str:
    """Return since when takeovers are counted, where that makes them clearly longer than downtime."""
    if metrics["takeover_last_s"] <= CLEARLY_LONGER * metrics["downtime_max_s"]:
        return ""
    return "; counted from the beginning of the fault, downtime from the end of the owner's work"


def _cut(metrics: Metrics) -> str:
    """Return how many sync phases were cut; empty: none."""
    number = int(metrics["sync_phases_cut"])
    if not number:
        return ""
    lasted = duration(metrics["sync_phase_cut_total_s"])
    return f"; {counted(number, 'sync phase')} of {lasted} cut before the group was stable"


def _without_readers(metrics: Metrics) -> Iterator[tuple[str, str]]:
    """Yield what kept records from being processed and is no downtime: a new group, or brokers."""
    if gap_s := metrics["handover_gap_max_s"]:
        text = (
            f"{duration(gap_s)} at most in one partition between the last record of a group and the first one of "
            "its replacement; this is no downtime of either"
        )
        yield "handover", text
    if away := _unavailability(metrics):
        yield "brokers", away


def _unavailability(metrics: Metrics) -> str:
    """Return how long reads or commits were unavailable; empty if they never were."""
    parts = []
    if total := metrics["unreadable_total_s"]:
        parts.append(
            f"no new records readable for {duration(metrics['unreadable_max_s'])} at most in one "
            f"partition, {duration(total)} summed over partitions"
        )
    if longest := metrics["commits_unavailable_max_s"]:
        parts.append(f"commits unavailable for {duration(longest)} at most")
    return "; ".join(parts)


MOSTLY = 0.5
"""The share of the run after which a member without a partition is idle."""


def _idle(metrics: Metrics) -> str:
    """Return the members that had no partition for most of the run; empty if all had one."""
    table = metrics.tables["member_idle.by_member"]
    idle = [name for name, idle_s in table.items() if idle_s > MOSTLY * metrics["run_s"]]
    if not idle:
        return ""
    members = counted(len(table), "member")
    return f"{len(idle)} of {members} had no partition for most of the run: {named(idle)}"


def figure_line(name: str, text: str) -> list[str]:
    """Return the lines of a figure with its name."""
    return paragraph(text, f"  {name:<13}", " " * COLUMN)


def _lag(metrics: Metrics, unit: str) -> str:
    text = f"{counted(int(metrics['lag_processed_peak']), unit)} at most"
    recovery = lag_recovery(metrics) or drained(metrics)
    return f"{text}, {recovery}" if recovery else text


def _commits(metrics: Metrics) -> str:
    parts = [f"{figure(metrics['commits_accepted'])} accepted"]
    if metrics["store_wait_max_s"]:
        parts.append(f"up to {duration(metrics['store_wait_max_s'])} in the queue of its store")
    if metrics["commit_round_max_s"] > 2 * metrics["store_wait_max_s"]:
        longest = duration(metrics["commit_round_max_s"])
        parts.append(f"up to {longest} for all partitions of a member")
    if late := int(metrics["commits_wrong_owner"]):
        parts.append(f"{counted(late, 'offset')} of partitions that another member owned")
    if metrics["rolled_back"]:
        parts.append(f"{counted(int(metrics['rolled_back']), 'record')} rolled back")
    if metrics["results_undone"]:
        parts.append(f"{counted(int(metrics['results_undone']), 'result')} undone by a restore")
    refused = metrics.tables["commits_refused.by_error"]
    if refused:
        errors = joined([f"{figure(number)} {error}" for error, number in refused.items()])
        parts.append(f"{figure(metrics['commits_refused'])} refused ({errors}){_covered(metrics)}")
    if metrics["commit_messages_lost"]:
        lost = counted(
            int(metrics["commit_messages_lost"]), "request or response", "requests or responses"
        )
        parts.append(f"{lost} of commits lost")
    if metrics["commits_unanswered"]:
        parts.append(f"{figure(metrics['commits_unanswered'])} never answered")
    if stall := _stall(metrics):
        parts.append(stall)
    return ", ".join(parts)


def _covered(metrics: Metrics) -> str:
    """Return how many of the refused commits the same member made good later."""
    covered, refused = metrics["commits_refused_covered"], metrics["commits_refused"]
    if not covered:
        return ", none covered by a later commit of the same owner"
    number = "all" if covered == refused else f"{figure(covered)} of them"
    return f", {number} covered by a later commit of the same owner"


LONG_STALL_S = 15
"""Three times the default of auto.commit.interval.ms."""


def _stall(metrics: Metrics) -> str:
    """Return the longest stall of a committed offset, unless it is short or part of a downtime."""
    longest = metrics["commit_stall_max_s"]
    if longest < max(LONG_STALL_S, 2 * metrics["downtime_max_s"]):
        return ""
    table = metrics.tables["commit_stall_max.by_partition"]
    partition = max(table, key=lambda name: table[name])
    return f"no progress of the committed offset of {partition} for up to {duration(longest)}"


def _loads(metrics: Metrics) -> str:
    """Return how much of the offsets log coordinators have loaded."""
    number = counted(int(metrics["log_loads"]), "offsets partition")
    taken = f"{duration(metrics['log_loads_s'])} in total, waiting included"
    return f"{number} loaded, {taken}; {figure(metrics['log_loads_bytes'])} bytes read"


def _handled(metrics: Metrics) -> Iterator[tuple[str, str]]:
    """Yield copies, what deduplication recognised, and how often the handler failed."""
    if copies := int(metrics["copies_processed"]):
        yield "copies", copies_text(copies)
    if aborted := int(metrics["aborted_processed"]):
        yield "aborted", aborted_text(aborted)
    if compacted := int(metrics["compacted_unread"]):
        yield "compacted", compacted_text(compacted)
    if duplicates := int(metrics["deduplicated"] + metrics["not_deduplicated"]):
        known = f"recognised {int(metrics['deduplicated']):,} of"
        yield "seen-set", f"{known} {counted(duplicates, 'duplicate')}"
    if metrics["failed_attempts"]:
        yield "failures", _failures(metrics)
    if (most := int(metrics["attempts_max"])) >= MANY_ATTEMPTS:
        yield "attempts", _attempts(metrics, most)


MANY_ATTEMPTS = 4
"""Two rebalances in a row may begin a record three times."""


def _attempts(metrics: Metrics, most: int) -> str:
    """Return the records with the most attempts."""
    rows = metrics.listings["attempts"]
    row = rows[0]
    offsets = f"{row['first']}..{row['last']}" if row["first"] < row["last"] else f"{row['first']}"
    text = f"{most} at most for one record: {row['partition']} {offsets}"
    return (
        text if len(rows) == 1 else f"{text}, and those of {counted(len(rows) - 1, 'other range')}"
    )


def _failures(metrics: Metrics) -> str:
    """Return how often the handler failed, and where it sent the records."""
    text = counted(int(metrics["failed_attempts"]), "failed attempt")
    sent = [
        f"{counted(int(number), 'record')} to {topic}"
        for topic, number in metrics.tables["forwarded.by_topic"].items()
    ]
    if sent:
        text += f"; sent {', '.join(sent)}"
    again = int(metrics["forwarded_again"])
    return f"{text}; {counted(again, 'record')} of these sent more than once" if again else text


def _without_downtime(metrics: Metrics) -> str:
    if not metrics["processed"]:
        return "no partition was ever processed"
    return "none: every partition always had an owner"
