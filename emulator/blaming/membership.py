"""Whose the member ids of a group are, from its metadata records and its processing log."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from assignors.types import TopicPartition
from emulator.blaming.evidence import Joined, Work
from emulator.logs.imports.generations import Member, Row, member_of
from emulator.logs.imports.scenario_sketch import Lasted


def joins_of(
    rows: Iterable[Row],
    generations: Sequence[Lasted],
    work: Sequence[Work],
    names: Mapping[str, str],
) -> tuple[Joined, ...]:
    """Return when each member id is first seen, and of which consumer it is.

    *rows*: of the table ``groups``, of one group, in the order of the log. *names*: topics by id.
    """
    first_us, members = _first_seen(rows)
    consumers = _consumers(members, generations, work, names)
    return tuple(
        sorted(
            (Joined(at_us, consumers.get(id_, "")) for id_, at_us in first_us.items()),
            key=lambda joined: (joined.at_us, joined.consumer),
        )
    )


def _first_seen(rows: Iterable[Row]) -> tuple[dict[str, int], dict[str, Member]]:
    """Return the time of the first record of each member id, and the member in it."""
    first_us: dict[str, int] = {}
    members: dict[str, Member] = {}
    for row in rows:
        for entry in row["members"] or ():
            id_ = row["member_id"] or entry["member_id"]
            if id_:
                first_us.setdefault(id_, row["timestamp"] * 1_000)
                members.setdefault(id_, member_of(entry))
    return first_us, members


def _consumers(
    members: Mapping[str, Member],
    generations: Sequence[Lasted],
    work: Sequence[Work],
    names: Mapping[str, str],
) -> dict[str, str]:
    """Return the consumer of each member id.

    It is the one with the member's name. Where the processing log has other names, it is the one
    that processed most of the member's partitions while it owned them.
    """
    known = {done.consumer for done in work}
    if all(member.name in known for member in members.values()):
        return {id_: member.name for id_, member in members.items()}
    return _by_partitions(generations, work, names)


def _by_partitions(
    generations: Sequence[Lasted], work: Sequence[Work], names: Mapping[str, str]
) -> dict[str, str]:
    times = [each.generation.place.at_ms * 1_000 for each in generations]
    processed: defaultdict[tuple[int, TopicPartition], Counter[str]] = defaultdict(Counter)
    for done in work:
        place = bisect_right(times, done.began_us) - 1
        processed[place, done.partition][done.consumer] += done.next_offset - done.first
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place, each in enumerate(generations):
        for id_, member in each.generation.roster.items():
            for topic, number in member.assigned:
                partition = TopicPartition(names.get(topic, topic), number)
                counts[id_].update(processed.get((place, partition), {}))
    return {
        id_: min(found, key=lambda name: (-found[name], name))
        for id_, found in counts.items()
        if found
    }
