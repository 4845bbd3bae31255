"""Whether what was given besides a processing log is of the same partitions.

Offsets and commits of topics by other names would be taken for commits that were never made, and
for partitions that nobody worked on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emulator.logs.audit.auditing import Audited, Terms
from emulator.logs.audit.commits import Committed
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError
from emulator.scenario.problems import few_listed


def refuse_strangers(audited: Audited, terms: Terms, committed: Committed | None) -> None:
    """Raise AuditError if an option is of no topic that the log is of."""
    mine = _topics(part.name for part in audited.partitions if part.processed)
    limits = terms.limits.items()
    _refuse("--ends", mine, _topics(name for name, each in limits if each.end is not None))
    _refuse("--begins", mine, _topics(name for name, each in limits if each.begin is not None))
    if committed is not None:
        option = f"--commits, of group {committed.group}"
        _refuse(option, mine, _topics(committed.commits))


def _refuse(option: str, mine: list[str], theirs: list[str]) -> None:
    if theirs and set(mine).isdisjoint(theirs):
        raise AuditError(
            f"{option}: is about {few_listed(theirs)}, and the log about {few_listed(mine)}: give "
            "the topics the same names in both, those they have in Kafka"
        )


def remarks(audited: Audited, terms: Terms) -> Iterator[str]:
    """Yield in sentences what the given ends and begins leave open."""
    worked = [part.name for part in audited.partitions if part.processed]
    ends = any(each.end is not None for each in terms.limits.values())
    lacking = [str(name) for name in worked if terms.of(name).end is None]
    if ends and lacking:
        yield f"No end is given of {few_listed(lacking)}: what lies beyond is not counted."
    if ends and all(terms.of(name).begin is None for name in worked):
        yield (
            "Each partition is counted from the lowest offset that was processed of it; what was "
            "passed over before that shows with --begins."
        )


def _topics(names: Iterable[PartitionName]) -> list[str]:
    return sorted({name.topic for name in names})
