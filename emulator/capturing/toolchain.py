"""What a capture needs from the machine: Java, Maven, Kafka's jars, and memory.

Kafka's jars are resolved by Maven from its own repositories. The list of their paths and the
compiled programs are kept in the user's cache folder; the jars stay where Maven has them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from emulator.errors import RefusedError

SOURCES = Path(__file__).parent / "java"
MIN_JAVA = 17
"""Kafka's servers need this version since 4.0."""

LOG4J = "2.25.5"
"""Log4j joins Kafka's logging to files; the published jars of Kafka do not bring all of it."""

NODE_MB, MEMBER_MB = 450, 170
"""Memory of a Kafka node and of a Java member, measured with the limits given to them."""

RESOLVE_S, COMPILE_S = 600, 120
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>emulator</groupId>
  <artifactId>capture</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{kafka}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{log4j}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-core</artifactId>
      <version>{log4j}</version>
    </dependency>
  </dependencies>
</project>
"""
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[A-Za-z0-9.]+)?")


class MachineError(RefusedError):
    """The machine lacks something that a capture needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """The programs of a capture."""

    kafka: str
    """The version of Kafka."""

    java: str
    classpath: str
    """Kafka's jars and the compiled programs."""

    def command(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
        """Return the command that runs a Java program."""
        return [self.java, *options, "-cp", self.classpath, main, *arguments]


def prepare(kafka: str, cache: Path | None = None) -> Toolchain:
    """Resolve Kafka's jars and compile the programs; raise MachineError if that fails."""
    if not _VERSION.fullmatch(kafka):
        raise MachineError(f"--kafka-version: {kafka!r} is not a version; expected such as 4.4.0")
    java, javac = _programs()
    folder = (cache or cache_folder()) / f"kafka-{kafka}"
    jars = _resolved(kafka, folder)
    classes = _compiled(javac, jars, folder)
    return Toolchain(kafka=kafka, java=java, classpath=os.pathsep.join([str(classes), jars]))


def cache_folder() -> Path:
    """Return the folder for what can be made again at any time."""
    given = os.environ.get("XDG_CACHE_HOME")
    return (Path(given) if given else Path.home() / ".cache") / "rebalance-emulator"


def _programs() -> tuple[str, str]:
    java, javac = shutil.which("java"), shutil.which("javac")
    if java is None or javac is None:
        missing = "java" if java is None else "javac"
        raise MachineError(
            f"{missing} was not found; a capture needs a JDK of version {MIN_JAVA} or newer"
        )
    said = subprocess.run([javac, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r"javac (\d+)", said.stdout + said.stderr)
    if match is None or int(match[1]) < MIN_JAVA:
        found = match[1] if match else "unknown"
        raise MachineError(f"the JDK has version {found}; a capture needs {MIN_JAVA} or newer")
    return java, javac


def _resolved(kafka: str, folder: Path) -> str:
    """Return the class path of Kafka's server, resolved by Maven if it is not known yet."""
    pom = POM.format(kafka=kafka, log4j=LOG4J)
    listed = folder / f"classpath-{_digest(pom.encode())}.txt"
    if listed.exists():
        jars = listed.read_text().strip()
        if jars and all(Path(jar).exists() for jar in jars.split(os.pathsep)):
            return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise MachineError("mvn was not found; a capture gets Kafka's jars through Apache Maven")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(pom)
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={listed}", "-DincludeScope=runtime"]
    ran = _run(
        [maven, "-q", "-B", "-Dstyle.color=never", "-f", str(folder / "pom.xml"), *goal], RESOLVE_S
    )
    if ran.returncode or not listed.exists():
        raise MachineError(_unresolved(kafka, ran.stdout))
    return listed.read_text().strip()


def _unresolved(kafka: str, said: str) -> str:
    reasons = [line.removeprefix("[ERROR] ") for line in said.splitlines() if "[ERROR]" in line]
    reason = reasons[0][:300] if reasons else "no reason given"
    return (
        f"Maven cannot resolve Kafka {kafka}: {reason}; name a version that your repository has"
        " with --kafka-version"
    )


def _compiled(javac: str, jars: str, folder: Path) -> Path:
    """Return the folder of the compiled programs; compile them if their text has changed.

    The dump of the offsets log uses internal classes of Kafka: with a version that has others,
    there is none.
    """
    sources, dump = sorted(SOURCES.glob("*.java")), sorted((SOURCES / "dump").glob("*.java"))
    classes = folder / f"classes-{_digest(b''.join(s.read_bytes() for s in (*sources, *dump)))}"
    if (classes / "complete").exists():
        return classes
    classes.mkdir(parents=True, exist_ok=True)
    command = [javac, "-nowarn", "-cp", jars, "-d", str(classes)]
    ran = _run([*command, *map(str, sources)], COMPILE_S)
    if ran.returncode:
        raise MachineError(f"the traced consumer does not compile: {ran.stdout.strip()[:600]}")
    _run([*command, *map(str, dump)], COMPILE_S)
    (classes / "complete").touch()
    return classes


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _run(command: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        program = Path(command[0]).name
        raise MachineError(f"{program} did not end within {limit_s:.0f} s") from None


def check_memory(nodes: int, members: int) -> None:
    """Raise MachineError if the machine has too little free memory; unknown is enough."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return
    match = re.search(r"MemAvailable:\s+(\d+) kB", meminfo.read_text())
    needed = nodes * NODE_MB + members * MEMBER_MB
    if match is not None and int(match[1]) // 1024 < needed:
        raise MachineError(
            f"{int(match[1]) // 1024} MB of memory are free; {nodes} Kafka nodes and {members}"
            f" members need about {needed} MB"
        )
