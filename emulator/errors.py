"""The errors that callers of the library can handle: one tree under :class:`EmulatorError`.

Errors of one subject are defined in its package (``ScenarioError`` in ``emulator.scenario``,
``AssignorError`` in ``assignors``) and are children of :class:`EmulatorError`. Each message says
what was given, what is allowed and what to do; any other exception is an internal error.
"""

from assignors.errors import EmulatorError

__all__ = ["EmulatorError", "ProcessKilledError", "RefusedError", "reason_of"]


class RefusedError(EmulatorError):
    """A request cannot be carried out; the message has the reason and the possible requests."""


class ProcessKilledError(RefusedError):
    """A worker process was killed, for example by the kernel when memory ran out."""


def reason_of(error: OSError | ValueError) -> str:
    """Return a short reason why a file could not be read or written."""
    return getattr(error, "strerror", None) or str(error)
