"""A Kafka cluster in KRaft mode on the loopback interface: one controller and its brokers."""

from __future__ import annotations

import base64
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from emulator.capturing.children import Children, end, send
from emulator.capturing.toolchain import SOURCES, MachineError, Toolchain

CONTROLLER = 100
"""The node id of the controller; brokers have 1, 2, …"""

HOST = "127.0.0.1"
HEAP = ("-Xms96m", "-Xmx320m")
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dfile.encoding=UTF-8")
START_S = 90.0

_CLUSTER = {
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "9000",
    "controlled.shutdown.enable": "true",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "log.cleaner.io.buffer.size": "65536",
    "log.cleaner.threads": "1",
    "log.index.size.max.bytes": "1048576",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "offsets.topic.num.partitions": "50",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What distinguishes one cluster from another."""

    brokers: int
    settings: tuple[tuple[str, str], ...] = ()
    """Kafka's broker settings, the same on every broker."""

    racks: tuple[str, ...] = ()


@dataclass(slots=True)
class Node:
    """One node of the cluster."""

    id: int
    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class Cluster:
    """A cluster that is running."""

    toolchain: Toolchain
    layout: Layout
    children: Children
    nodes: Mapping[int, Node] = field(default_factory=dict)

    @property
    def bootstrap(self) -> str:
        """Return the addresses of the brokers."""
        ports = (node.port for node in self.nodes.values() if node.id != CONTROLLER)
        return ",".join(f"{HOST}:{port}" for port in ports)

    def start(self, number: int) -> None:
        """Start a node; it serves some seconds later."""
        node = self.nodes[number]
        logging = SOURCES / "broker-log.properties"
        options = (
            *HEAP,
            *JVM,
            f"-Dlog.node={number}",
            f"-Dlog.folder={node.folder}",
            f"-Dlog4j2.configurationFile={logging}",
        )
        command = self.toolchain.command(
            "Node", str(node.folder / "server.properties"), options=options
        )
        node.process = self.children.start(command, node.folder / "output.log")

    def kill(self, number: int) -> None:
        """Kill a broker's process."""
        process = self.nodes[number].process
        if process is not None:
            end(process)

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to a broker's process."""
        process = self.nodes[number].process
        if process is not None:
            send(process, what)

    def stopped(self, number: int) -> bool:
        """Return whether a broker's process has ended."""
        process = self.nodes[number].process
        return process is None or process.poll() is not None

    def repair(self) -> None:
        """Start the nodes that do not run, and let paused ones continue."""
        for node in self.nodes.values():
            if node.process is not None and node.process.poll() is None:
                send(node.process, signal.SIGCONT)
            else:
                self.start(node.id)
                wait_for_port(node)

    def log_lines(self, text: str, since: Mapping[int, int]) -> list[str]:
        """Return the coordinators' log lines that contain a text, in order of time.

        *since*: the size of each node's log before.
        """
        lines = []
        for node in self.nodes.values():
            log = node.folder / "coordinator.log"
            if log.exists():
                with log.open("rb") as file:
                    file.seek(since.get(node.id, 0))
                    said = file.read().decode(errors="replace").splitlines()
                lines += [line for line in said if text in line]
        return sorted(lines, key=lambda line: int(line.split(" ", 2)[1]))

    def log_sizes(self) -> dict[int, int]:
        """Return the present size of each node's log."""
        logs = {node.id: node.folder / "coordinator.log" for node in self.nodes.values()}
        return {number: log.stat().st_size for number, log in logs.items() if log.exists()}


@contextmanager
def running_cluster(toolchain: Toolchain, layout: Layout, folder: Path) -> Iterator[Cluster]:
    """Start a cluster in an empty folder; end all of it when the context is left."""
    with Children() as children:
        cluster = Cluster(toolchain, layout, children)
        cluster.nodes = _nodes(layout, folder)
        _format(cluster)
        for number in cluster.nodes:
            cluster.start(number)
        for node in cluster.nodes.values():
            wait_for_port(node)
        yield cluster


def _nodes(layout: Layout, folder: Path) -> dict[int, Node]:
    """Write the settings of all nodes."""
    ids = [CONTROLLER, *range(1, layout.brokers + 1)]
    ports = free_ports(len(ids))
    nodes = {}
    for number, port in zip(ids, ports, strict=True):
        home = folder / f"node-{number}"
        home.mkdir(parents=True)
        nodes[number] = Node(number, port, home)
        settings = node_settings(layout, nodes[number], ports[0])
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        (home / "server.properties").write_text(text)
    return nodes


def node_settings(layout: Layout, node: Node, controller_port: int) -> dict[str, str]:
    """Return the ``server.properties`` of a node."""
    common = {
        "node.id": str(node.id),
        "controller.quorum.voters": f"{CONTROLLER}@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(node.folder / "data"),
        **_replication(layout.brokers),
        **_CLUSTER,
        **dict(layout.settings),
    }
    if node.id == CONTROLLER:
        own = {"process.roles": "controller", "listeners": f"CONTROLLER://{HOST}:{node.port}"}
        return {**common, **own}
    address = f"PLAINTEXT://{HOST}:{node.port}"
    own = {"process.roles": "broker", "listeners": address, "advertised.listeners": address}
    if layout.racks:
        own["broker.rack"] = layout.racks[(node.id - 1) % len(layout.racks)]
    return {**common, **own}


def _replication(brokers: int) -> dict[str, str]:
    copies = min(3, brokers)
    return {
        "default.replication.factor": str(copies),
        "min.insync.replicas": str(max(1, copies - 1)),
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(max(1, copies - 1)),
    }


def free_ports(count: int) -> list[int]:
    """Return ports of the loopback interface that no process listens on."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def new_cluster_id(draw: Callable[[int], bytes] = os.urandom) -> str:
    """Return a random id that can be an argument: like Kafka's own, none begins with a hyphen."""
    while (drawn := base64.urlsafe_b64encode(draw(16)).decode().rstrip("=")).startswith("-"):
        pass
    return drawn


def _format(cluster: Cluster) -> None:
    """Format the nodes' storage with Kafka's own tool, all at a time."""
    cluster_id = new_cluster_id()
    begun = []
    for node in cluster.nodes.values():
        settings = str(node.folder / "server.properties")
        arguments = ("format", "--cluster-id", cluster_id, "--config", settings)
        command = cluster.toolchain.command("kafka.tools.StorageTool", *arguments, options=JVM)
        output = node.folder / "format.log"
        begun.append((cluster.children.start(command, output), output))
    for process, output in begun:
        if process.wait(START_S):
            raise MachineError(f"Kafka's storage tool failed: {_last_words(output)}")


def wait_for_port(node: Node) -> None:
    """Wait until a node listens; raise MachineError if its process ends or takes too long."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if node.process is None or node.process.poll() is not None:
            break
        try:
            socket.create_connection((HOST, node.port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    said = _last_words(node.folder / "node.log", node.folder / "output.log")
    raise MachineError(f"Kafka's node {node.id} did not start: {said}")


def _last_words(*logs: Path) -> str:
    said: Sequence[str] = [
        line for log in logs if log.exists() for line in log.read_text().splitlines() if line
    ]
    return " | ".join(said[-3:])[-600:] or "it said nothing"
