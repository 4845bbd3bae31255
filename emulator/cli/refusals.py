"""What counts as bad input, and what is said of it."""

from __future__ import annotations


class RefusedError(Exception):
    """What was asked for cannot be done; the message says why, and what can."""


def message_of(error: Exception) -> str | None:
    """Return what to tell the user about *error*; None if it is no fault of theirs.

    A scenario, a capture, an assignor of the user's own, or the call itself can be refused.
    """
    from assignors.errors import AssignorError  # noqa: PLC0415  nothing is imported while
    from emulator.scenario.problems import ScenarioError  # noqa: PLC0415  all goes well
    from emulator.verify.reading import CaptureError  # noqa: PLC0415

    if isinstance(error, AssignorError | CaptureError | RefusedError | ScenarioError):
        return str(error)
    return None
