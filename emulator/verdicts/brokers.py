"""Verdicts on brokers that kept a group from its records, or from its coordinator, for long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import LONG_S, Evidence, Verdict, VerdictId


def unavailable(evidence: Evidence) -> Iterator[Verdict]:
    """Yield the groups without commits, and the partitions without readable records, for a minute or more."""
    for group, away_s in _without_commits(evidence).items():
        yield Verdict(
            id=VerdictId.UNAVAILABLE,
            sentence=f"{group} had no coordinator that accepts commits for {duration(away_s)}, because of brokers",
            numbers={"commits_s": away_s},
            group=group,
            problem=True,
        )
    unreadable = _unreadable(evidence)
    if unreadable:
        worst = max(unreadable, key=lambda name: unreadable[name])
        yield Verdict(
            id=VerdictId.UNAVAILABLE,
            sentence=(
                f"{counted(len(unreadable), 'partition')} had no new readable records for a minute or more, "
                f"because of brokers: {worst} for {duration(unreadable[worst])}"
            ),
            numbers={"partitions": len(unreadable), "longest_s": unreadable[worst]},
            problem=True,
        )


def kept_by_brokers(evidence: Evidence) -> set[str]:
    """Return the groups that brokers kept from new records for a minute or more.

    A classic consumer that cannot find its coordinator does not follow a leader to another broker either:
    poll() applies new leaders to positions only behind the coordinator's part of it.
    """
    unreadable = _unreadable(evidence).keys()
    of_all = (name.rpartition("/") for name in evidence.metrics.tables["downtime_max.by_partition"])
    groups = [group.group for group in evidence.facts.groups]
    without_records = {
        group
        for of_group, _, partition in of_all
        if partition in unreadable
        for group in ([of_group] if of_group else groups)
    }
    return without_records | _without_commits(evidence).keys()


def _without_commits(evidence: Evidence) -> dict[str, float]:
    return _long(evidence.metrics.tables["commits_unavailable.by_group"])


def _unreadable(evidence: Evidence) -> dict[str, float]:
    return _long(evidence.metrics.tables["unreadable.by_partition"])


def _long(table: Mapping[str, int | float]) -> dict[str, float]:
    return {name: float(lasted_s) for name, lasted_s in table.items() if lasted_s >= LONG_S}
