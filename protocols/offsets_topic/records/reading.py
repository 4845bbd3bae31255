"""Compile a table to a reader of one of its layouts.

The reader of a struct is Python source made from its table, because a load reads a million of
them and a loop over fields would take twice as long. It has one statement for each run of fields
of fixed size, which are taken from the bytes together, and one for each other field. For version
4 of an offset commit it is, with the errors left out::

    def read(data, at):
        offset, leader_epoch, = unpack_0(data, at)
        at += 12
        metadata, at = read_1(data, at)
        commit_timestamp, = unpack_2(data, at)
        at += 8
        topic_id, unknown_tags, trailing = read_end(data, at)
        return new(cls, (offset, commit_timestamp, leader_epoch, metadata, ...)), at

Nothing but the names in the tables gets into the source; ``unpack_0`` is a method of a
``struct.Struct``, ``read_1`` and ``read_end`` come from ``wire`` and ``tagged``.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

from protocols.offsets_topic.records.errors import MalformedRecordError, cut
from protocols.offsets_topic.records.schema import (
    TRAILING,
    UNKNOWN_TAGS,
    UUID,
    VALUE_VERSION,
    Array,
    Field,
    FieldType,
    Fixed,
    Layout,
    Sized,
    Struct,
)
from protocols.offsets_topic.records.tagged import (
    Tagged,
    presence_reader,
    remembered_end,
    tags_reader,
)
from protocols.offsets_topic.records.wire import (
    COMPACT,
    PLAIN,
    Reader,
    array_reader,
    bytes_reader,
    fixed_reader,
    numbers_reader,
    string_reader,
    uuid_text,
)


@functools.cache
def struct_reader(table: Struct, layout: Layout) -> Reader:
    """Return the reader of a struct; the value's class is the table's."""
    source, names = reader_source(table, layout)
    exec(source, names)  # noqa: S102 - made of the tables' own names, see above
    reader: Reader = names["read"]
    return reader


def reader_source(table: Struct, layout: Layout) -> tuple[str, dict[str, Any]]:
    """Return a reader's source, and the values of the names in it."""
    names: dict[str, Any] = {
        "cls": table.cls,
        "cut_run": _cut_run,
        "new": tuple.__new__,
        "struct_error": struct.error,
        "uuid_text": uuid_text,
    }
    lines = list[str]()
    for number, run in enumerate(table.runs(layout.version)):
        lines += (_run if run[0].is_run else _other)(number, run, layout, names)
    if layout.flexible:
        lines += _tags(table, layout, names)
    lines.append(f"return {_made(table, layout, names)}, at")
    return "\n    ".join(["def read(data, at):", *lines]), names


def _run(number: int, run: tuple[Field, ...], _: Layout, names: dict[str, Any]) -> list[str]:
    """Write the lines for fields of fixed size."""
    taken = struct.Struct(">" + "".join(field.fixed.code for field in run))
    names |= {f"unpack_{number}": taken.unpack_from, f"run_{number}": run}
    ids = [field.attribute for field in run if field.type is UUID]
    return [
        "try:",
        f"    {''.join(f'{field.attribute}, ' for field in run)}= unpack_{number}(data, at)",
        "except struct_error:",
        f"    raise cut_run(data, at, run_{number}) from None",
        f"at += {taken.size}",
        *(f"{name} = uuid_text({name})" for name in ids),
    ]


def _other(number: int, run: tuple[Field, ...], layout: Layout, names: dict[str, Any]) -> list[str]:
    """Write the line for one field of any other type."""
    (field,) = run
    names[f"read_{number}"] = _reader(field, layout)
    return [f"{field.attribute}, at = read_{number}(data, at)"]


def _tags(table: Struct, layout: Layout, names: dict[str, Any]) -> list[str]:
    """Write the line for the tagged fields."""
    tagged = table.tagged(layout.version)
    read_tags = tags_reader(
        [Tagged(f.tag or 0, f.name, f.default, _reader(f, layout)) for f in tagged]
    )
    found = "".join(f"{field.attribute}, " for field in tagged)
    if table.ends_with_ids(layout.version):
        names["read_end"] = remembered_end(read_tags)
        return [f"{found}{UNKNOWN_TAGS}, {TRAILING} = read_end(data, at)"]
    names["read_tags"] = read_tags
    return [f"{found}{UNKNOWN_TAGS}, at = read_tags(data, at)"]


def _made(table: Struct, layout: Layout, names: dict[str, Any]) -> str:
    """Write the expression that creates the value; fields not read have the class's default."""
    read = {field.attribute: field.attribute for field in table.of_version(layout.version)}
    read |= {UNKNOWN_TAGS: UNKNOWN_TAGS} if layout.flexible else {}
    rest = TRAILING if table.ends_with_ids(layout.version) else "data[at:]"
    read |= {VALUE_VERSION: str(layout.version), TRAILING: rest}
    if not issubclass(table.cls, tuple):
        given = (f"{name}={read[name]}" for name in table.attributes if name in read)
        return f"cls({', '.join(given)})"
    defaults = table.cls._field_defaults  # type: ignore[attr-defined]
    names |= {f"default_{name}": value for name, value in defaults.items()}
    items = (read.get(name, f"default_{name}") for name in table.attributes)
    return f"new(cls, ({', '.join(items)},))"


# -- fields ----------------------------------------------------------------------------------


def _reader(field: Field, layout: Layout) -> Reader:
    """Return the reader of a field that is not part of a run."""
    kind = field.type
    if isinstance(kind, Struct) and field.nullable:
        read = struct_reader(kind, layout)
        return presence_reader(read, field.name, tagged=field.tag is not None)
    return _reader_of(kind, field.name, layout, nullable=field.nullable)


def _reader_of(kind: FieldType, name: str, layout: Layout, *, nullable: bool) -> Reader:
    family = COMPACT if layout.flexible else PLAIN
    match kind:
        case Fixed():
            return fixed_reader(kind, name)
        case Sized.STRING:
            return string_reader(name, family, nullable=nullable)
        case Sized.BYTES:
            return bytes_reader(name, family, nullable=nullable)
        case Array(of=Fixed() as number) if number is not UUID:
            return numbers_reader(number, name, family, nullable=nullable)
        case Array(of=of):
            element = _reader_of(of, "", layout, nullable=False)
            return array_reader(element, name, family, nullable=nullable)
        case Struct():
            return struct_reader(kind, layout)


def _cut_run(data: bytes, at: int, run: tuple[Field, ...]) -> MalformedRecordError:
    """Find the field of a run in which the bytes end."""
    for field in run:
        size = field.fixed.size
        if at + size > len(data):
            break
        at += size
    return cut(data, at, field.name, size)
