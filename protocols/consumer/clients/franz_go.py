"""franz-go: joins, heartbeats, fetches and commits in goroutines; a poll confirms the one before.

Source: ``pkg/kgo/config.go`` (``defaultCfg``, ``validate``), ``consumer_group.go`` (``loopCommit``,
``defaultRevoke``, ``undirtyUncommitted``, ``heartbeat``: ``cooperativeFastCheck``, ``manageFailWait``,
``handleJoinResp``, ``setupAssignedAndHeartbeat``), ``source.go`` (``handleReqResp``),
``client.go`` (``Client.broker``: each known broker in turn, in an order that is drawn;
``maybeDeleteStaleCoordinator``: the errors after which a request of a group is repeated).
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
    NextJoin,
    Repeats,
    RevokeCommit,
    Runs,
    SessionEnd,
)
from protocols.consumer.clients.policies import COMMIT
from protocols.messages.errors import ErrorCode
from protocols.settings.kinds import INT_MAX

FRANZ_GO = ClientProfile(
    name="franz-go",
    packages="franz-go (kgo), Redpanda Connect",
    follows="1.19",
    works=Runs.IN_BACKGROUND,
    listener=Runs.IN_BACKGROUND,
    asks=Asks.ANY,
    covers=Covers.EARLIER_POLLS,
    commit_clock=CommitClock.TICKS,
    repeats_commits=Repeats.NONE,
    repeats_for_partitions=False,
    in_rebalance=InRebalance.WAITS,
    joins_after_refusal=False,
    commits_cost_membership=False,
    revoke_commit=RevokeCommit.TWICE,
    only_forward=True,
    resets_to_last_read=True,
    frees_at_limit=True,
    session_end=SessionEnd.NOTHING,
    limits_poll_interval=False,
    keeps_id_after=frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID}),
    next_join=NextJoin.LOSS,
    first_heartbeat=FirstHeartbeat.SYNCED,
    first_heartbeat_ms=500,
    fetches_apart=True,
    joins_apart=True,
    calls_unchanged=True,
    reads={"PollFetches": Amount.ALL, "PollRecords": Amount.GIVEN},
    stores="MarkCommitRecords()",
    assignors={
        "CooperativeStickyBalancer": "cooperative-sticky",
        "RangeBalancer": "range",
        "RoundRobinBalancer": "roundrobin",
        "StickyBalancer": "sticky",
    },
    lacks_assignor="undefined: kgo.{name}",
    lacks_protocol=(
        "no option selects it; a context value (opt_in_kafka_next_gen_balancer_beta) turns on an "
        "experimental one, which is not modelled"
    ),
    lacks_reset_by_duration="ConsumeResetOffset with AfterMilli takes a fixed time, no duration",
    lacks_assign_with_group=(
        '"invalid direct-partition consuming option when consuming as a group" (ConsumePartitions); '
        'without a group, offsets = "none", it can'
    ),
    names={
        "AutoCommitInterval": "auto.commit.interval.ms",
        "BlockRebalanceOnPoll": "block.rebalance.on.poll",
        "Balancers": "partition.assignment.strategy",
        "ClientID": "client.id",
        "ConsumeResetOffset": "auto.offset.reset",
        "FetchIsolationLevel": "isolation.level",
        "FetchMaxBytes": "fetch.max.bytes",
        "FetchMaxPartitionBytes": "max.partition.fetch.bytes",
        "FetchMaxWait": "fetch.max.wait.ms",
        "FetchMinBytes": "fetch.min.bytes",
        "GreedyAutoCommit": "greedy.auto.commit",
        "HeartbeatInterval": "heartbeat.interval.ms",
        "InstanceID": "group.instance.id",
        "MetadataMaxAge": "metadata.max.age.ms",
        "OnPartitionsRevoked": "on.partitions.revoked",
        "Rack": "client.rack",
        "RequestTimeoutOverhead": "request.timeout.ms",
        "RebalanceTimeout": "rebalance.timeout.ms",
        "SessionTimeout": "session.timeout.ms",
    },
    resets={
        "AtStart": "earliest",
        "earliest": "earliest",
        "AtEnd": "latest",
        "latest": "latest",
        "NoResetOffset": "none",
        "none": "none",
    },
    lacks={
        "default.api.timeout.ms": "a commit is repeated for 30 s",
        "max.poll.interval.ms": "the time between polls is not limited",
        "max.poll.records": "PollFetches returns all that have arrived, PollRecords returns read_records",
        "reconnect.backoff.max.ms": "the back-off is a function, 250 ms to 5 s",
        "reconnect.backoff.ms": "the back-off is a function, 250 ms to 5 s",
        "retry.backoff.max.ms": "the back-off is a function, 250 ms to 5 s",
        "retry.backoff.ms": "the back-off is a function, 250 ms to 5 s",
    },
    ranges={
        "auto.commit.interval.ms": (100, INT_MAX),
        "fetch.max.wait.ms": (10, INT_MAX),
        "metadata.max.age.ms": (5_000, 3_600_000),
        "rebalance.timeout.ms": (100, INT_MAX),
        "request.timeout.ms": (1_000, 900_000),
        "session.timeout.ms": (100, INT_MAX),
    },
    contradictions=(
        Contradiction(
            {"greedy.auto.commit": True, COMMIT: "store"},
            "cannot enable both greedy autocommitting and marked autocommitting",
        ),
        Contradiction(
            {"greedy.auto.commit": True, "enable.auto.commit": False},
            "cannot both disable autocommitting and enable greedy autocommitting",
        ),
        Contradiction(
            {"enable.auto.commit": False, COMMIT: "store"},
            "cannot both disable autocommitting and enable marked autocommitting",
        ),
    ),
    own=frozenset(
        {
            "rebalance.timeout.ms",
            "greedy.auto.commit",
            "block.rebalance.on.poll",
            "on.partitions.revoked",
        }
    ),
    defaults={
        "partition.assignment.strategy": ("cooperative-sticky",),
        "auto.offset.reset": "earliest",
        "rebalance.timeout.ms": 60_000,
        "fetch.max.wait.ms": 5_000,
        "retry.backoff.ms": 250,
        "retry.backoff.max.ms": 5_000,
        "request.timeout.ms": 10_000,
        "default.api.timeout.ms": 30_000,
    },
)
