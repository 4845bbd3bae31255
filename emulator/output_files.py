"""Write to a temporary file and rename it: an interruption leaves the old file unchanged.

A folder that takes long to write has a lock, so that two processes do not write it at once. The
lock ends with its process, also if that is killed; its file is then left over and is used again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assignors.errors import EmulatorError

LOCK = ".lock"
"""The lock's file in a folder that is written; that of a folder that is replaced is beside it."""

_TEMPORARY = re.compile(r"\..+\.[0-9]+\.part")


class FolderInUseError(EmulatorError):
    """Another process is writing to a folder."""


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


def is_temporary(path: Path) -> bool:
    """Return whether a name is one of :func:`beside`, or that of a lock."""
    return path.name.endswith(LOCK) or _TEMPORARY.fullmatch(path.name) is not None


def delete_temporary(folder: Path, name: str = "") -> None:
    """Delete the temporary files and folders that killed processes have left in a folder.

    *name*: that they would have got at the end; by default any. Hold their lock meanwhile.
    """
    wanted = re.compile(rf"\.{re.escape(name)}\.[0-9]+\.part") if name else _TEMPORARY
    for path in [path for path in folder.iterdir() if wanted.fullmatch(path.name)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path, lock: Path) -> Iterator[None]:
    """Hold a lock while the block writes to *folder*; delete the lock's file at the end.

    Raises ``FolderInUseError`` if another process holds it, OSError if the file cannot be made. A
    system without such locks, such as some network file systems, allows everything.
    """
    file = _locked(folder, lock)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(file)


def _locked(folder: Path, lock: Path) -> int:
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(file, folder)
            if _is_file_of(file, lock):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process has just ended, and deleted this file


def _lock(file: int, folder: Path) -> None:
    try:
        import fcntl  # noqa: PLC0415  Windows has none

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FolderInUseError(
            f"{folder}: another process is writing to it; wait until it has ended, or give another "
            "folder"
        ) from None
    except (ImportError, OSError):
        return


def _is_file_of(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def put(path: Path, content: bytes) -> None:
    """Write a file atomically: it is complete or absent."""
    with written_beside(path) as part:
        part.write_bytes(content)
