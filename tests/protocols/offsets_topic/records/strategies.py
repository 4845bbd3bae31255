"""Any record, made by the same tables that read and write it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from protocols.offsets_topic.records import (
    RECORD_TYPES,
    MalformedRecordError,
    Record,
    UnknownKey,
    UnknownValue,
)
from protocols.offsets_topic.records.schema import (
    UUID,
    Array,
    Field,
    FieldType,
    Fixed,
    Layout,
    RecordType,
    Sized,
    Struct,
)
from protocols.offsets_topic.records.wire import uuid_text

KEY_LAYOUT = Layout(0, flexible=False)
NUMBERS = {
    "b": (-(2**7), 2**7 - 1),
    "h": (-(2**15), 2**15 - 1),
    "H": (0, 2**16 - 1),
    "i": (-(2**31), 2**31 - 1),
    "q": (-(2**63), 2**63 - 1),
}
LAYOUTS = [
    (record_type, version)
    for record_type in RECORD_TYPES.values()
    for version in record_type.versions
]
texts = st.text(max_size=5) | st.text("a", min_size=120, max_size=140)


def fields(kind: FieldType, layout: Layout) -> st.SearchStrategy[Any]:
    match kind:
        case Fixed() if kind is UUID:
            return st.binary(min_size=16, max_size=16).map(uuid_text)
        case Fixed():
            return st.integers(*NUMBERS[kind.code])
        case Sized.STRING:
            return texts
        case Sized.BYTES:
            return st.binary(max_size=20)
        case Array(of=of):
            return st.lists(fields(of, layout), max_size=3).map(tuple)
        case Struct():
            return structs(kind, layout)


def field(one: Field, layout: Layout) -> st.SearchStrategy[Any]:
    drawn = fields(one.type, layout)
    if one.nullable:
        drawn = st.none() | drawn
    return drawn if one.tag is None else st.just(one.default) | drawn


def structs(table: Struct, layout: Layout, **more: Any) -> st.SearchStrategy[Any]:
    known = {one.attribute: st.just(one.default) for one in table.fields}
    known |= {one.attribute: field(one, layout) for one in table.of_version(layout.version)}
    if "unknown_tags" in table.attributes:
        known["unknown_tags"] = st.just(())
    if layout.flexible:
        known["unknown_tags"] = unknown_tags(len(table.fields))
    return st.builds(table.cls, **known, **more)


def unknown_tags(first: int) -> st.SearchStrategy[Any]:
    """Some tagged fields with tags that no table has, in their order; mostly none."""
    found = st.dictionaries(st.integers(first, 2**31 - 1), st.binary(max_size=3), max_size=2)
    return st.just(()) | found.map(lambda tags: tuple(sorted(tags.items())))


def keys(record_type: RecordType) -> st.SearchStrategy[Any]:
    return structs(record_type.key, KEY_LAYOUT)


def values(record_type: RecordType, version: int) -> st.SearchStrategy[Any]:
    return structs(
        record_type.value,
        record_type.layout(version),
        value_version=st.just(version),
        trailing=st.just(b"") | st.binary(max_size=3),
    )


@functools.cache
def records_of(record_type: RecordType, version: int) -> st.SearchStrategy[Record]:
    value = st.none() | values(record_type, version)
    return st.builds(Record, keys(record_type), value)


known_records = st.sampled_from(LAYOUTS).flatmap(lambda layout: records_of(*layout))
unknown_types = st.integers(-(2**15), 2**15 - 1).filter(lambda number: number not in RECORD_TYPES)
unknown_records = st.builds(
    Record,
    st.builds(UnknownKey, unknown_types, st.binary(max_size=9)),
    st.none() | st.builds(UnknownValue, st.binary(max_size=9)),
)


@st.composite
def newer_records(draw: st.DrawFn) -> Record:
    """Give a known key with a value of a version that its type does not have."""
    record_type = draw(st.sampled_from(list(RECORD_TYPES.values())))
    version = draw(
        st.integers(-(2**15), 2**15 - 1).filter(lambda number: number not in record_type.versions)
    )
    raw = version.to_bytes(2, signed=True) + draw(st.binary(max_size=9))
    return Record(draw(keys(record_type)), UnknownValue(raw))


records = known_records | unknown_records | newer_records()


@st.composite
def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """Give bytes with something wrong: cut, changed, left out or put in."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        more = draw(st.binary(max_size=3) | st.sampled_from([b"\xff" * 4, b"\x7f\xff\xff\xff"]))
        left_out = draw(st.integers(0, 4))
        cut = draw(st.integers(0, 5)) == 0
        data = data[:at] if cut else data[:at] + more + data[at + left_out :]
    return data


def refusal(read: Callable[..., Any], *data: Any) -> MalformedRecordError | None:
    """Return the error with which bytes are refused; None if they are read."""
    try:
        read(*data)
    except MalformedRecordError as error:
        return error
    return None
