"""Every metric there is, with its unit and what it means: the one list of stable names.

A *value* is one number of a run, a *table* maps names (causes, partitions, members) to numbers,
a *listing* has one row for each of something. Expectations speak of a value by its name and of
a table's entry as ``table[entry]``.
"""

from __future__ import annotations

from typing import NamedTuple


class Metric(NamedTuple):
    """One name with its unit and meaning."""

    name: str
    unit: str
    meaning: str


VALUES = (
    Metric("reprocessed", "records", "processings completed beyond a record's first"),
    Metric("lost", "records", "committed past, or positioned past, and never processed"),
    Metric("truncated", "records", "gone from the log before they were processed; not in lost"),
    Metric("partial", "records", "processings cut off by the end of their process, each attempt"),
    Metric("processed", "records", "processings completed, repeats included"),
    Metric(
        "duplicates_avoided", "records", "not repeated thanks to a commit thought to have failed"
    ),
    Metric("in_hand", "records", "handed out and not processed at the end, owner alive"),
    Metric("backlog", "records", "not yet handed out at the end"),
    Metric("run_s", "s", "how long the run was"),
    Metric(
        "rebalances",
        "count",
        "join phases begun after the group was first stable; with group.protocol=consumer, rises "
        "of the group epoch, those of one rebalance once; what lets in members that were started "
        "before the first was stable forms the group",
    ),
    Metric("generations", "count", "assignments handed out, the first included"),
    Metric("rounds_max", "count", "most rebalances that one cause needed (cooperative follow-ups)"),
    Metric(
        "join_phase_total_s",
        "s",
        "from the start of a rebalance to the end of its join phase; with group.protocol=consumer, "
        "to its target",
    ),
    Metric("join_phase_max_s", "s", "the longest join phase"),
    Metric("sync_phase_total_s", "s", "from the end of the join phase to stable"),
    Metric("sync_phase_max_s", "s", "the longest sync phase"),
    Metric("time_to_stable_total_s", "s", "from a rebalance to stable, follow-ups included"),
    Metric("time_to_stable_max_s", "s", "the longest of those"),
    Metric("moved", "partitions", "changed their owner over a rebalance with its follow-ups"),
    Metric("moved_needed", "partitions", "their owner was gone, or balance asked for it"),
    Metric("moved_unneeded", "partitions", "taken from a member that stayed, beyond that"),
    Metric("standstill_total_s", "partition-s", "without a working owner, summed over partitions"),
    Metric("standstill_max_s", "s", "the longest stretch of one partition without a working owner"),
    Metric(
        "member_standstill_total_s", "member-s", "processes that ran and had nothing to work on"
    ),
    Metric("member_standstill_max_s", "s", "the longest such stretch of one member"),
    Metric(
        "unreadable_total_s",
        "partition-s",
        "nothing new to read: the leader was away, or a replica in sync that was not missed yet; "
        "summed over partitions",
    ),
    Metric("unreadable_max_s", "s", "the longest such stretch of one partition"),
    Metric(
        "uncommittable_total_s",
        "group-s",
        "no commit to be had: the same of the offsets partition, or its coordinator was away or "
        "still loading; summed over groups",
    ),
    Metric("uncommittable_max_s", "s", "the longest such stretch of one group"),
    Metric("takeover_first_s", "s", "fault to the first record by another; the slowest fault"),
    Metric("takeover_last_s", "s", "fault to the last partition taken over; the slowest fault"),
    Metric("overlap_s", "partition-s", "with two or more working owners"),
    Metric("overlap_records", "records", "processed meanwhile by others than the newest owner"),
    Metric("commits_sent", "count", "asked for by consumers"),
    Metric("commits_accepted", "count", "appended by the coordinator"),
    Metric("commits_refused", "count", "refused by the coordinator or by the client itself"),
    Metric("commit_messages_lost", "count", "commit requests and responses that never arrived"),
    Metric("commits_unanswered", "count", "whose connection broke, or whose answer never came"),
    Metric("rewinds", "count", "accepted commits that lowered a committed offset"),
    Metric("rewind_records", "records", "by how much, summed"),
    Metric("rewind_max_records", "records", "by how much at most"),
    Metric("evictions", "count", "members the coordinator removed because they were late"),
    Metric("evictions_living", "count", "of these, processes that ran and were not paused"),
    Metric("drop_outs", "count", "consumers that let go of their group or were told to"),
    Metric("lag_committed_peak", "records", "most, summed over a group's partitions"),
    Metric("lag_committed_peak_partition", "records", "most of one partition"),
    Metric("lag_committed_area", "record-s", "committed lag over time"),
    Metric("lag_processed_peak", "records", "most, summed over a group's partitions"),
    Metric("lag_processed_peak_partition", "records", "most of one partition"),
    Metric("lag_processed_area", "record-s", "processed lag over time"),
    Metric("drain_max_s", "s", "fault to processed lag as before it; to the end if it stays above"),
    Metric("undrained", "count", "faults whose lag was still above at the end"),
    Metric("requests", "count", "received by brokers"),
    Metric("requests_per_s", "1/s", "on average over the run"),
    Metric("log_records", "count", "appended to the offsets log"),
    Metric("log_bytes", "bytes", "of their batches"),
    Metric("log_size", "bytes", "of the offsets log at the end: what loads of all of it read"),
    Metric("log_size_peak", "bytes", "of one offsets partition, at most"),
    Metric("log_size_records", "records", "in the offsets log at the end"),
    Metric("log_size_records_peak", "records", "in one offsets partition, at most"),
    Metric("log_segments", "count", "of the offsets log at the end"),
    Metric("log_segments_rolled", "count", "begun because the one before was full or old"),
    Metric("log_compactions", "count", "runs of the log cleaner"),
    Metric("log_compacted_bytes", "bytes", "taken out of the log by them"),
    Metric("log_compacted_records", "records", "taken out of the log by them"),
    Metric("log_loads", "count", "offsets partitions that a broker loaded"),
    Metric("log_loads_s", "s", "all of these together, waiting for others included"),
    Metric("log_loads_bytes", "bytes", "read by them"),
    Metric("member_hours", "h", "processes, from start to stop"),
)

TABLES = (
    Metric("reprocessed.by_cause", "records", "by cause"),
    Metric("reprocessed.by_partition", "records", "by partition"),
    Metric("reprocessed.by_member", "records", "by the member that processed again"),
    Metric("reprocessed.by_fault", "records", "by the fault or act at the root"),
    Metric("lost.by_cause", "records", "by cause"),
    Metric("lost.by_partition", "records", "by partition"),
    Metric("lost.by_member", "records", "by the member that had the partition last"),
    Metric("lost.by_fault", "records", "by the fault or act at the root"),
    Metric("truncated.by_cause", "records", "by cause"),
    Metric("truncated.by_partition", "records", "by partition"),
    Metric("truncated.by_member", "records", "by the member that had the partition last"),
    Metric("truncated.by_fault", "records", "by the fault or act at the root"),
    Metric("partial.by_partition", "records", "by partition"),
    Metric("partial.by_member", "records", "by the member that was cut off"),
    Metric("partial.by_fault", "records", "by the fault or act at the root"),
    Metric("rebalances.by_reason", "count", "by the coordinator's reason, ids left out"),
    Metric("standstill.by_partition", "s", "without a working owner"),
    Metric("standstill.by_member", "s", "running with nothing to work on"),
    Metric("unreadable.by_partition", "s", "nothing new to read, because of brokers"),
    Metric("uncommittable.by_group", "s", "no commit to be had, because of brokers"),
    Metric("commits_refused.by_error", "count", "by Kafka's error"),
    Metric("evictions.by_reason", "count", "by reason"),
    Metric("drop_outs.by_reason", "count", "by reason"),
    Metric("lag_committed_peak.by_group", "records", "by group"),
    Metric("lag_processed_peak.by_group", "records", "by group"),
    Metric("requests_per_s.by_kind", "1/s", "on average over the run"),
    Metric("requests_per_s_peak.by_kind", "1/s", "in the busiest sampling interval"),
    Metric("log_records.by_type", "count", "by record type"),
    Metric("member_hours.by_member", "h", "by member"),
)

LISTINGS = (
    Metric("rebalances", "rows", "each rebalance: why, by whom, when each phase ended"),
    Metric("takeovers", "rows", "each fault after which partitions were taken over: how soon"),
    Metric("log_sizes", "rows", "each offsets partition over time: bytes, records, segments"),
    Metric("drains", "rows", "each fault after which lag rose: how long until it was as before"),
)


def as_markdown() -> str:
    """Return all names as tables for the documentation."""
    parts = []
    for title, metrics in (("Values", VALUES), ("Tables", TABLES), ("Listings", LISTINGS)):
        rows = [f"| `{metric.name}` | {metric.unit} | {metric.meaning} |" for metric in metrics]
        parts.append(
            "\n".join([f"## {title}", "", "| name | unit | meaning |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"
