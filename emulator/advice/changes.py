"""The changes that hints recommend, with values that follow from the scenario's numbers.

Each change is a pure function of a situation; None: the value in force is as good, or none can help.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

from emulator.advice.batch_limits import (
    INTERVAL,
    POLLS_A_STEP,
    batch_of_causes,
    batch_within_commits,
    batch_within_grace,
    batch_within_heartbeats,
    batch_within_interval,
    batch_within_rebalance,
    longer_grace,
)
from emulator.advice.cluster_changes import (
    acks_all,
    bidirectional_migration,
    clean_elections,
    fence_sooner,
    longer_initial_delay,
    longer_offsets_retention,
    longer_retention,
    reset_to_earliest,
    smaller_metadata_age,
    three_replicas,
    two_in_sync,
)
from emulator.advice.commit_changes import (
    WRITE_CHANGES,
    commit_on_revoke,
    commit_stored,
    drain_workers,
    finished_offsets,
    leader_epoch,
    next_offset,
    pass_offsets,
    process_after_refusal,
    shorter_commit_interval,
    store_after_work,
    sync_per_batch,
)
from emulator.advice.course_changes import COURSE_CHANGES
from emulator.advice.drafts import (
    MARGIN,
    STRATEGY,
    Draft,
    Make,
    capital,
    consumer,
    of_deploys,
    of_group,
)
from emulator.advice.group_changes import GROUP_CHANGES, eager_assignor
from emulator.advice.load_changes import (
    BATCH_CHANGES,
    LOAD_CHANGES,
    OF_FAILING,
    even_members,
)
from emulator.advice.scaling_changes import SCALING_CHANGES, longer_grace_of_replicas
from emulator.advice.session_changes import (
    SESSION,
    longer_session,
    more_heartbeats,
    session_above_assignor,
    session_above_close,
    session_above_commits,
    session_above_restarts,
    shorter_listener,
    shorter_session,
    static_membership,
)
from emulator.advice.situation import Situation, milliseconds
from emulator.report.wording import counted, duration, joined
from emulator.scenario.kafka_settings import PROTOCOL
from emulator.scenario.resolution import client_of, topics_of
from emulator.scenario.units import US_PER_S

# -- batches, grace periods and polls ------------------------------------------------------------


SLOW: Final = 0.1
"""A record that takes a larger part of a batch's time than this prolongs its batch beyond the margin."""


def longer_interval(situation: Situation) -> Draft | None:
    """A poll interval above the longest batch or record, with a margin."""
    steps = POLLS_A_STEP if situation.facts.by_coordinator else 1
    batch_s, slow_s = situation.batch_s * steps, situation.slowest_record_s
    if batch_s == inf:
        return None
    more_s = slow_s - situation.work_s
    is_slow = more_s > batch_s * SLOW
    longest_s = batch_s + (more_s if is_slow else 0) + situation.listener_s
    value = milliseconds(longest_s * MARGIN)
    if value <= situation.facts.shortest_interval_ms:
        return None
    longest = situation.batch_text + (f", {steps} of them {duration(batch_s)}" if steps > 1 else "")
    longest += f", the slowest record {duration(slow_s)}" if is_slow else ""
    longest += situation.listener_text
    now = duration(situation.facts.shortest_interval_ms / 1_000)
    if situation.facts.deployed_interval_ms is not None:
        why = f"{capital(longest)}; {INTERVAL} of a deploy is {now}."
        return of_deploys(situation, INTERVAL, max(value, situation.value(INTERVAL)), why)
    return consumer(situation, INTERVAL, value, f"{capital(longest)}; {INTERVAL} is {now}.")


def pause_retries(situation: Situation) -> Draft | None:
    """Failed records are tried again after a pause in which the consumer polls."""
    group = situation.group
    clients = {client_of(group, member) for member in group.members}
    if not group.is_serial or clients != {"java"}:
        return None
    interval_us = situation.value(INTERVAL) * 1_000
    usual_us = int(situation.facts.work_us)
    rules = [
        (index, poison)
        for index, poison in enumerate(group.poison)
        if poison.error == "retry" and poison.work_us(usual_us) > interval_us
    ]
    if not rules:
        return None
    longest = duration(max(poison.work_us(usual_us) for _, poison in rules) / US_PER_S)
    return Draft(
        f"The attempts on a failed record take {longest} with their back-off, and {INTERVAL} is "
        f"{duration(situation.seconds(INTERVAL))}.",
        (
            "retry with paused partitions: seek back, pause(), and poll() until the back-off is over",
        ),
        tuple(f"group[{group.id}].poison[{index}].error=pause" for index, _ in rules),
    )


def shorter_interval(situation: Situation) -> Draft | None:
    """A poll interval that bounds how long a rebalance waits, and still fits a full batch."""
    steps = POLLS_A_STEP if situation.facts.by_coordinator else 1
    if situation.batch_s == inf:
        return None
    needed_s = (situation.batch_s * steps + situation.listener_s) * MARGIN
    value = milliseconds(max(needed_s, _min_interval_s(situation)))
    longest_s = max(situation.metrics["downtime_max_s"], situation.metrics["time_to_stable_max_s"])
    if value >= situation.value(INTERVAL) or longest_s * 1_000 <= value:
        return None
    why = (
        f"A rebalance waits up to {INTERVAL} = {duration(situation.seconds(INTERVAL))} for a member "
        f"that does not poll, and {situation.batch_text}{situation.listener_text}."
    )
    return consumer(situation, INTERVAL, value, why)


MIN_INTERVAL_S: Final = 30.0
"""Where the session is no bound, a poll interval is not recommended below this: other work takes time."""


def _min_interval_s(situation: Situation) -> float:
    """Return the session timeout, or a bound of its own where that is above the interval."""
    session_s = situation.seconds(SESSION)
    return session_s if session_s < situation.seconds(INTERVAL) else MIN_INTERVAL_S


# -- protocols and assignors ---------------------------------------------------------------------


def cooperative(situation: Situation) -> Draft | None:
    """The cooperative protocol: only partitions that move stop."""
    facts = situation.facts
    if not facts.stays_eager or facts.shared or facts.mixed:
        return None
    load = situation.load
    partitions = (
        load.partitions
        if load
        else sum(topic.partitions for topic in topics_of(situation.group, situation.scenario))
    )
    number = int(situation.metrics["rebalances"])
    why = (
        f"{joined([*facts.assignors])} {'is' if len(facts.assignors) == 1 else 'are'} eager: each rebalance "
        f"({number} in this run) stops "
        f"all {partitions} partitions, also those that do not move."
    )
    return consumer(situation, STRATEGY, "cooperative-sticky", why)


def eager(situation: Situation) -> Draft | None:
    """An eager assignor: members give up all partitions before they join."""
    facts = situation.facts
    if facts.by_coordinator or not facts.cooperative or facts.shared or facts.mixed:
        return None
    name = eager_assignor(situation.group)
    refused, number = (int(situation.metrics[name]) for name in ("commits_refused", "rebalances"))
    covered = int(situation.metrics["commits_refused_covered"])
    risk = ""
    if refused and covered == refused:
        risk = (
            ", and the same owners committed those offsets later: a crash before that would have "
            "repeated the records"
        )
    why = f"{counted(refused, 'commit was', 'commits were')} refused in {counted(number, 'rebalance')}{risk}."
    return consumer(situation, STRATEGY, name, why)


def consumer_protocol(situation: Situation) -> Draft | None:
    """The consumer protocol: no rebalance waits for all members."""
    facts = situation.facts
    if facts.by_coordinator or facts.shared or facts.mixed:
        return None
    why = (
        f"A rebalance of {facts.members} classic members waits for the slowest of them; with "
        f"{PROTOCOL}=consumer each member gives up and takes over partitions by itself."
    )
    overrides = of_group(situation.group, PROTOCOL, "consumer")
    return Draft(why, (f"{PROTOCOL}=consumer",), overrides)


# -- members and batches --------------------------------------------------------------------------


def whole_batches(situation: Situation) -> Draft | None:
    """Processes end after their batch, not in the middle of it."""
    acts = [*situation.mid_batch()]
    if not acts:
        return None
    return Draft(
        f"Members stop in the middle of a batch of up to {situation.records} records.",
        ("finish the batch before close()",),
        tuple(f"act[{name}].mid_batch=false" for name in acts),
    )


Changes = Mapping[str, tuple[tuple[str, Make], ...]]

_POLL_IN_TIME = (
    ("pause-retries", pause_retries),
    ("longer-poll-interval", longer_interval),
    ("smaller-batches", batch_within_interval),
)

CHANGES: Final[Changes] = {
    **COURSE_CHANGES,
    **GROUP_CHANGES,
    **SCALING_CHANGES,
    **BATCH_CHANGES,
    **WRITE_CHANGES,
    **LOAD_CHANGES,
    "acks-all": (("acks-all", acks_all),),
    "close-within-session": (
        ("shorter-listener", shorter_listener),
        ("longer-session", session_above_close),
    ),
    "clean-elections": (("clean-elections", clean_elections),),
    "commit-after-work": (("commit-sync-per-batch", sync_per_batch),),
    "store-after-work": (("store-after-work", store_after_work),),
    "session-above-assignor": (("longer-session", session_above_assignor),),
    "commit-after-processing": (("commit-sync-per-batch", sync_per_batch),),
    "commit-at-all": (("commit-sync-per-batch", sync_per_batch),),
    "commit-finished-offsets": (("commit-finished-offsets", finished_offsets),),
    "commit-leader-epoch": (("commit-leader-epoch", leader_epoch),),
    "commit-less-often": (("commit-sync-per-batch", sync_per_batch),),
    "commit-more-often": (
        ("commit-more-often", shorter_commit_interval),
        ("smaller-batches", batch_within_commits),
    ),
    "commit-next-offset": (("commit-next-offset", next_offset),),
    "commit-on-revoke": (("commit-on-revoke", commit_on_revoke),),
    "commit-stored-offsets": (("commit-stored-offsets", commit_stored),),
    "commit-sync-per-batch": (("commit-sync-per-batch", sync_per_batch),),
    "commit-sync-retries": (("commit-sync-per-batch", sync_per_batch),),
    "cooperative": (
        ("cooperative", cooperative),
        ("shorter-poll-interval", shorter_interval),
        ("consumer-protocol", consumer_protocol),
    ),
    "consumer-protocol": (("consumer-protocol", consumer_protocol),),
    "cost-of-expired-offsets": (("reset-to-earliest", reset_to_earliest),),
    **OF_FAILING,
    "eager": (("eager", eager),),
    "drain-workers": (("drain-workers", drain_workers),),
    "even-partitions": (("more-members", even_members),),
    "fence-sooner": (("fence-sooner", fence_sooner),),
    "finish-before-close": (
        ("finish-before-close", whole_batches),
        ("commit-sync-per-batch", sync_per_batch),
    ),
    "heartbeats-per-session": (("heartbeats-per-session", more_heartbeats),),
    "longer-grace": (
        ("longer-grace", longer_grace),
        ("longer-grace-of-replicas", longer_grace_of_replicas),
        ("smaller-batches", batch_within_grace),
    ),
    "longer-initial-delay": (("longer-initial-delay", longer_initial_delay),),
    "longer-offsets-retention": (("longer-offsets-retention", longer_offsets_retention),),
    "longer-retention": (("longer-retention", longer_retention),),
    "monitor-window": (("commit-more-often", shorter_commit_interval),),
    "migration-policy": (("migration-policy", bidirectional_migration),),
    "no-older-commit": (("commit-sync-per-batch", sync_per_batch),),
    "offset-reset-none": (("reset-to-earliest", reset_to_earliest),),
    "pass-offsets": (("pass-offsets", pass_offsets),),
    "poll-in-time": _POLL_IN_TIME,
    "poll-interval-of-four-batches": _POLL_IN_TIME,
    "process-after-refusal": (("process-after-refusal", process_after_refusal),),
    "rebalance-timeout": (
        ("longer-poll-interval", longer_interval),
        ("shorter-poll-interval", shorter_interval),
        ("smaller-batches", batch_within_rebalance),
        *_POLL_IN_TIME,
    ),
    "poll-then-commit": (("smaller-batches", batch_within_heartbeats),),
    "reset-to-earliest": (("reset-to-earliest", reset_to_earliest),),
    "session-above-commit-timeout": (("longer-session", session_above_commits),),
    "session-above-pauses": (("longer-session", longer_session),),
    "session-above-restarts": (("longer-session", session_above_restarts),),
    "shorter-session": (("shorter-session", shorter_session),),
    "slow-record": (("pause-retries", pause_retries), ("longer-poll-interval", longer_interval)),
    "smaller-batches": (("smaller-batches", batch_of_causes),),
    "smaller-metadata-age": (("smaller-metadata-age", smaller_metadata_age),),
    "static-membership": (("static-membership", static_membership),),
    "three-replicas": (("three-replicas", three_replicas),),
    "two-in-sync": (("two-in-sync", two_in_sync),),
}
"""For each hint its changes: the id of each, and the function that makes it."""
