"""Files at URIs, opened with pyarrow's file systems: ``s3://``, ``gs://``, and ``file://``.

Other file systems, such as ``hdfs://`` or ``s3a://``, are those of Hadoop, which Spark has.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final, cast

from emulator.logs.offsets_log.finding import LogFileError

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_LOCAL: Final = re.compile(r"file://", re.IGNORECASE)
_WITHOUT_JAVA: Final = re.compile(r"(s3|gs)://")
_SPARKS_OWN: Final = re.compile(r"^s3[an]://")

GS_PATIENCE: Final = "retry_limit_seconds=30"
"""Google's client would otherwise retry for 15 minutes."""


def is_uri(source: str) -> bool:
    """Return whether a source is a URI and no path."""
    return bool(_URI.match(source))


def is_remote(source: str) -> bool:
    """Return whether a path is a URI of another file system than this machine's."""
    return is_uri(source) and not _LOCAL.match(source)


def needs_java(uri: str) -> bool:
    """Return whether a remote URI needs Hadoop's file systems, which Spark has."""
    return not _WITHOUT_JAVA.match(uri)


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path in it; raise LogFileError if there is none."""
    import pyarrow as pa  # noqa: PLC0415  only for a URI
    from pyarrow import fs  # noqa: PLC0415

    target = _SPARKS_OWN.sub("s3://", uri)
    if target.startswith("gs://") and "retry_limit_seconds" not in target:
        target += f"{'&' if '?' in target else '?'}{GS_PATIENCE}"
    try:
        return cast("tuple[Any, str]", fs.FileSystem.from_uri(target))
    except (OSError, ValueError, pa.ArrowException) as error:
        raise LogFileError(uri, reason_unread(uri, error)) from None


def files_at(uri: str) -> tuple[bool, list[tuple[str, Any]]]:
    """Return whether a URI is a folder, and the URI and information of each file there.

    Raise LogFileError if nothing is there or it cannot be listed.
    """
    import pyarrow as pa  # noqa: PLC0415  only for a URI
    from pyarrow import fs  # noqa: PLC0415

    system, inner = file_system(uri)
    try:
        info = system.get_file_info(inner)
        if info.type is fs.FileType.NotFound:
            raise LogFileError(uri, "no such file or folder")
        is_folder = info.type is fs.FileType.Directory
        below = (
            system.get_file_info(fs.FileSelector(inner, recursive=True)) if is_folder else [info]
        )
    except (OSError, pa.ArrowException) as error:
        raise LogFileError(uri, reason_unread(uri, error)) from None
    base, root = uri.rstrip("/"), inner.rstrip("/")
    files = (each for each in below if each.type is fs.FileType.File)
    return is_folder, [(base + each.path.removeprefix(root), each) for each in files]


def reason_unread(uri: str, error: Exception) -> str:
    """Return in one line why something remote cannot be read."""
    words = getattr(error, "strerror", None) or str(error).partition("\n")[0]
    reason = f"cannot be read: {words.partition(' error_info=')[0]}"
    by_spark = "; without Spark only s3:// and gs:// can be read: omit `engine=pool`"
    return f"{reason}{by_spark if is_remote(uri) and needs_java(uri) else ''}"


def open_stream(source: Path | str) -> Any:
    """Open a file of this machine or at a URI as a stream, decompressed by its extension.

    Raise OSError if it cannot be opened, LogFileError if the URI has no file system.
    """
    import pyarrow as pa  # noqa: PLC0415  with the first file

    if isinstance(source, str) and is_uri(source):
        system, inner = file_system(source)
        return system.open_input_stream(inner, compression="detect")
    return pa.input_stream(str(source), compression="detect")
