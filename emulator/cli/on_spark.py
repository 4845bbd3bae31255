"""Spark as commands have it: refused where it makes no sense, started, and told when it breaks off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emulator.errors import RefusedError

if TYPE_CHECKING:
    from emulator.spark.session import Session


def refuse_master_without_spark(engine: str, master: str | None) -> None:
    """Raise RefusedError where processes are asked for, and a master of Spark's."""
    if engine == "pool" and master:
        raise RefusedError("--master is Spark's, and --engine pool takes no Spark; leave one out")


def where_it_runs(master: str | None, *, is_decided: bool) -> str:
    """Return Spark and its place, as far as the user knows; *is_decided*: it was chosen elsewhere."""
    where = master or ("" if is_decided else "this machine's cores")
    return f"Spark{f' on {where}' if where else ''}"


@contextmanager
def spark(
    title: str, master: str | None, settings: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Start Spark; raise RefusedError if it does not start, or breaks off."""
    from emulator.spark.errors import SparkError
    from emulator.spark.session import open_session

    try:
        with open_session(title, master=master, settings=settings) as session:
            yield session
    except SparkError as error:
        raise RefusedError(f"--engine spark: {error}") from None
