"""The errors of records: in their bytes, in values to encode, and in their order in the log.

::

    ValueError
     |-- MalformedRecordError     bytes that do not match their type and version
     |-- UnwritableRecordError    a value that cannot be encoded
     `-- BrokenLogError           a record that contradicts the log before it
"""

from __future__ import annotations


class MalformedRecordError(ValueError):
    """Bytes that are cut off or do not match their type and version.

    ``position`` counts bytes from the start of the part (``key``, ``value``, ``subscription``,
    ``assignment``), ``field`` is Kafka's name of the field being read, with its path.
    """

    def __init__(self, position: int, field: str, problem: str, part: str = "value") -> None:
        super().__init__(position, field, problem, part)
        self.position = position
        self.field = field
        self.problem = problem
        self.part = part

    def __str__(self) -> str:
        return f"{self.part}, byte {self.position}, {self.field}: {self.problem}"

    def within(self, path: str) -> MalformedRecordError:
        """Return the same error for a field inside *path*."""
        return MalformedRecordError(
            self.position, _joined(path, self.field), self.problem, self.part
        )

    def moved(self, bytes_on: int) -> MalformedRecordError:
        """Return the same error, *bytes_on* bytes further."""
        return MalformedRecordError(self.position + bytes_on, self.field, self.problem, self.part)

    def of(self, part: str, path: str) -> MalformedRecordError:
        """Return the same error in *part* of a record."""
        return MalformedRecordError(self.position, _joined(path, self.field), self.problem, part)


class UnwritableRecordError(ValueError):
    """A value that cannot be encoded: too long, too large, null, or of another key."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(field, problem)
        self.field = field
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"

    def within(self, path: str) -> UnwritableRecordError:
        """Return the same error for a field inside *path*."""
        return UnwritableRecordError(_joined(path, self.field), self.problem)


def cut(data: bytes, at: int, name: str, wanted: int) -> MalformedRecordError:
    """Return the error for bytes that end before *wanted* more were read."""
    return MalformedRecordError(at, name, f"cut off: {wanted} bytes wanted, {len(data) - at} left")


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path and field else path or field


class BrokenLogError(ValueError):
    """A record that contradicts the records before it, at which a load fails."""
