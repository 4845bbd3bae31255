"""All metrics with their units and definitions: the one list of stable names.

A *value* is one number of a run. A *table* maps names (causes, partitions, members) to numbers. A
*listing* has rows, such as one for each rebalance (``listings``). Expectations refer to a value by its name and to
an entry of a table as ``table[entry]``.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple


class Metric(NamedTuple):
    """One name with its unit and meaning."""

    name: str
    unit: str
    meaning: str


VALUES = (
    Metric("reprocessed", "records", "processings beyond the first of each record"),
    Metric(
        "lost",
        "records",
        "never processed, although the committed offset or the position moved past them",
    ),
    Metric(
        "truncated",
        "records",
        "removed from the log before they were processed; not included in lost",
    ),
    Metric(
        "partial",
        "records",
        "in flight when their process ended, killed or closed; each attempt counts one",
    ),
    Metric(
        "attempts_max",
        "count",
        "most attempts at one record: completed, failed, or in flight when their process ended",
    ),
    Metric("processed", "records", "completed processings, reprocessing included"),
    Metric(
        "duplicates_avoided",
        "records",
        "not reprocessed because a commit without an answer was accepted",
    ),
    Metric(
        "in_hand", "records", "returned by poll and not processed at the end, by consumers that run"
    ),
    Metric("backlog", "records", "not yet returned by poll at the end"),
    Metric("compacted_unread", "records", "removed by compaction before they were processed"),
    Metric("run_s", "s", "duration of the run"),
    Metric(
        "rebalances",
        "count",
        "join phases after the group was first stable; with group.protocol=consumer, increases of "
        "the group epoch, counted once per rebalance; joins of members that were started before "
        "the group was first stable do not count",
    ),
    Metric("generations", "count", "assignments, the first one included"),
    Metric(
        "rounds_max",
        "count",
        "largest number of rebalances that one change needed (cooperative follow-ups)",
    ),
    Metric(
        "join_phase_total_s",
        "s",
        "from the start of a rebalance to the end of its join phase; with group.protocol=consumer, "
        "to its target assignment",
    ),
    Metric("join_phase_max_s", "s", "the longest join phase"),
    Metric("sync_phase_total_s", "s", "from the end of the join phase to stable"),
    Metric("sync_phase_max_s", "s", "the longest sync phase"),
    Metric("sync_phases_cut", "count", "sync phases that ended without a stable group"),
    Metric("sync_phase_cut_total_s", "s", "those sync phases, from the end of the join phase"),
    Metric(
        "time_to_stable_total_s",
        "s",
        "from the start of a rebalance to stable, with follow-ups and what it interrupts, or to the end of a run",
    ),
    Metric("time_to_stable_max_s", "s", "the longest such time"),
    Metric("moved", "partitions", "with another owner after a rebalance and its follow-ups"),
    Metric("moved_needed", "partitions", "moved because the owner was gone, or for balance"),
    Metric("moved_unneeded", "partitions", "moved from a member that stayed, without need"),
    Metric(
        "downtime_total_s",
        "partition-s",
        "time without an owner that processes, summed over partitions",
    ),
    Metric("downtime_max_s", "s", "the longest such time of one partition"),
    Metric(
        "start_up_max_s",
        "s",
        "from the start of a group's first consumer until each partition had an owner; not part of "
        "downtime; the slowest group",
    ),
    Metric(
        "first_record_max_s",
        "s",
        "from the start of a group's first consumer to the first record that the group begins; the "
        "slowest group; if nothing was processed it has no value",
    ),
    Metric("member_idle_total_s", "member-s", "time of running consumers without a partition"),
    Metric("member_idle_max_s", "s", "the longest such time of one member"),
    Metric(
        "unreadable_total_s",
        "partition-s",
        "time in which the high watermark could not advance, because the leader or an in-sync "
        "replica was down; summed over partitions",
    ),
    Metric("unreadable_max_s", "s", "the longest such time of one partition"),
    Metric(
        "commits_unavailable_total_s",
        "group-s",
        "time in which commits were unavailable: the same for the offsets partition, or its "
        "coordinator was down or loading; summed over groups",
    ),
    Metric("commits_unavailable_max_s", "s", "the longest such time of one group"),
    Metric(
        "takeover_first_s",
        "s",
        "from the beginning of a fault (of a deploy: the SIGTERM) to the first record that the next owner "
        "of a partition processes; the maximum over faults; without a takeover it has no value",
    ),
    Metric(
        "takeover_last_s",
        "s",
        "from the beginning of a fault until the next owner of its last partition processes a record, or "
        "loses the partition before that; the maximum over faults; without a takeover it has no value",
    ),
    Metric("overlap_s", "partition-s", "time with two or more owners that process"),
    Metric("overlap_records", "records", "processed meanwhile by owners other than the newest"),
    Metric(
        "processed_by_both",
        "records",
        "processed by a group and by the group that replaces it (`replaces`)",
    ),
    Metric(
        "processed_by_neither",
        "records",
        "between the first and the last record that either of the two processed, which neither did",
    ),
    Metric(
        "handover_gap_max_s",
        "s",
        "from the last record of a group to the first record of the group that replaces it; the "
        "longest of all partitions; if no group was replaced it has no value",
    ),
    Metric("scalings", "count", "steps of autoscalers"),
    Metric(
        "scaling_reversals",
        "count",
        "steps of an autoscaler in the opposite direction of the one before, within 15 minutes: it flaps",
    ),
    Metric("replicas_max", "count", "the most replicas that an autoscaler asked for"),
    Metric("replica_hours", "h", "replicas that autoscalers asked for, over time: what they cost"),
    Metric(
        "useful_replicas_share",
        "share",
        "of this time, the part in which a replica had a partition; without an autoscaler it has no value",
    ),
    Metric(
        "reprocessed_by_scaling",
        "records",
        "reprocessed because of the steps of autoscalers",
    ),
    Metric("monitor_alarms", "count", "alarms of the monitors of the scenario"),
    Metric(
        "monitor_false_alarms",
        "count",
        "alarms for a partition or group in which nothing was stuck meanwhile",
    ),
    Metric(
        "monitor_misses",
        "count",
        "standstills of a partition without an alarm, summed over monitors",
    ),
    Metric(
        "monitor_delay_max_s",
        "s",
        "from the beginning of a standstill to the alarm; without one that was noticed it has no value",
    ),
    Metric("commits_sent", "count", "sent by consumers"),
    Metric(
        "commits_accepted",
        "count",
        "appended by the coordinator, or stored by ZooKeeper or a database",
    ),
    Metric("commits_refused", "count", "refused by the coordinator, the client or ZooKeeper"),
    Metric(
        "commits_refused_covered",
        "count",
        "refused ones whose offsets the same member committed later, before it lost the partitions",
    ),
    Metric("commits_wrong_owner", "count", "offsets accepted of partitions of another member"),
    Metric("commit_messages_lost", "count", "commit requests and responses that were lost"),
    Metric("commits_unanswered", "count", "without a response: disconnected or timed out"),
    Metric(
        "commit_stall_max_s",
        "s",
        "the longest time in which a partition had processed records that were not committed, and "
        "its committed offset did not advance; measured at samples of lag (`lag_every`)",
    ),
    Metric(
        "store_wait_max_s",
        "s",
        "the longest time that a commit waited in the queue of ZooKeeper or a database",
    ),
    Metric(
        "commit_round_max_s",
        "s",
        "the longest commit to ZooKeeper or a database, from its first write to the answer to its last: "
        "ZooKeeper takes one write for each partition",
    ),
    Metric(
        "rolled_back",
        "records",
        "processed in a transaction that was not committed: work without a result",
    ),
    Metric(
        "results_undone",
        "records",
        "whose results a restored backup of the database removed; a reader of them outside the "
        "database sees those a second time that are reprocessed",
    ),
    Metric("rewinds", "count", "accepted commits that lowered a committed offset"),
    Metric("rewind_records", "records", "sum of these decreases"),
    Metric("rewind_max_records", "records", "largest of these decreases"),
    Metric("evictions", "count", "members that the coordinator removed after a timeout"),
    Metric("evictions_living", "count", "of these, members whose process ran and was not paused"),
    Metric("drop_outs", "count", "consumers that left: fenced, or poll interval exceeded"),
    Metric(
        "consumers_failed",
        "count",
        "processes that ended with an error that their client or handler raised, such as a fatal "
        "FENCED_INSTANCE_ID",
    ),
    Metric(
        "failed_attempts",
        "count",
        "attempts to process a record that failed and were repeated, or ended in another topic",
    ),
    Metric("forwarded", "records", "sent to a dead-letter or retry topic; they count as processed"),
    Metric("forwarded_again", "records", "of these, sent before: duplicates in that topic"),
    Metric(
        "deduplicated",
        "records",
        'of the reprocessed ones (and copies, `by = "id"`), those that deduplication recognised',
    ),
    Metric("not_deduplicated", "records", "those that it had forgotten, or never known"),
    Metric("copies_processed", "records", "processed copies in the topic (`repeats`)"),
    Metric("aborted_processed", "records", "processed, of aborted transactions (`aborted_every`)"),
    Metric("lag_committed_peak", "records", "maximum, summed over a group's partitions"),
    Metric("lag_committed_peak_partition", "records", "maximum of one partition"),
    Metric("lag_committed_area", "record-s", "committed lag, integrated over time"),
    Metric("lag_processed_peak", "records", "maximum, summed over a group's partitions"),
    Metric("lag_processed_peak_partition", "records", "maximum of one partition"),
    Metric("lag_processed_area", "record-s", "processed lag, integrated over time"),
    Metric(
        "lag_recovery_max_s",
        "s",
        "from a fault until processed lag is back at its previous level, or to the end of the run",
    ),
    Metric(
        "lag_unrecovered", "count", "faults whose lag was still above its previous level at the end"
    ),
    Metric(
        "lag_drain_max_s",
        "s",
        "from the highest processed lag of a group to a tenth of it, with or without a fault; the "
        "slowest group; if lag was not drained it has no value",
    ),
    Metric(
        "load_max_to_mean",
        "ratio",
        "records that the busiest member of a group processed, over the mean of its members; the "
        "group where it is largest, 1 in a balanced one",
    ),
    Metric("requests", "count", "received by brokers"),
    Metric("requests_per_s", "1/s", "average over the run"),
    Metric("log_records", "count", "appended to the offsets log"),
    Metric("log_bytes", "bytes", "size of their batches"),
    Metric(
        "log_size",
        "bytes",
        "of the offsets log at the end: the size that loads of all partitions read",
    ),
    Metric("log_size_peak", "bytes", "maximum of one offsets partition"),
    Metric("log_size_records", "records", "in the offsets log at the end"),
    Metric("log_size_records_peak", "records", "maximum of one offsets partition"),
    Metric("log_segments", "count", "of the offsets log at the end"),
    Metric("log_segments_rolled", "count", "rolled because of size or age"),
    Metric("log_compactions", "count", "runs of the log cleaner"),
    Metric("log_compacted_bytes", "bytes", "removed by compaction"),
    Metric("log_compacted_records", "records", "removed by compaction"),
    Metric("log_loads", "count", "offsets partitions that a broker loaded"),
    Metric("log_loads_s", "s", "total duration of these loads, waiting included"),
    Metric("log_loads_bytes", "bytes", "read by these loads"),
    Metric("member_hours", "h", "running time of processes"),
)

WITHOUT_VALUE = {
    "takeover_first_s": "nothing was taken over",
    "takeover_last_s": "nothing was taken over",
    "first_record_max_s": "nothing was processed",
    "lag_drain_max_s": "lag was not drained",
    "handover_gap_max_s": "no group was replaced",
    "monitor_delay_max_s": "no monitor noticed a standstill",
    "useful_replicas_share": "no group has an autoscaler",
}
"""Metrics that may have no value, and what that means."""


TABLES = (
    Metric("reprocessed.by_cause", "records", "by cause"),
    Metric("reprocessed.by_partition", "records", "by partition"),
    Metric("reprocessed.by_member", "records", "by the member that reprocessed"),
    Metric("reprocessed.by_fault", "records", "by the fault or action at the root"),
    Metric("lost.by_cause", "records", "by cause"),
    Metric("lost.by_partition", "records", "by partition"),
    Metric("lost.by_member", "records", "by the last owner"),
    Metric("lost.by_fault", "records", "by the fault or action at the root"),
    Metric("truncated.by_cause", "records", "by cause"),
    Metric("truncated.by_partition", "records", "by partition"),
    Metric("truncated.by_member", "records", "by the last owner"),
    Metric("truncated.by_fault", "records", "by the fault or action at the root"),
    Metric("partial.by_partition", "records", "by partition"),
    Metric("partial.by_member", "records", "by the member that was killed"),
    Metric("partial.by_fault", "records", "by the fault or action at the root"),
    Metric("processed_by_both.by_partition", "records", "by a group and by its replacement"),
    Metric("copies_processed.by_partition", "records", "processed copies in the topic"),
    Metric("aborted_processed.by_partition", "records", "processed, of aborted transactions"),
    Metric("processed_by_neither.by_partition", "records", "by neither of these"),
    Metric("monitor_alarms.by_state", "count", "by the monitor and the state that it gave"),
    Metric("rebalances.by_reason", "count", "by the coordinator's reason, without ids"),
    Metric("downtime.by_partition", "s", "time without an owner that processes"),
    Metric("downtime_max.by_partition", "s", "the longest such time"),
    Metric("downtime_max.by_group", "s", "the longest such time of one partition, by group"),
    Metric("member_idle.by_member", "s", "time of a running consumer without a partition"),
    Metric("processed.by_member", "records", "completed processings, reprocessing included"),
    Metric(
        "processed.by_member_and_topic", "records", "``member/topic``, if there are several topics"
    ),
    Metric("unreadable.by_partition", "s", "time without new readable records, because of brokers"),
    Metric(
        "commits_unavailable.by_group",
        "s",
        "time in which commits were unavailable, because of brokers",
    ),
    Metric("commit_stall_max.by_partition", "s", "the longest stall of its committed offset"),
    Metric("commits_refused.by_error", "count", "by Kafka's error"),
    Metric("commits_refused.by_group", "count", "by group"),
    Metric("evictions.by_reason", "count", "by reason"),
    Metric("drop_outs.by_reason", "count", "by reason"),
    Metric("consumers_failed.by_reason", "count", "by reason"),
    Metric("forwarded.by_topic", "records", "by the topic to which they were sent"),
    Metric("lag_committed_peak.by_group", "records", "by group"),
    Metric("lag_processed_peak.by_group", "records", "by group"),
    Metric("requests_per_s.by_kind", "1/s", "average over the run"),
    Metric("requests_per_s_peak.by_kind", "1/s", "in the busiest sampling interval"),
    Metric("log_records.by_type", "count", "by record type"),
    Metric("member_hours.by_member", "h", "by member"),
)


def is_metric(name: str) -> bool:
    """Return whether *name* is the name of a value or of an entry of a table."""
    table, bracket, entry = name.partition("[")
    if bracket:
        return entry.endswith("]") and any(table == metric.name for metric in TABLES)
    return any(name == metric.name for metric in VALUES)


MEANT = {"duplicates": "reprocessed", "losses": "lost", "downtime": "downtime_max_s"}
"""Words that people use for metrics, and the metrics they mean."""


def unknown_metric(name: str) -> str:
    """Return a message about an unknown metric, with the closest matches."""
    known = [metric.name for metric in VALUES] + [f"{metric.name}[…]" for metric in TABLES]
    meant = MEANT.get(name)
    near = [meant] if meant else get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no metric {name!r}{hint}"
