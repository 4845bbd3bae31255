"""The page of events: the columns of the file, queries, and every kind of event from its class."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import get_args

from emulator.events import ControlEvent, DataEvent, PartlyProcessed, cluster, consumers, run
from emulator.events.parquet import COLUMNS
from protocols import facts
from protocols.values import recorded_fields

_OPENING = """\
# Events of a run

`rebalance run SCENARIO --events events.parquet` writes every event of a run: what each consumer
processed and committed, every step of the group and the brokers, every fault. It is the same stream from
which the ledger and the metrics are computed. This page is printed from `emulator/events/` by
`python -m docs.pages`.

## Columns
"""

_COLUMNS = {
    "row": "counts all events from 0, in the order of writing",
    "id": "counts the control events from 0; null: a data event, which shows ordinary work",
    "at_us": "microseconds since the run began",
    "clock": "the same as a time of day; only if the scenario has a `start`",
    "cause": "the `id` of the control event that made this one happen, if one did",
    "kind": "the name of the event, see [below](#kinds)",
    "consumer": "the process that the event concerns, if it concerns one",
    "group": "the consumer group",
    "generation": "of that group: a generation (classic) or a member epoch (KIP-848)",
    "topic": "the topic; with `partition`, one partition",
    "partition": "the number of the partition",
    "first": "first offset of a range: processed, skipped, discarded or truncated records",
    "next": "the offset after the last one of the range",
    "rest": "all other fields of the event, as a JSON object; partitions are `[topic, number]`",
}

_QUERIES = """\
The file's metadata have `schema_version`, `kafka`, `scenario`, `scenario_hash`, `seed` and the settings in
force. Consecutive processing of a partition is one `Processed` row where nothing disturbed it; what workers of a
pool finish before earlier records is a `ProcessedOutOfOrder` row.

Events of a group have `replaced_broker` only if a coordinator reports them in whose place the controller has
elected another one, and which has not learned that: it is the broker of that coordinator, whose members and
generations are not those of the group. Queries about the state of a group leave these events out.

## Queries

[DuckDB](https://duckdb.org), the number of records that each consumer processed:

```sql
SELECT consumer, sum(next - first) AS processed
FROM 'events.parquet' WHERE kind IN ('Processed', 'ProcessedOutOfOrder')
GROUP BY consumer ORDER BY consumer
```

How long each rebalance of the classic protocol lasted, until the group was stable:

```sql
SELECT began.at_us / 1e6 AS began_s, (min(stable.at_us) - began.at_us) / 1e6 AS lasted_s
FROM 'events.parquet' began JOIN 'events.parquet' stable
  ON stable.kind = 'GroupStabilised' AND stable."group" = began."group" AND stable.row > began.row
WHERE began.kind = 'RebalanceStarted'
GROUP BY began.row, began.at_us ORDER BY began.at_us
```

The chain of events from one event back to its root, here from the last end of an ownership or membership:

```sql
WITH RECURSIVE chain AS (
  SELECT id, cause, at_us, kind FROM 'events.parquet'
  WHERE id = (SELECT max(id) FROM 'events.parquet' WHERE kind IN ('MemberRemoved', 'EpochClosed'))
  UNION ALL
  SELECT e.id, e.cause, e.at_us, e.kind FROM 'events.parquet' e JOIN chain ON e.id = chain.cause
)
SELECT at_us / 1e6 AS at_s, kind FROM chain ORDER BY id
```

A field of `rest`, here the lag of each sample:

```sql
SELECT at_us / 1e6 AS at_s,
       list_sum((rest -> 'log_ends')::BIGINT[]) - list_sum((rest -> 'processed')::BIGINT[]) AS lag
FROM 'events.parquet' WHERE kind = 'LagSampled' ORDER BY at_us
```

[Polars](https://pola.rs), the longest processing of each partition:

```python
import polars as pl

events = pl.scan_parquet("events.parquet").filter(pl.col("kind").cast(pl.String) == "Processed")
began_us = pl.col("rest").str.json_path_match("$.began_us").cast(pl.Int64)
longest = (
    events.with_columns(worked_s=(pl.col("at_us") - began_us) / 1e6)
    .group_by("topic", "partition")
    .agg(pl.col("worked_s").max())
    .sort("topic", "partition")
    .collect()
)
print(longest)
```

## In Python

`emulator.read_events` returns the events as values, equal to those of the run:

```python
import emulator

events = emulator.read_events("events.parquet")
print([event.at_us for event in events if type(event.what).__name__ == "RebalanceStarted"])
```

`rebalance audit events.parquet` computes the ledger of the run from its events again: the same counts, entries and
causes, also as CSV, JSON lines, a table of Spark or several files. It needs all events of one run and all their columns,
in the order of `row`. If several groups process a topic, `--group` chooses one. `--t-end` leaves later events out.

## Traces

`rebalance run SCENARIO --perfetto trace.json` writes a trace that [ui.perfetto.dev](https://ui.perfetto.dev)
opens: tracks of faults, of each group's phases, of each member (polls and work, listener calls, requests,
fetches), of the owners of each partition, and of the requests and fetches at each broker; counters of lag; arrows from a request to its
handling and its response, and from the first processing of a record to its duplicate.

The file has the Trace Event format in JSON. Tests check it against the rules of that format, and a test opens one in
Perfetto's user interface (version 52): it reports no error, and has every slice, arrow and value of a counter.

`--sequence crash.mmd` writes the messages and steps around the largest ledger entry as a sequence diagram in the
language of [Mermaid](https://mermaid.js.org), which code hosts show; `--window 60s..75s` selects another part of
the run. Successful heartbeats, metadata requests and fetches are left out, and at most 300 steps are shown.

Both play the run a second time with every poll, record and message as an event of its own, which takes
longer. The result is the same.

## Kinds

Fields that have a column of their own are not repeated in `rest`.
"""

_MODULES: tuple[tuple[str, ModuleType], ...] = (
    ("The run, topics and faults", run),
    ("Brokers and the offsets log", cluster),
    ("Consumers", consumers),
    ("Groups and commits", facts),
)


def events_page() -> str:
    """Return the page as text."""
    return "\n".join([_OPENING, *_columns(), "", _QUERIES, *_kinds()])


def _columns() -> list[str]:
    types = {name: str(kind) for name, kind in COLUMNS}
    types["kind"] = "string (dictionary)"
    rows = [f"| `{name}` | {types[name]} | {_COLUMNS[name]} |" for name in types]
    return ["| column | type | content |", "|---|---|---|", *rows]


def _kinds() -> list[str]:
    """Return a table for each module of event classes, in order of definition."""
    kinds = (*get_args(ControlEvent), *get_args(DataEvent))
    control = get_args(ControlEvent)
    lines = []
    for title, module in _MODULES:
        mine = [each for each in dict.fromkeys(kinds) if each.__module__ == module.__name__]
        lines += [f"### {title}", "", "| kind | meaning | fields |", "|---|---|---|"]
        lines += [_row(kind, is_data=kind not in control) for kind in mine]
        lines.append("")
    return lines


def _row(kind: type, *, is_data: bool) -> str:
    first = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
    first = first.replace(":class:", "").replace("|", "\\|")
    names = [_column_of(kind, name) for name in recorded_fields(kind)]
    mark = " (data event)" if is_data else ""
    return f"| `{kind.__name__}`{mark} | {first} | {', '.join(names)} |"


def _column_of(kind: type, name: str) -> str:
    """Return a field as the file has it."""
    if kind is PartlyProcessed and name == "offset":
        return "`first`"
    return "`next`" if name == "next_offset" else f"`{name}`"
