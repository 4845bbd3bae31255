"""Values of fixed size as numpy reads them, from the tables that the value decoder is made of.

A commit's only text is its metadata, and that is mostly empty. While it is, every number stands
at a fixed place, so a thousand values of equal length can be viewed at once. A version has one
:class:`FixedLayout` for each set of tagged fields that can be there. What stands between the
numbers (version, lengths, counts, tags, sizes) is the same in all such values: it is compared.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from protocols.offsets_topic.records.schema import UUID, Field, Fixed, RecordType, Sized
from protocols.offsets_topic.records.wire import COMPACT, PLAIN, uuid_bytes, varint

Array = npt.NDArray[Any]

_VERSION_BYTES = 2


class FixedLayout(NamedTuple):
    """How one version of a value lies in its bytes while its text is empty."""

    version: int
    dtype: np.dtype[np.void]
    """The fields by their attributes, big-endian, and the constants between them."""

    constants: dict[str, np.void]
    """What has to be the same in all values, by its name in ``dtype``."""

    defaults: dict[str, Any]
    """Of the numbers and ids that are not there, by attribute."""

    def fits(self, values: Array) -> npt.NDArray[np.bool_]:
        """Say which of some values of this size lie like this."""
        fits = np.ones(len(values), np.bool_)
        for name, constant in self.constants.items():
            fits &= values[name] == constant
        return fits

    def fill(self, rows: Array, at: Array | slice, values: Array) -> None:
        """Put values that fit into some rows: version, numbers and ids."""
        rows["value_version"][at] = self.version
        for name in self.dtype.names or ():
            if name not in self.constants:
                rows[name][at] = values[name]
        for name, default in self.defaults.items():
            rows[name][at] = default


def fixed_layouts(record_type: RecordType) -> dict[int, list[FixedLayout]]:
    """Return by size in bytes how values of numbers, ids and empty text lie, in all versions."""
    found = defaultdict(list)
    for version in record_type.versions:
        tagged = record_type.value.tagged(version)
        for count in range(len(tagged) + 1):
            for there in itertools.combinations(tagged, count):
                layout = _layout(record_type, version, there)
                found[layout.dtype.itemsize].append(layout)
    return dict(found)


def native_type(kind: Fixed) -> np.dtype[Any]:
    """Return numpy's type of numbers like these; ids are their bytes."""
    return np.dtype(f"V{kind.size}" if kind is UUID else kind.code)


def _layout(record_type: RecordType, version: int, there: tuple[Field, ...]) -> FixedLayout:
    parts = list(_parts(record_type, version, there))
    types = [
        (part.attribute, native_type(part.fixed).newbyteorder(">"))
        if isinstance(part, Field)
        else (f"constant {place}", np.dtype(f"V{len(part)}"))
        for place, part in enumerate(parts)
    ]
    constants = {
        name: np.void(part)
        for (name, _), part in zip(types, parts, strict=True)
        if isinstance(part, bytes)
    }
    held = dict(types)
    defaults = {
        field.attribute: np.void(uuid_bytes(field.default)) if field.type is UUID else field.default
        for field in record_type.value.fields
        if isinstance(field.type, Fixed) and field.attribute not in held
    }
    return FixedLayout(version, np.dtype(types), constants, defaults)


def _parts(
    record_type: RecordType, version: int, there: tuple[Field, ...]
) -> Iterator[bytes | Field]:
    """Yield what a value consists of: bytes that never differ, and fields of fixed size."""
    flexible = record_type.layout(version).flexible
    empty = (COMPACT if flexible else PLAIN).string_length(0)
    yield version.to_bytes(_VERSION_BYTES)
    for field in itertools.chain.from_iterable(record_type.value.runs(version)):
        assert field.type is Sized.STRING or field.is_run, f"{field.name} has no fixed size"
        yield empty if field.type is Sized.STRING else field
    if flexible:
        yield varint(len(there))
    for field in there:
        yield varint(field.tag or 0) + varint(field.fixed.size)
        yield field
