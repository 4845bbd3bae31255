"""The tables: complete, in step with their classes, and readable by others than the codec."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

import protocols.offsets_topic.records
from protocols.offsets_topic.records import RECORD_TYPES
from protocols.offsets_topic.records.embedded import ASSIGNMENT, SUBSCRIPTION
from protocols.offsets_topic.records.reading import reader_source
from protocols.offsets_topic.records.schema import (
    TRAILING,
    UNKNOWN_TAGS,
    VALUE_VERSION,
    Array,
    Default,
    FieldType,
    Struct,
)
from protocols.offsets_topic.records.writing import writer_source


def structs(kind: FieldType) -> Iterator[Struct]:
    """Yield a table and all inside it."""
    if isinstance(kind, Array):
        yield from structs(kind.of)
    elif isinstance(kind, Struct):
        yield kind
        for field in kind.fields:
            yield from structs(field.type)


VALUES = [record_type.value for record_type in RECORD_TYPES.values()] + [SUBSCRIPTION, ASSIGNMENT]
SERVED = {0, 1, 2}
"""The types of classic groups; the other types have modules of their own."""

KEYS = [record_type.key for record_type in RECORD_TYPES.values()]
TABLES = list({id(table): table for top in [*VALUES, *KEYS] for table in structs(top)}.values())


def default_of(table: Struct, attribute: str):
    """Return what a class has for an attribute that is not given."""
    if issubclass(table.cls, tuple):
        return table.cls._field_defaults.get(attribute, Default.NONE)
    (field,) = (field for field in dataclasses.fields(table.cls) if field.name == attribute)
    return Default.NONE if field.default is dataclasses.MISSING else field.default


def test_every_type_that_4_4_reads_has_its_tables():
    """9 and 18 are retired."""
    assert [*range(9), *range(10, 18), *range(19, 24)] == sorted(RECORD_TYPES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.cls.__name__)
def test_a_class_has_its_tables_fields_and_little_else(table):
    """Unknown tagged fields everywhere they can be; version and rest in whole values."""
    of_table = {field.attribute for field in table.fields}
    more = set(table.attributes) - of_table

    assert of_table <= set(table.attributes)
    assert more <= {UNKNOWN_TAGS, VALUE_VERSION, TRAILING, "record_type"}
    assert ({VALUE_VERSION, TRAILING} <= more) == (table in VALUES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.cls.__name__)
def test_a_field_that_may_be_missing_has_the_same_default_in_table_and_class(table):
    """In tagged fields and in those that not every version has."""
    versions = range(5)
    for field in table.fields:
        always = all(field in table.of_version(version) for version in versions)
        assert (field.default is Default.NONE) == (always and field.tag is None)
        if field.default is not Default.NONE:
            assert field.default == default_of(table, field.attribute)


@pytest.mark.parametrize("record_type", RECORD_TYPES.values(), ids=lambda kind: kind.name)
def test_a_record_type_is_one_thing(record_type):
    """Number, names and versions agree."""
    name = record_type.name

    assert f"{name}Key" == record_type.key.cls.__name__
    assert f"{name}Value" == record_type.value.cls.__name__
    assert record_type.number == default_of(record_type.key, "record_type")
    version = default_of(record_type.value, VALUE_VERSION)
    assert version in record_type.versions
    assert record_type.is_written or version == 0


def test_the_tables_have_what_4_4_writes():
    """The oldest commits and the topic metadata of 4.0 are not written any more."""
    versions = {
        kind.number: default_of(kind.value, VALUE_VERSION)
        for kind in RECORD_TYPES.values()
        if kind.is_written
    }
    assert {0, 4} == RECORD_TYPES.keys() - versions.keys()
    assert {1: 4, 2: 3} == {number: version for number, version in versions.items() if version}


def test_a_layout_can_be_walked():
    """Runs of fixed size, the fields between them, and the tagged fields."""
    commit = RECORD_TYPES[1]
    runs = [[field.name for field in run] for run in commit.value.runs(4)]

    assert [["offset", "leaderEpoch"], ["metadata"], ["commitTimestamp"]] == runs
    assert [(0, "topicId", 16)] == [
        (field.tag, field.name, field.fixed.size) for field in commit.value.tagged(4)
    ]
    assert [False, False, False, False, True] == [
        commit.layout(version).flexible for version in commit.versions
    ]
    assert "classic_member_metadata" == RECORD_TYPES[5].value.fields[-1].attribute


@pytest.mark.parametrize("record_type", RECORD_TYPES.values(), ids=lambda kind: kind.name)
def test_a_reader_and_a_writer_have_a_line_for_every_run(record_type):
    """They contain only names of the tables."""
    for version in record_type.versions:
        layout, table = record_type.layout(version), record_type.value
        reading, _ = reader_source(table, layout)
        writing, _ = writer_source(table, layout, b"")
        for number, run in enumerate(table.runs(version)):
            verbs = ("unpack", "pack") if run[0].is_run else ("read", "write")
            assert 1 == reading.count(f" {verbs[0]}_{number}(")
            assert 1 == writing.count(f" {verbs[1]}_{number}(")
        ends = reading.count("= read_tags(data, at)") + reading.count("= read_end(data, at)")
        assert layout.flexible == ends


def test_the_public_names_are_sorted_and_there():
    """With every key and value class of classic groups."""
    public = protocols.offsets_topic.records.__all__
    constants = [name for name in public if name.isupper()]
    classes = [name for name in public if name[0].isupper() and not name.isupper()]
    functions = [name for name in public if name[0].islower()]

    assert [*sorted(constants), *sorted(classes), *sorted(functions)] == public
    assert all(hasattr(protocols.offsets_topic.records, name) for name in public)
    served = [record_type for number, record_type in RECORD_TYPES.items() if number in SERVED]
    for record_type in served:
        assert {f"{record_type.name}Key", f"{record_type.name}Value"} <= set(public)
        for top in (record_type.key, record_type.value):
            assert {table.cls.__name__ for table in structs(top)} <= set(public)
