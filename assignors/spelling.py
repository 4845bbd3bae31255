"""What a person may have meant who spelt a name wrong."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """Return " Did you mean …?" for the allowed name nearest to *given*, else nothing.

    >>> did_you_mean("rnage", ["range", "sticky"])
    " Did you mean 'range'?"
    """
    close = get_close_matches(given, list(allowed), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
