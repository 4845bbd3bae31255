"""A real Kafka broker on loopback: from its published jars, through the machine's Maven."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

KAFKA = "4.3.1"
"""The newest of which all jars are published."""

POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>broker</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="secret";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={logs}
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.partitions=3
"""
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
MAX_S = 300
START_S = 60


@dataclass(frozen=True)
class Broker:
    """A broker that runs."""

    bootstrap: str
    sasl: str
    """Address of the listener on which ``reader`` has no rights; its
    password is ``secret``."""

    logs: Path
    classpath: str

    def dumped(self, segment: Path) -> list[str]:
        """Return what Kafka's own tool prints about a segment."""
        tool = ["java", "-cp", self.classpath, "org.apache.kafka.tools.DumpLogSegments"]
        options = ["--offsets-decoder", "--deep-iteration", "--files", str(segment)]
        done = subprocess.run(
            [*tool, *options], capture_output=True, text=True, check=True, timeout=MAX_S
        )
        return done.stdout.splitlines()


def classpath(folder: Path) -> str:
    """Return where Java finds the broker; Maven fetches it into its own cache."""
    missing = [name for name in ("java", "mvn") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on this machine")
    (folder / "pom.xml").write_text(POM.format(version=KAFKA))
    goal = ["mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath.txt"]
    try:
        done = subprocess.run(
            goal, cwd=folder, capture_output=True, text=True, timeout=MAX_S, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"Maven did not fetch Kafka {KAFKA} within {MAX_S} s")
    if done.returncode:
        pytest.skip(f"Maven cannot fetch Kafka {KAFKA}: no network?")
    return (folder / "classpath.txt").read_text().strip()


def free_port() -> int:
    """Return a port without a listener."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@contextmanager
def running(folder: Path) -> Iterator[Broker]:
    """Start a broker whose data lie in a folder; end it, and it alone."""
    path = classpath(folder)
    ports = {name: free_port() for name in ("plain", "sasl", "controller")}
    properties, logs = folder / "server.properties", folder / "logs"
    properties.write_text(PROPERTIES.format(logs=logs, **ports))
    java = ["java", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path]
    storage = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties)]
    subprocess.run(storage, cwd=folder, capture_output=True, check=True, timeout=MAX_S)
    with (folder / "broker.out").open("wb") as out:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], cwd=folder, stdout=out, stderr=out
        )
    try:
        _wait(f"127.0.0.1:{ports['plain']}", process, folder / "broker.out")
        yield Broker(f"127.0.0.1:{ports['plain']}", f"127.0.0.1:{ports['sasl']}", logs, path)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(bootstrap: str, process: subprocess.Popen[bytes], out: Path) -> None:
    """Wait until the broker answers."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    end = monotonic() + START_S
    while monotonic() < end and process.poll() is None:
        try:
            admin.list_topics(timeout=1)
        except KafkaException:
            continue
        return
    pytest.fail(f"the broker does not start: {out.read_text()[-2_000:]}")
