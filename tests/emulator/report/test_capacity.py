"""Load, busy members, hot partitions and backlogs in reports."""

from __future__ import annotations

import json

from ..cli.commands import CRASH, rebalance, written

SKEWED = [
    "--set",
    "topic[orders].skew=[6]",
    "--set",
    "topic[orders].rate=15/s",
    "--set",
    "group[billing].work=10ms",
]


def test_a_hot_partition_and_its_busy_owner_are_on_the_screen(tmp_path):
    """With the load of the group, which alone does not show it; on 60 columns, too."""
    out = rebalance("run", written(tmp_path, CRASH), *SKEWED).out

    assert "  load         " in out
    assert "orders-0 (67%) of the records of billing" in out
    assert "of its time (" in out


def test_a_group_with_little_to_do_says_nothing_about_capacity(tmp_path):
    """Its screen stays as short as it is."""
    out = rebalance("run", written(tmp_path, CRASH), "--set", "group[billing].work=1ms").out

    assert "  load  " not in out
    assert "  busy  " not in out
    assert "  start-up  " not in out


def test_json_has_the_capacity_of_every_group(tmp_path):
    """Rates, and each member with its records, busy share and idle time."""
    answer = json.loads(rebalance("run", written(tmp_path, CRASH), "--json").out)
    (group,) = answer["capacity"]
    members = {each["member"]: each for each in group["members"]}

    assert (80, 400, []) == (
        group["arrival_per_s"],
        group["capacity_per_s"],
        group["hot_partitions"],
    )
    assert 0 < members["billing-1"]["busy"] < members["billing-0"]["busy"] < 1
    assert answer["metrics"]["processed"] == sum(each["processed"] for each in members.values())


def test_slow_records_keep_a_member_busy():
    """The figure and the verdict on its growing lag say the same; twelve workers, of which most wait."""
    out = rebalance("run", "s3-pool-slower-than-threads").out

    assert ": each worked 29% of its time" in " ".join(out.split())
    assert "billing-0 29% of its time" in out


def test_a_backlog_without_a_fault_has_a_drain_time(tmp_path):
    """A producer that stops after half of the run."""
    text = CRASH[: CRASH.index("[[fault]]")]
    busy = ["group[billing].work=45ms", "topic[orders].produce_until=15s"]
    out = rebalance("run", written(tmp_path, text), "--set", busy[0], "--set", busy[1]).out

    assert "drained to a tenth of it in" in out
