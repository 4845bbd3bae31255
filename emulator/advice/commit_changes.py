"""Changes of how members commit."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from typing import Final

from emulator.advice.drafts import MARGIN, Draft, Make, capital, commit, consumer
from emulator.advice.situation import Situation, round_down, round_up
from emulator.report.subject import Commits
from emulator.report.wording import counted, duration
from emulator.scenario.estimates.loads import Load
from emulator.scenario.model import CommitPolicy, Group
from emulator.scenario.resolution import commit_policy, work_of
from emulator.scenario.tables.distributions import p99_us
from emulator.scenario.tables.handlers import Pool
from emulator.scenario.units import US_PER_MS, US_PER_S, format_duration

AUTO_INTERVAL: Final = "auto.commit.interval.ms"
FACTOR: Final = 5
"""How much more or less often a change commits."""

MIN_MS: Final = 100
OWN_COMMITS: Final = '{ call = "sync", when = "every", every = "1s", between_batches = false }'


def _policy(situation: Situation) -> CommitPolicy:
    return commit_policy(situation.group, situation.group.members[0])


def shorter_commit_interval(situation: Situation) -> Draft | None:
    """Automatic commits five times as often, or the application's commits every second."""
    if situation.facts.commit_kinds.isdisjoint({Commits.SYNC, Commits.ASYNC}):
        return _automatic(situation)
    if _policy(situation).every is not None:
        return _shorter_interval_of_its_own(situation)
    if (_policy(situation).records or 1) > 1:
        return _smaller_threshold(situation)
    if _policy(situation).when != "batch" or not situation.batch_s > 1:
        return None
    why = f"{capital(situation.batch_text)}, and only then are its offsets committed."
    how = "commitSync() after the first record of each second"
    return commit(situation, "", OWN_COMMITS, how, why)


def _shorter_interval_of_its_own(situation: Situation) -> Draft | None:
    """The application's commits at an interval five times as often."""
    every_us = _policy(situation).every or 0
    value_ms = max(round_down(every_us / US_PER_MS / FACTOR), MIN_MS)
    if value_ms * US_PER_MS >= every_us:
        return None
    why = f"Up to {format_duration(every_us)} of work of a member is uncommitted."
    how = f"the application commits every {format_duration(value_ms * US_PER_MS)}"
    return commit(situation, "every", f"{value_ms}ms", how, why)


def _smaller_threshold(situation: Situation) -> Draft:
    """The application's commits after a fifth of the records."""
    now = _policy(situation).records or 1
    value = max(round_down(now / FACTOR), 1)
    why = f"Up to {counted(now, 'record')} of a member are uncommitted."
    return commit(
        situation, "records", str(value), f"commitSync() after {counted(value, 'record')}", why
    )


def commit_stored(situation: Situation) -> Draft | None:
    """The client commits the offsets that the application has stored."""
    if _policy(situation).call != "store":
        return None
    why = "Stored offsets are committed by nothing else."
    return consumer(situation, "enable.auto.commit", "true", why)


def store_after_work(situation: Situation) -> Draft | None:
    """The application stores the offset of each record after the work on it."""
    if not situation.facts.stores or _policy(situation).call == "store":
        return None
    why = "Automatic commits cover all records that the client has handed out."
    how = "enable.auto.offset.store=false, and store_offsets() after each record"
    return commit(situation, "", '"store per record"', how, why)


def _automatic(situation: Situation) -> Draft | None:
    if not situation.facts.settings["enable.auto.commit"]:
        return None
    value = max(round_down(situation.value(AUTO_INTERVAL) / FACTOR), MIN_MS)
    if value >= situation.value(AUTO_INTERVAL):
        return None
    return consumer(situation, AUTO_INTERVAL, value, _uncommitted(situation))


def _uncommitted(situation: Situation) -> str:
    """Return how many records of a member are uncommitted between two commits, also with a backlog.

    poll() makes the automatic commit (``maybeAutoCommitOffsetsAsync``): it comes with the first poll
    after the interval, and a backlog makes every batch a full one.
    """
    interval_s, load = situation.seconds(AUTO_INTERVAL), situation.load
    if load is None:
        return f"Up to {duration(interval_s)} of work is uncommitted."
    rate = min(load.arrival, load.capacity) / load.members
    return (
        f"Between two commits a member processes about {duration(interval_s)} × {rate:.3g} records/s "  # noqa: RUF001
        f"= {counted(round(interval_s * rate), 'record')}{_of_the_busiest(load, interval_s, rate)}"
        f"{_with_backlog(situation, interval_s)}."
    )


def _of_the_busiest(load: Load, interval_s: float, rate: float) -> str:
    """Return how many records the owner of the busiest partition processes; empty: no more than others."""
    most = min(load.hottest_arrival, load.of_member)
    if most <= rate:
        return ""
    records = counted(round(interval_s * most), "record")
    return f" on average, and the owner of {load.hottest} at least {records}"


def _with_backlog(situation: Situation, interval_s: float) -> str:
    """Return how many records full batches leave uncommitted; empty: the client commits beside them."""
    batch_s = situation.batch_s
    in_poll = Commits.AUTO in situation.facts.commit_kinds and not situation.facts.by_coordinator
    if not in_poll or situation.group.pool is not None or not 0 < batch_s < inf:
        return ""
    batches = max(1, ceil(interval_s / batch_s))
    before = "that is" if batches == 1 else f"{batches} of them are"
    return (
        f"; with a backlog batches are full ({situation.records} records, {duration(batch_s)}) and "
        f"poll() commits after the first one that ends after the interval: {before} "
        f"{counted(batches * situation.records, 'record')}"
    )


def longer_commit_interval(situation: Situation) -> Draft | None:
    """Automatic commits five times as rarely."""
    if not situation.value(AUTO_INTERVAL):
        return None
    value = round_up(situation.value(AUTO_INTERVAL) * FACTOR)
    now = duration(situation.seconds(AUTO_INTERVAL))
    return consumer(situation, AUTO_INTERVAL, value, f"Automatic commits are made every {now}.")


def offsets_in_kafka(situation: Situation) -> Draft | None:
    """Offsets are kept in Kafka: one request for all partitions of a member."""
    if situation.facts.offsets != "zookeeper":
        return None
    round_s = situation.metrics["commit_round_max_s"]
    writes = situation.scenario.zookeeper.writes
    why = (
        f"Writing the offsets of a member once took up to {duration(round_s)}: one write a partition, "
        f"and the ensemble takes {writes:g} a second from all members."
    )
    path = f"group[{situation.group.id}].offsets=kafka"
    return Draft(why, ("offsets.storage=kafka",), (path,))


def sync_per_batch(situation: Situation) -> Draft | None:
    """The application commits after each batch, with commitSync()."""
    if situation.facts.commits == "commitSync() after each batch":
        return None
    now = situation.facts.commits
    how = "enable.auto.commit=false, and commitSync() after each batch"
    return commit(situation, "", "sync", how, f"Members commit like this now: {now}.")


def commit_on_revoke(situation: Situation) -> Draft | None:
    """The rebalance listener commits what was processed."""
    if _policy(situation).on_revoke:
        return None
    why = f"Members commit like this now: {situation.facts.commits}."
    how = "commitSync() in onPartitionsRevoked()"
    if Commits.NONE_AT_REVOCATION in situation.facts.commit_kinds:
        how = "CommitUncommittedOffsets in OnPartitionsRevoked"
    draft = commit(situation, "on_revoke", "true", how, why)
    return draft._replace(overrides=(*_with_listeners(situation.group), *draft.overrides))


def _with_listeners(group: Group) -> tuple[str, ...]:
    """Return what gives members a rebalance listener that have none."""
    path = f"group[{group.id}]"
    own = [f"{path}.member[{m.name}]" for m in group.members if m.has_listener is False]
    paths = own if group.has_listener else [path, *own]
    return tuple(f"{each}.has_listener=true" for each in paths)


def pass_offsets(situation: Situation) -> Draft | None:
    """Commits name the offsets of processed records."""
    if _policy(situation).arguments:
        return None
    why = (
        f"commitSync() without offsets commits all of a batch of up to {situation.records} records."
    )
    return commit(situation, "arguments", "true", "commitSync(offsets)", why)


def next_offset(situation: Situation) -> Draft | None:
    """Commits name the next offset to read."""
    if not _policy(situation).off_by_one:
        return None
    why = "The committed offset is that of the last processed record."
    return commit(situation, "off_by_one", "false", "commit the offset plus one", why)


def process_after_refusal(situation: Situation) -> Draft | None:
    """A refused commit does not stop the processing of the batch."""
    if _policy(situation).on_refusal == "ignore":
        return None
    why = f"After a refused commit members {_policy(situation).on_refusal}."
    return commit(situation, "on_refusal", "ignore", "process the rest of the batch", why)


def leader_epoch(situation: Situation) -> Draft | None:
    """Commits carry the leader epoch of the last record."""
    if _policy(situation).leader_epoch or situation.facts.commit_kinds.isdisjoint(
        {Commits.NO_EPOCH}
    ):
        return None
    why = "The committed offsets have no leader epoch."
    how = "commit ConsumerRecords.nextOffsets()"
    return commit(situation, "leader_epoch", "true", how, why)


def finished_offsets(situation: Situation) -> Draft | None:
    """Commits stop at the first record that no worker has finished."""
    if situation.group.pool is None:
        return None
    how = "commitSync(the first unfinished offset of each partition) every second"
    if _policy(situation).call == "auto":
        why = "poll() commits all that it has returned, finished or not."
        return commit(situation, "", '{ call = "sync", when = "every", every = "1s" }', how, why)
    if _policy(situation).offsets == "frontier":
        return None
    why = f"Members commit the {_policy(situation).offsets} finished offset."
    return commit(situation, "offsets", "frontier", how, why)


def drain_workers(situation: Situation) -> Draft | None:
    """The revoke listener waits for the records in progress, and commits them."""
    pool = situation.group.pool
    if pool is None:
        return None
    if pool.drain != "none" and _policy(situation).on_revoke:
        return _drain_first(situation) if pool.commit_first else _longer_drain(situation, pool)
    why = f"Up to {counted(pool.workers, 'record')} of a member are in progress at a time."
    how = "wait for workers and commitSync() in onPartitionsRevoked()"
    draft = commit(situation, "on_revoke", "true", how, why)
    path = f"group[{situation.group.id}].handler.drain=running"
    return draft._replace(overrides=(path, *draft.overrides))


def _drain_first(situation: Situation) -> Draft:
    """The listener waits for its workers before it commits."""
    return Draft(
        "The listener commits before it waits for its workers: what they finish is not committed.",
        ("wait for workers, then commitSync() in onPartitionsRevoked()",),
        (f"group[{situation.group.id}].handler.commit_first=false",),
    )


def _longer_drain(situation: Situation, pool: Pool) -> Draft | None:
    """The listener waits as long as 99 in 100 records take."""
    group = situation.group
    longest_us = max(p99_us(work_of(group, member)) for member in group.members)
    if longest_us <= pool.drain_for:
        return None
    value = format_duration(round_up(longest_us * MARGIN / US_PER_MS) * US_PER_MS)
    return Draft(
        f"99 of 100 records take up to {duration(longest_us / US_PER_S)}, and the listener waits "
        f"{duration(pool.drain_for / US_PER_S)} for those in progress.",
        (f"wait {value} for workers in onPartitionsRevoked()",),
        (f"group[{group.id}].handler.drain_for={value}",),
    )


WRITE_CHANGES: Final[Mapping[str, tuple[tuple[str, Make], ...]]] = {
    "fewer-commits": (("fewer-commits", longer_commit_interval),),
    "fewer-writes": (("offsets-in-kafka", offsets_in_kafka),),
}
"""For the hints on fewer commits or writes: the id of each change, and the function that makes it."""
