"""Changes for groups whose members cannot process what arrives, or whose records fail."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Final

from emulator.advice.drafts import MARGIN, STRATEGY, Draft, Make, batches_of, consumer
from emulator.advice.situation import Situation, round_up
from emulator.report.wording import counted, duration
from emulator.scenario.kafka_settings import REMOTE_ASSIGNOR
from emulator.scenario.resolution import rates_of, topics_of


def more_members(situation: Situation) -> Draft | None:
    """Members that can process what arrives, with a margin, as far as there are partitions."""
    load = situation.load
    if load is None or not load.is_overload or load.is_hot:
        return None
    if load.store == load.capacity:
        return None
    value = load.members_for(MARGIN)
    if load.members >= value:
        return None
    why = (
        f"{load.arrival:,.0f} records arrive per second, and {counted(load.members, 'member')} process "
        f"{load.capacity:,.0f}."
    )
    return _members(situation, value, why)


def _members(situation: Situation, value: int, why: str) -> Draft:
    """Return the change of a group to a number of members, or of its autoscaler to at most so many."""
    group = situation.group.id
    if situation.group.autoscaler is not None:
        path = f"group[{group}].autoscaler.max_replicas={value}"
        return Draft(why, (f"max_replicas of the autoscaler: {value}",), (path,))
    return Draft(why, (f"members of {group}: {value}",), (f"group[{group}].members={value}",))


def larger_queue(situation: Situation) -> Draft | None:
    """A queue for what arrives while the slowest record is processed, with a margin."""
    pool, facts = situation.group.pool, situation.facts
    if pool is None:
        return None
    slowest_s = situation.slowest_record_s
    arrival_per_s = facts.arrival_per_member_s
    value = round_up(arrival_per_s * slowest_s * MARGIN)
    if value <= pool.queue:
        return None
    why = (
        f"{arrival_per_s:,.0f} records arrive per second for a consumer, the slowest takes {duration(slowest_s)}, "
        f"and it holds at most {counted(pool.queue, 'record')}."
    )
    what = f"records that a consumer holds for its workers: {value}"
    return Draft(why, (what,), (f"group[{situation.group.id}].handler.queue={value}",))


def more_partitions(situation: Situation) -> Draft | None:
    """Partitions, and members, that can process what arrives, with a margin; the records stay the same.

    Only for one topic with a steady rate and without keys: where its records would go is otherwise unknown.
    """
    load, topics = situation.load, topics_of(situation.group, situation.scenario)
    if load is None or load.hottest_arrival <= 0 or len(topics) != 1:
        return None
    topic = topics[0]
    if not isinstance(topic.rate, float) or topic.keys is not None or topic.skew:
        return None
    value = round_up(load.arrival * MARGIN / load.fastest)
    if value <= topic.partitions:
        return None
    members = max(load.members, value)
    path, rate = f"topic[{topic.name}]", load.arrival / value
    settings = [f"partitions of {topic.name}: {value}, for the same records"]
    overrides = [f"{path}.partitions={value}", f"{path}.rate={rate:.6g}/s"]
    if members > load.members:
        settings.append(f"members of {situation.group.id}: {members}")
        overrides.append(f"group[{situation.group.id}].members={members}")
    why = (
        f"{load.arrival:,.0f} records arrive per second, and a member processes {load.fastest:,.3g}: "
        f"{topic.partitions} partitions keep at most as many members busy."
    )
    return Draft(why, tuple(settings), tuple(overrides))


def larger_transactions(situation: Situation) -> Draft | None:
    """Batches so large that the database can commit what arrives, with a margin."""
    load = situation.load
    if load is None or load.store != load.capacity or not load.is_overload:
        return None
    records = round_up(situation.records * load.arrival * MARGIN / load.store)
    why = (
        f"{load.arrival:,.0f} records arrive per second, and the database commits {load.store:,.0f} "
        f"in transactions of at most {counted(situation.records, 'record')}."
    )
    return batches_of(situation, records, why)


def fewer_members(situation: Situation) -> Draft | None:
    """The number of members that process most, where they slow one another down."""
    load = situation.load
    if load is None or not load.best_members:
        return None
    value = load.best_members
    why = (
        f"{counted(value, 'member')} process {load.best:,.0f} records per second, {load.members} of them "
        f"{load.capacity:,.0f}."
    )
    return _members(situation, value, why)


def split_hot_key(situation: Situation) -> Draft | None:
    """As many suffixes of a hot key as its partition needs, with a margin."""
    load, scenario = situation.load, situation.scenario
    if load is None or not load.hottest_key:
        return None
    topic = next(t for t in scenario.topic if t.name == load.hottest.rpartition("-")[0])
    for parts in (2, 4, 8, 16, 32, 64):
        keys = topic.keys and topic.keys.model_copy(update={"split": parts})
        spread = topic.model_copy(update={"keys": keys})
        if max(rates_of(spread, scenario.run_for)) * MARGIN <= load.fastest:
            why = f"{load.key_arrival:,.0f} records per second have the key {load.hottest_key}."
            what = f"the producer adds one of {parts} suffixes to hot keys of {topic.name}"
            return Draft(why, (what,), (f"topic[{topic.name}].keys.split={parts}",))
    return None


def members_to_catch_up(situation: Situation) -> Draft | None:
    """Members that can process what arrives also while they lag, as far as there are partitions."""
    load = situation.load
    if load is None or not load.late_capacity:
        return None
    needed = round(load.arrival * MARGIN / (load.late_capacity / load.members) + 0.5)
    value = min(needed, load.partitions)
    if value <= load.members:
        return None
    why = (
        f"{counted(load.members, 'member')} that lag process {load.late_capacity:,.0f} records per second, and "
        f"{load.arrival:,.0f} arrive."
    )
    return _members(situation, value, why)


def even_members(situation: Situation) -> Draft | None:
    """The next number of members of which each has as many partitions, or few enough for one member."""
    load = situation.load
    if load is None or not (load.is_uneven or load.even_members):
        return None
    value = load.members_for(MARGIN) if load.is_uneven else load.even_members
    if value <= load.members:
        return None
    why = (
        f"{load.partitions} partitions are at most {ceil(load.partitions / value)} for each of {value} "
        f"members, and {load.fullest} for some of {load.members}."
    )
    return _members(situation, value, why)


def balance_over_topics(situation: Situation) -> Draft | None:
    """An assignor that counts the partitions of all topics together."""
    facts = situation.facts
    if facts.by_coordinator or facts.shared or facts.mixed:
        return None
    return consumer(
        situation, STRATEGY, "roundrobin", f"{facts.assignors[0]} assigns topic by topic."
    )


def range_by_topic(situation: Situation) -> Draft | None:
    """The assignor that gives each member partitions of each topic."""
    facts = situation.facts
    if facts.shared or facts.mixed or facts.assignors[0] == "range":
        return None
    setting = REMOTE_ASSIGNOR if facts.by_coordinator else STRATEGY
    why = f"{facts.assignors[0]} counts partitions, not the work on their records."
    return consumer(situation, setting, "range", why)


USUAL_RECORDS: Final = 500
"""The default of ``max.poll.records``."""


def larger_batches(situation: Situation) -> Draft | None:
    """Batches of the usual size, if they fit into the poll interval: commits and polls wait less often."""
    fits = situation.seconds("max.poll.interval.ms") / MARGIN >= USUAL_RECORDS * situation.work_s
    if situation.records >= USUAL_RECORDS or not fits or not situation.group.is_serial:
        return None
    why = f"Members wait after each batch of at most {counted(situation.records, 'record')}."
    return batches_of(situation, USUAL_RECORDS, why)


# -- records that fail ----------------------------------------------------------------------------


def forward_failed(situation: Situation) -> Draft | None:
    """Failed records are sent to a dead-letter topic instead of skipped."""
    group = situation.group
    keys = [
        f"group[{group.id}].poison[{index}].{'error' if poison.error == 'skip' else 'then'}=forward"
        for index, poison in enumerate(group.poison)
        if "skip" in (poison.error, poison.then)
    ]
    if not keys:
        return None
    return Draft(
        "The handler skips records that it cannot process.",
        ("send records that cannot be processed to a dead-letter topic",),
        tuple(keys),
    )


def name_failed_record(situation: Situation) -> Draft | None:
    """The exception of a batch listener names the record that failed."""
    group = situation.group
    if not situation.facts.repeats_batches:
        return None
    return Draft(
        "The exception does not say which record of a batch has failed, so all of it is repeated.",
        ("throw BatchListenerFailedException with the record",),
        (f"group[{group.id}].handler.names_failed=true",),
    )


def forward_failing(situation: Situation) -> Draft | None:
    """Failed records are sent to another topic instead of tried again."""
    group = situation.group
    rules = [(index, rule) for index, rule in enumerate(group.poison) if rule.tries_again]
    if not rules:
        return None
    path = f"group[{group.id}].poison"
    return Draft(
        "Failed records are tried again while the records behind them wait.",
        ("send records that fail to a retry topic",),
        tuple(
            f"{path}[{index}].{key}"
            for index, rule in rules
            for key in ("error=forward", *(["then=succeed"] if rule.then != "succeed" else []))
        ),
    )


BATCH_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "larger-transactions": (("larger-transactions", larger_transactions),),
    "less-waiting": (("larger-batches", larger_batches),),
}
"""For the hints on larger batches: the id of each change, and the function that makes it."""

OF_FAILING: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "dead-letter-topic": (("forward-failed", forward_failed),),
    "forward-failing": (("forward-failing", forward_failing),),
    "name-failed-record": (("name-failed-record", name_failed_record),),
}
"""The same for the hints on records that fail."""

LOAD_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "capacity-behind": (("members-to-catch-up", members_to_catch_up),),
    "fewer-members": (("fewer-members", fewer_members),),
    "larger-queue": (("larger-queue", larger_queue),),
    "more-members": (("more-members", more_members),),
    "more-partitions": (("more-partitions", more_partitions),),
    "range-by-topic": (("range-by-topic", range_by_topic),),
    "split-hot-key": (("split-hot-key", split_hot_key),),
    "spread-partitions": (("balance-over-topics", balance_over_topics),),
}
"""For each hint about members, and what each of them has to process, its changes."""
