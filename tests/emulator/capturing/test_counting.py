"""The summary counts processings of each record by itself."""

from __future__ import annotations

from emulator.capturing.counting import Process, created_again_us, ranges, summary_of

META = {
    "scenario": "s",
    "run": 1,
    "group": "g",
    "victim": "m1",
    "drained": True,
    "orphaned": [],
    "t_fault": 1_000_000,
    "t_end": 9_000_000,
    "ends": {"t-0": 5, "t-1": 2},
}


STARTED = {"e": "started", "t": 0}


def record(partition, offset, at_us):
    return {"e": "r", "p": partition, "o": offset, "a": at_us, "b": at_us + 10}


def summary(*processes):
    return summary_of(META, [Process(name, name.partition(".")[0], e) for name, e in processes])


def test_duplicates_losses_and_the_new_owner():
    first = [record("t-0", offset, 500_000 + offset) for offset in range(3)]
    first = [STARTED, {"e": "assigned", "a": 1, "b": 1, "ps": ["t-0"]}, *first]
    second = [record("t-0", offset, 4_000_000 + offset) for offset in (1, 2, 4)]
    found = summary(("m1.1", first), ("m2.1", [record("t-1", 0, 1), record("t-1", 1, 2), *second]))
    assert (found["produced"], found["processed"], found["distinct"]) == (7, 8, 6)
    assert found["duplicates"] == 2
    assert found["dup_by_members"] == {"m1.1>m2.1": 2}
    assert (found["never_processed"], found["lost_ranges"]) == (1, {"t-0": [[3, 3]]})
    assert found["per_partition"]["t-0"]["missing"] == {"n": 1, "ranges": [[3, 3]]}
    assert found["owned_at_fault"] == {"m1.1": ["t-0"]}
    assert found["takeover_s"] == {"t-0": 3.0}


def test_records_after_the_end_and_commits_count_apart():
    late = [record("t-1", 0, 5), record("t-1", 0, 9_500_000), {"e": "committed", "t": 5, "o": {}}]
    found = summary(("m1.1", late))
    assert found["per_partition"]["t-1"]["duplicates"] == 0
    assert found["commits"]["m1.1"] == {"accepted": 0, "failed": 0}


def test_generations_after_the_fault_are_rebalances():
    seen = [(5, -1), (6, 2), (1_500_000, 3), (2_000_000, 4), (9_500_000, 5)]
    found = summary(("m1.1", [{"e": "meta", "t": t, "gen": g, "member": "x"} for t, g in seen]))
    assert found["rebalances_after_fault"] == 2
    assert found["record_work_ms"] is None


def test_ranges():
    assert ranges([0, 1, 2, 5, 7, 8]) == [[0, 2], [5, 5], [7, 8]]


def test_of_a_topic_that_was_created_again_what_came_after_that_counts():
    """Its offsets begin at 0 again; a topic that was only created, or only deleted, has one life."""
    acts = [
        {"do": "deltopic", "topic": "t", "t": 2_000_000},
        {"do": "maketopic", "topic": "t", "t": 3_000_000},
        {"do": "maketopic", "topic": "u", "t": 4_000_000},
    ]
    entries = [record("t-0", 0, 1_000_000), record("u-0", 0, 1), record("t-0", 0, 3_500_000)]
    meta = META | {"actions": acts, "ends": {"t-0": 2, "u-0": 1}}
    found = summary_of(meta, [Process("m1.1", "m1", entries)])

    assert created_again_us(acts) == {"t": 3_000_000}
    assert (found["duplicates"], found["lost_ranges"]) == (0, {"t-0": [[1, 1]]})
    assert found["per_partition"]["u-0"]["processed"] == 1
