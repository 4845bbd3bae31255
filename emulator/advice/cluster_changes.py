"""Changes of topics, of the reset of offsets, and of brokers."""

from __future__ import annotations

from typing import Final

from emulator.advice.drafts import MARGIN, Draft, broker, consumer
from emulator.advice.situation import Situation, milliseconds, round_down, round_up
from emulator.report.hints.downtime import longest_gap_us
from emulator.report.wording import duration
from emulator.scenario.resolution import topics_of
from emulator.scenario.units import US_PER_S, format_duration

METADATA_AGE_S: Final = 30


def smaller_metadata_age(situation: Situation) -> Draft | None:
    """New partitions are found within half a minute."""
    age_s = situation.seconds("metadata.max.age.ms")
    if age_s <= METADATA_AGE_S:
        return None
    why = f"New partitions are found after up to metadata.max.age.ms = {duration(age_s)}."
    return consumer(situation, "metadata.max.age.ms", METADATA_AGE_S * 1_000, why)


def reset_to_earliest(situation: Situation) -> Draft | None:
    """Partitions without a committed offset are read from their beginning."""
    name, now = "auto.offset.reset", situation.facts.settings["auto.offset.reset"]
    why = (
        f"With {name}={now} a partition without a committed offset is not read from its beginning."
    )
    return consumer(situation, name, "earliest", why)


def longer_offsets_retention(situation: Situation) -> Draft | None:
    """Offsets are kept longer than the run lasts."""
    name = "offsets.retention.minutes"
    minutes = round_up(situation.scenario.run_for / US_PER_S / 60)
    if minutes <= int(situation.brokers[name]):
        return None
    now = duration(int(situation.brokers[name]) * 60)
    length = duration(situation.scenario.run_for / US_PER_S)
    why = f"Offsets of a group without members expire after {now}; the run lasts {length}."
    return broker(situation, name, minutes, why)


def longer_retention(situation: Situation) -> Draft | None:
    """Records are kept as long as the run lasts."""
    run_for = situation.scenario.run_for
    kept = [
        topic
        for topic in topics_of(situation.group, situation.scenario)
        if topic.retention is not None and topic.retention < run_for
    ]
    if not kept:
        return None
    value = format_duration(milliseconds(run_for / US_PER_S) * 1_000)
    least = duration(min(topic.retention or 0 for topic in kept) / US_PER_S)
    return Draft(
        f"Records are kept for {least}, and the run lasts {duration(run_for / US_PER_S)}.",
        tuple(f"retention.ms of {topic.name}: {value}" for topic in kept),
        tuple(f"topic[{topic.name}].retention={value}" for topic in kept),
    )


def acks_all(situation: Situation) -> Draft | None:
    """Producers wait for all in-sync replicas."""
    topics = [
        topic for topic in topics_of(situation.group, situation.scenario) if topic.acks != "all"
    ]
    if not topics:
        return None
    return Draft(
        f"With acks={topics[0].acks} the leader alone acknowledges records.",
        ("acks=all (producers)",),
        tuple(f"topic[{topic.name}].acks=all" for topic in topics),
    )


def two_in_sync(situation: Situation) -> Draft | None:
    """A leader alone acknowledges nothing."""
    name = "min.insync.replicas"
    if int(situation.brokers[name]) >= 2 or situation.scenario.cluster.brokers < 2:
        return None
    return broker(situation, name, 2, f"With {name}=1 a leader without followers acknowledges.")


def three_replicas(situation: Situation) -> Draft | None:
    """The offsets topic has three replicas."""
    name, brokers = "offsets.topic.replication.factor", situation.scenario.cluster.brokers
    now = int(situation.brokers[name])
    if now >= 3 or brokers < 3:
        return None
    why = f"The offsets topic has {now} replica{'s' if now > 1 else ''} on {brokers} brokers."
    return broker(situation, name, 3, why)


def clean_elections(situation: Situation) -> Draft | None:
    """Only in-sync replicas become leaders."""
    name = "unclean.leader.election.enable"
    return broker(situation, name, False, f"{name} is true: replicas that lag may become leaders.")


def fence_sooner(situation: Situation) -> Draft | None:
    """Dead brokers are fenced in half the time."""
    name = "broker.session.timeout.ms"
    now_ms = int(situation.brokers[name])
    return broker(
        situation,
        name,
        round_down(now_ms / 2),
        f"A dead broker is fenced after {duration(now_ms / 1_000)}.",
    )


DEFAULT_DELAY_MS: Final = 3_000


def longer_initial_delay(situation: Situation) -> Draft | None:
    """The first rebalance of an empty group waits for members that start one after the other."""
    name, gap_us = "group.initial.rebalance.delay.ms", longest_gap_us(situation.facts)
    value = max(DEFAULT_DELAY_MS, milliseconds(MARGIN * gap_us / US_PER_S))
    now, gap = duration(int(situation.brokers[name]) / 1_000), duration(gap_us / US_PER_S)
    return broker(situation, name, value, f"Members start up to {gap} apart; {name} is {now}.")


def bidirectional_migration(situation: Situation) -> Draft | None:
    """A group is converted in both directions."""
    name = "group.consumer.migration.policy"
    return broker(situation, name, "bidirectional", f"{name} is {situation.brokers[name]}.")
