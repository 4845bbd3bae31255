"""Temporary folders of a capture; the next one removes those whose process was killed.

The process that uses a folder holds a lock on a file in it. The lock ends with the process, however
that ends, and is not inherited by the programs that the process starts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "rebalance-capture-"
LOCK = "in-use"


@contextmanager
def temporary_folder(part: str = "") -> Iterator[Path]:
    """Make a temporary folder, and remove it when the context is left; *part*: of its name."""
    with tempfile.TemporaryDirectory(prefix=PREFIX + part) as name:
        folder = Path(name)
        new = folder / f".{LOCK}"
        with new.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            new.rename(folder / LOCK)  # so that nobody sees the file before it is locked
            yield folder


def remove_abandoned(say: Callable[[str], None]) -> None:
    """Remove the temporary folders of this user that processes left which no longer live."""
    for folder in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        with suppress(OSError):
            if not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                _remove_if_abandoned(folder, say)


def _remove_if_abandoned(folder: Path, say: Callable[[str], None]) -> None:
    """Remove a folder; raise OSError if its file is missing or locked."""
    with (folder / LOCK).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        say(f"removing {folder}, which a capture left that was killed")
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():  # a broker of it still wrote: the next capture tries again
            (folder / LOCK).touch()
