"""The hints that each verdict may have, in general words, without the numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.verdicts.verdict import VerdictId

NEW_MEMBER = (
    "A coordinator waits 5 minutes for a new member that has joined, and then removes it; it joins "
    "repeatedly while the rebalance lasts. Shorten the rebalance, not the session."
)

_BY_REASON = {
    "own-instance-id": "Give each process its own group.instance.id.",
    "assignor-in-two-steps": "Change partition.assignment.strategy in two rolling restarts.",
    "offset-reset-none": "With auto.offset.reset=none, commit offsets before the start.",
    "catch-in-listener": "Catch exceptions inside the rebalance listener.",
    "migration-policy": "Set group.consumer.migration.policy to bidirectional before members change group.protocol.",
    "group-max-size": "The group is full: raise group.max.size, or start fewer members.",
    "session-within-limits": (
        "Set session.timeout.ms between group.min.session.timeout.ms and group.max.session.timeout.ms of the "
        "brokers: the coordinator refuses other members."
    ),
    "restart-after-session": (
        "The coordinator of the consumer protocol refuses a static member until the session of its former "
        "process has ended: let the process start again until it is accepted."
    ),
    "assignor-of-brokers": "Set group.remote.assignor to one of group.consumer.assignors of the brokers.",
    "catch-in-handler": (
        "Catch exceptions of the handler, and send a record that always fails to a dead letter topic: it "
        "ends each process that gets it, one after the other."
    ),
}

VERDICT_HINTS: Mapping[VerdictId, Mapping[str, str]] = {
    VerdictId.MEMBER_LOOP: {
        "poll-in-time": "Keep the time between two polls below max.poll.interval.ms.",
        "slow-record": (
            "One record takes longer than the interval: process it in another thread while poll() "
            "continues, or write it to a dead letter topic."
        ),
        "shorter-rebalance": NEW_MEMBER,
        "heartbeats-per-session": (
            "Set heartbeat.interval.ms to at most a third of session.timeout.ms."
        ),
        "session-above-pauses": (
            "Set session.timeout.ms above the pauses and network failures that a member survives."
        ),
        "rebalance-timeout": (
            "A rebalance waits for each member up to max.poll.interval.ms, and removes those that "
            "take longer."
        ),
    },
    VerdictId.MEMBERS_DIED: _BY_REASON,
    VerdictId.GROUP_DEAD: _BY_REASON,
    VerdictId.LONG_DOWNTIME: {
        "assign-every-partition": (
            "Let the assignor give each partition of the subscribed topics to a member: nothing in Kafka "
            "notices one that it leaves out."
        ),
        "static-membership": (
            "Where the joins of a large group take long, set a group.instance.id for each member: restarts "
            "within the session timeout cause no rebalance."
        ),
        "cooperative": (
            "With the eager protocol all partitions stop during a rebalance; with "
            "partition.assignment.strategy=cooperative-sticky or group.protocol=consumer the other "
            "members continue."
        ),
        "rebalance-timeout": (
            "A rebalance waits for each member up to max.poll.interval.ms: a smaller interval, or "
            "shorter batches and listener calls, bound the wait."
        ),
    },
    VerdictId.UNAVAILABLE: {
        "three-replicas": (
            "A partition needs a broker with an in-sync replica that runs: use three replicas for "
            "{offsets.topic.replication.factor}, {default.replication.factor} and topics of their own number, "
            "and restart brokers one at a time."
        ),
    },
    VerdictId.DELETED_TOPIC: {
        "unsubscribe-first": (
            "Let all members unsubscribe from a topic before it is deleted, or name only other topics in "
            "commits: a client repeats a commit that names a deleted one, and in a revocation all "
            "partitions of the member wait."
        ),
    },
    VerdictId.TOPIC_REBALANCES: {
        "stable-topics": (
            "Let the pattern of the subscription match only topics that stay, or subscribe to their names: "
            "each topic that it matches and that is created or deleted rebalances the whole group."
        ),
        "cooperative": (
            "With partition.assignment.strategy=cooperative-sticky or group.protocol=consumer partitions "
            "that keep their owner continue while topics change."
        ),
    },
    VerdictId.FOUND_LATE: {
        "smaller-metadata-age": (
            "New partitions and topics are found by the next metadata refresh, after at most "
            "metadata.max.age.ms."
        ),
    },
    VerdictId.BACKLOG_UNREAD: {
        "reset-to-earliest": (
            "Set auto.offset.reset=earliest if a new group should read what was there before, or commit "
            "offsets before its start (kafka-consumer-groups --reset-offsets --execute)."
        ),
    },
    VerdictId.PARTITION_STALLED: {
        "slow-record": (
            "Limit the time of a record in the handler, process it in another thread, or write it to a "
            "dead letter topic."
        ),
    },
    VerdictId.LAG_GROWS: {
        "larger-queue": (
            "Let a consumer hold more records for its pool of workers: those behind a slow record fill the "
            "queue, and workers of other partitions get none."
        ),
        "forward-failing": (
            "Send records that take long or fail to a retry topic or a dead letter topic, or try again "
            "less often and after shorter waits: the records behind them wait."
        ),
        "spread-partitions": (
            "range assigns topic by topic, so the first members get the extra partition of each topic; "
            "partition.assignment.strategy=roundrobin or cooperative-sticky balances over all topics."
        ),
        "capacity-behind": (
            "Run as many members as catching up needs, or make late records cheaper: members that process "
            "them more slowly than new ones arrive never catch up."
        ),
        "range-by-topic": (
            "Assignors that balance over all topics count partitions, not the work on their records; "
            "partition.assignment.strategy=range gives each member partitions of each topic."
        ),
        "even-partitions": (
            "Run a number of members that divides the partitions: those with one partition more have "
            "no time left."
        ),
        "commit-less-often": "Call commitSync() after each batch, not after each record.",
        "less-waiting": (
            "Members wait for commits, fetches and rebalances instead of working: use a larger "
            "max.poll.records, fewer commits, and larger fetches."
        ),
        "more-members": "Run more members, or make the work on a record shorter.",
    },
    VerdictId.LISTENER_THREW: {
        "catch-in-listener": "Catch exceptions inside the rebalance listener.",
    },
    VerdictId.KILLED_IN_GROUP: {
        "longer-grace": (
            "Use a longer grace period: from SIGTERM on it has to cover a full batch, the calls of the "
            "rebalance listener, the last commit and close(). A process that is killed earlier stays a "
            "member until its session ends, and its partitions wait."
        ),
    },
    VerdictId.REMOVED_IN_CLOSE: {
        "close-within-session": (
            "Keep close() shorter than session.timeout.ms: while the listener runs in close() the client "
            "sends no heartbeats."
        ),
    },
    VerdictId.REMOVED_ASSIGNING: {
        "session-above-assignor": (
            "Set session.timeout.ms and request.timeout.ms above the time of the assignor: the leader "
            "sends no heartbeats while it computes, and SyncGroup of the others waits. A simpler assignor (range, roundrobin) or several smaller groups shorten it; "
            "with group.protocol=consumer the coordinator computes."
        ),
    },
    VerdictId.SHARED_GROUP: {
        "separate-groups": "Give each application its own group.id.",
    },
    VerdictId.GROUP_HANDOVER: {
        "keep-group-id": (
            "Keep the group id across deploys, or give the new group the offsets of the old one before it "
            "starts."
        ),
    },
    VerdictId.DEPLOY_STOPPED: {
        "readiness-of-the-process": (
            "Let the readiness probe ask whether the process works, not whether it has a partition: "
            "beside as many members as partitions a new one gets none. Or replace members one by one, "
            "without surge."
        ),
    },
    VerdictId.MONITOR_WRONG: {
        "monitor-window": (
            "Burrow calls a partition stopped when its last commit is older than its window of commits is "
            "long: commit more often, let the window have fewer commits (intervals), or add a rule on "
            "lag."
        ),
        "monitor-offsets": (
            "A monitor of the commits in Kafka sees no offsets in a database: compare the database's with "
            "the ends of the partitions (a rule on lag)."
        ),
    },
    VerdictId.AUTOSCALER_FLAPS: {
        "longer-stabilization": (
            "Give the autoscaler a longer window in which the largest recommendation holds "
            "(stabilizationWindowSeconds downwards). Trade-off: replicas stay longer than needed."
        ),
    },
    VerdictId.IDLE_REPLICAS: {
        "no-idle-replicas": (
            "Allow the autoscaler at most as many replicas as there are partitions, or partitions with "
            "lag."
        ),
    },
    VerdictId.SCALING_REPEATS: {
        "commit-before-handover": (
            "Commit before partitions change their owner: finish the batch within the grace period, and "
            "commit in onPartitionsRevoked()."
        ),
    },
    VerdictId.OVERLOAD: {
        "equal-members": (
            "Assignors count partitions, not what a member can process: make the slowest member as fast as the "
            "others, stop it, or run so many members that it gets fewer partitions."
        ),
        "forward-failing": (
            "Send records that take long or fail to a retry topic or a dead letter topic, or try again "
            "less often and after shorter waits: the records behind them wait."
        ),
        "larger-transactions": (
            "More members do not help, as each batch is a transaction and the database takes no more of "
            "them: use a larger max.poll.records, so that a transaction has more records, or let the "
            "database commit more transactions."
        ),
        "split-hot-key": (
            "Let the producer add a suffix to a hot key, so that its records go to several partitions, or "
            "make the work on a record shorter: more partitions or members do not help."
        ),
        "fewer-members": (
            "Run fewer members, or relieve the resource that they share: the records that they have in "
            "work at the same time slow one another down."
        ),
        "even-partitions": (
            "Run so many members that the one with most partitions can process what arrives in them, or a "
            "number of members that divides the partitions."
        ),
        "spread-partitions": (
            "range assigns topic by topic, so the first members get the extra partition of each topic; "
            "partition.assignment.strategy=roundrobin or cooperative-sticky balances over all topics."
        ),
        "more-members": "Run more members, or make the work on a record shorter.",
        "more-partitions": (
            "Add partitions or spread the keys, process records of a partition concurrently, or make "
            "the work on a record shorter."
        ),
    },
}
"""The hints that each verdict may have, in general words; ``docs/reference/advice.md`` shows them."""
