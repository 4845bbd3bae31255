"""aiokafka: one event loop, in which the group and the automatic commits have their own task.

Source: ``group_coordinator.py`` (``_coordination_routine``, ``_maybe_do_autocommit``,
``_commit_lock``, ``_on_join_prepare``, ``ensure_active_group``), ``fetcher.py``
(``_get_actions_per_node``), ``consumer.py``, ``client.py`` (``coordinator_lookup``, ``get_random_node``).
"""

from __future__ import annotations

from protocols.consumer.clients import (
    Amount,
    Asks,
    ClientProfile,
    CommitClock,
    Covers,
    FirstHeartbeat,
    InRebalance,
    NextJoin,
    Repeats,
    Runs,
    Unanswered,
)

AIOKAFKA = ClientProfile(
    name="aiokafka",
    packages="aiokafka, Faust",
    follows="0.14",
    works=Runs.IN_LOOP,
    listener=Runs.IN_BACKGROUND,
    asks=Asks.ANY,
    covers=Covers.RETURNED,
    commit_clock=CommitClock.CREATION,
    commits_epochs=False,
    knows_epochs=False,
    repeats_commits=Repeats.MEMBERSHIP_TOO,
    in_rebalance=InRebalance.SENT,
    commits_in_turn=True,
    commits_removed=True,
    commits_unassigned=False,
    joins_unpolled=False,
    next_join=NextJoin.FAILURE,
    names_instance=False,
    keeps_id_after=frozenset(),
    first_heartbeat=FirstHeartbeat.ASSIGNED,
    unanswered_heartbeat=Unanswered.WAITS,
    awaits_rebalances=False,
    joins_for_each_assignor=True,
    prefetch_rest_ms=100,
    calls_at_first_join=True,
    calls_at_end=False,
    reads={"getone": Amount.ONE, "getmany": Amount.SETTING},
    assignors={"roundrobin": "roundrobin", "range": "range", "sticky": "sticky"},
    lacks_assignor="ModuleNotFoundError: No module named 'aiokafka.coordinator.assignors.{module}'",
    lacks_protocol="TypeError: __init__() got an unexpected keyword argument 'group_protocol'",
    names={
        name.replace(".", "_"): name
        for name in (
            "auto.commit.interval.ms",
            "auto.offset.reset",
            "client.id",
            "client.rack",
            "enable.auto.commit",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "group.instance.id",
            "heartbeat.interval.ms",
            "isolation.level",
            "max.partition.fetch.bytes",
            "max.poll.interval.ms",
            "max.poll.records",
            "metadata.max.age.ms",
            "partition.assignment.strategy",
            "rebalance.timeout.ms",
            "request.timeout.ms",
            "retry.backoff.ms",
            "session.timeout.ms",
        )
    },
    lacks={
        "default.api.timeout.ms": "a commit is repeated without a limit",
        "reconnect.backoff.max.ms": "the back-off is retry_backoff_ms",
        "reconnect.backoff.ms": "the back-off is retry_backoff_ms",
        "retry.backoff.max.ms": "the back-off does not grow",
    },
    lacks_reset_by_duration="Unrecognized ``auto_offset_reset`` config, using NONE",
    rebalances_within="session.timeout.ms",
    own=frozenset({"rebalance.timeout.ms"}),
    defaults={
        "session.timeout.ms": 10_000,
        "default.api.timeout.ms": 2_147_483_647,
        "request.timeout.ms": 40_000,
        "partition.assignment.strategy": ("roundrobin",),
        "max.poll.records": 2_147_483_647,
        "retry.backoff.max.ms": 100,
    },
)
