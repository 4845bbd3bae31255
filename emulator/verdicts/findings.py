"""Turn ledger, metrics and facts of a run into verdicts.

:func:`verdicts_of` is a pure function. A verdict has an id that does not change, a sentence, and the
numbers in it. An *inconclusive* verdict says that the run ended before its consequences: the metrics
in ``cut_short`` are then lower bounds, or without evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from emulator.ledger.entries import Cause, Ledger
from emulator.metrics.group_figures import figures_of
from emulator.metrics.metrics import Metrics
from emulator.report.wording import counted, duration, joined
from emulator.scenario.estimates.loads import Load
from emulator.verdicts.facts import Facts, session_settings
from emulator.verdicts.verdict import (
    CONSEQUENCES,
    EVERYTHING,
    LONG_S,
    Evidence,
    Verdict,
    VerdictId,
    named,
    no_process_text,
)

OF_RECORDS_IN_FLIGHT = frozenset({"lost", "truncated", "processed", "backlog", "in_hand"})
OF_REPROCESSING = frozenset(
    {"reprocessed", "processed", *(name for name in EVERYTHING if name.startswith("lag_processed"))}
)


def verdicts_of(
    ledger: Ledger,
    metrics: Metrics,
    facts: Facts,
    loads: Sequence[Load] = (),
    backlogs: Mapping[str, int] | None = None,
) -> tuple[Verdict, ...]:
    """Return the verdicts of a finished run, problems first, then what it was too short for.

    *loads*: what arrives for each group, and what its members can process. *backlogs*: the records of
    each partition of a topic that were there before the run.
    """
    evidence = Evidence(ledger, metrics, facts, loads, backlogs or {})
    found = [verdict for rule in RULES for verdict in rule(evidence)]
    return tuple(sorted(found, key=lambda verdict: not verdict.problem))


def inconclusive(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the sentences that say why a run is inconclusive; empty if it is conclusive."""
    return tuple(verdict.sentence for verdict in verdicts if verdict.inconclusive)


def cut_short(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the metrics that the end of a run cut short, each with the first reason."""
    reasons: dict[str, str] = {}
    for verdict in verdicts:
        for name in sorted(verdict.cut_short):
            reasons.setdefault(name, verdict.sentence)
    return reasons


# -- inconclusive --------------------------------------------------------------------------------


def _missed(evidence: Evidence) -> Iterator[Verdict]:
    missed = [each.fault for each in evidence.facts.missed]
    needless = sum(each.needless for each in evidence.facts.missed)
    if missed:
        yield Verdict(
            id=VerdictId.FAULT_MISSED,
            sentence=f"{named(missed)} did not fire",
            numbers={"faults": len(missed), "needless": needless},
            cut_short=EVERYTHING,
        )


def _refused(evidence: Evidence) -> Iterator[Verdict]:
    refused = [f"{each.fault} was refused: {each.why}" for each in evidence.facts.refused]
    if refused:
        yield Verdict(
            id=VerdictId.ACT_REFUSED,
            sentence=named(refused),
            numbers={"acts": len(refused)},
            cut_short=EVERYTHING,
        )


def _lasting(evidence: Evidence) -> Iterator[Verdict]:
    lasting = [f"{each.fault} ({each.target})" for each in evidence.facts.lasting]
    if lasting:
        yield Verdict(
            id=VerdictId.FAULT_LASTING,
            sentence=f"{named(lasting)} had not ended",
            numbers={"faults": len(lasting)},
            cut_short=CONSEQUENCES,
        )


def _without_owner(evidence: Evidence) -> Iterator[Verdict]:
    rows = evidence.metrics.listings.get("without_owner", ())
    for group in sorted({str(row["group"]) for row in rows}):
        mine = [row for row in rows if row["group"] == group]
        since_s = min(float(row["since_s"]) for row in mine)
        waited_s = evidence.facts.ended_us / 1_000_000 - since_s
        partitions = counted(len(mine), "partition")
        yield Verdict(
            id=VerdictId.WITHOUT_OWNER,
            sentence=(
                f"{partitions} of {group} had no owner, for up to {duration(waited_s)}"
                f"{no_process_text(evidence.facts, group)}"
            ),
            numbers={"partitions": len(mine), "longest_s": waited_s},
            cut_short=CONSEQUENCES,
        )


def _rebalancing(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if group.rebalancing_since_us is None:
            continue
        lasted_s = (evidence.facts.ended_us - group.rebalancing_since_us) / 1_000_000
        yield Verdict(
            id=VerdictId.REBALANCING,
            sentence=f"a rebalance of {group.group} had run for {duration(lasted_s)}",
            numbers={"lasted_s": lasted_s},
            cut_short=CONSEQUENCES,
        )


def _session_running(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if group.absent:
            processes = "process" if len(group.absent) == 1 else "processes"
            yield Verdict(
                id=VerdictId.SESSION_RUNNING,
                sentence=(
                    f"{named(group.absent)} ended, and {group.group} had not removed the "
                    f"{processes} yet ({joined(session_settings(group, group.absent))})"
                ),
                numbers={"members": len(group.absent)},
                cut_short=CONSEQUENCES,
            )


def _in_flight(evidence: Evidence) -> Iterator[Verdict]:
    number = evidence.ledger.unresolved
    if number:
        verb = "was" if number == 1 else "were"
        yield Verdict(
            id=VerdictId.IN_FLIGHT,
            sentence=(
                f"{counted(number, 'record')} in flight at the end of a process {verb} not processed yet"
            ),
            numbers={"records": number},
            cut_short=OF_RECORDS_IN_FLIGHT,
        )


def _reprocessing(evidence: Evidence) -> Iterator[Verdict]:
    number = evidence.ledger.to_reprocess
    if number:
        verb = "was" if number == 1 else "were"
        yield Verdict(
            id=VerdictId.REPROCESSING,
            sentence=(f"{counted(number, 'processed record')} {verb} about to be reprocessed"),
            numbers={"records": number},
            cut_short=OF_REPROCESSING,
        )


# -- dead, stuck and looping ---------------------------------------------------------------------


def _nothing_processed(evidence: Evidence) -> Iterator[Verdict]:
    groups = evidence.facts.groups
    if evidence.metrics["processed"] or not any(group.consumers for group in groups):
        return
    waiting = sum(group.waiting for group in groups)
    skipped = sum(e.count for e in evidence.ledger.entries if e.cause is Cause.SKIPPED)
    why = ": no record was produced"
    if skipped:
        why = f": the handler failed on {counted(skipped, 'record')}, and skipped them"
    elif waiting:
        why = f", and {counted(waiting, evidence.facts.lag_unit)} waited"
    elif evidence.unread():
        why = ": no record arrived after the offsets at which its owners began"
    yield Verdict(
        id=VerdictId.NOTHING_PROCESSED,
        sentence=f"nothing was processed{why}",
        numbers={"waiting": waiting},
        problem=True,
        cut_short=frozenset() if skipped else CONSEQUENCES,
    )


def _dead(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if not group.failures:
            continue
        dead = sorted({failure.consumer for failure in group.failures})
        reasons = dict.fromkeys(failure.reason or "an error" for failure in group.failures)
        members = counted(group.consumers, "member")
        sentence = (
            f"{len(dead)} of {members} of {group.group} ended with an error: "
            f"{named(dead)} ({named(list(reasons))})"
        )
        if not group.running:
            sentence += "; none runs any more, and "
            sentence += f"{counted(group.waiting, evidence.facts.lag_unit)} waited"
        yield Verdict(
            id=VerdictId.MEMBERS_DIED if group.running else VerdictId.GROUP_DEAD,
            sentence=sentence,
            numbers={"members": len(dead), "of": group.consumers, "waiting": group.waiting},
            group=group.group,
            reasons=frozenset(reasons),
            problem=True,
            cut_short=frozenset() if group.running else CONSEQUENCES,
        )


def _of_loops(evidence: Evidence) -> Iterator[Verdict]:
    """Yield members that drop out again and again, and partitions that are stuck; most runs have none."""
    if any(group.loops or group.stuck for group in evidence.facts.groups):
        from emulator.verdicts.loops import loops, stuck  # noqa: PLC0415  few runs have any

        yield from loops(evidence)
        yield from stuck(evidence)


def _listener_threw(evidence: Evidence) -> Iterator[Verdict]:
    for group in evidence.facts.groups:
        if group.thrown:
            times = sum(each.times for each in group.thrown)
            down_s = evidence.metrics[f"downtime_max.by_group[{group.group}]"]
            members = sorted({each.consumer for each in group.thrown})
            calls = list(
                dict.fromkeys(f"onPartitions{each.reason.title()}()" for each in group.thrown)
            )
            yield Verdict(
                id=VerdictId.LISTENER_THREW,
                sentence=(
                    f"{joined(calls)} threw {counted(times, 'time')} in {named(members)}; the longest "
                    f"downtime of a partition was {duration(down_s)}"
                ),
                numbers={"times": times, "members": len(members)},
                group=group.group,
                problem=True,
            )


def _removed(evidence: Evidence) -> Iterator[Verdict]:
    groups = evidence.facts.groups
    if any(each.killed or each.removed_in_close or each.removed_assigning for each in groups):
        from emulator.verdicts import removals  # noqa: PLC0415  few runs need it

        yield from removals.killed(evidence)
        yield from removals.removed_in_close(evidence)
        yield from removals.removed_assigning(evidence)


def _shared_group(evidence: Evidence) -> Iterator[Verdict]:
    for load in evidence.loads:
        rebalances = figures_of(evidence.metrics, load.group).rebalances
        if load.disjoint and rebalances:
            first, second = load.disjoint
            yield Verdict(
                id=VerdictId.SHARED_GROUP,
                sentence=(
                    f"members of {load.group} subscribe to different topics ({first} and {second}): "
                    f"each of the {counted(rebalances, 'rebalance')} affected all of them"
                ),
                numbers={"rebalances": rebalances},
                group=load.group,
                problem=True,
            )


def _of_topics(evidence: Evidence) -> Iterator[Verdict]:
    """Yield what changes of topics did to groups; few runs have any."""
    is_old = any(entry.cause is Cause.OLD_TOPIC for entry in evidence.ledger.entries)
    if is_old or any(each.of_deleted or each.interrupted for each in evidence.facts.groups):
        from emulator.verdicts import topics  # noqa: PLC0415  as above

        yield from topics.old_topic_offsets(evidence)
        yield from topics.deleted_topics(evidence)
        yield from topics.topic_rebalances(evidence)


def _of_downtime(evidence: Evidence) -> Iterator[Verdict]:
    """Yield partitions that had no owner for long; most runs have none."""
    if evidence.facts.found or evidence.metrics["downtime_max_s"] >= LONG_S:
        from emulator.verdicts.downtime import found_late, long_downtime  # noqa: PLC0415  as above

        yield from found_late(evidence)
        yield from long_downtime(evidence)


def _of_brokers(evidence: Evidence) -> Iterator[Verdict]:
    """Yield what brokers kept from groups for long; most runs have none."""
    metrics = evidence.metrics
    if metrics.tables["unreadable.by_partition"] or metrics.tables["commits_unavailable.by_group"]:
        from emulator.verdicts.brokers import unavailable  # noqa: PLC0415  as above

        yield from unavailable(evidence)


def _of_lag(evidence: Evidence) -> Iterator[Verdict]:
    """Yield unread backlogs, partitions without progress, overload and growing lag; most runs have none."""
    suspects = any(group.stalled or group.growth for group in evidence.facts.groups)
    if suspects or evidence.unread() or any(load.is_overload for load in evidence.loads):
        from emulator.verdicts.lag import lag_problems  # noqa: PLC0415  as above

        yield from lag_problems(evidence)


def _handover(evidence: Evidence) -> Iterator[Verdict]:
    for row in evidence.metrics.listings.get("handovers", ()):
        both, neither = int(row["both"]), int(row["neither"])
        if both or neither:
            by_neither = f"{neither:,} by neither" if neither else "none by neither"
            yield Verdict(
                id=VerdictId.GROUP_HANDOVER,
                sentence=f"{row['group']} replaces {row['replaces']}: "
                f"{counted(both, 'record was', 'records were')} processed by both, {by_neither}",
                numbers={"both": both, "neither": neither},
                group=str(row["group"]),
                problem=True,
            )


def _of_operations(evidence: Evidence) -> Iterator[Verdict]:
    """Yield what deploys did, and what autoscalers and monitors did wrong; most runs have none."""
    if evidence.facts.stopped_deploys or any(each.switched for each in evidence.facts.groups):
        from emulator.verdicts import deploys  # noqa: PLC0415  as above

        yield from deploys.deploy_problems(evidence)
        yield from deploys.assignors_changed(evidence)
    if evidence.metrics.listings.get("replicas"):
        from emulator.verdicts.scaling import scaling_problems  # noqa: PLC0415  as above

        yield from scaling_problems(evidence)
    if evidence.metrics.listings.get("monitors"):
        from emulator.verdicts.monitoring import monitor_problems  # noqa: PLC0415  as above

        yield from monitor_problems(evidence)


RULES: tuple[Callable[[Evidence], Iterator[Verdict]], ...] = (
    _nothing_processed,
    _dead,
    _of_loops,
    _of_topics,
    _of_downtime,
    _of_brokers,
    _of_lag,
    _listener_threw,
    _removed,
    _shared_group,
    _handover,
    _of_operations,
    _missed,
    _refused,
    _lasting,
    _without_owner,
    _rebalancing,
    _session_running,
    _in_flight,
    _reprocessing,
)
"""In order of the screen."""
