"""Random scenarios: small groups, any policy, any protocol, a few faults and acts."""

from __future__ import annotations

from hypothesis import strategies as st

MEMBERS = ["g-0", "g-1", "g-2"]
RUN_FOR_S = 40

COMMITS = st.sampled_from(
    [
        "auto",
        "none",
        "sync",
        "async",
        "sync per record",
        "async per record",
        "sync before",
        "async before",
        {"call": "sync", "when": "every", "records": 30},
        {"call": "async", "when": "every", "every": "3s"},
        {"call": "sync", "when": "every", "records": 30, "between_batches": False},
        {"call": "sync", "when": "record", "arguments": False},
        {"call": "sync", "on_revoke": True},
        {"call": "sync", "on_refusal": "discard"},
        {"call": "sync", "when": "before", "on_refusal": "discard"},
        {"call": "sync", "on_refusal": "stop"},
    ]
)
MISTAKES = st.sampled_from(
    [
        {"call": "sync", "off_by_one": True},
        {"call": "async", "retry_older": "2s"},
        {"call": "async", "when": "every", "every": "2s", "retry_older": "3s"},
    ]
)
WORK = st.sampled_from(
    [
        "0s",
        "2ms",
        "20ms",
        {"exponential": "5ms"},
        {"lognormal": {"median": "3ms", "p99": "300ms"}},
        {"pareto": {"minimum": "1ms", "alpha": 1.2, "maximum": "8s"}},
    ]
)
RATES = st.sampled_from(
    [
        "10/s",
        "3/s",
        {"poisson": "8/s"},
        {"bursts": {"rate": "40/s", "for": "1s", "every": "7s"}},
    ]
)
TOPIC = st.fixed_dictionaries(
    {"name": st.just("t"), "partitions": st.integers(1, 4), "rate": RATES},
    optional={
        "backlog": st.sampled_from([7, 150, 900]),
        "retention": st.sampled_from(["5s", "15s"]),
        "record_size": st.sampled_from(["1KiB", "100KiB"]),
    },
)
LATER_TOPIC = {"name": "t-new", "partitions": 2, "rate": "5/s", "created": "by act"}

SETTINGS = st.fixed_dictionaries(
    {
        "partition.assignment.strategy": st.sampled_from(
            ["range", "roundrobin", "sticky", "cooperative-sticky"]
        ),
        "auto.offset.reset": st.sampled_from(["earliest", "latest", "by_duration:PT5S"]),
        "session.timeout.ms": st.sampled_from(["6s", "9s"]),
        "heartbeat.interval.ms": st.sampled_from(["500ms", "2s"]),
        "max.poll.interval.ms": st.sampled_from(["4s", "5min"]),
        "max.poll.records": st.sampled_from([1, 7, 500]),
        "auto.commit.interval.ms": st.sampled_from(["300ms", "5s"]),
        "metadata.max.age.ms": st.sampled_from(["3s", "5min"]),
        "request.timeout.ms": st.sampled_from(["3s", "30s"]),
    }
)

_TIMES = st.integers(2, RUN_FOR_S - 5).map(lambda seconds: f"{seconds}s")
_LENGTHS = st.sampled_from(["300ms", "5s", "12s"])
_WHO = st.sampled_from(MEMBERS)
_NAMES = st.sampled_from(["ordinal", "random"])
_KINDS = st.sampled_from(["JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch"])
_STEPS = st.sampled_from(
    ["polled", "batch done", "commit sent", "revoking", "assigned", "sent SyncGroup"]
)
_AIMED = st.builds(
    lambda member, step, nth: {"member": member, "step": step, "nth": nth},
    _WHO,
    _STEPS,
    st.integers(1, 40),
)
_BROKERS = st.sampled_from(["broker-1", "broker-3", "coordinator of g"])
_TORN = st.sampled_from(
    [
        ["coordinator of g", "controller"],
        ["controller", "broker-2"],
        ["coordinator of g", "brokers"],
        ["broker-1", "broker-2"],
    ]
)
_WHEN = st.one_of(_TIMES.map(lambda at: {"at": at}), _AIMED.map(lambda when: {"when": when}))


def _fault(verb: str, target, **more):
    return st.builds(
        lambda moment, aim, rest: {**moment, verb: aim, **rest},
        _WHEN,
        target,
        st.fixed_dictionaries(more),
    )


FAULT = st.one_of(
    _fault("crash", _WHO, restart_after=_LENGTHS),
    _fault("close", _WHO, mid_batch=st.booleans(), restart_after=_LENGTHS),
    _fault("close", _WHO, grace=st.sampled_from(["0s", "10ms"])),
    _fault("start", st.just("late")),
    _fault("pause", _WHO, **{"for": _LENGTHS}),
    _fault("hang", _WHO, **{"for": _LENGTHS}),
    _fault("cut", _WHO.map(lambda one: [one, "coordinator of g"]), **{"for": _LENGTHS}),
    _fault("cut", _WHO.map(lambda one: [one, "brokers"]), **{"for": _LENGTHS}),
    _fault("crash_broker", st.just("coordinator of g"), restart_after=_LENGTHS),
    _fault("pause_broker", st.just("broker-2"), **{"for": _LENGTHS}),
    _fault("stop_broker", _BROKERS, restart_after=_LENGTHS),
    _fault("rolling_broker_restart", st.just("brokers"), gap=_LENGTHS, clean=st.booleans()),
    _fault("slow_disk", _BROKERS, by=st.sampled_from(["20ms", "6s"]), **{"for": _LENGTHS}),
    _fault("fill_disk", _BROKERS, **{"for": _LENGTHS}),
    _fault("cut", _TORN, one_way=st.booleans(), **{"for": st.sampled_from(["5s", "14s"])}),
    _fault("move_coordinator", st.just("g")),
    _fault("add_partitions", st.just("t"), to=st.integers(5, 6)),
    _fault("create_topic", st.just("t-new")),
    _fault("delete_offsets", st.just("g"), topic=st.just("t")),
    _fault("reset_offsets", st.just("g"), to=st.sampled_from(["earliest", "latest", 40])),
    _fault("reset_offsets", st.just("g"), shift_by=st.sampled_from([-15, 15])),
    _fault("delete_group", st.just("g")),
    _fault("rolling_restart", st.just("g"), gap=_LENGTHS, surge=st.booleans(), names=_NAMES),
    _fault("drain_node", _WHO.map(lambda one: [one]), restart_after=_LENGTHS, names=_NAMES),
    st.builds(
        lambda kind, part, member, nth: {
            "lose_message": {"kind": kind, "part": part, "member": member, "nth": nth}
        },
        _KINDS,
        st.sampled_from(["request", "response"]),
        _WHO,
        st.integers(1, 20),
    ),
)


def _grows_once(faults) -> bool:
    """Return whether no second fault adds partitions; one to the same count would be refused."""
    return sum("add_partitions" in fault for fault in faults) <= 1


_POISONED = st.one_of(
    st.builds(lambda offset: {"topic": "t", "partition": 0, "offset": offset}, st.integers(0, 200)),
    st.sampled_from([{"every": 15}, {"share": 0.05, "topic": "t"}, {"key": 3, "partition": 0}]),
)
_REACTIONS = st.one_of(
    st.sampled_from([{"error": error} for error in ("skip", "stop", "retry", "forward")]),
    st.builds(
        lambda error, then: {"error": error, "then": then, "attempts": 2, "multiplier": 3},
        st.sampled_from(["retry", "seek", "pause"]),
        st.sampled_from(["succeed", "skip", "forward"]),
    ),
)
POISON = st.builds(
    lambda records, reaction, work: {**records, **reaction, **work},
    _POISONED,
    _REACTIONS,
    st.sampled_from([{}, {}, {"work": "5s"}]),
)


def _group(commit, work, settings, static, poison):
    late = {"name": "late", "start": "by act"}
    return {
        "id": "g",
        "pattern": "t.*",
        "members": [*({"name": name} for name in MEMBERS), late],
        "commit": commit,
        "work": work,
        "settings": settings,
        "static": static,
        "poison": poison,
    }


CLUSTER = st.fixed_dictionaries(
    {},
    optional={
        "brokers": st.just(4),
        "load_bytes": st.just("1kB/s"),
        "settings": st.sampled_from(
            [
                {"replica.lag.time.max.ms": "4s"},
                {"offsets.topic.replication.factor": 1},
                {"min.insync.replicas": 2},
                {"unclean.leader.election.enable": True, "replica.lag.time.max.ms": "2s"},
            ]
        ),
    },
)


def _scenario(topic, group, faults, loss, cluster):
    return {
        "title": "random",
        "run_for": f"{RUN_FOR_S}s",
        "topic": [topic, LATER_TOPIC],
        "group": [group],
        "fault": faults,
        "network": {"loss": loss},
        "cluster": cluster,
    }


DISTURBED = st.builds(
    _scenario,
    TOPIC,
    st.builds(
        _group,
        st.one_of(COMMITS, COMMITS, MISTAKES),
        WORK,
        SETTINGS,
        st.booleans(),
        st.lists(POISON, max_size=1),
    ),
    st.lists(FAULT, min_size=1, max_size=4).filter(_grows_once),
    st.sampled_from([0.0, 0.0, 0.05]),
    st.one_of(st.just({}), CLUSTER),
)
"""Anything may happen."""

QUIET = st.builds(
    _scenario,
    TOPIC.filter(lambda topic: "retention" not in topic),
    st.builds(
        _group,
        COMMITS,
        st.sampled_from(["0s", "2ms", {"exponential": "5ms"}]),
        SETTINGS,
        st.booleans(),
        st.just([]),
    ),
    st.just([]),
    st.just(0.0),
    st.just({}),
)
"""Nothing is done to the run, and nothing about it is mistaken."""
