"""Our packages as one zip file, for executors that have not installed them."""

from __future__ import annotations

import importlib.util
import marshal
import py_compile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import assignors
import emulator
import protocols

ROOMS = (assignors, emulator, protocols)
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in it: the same sources give the same bytes."""


def write_zip(path: Path) -> Path:
    """Write the packages, compiled beside their sources, and return where they are.

    An executor with another version of Python takes the sources.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, source in sources():
            _add(archive, name, source)
            if source.suffix == ".py":
                _add_compiled(archive, name, source)
    return path


def sources() -> Iterator[tuple[str, Path]]:
    """Yield every file of our packages, with its name in the zip file."""
    for room in ROOMS:
        root = Path(room.__file__ or "").parent
        for path in sorted(root.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(root.parent).as_posix(), path


def _add(archive: zipfile.ZipFile, name: str, source: Path) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, source.read_bytes())


def _add_compiled(archive: zipfile.ZipFile, name: str, source: Path) -> None:
    """Compile as Python does for a zip file: beside the source, and not checked against it."""
    content = source.read_bytes()
    try:
        code = compile(content, name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise py_compile.PyCompileError(type(error), error, name) from None
    digest = importlib.util.source_hash(content)
    unchecked = 0b01.to_bytes(4, "little")
    head = importlib.util.MAGIC_NUMBER + unchecked + digest
    info = zipfile.ZipInfo(f"{name}c", EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, head + marshal.dumps(code))
