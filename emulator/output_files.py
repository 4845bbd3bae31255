"""Write to a temporary file and rename it: an interruption leaves the old file unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_uri(output: str | Path) -> bool:
    """Return whether an output is a URI such as s3a://bucket/folder, and no path."""
    return isinstance(output, str) and "://" in output


def beside(path: Path) -> Path:
    """Return a temporary path, unique to this process, for writing a file or folder."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; at the end of the block it is renamed to *path*.

    After an error, also one of the renaming, the temporary file is removed and *path* is unchanged.
    """
    part = beside(path)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def put(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete or absent."""
    with written_beside(path) as part:
        part.write_bytes(content)
