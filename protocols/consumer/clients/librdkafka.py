"""librdkafka, as its Python, Go and .NET bindings use it: a rebalance callback is installed.

Source: ``rdkafka_cgrp.c`` (``rd_kafka_cgrp_offset_commit_tmr_cb``, ``rd_kafka_cgrp_session_timeout_check``,
``rd_kafka_max_poll_interval_check_tmr_cb``, ``rd_kafka_cgrp_handle_JoinGroup``,
``rd_kafka_cgrp_metadata_update_check``), ``rdkafka_assignment.c`` (``serve_removals``),
``rdkafka.c`` (``rd_kafka_consumer_close_q``), ``rdkafka_broker.c`` (``rd_kafka_broker_weight_usable``: a
fetch in flight counts only with ``fetch.wait.max.ms`` of a second or more), ``rdkafka_conf.c`` (ranges),
``CONFIGURATION.md``.

Membership: ``rd_kafka_cgrp_serve``, ``rd_kafka_cgrp_join_state_serve`` (``rkcg_heartbeat_intvl``).
"""

from __future__ import annotations

from protocols.consumer.clients import (
    Amount,
    Asks,
    ClientProfile,
    CommitClock,
    Contradiction,
    Covers,
    FirstHeartbeat,
    InRebalance,
    LeaderMetadata,
    NextJoin,
    PollsCheck,
    Repeats,
    RevokeCommit,
    Runs,
    SessionEnd,
    Unanswered,
)
from protocols.consumer.clients.policies import COMMIT
from protocols.messages.errors import ErrorCode

INVALID_RESET = 'Invalid value "{value}" for configuration property "auto.offset.reset"'

LIBRDKAFKA = ClientProfile(
    name="librdkafka",
    packages="confluent-kafka for Python, Go and .NET",
    follows="2.16",
    works=Runs.IN_BACKGROUND,
    listener=Runs.IN_POLL,
    asks=Asks.CONNECTED,
    covers=Covers.STORED,
    commit_clock=CommitClock.TICKS,
    repeats_commits=Repeats.NONE,
    in_rebalance=InRebalance.SENT,
    commits_within="session.timeout.ms",
    revoke_commit=RevokeCommit.REMOVED,
    leader_metadata=LeaderMetadata.FRESH,
    every_member_watches=True,
    refreshes_in_steps=True,
    only_forward=True,
    lookup_interval_ms=500,
    session_end=SessionEnd.DROP_OUT,
    session_rests_in_rebalances=True,
    polls_check=PollsCheck.HALF_SECONDS,
    first_heartbeat=FirstHeartbeat.OWN_CLOCK,
    unanswered_heartbeat=Unanswered.LEFT_OUT,
    joins_unpolled=False,
    joins_after_refusal=False,
    next_join=NextJoin.EACH_SECOND,
    unclosed=frozenset({ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID}),
    acknowledges_unchanged=False,
    reads={"poll": Amount.ONE, "consume": Amount.GIVEN},
    stores="store_offsets()",
    protocols=("classic", "consumer"),
    assignors={
        "range": "range",
        "roundrobin": "roundrobin",
        "cooperative-sticky": "cooperative-sticky",
    },
    lacks_assignor="Unsupported partition.assignment.strategy: {name}",
    lacks_reset=INVALID_RESET,
    lacks_reset_by_duration=INVALID_RESET,
    lacks_assign_without_group=(
        '"Failed to create consumer: group.id must be set" (confluent-kafka); give it a group of its own'
    ),
    mixes_protocols=False,
    limits_session=True,
    names={
        "fetch.wait.max.ms": "fetch.max.wait.ms",
        "fetch.message.max.bytes": "max.partition.fetch.bytes",
        "socket.timeout.ms": "request.timeout.ms",
        "topic.metadata.refresh.interval.ms": "metadata.max.age.ms",
    },
    means_otherwise=frozenset({"metadata.max.age.ms"}),
    resets={
        "earliest": "earliest",
        "smallest": "earliest",
        "beginning": "earliest",
        "latest": "latest",
        "largest": "latest",
        "end": "latest",
        "error": "none",
    },
    lacks={
        "default.api.timeout.ms": "each call of the application has a timeout of its own",
        "max.poll.records": "poll() returns one record; consume() returns read_records",
        "request.timeout.ms": "socket.timeout.ms limits requests",
    },
    lacks_by_protocol={
        name: f"`{name}` is not supported for `group.protocol=consumer` or share consumer. It is defined broker side"
        for name in ("session.timeout.ms", "heartbeat.interval.ms")
    }
    | {
        "partition.assignment.strategy": (
            "`partition.assignment.strategy` is not supported for `group.protocol=consumer`. Use "
            "`group.remote.assignor` instead"
        )
    },
    ranges={
        "auto.commit.interval.ms": (0, 86_400_000),
        "fetch.max.wait.ms": (0, 300_000),
        "fetch.min.bytes": (1, 100_000_000),
        "heartbeat.interval.ms": (1, 3_600_000),
        "max.partition.fetch.bytes": (1, 1_000_000_000),
        "max.poll.interval.ms": (1, 86_400_000),
        "metadata.max.age.ms": (0, 3_600_000),
        "reconnect.backoff.max.ms": (0, 3_600_000),
        "reconnect.backoff.ms": (0, 3_600_000),
        "request.timeout.ms": (10, 300_000),
        "retry.backoff.max.ms": (1, 300_000),
        "retry.backoff.ms": (1, 300_000),
        "session.timeout.ms": (1, 3_600_000),
    },
    contradictions=(
        Contradiction(
            {"enable.auto.offset.store": True, COMMIT: "store"},
            'store_offsets() fails with "Local: Invalid argument or configuration" (_INVALID_ARG)',
        ),
    ),
    out_of_range=(
        'Configuration property "{name}" value {value} is outside allowed range {least}..{most}'
    ),
    own=frozenset(
        {
            "enable.auto.offset.store",
            "fetch.error.backoff.ms",
            "fetch.queue.backoff.ms",
            "queued.min.messages",
        }
    ),
    defaults={
        "partition.assignment.strategy": ("range", "roundrobin"),
        "isolation.level": "read_committed",
        "request.timeout.ms": 60_000,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 10_000,
    },
)
