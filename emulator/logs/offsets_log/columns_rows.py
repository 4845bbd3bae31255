"""Rows of committed offsets in one array, decoded from some hundred records together."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from emulator.logs.offsets_log.columns_left_out import Beside
from protocols.offsets_topic.group_rules import as_replayed
from protocols.offsets_topic.records import (
    LegacyOffsetCommitKey,
    MalformedRecordError,
    OffsetCommitKey,
    OffsetCommitValue,
    Record,
    UnknownValue,
    decode_key,
    decode_value,
)
from protocols.offsets_topic.records.classic import OFFSET_COMMIT
from protocols.offsets_topic.records.schema import UUID, Field, Fixed, RecordType, Sized
from protocols.offsets_topic.records.wire import COMPACT, PLAIN, uuid_bytes, varint
from protocols.offsets_topic.segments.record import RecordFields

Array = npt.NDArray[Any]

_VERSION_BYTES = 2


class FixedLayout(NamedTuple):
    """The byte layout of one version of a value whose text fields are empty."""

    version: int
    dtype: np.dtype[np.void]
    """The fields by attribute, big-endian, and the constants between them."""

    constants: dict[str, np.void]
    """The constant bytes of all such values, by name in ``dtype``."""

    defaults: dict[str, Any]
    """Default values of the numbers and ids that this version does not have, by attribute."""

    def fits(self, values: Array) -> npt.NDArray[np.bool_]:
        """Return which values of this size have this layout."""
        fits = np.ones(len(values), np.bool_)
        for name, constant in self.constants.items():
            fits &= values[name] == constant
        return fits

    def fill(self, rows: Array, at: Array | slice, values: Array) -> None:
        """Write values with this layout into some rows: version, numbers and ids."""
        rows["value_version"][at] = self.version
        for name in self.dtype.names or ():
            if name not in self.constants:
                rows[name][at] = values[name]
        for name, default in self.defaults.items():
            rows[name][at] = default


def fixed_layouts(record_type: RecordType) -> dict[int, list[FixedLayout]]:
    """Return the layouts of values with empty text fields, of all versions, by size in bytes."""
    found = defaultdict(list)
    for version in record_type.versions:
        tagged = record_type.value.tagged(version)
        for count in range(len(tagged) + 1):
            for there in itertools.combinations(tagged, count):
                layout = _layout(record_type, version, there)
                found[layout.dtype.itemsize].append(layout)
    return dict(found)


def native_type(kind: Fixed) -> np.dtype[Any]:
    """Return numpy's type for a field; ids are bytes."""
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
    """Yield the parts of a value: constant bytes, and fields of fixed size.

    Raise ValueError for a type whose values have no fixed size without text.
    """
    flexible = record_type.layout(version).flexible
    empty = (COMPACT if flexible else PLAIN).string_length(0)
    yield version.to_bytes(_VERSION_BYTES)
    for field in itertools.chain.from_iterable(record_type.value.runs(version)):
        if field.type is not Sized.STRING and not field.is_run:
            raise ValueError(f"{field.name} has no fixed size")
        yield empty if field.type is Sized.STRING else field
    if flexible:
        yield varint(len(there))
    for field in there:
        yield varint(field.tag or 0) + varint(field.fixed.size)
        yield field


CommitKey = OffsetCommitKey | LegacyOffsetCommitKey
Values = Sequence[bytes | None]

NUMBERS: Final = {
    field.attribute: field.fixed
    for field in OFFSET_COMMIT.value.fields
    if isinstance(field.type, Fixed)
}
"""The numbers and ids of a commit, by attribute."""

ROW: Final = np.dtype(
    [
        ("log_offset", "i8"),
        ("timestamp", "i8"),
        ("producer_id", "i8"),
        ("key", "i4"),
        ("is_tombstone", "?"),
        ("value_version", "i2"),
        ("metadata", "i4"),
        *((name, native_type(kind)) for name, kind in NUMBERS.items()),
    ]
)
"""One commit; ``key`` and ``metadata`` are indices into the lists of :class:`RowMaker`."""

_LAYOUTS: Final = fixed_layouts(OFFSET_COMMIT)
_NO_COMMIT: Final = -1
_NO_SIZE: Final = -1


class RowMaker:
    """Decodes records to rows, which share the lists of keys and metadata."""

    def __init__(self, left_out: Beside) -> None:
        self._left_out = left_out
        self._keys = _Keys()
        self._metadata = {"": 0}

    @property
    def keys(self) -> list[CommitKey]:
        """The distinct keys, in order of their first occurrence."""
        return self._keys.held

    @property
    def metadata(self) -> list[str]:
        """The distinct metadata, the empty one first."""
        return list(self._metadata)

    def rows(self, fields: RecordFields, producer_ids: Array) -> Array:
        """Return the commits among some records; *producer_ids*: those of their batches."""
        rows = np.zeros(len(fields.offsets), ROW)
        rows["producer_id"] = producer_ids
        rows["key"] = np.fromiter(map(self._keys.__getitem__, fields.keys), np.int32, len(rows))
        readable = rows["key"] != _NO_COMMIT
        for place in np.flatnonzero(~readable).tolist():
            self._leave_out(fields, place)
        try:
            rows["log_offset"], rows["timestamp"] = fields.offsets, fields.timestamps
        except OverflowError:
            self._take_out_too_large(rows, fields, readable)
        more = self._read_values(rows, fields.values, readable) | fields.headers.keys()
        self._left_out.unknown_parts += int(readable[list(more)].sum())
        return rows if readable.all() else rows[readable]

    def _take_out_too_large(self, rows: Array, fields: RecordFields, readable: Array) -> None:
        """Set offsets and times one by one, and remove records whose values exceed 64 bits."""
        numbers = zip(fields.offsets, fields.timestamps, strict=True)
        for place, (log_offset, timestamp) in enumerate(numbers):
            try:
                rows["log_offset"][place], rows["timestamp"][place] = log_offset, timestamp
            except OverflowError:
                if readable[place]:
                    readable[place] = False
                    reason = f"its offset or its time, {timestamp}, exceeds 64 bits"
                    self._left_out.record(log_offset, reason)

    def _leave_out(self, fields: RecordFields, place: int) -> None:
        log_offset, data = fields.offsets[place], fields.keys[place]
        if data is None:
            self._left_out.record(log_offset, "the record has no key")
            return
        try:
            key = decode_key(data)
        except MalformedRecordError as error:
            self._left_out.record(log_offset, str(error))
        else:
            self._left_out.other(key, fields, place)

    # -- values ----------------------------------------------------------------------------------

    def _read_values(self, rows: Array, values: Values, readable: Array) -> set[int]:
        """Set the values of readable rows; remove the rows that cannot be read.

        Return the indices of records with more fields than a row.
        """
        sizes = [_NO_SIZE if value is None else len(value) for value in values]
        size_of = np.array(sizes)
        rows["is_tombstone"] = size_of == _NO_SIZE
        unread = readable & ~rows["is_tombstone"]
        usual = unread & ~np.isin(rows["key"], self._keys.oldest) if self._keys.oldest else unread
        for size in _LAYOUTS.keys() & set(sizes):
            at = np.flatnonzero(usual & (size_of == size))
            unread[_read_together(rows, values, at, size)] = False
        more = set[int]()
        for place in np.flatnonzero(unread).tolist():
            try:
                if self._read_alone(rows[place], values[place]):
                    more.add(place)
            except MalformedRecordError as error:
                readable[place] = False
                self._left_out.record(int(rows["log_offset"][place]), str(error))
        return more

    def _read_alone(self, row: np.void, data: bytes | None) -> bool:
        """Set the row of one value with the value decoder; raise the decoder's error.

        Return whether the value has more fields than the row.
        """
        assert data is not None, "a tombstone has no value"
        key = self._keys.held[row["key"]]
        held = decode_value(key.record_type, data)
        if isinstance(held, UnknownValue):
            problem = f"Kafka 4.4 does not know version {held.value_version}"
            raise MalformedRecordError(0, "version", problem)
        _, stored = as_replayed(Record(key, held))
        assert isinstance(stored, OffsetCommitValue), "the key is that of a commit"
        row["value_version"] = held.value_version
        row["metadata"] = self._metadata.setdefault(stored.metadata, len(self._metadata))
        for name, kind in NUMBERS.items():
            number = getattr(stored, name)
            row[name] = np.void(uuid_bytes(number)) if kind is UUID else number
        return bool(stored.unknown_tags or held.trailing)


def _read_together(rows: Array, values: Values, at: Array, size: int) -> Array:
    """Set the rows of values of one size with a fixed layout; return their indices.

    *at*: indices of the rows and of their values.
    """
    everything = len(at) == len(values)
    present = cast("Sequence[bytes]", values)  # those of any size
    joined = b"".join(present if everything else [present[place] for place in at])
    read = []
    for layout in _LAYOUTS[size]:
        found = np.frombuffer(joined, layout.dtype)
        fits = layout.fits(found)
        if fits.all():
            layout.fill(rows, slice(None) if everything else at, found)
            return at
        layout.fill(rows, at[fits], found[fits])
        read.append(at[fits])
    return np.concatenate(read)


class _Keys(dict[bytes | None, int]):
    """Indices of commit keys by their bytes; other keys are not stored."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[CommitKey] = []
        self.oldest: list[int] = []
        """Indices of keys of record type 0."""

    def __missing__(self, data: bytes | None) -> int:
        try:
            key = None if data is None else decode_key(data)
        except MalformedRecordError:
            return _NO_COMMIT
        if not isinstance(key, CommitKey):
            return _NO_COMMIT
        place = self[data] = len(self.held)
        self.held.append(key)
        if isinstance(key, LegacyOffsetCommitKey):
            self.oldest.append(place)
        return place
