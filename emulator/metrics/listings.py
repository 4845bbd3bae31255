"""The listings of a run: names of metrics with rows, such as one for each rebalance."""

from __future__ import annotations

from emulator.metrics.catalogue import Metric

LISTINGS = (
    Metric("rebalances", "rows", "each rebalance: reason, member, end of each phase"),
    Metric("takeovers", "rows", "each fault after which partitions were taken over: times"),
    Metric(
        "attempts",
        "rows",
        "the records with the most attempts, if some had several: partition, offsets, attempts",
    ),
    Metric(
        "without_owner",
        "rows",
        "each partition that had no owner that processes at the end: since when, and whether no assignment had it",
    ),
    Metric(
        "evictions",
        "rows",
        "each removal by the coordinator after a timeout: member, reason, when, whether its process ran",
    ),
    Metric(
        "drop_outs",
        "rows",
        "each consumer that left, fenced or beyond its poll interval: reason, when",
    ),
    Metric(
        "handovers",
        "rows",
        "each group that replaces another one: records of both and of neither, time between them",
    ),
    Metric("monitors", "rows", "each monitor: alarms, false ones, standstills, missed ones, delay"),
    Metric("monitor_alarms", "rows", "each alarm: monitor, partition, state, from and to"),
    Metric(
        "standstills",
        "rows",
        "each standstill of a partition, for each monitor: from, to, and when it was noticed",
    ),
    Metric("scalings", "rows", "each step of an autoscaler: replicas, lag, records reprocessed"),
    Metric("replicas", "rows", "each group with an autoscaler: steps, replica-hours, idle ones"),
    Metric(
        "hot_partitions",
        "rows",
        "each partition that gets more than twice the records of an average other one of its group",
    ),
    Metric(
        "backlogs",
        "rows",
        "each group with lag: its highest processed lag, and when it was drained",
    ),
    Metric("log_sizes", "rows", "each offsets partition over time: bytes, records, segments"),
    Metric("lag_recoveries", "rows", "each fault after which lag rose: time until lag recovery"),
)
