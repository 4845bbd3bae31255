"""The page of scenario files: every table and key, from the schema that validates them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emulator.scenario.model import Crash, Timed
from emulator.scenario.part import Document
from emulator.scenario.schema import file_schema
from emulator.scenario.short_forms import COMMITS, STEPS, TARGETS
from emulator.world.triggers import STEPS_OF

_OPENING = """\
# Scenario files

Printed from `emulator/scenario/` by `python -m docs.pages`; change the model, not this page.
`rebalance schema` prints the same as JSON Schema, for editors; `rebalance scenarios` lists the
scenarios of the catalogue, and `rebalance scenarios copy NAME` copies one for you to change.

The smallest useful one:

```toml
title = "one of three crashes"
run_for = "3min"
topic = [{ name = "orders", partitions = 6, rate = "20/s" }]

[[group]]
id = "billing"
topics = ["orders"]
members = 3
work = "4ms"
settings = { "auto.offset.reset" = "earliest" }

[[fault]]
crash = "billing-1"
between = ["70s", "80s"]
```

- Times have a unit: `250us`, `40ms`, `5s`, `3min`, `2h`, `1d`; rates are `20/s`, `3/min`; sizes are
  `512B`, `1KiB`, `5MB`. A plain number is refused.
- Kafka's settings have their own names in `settings` of a group or a member (consumers) and
  in `[cluster.settings]` (brokers), with Kafka's own values: `"session.timeout.ms" = 10000`, or
  with a unit, `"10s"`. A setting that is left out has Kafka's default.
- With a number, `members` are named `<id>-0`, `<id>-1`, …; `[[group.member]]` tables have a name
  and the keys that differ from the group.
- Service times and latencies are a time, or a table of one distribution (below).
- Faults and acts: `[[fault]]` or `[[act]]`, which mean the same, with a verb as key and exactly
  one of `at`, `between` (at random in the window, by the seed) and `when` (at a step or an event),
  plus `delay`.
- `settings_from = "consumer.properties"` in a group takes the settings of a real client: properties of
  the Java client or librdkafka, JSON, or Spring Boot's `application.yml` or properties (the default
  profile). Spring's AckMode becomes the group's `commit`, `timeout-per-shutdown-phase` the `grace` and
  `immediate-stop` the `mid_batch` of its deploys. Keys of the scenario override the file; addresses,
  security and deserializers are noted and ignored.
- A deploy that changes settings is a `rolling_restart` (or the `start` of one member) with
  `settings`, and `unset` for those to remove: with `settings = { "group.protocol" = "consumer" }` it
  is a migration.
- `[expect]` bounds metrics: `lost = 0`, `reprocessed = "<= 200"`; `rebalance run` exits with
  status 1 if a bound is violated.
- `[[variant]]` tables, each with a `name` and changes as for `--set`, are the rows of
  `rebalance compare FILE`.
- `rebalance run FILE --set 'group[billing].settings[session.timeout.ms]=10s'` changes one value
  for one run; `--set 'act+={ crash = "billing-0", at = "1min" }'` adds an act, and likewise a `topic` or `group`;
  `--set 'act=[{ … }]'` replaces all acts and faults.
"""

_AIMS = """\
### When

`when = "billing-1 sent SyncGroup"` waits until a member reaches a step, `when = "crash-1 ends"` until
another fault, given by its id, begins or ends. The default id is the verb and a number. As a table,
`when` also has the keys of Step and After.

Steps: {steps}.

Only members of the classic protocol reach {classic}; only those of the consumer protocol {consumer}.
The report lists each fault that did not fire, with the reason.
"""

_COMMITS = """\
Short forms: {commits}. All other policies are a table, such as
`commit = {{ call = "sync", when = "every", records = 100 }}`.
"""

CHANGING = ("Steps", "RateAt", "Ramp", "RampShape", "Curve", "CurveShape")
"""Rates that change."""

TABLES = (
    "Topic",
    "Poisson",
    "Bursts",
    "BurstShape",
    *CHANGING,
    "Group",
    "Member",
    "CommitPolicy",
    "Poison",
)
CLUSTER = ("Cluster", "Network", "Link", "Variant")
AIMS = ("Step", "After", "MessageMatch")
SETTINGS = ("Bounds", "BrokerSettings", "ConsumerSettings", "TopicSettings")
"""Tables whose keys are Kafka's, or the metrics'."""

NAMED = {*TABLES, *CLUSTER, *AIMS, *SETTINGS}
TIMING = Timed.model_fields.keys()
"""What every fault and act may carry."""


def scenario_files_page() -> str:
    """Return the page as text."""
    schema = file_schema()
    tables: Document = schema["$defs"]
    faults = _faults(tables)
    distributions = [
        name for name, table in tables.items() if name not in NAMED and table not in faults.values()
    ]
    parts = [_OPENING, "## The file\n", _keys(schema)]
    parts += [_section(name, tables[name]) for name in (*TABLES, *CLUSTER)]
    parts += ["## Faults and acts\n", _shared(tables), _aims()]
    parts += [_section(name, tables[name], "###") for name in AIMS]
    parts += [_verb(verb, table) for verb, table in sorted(faults.items())]
    parts += ["## Distributions of times\n"]
    parts += [_section(name, tables[name], "###") for name in distributions]
    return "\n".join(parts)


def _section(name: str, table: Document, level: str = "##") -> str:
    more = f"{_commits()}\n" if name == "CommitPolicy" else ""
    return f"{level} {name}\n\n{table['description']}\n\n{more}{_keys(table)}"


def _commits() -> str:
    return _COMMITS.format(commits=", ".join(f"`{commit}`" for commit in COMMITS))


def _aims() -> str:
    return _AIMS.format(steps=_listed(STEPS), **{of: _listed(own) for of, own in STEPS_OF.items()})


def _listed(steps: Iterable[str]) -> str:
    return ", ".join(f"`{step}`" for step in steps)


def _faults(tables: Document) -> dict[str, Document]:
    """Return the tables of faults and acts by their verb."""
    verbs = {}
    for name, table in tables.items():
        keys = table.get("properties", {}).keys()
        if name not in TABLES and {"at", "between"} <= keys:
            (verb,) = keys & TARGETS.keys()
            verbs[verb] = table
    return verbs


def _shared(tables: Document) -> str:
    """Return the keys that every fault and act may have, as text."""
    keys = {key: tables[Crash.__name__]["properties"][key] for key in TIMING}
    return f"Each has these keys besides its own:\n\n{_keys({'properties': keys})}"


def _verb(verb: str, table: Document) -> str:
    own = {key: value for key, value in table["properties"].items() if key not in TIMING}
    return f"### {verb}\n\n{table['description']}\n\n{_keys({**table, 'properties': own})}"


def _keys(table: Document) -> str:
    """Return the rows of one table of a file."""
    needed = table.get("required", ())
    rows = ["| key | value | left out | meaning |", "|---|---|---|---|"]
    for key, value in table["properties"].items():
        default = "needed" if key in needed else _shown(value.get("default"))
        rows.append(f"| `{key}` | {_value(value)} | {default} | {_meaning(value)} |")
    return "\n".join(rows) + "\n"


def _shown(default: Any) -> str:
    if default is None or default in ("", [], {}):
        return ""
    if isinstance(default, bool):
        return "`true`" if default else "`false`"
    if isinstance(default, dict):
        return f"`{', '.join(f'{key} = {value}' for key, value in default.items())}`"
    return f"`{default}`"


def _meaning(value: Document) -> str:
    text: str = value.get("description", "")
    return "" if text.endswith("with its unit.") else text.replace("\n", " ").replace("|", "\\|")


def _value(value: Document) -> str:
    """Return a short description of a key's values."""
    for kind in ("anyOf", "oneOf"):
        if kind in value:
            shown = dict.fromkeys(_value(one) for one in value[kind])
            return "a fault or act" if len(shown) > 8 else ", or ".join(shown)
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if name not in SETTINGS else _SPOKEN[name]
    if "enum" in value or "const" in value:
        words = value.get("enum", [value.get("const")])
        return ", ".join(dict.fromkeys(f"`{word}`" for word in words))
    if value.get("type") == "array":
        inner = value.get("items") or (value.get("prefixItems") or [{}])[0]
        return f"list of {_value(inner)}"
    if value.get("examples"):
        return f"like `{value['examples'][0]}`"
    return _TYPES.get(value.get("type", ""), "anything")


_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true`, `false`",
    "object": "table",
}

_SPOKEN = {
    "Bounds": "bounds by metric",
    "BrokerSettings": "Kafka's broker settings",
    "ConsumerSettings": "Kafka's consumer settings",
    "TopicSettings": "Kafka's topic settings",
}
