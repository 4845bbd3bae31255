"""The errors that callers of the library can handle: one tree under :class:`EmulatorError`.

Errors of one subject are defined in its package (``ScenarioError`` in ``emulator.scenario``,
``AssignorError`` in ``assignors``) and are children of :class:`EmulatorError`. Each message says
what was given, what is allowed and what to do; any other exception is an internal error.
"""

import re
from typing import Final

from assignors.errors import EmulatorError

__all__ = [
    "EmulatorError",
    "HandlerError",
    "ProcessKilledError",
    "RefusedError",
    "reason_of",
    "shortened",
]


class RefusedError(EmulatorError):
    """A request cannot be carried out; the message has the reason and the possible requests."""


class HandlerError(EmulatorError):
    """The user's handler cannot be loaded, raised an exception, or yielded what is no action."""


class ProcessKilledError(RefusedError):
    """A worker process was killed, for example by the kernel when memory ran out."""


def reason_of(error: OSError | ValueError) -> str:
    """Return a short reason why a file could not be read or written."""
    return getattr(error, "strerror", None) or str(error)


LONGEST_WORD: Final = 400
LONGEST_LINE: Final = 4_000
"""Maximum numbers of characters of a word and of a line of a message."""


def shortened(message: str) -> str:
    """Return a message whose very long words and lines are cut in the middle.

    >>> shortened("no file " + "a" * 100_000)[200:240]
    'aaaaaaaa… 99,600 characters …aaaaaaaaaaa'
    """
    words = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _cut(word[0], LONGEST_WORD), message)
    return "\n".join(_cut(line, LONGEST_LINE) for line in words.split("\n"))


def _cut(text: str, longest: int) -> str:
    """Return the beginning and the end of a text that exceeds *longest* characters."""
    left_out = len(text) - longest
    if left_out <= 0:
        return text
    half = longest // 2
    return f"{text[:half]}… {left_out:,} characters …{text[-half:]}"
