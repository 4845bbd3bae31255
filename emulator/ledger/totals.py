"""The totals of each partition of a closed ledger, by group.

A partition may have several accounts: one for each incarnation of its topic, for records that a
truncation removed, and for each member of a group that shares partitions intentionally.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from assignors.types import TopicPartition
from assignors.values import dataclass
from emulator.ledger.accounts import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTotals:
    """The totals of one partition that a group has processed, in records."""

    group: str
    partition: TopicPartition
    base: int
    """The offset from which it is counted; of its newest log."""

    frontier: int
    """The end of what was processed or skipped; of its newest log."""

    processed: int
    distinct: int
    unread: int
    """From the frontier to the end of the log."""


def totals_of(
    accounts: Iterable[Account], retired: Iterable[Account], log_ends: Mapping[TopicPartition, int]
) -> Iterator[PartitionTotals]:
    """Yield the totals of each partition, in order of group and partition.

    *retired*: the accounts of deleted topics and of truncated records.
    """
    present, past = _by_partition(accounts), _by_partition(retired)
    for group, partition in sorted({*present, *past}):
        key = group, partition
        live, old = present.get(key, []), past.get(key, [])
        newest = live or [each for each in old if each.truncated is None][-1:] or old[-1:]
        frontier = max(each.coverage.frontier for each in newest)
        end = log_ends.get(partition, frontier) if live else frontier
        yield PartitionTotals(
            group=group,
            partition=partition,
            base=min(each.coverage.base for each in newest),
            frontier=frontier,
            processed=sum(each.processed for each in (*live, *old)),
            distinct=sum(each.coverage.processed() for each in (*live, *old)),
            unread=newest[0].coverage.count(frontier, max(end, frontier)),
        )


def _by_partition(accounts: Iterable[Account]) -> dict[tuple[str, TopicPartition], list[Account]]:
    found: dict[tuple[str, TopicPartition], list[Account]] = {}
    for account in accounts:
        found.setdefault((account.group, account.partition), []).append(account)
    return found
