"""The members of a run: one traced process for each start of a member."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emulator.capturing import children
from emulator.capturing.cluster import JVM, Cluster
from emulator.capturing.plan import MemberPlan
from emulator.capturing.toolchain import SOURCES
from emulator.capturing.traces import TraceTail

ROOT = Path(__file__).parents[2]
"""The folder of the package, where the Python members import it from."""

HEAP = ("-Xms32m", "-Xmx128m")


@dataclass(slots=True)
class Incarnation:
    """One process of a member."""

    member: str
    number: int
    process: subprocess.Popen[bytes]
    tail: TraceTail

    @property
    def name(self) -> str:
        """The member and the number of its start, ``m1.2``."""
        return f"{self.member}.{self.number}"

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None


@dataclass(slots=True)
class Members:
    """Starts the members of a run and sends them signals."""

    cluster: Cluster
    plans: Mapping[str, MemberPlan]
    group: str
    folder: Path
    """Where traces and logs are written."""

    incarnations: list[Incarnation] = field(default_factory=list)
    _kafka: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def start(
        self, member: str, settings: Mapping[str, str] | None = None, unset: tuple[str, ...] = ()
    ) -> Incarnation:
        """Start a process of a member, with the settings of its last run unless some are given."""
        plan = self.plans[member]
        if settings or unset:
            kept = {name: value for name, value in plan.kafka.items() if name not in unset}
            self._kafka[member] = {**kept, **(settings or {})}
        number = 1 + sum(each.member == member for each in self.incarnations)
        path = self.folder / f"{member}.{number}"
        conf = member_conf(plan, self.group, self._kafka.get(member, plan.kafka))
        process = self.cluster.children.start(
            self._command(plan, conf, path), Path(f"{path}.out"), {"PYTHONPATH": _python_path()}
        )
        begun = Incarnation(member, number, process, TraceTail(Path(f"{path}.jsonl")))
        self.incarnations.append(begun)
        return begun

    def _command(self, plan: MemberPlan, conf: Mapping[str, str], path: Path) -> list[str]:
        Path(f"{path}.log").touch()
        if plan.lib is not None:
            Path(f"{path}.json").write_text(json.dumps(conf))
            program = ["-m", "emulator.capturing.clients"]
            files = [f"{path}.{end}" for end in ("json", "jsonl", "log")]
            return [sys.executable, *program, *files, self.cluster.bootstrap]
        Path(f"{path}.properties").write_text(properties(conf))
        options = (
            *HEAP,
            *JVM,
            f"-Dbootstrap={self.cluster.bootstrap}",
            f"-Dlog.file={path}.log",
            f"-Dlog4j2.configurationFile={SOURCES / 'member-log.properties'}",
        )
        files = [f"{path}.properties", f"{path}.jsonl"]
        return self.cluster.toolchain.command("TracedConsumer", *files, options=options)

    def latest(self, member: str) -> Incarnation | None:
        """Return the last started process of a member."""
        return next((i for i in reversed(self.incarnations) if i.member == member), None)

    def living(self) -> list[Incarnation]:
        """Return the processes that run."""
        return [each for each in self.incarnations if each.runs]

    def signal(self, member: str, what: signal.Signals) -> None:
        """Send a signal to the last process of a member."""
        latest = self.latest(member)
        if latest is not None:
            children.send(latest.process, what)

    def hang(self, member: str, ms: int) -> None:
        """Make a member's handler hang on its next record."""
        latest = self.latest(member)
        if latest is not None:
            children.order(latest.process, f"hang {ms}")

    def end_all(self) -> None:
        """Kill the processes that still run."""
        for each in self.incarnations:
            children.end(each.process)

    def read(self) -> None:
        """Read what the traces have got since the last call."""
        for each in self.incarnations:
            each.tail.read()


def member_conf(plan: MemberPlan, group: str, kafka: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a member starts with; topics have the prefix of the run."""
    prefix = prefix_of(group)
    conf = {"strip": prefix, **plan.application}
    if plan.pattern is not None:
        conf["pattern"] = prefix.replace(".", "\\.") + f"(?:{plan.pattern})"
    else:
        conf["topics"] = ",".join(prefix + topic for topic in plan.topics)
    conf |= {"c.group.id": group, "c.client.id": plan.id}
    return conf | {f"c.{name}": value for name, value in kafka.items()}


def _python_path() -> str:
    """Return where Python members import from: this package first."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(ROOT), *([given] if given else [])])


def prefix_of(group: str) -> str:
    """Return the prefix of a run's topics."""
    return f"{group}."


def properties(conf: Mapping[str, str]) -> str:
    """Return settings as a Java properties file."""
    lines = (f"{name}={value}".replace("\\", "\\\\") for name, value in conf.items())
    return "".join(f"{line}\n" for line in lines)
