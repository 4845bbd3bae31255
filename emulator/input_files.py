"""Read whole input files up to a size, so that none fills the memory.

The limits are far above real files. ``--max-file-size``, or :func:`limit_files`, replaces them.

Files that an input names must be in its own folder or below it: an input from somebody else could
otherwise show what is in any file. ``--files-in``, or :func:`allow_files`, adds folders.
"""

from __future__ import annotations

import codecs
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from assignors.errors import EmulatorError

MAX_TOML_BYTES: Final = 4 * 2**20
"""Of a scenario, a study, and the files that a scenario names."""

MAX_CAPTURED_BYTES: Final = 64 * 2**20
"""Of a file of a captured run, unpacked."""

MAX_LINE_BYTES: Final = 64 * 2**20
"""Of a line with a question of ``rebalance assign``."""

_GZIP_WINDOW: Final = 31
_PIECE_BYTES: Final = 2**16

_given: int | None = None
_folders: list[Path] = []


def each_path(given: str | Path | Sequence[str | Path]) -> tuple[str, ...]:
    """Return the paths, or URIs, of an argument that takes one or several."""
    return tuple(map(str, [given] if isinstance(given, str | Path) else given))


class FileTooLargeError(EmulatorError):
    """An input file is larger than is read."""


def limit_files(max_bytes: int | None) -> None:
    """Read files of up to *max_bytes* in this process; None: the default of each kind of file."""
    global _given  # noqa: PLW0603  one limit for the process
    _given = max_bytes


def allow_files(*folders: str | Path) -> None:
    """Let inputs that this process reads name files in *folders*, too."""
    _folders.extend(Path(os.path.realpath(folder)) for folder in folders)


def file_in(folder: Path, name: str) -> Path:
    """Return the path of a file that an input in *folder* names.

    Raises ValueError if it is neither in the folder or below it, nor in a folder that is allowed, or
    if it is a named pipe; symbolic links are followed.
    """
    path = Path(os.path.realpath(folder / name))
    own = Path(os.path.realpath(folder))
    if not any(path.is_relative_to(each) for each in (own, *_folders)):
        raise ValueError(
            f"outside the folder {own}; copy the file there, or allow its folder with "
            f"`files_in={path.parent}`"
        )
    refuse_pipe(path)
    return folder / name


def refuse_pipe(path: Path) -> None:
    """Raise ValueError for a named pipe: reading it would wait until something is written to it.

    Files that the user names may be pipes, such as the output of another command.
    """
    with suppress(OSError):  # of a path that cannot be looked up: opening it says why
        if path.is_fifo():
            raise ValueError("a named pipe, which may never end; copy its content to a file")


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists; one that cannot be looked up does not.

    ``Path.exists`` raises if the name is too long, or a folder may not be searched.
    """
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def nearest_file(path: Path) -> str:
    """Return ``; did you mean …?`` with the file beside a missing one whose name is closest, if any.

    The same name with an ending is the closest.
    """
    from difflib import get_close_matches  # noqa: PLC0415  only for errors

    try:
        names = sorted(each.name for each in path.parent.iterdir() if each.is_file())
    except OSError:
        return ""
    ended = [name for name in names if name.startswith(f"{path.name}.")]
    close = ended[:1] or get_close_matches(path.name, names, 1)
    return "".join(f"; did you mean {path.with_name(near)}?" for near in close)


def read_bytes(path: str | Path, max_bytes: int = MAX_TOML_BYTES) -> bytes:
    """Return the content of a file; raise FileTooLargeError if it is too large, and OSError."""
    with Path(path).open("rb") as opened:
        return read_stream(opened, str(path), max_bytes)


def object_in(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file that tells what its folder is; empty: it has none that can be read."""
    try:
        refuse_pipe(path)
        found = json.loads(read_bytes(path, MAX_CAPTURED_BYTES))
    except (OSError, ValueError, RecursionError, FileTooLargeError):
        return {}
    return found if isinstance(found, dict) else {}


def utf8_text(content: bytes) -> str:
    """Return the text of a file; raise ValueError if it is not UTF-8, with or without a mark."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"not UTF-8 at byte {error.start}"
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            where = "not UTF-8 but UTF-16, as PowerShell's > writes it"
        raise ValueError(f"{where}; save it as UTF-8") from None


def read_stream(opened: BinaryIO, name: str, max_bytes: int = MAX_TOML_BYTES) -> bytes:
    """Return the rest of an open file; *name*: for the error if it is too large."""
    most = max_bytes if _given is None else _given
    content = opened.read(most + 1)
    if len(content) > most:
        raise _too_large(name, most, "")
    return content


def lines_of(opened: BinaryIO, name: str, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
    """Yield the lines of an open file with their ends; raise FileTooLargeError for a longer one."""
    most = max_bytes if _given is None else _given
    while line := opened.readline(most + 1):
        if len(line) > most:
            raise _too_large(f"a line of {name}", most, "")
        yield line


def unpacked(packed: bytes, name: str, max_bytes: int) -> bytes:
    """Return the content of a gzip file.

    Raises FileTooLargeError as soon as it exceeds the limit, EOFError if the file ends too early,
    and ``zlib.error`` if it is damaged.
    """
    most = max_bytes if _given is None else _given
    content, at, stream = bytearray(), 0, zlib.decompressobj(wbits=_GZIP_WINDOW)
    while at < len(packed):
        if stream.eof:
            stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
        piece = packed[at : at + _PIECE_BYTES]
        at += len(piece)
        while piece and not stream.eof:
            content += stream.decompress(piece, most - len(content) + 1)
            if len(content) > most:
                raise _too_large(name, most, " unpacked")
            piece = stream.unconsumed_tail
        at -= len(stream.unused_data)
    if not stream.eof:
        raise EOFError("the gzip file ends before its end mark")
    return bytes(content)


def _too_large(name: str, most: int, how: str) -> FileTooLargeError:
    return FileTooLargeError(
        f"{name}: larger than {most:,} bytes{how}, the limit for such a file; `max_file_size` raises it"
    )
