"""How the help of a command is put together: what it does, examples to copy, exit statuses."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from textwrap import indent
from typing import Any

VERBATIM = "\b"
"""Begins a paragraph whose lines stay as they are."""

Examples = tuple[tuple[str, str], ...]
"""What each is for, and the command as a shell takes it."""


def with_examples(command: Callable[..., Any], examples: Examples) -> str:
    """Return a command's docstring with examples after its first paragraph."""
    first, _, rest = (getdoc(command) or "").partition("\n\n")
    lines = [indent(f"# {what}\n{call}", "  ") for what, call in examples]
    return "\n\n".join([first, "\n".join([VERBATIM, "Examples:", *lines]), rest]).strip()
