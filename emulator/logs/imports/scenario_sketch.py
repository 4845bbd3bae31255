"""A real group as values of a scenario, measured or assumed.

``scenario_file`` writes it as TOML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Final

from assignors.values import dataclass
from emulator.logs.errors import NoScenarioError
from emulator.logs.imports.generations import CLASSIC, Follower, Generation, Member, Row
from emulator.logs.imports.values import GroupFindings
from emulator.scenario.short_forms import HIDDEN
from emulator.scenario.tables.topics import MAX_PARTITIONS
from protocols.settings import INT_MAX

CONSUMER: Final = "consumer"
PLAYED: Final = (CLASSIC, CONSUMER)
"""Types of groups that the emulator simulates."""

LASTING_SHARE: Final = 0.1
"""A generation that lasted at least this share of the time is not short-lived."""

EVEN_WITHIN: Final = 0.1
"""Partitions whose rates differ by at most this share from their mean count as even."""

AUTO_FROM_MS: Final = 500
"""From this median interval on, commits count as periodic, not as one for each batch."""

ONE_EACH: Final = 1.5
"""Up to this number of records per commit, each record counts as committed separately."""

LONGEST_INTERVAL_MS: Final = INT_MAX
"""The maximum of ``auto.commit.interval.ms``, 24 days."""

USUAL_WORK_US: Final = 1_000
BUSY_SHARE: Final = 0.5
"""A member is assumed to process records for at most this share of the time."""


@dataclass(frozen=True, slots=True)
class Lasted:
    """A generation with members, and its duration."""

    generation: Generation
    for_ms: int


@dataclass(frozen=True, slots=True)
class TopicSketch:
    """One topic."""

    name: str
    partitions: int
    rate: float
    """Records a second, the mean of its partitions."""

    skew: tuple[float, ...]
    """Factors on the rate; empty: the partitions are even."""


@dataclass(frozen=True, slots=True)
class CommitSketch:
    """The commit policy (``auto``, ``sync``, ``sync per record`` or ``none``) and interval."""

    policy: str
    every_ms: int | None
    """Of ``auto``."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A group."""

    findings: GroupFindings
    generations: tuple[Lasted, ...]
    chosen: Lasted
    topics: tuple[TopicSketch, ...]
    members: tuple[tuple[str, Member], ...]
    """The members, with unique names."""

    commit: CommitSketch
    work_us: int
    max_work_us: int | None
    """Processing time per record above which the busiest member's lag would grow; None: unknown."""


def sketch(findings: GroupFindings, rows: Iterable[Row], epoch: int | None = None) -> Sketch:
    """Return the sketch of one group.

    *rows*: of the table ``groups``, of this group, in the order of the log. *epoch*: the
    generation to take; None: the newest one that lasted. Raise NoScenarioError if there is none.
    """
    if findings.group_type is None:
        raise NoScenarioError(
            f"{findings.group}: the log has its committed offsets, but no members; "
            "read more of the log, or write the scenario by hand"
        )
    if findings.group_type not in PLAYED:
        raise NoScenarioError(
            f"{findings.group}: a {findings.group_type} group; the emulator plays groups of the "
            "protocols classic and consumer"
        )
    generations = lasted(rows, findings.pace.last_ms)
    chosen = _chosen(findings.group, generations, epoch)
    members = tuple(chosen.generation.roster.values())
    topics = tuple(_topics(findings, members))
    if not topics:
        raise NoScenarioError(f"{findings.group}: the topics of its members are not in the log")
    max_work_us = _max_work_us(topics, len(members))
    return Sketch(
        findings=findings,
        generations=tuple(generations),
        chosen=chosen,
        topics=topics,
        members=tuple(_named(members)),
        commit=_commit(findings),
        work_us=_work_us(max_work_us),
        max_work_us=max_work_us,
    )


def lasted(rows: Iterable[Row], end_ms: int) -> list[Lasted]:
    """Return the generations that had members, each in its last state."""
    follower, seen = Follower(), list[Generation]()
    for row in rows:
        seen += [each for each in follower.see(row) if isinstance(each, Generation)]
    seen += follower.end()
    ends = [*(each.place.at_ms for each in seen[1:]), end_ms]
    known = [
        Lasted(each, max(end - each.place.at_ms, 0)) for each, end in zip(seen, ends, strict=True)
    ]
    return _joined_up([each for each in known if each.generation.roster])


def _joined_up(known: Iterable[Lasted]) -> list[Lasted]:
    """Merge the records of one generation into one, with its last state."""
    once: dict[tuple[str, int], Lasted] = {}
    for each in known:
        key = (each.generation.group_type, each.generation.epoch)
        before = once.pop(key).for_ms if key in once else 0
        once[key] = Lasted(each.generation, before + each.for_ms)
    return list(once.values())


def _chosen(group: str, generations: Sequence[Lasted], epoch: int | None) -> Lasted:
    if not generations:
        raise NoScenarioError(f"{group}: it has no members in what was read")
    if epoch is None:
        long = LASTING_SHARE * sum(each.for_ms for each in generations)
        return [each for each in generations if each.for_ms >= long][-1]
    for each in generations:
        if each.generation.epoch == epoch:
            return each
    known = ", ".join(str(each.generation.epoch) for each in generations[-20:])
    word = "epoch" if generations[-1].generation.group_type == CONSUMER else "generation"
    raise NoScenarioError(f"{group}: no {word} {epoch} with members; there are {known}")


# -- topics ----------------------------------------------------------------------------------------


def _topics(findings: GroupFindings, members: Sequence[Member]) -> Iterable[TopicSketch]:
    """Return the topics of the members; without topic names, all topics with commits."""
    known = {topic for member in members for topic in member.topics}
    by_topic: dict[str, dict[int, float]] = {}
    for each in findings.partitions:
        if not known or each.topic in known:
            by_topic.setdefault(each.topic, {})[each.partition] = each.rate or 0.0
    for topic in sorted(known | by_topic.keys()):
        rates = by_topic.get(topic, {0: 0.0})
        if min(rates) < 0:
            raise NoScenarioError(
                f"{findings.group}: the log has partition {min(rates)} of {topic}, but the partitions of "
                "a topic are numbered from 0"
            )
        if max(rates) >= MAX_PARTITIONS:
            raise NoScenarioError(
                f"{findings.group}: the log has partition {max(rates)} of {topic}, but a topic of a "
                f"scenario has at most {MAX_PARTITIONS:,} partitions"
            )
        yield _topic(topic, [rates.get(number, 0.0) for number in range(max(rates) + 1)])


def _topic(name: str, rates: Sequence[float]) -> TopicSketch:
    rate = mean(rates)
    factors = tuple(round(each / rate, 2) for each in rates) if rate else ()
    even = all(abs(factor - 1) <= EVEN_WITHIN for factor in factors)
    return TopicSketch(name, len(rates), rate, () if even else factors)


# -- members ---------------------------------------------------------------------------------------


def _named(members: Sequence[Member]) -> Iterable[tuple[str, Member]]:
    """Give each member a name: its own, with a number where several have the same."""
    counts = _counts(legal(each.name) for each in members)
    used = dict[str, int]()
    for each in sorted(members, key=lambda member: (member.name, member.client_host)):
        name = legal(each.name)
        number = used[name] = used.get(name, -1) + 1
        yield (f"{name}-{number}" if counts[name] > 1 else name), each


def legal(name: str) -> str:
    """Return a name without characters that scenarios do not allow, such as brackets."""
    return re.sub(rf"[\[\]{HIDDEN}]", "_", name).strip()[:240] or "_"


def _counts(names: Iterable[str]) -> dict[str, int]:
    counts = dict[str, int]()
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _commit(findings: GroupFindings) -> CommitSketch:
    if not findings.commits:
        return CommitSketch("none", None)
    median_ms = findings.median_ms
    if median_ms is None or median_ms >= AUTO_FROM_MS:
        every_ms = None if median_ms is None else min(_two_digits(median_ms), LONGEST_INTERVAL_MS)
        return CommitSketch("auto", every_ms)
    at_once = findings.advanced / findings.commits
    return CommitSketch("sync per record" if at_once <= ONE_EACH else "sync", None)


def _two_digits(number: int) -> int:
    """Round to two digits: to the configured interval, without the delays of polls."""
    step = int(10 ** max(len(str(number)) - 2, 0))
    return round(number / step) * step


def _max_work_us(topics: Iterable[TopicSketch], members: int) -> int | None:
    """Return the longest possible processing time of a record if partitions are shared evenly."""
    rate = sum(each.rate * -(-each.partitions // members) for each in topics)
    return int(1e6 / rate) if rate > 0 else None


def _work_us(max_work_us: int | None) -> int:
    if max_work_us is None:
        return USUAL_WORK_US
    return max(1, min(USUAL_WORK_US, int(BUSY_SHARE * max_work_us)))
