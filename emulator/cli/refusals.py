"""What counts as bad input, and what is said of it."""

from __future__ import annotations

BAD_INPUT = 2
"""Exit status when what the user gave cannot be used."""


class RefusedError(Exception):
    """What was asked for cannot be done; the message says why, and what can."""


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file could not be read or written, in few words."""
    return getattr(error, "strerror", None) or str(error)


def message_of(error: Exception) -> str | None:
    """Return what to tell the user about *error*; None if it is no fault of theirs.

    A scenario, a capture, an assignor of the user's own, or the call itself can be refused.
    Nothing is imported while all goes well.
    """
    from assignors.errors import AssignorError
    from emulator.conformance.captured.reading import CaptureError
    from emulator.scenario.problems import ScenarioError

    if isinstance(error, AssignorError | CaptureError | RefusedError | ScenarioError):
        return str(error)
    if isinstance(error, MemoryError):
        return "Memory ran out. Shorten run_for, or take fewer partitions, members or --jobs"
    return None
