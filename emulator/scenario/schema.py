"""The JSON Schema of scenario files, for editors, with all short forms.

Pydantic generates the schema of the model; this module changes it to that of the file: verbs as
keys, short forms beside tables, Kafka's settings by name, defaults with their units.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from typing import Any, get_args

from pydantic import BeforeValidator

from emulator.scenario import short_forms
from emulator.scenario.kafka_settings import (
    ASSIGNORS,
    BROKER,
    CONSUMERS,
    SERVER_ASSIGNORS,
    TOPIC,
)
from emulator.scenario.model import Bound, Group, Member, Scenario, Timed
from emulator.scenario.part import Document, Part
from emulator.scenario.tables.distributions import SIZE_PATTERN
from emulator.scenario.units import TIME_PATTERN
from emulator.versions import KAFKA, SCHEMA_VERSION
from protocols.consumer.clients import CLIENTS, profile_of
from protocols.settings import (
    BrokerSettings,
    ClientSettings,
    ConsumerSettings,
    Kind,
    OldConsumerSettings,
    Setting,
    TopicSettings,
    defaults_of,
)

_TIME = {"type": "string", "pattern": TIME_PATTERN, "examples": ["10ms"]}

_SHORT_FORMS: dict[Callable[..., object], Document] = {
    short_forms.distribution: {**_TIME, "description": "Always this time."},
    short_forms.commit: {"enum": list(short_forms.COMMITS)},
    short_forms.handler: {
        "type": "string",
        "pattern": r"^(serial|batch|[^:]+:[^:]+)$",
        "examples": ["serial", "batch", "my_handlers:Batches"],
    },
    short_forms.when: {
        "type": "string",
        "pattern": f" ({'|'.join((*short_forms.STEPS, 'begins', 'ends'))})$",
        "examples": ["billing-1 sent SyncGroup", "crash-1 ends"],
    },
    short_forms.trace: {
        "type": "string",
        "description": "A text file with one time a line, beside the scenario.",
    },
}
"""The short forms of tables in a file, by the function that expands them."""

_TARGETS = {
    "member": "The name of a member.",
    "group": "The id of a group.",
    "topic": "The name of a topic.",
    "rack": "One of the `racks` of the cluster.",
    "store": "Which store.",
    "message": "Which message.",
}
"""What the key of a fault or act names, by its field."""

_BOUND: Document = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^\s*(<=|>=|==|<|>)?\s*-?\d", "examples": ["<= 200"]},
        {"$ref": "#/$defs/Bounds"},
    ]
}


def file_schema() -> Document:
    """Return the JSON Schema (draft 2020-12) of scenario files."""
    schema: Document = json.loads(json.dumps(Scenario.model_json_schema(by_alias=True)))
    definitions: Document = schema.pop("$defs")
    definitions.pop(Bound.__name__)
    for table in _all_tables(Part):
        entry = schema if table is Scenario else definitions.get(table.__name__)
        if entry is not None:
            _refine(entry, table)
    _spell_groups(definitions[Group.__name__])
    _spell_faults(definitions)
    _spell_scenario(schema)
    definitions["ConsumerSettings"] = _settings(
        CONSUMERS,
        defaults_of(ConsumerSettings)
        | defaults_of(ClientSettings)
        | defaults_of(OldConsumerSettings),
    )
    _name_as_clients_do(definitions["ConsumerSettings"]["properties"])
    definitions["BrokerSettings"] = _settings(BROKER, defaults_of(BrokerSettings))
    definitions["TopicSettings"] = _settings(TOPIC, defaults_of(TopicSettings))
    definitions["Bounds"] = {"type": "object", "additionalProperties": _BOUND}
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario of the rebalance emulator",
        "$comment": f"schema version {SCHEMA_VERSION}, Kafka {KAFKA}",
    }
    return {**schema, **head, "$defs": dict(sorted(definitions.items()))}


def _all_tables(table: type[Part]) -> Iterator[type[Part]]:
    for below in table.__subclasses__():
        yield below
        yield from _all_tables(below)


# -- one table -------------------------------------------------------------------------------


def _refine(entry: Document, table: type[Part]) -> None:
    """Add descriptions, short forms and defaults to a table's keys."""
    entry.pop("title", None)
    entry["description"] = _one_line(table.__doc__ or "")
    notes, defaults = _notes(table), _defaults(table)
    for name, field in table.model_fields.items():
        key = field.alias or name
        shape = _with_short_form(_without_null(entry["properties"][key]), field)
        entry["properties"][key] = shape
        if name in notes:
            shape["description"] = notes[name]
        if key in defaults:
            shape["default"] = defaults[key]


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _notes(table: type[Part]) -> dict[str, str]:
    """Return the docstring below each field in the source.

    Pydantic's ``use_attribute_docstrings`` returns the same texts, but parses the source whenever
    the classes are imported: their import then takes a third longer, at every start.
    """
    found: dict[str, str] = {}
    for kind in reversed(table.__mro__):
        if isinstance(kind, type) and issubclass(kind, Part):
            found |= field_notes(kind)
    return found


def field_notes(table: type) -> dict[str, str]:
    """Return the docstring below each field of one class in the source, in one line."""
    body = _classes(table.__module__)[table.__name__].body
    return {
        field.target.id: _one_line(note.value.value)
        for field, note in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(note, ast.Expr)
        and isinstance(note.value, ast.Constant)
        and isinstance(note.value.value, str)
    }


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Return the classes of a module as its source has them, parsed once for all of them."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _defaults(table: type[Part]) -> Document:
    """Return the relevant defaults, as a file would spell them."""
    empty = table.model_construct()
    shown = empty.model_dump(mode="json", by_alias=True, warnings=False)
    plain = {
        key: value.get("constant") if isinstance(value, dict) else value
        for key, value in shown.items()
    }
    return {key: value for key, value in plain.items() if value not in (None, "", [])}


def _without_null(shape: Document) -> Document:
    shape.pop("title", None)
    shape.pop("default", None)
    kinds = [kind for kind in shape.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return shape
    rest = {key: value for key, value in shape.items() if key != "anyOf"}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _with_short_form(shape: Document, field: Any) -> Document:
    for reader in _readers((field.annotation, *field.metadata)):
        if isinstance(reader, partial):
            known = reader.args[0]
            name = "Broker" if known is BROKER else "Topic" if known is TOPIC else "Consumer"
            return {"$ref": f"#/$defs/{name}Settings"}
        if reader in _SHORT_FORMS and "additionalProperties" in shape:
            values = {"anyOf": [_SHORT_FORMS[reader], shape["additionalProperties"]]}
            return {**shape, "additionalProperties": values}
        if reader in _SHORT_FORMS:
            return {"anyOf": [_SHORT_FORMS[reader], shape]}
    return shape


def _readers(annotations: tuple[Any, ...]) -> Iterator[Any]:
    for annotation in annotations:
        if isinstance(annotation, BeforeValidator):
            yield annotation.func
        elif not isinstance(annotation, type) or not issubclass(annotation, Part):
            yield from _readers(get_args(annotation))


# -- members, faults, expectations -----------------------------------------------------------


def _spell_groups(entry: Document) -> None:
    member = {"$ref": f"#/$defs/{Member.__name__}"}
    entry["properties"]["members"] = {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": short_forms.MAX_MEMBERS},
            {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "string"}, member]}},
        ],
        "description": "A number (the names are then `ID-0`, `ID-1`, … with the id of the group) or a list of names.",
    }
    entry["properties"]["member"] = {
        "type": "array",
        "items": member,
        "description": "More about members that are counted or named, or further ones.",
    }
    entry["required"].remove("members")
    entry["anyOf"] = [{"required": ["members"]}, {"required": ["member"]}]


def _spell_faults(definitions: Document) -> None:
    """Replace the field that gets the verb's value by the verb as key."""
    for kind in Timed.__subclasses__():
        entry = definitions[kind.__name__]
        verb = kind.model_fields["verb"].default
        target = short_forms.TARGETS[verb]
        properties = entry["properties"]
        del properties["verb"]
        known = _notes(kind)
        if target in _TARGETS and target not in known:
            properties[target]["description"] = _TARGETS[target]
        if "for" in properties and "lasting" not in known:
            properties["for"]["description"] = "How long it lasts."
        entry["properties"] = {verb: properties.pop(target), **properties}
        entry["required"] = [verb, *(key for key in entry["required"] if key != target)]
        if target != "message":
            entry["oneOf"] = [{"required": [way]} for way in ("at", "between", "when")]


def _spell_scenario(schema: Document) -> None:
    faults = schema["properties"]["fault"]
    faults["items"] = {
        "anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in Timed.__subclasses__()]
    }
    schema["properties"]["act"] = {**faults, "description": "Acts; the same as faults."}
    schema["properties"]["expect"] = {
        "$ref": "#/$defs/Bounds",
        "description": "Bounds on metrics, by the metric's name.",
    }


# -- Kafka's settings ------------------------------------------------------------------------


def _settings(known: dict[str, Setting], defaults: dict[str, Any]) -> Document:
    """Return settings by full names, and nested as TOML parses unquoted names."""
    properties: Document = {}
    nested: Document = {}
    for name, setting in known.items():
        entry = {**_setting(setting), "description": setting.meaning}
        default = defaults[name]
        if default not in (None, ""):
            entry["default"] = list(default) if isinstance(default, tuple) else default
        properties[name] = entry
        *above, last = name.split(".")
        table = nested
        for part in above:
            table = table.setdefault(part, {"properties": {}})["properties"]
        table[last] = entry
    _close(nested)
    return {"type": "object", "additionalProperties": False, "properties": properties | nested}


def _name_as_clients_do(properties: Document) -> None:
    """Add the names that other clients have for the settings, with what each allows."""
    for client in CLIENTS[1:]:
        for name, kafkas in profile_of(client).names.items():
            entry = {key: value for key, value in properties[kafkas].items() if key != "default"}
            note = f"{client}: {kafkas}"
            known = properties.setdefault(name, {**entry, "description": note})
            if known["description"] != note and client not in known["description"]:
                known["description"] = f"{client}, {known['description']}"


def _close(tables: Document) -> None:
    for entry in tables.values():
        if "properties" in entry:
            entry |= {"type": "object", "additionalProperties": False}
            _close(entry["properties"])


def _setting(setting: Setting) -> Document:
    whole = {"type": "integer", "minimum": setting.minimum, "maximum": setting.maximum}
    match setting.kind:
        case Kind.TIME_MS | Kind.MINUTES:
            return {"anyOf": [whole, _TIME]}
        case Kind.BYTES:
            return {"anyOf": [whole, {"type": "string", "pattern": SIZE_PATTERN}]}
        case Kind.COUNT:
            return {"anyOf": [whole, {"type": "string", "pattern": r"^\d+$"}]}
        case Kind.RATIO:
            number = {"type": "number", "minimum": setting.minimum, "maximum": setting.maximum}
            return {"anyOf": [number, {"type": "string", "pattern": r"^\d(\.\d{1,20})?$"}]}
        case Kind.SWITCH:
            return {"enum": [True, False, "true", "false"]}
        case Kind.CHOICE:
            return {"enum": list(setting.choices)}
        case Kind.NAMES:
            server_side = setting.name == "group.consumer.assignors"
            examples = SERVER_ASSIGNORS.values() if server_side else ASSIGNORS
            name = {"type": "string", "examples": list(examples)}
            return {"anyOf": [name, {"type": "array", "items": name, "minItems": 1}]}
    return {"type": "string"}
