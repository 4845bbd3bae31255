"""Hints for overload and growing lag, with the numbers of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Final, NamedTuple

from emulator.report.hints.of_verdicts import VERDICT_HINTS
from emulator.report.subject import Commits, GroupFacts
from emulator.report.wording import counted, duration
from emulator.verdicts.verdict import Verdict, VerdictId


class Given(NamedTuple):
    """The id of a hint, and its text with the numbers of the run."""

    id: str
    text: str
    has_numbers: bool = True
    """False: reports add those of the change that it recommends."""


def now(group: GroupFacts, setting: str) -> str:
    """Return a setting's name and value in force."""
    return f"{group.name_of(setting)} (now {group.value(setting)})"


def overload(verdict: Verdict, group: GroupFacts, _: tuple[Verdict, ...]) -> Iterator[Given]:
    """Yield the hints for a group to which more arrives than it can process."""
    numbers = verdict.numbers
    needed = ceil(numbers["arrival_per_s"] / (numbers["capacity_per_s"] / numbers["members"]))
    shorter = f"make the work on a record shorter ({duration(group.work_us / 1_000_000)} now)"
    yield from _failing(numbers)
    if numbers["uneven"]:
        yield _uneven(numbers, group)
    elif numbers["slow_member"]:
        yield _slow_member(group)
    elif numbers["store_bound"]:
        yield Given("larger-transactions", VERDICT_HINTS[verdict.id]["larger-transactions"])
    elif numbers.get("best_members"):
        yield _fewer_members(numbers, group)
    elif numbers["hot"] and numbers["hot_key"]:
        yield Given(
            "split-hot-key",
            f"One key brings {numbers['key_per_s']:,.0f} records per second, and all of them go to one "
            f"partition: more partitions or members do not help. Let the producer add a suffix to it, "
            f"so that its records go to several partitions (their order is lost), or {shorter}.",
        )
    elif needed <= numbers["partitions"] and not numbers["hot"]:
        scaled = " (max_replicas of its autoscaler)" if group.autoscaler else ""
        yield Given(
            "more-members",
            f"Run at least {counted(int(numbers['enough_members']), 'member')} of {group.id}{scaled}, and more to catch "
            f"up after a fault; or {shorter}.",
        )
    else:
        yield Given(
            "more-partitions",
            f"More members alone do not help: a partition has one owner at a time. Add partitions or "
            f"spread the keys, process records of a partition concurrently, or {shorter}.",
        )


def _uneven(numbers: Mapping[str, float], group: GroupFacts) -> Given:
    """Return the hint for members that do not get the same number of partitions."""
    average = ceil(numbers["partitions"] / numbers["members"])
    if numbers["topics"] > 1 and numbers["fullest_partitions"] > average:
        return _spread_partitions(numbers, group)
    return Given(
        "even-partitions",
        f"{int(numbers['partitions'])} partitions are not the same for each of {group.members} members: "
        f"at least one gets {int(numbers['fullest_partitions'])}, more than it keeps up with. Run at least "
        f"{counted(int(numbers['enough_members']), 'member')}, or spread the same records over a number of "
        f"partitions that the members divide.",
    )


def _slow_member(group: GroupFacts) -> Given:
    """Return the hint for a member that is slower than the others, and gets as many partitions."""
    times = group.work_by_member
    slowest, fastest = (pick(times, key=lambda name: times[name]) for pick in (max, min))
    return Given(
        "equal-members",
        f"Assignors count partitions, not what a member can process: a record takes {slowest} "
        f"{duration(times[slowest] / 1_000_000)}, and {fastest} {duration(times[fastest] / 1_000_000)}. Make "
        f"{slowest} as fast as the others, stop it, or run so many members that it gets fewer partitions.",
    )


def _spread_partitions(numbers: Mapping[str, float], group: GroupFacts) -> Given:
    """Return the hint for a group whose first members get one more partition of each topic."""
    return Given(
        "spread-partitions",
        f"range assigns topic by topic: the first of {group.members} members get the extra "
        f"partition of each topic. partition.assignment.strategy=roundrobin or cooperative-sticky "
        f"balances over all {int(numbers['topics'])} topics.",
    )


NOTABLE = 0.1
"""The share of the members' time from which on failing records get a hint."""

BUSY = 0.9
"""The share of its time from which on a member has none left for more records."""


IDLE_FOR: Final = {
    VerdictId.NOTHING_PROCESSED,
    VerdictId.MEMBER_LOOP,
    VerdictId.REMOVED_ASSIGNING,
    VerdictId.REBALANCING,
}
"""Verdicts that say why members do not work all of the time: no setting of their polls changes that."""


def lag_grows(
    verdict: Verdict, group: GroupFacts, verdicts: tuple[Verdict, ...]
) -> Iterator[Given]:
    """Yield the hints for a group whose lag grows although its members could process what arrives."""
    numbers = verdict.numbers
    yield from _larger_queue(numbers, group)
    yield from _failing(numbers)
    if "late_per_s" in numbers:
        yield from _late(numbers, group)
    elif numbers["busiest"] < BUSY:
        if not any(each.id in IDLE_FOR and each.group == group.id for each in verdicts):
            yield from _with_time_left(numbers, group)
    elif numbers["idlest"] > BUSY * numbers["busiest"]:
        yield Given(
            "more-members",
            f"{int(numbers['running'])} of {counted(int(numbers['members']), 'member')} of {group.id} ran at the "
            f"end, and had no time left: run more, or make the work on a record shorter "
            f"({duration(group.work_us / 1_000_000)} now).",
        )
    elif numbers.get("different_work") and group.assignors[0] != "range":
        setting = (
            "group.remote.assignor" if group.by_coordinator else "partition.assignment.strategy"
        )
        yield Given(
            "range-by-topic",
            f"{group.assignors[0]} counts partitions, not the work on their records: one member can have "
            f"those of the topics that take long. {setting}=range gives each of {counted(group.members, 'member')} "
            f"partitions of each topic.",
        )
    elif numbers["topics"] > 1 and group.assignors[0] == "range":
        yield _spread_partitions(numbers, group)
    elif numbers["even_members"]:
        yield _fewer_partitions(numbers, group)


def _fewer_partitions(numbers: Mapping[str, float], group: GroupFacts) -> Given:
    """Return the hint for a member that has no time left, while another one has."""
    more, partitions = int(numbers["even_members"]), int(numbers["partitions"])
    if partitions % group.members:
        text = (
            f"{partitions} partitions are not the same for each of {group.members} members, and those with "
            f"more of them have no time left: run {more} members, or a number of partitions that the members "
            f"divide."
        )
    else:
        text = (
            f"Each of {group.members} members has {partitions // group.members} of the {partitions} partitions, "
            f"but not as much work: run {more} members, of which each has fewer, or spread the keys."
        )
    return Given("even-partitions", text)


def _larger_queue(numbers: Mapping[str, float], group: GroupFacts) -> Iterator[Given]:
    """Yield the hint for workers that are idle while one slow record can fill the queue of their pool."""
    slowest_s = group.slowest_us / 1_000_000
    arriving = group.arrival_per_member_s * slowest_s
    if numbers["busiest"] < BUSY and 0 < group.queue < arriving:
        yield Given(
            "larger-queue",
            f"Let a consumer hold more than {counted(group.queue, 'record')}: while one record takes "
            f"{duration(slowest_s)}, {arriving:,.0f} arrive, and those behind it in their partition fill the "
            f"queue, so that workers of other partitions get none.",
        )


def _failing(numbers: Mapping[str, float]) -> Iterator[Given]:
    """Yield the hint for records that take long or fail, if they take much of the members' time."""
    if numbers["failing"] >= NOTABLE:
        yield Given(
            "forward-failing",
            f"Records that take long or fail need {numbers['failing']:.0%} of the members' time, with "
            f"their back-offs, and the records behind them wait: send them to a retry topic or a dead "
            f"letter topic, or try again less often and after shorter waits.",
        )


def _with_time_left(numbers: Mapping[str, float], group: GroupFacts) -> Iterator[Given]:
    """Yield the hint for members that do not work all of the time: what they wait for."""
    if numbers["failing"] >= NOTABLE:
        return
    if numbers["failed"]:
        yield _few_that_fail(int(numbers["failed"]))
    else:
        yield _time_beside_work(group)


def _few_that_fail(number: int) -> Given:
    """Return the hint for single records that take long or fail: members wait for their back-offs."""
    return Given(
        "forward-failing",
        f"{counted(number, 'record')} took long or failed, and the records behind waited for the work and "
        "the back-offs: members were busy with these, not with commits and fetches. Send such records to "
        "a retry topic or a dead letter topic, or try again less often and after shorter waits.",
    )


def _time_beside_work(group: GroupFacts) -> Given:
    """Return the hint for members that wait more than they work."""
    if Commits.EACH_RECORD in group.commit_kinds and Commits.SYNC in group.commit_kinds:
        return Given(
            "commit-less-often",
            "Call commitSync() after each batch, not after each record: it waits for the answer of "
            f"the coordinator, beside {duration(group.work_us / 1_000_000)} of work.",
        )
    return Given(
        "less-waiting",
        f"Members wait for commits, fetches and rebalances instead of working: use a larger "
        f"{now(group, 'max.poll.records')}, fewer commits, and larger fetches.",
    )


def _fewer_members(numbers: Mapping[str, float], group: GroupFacts) -> Given:
    """Return the hint for members that slow one another down."""
    return Given(
        "fewer-members",
        f"More members of {group.id} process less: the records that they have in work at the same time "
        f"slow one another down. Run {int(numbers['best_members'])} of them, which process "
        f"{numbers['best_per_s']:,.0f} records per second, or relieve what they share.",
    )


def _late(numbers: Mapping[str, float], group: GroupFacts) -> Iterator[Given]:
    """Yield the hint for a group that processes late records too slowly to catch up."""
    if 0 < numbers["late_per_s"] < numbers["arrival_per_s"]:
        needed = ceil(group.members * numbers["arrival_per_s"] / numbers["late_per_s"])
        yield Given(
            "capacity-behind",
            f"Once a partition is more than {int(numbers['late_above']):,} records behind, the members of "
            f"{group.id} process {numbers['late_per_s']:,.0f} records per second, fewer than arrive: they "
            f"never catch up. Run at least {needed} of them, or make late records cheaper (a warm cache, "
            f"larger batches).",
        )
