"""Write to a temporary file and rename it: an interruption leaves the old file unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def beside(path: Path) -> Path:
    """Return where a file or folder is while it is written; several may write the same at once."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give a path to write a file to; at the end of the block it takes the name *path*.

    After an error, also one of the renaming, nothing of it is left and *path* is as it was.
    """
    part = beside(path)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def put(path: Path, content: bytes) -> None:
    """Write a file that is whole or not there."""
    with written_beside(path) as part:
        part.write_bytes(content)
