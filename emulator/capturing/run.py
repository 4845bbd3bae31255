"""One run of an experiment on a running cluster, from its topics to its files."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from emulator.capturing.admin import Admin
from emulator.capturing.clock import now_us, sleep_us
from emulator.capturing.cluster import Cluster
from emulator.capturing.files import write_run
from emulator.capturing.live import LiveRun, Made, OnProgress
from emulator.capturing.members import Members, prefix_of
from emulator.capturing.plan import Do, MemberPlan, Plan, TopicPlan
from emulator.capturing.production import Producer, Stream, tick_ns
from emulator.capturing.steps import Player
from emulator.capturing.temporary import temporary_folder
from emulator.capturing.traces import is_formed, next_offsets, owners
from protocols.offsets_topic import partition_for

TURN_US = 2_000
READ_EVERY_US = 50_000
SEGMENT_MS = "1000"
BOOT_S, ACTIONS_S, DRAIN_S, CLOSE_S = 30, 90, 90, 45
"""How long members may take to start, actions to end, all records to be read, members to close."""


def capture_run(plan: Plan, number: int, cluster: Cluster, folder: Path, say: OnProgress) -> Made:
    """Run an experiment once and write it to ``folder/run-NUMBER``.

    The run's number is its seed. The files appear at once, when the run is complete.
    """
    target = folder / f"run-{number}"
    with temporary_folder("run-") as temporary:
        run = _begin(plan, number, cluster, temporary)
        log_sizes = cluster.log_sizes()
        try:
            _play(run, say)
            say("reading the rest")
            _drain(run)
        finally:
            run.probe.stop()
            run.producer.stop()
            run.members.end_all()
        write_run(run, target, log_sizes)
    return Made(path=target, error=run.error, noisy=run.meta["noise"]["noisy"])


def _begin(plan: Plan, number: int, cluster: Cluster, folder: Path) -> LiveRun:
    """Create the topics and their backlogs."""
    group = f"{plan.name}-{number}-{os.urandom(3).hex()}"
    admin = Admin.connect(cluster.bootstrap)
    members = Members(cluster, {member.id: member for member in plan.members}, group, folder)
    player = Player(
        members=members,
        cluster=cluster,
        find_coordinator=lambda: admin.coordinator(group),
        on_topic=lambda step: _on_topic(run, step),
        start_us=0,
        seed=number,
    )
    acks = "1" if any(topic.acks == "1" for topic in plan.topics) else "all"
    producer = Producer(cluster.bootstrap, acks)
    meta: dict[str, Any] = {"scenario": plan.name, "run": number, "group": group}
    run = LiveRun(
        plan=plan,
        number=number,
        seed=number,
        cluster=cluster,
        admin=admin,
        group=group,
        members=members,
        producer=producer,
        player=player,
        meta=meta | {"prefix": prefix_of(group), "seed": number},
    )
    meta = run.meta
    meta["offsets_partition"] = partition_for(group)
    producer.start()
    for topic in plan.topics:
        if not topic.late:
            _create(run, topic)
    return run


def _remember(run: LiveRun, topic: TopicPlan) -> None:
    """Keep how records were produced to a topic of this name that was deleted."""
    stream = run.streams.pop(topic.name, None)
    if stream is not None:
        run.meta.setdefault("former", []).append(
            {
                "topic": topic.name,
                "partitions": topic.partitions,
                "preload": topic.preload,
                "t_created": run.created_us[topic.name],
                "t_start": stream.start_us,
                "tick_ns": stream.tick_ns,
                "t_stop": max(stream.start_us, stream.stop_us),
            }
        )


def _create(run: LiveRun, topic: TopicPlan) -> None:
    name = run.prefix + topic.name
    run.created_us[topic.name] = now_us()
    run.admin.create_topic(name, topic.partitions, topic.replicas, _config(topic))
    run.partitions[topic.name] = topic.partitions
    run.producer.preload(name, topic.partitions, topic.preload, topic.record_bytes)


def _config(topic: TopicPlan) -> dict[str, str]:
    """Return a topic's own settings; only segments that are no longer written to can be deleted."""
    if topic.retention_us is None:
        return {}
    return {"retention.ms": str(topic.retention_us // 1_000), "segment.ms": SEGMENT_MS}


def _produce(run: LiveRun, topic: TopicPlan, key: str, first: int, to: int, from_us: int) -> None:
    """Begin to produce to partitions of a topic."""
    until = run.plan.length_us if topic.until_us is None else topic.until_us
    start = max(from_us, run.player.start_us + topic.from_us)
    stream = Stream(
        topic=run.prefix + topic.name,
        first=first,
        to=to,
        tick_ns=tick_ns(topic.rate or 1e-6, to - first),
        start_us=start,
        stop_us=(run.player.start_us + until) if topic.rate else start - 1,
        record_bytes=topic.record_bytes,
    )
    run.streams[key] = stream
    run.producer.add(stream)


def _on_topic(run: LiveRun, step: Do) -> None:
    topic = run.topic(step.target)
    if step.action == "maketopic":
        _remember(run, topic)
        _create(run, topic)
        _produce(run, topic, topic.name, 0, topic.partitions, now_us())
    elif step.action == "deltopic":
        run.admin.delete_topics([run.prefix + topic.name])
        run.streams[topic.name].stop_us = now_us()
    else:
        first = run.partitions[topic.name]
        run.admin.add_partitions(run.prefix + topic.name, step.value)
        run.partitions[topic.name] = step.value
        _produce(run, topic, f"{topic.name}+", first, step.value, now_us())


# -- the run -----------------------------------------------------------------------------------


def _play(run: LiveRun, say: OnProgress) -> None:
    """Start the members, and play all faults and acts."""
    run.probe.start()
    say("members start")
    run.meta["t_members_start"] = now_us()
    waiting = _start_first(run)
    start = run.player.start_us = now_us()
    for topic in run.plan.topics:
        if not topic.late:
            _produce(run, topic, topic.name, 0, topic.partitions, start)
    for track in run.plan.tracks:
        run.player.add(track)
    read_us = 0
    end = start + run.plan.length_us
    while now_us() < end or not run.player.done:
        if now_us() > end + ACTIONS_S * 1_000_000:
            run.error = f"an action had not ended {ACTIONS_S} s after the end of the run"
            return
        while waiting and now_us() >= start + (waiting[0].start_us or 0):
            run.members.start(waiting.pop(0).id)
        if now_us() >= read_us + READ_EVERY_US:
            read_us = now_us()
            _look(run, formed_by=len(waiting), say=say)
        run.player.turn()
        sleep_us(TURN_US)


def _start_first(run: LiveRun) -> list[MemberPlan]:
    """Start the first members, wait until their programs run, and return the later ones.

    The time of an experiment begins then: how long a virtual machine takes to start is no part
    of it.
    """
    started = [member for member in run.plan.members if member.start_us is not None]
    later = sorted((m for m in started if m.start_us), key=lambda m: (m.start_us, m.id))
    for member in started:
        if member.start_us == 0:
            run.members.start(member.id)
    deadline = now_us() + BOOT_S * 1_000_000
    while now_us() < deadline and not all(i.tail.last_us for i in run.members.incarnations):
        sleep_us(TURN_US)
        run.members.read()
    return later


def _look(run: LiveRun, formed_by: int, say: OnProgress) -> None:
    """Read the traces; note when the group has formed."""
    run.members.read()
    if "t_formed" in run.meta or formed_by or run.player.actions:
        return
    tails = [each.tail for each in run.members.incarnations]
    if is_formed(tails, _partitions(run)):
        run.meta["t_formed"] = max(tail.last_us for tail in tails)
        run.meta["coord"] = {"coord": run.admin.coordinator(run.group)}
        run.meta["steady_owned"] = {
            each.member: sorted(each.tail.owned) for each in run.members.incarnations
        }
        say("the group has formed")


def _partitions(run: LiveRun) -> list[str]:
    return [f"{topic}-{p}" for topic, count in run.partitions.items() for p in range(count)]


def _drain(run: LiveRun) -> None:
    """Let the members read what was produced, then close them."""
    run.producer.stop()
    produced = {
        topic: run.admin.ends(run.prefix + topic, count)
        for topic, count in run.partitions.items()
        if not _deleted(run, topic)
    }
    run.meta["ends"] = {
        f"{topic}-{p}": end for topic, ends in produced.items() for p, end in enumerate(ends)
    }
    deadline = now_us() + DRAIN_S * 1_000_000
    while (unread := _unread(run)) and now_us() < deadline and run.members.living():
        sleep_us(READ_EVERY_US)
    living = [(each.name, each.tail) for each in run.members.living()]
    owned = owners(living)
    run.meta["orphaned"] = [partition for partition in unread if partition not in owned]
    run.meta["drained"] = all(partition not in owned for partition in unread)
    run.meta["t_end"] = now_us()
    run.meta["committed_before_close"] = run.admin.committed(
        run.group, run.meta["ends"], run.prefix
    )
    _close(run)
    run.meta["committed_final"] = run.admin.committed(run.group, run.meta["ends"], run.prefix)


def _deleted(run: LiveRun, topic: str) -> bool:
    """Return whether a topic was deleted, and not created again."""
    done = [a["do"] for a in run.player.actions if a.get("topic") == topic]
    return bool(done) and done[-1] == "deltopic"


def _unread(run: LiveRun) -> list[str]:
    """Return the partitions whose last record is not processed."""
    run.members.read()
    read = next_offsets(each.tail for each in run.members.incarnations)
    return [p for p, end in run.meta["ends"].items() if end and read.get(p, 0) < end]


def _close(run: LiveRun) -> None:
    for each in run.members.living():
        each.process.send_signal(signal.SIGCONT)
        each.process.send_signal(signal.SIGTERM)
    deadline = now_us() + CLOSE_S * 1_000_000
    while run.members.living() and now_us() < deadline:
        sleep_us(READ_EVERY_US)
