"""Whatever a log says, something is found or nothing, and never an error."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.logs.errors import NoScenarioError
from emulator.logs.imports.exploring import explore
from emulator.logs.imports.findings_tables import ROWS, SCHEMAS
from emulator.logs.imports.page import pictures_of
from emulator.logs.imports.scenario_file import scenario_text
from emulator.logs.imports.scenario_sketch import sketch
from emulator.logs.imports.screen import Shortlist, findings_screen, member_table
from emulator.logs.imports.tables import COMMITS, GROUPS
from emulator.scenario.load import loads

WORDS = st.sampled_from(["", "a", "b", "orders", 'x"[1]\n', "consumer"])
TEXTS = st.none() | WORDS
SMALL = st.integers(-1, 5)
TIMES = st.integers(-(2**60), 2**60) | st.integers(0, 10**6)
PARTS = st.lists(
    st.fixed_dictionaries({"topic": WORDS, "partitions": st.none() | st.lists(SMALL, max_size=3)}),
    max_size=2,
)
MEMBERS = st.lists(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("member_id", "client_id", "client_host", "instance_id"), TEXTS),
            "session_timeout_ms": st.none() | st.integers(-1, 10**7),
            "rebalance_timeout_ms": st.none() | st.integers(-1, 10**7),
            "topics": st.none() | st.lists(WORDS, max_size=2),
            "assignment": st.none() | PARTS,
        }
    ),
    max_size=3,
)
ABOUT_GROUPS = st.lists(
    st.fixed_dictionaries(
        {
            "timestamp": TIMES,
            "group": WORDS,
            "record_type": st.sampled_from([2, 3, 5, 8, 7, 10, 11, 14, 16, 17, 19, 22]),
            "is_tombstone": st.booleans(),
            "epoch": SMALL,
            "member_id": WORDS,
            "members": st.none() | MEMBERS,
            "protocol": TEXTS,
        }
    ),
    max_size=12,
)
ABOUT_COMMITS = st.lists(
    st.fixed_dictionaries(
        {
            "timestamp": TIMES,
            "group": WORDS,
            "topic": WORDS,
            "partition": SMALL,
            "offset": st.integers(0, 2**40),
            "is_tombstone": st.booleans(),
            "topic_id": TEXTS,
            "transaction": st.sampled_from([None, "committed", "aborted", "pending"]),
        }
    ),
    max_size=30,
)


def table(rows, schema) -> pa.Table:
    placed = [row | {"log_partition": 3, "log_offset": at} for at, row in enumerate(rows)]
    return pa.Table.from_pylist(placed, schema)


@settings(max_examples=25)
@given(ABOUT_COMMITS, ABOUT_GROUPS)
def test_any_rows_come_to_findings(commits, groups):
    """Which have rows, lines and pictures; and a scenario that is read, or a reason for none."""
    about = table(groups, GROUPS)
    shortlist = Shortlist()
    for found in explore(table(commits, COMMITS), about):
        shortlist.add(found)
        tables = [pa.Table.from_pylist(list(ROWS[name](found)), SCHEMAS[name]) for name in SCHEMAS]
        rows = [row for row in about.to_pylist() if row["group"] == found.group]

        assert 1 == len(tables[0])
        assert all(each.series for each in pictures_of(found))
        assert len(member_table(found)[0]) != 1
        with suppress(NoScenarioError):
            assert loads(scenario_text(sketch(found, rows))).group
    assert list(findings_screen(shortlist))
