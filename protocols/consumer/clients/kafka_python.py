"""kafka-python: the Java consumer's structure in Python, read by iterating over the consumer.

Source: ``consumer/group.py`` (``__next__``, ``_poll_once``, ``DEFAULT_CONFIG``),
``consumer/fetcher.py`` (``fetch_records``), ``coordinator/consumer.py``
(``_maybe_auto_commit_offsets_async``, ``_on_join_prepare_async``, ``time_to_next_poll``,
``_perform_assignment``), ``net/manager.py`` (``least_loaded_node``).

Membership: ``join_group_async`` (a join that is done when poll begins to await it is not looked at),
``_enable_heartbeat`` (when a poll has taken the answer to SyncGroup),
``_invoke_rebalance_listener_async`` (a listener that is no coroutine runs in the event loop),
``_do_heartbeat`` (``FencedInstanceIdError``).
"""

from __future__ import annotations

from protocols.consumer.clients import (
    Amount,
    Asks,
    Busy,
    ClientProfile,
    CommitClock,
    Covers,
    FirstHeartbeat,
    LeaderMetadata,
    PollsCheck,
    Runs,
    Unanswered,
)

KAFKA_PYTHON = ClientProfile(
    name="kafka-python",
    packages="kafka-python",
    follows="3.0",
    works=Runs.IN_POLL,
    listener=Runs.IN_POLL,
    asks=Asks.IDLE_FIRST,
    covers=Covers.RETURNED,
    commit_clock=CommitClock.ASSIGNMENT,
    records_while_joining=False,
    fetches_when_drained=True,
    rereads=frozenset({"iterator"}),
    leader_metadata=LeaderMetadata.BESIDE,
    wakes_for_group=False,
    takes_late_joins=False,
    calls_at_first_join=True,
    heartbeats_wait_for=frozenset({Busy.LISTENER}),
    throws_fenced=False,
    polls_check=PollsCheck.HEARTBEATS,
    unanswered_heartbeat=Unanswered.WAITS,
    first_heartbeat=FirstHeartbeat.SYNCED,
    reads={"iterator": Amount.SETTING, "poll": Amount.SETTING},
    assignors={
        "range": "range",
        "roundrobin": "roundrobin",
        "sticky": "sticky",
        "cooperative-sticky": "cooperative-sticky",
    },
    lacks_assignor="ModuleNotFoundError: No module named 'kafka.coordinator.assignors.{module}'",
    lacks_protocol="KafkaConfigurationError: Unrecognized configs: {'group_protocol'}",
    limits_heartbeat=(
        "KafkaConfigurationError: Heartbeat interval must be lower than the session timeout "
        "({heartbeat} v {session})"
    ),
    lacks_reset_by_duration="Unrecognized offset_reset_strategy, using NONE",
    names={
        name.replace(".", "_"): name
        for name in (
            "auto.commit.interval.ms",
            "auto.offset.reset",
            "client.id",
            "client.rack",
            "default.api.timeout.ms",
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
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "request.timeout.ms",
            "retry.backoff.ms",
            "session.timeout.ms",
        )
    },
    resets={
        "earliest": "earliest",
        "smallest": "earliest",
        "latest": "latest",
        "largest": "latest",
        "none": "none",
    },
    lacks={
        "retry.backoff.max.ms": "the back-off does not grow",
    },
    defaults={
        "partition.assignment.strategy": ("range", "roundrobin"),
        "reconnect.backoff.max.ms": 30_000,
        "retry.backoff.max.ms": 100,
    },
)
