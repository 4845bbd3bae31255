"""Read events back from the Parquet file of a run: ``emulator.read_events``.

The columns are those of :mod:`emulator.events.parquet`. Each field of an event is rebuilt from its
type, so the events are equal to those of the run.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from assignors.types import TopicPartition
from emulator.errors import RefusedError
from emulator.events import Event, PartlyProcessed, What
from emulator.events.parquet import COLUMNS, ROWS
from emulator.parquet_file import opened_parquet
from protocols.values import optional_fields, recorded_fields

Decoder = Callable[[Any], Any]

KINDS: Mapping[str, type] = {kind.__name__: kind for kind in get_args(What)}
NEEDED = frozenset(name for name, _ in COLUMNS) - {"clock"}


def read_events(path: str | Path) -> tuple[Event, ...]:
    """Return all events of a file that ``rebalance run --events`` wrote, in order.

    They are equal to the events of the run, so its ledger and metrics can be computed again.
    Raises ``RefusedError`` if the file cannot be read or is no file of events.
    """
    return tuple(iterate_events(path))


def iterate_events(path: str | Path) -> Iterator[Event]:
    """Yield the events of a file one at a time, for files larger than memory."""
    with _opened(Path(path)) as file:
        yield from events_in(file.iter_batches(ROWS, columns=sorted(NEEDED)), str(path))


def events_in(batches: Iterable[pa.RecordBatch], name: str) -> Iterator[Event]:
    """Yield the events of rows that have the columns of a file of events; *name*: for messages.

    Raises ``RefusedError`` for a row that is no event of this version.
    """
    for piece in chain.from_iterable(map(_pieces, batches)):
        for row in piece.to_pylist():
            try:
                yield _event(row)
            except (KeyError, TypeError, ValueError) as error:
                raise RefusedError(
                    f"{name}: row {row['row']} is not an event of this version: {error}"
                ) from None


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch, because Python's values need much memory."""
    return (batch.slice(begin, ROWS) for begin in range(0, len(batch), ROWS))


def _opened(path: Path) -> pq.ParquetFile:
    try:
        file = opened_parquet(path)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a Parquet file"
        raise RefusedError(f"{path}: cannot be read: {reason}") from None
    lacking = sorted(NEEDED.difference(file.schema_arrow.names))
    if lacking:
        file.close()
        raise RefusedError(
            f"{path}: is not a file of events: it has no column {lacking[0]!r}; "
            "write one with rebalance run SCENARIO --events FILE.parquet"
        )
    return file


def _event(row: Mapping[str, Any]) -> Event:
    return Event(row["id"], row["at_us"], row["cause"], _what(row), row["row"])


def _what(row: Mapping[str, Any]) -> What:
    kind = KINDS[row["kind"]]
    values: dict[str, Any] = {**json.loads(row["rest"])}
    values |= {name: row[name] for name in ("consumer", "group", "generation")}
    values |= {"topic": row["topic"], "first": row["first"], "next_offset": row["next"]}
    if kind is PartlyProcessed:
        values["offset"] = row["first"]
    if row["partition"] is not None:
        values["partition"] = (row["topic"], row["partition"])
    unset = optional_fields(kind).keys() - values.keys()
    made: What = kind(
        **{name: decode(values[name]) for name, decode in _fields(kind) if name not in unset}
    )
    return made


@cache
def _fields(kind: type) -> tuple[tuple[str, Decoder], ...]:
    """Return the recorded fields of an event class, each with the decoder of its JSON value."""
    hints = get_type_hints(kind)
    return tuple((name, _decoder(hints[name])) for name in recorded_fields(kind))


def _decoder(hint: Any) -> Decoder:
    if hint is TopicPartition:
        return TopicPartition._make
    if hint is str:
        return _text
    if get_origin(hint) is tuple:
        return _tuple_decoder(get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        inner = next(each for each in get_args(hint) if each is not type(None))
        return partial(_optional, _decoder(inner))
    return _same


def _tuple_decoder(members: tuple[Any, ...]) -> Decoder:
    if len(members) == 2 and members[1] is Ellipsis:
        each = _decoder(members[0])
        return lambda values: tuple(map(each, values))
    decoders = tuple(map(_decoder, members))
    return lambda values: tuple(
        decode(value) for decode, value in zip(decoders, values, strict=True)
    )


def _optional(decode: Decoder, value: Any) -> Any:
    return None if value is None else decode(value)


def _text(value: Any) -> Any:
    """Return a text; formats such as CSV do not distinguish an empty one from none."""
    return "" if value is None else value


def _same(value: Any) -> Any:
    return value
