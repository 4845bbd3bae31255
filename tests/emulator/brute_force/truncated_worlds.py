"""Random scenarios in which topic partitions lose records to an election."""

from __future__ import annotations

from hypothesis import strategies as st

from .worlds import FAULT, LATER_TOPIC, RATES, RUN_FOR_S, SETTINGS, WORK, _grows_once

COMMITS = st.sampled_from(
    [
        "auto",
        "sync",
        "async",
        "sync per record",
        {"call": "sync", "leader_epoch": True},
        {"call": "sync", "when": "every", "records": 30},
        {"call": "sync", "when": "every", "records": 30, "leader_epoch": True},
        {"call": "sync", "when": "before"},
        {"call": "auto", "on_revoke": True},
        {"call": "auto", "on_revoke": True, "leader_epoch": True},
        {"call": "none"},
    ]
)
TOPIC = st.fixed_dictionaries(
    {
        "name": st.just("t"),
        "partitions": st.integers(1, 4),
        "rate": RATES,
        "replicas": st.sampled_from([2, 2, 3]),
    },
    optional={
        "acks": st.just("1"),
        "backlog": st.sampled_from([150, 900]),
        "retention": st.just("8s"),
    },
)
_APART = st.builds(
    lambda at, length: {"cut": ["broker-1", "broker-2"], "at": f"{at}s", "for": f"{length}s"},
    st.integers(4, 8),
    st.integers(8, 25),
)
_GONE = st.builds(
    lambda verb, at, back: {verb: "broker-1", "at": f"{at}s", **back},
    st.just("crash_broker"),
    st.integers(9, 16),
    st.sampled_from([{}, {"restart_after": "10s"}, {"restart_after": "14s"}]),
)
_UNHEARD = st.builds(
    lambda at: {"cut": ["broker-1", "controller"], "at": f"{at}s", "for": "14s"},
    st.integers(9, 14),
)
_MOVES = st.builds(
    lambda verb, at: {verb: "g-0", "at": f"{at}s", "restart_after": "3s"},
    st.sampled_from(["crash", "close"]),
    st.integers(14, 24),
)


def _scenario(topic, commit, work, settings, apart, gone, faults):
    lag, cut = apart
    return {
        "title": "truncated",
        "run_for": f"{RUN_FOR_S}s",
        "topic": [topic, LATER_TOPIC],
        "group": [
            {
                "id": "g",
                "coordinator": 3,
                "topics": ["t"],
                "members": [*({"name": f"g-{n}"} for n in range(3)), _LATE],
                "commit": commit,
                "work": work,
                "settings": settings,
            }
        ],
        "fault": [cut, *gone, *faults],
        "cluster": {
            "settings": {
                "unclean.leader.election.enable": True,
                "replica.lag.time.max.ms": lag,
            }
        },
    }


_LATE = {"name": "late", "start": "by act"}

TRUNCATED = st.builds(
    _scenario,
    TOPIC,
    COMMITS,
    WORK,
    SETTINGS,
    st.tuples(st.sampled_from(["2s", "2s", "30s"]), _APART),
    st.lists(st.one_of(_GONE, _GONE, _UNHEARD), min_size=1, max_size=2),
    st.lists(st.one_of(_MOVES, _MOVES, FAULT), max_size=2).filter(_grows_once),
)
