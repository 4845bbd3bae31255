"""What can be wrong with the bytes of a batch."""

from __future__ import annotations


class BadBatch(ValueError):  # noqa: N818 - named for what was met, as in the reader's gaps
    """The bytes of a batch cannot be read; the message says what was met and where."""


class InflatesTooFar(BadBatch):
    """A compressed batch would grow past the bound it was given."""
