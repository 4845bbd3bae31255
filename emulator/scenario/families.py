"""The families of the catalogue: what its scenarios are about."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Family(StrEnum):
    """A family, in the order of the list."""

    MEMBERS = "members"
    DEPLOYS = "deploys"
    PROCESSING = "processing"
    COMMITS = "commits"
    REBALANCES = "rebalances"
    OFFSETS = "offsets"
    TOPICS = "topics"
    BROKERS = "brokers"
    MIGRATIONS = "migrations"
    UNDISTURBED = "undisturbed"


SUBJECTS: Mapping[Family, str] = {
    Family.MEMBERS: "members that join, crash, pause or lose contact",
    Family.DEPLOYS: "rolling restarts, and members that close",
    Family.PROCESSING: "slow, failing and skipped records; the poll interval",
    Family.COMMITS: "when and how offsets are committed",
    Family.REBALANCES: "revoking and assigning partitions, and listeners that fail",
    Family.OFFSETS: "offsets that expire, are deleted or reset, or leave the log",
    Family.TOPICS: "new partitions, new topics and patterns",
    Family.BROKERS: "coordinators and leaders that fail, move or lag behind",
    Family.MIGRATIONS: "from one protocol to the other, and of offsets out of ZooKeeper",
    Family.UNDISTURBED: "nothing happens",
}

_NAMES: Mapping[Family, str] = {
    Family.MEMBERS: """
        b5-restarted-before-its-session-ends j6-idle-member-never-notices p4-old-generation-rejoins
        s2-workers-or-processes s3-pool-slower-than-threads s5-more-members-than-partitions u7-lost-or-revoked
        g3-shared-database g4-replicas-and-partitions heartbeats-stop k1-instance-id-reused j1-refused-fetch-resets
        k4-threads-share-an-id k3-rejoin-not-in-the-log k5-restart-around-session kip848-join-answer-lost
        kip848-member-crashes q2-members-start-one-by-one n2-lost-sync-kept n3-new-members-kept n4-large-group-in-joins q1-restart-all-at-once q3-joins-take-time q4-slow-assignor
        kip848-session-by-broker kip848-static-crash kip848-zombie l1-zombie-after-pause
        m1-session-timeout m5-heartbeats-stop-in-drain m6-fetch-blocks-heartbeats m4-session-ends-in-join k2-fenced-by-itself l2-ownership-checked-rarely l3-busy-members-own-all m2-heartbeats-as-rare-as-the-session member-crashes member-joins
    """,
    Family.DEPLOYS: """
        a2-scale-up-under-load a8-restart-at-the-peak b3-stopped-during-a-rebalance
        i6-new-group-id-at-each-start
        canary-rolled-back pod-names-as-instance-ids readiness-waits-for-a-partition
        stand-in-for-slow-restarts spot-node-reclaimed g1-lag-instant-or-averaged g2-scale-down-kills g5-spare-threads g6-one-partition-has-the-lag g7-autoscaler-flaps
        a1-deploy-goes-back a7-close-before-the-answer a6-new-group-id a5-two-applications-one-group b4-close-beyond-session b2-stop-without-leaving close-in-mid-batch deploy-kills-in-mid-batch
        kip848-close-in-mid-batch kip848-close-options member-closes published-eager-deploy
        published-leave-on-close rolling-restart-cooperative rolling-restart-eager
        rolling-restart-kip848 rolling-restart-static
    """,
    Family.PROCESSING: """
        a3-drain-beyond-interval c3-heartbeats-between-records batch-discarded batch-listener-repeats c1-slow-record-loop c4-retries-block-the-poll-loop
        c5-hard-messages c6-drain-before-revocation dead-letter-topic kip848-poll-timer kip848-poll-without-event
        n1-one-member-stalls-all published-slowest-poll record-skipped retry-topic a9-seen-set spring-kept-commits catching-up-is-slower crash-at-the-peak hot-key
    """,
    Family.COMMITS: """
        d6-revoke-commits-the-unfinished e9-commit-before-the-drain f4-commit-after-each-record
        f5-clients-side-by-side p1-commits-between-two-rounds
        commit-answer-lost commit-before-work d1-commit-refused-in-rebalance d2-older-commits-at-revoke
        d3-older-commit-wins d7-assign-beside-the-group d8-retries-after-the-rebalance
        client-aiokafka-getmany client-aiokafka-getone client-franz-go client-librdkafka-crash
        client-librdkafka-in-hand client-mixed e5-workers-and-a-join e6-commit-believed
        e7-workers-commit-the-highest
        f3-commit-every-n u1-rewind-hidden u2-monitor-window kip848-commit-ahead kip848-commit-before-revocation workers-and-auto-commit
        kip848-commit-in-rebalance off-by-one offsets-in-zookeeper results-and-offsets-together
    """,
    Family.REBALANCES: """
        d5-revoke-listener-throws e2-three-states-at-revocation e3-queue-goes-on-after-the-revocation
        e4-burst-of-starts-with-buffers p5-sync-answer-lost r2-two-topics-one-of-them-busy
        r4-each-topic-by-itself u3-join-and-leave-at-once u5-join-before-the-commit
        l4-assign-listener-throws m3-set-up-beyond-interval n2-member-that-never-syncs
        n3-new-members-time-out p6-one-bounce p6-second-bounce-first
        p6-two-bounces p6-listener-of-eager-calls
        eager-repeats-kept kip848-assign-listener-throws kip848-revoke-listener-throws
        kip848-slow-handover j4-wrong-rebalance-timeout r1-heavy-topic r3-many-small-topics
    """,
    Family.OFFSETS: """
        reader-without-group-id i1-idle-beyond-retention i2-weekend-down i3-quiet-partitions i4-commit-without-epoch
        i5-offset-beyond-the-end lag-never-zero aborted-transactions offsets-deleted offsets-deleted-repeat offsets-expire offsets-reset
        compaction-overtakes i7-reset-at-each-assignment retention-overtakes seek-back-after-a-bug database-restored producer-repeats reset-none
    """,
    Family.TOPICS: """
        o2-expansion-with-other-clients o6-topics-come-and-go
        o3-partitions-never-found o5-topic-created-in-rebalance
        topic-deleted topic-recreated expansion-by-duration kip848-pattern-by-broker kip848-topics-change o1-expansion-with-latest
        o4-new-topic-many-rebalances partitions-added published-expansion-latest
        published-partitions-added topic-matches-pattern
    """,
    Family.BROKERS: """
        zone-outage coordinator-broker-dies coordinator-commit-times-out coordinator-dies-at-a-step
        coordinator-dies-in-commit coordinator-goes-on-alone h1-coordinator-moves h2-outside-the-group h5-loading-is-fatal h3-coordinator-not-looked-up
        h4-offsets-on-one-broker h6-stale-coordinator h7-rolling-broker-restart
        leader-acknowledges-alone slow-load-after-a-year unclean-election-drops-commits
    """,
    Family.MIGRATIONS: """
        migration-no-way-back migration-refused migration-there-and-back
        offsets-from-zookeeper-to-kafka
    """,
    Family.UNDISTURBED: "quiet",
}

_FAMILY = {name: family for family, names in _NAMES.items() for name in names.split()}


def family_of(name: str) -> Family:
    """Return the family of a scenario of the catalogue; each has one."""
    return _FAMILY[name]
