"""Verdicts on topics that change under a group: rebalances, offsets of an old topic, commits of a deleted one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.ledger.entries import Cause, Entry, EntryKind, Step
from emulator.report.wording import counted, duration, joined
from emulator.verdicts.verdict import Evidence, Verdict, VerdictId, named

OFTEN: Final = 3
"""Rebalances that changes of topics cause; fewer are their price."""


def topic_rebalances(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each group that changes of topics rebalanced often, and whose other partitions stopped."""
    for group in evidence.facts.groups:
        found = group.interrupted
        if found is not None and found.times >= OFTEN and found.partitions:
            topics = f" ({named(found.topics)})" if found.topics else ""
            yield Verdict(
                id=VerdictId.TOPIC_REBALANCES,
                sentence=(
                    f"changes of topics{topics} rebalanced {group.group} {found.times} times; each time "
                    f"up to {counted(found.partitions, 'partition')} stopped, although they kept their "
                    "owner"
                ),
                numbers={"rebalances": found.times, "partitions": found.partitions},
                group=group.group,
                problem=True,
            )


def old_topic_offsets(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each group and topic with offsets that were committed for its deleted predecessor."""
    entries = [each for each in evidence.ledger.entries if each.cause is Cause.OLD_TOPIC]
    for group, topic in sorted({(each.group, each.topic) for each in entries}):
        mine = [each for each in entries if (each.group, each.topic) == (group, topic)]
        lost, again = (_records(mine, kind) for kind in (EntryKind.LOST, EntryKind.REPROCESSED))
        parts = [f"{lost:,} lost"] if lost else []
        parts += [f"{again:,} reprocessed"] if again else []
        yield Verdict(
            id=VerdictId.OLD_TOPIC_OFFSETS,
            sentence=(
                f"{topic} was deleted and created again while {group} ran: {_committers(mine)} committed "
                f"offsets of the old {topic}, and they count for the new one: {joined(parts)}"
            ),
            numbers={"lost": lost, "reprocessed": again},
            group=group,
            problem=True,
        )


def _records(entries: Sequence[Entry], kind: EntryKind) -> int:
    return sum(each.count for each in entries if each.kind is kind)


def _committers(entries: Sequence[Entry]) -> str:
    links = (link for entry in entries for link in entry.chain if link.step is Step.COMMITTED)
    return named(sorted({str(link.values[0]) for link in links})) or "members"


REPEATED_LONG_S: Final = 10


def deleted_topics(evidence: Evidence) -> Iterator[Verdict]:
    """Yield each group whose members repeated commits of a deleted topic for long."""
    for group in evidence.facts.groups:
        long = [each for each in group.of_deleted if each.lasted_us >= REPEATED_LONG_S * 1_000_000]
        if long:
            worst = max(long, key=lambda each: each.lasted_us)
            members = list(dict.fromkeys(each.consumer for each in long))
            down_s = evidence.metrics[f"downtime_max.by_group[{group.group}]"]
            yield Verdict(
                id=VerdictId.DELETED_TOPIC,
                sentence=(
                    f"{named(members)} repeated commits of {worst.topic}, which had been deleted, for up to "
                    f"{duration(worst.lasted_us / 1_000_000)} ({worst.error}); the longest downtime of a "
                    f"partition was {duration(down_s)}"
                ),
                numbers={
                    "members": len(members),
                    "times": sum(each.times for each in long),
                    "longest_s": worst.lasted_us / 1_000_000,
                },
                group=group.group,
                problem=True,
            )
