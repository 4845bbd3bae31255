"""The page of scenario files: every table and key, from the schema that validates them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import fill
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

The tables: [the file](#the-file), [Topic](#topic), [Group](#group), [Member](#member),
[CommitPolicy](#commitpolicy), [Poison](#poison), [Cluster](#cluster), [Network](#network), [Link](#link),
[Variant](#variant), [patterns of arrivals](#patterns-of-arrivals), [distributions of
times](#distributions-of-times), and [tables that others name](#further-tables).

[Faults and acts](#faults-and-acts):
{verbs}.

A small one:

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

- Times have a unit: `250us`, `40ms`, `5s`, `3min`, `2h`, `1h30min`, `1d`; rates are `20/s`, `3/min`; sizes are
  `512B`, `1KiB`, `5MB`. A plain number is refused.
- Kafka's settings have their own names in `settings` of a group or a member (consumers) and
  in `[cluster.settings]` (brokers), with Kafka's own values: `"session.timeout.ms" = 10000`, or
  with a unit, `"10s"`. A setting that is left out has Kafka's default.
- With a number, `members` are named `<id>-0`, `<id>-1`, …; `[[group.member]]` tables have a name
  and the keys that differ from the group.
- Service times and latencies are a time, or a table of one [distribution](#distributions-of-times);
  rates of topics are a number of records in a time, or a table of one [pattern](#patterns-of-arrivals).
- Faults and acts: `[[fault]]` or `[[act]]`, which mean the same, with a verb as key and exactly
  one of `at`, `between` (at random in the window, by the seed) and `when` (at a step or an event),
  plus `delay`.
- `settings_from = "consumer.properties"` in a group takes the settings of a real client: properties or
  JSON by the names of the group's `client`, or Spring Boot's `application.yml` or properties (the default
  profile). librdkafka's `enable.auto.offset.store=false` becomes `commit = "store"`; Spring's AckMode becomes the
  group's `framework` (TIME and COUNT: its `commit`, too), `timeout-per-shutdown-phase` the `grace` and
  `immediate-stop` the `mid_batch` of its deploys. Keys of the scenario override the file; addresses, security and
  deserializers are noted and ignored.
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
`when` has the keys of [Step](#step) or of [After](#after).

Steps: {steps}.

Only members of the classic protocol reach {classic}; only those of the consumer protocol {consumer}.
The report lists each fault that did not fire, with the reason.
"""

_COMMITS = """\
Short forms: {commits}. All other policies are a table, such as
`commit = {{ call = "sync", when = "every", records = 100 }}`.
"""

ARRIVALS = {
    "Poisson": '{ poisson = "20/s" }',
    "Bursts": '{ bursts = { rate = "200/s", for = "5s", every = "1min" } }',
    "Steps": '{ steps = [{ at = "0s", rate = "20/s" }, { at = "5min", rate = "50/s" }] }',
    "Ramp": '{ ramp = { from = "20/s", to = "50/s", at = "5min", for = "1min" } }',
    "Curve": '{ curve = { points = [{ at = "6h", rate = "5/s" }, { at = "18h", rate = "50/s" }], every = "24h" } }',
}
"""The patterns of a topic's rate, each with an example."""

TIMES = {
    "Constant": '{ constant = "4ms" }',
    "Uniform": '{ uniform = ["2ms", "8ms"] }',
    "Exponential": '{ exponential = "4ms" }',
    "Lognormal": '{ lognormal = { median = "4ms", p99 = "40ms" } }',
    "Pareto": '{ pareto = { minimum = "2ms", alpha = 1.5, maximum = "10s" } }',
    "Trace": '{ trace = ["4ms", "5ms", "90ms"] }',
}
"""The distributions of times, each with an example."""

SHAPES = {
    "Bursts": ("BurstShape",),
    "Steps": ("RateAt",),
    "Ramp": ("RampShape",),
    "Curve": ("CurveShape",),
    "Lognormal": ("LognormalShape",),
    "Pareto": ("ParetoShape",),
}
"""The tables inside those of patterns and distributions, each behind the first one that has it."""

TABLES = ("Topic", "Group", "Member", "CommitPolicy", "Poison")
CLUSTER = ("Cluster", "Network", "Link", "Variant")
AIMS = ("Step", "After", "MessageMatch")
SETTINGS = ("Bounds", "BrokerSettings", "ConsumerSettings", "TopicSettings")
"""Tables whose keys are Kafka's, or the metrics'."""

SHOWN_BY_EXAMPLE = {*ARRIVALS, *TIMES, *(shape for shapes in SHAPES.values() for shape in shapes)}
NAMED = {*TABLES, *CLUSTER, *AIMS, *SETTINGS, *SHOWN_BY_EXAMPLE}
TIMING = Timed.model_fields.keys()
"""What every fault and act may carry."""


def scenario_files_page() -> str:
    """Return the page as text."""
    schema = file_schema()
    tables: Document = schema["$defs"]
    faults = _faults(tables)
    further = [
        name for name, table in tables.items() if name not in NAMED and table not in faults.values()
    ]
    verbs = fill(", ".join(map(_link, sorted(faults))), 110, break_on_hyphens=False)
    parts = [_OPENING.replace("{verbs}", verbs), "## The file\n", _keys(schema, tables)]
    parts += [_section(name, tables) for name in (*TABLES, *CLUSTER)]
    parts += ["## Faults and acts\n", _shared(tables), _aims()]
    parts += [_section(name, tables, "###") for name in AIMS]
    parts += [_verb(verb, table, tables) for verb, table in sorted(faults.items())]
    parts += ["## Patterns of arrivals\n", "Values of the `rate` of a topic.\n"]
    parts += _by_example(ARRIVALS, "rate", tables)
    parts += ["## Distributions of times\n", "Values of service times, latencies and delays.\n"]
    parts += _by_example(TIMES, "work", tables)
    parts += ["## Further tables\n"]
    parts += [_section(name, tables, "###") for name in further]
    return "\n".join(parts)


def _section(name: str, tables: Document, level: str = "##") -> str:
    table = tables[name]
    more = f"{_commits()}\n" if name == "CommitPolicy" else ""
    return f"{level} {name}\n\n{table['description']}\n\n{more}{_keys(table, tables)}"


def _by_example(examples: Mapping[str, str], key: str, tables: Document) -> Iterator[str]:
    """Yield the sections of patterns or distributions, each with an example of a *key*."""
    for name, example in examples.items():
        yield f"### {name}\n\n{tables[name]['description']}\n\n```toml\n{key} = {example}\n```\n"
        yield _keys(tables[name], tables)
        yield from (_section(shape, tables, "####") for shape in SHAPES.get(name, ()))


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
        if name not in SHOWN_BY_EXAMPLE and {"at", "between"} <= keys:
            (verb,) = keys & TARGETS.keys()
            verbs[verb] = table
    return verbs


def _shared(tables: Document) -> str:
    """Return the keys that every fault and act may have, as text."""
    keys = {key: tables[Crash.__name__]["properties"][key] for key in TIMING}
    return f"Each has these keys besides its own:\n\n{_keys({'properties': keys}, tables)}"


def _verb(verb: str, table: Document, tables: Document) -> str:
    own = {key: value for key, value in table["properties"].items() if key not in TIMING}
    return f"### {verb}\n\n{table['description']}\n\n{_keys({**table, 'properties': own}, tables)}"


def _keys(table: Document, tables: Document) -> str:
    """Return the rows of one table of a file."""
    needed = table.get("required", ())
    rows = ["| key | value | left out | meaning |", "|---|---|---|---|"]
    for key, value in table["properties"].items():
        default = "needed" if key in needed else _shown(value.get("default"))
        meaning = _meaning(value) or _meaning_elsewhere(key, table, tables)
        rows.append(f"| `{key}` | {_value(value)} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


def _meaning_elsewhere(key: str, table: Document, tables: Document) -> str:
    """Return what the key's own table says, or the table of this one key; else the group has the key."""
    value = table["properties"][key]
    of = (value.get("items") or value).get("$ref", "").rpartition("/")[2]
    if of in tables:
        return _first_sentence(tables[of])
    if len(table["properties"]) == 1:
        return _first_sentence(table)
    return "As in the group." if table is tables["Member"] else ""


def _first_sentence(table: Document) -> str:
    return " ".join(table["description"].split()).partition(". ")[0].removesuffix(".") + "."


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
    if text.endswith("with its unit."):
        return ""
    return _PAGE.sub(_page_link, text.replace("\n", " ").replace("|", "\\|"))


_PAGE = re.compile(r"docs/([\w-]+)/([\w-]+)\.md")
"""Another page, as the schema names it for editors."""


def _page_link(page: re.Match[str]) -> str:
    folder, name = page.groups()
    return f"[{name}](../{folder}/{name}.md)"


def _value(value: Document) -> str:
    """Return a short description of a key's values."""
    for kind in ("anyOf", "oneOf"):
        if kind in value:
            shown = list(dict.fromkeys(_value(one) for one in value[kind]))
            if len(shown) > _MAX_KINDS:
                return "[faults and acts](#faults-and-acts)"
            return ", or ".join(dict.fromkeys(", or ".join(_as_one(shown)).split(", or ")))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return _link(name) if name not in SETTINGS else _SPOKEN[name]
    if "enum" in value or "const" in value:
        words = value.get("enum", [value.get("const")])
        return ", ".join(dict.fromkeys(f"`{word}`" for word in words))
    if value.get("type") == "array":
        inner = value.get("items") or (value.get("prefixItems") or [{}])[0]
        return f"list of {_value(inner).replace('like ', 'values like ').replace(', or ', ' or ')}"
    if value.get("examples"):
        return f"like {', '.join(f'`{example}`' for example in _telling(value['examples']))}"
    return _TYPES.get(value.get("type", ""), "anything")


def _telling(examples: list[str]) -> list[str]:
    """Return the examples; of quantities only the first one."""
    return examples[:1] if all(example[0].isdigit() for example in examples) else examples


_MAX_KINDS = 8
"""Only a fault or act is one of more tables than this."""


def _as_one(shown: list[str]) -> Iterator[str]:
    """Yield kinds of values; all distributions, or all patterns of arrivals, as one."""
    for names, link in (
        (TIMES, "a [distribution](#distributions-of-times)"),
        (ARRIVALS, "a [pattern](#patterns-of-arrivals)"),
    ):
        if {_link(name) for name in names} <= set(shown):
            shown = [*(one for one in shown if one not in map(_link, names)), link]
    yield from shown


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


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
