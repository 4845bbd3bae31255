"""Causes that two logs can show; read from tables and from a real broker's segment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from emulator.logs.audit.causes import AuditCause, judge_again, judge_never
from emulator.logs.audit.commits import GONE, Commits, Committed, Generation
from emulator.logs.audit.committed import read_committed
from emulator.logs.audit.partitions import AffectedRange, Limits
from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError

from .logs import EPOCH, SECOND
from .tables import rows

NAME = PartitionName("orders", 0)
SEGMENTS = Path(__file__).parents[3] / "captures" / "offsets-log"
AGAIN = AffectedRange(
    50, 60, "m1", EPOCH + 10 * SECOND, "m2", EPOCH + 31 * SECOND, EPOCH + 30 * SECOND
)


def log(*commits: tuple[int, int], generations: tuple[tuple[int, int], ...] = ()) -> Committed:
    """Return the history of a group: (second, offset) of commits, (second, number) of others."""
    times = np.array([EPOCH + at * SECOND for at, _ in commits], np.int64)
    offsets = np.array([offset for _, offset in commits], np.int64)
    numbered = tuple(Generation(EPOCH + at * SECOND, number) for at, number in generations)
    return Committed("billing", {NAME: Commits.of(times, offsets)}, numbered)


@pytest.mark.parametrize(
    ("history", "cause", "detail"),
    [
        (None, AuditCause.UNKNOWN, ""),
        (log((5, 40)), AuditCause.UNKNOWN, "40 was committed"),
        (
            log((5, 40), generations=((20, 7),)),
            AuditCause.REBALANCE,
            "generation 7; 40 was committed",
        ),
        (
            log(generations=((5, 1), (11, 2), (29, 4), (40, 5))),
            AuditCause.REBALANCE,
            "generations 2 to 4; nothing was committed",
        ),
        (log((5, 80), (6, 50)), AuditCause.REWIND, "80 to 50"),
        (log((5, 50), (6, 40)), AuditCause.UNKNOWN, "40 was committed"),
        (log((5, 80), (6, GONE)), AuditCause.EXPIRED, "or deleted"),
        (log((35, 80), (36, 50)), AuditCause.UNKNOWN, "nothing was committed"),
        (log((5, 80)), AuditCause.UNKNOWN, "80 was committed"),
    ],
)
def test_the_cause_of_a_repeat_is_what_the_logs_show(history, cause, detail):
    """Only what was there when the second processing began counts."""
    assert (cause, detail) == judge_again(AGAIN, NAME, history)


def test_two_owners_need_no_offsets_log():
    """The processing log shows them."""
    assert AuditCause.TWO_OWNERS is judge_again(AGAIN._replace(overlap=True), NAME, None).cause


@pytest.mark.parametrize(
    ("history", "cause"),
    [
        (None, AuditCause.UNKNOWN),
        (log(), AuditCause.RESET),
        (log((5, 55)), AuditCause.COMMITTED_AHEAD),
        (log((5, 50)), AuditCause.UNKNOWN),
        (log((5, 40), (6, GONE)), AuditCause.EXPIRED),
        (log((35, 80)), AuditCause.RESET),
    ],
)
def test_the_cause_of_a_loss_is_what_the_logs_show(history, cause):
    """Whether a commit covered the range before a consumer continued beyond it."""
    assert cause is judge_never(AGAIN, NAME, history).cause


def test_the_tables_of_an_import_are_read(tmp_path):
    """Commits and generations of one group; transactions that were not committed are left out."""
    (tmp_path / "commits").mkdir()
    (tmp_path / "groups").mkdir()
    commits = rows(("billing", 0, 10, 1), ("other", 0, 99, 2), ("billing", 0, None, 3))
    pq.write_table(commits, tmp_path / "commits" / "a.parquet")
    aborted = rows(("billing", 0, 70, 4), transaction="aborted")
    pq.write_table(aborted, tmp_path / "commits" / "b.parquet")
    groups = pa.table(
        {
            "group": ["billing", "other", "billing"],
            "kind": ["GroupMetadata", "GroupMetadata", "ConsumerGroupMemberMetadata"],
            "epoch": pa.array([3, 9, 4], pa.int32()),
            "timestamp": [EPOCH // 1000] * 3,
        }
    )
    pq.write_table(groups, tmp_path / "groups" / "a.parquet")
    found = read_committed([tmp_path], "billing")

    assert [10, GONE] == found.commits[NAME].offsets.tolist()
    assert (Generation(EPOCH, 3),) == found.generations
    assert found.last(NAME, None) is None
    assert 10 == found.last(NAME, EPOCH + 2 * SECOND)


def test_commits_of_transactions_stand_where_the_log_has_them(tmp_path):
    """An import keeps them in a file of their own."""
    plain = rows(("billing", 0, 10, 1), ("billing", 0, 30, 3))
    between = rows(("billing", 0, 20, 2), transaction="committed")
    for name, table, places in (("a", plain, [7, 9]), ("b", between, [8])):
        pq.write_table(table.append_column("log_offset", [places]), tmp_path / f"{name}.parquet")
    commits = read_committed([tmp_path], None).commits[NAME]

    assert [10, 20, 30] == commits.offsets.tolist()
    assert [1, 2, 3] == [(at_us - EPOCH) // SECOND for at_us in commits.at_us.tolist()]


def test_generations_may_stand_in_another_place_than_commits(tmp_path):
    """It is known whose are wanted when all commits are read."""
    table = pa.table(
        {
            "group": ["billing"],
            "kind": ["GroupMetadata"],
            "epoch": pa.array([3], pa.int32()),
            "timestamp": [EPOCH // 1000],
        }
    )
    for name in ("groups", "commits"):
        (tmp_path / "old" / name).mkdir(parents=True)
    pq.write_table(table, tmp_path / "old" / "groups" / "a.parquet")
    pq.write_table(rows(("billing", 0, 10, 1)), tmp_path / "new.parquet")

    found = read_committed([tmp_path / "old", tmp_path / "new.parquet"], None)

    assert (Generation(EPOCH, 3),) == found.generations


def test_a_group_must_be_chosen_where_there_are_several(tmp_path):
    """It must exist; the closest one is named."""
    pq.write_table(rows(("billing", 0, 10, 1), ("other", 0, 99, 2)), tmp_path / "c.parquet")

    with pytest.raises(AuditError, match='there are 2 groups, "billing", "other"; choose one'):
        read_committed([tmp_path], None)
    with pytest.raises(AuditError, match='no commits of this group; did you mean "billing"'):
        read_committed([tmp_path], "biling")


def test_segments_of_a_real_broker_are_read():
    """Commits, and the epochs of assignments of a consumer group."""
    segment = SEGMENTS / "__consumer_offsets-4.00000000000000000000.log.gz"
    found = read_committed([segment], "kip848-crash-1-cad7p")

    assert 6 == len(found.commits)
    assert found.generations
    assert all(
        one.at_us <= other.at_us
        for one, other in zip(found.generations, found.generations[1:], strict=False)
    )


def test_a_file_without_commits_is_refused(tmp_path):
    """Another table, a file that is no log, an empty file."""
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.log").write_text("no log at all")

    with pytest.raises(AuditError, match="there is no column 'group'"):
        read_committed([tmp_path / "a.parquet"], None)
    with pytest.raises(AuditError, match=r"b\.log"):
        read_committed([tmp_path / "b.log"], None)
    with pytest.raises(AuditError, match="no such file or folder"):
        read_committed([tmp_path / "c"], None)


def test_limits_have_the_committed_offsets():
    """They hold for a partition with or without work on it."""
    assert Limits(committed=5) == Limits(None, None, 5)
