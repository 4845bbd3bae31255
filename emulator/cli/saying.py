"""What commands print: whole lines, to a reader that may go away or have no room left."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable

from emulator.cli.refusals import RefusedError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What goes wrong where a disk is full."""


def say(*lines: str) -> bool:
    """Print lines; return whether somebody still reads.

    A reader that has gone away (``| head``) is no error: the rest is said to nobody, and the
    command ends with the status it would have had. Raise RefusedError if there is no room.
    """
    return _written("".join(f"{line}\n" for line in lines))


def say_all(lines: Iterable[str]) -> bool:
    """Print lines as they come; return whether somebody still reads."""
    return say(*lines)


def say_json(document: object) -> bool:
    """Print one line of JSON, in letters that every terminal and file can take."""
    return say(json.dumps(document))


def flush() -> None:
    """Write what is left."""
    _written("")


def _written(text: str) -> bool:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _turn_away()
        return False
    except OSError as error:
        _turn_away()
        raise RefusedError(f"The output cannot be written: {error.strerror}") from None
    return True


def _turn_away() -> None:
    """Let what is still in the buffer, and all that follows, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def open_streams() -> None:
    """Give the process streams where it was started without (``<&-``); let none fail on a letter.

    What the terminal cannot show is a question mark there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            opened = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115  open for good
            setattr(sys, name, opened)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
