"""Which master a session has, and whether it can be one: said before Spark waits for it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping

from emulator.pipeline.errors import SparkError

ON_THIS_MACHINE = "local[*]"

PATIENCE_S = 5.0
"""For a master of Spark's own to take a connection; Spark itself would wait a minute."""

STANDALONE = "spark://"

_KNOWN = re.compile(
    r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|local-cluster\[.+\]|spark://.+|yarn|k8s://.+"
)
_DECIDED = {"PYSPARK_GATEWAY_PORT": "spark-submit", "SPARK_REMOTE": "SPARK_REMOTE"}


def master_to_set(environment: Mapping[str, str], wanted: str | None) -> str | None:
    """Return the master to set in code; None: it has been decided elsewhere.

    Raise SparkError if *wanted* contradicts what has been decided, is no master, or gives no answer.
    """
    for name, who in _DECIDED.items():
        if name in environment:
            if wanted is not None:
                raise SparkError(f"the master has been chosen by {who}; leave --master out")
            return None
    if wanted is not None:
        _look_at(wanted)
    return wanted or ON_THIS_MACHINE


def is_decided(environment: Mapping[str, str]) -> bool:
    """Say whether spark-submit or Spark Connect has chosen where Spark is."""
    return any(name in environment for name in _DECIDED)


def is_local(master: str) -> bool:
    """Say whether workers are processes of this machine, started by Spark itself."""
    return master.partition("[")[0] == "local"


def _look_at(master: str) -> None:
    if not _KNOWN.fullmatch(master):
        raise SparkError(
            f"--master {master}: no master; allowed are local[*], local[4], spark://host:7077, "
            "yarn and k8s://host:port"
        )
    if master.startswith(STANDALONE):
        reasons = list(_silent(master))
        if all(reasons):
            raise SparkError(f"--master {master}: no answer: {'; '.join(filter(None, reasons))}")


def _silent(master: str) -> Iterator[str]:
    """Yield for each address why it gives no answer; empty if it does."""
    for address in master.removeprefix(STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S):
                yield ""
        except (OSError, ValueError, OverflowError) as error:
            yield f"{address} ({getattr(error, 'strerror', None) or error})"
