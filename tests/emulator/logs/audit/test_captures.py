"""Audits of a real Kafka's runs, against what was counted of them record by record."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from emulator.conformance.captured.capture import Capture, find_runs, read_capture
from emulator.logs.audit.passes import Audited

from .logs import audited, terms_of, write_captured

KEPT = Path(__file__).parents[3] / "captures"
CAPTURES = os.environ.get("REBALANCE_CAPTURES")


def owners(found: Audited) -> dict[str, int]:
    """Return records processed again by who was first and who was second."""
    counts = Counter()
    for part in found.partitions:
        for each in part.again:
            counts[f"{each.first_owner}>{each.second_owner}"] += each.next_offset - each.first
    return dict(counts)


def hold_against_summary(capture: Capture, folder: Path) -> None:
    """Compare an audit of a captured run with its summary, in total and by partition."""
    found = audited(write_captured(capture, folder / "log.jsonl"), terms=terms_of(capture))
    counted = {
        capture.shown(part.name): (part.processed, part.distinct, part.reprocessed, part.lost)
        for part in found.partitions
    }
    summary = capture.summary
    orphaned = summary["orphaned_unprocessed"]
    expected = {
        name: (
            each["processed"],
            each["distinct"],
            each["duplicates"],
            each["produced"] - each["distinct"] - orphaned.get(name, {"n": 0})["n"],
        )
        for name, each in summary["per_partition"].items()
    }
    lost = sorted(
        (capture.shown(part.name), each.first, each.next_offset - 1)
        for part in found.partitions
        for each in part.never
    )

    assert expected == counted
    assert summary["duplicates"] == sum(part.reprocessed for part in found.partitions)
    assert summary["never_processed"] == sum(part.lost for part in found.partitions)
    assert summary["dup_by_members"] == owners(found)
    assert sorted((r["p"], r["first"], r["last"]) for r in summary["lost_ranges"]) == lost


@pytest.mark.parametrize(
    "name",
    [
        "crash-range-auto/run-1",
        "latest-increase-range/run-1",
        "pause-zombie-range/run-21",
        "precommit-crash/run-2",
    ],
)
def test_an_audit_counts_what_was_counted_of_a_real_run(name, tmp_path):
    """Given end offsets and the cut: duplicates by whom, and each range that was lost."""
    hold_against_summary(read_capture(KEPT / name), tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not CAPTURES, reason="REBALANCE_CAPTURES names no folder of captures")
def test_every_capture_is_audited_to_the_record(tmp_path):
    """Whatever client, protocol or failure it was."""
    for path in find_runs(Path(CAPTURES)):
        hold_against_summary(read_capture(path), tmp_path)
