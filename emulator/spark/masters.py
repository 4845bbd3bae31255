"""Which master a session has, and whether it can be one: said before Spark waits for it."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping, Sequence

from emulator.spark.errors import SparkError

ON_THIS_MACHINE = "local[*]"

PATIENCE_S = 5.0
"""For a master, or a server, to take a connection; Spark itself would wait for minutes."""

STANDALONE = "spark://"
KUBERNETES = "k8s://"
CONNECT = "sc://"
REMOTE = "SPARK_REMOTE"
"""The variable that names a Spark Connect server."""

CONNECT_PORT = 15002
HTTPS_PORT = 443
YARN_SETTINGS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")

_KNOWN = re.compile(
    r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|local-cluster\[.+\]|spark://.+|yarn|k8s://.+"
)
_DECIDED = {"PYSPARK_GATEWAY_PORT": "spark-submit", REMOTE: REMOTE}


def master_to_set(environment: Mapping[str, str], wanted: str | None) -> str | None:
    """Return the master to set in code; None: it has been decided elsewhere.

    Raise SparkError if *wanted* contradicts what has been decided, is no master, or gives no answer.
    """
    for name, who in _DECIDED.items():
        if name in environment:
            if wanted is not None:
                raise SparkError(f"the master has been chosen by {who}; leave --master out")
            _look_at_remote(environment.get(REMOTE, ""))
            return None
    if wanted is not None:
        _look_at(wanted, environment)
    return wanted or ON_THIS_MACHINE


def is_decided(environment: Mapping[str, str]) -> bool:
    """Say whether spark-submit or Spark Connect has chosen where Spark is."""
    return any(name in environment for name in _DECIDED)


def is_local(master: str) -> bool:
    """Say whether workers are processes of this machine, started by Spark itself."""
    return master.partition("[")[0] == "local"


def _look_at(master: str, environment: Mapping[str, str]) -> None:
    if not _KNOWN.fullmatch(master):
        raise SparkError(
            f"--master {master}: no master; allowed are local[*], local[4], spark://host:7077, "
            "yarn and k8s://host:port"
        )
    if master == "yarn" and not any(environment.get(name) for name in YARN_SETTINGS):
        raise SparkError(
            "--master yarn: where YARN is stands in Hadoop's settings; let HADOOP_CONF_DIR name "
            "their folder"
        )
    if master.startswith(STANDALONE):
        _ask(f"--master {master}", master.removeprefix(STANDALONE).split(","))
    elif master.startswith(KUBERNETES):
        address = master.removeprefix(KUBERNETES).removeprefix("https://").removeprefix("http://")
        _ask(f"--master {master}", [_with_port(address.partition("/")[0], HTTPS_PORT)])


def _look_at_remote(remote: str) -> None:
    """Ask a Connect server; Spark's own client would go on asking for ten minutes."""
    if remote.startswith(CONNECT):
        address = re.split("[/;]", remote.removeprefix(CONNECT))[0]
        _ask(f"{REMOTE}={remote.partition(';')[0]}", [_with_port(address, CONNECT_PORT)])
    elif remote and not is_local(remote):
        raise SparkError(f"{REMOTE}={remote}: no address; expected such as sc://host:15002")


def _with_port(address: str, port: int) -> str:
    return address if re.search(r":\d+$", address) else f"{address}:{port}"


def _ask(who: str, addresses: Sequence[str]) -> None:
    """Raise SparkError if no address takes a connection."""
    reasons = list(_silent(addresses))
    if all(reasons):
        raise SparkError(f"{who}: no answer: {'; '.join(reasons)}")


def _silent(addresses: Sequence[str]) -> Iterator[str]:
    """Yield for each address why it gives no answer; empty if it does."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S):
                yield ""
        except (OSError, ValueError, OverflowError) as error:
            yield f"{address} ({getattr(error, 'strerror', None) or error})"
