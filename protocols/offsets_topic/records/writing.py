"""Compile a table to a writer of one of its layouts: the counterpart of ``reading``.

The source of the writer of version 4 of an offset commit is, with the errors left out::

    def write(value):
        return b"".join((
            head,
            pack_0(value.offset, value.leader_epoch),
            write_1(value.metadata),
            pack_2(value.commit_timestamp),
            (write_tags if value.unknown_tags else write_ids)(value.unknown_tags, value.topic_id),
            value.trailing,
        ))
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

from protocols.offsets_topic.records.errors import UnwritableRecordError
from protocols.offsets_topic.records.schema import (
    TRAILING,
    UNKNOWN_TAGS,
    UUID,
    Array,
    Field,
    FieldType,
    Fixed,
    Layout,
    Sized,
    Struct,
)
from protocols.offsets_topic.records.tagged import REMEMBERED, Tagged, presence_writer, tags_writer
from protocols.offsets_topic.records.wire import (
    COMPACT,
    PLAIN,
    Writer,
    array_writer,
    bytes_writer,
    fixed_writer,
    numbers_writer,
    string_writer,
    uuid_bytes,
)


@functools.cache
def struct_writer(table: Struct, layout: Layout, head: bytes = b"") -> Writer:
    """Return the writer of a struct, which begins with *head*."""
    source, names = writer_source(table, layout, head)
    exec(source, names)  # noqa: S102 - made of the tables' own names, as in reading
    writer: Writer = names["write"]
    return writer


def writer_source(table: Struct, layout: Layout, head: bytes) -> tuple[str, dict[str, Any]]:
    """Return a writer's source, and the values of the names in it."""
    names: dict[str, Any] = {
        "head": head,
        "refused": _refusal(table, layout),
        "struct_error": struct.error,
        "uuid_bytes": uuid_bytes,
    }
    lines, parts = _checked(table, layout, names), ["head"]
    for number, run in enumerate(table.runs(layout.version)):
        parts.append((_run if run[0].is_run else _other)(number, run, layout, names))
    if layout.flexible:
        parts.append(_tags(table, layout, names))
    if TRAILING in table.attributes:
        parts.append(f"value.{TRAILING}")
    lines += [
        "try:",
        f"    return b''.join(({', '.join(parts)},))",
        "except struct_error:",
        "    raise refused(value) from None",
    ]
    return "\n    ".join(["def write(value):", *lines]), names


def _run(number: int, run: tuple[Field, ...], _: Layout, names: dict[str, Any]) -> str:
    """Write the expression for fields of fixed size."""
    names[f"pack_{number}"] = struct.Struct(">" + "".join(f.fixed.code for f in run)).pack
    values = (
        f"uuid_bytes(value.{field.attribute})" if field.type is UUID else f"value.{field.attribute}"
        for field in run
    )
    return f"pack_{number}({', '.join(values)})"


def _other(number: int, run: tuple[Field, ...], layout: Layout, names: dict[str, Any]) -> str:
    """Write the expression for one field of any other type."""
    (field,) = run
    names[f"write_{number}"] = _writer(field, layout)
    return f"write_{number}(value.{field.attribute})"


def _tags(table: Struct, layout: Layout, names: dict[str, Any]) -> str:
    """Write the expression for the tagged fields."""
    tagged = table.tagged(layout.version)
    write = tags_writer([Tagged(f.tag or 0, f.name, f.default, _writer(f, layout)) for f in tagged])
    names |= {"write_tags": write, "write_ids": functools.lru_cache(maxsize=REMEMBERED)(write)}
    unknown = f"value.{UNKNOWN_TAGS}"
    held = ", ".join([unknown, *(f"value.{field.attribute}" for field in tagged)])
    if table.ends_with_ids(layout.version):
        return f"(write_tags if {unknown} else write_ids)({held})"
    return f"write_tags({held})"


# -- what a layout cannot hold ---------------------------------------------------------------


def _checked(table: Struct, layout: Layout, names: dict[str, Any]) -> list[str]:
    """Write the check that nothing is lost: fields this version lacks have their defaults."""
    lacking = _lacking(table, layout)
    if not lacking:
        return []
    names["lacking"] = tuple(lacking.values())
    held = "".join(f"value.{name}, " for name in lacking)
    return [f"if ({held}) != lacking:", "    raise refused(value)"]


def _lacking(table: Struct, layout: Layout) -> dict[str, Any]:
    there = {field.attribute for field in table.of_version(layout.version)}
    lacking = {f.attribute: f.default for f in table.fields if f.attribute not in there}
    if UNKNOWN_TAGS in table.attributes and not layout.flexible:
        lacking[UNKNOWN_TAGS] = ()
    return lacking


def _refusal(table: Struct, layout: Layout) -> Callable[[Any], UnwritableRecordError]:
    """Return a function that finds the field for which a value cannot be written."""

    def refused(value: Any) -> UnwritableRecordError:
        for name, default in _lacking(table, layout).items():
            if getattr(value, name) != default:
                problem = f"set, but version {layout.version} has no such field"
                return UnwritableRecordError(name, problem)
        for field in table.of_version(layout.version):
            if field.is_run:
                fixed_writer(field.fixed, field.name)(getattr(value, field.attribute))
        raise AssertionError("every field can be written alone")

    return refused


# -- fields ----------------------------------------------------------------------------------


def _writer(field: Field, layout: Layout) -> Writer:
    """Return the writer of a field that is not part of a run."""
    kind = field.type
    if isinstance(kind, Struct) and field.nullable:
        write = struct_writer(kind, layout)
        return presence_writer(write, field.name, tagged=field.tag is not None)
    return _writer_of(kind, field.name, layout, nullable=field.nullable)


def _writer_of(kind: FieldType, name: str, layout: Layout, *, nullable: bool) -> Writer:
    family = COMPACT if layout.flexible else PLAIN
    match kind:
        case Fixed():
            return fixed_writer(kind, name)
        case Sized.STRING:
            return string_writer(name, family, nullable=nullable)
        case Sized.BYTES:
            return bytes_writer(name, family, nullable=nullable)
        case Array(of=Fixed() as number) if number is not UUID:
            return numbers_writer(number, name, family, nullable=nullable)
        case Array(of=of):
            element = _writer_of(of, "", layout, nullable=False)
            return array_writer(element, name, family, nullable=nullable)
        case Struct():
            return struct_writer(kind, layout)
