"""What cannot be audited."""

from __future__ import annotations

from emulator.errors import EmulatorError


class AuditError(EmulatorError):
    """A log, a table of offsets or a request that cannot be used; says where, what, and what to do."""
