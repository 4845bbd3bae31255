"""Where the logs of partitions begin and end, as a user gives it.

Either lines ``topic:partition:offset``, as Kafka's ``kafka-get-offsets.sh`` prints them, or JSON:
``{"orders-0": 471}`` or ``{"orders": [471, 470]}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulator.logs.audit.ranges import PartitionName
from emulator.logs.errors import AuditError

Offsets = dict[PartitionName, int]

_WANTED = 'expected lines such as orders:0:471, or JSON such as {"orders-0": 471} or {"orders": [471, 470]}'


def read_offsets(path: Path, option: str) -> Offsets:
    """Read a file of offsets; *option*: by which it was given. Raise AuditError if it is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise AuditError(f"{option} {path}: cannot be read: {reason}") from None
    try:
        pairs = list(_of_json(json.loads(text)) if text.lstrip()[:1] == "{" else _of_lines(text))
    except ValueError as error:
        raise AuditError(f"{option} {path}: {error}; {_WANTED}") from None
    if not pairs:
        raise AuditError(f"{option} {path}: names no partition; {_WANTED}")
    return dict(pairs)


def _of_lines(text: str) -> Iterator[tuple[PartitionName, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        topic, _, rest = line.strip().rpartition(":")
        topic, _, partition = topic.rpartition(":")
        if not (topic and _is_count(partition) and _is_count(rest)):
            raise ValueError(f"line {number} is {line.strip()[:80]!r}")
        yield PartitionName(topic, int(partition)), int(rest)


def _of_json(document: Any) -> Iterator[tuple[PartitionName, int]]:
    for name, value in document.items():
        if isinstance(value, list):
            for number, offset in enumerate(value):
                yield PartitionName(name, number), _offset(f"{name}-{number}", offset)
            continue
        topic, _, number = name.rpartition("-")
        if not (topic and _is_count(number)):
            raise ValueError(f"{name!r} is no partition")
        yield PartitionName(topic, int(number)), _offset(name, value)


def _offset(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} has {value!r} for an offset")
    return value


def _is_count(text: str) -> bool:
    return text.isdecimal() and text.isascii()
