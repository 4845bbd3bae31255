"""Hypothesis strategies for scenario files as documents, and for the scenarios they describe."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from emulator.scenario.load import scenario_of, tidy
from emulator.scenario.part import ScenarioSource
from emulator.scenario.short_forms import COMMITS, STEPS

MEMBERS = ("billing-0", "billing-1", "billing-2")
CLIENT_SIDE = (*MEMBERS, "clients")
BROKER_SIDE = ("broker-1", "brokers", "coordinator of billing")

durations = st.builds(
    lambda number, unit: f"{number}{unit}",
    st.integers(1, 50),
    st.sampled_from(["ms", "s", "min"]),
)
byte_rates = st.builds(
    lambda size, time: f"{size}/{time}",
    st.sampled_from(["1MiB", "7kB"]),
    st.sampled_from(["ms", "s"]),
)
rates = st.builds(lambda number: f"{number}/s", st.integers(0, 1000))


distributions = st.one_of(
    durations,
    st.builds(lambda time: {"exponential": time}, durations),
    st.builds(lambda time: {"uniform": ["1ms", time]}, durations),
    st.builds(lambda time: {"lognormal": {"median": "1ms", "p99": time}}, durations),
    st.builds(lambda time: {"pareto": {"minimum": time, "alpha": 1.5}}, durations),
    st.lists(durations, min_size=1, max_size=3).map(lambda times: {"trace": times}),
)
arrivals = st.one_of(
    rates,
    st.builds(lambda rate: {"poisson": rate}, rates),
    st.builds(
        lambda rate, time: {"bursts": {"rate": rate, "for": time, "every": "1h"}}, rates, durations
    ),
    st.builds(
        lambda rate, time: {"bursts": {"rate": rate, "for": time, "at": ["5s"]}}, rates, durations
    ),
    st.builds(lambda rate, time: {"steps": [{"at": time, "rate": rate}]}, rates, durations),
    st.builds(
        lambda a, b, time: {"ramp": {"from": a, "to": b, "for": time}}, rates, rates, durations
    ),
    st.builds(lambda rate: {"curve": {"points": [{"at": "0s", "rate": rate}]}}, rates),
)
commits = st.one_of(
    st.sampled_from(sorted(name for name in COMMITS if "store" not in name)),
    st.builds(
        lambda call, records: {"call": call, "when": "every", "records": records},
        st.sampled_from(["sync", "async"]),
        st.integers(1, 1000),
    ),
)
settings = st.fixed_dictionaries(
    {},
    optional={
        "session.timeout.ms": st.integers(4_000, 60_000),
        "max.poll.interval.ms": st.sampled_from(["1min", "5min"]),
        "auto.offset.reset": st.sampled_from(["earliest", "by_duration:PT1H"]),
        "partition.assignment.strategy": st.sampled_from(["range", ["sticky", "roundrobin"]]),
    },
)
timing = st.one_of(
    st.builds(lambda time: {"at": time}, durations),
    st.builds(lambda time: {"between": ["0s", time]}, durations),
    st.builds(
        lambda member, step: {"when": f"{member} {step}"},
        st.sampled_from(MEMBERS),
        st.sampled_from(STEPS),
    ),
)
members = st.sampled_from(MEMBERS)
verbs = st.one_of(
    st.builds(lambda name: {"crash": name, "restart_after": "1s"}, members),
    st.builds(lambda name: {"close": name, "grace": "5s"}, members),
    st.builds(lambda name, time: {"pause": name, "for": time}, members, durations),
    st.builds(lambda name, time: {"hang": name, "for": time}, members, durations),
    st.builds(
        lambda one, other, time: {"cut": [one, other], "for": time},
        st.sampled_from(CLIENT_SIDE),
        st.sampled_from(BROKER_SIDE),
        durations,
    ),
    st.builds(
        lambda parties, time: {"cut": parties, "for": time, "one_way": True},
        st.sampled_from(
            [
                ["broker-1", "broker-2"],
                ["coordinator of billing", "brokers"],
                ["controller", "broker-3"],
            ]
        ),
        durations,
    ),
    st.just({"crash_broker": "broker-2"}),
    st.just({"stop_broker": "coordinator of billing", "restart_after": "1s"}),
    st.just({"rolling_broker_restart": "brokers", "gap": "1s", "down_time": "2s"}),
    st.just({"rolling_broker_restart": ["broker-3", "broker-1"], "clean": False}),
    st.builds(
        lambda by, time: {"slow_disk": "broker-1", "by": by, "for": time}, durations, durations
    ),
    st.builds(lambda time: {"fill_disk": "coordinator of billing", "for": time}, durations),
    st.just({"move_coordinator": "billing", "to": "broker-3"}),
    st.just({"rolling_restart": "billing", "order": ["billing-1", "billing-0"]}),
    st.just({"rolling_restart": "billing", "order": "reversed", "surge": True}),
    st.just({"subscribe": "billing", "topics": ["orders"], "gap": "1s"}),
    st.just({"fail_listener": "billing-1", "for": "2s", "call": "assigned", "caught": True}),
    st.just({"delete_topic": "orders"}),
    st.just({"delete_offsets": "billing", "topic": "orders", "partitions": [0]}),
    st.just({"reset_offsets": "billing", "topic": "orders", "to": "earliest"}),
    st.just({"seek": "billing-0", "topic": "orders", "to": "latest"}),
    st.just({"pause_partitions": "billing-0", "topic": "orders", "for": "5s"}),
    st.builds(lambda by: {"reset_offsets": "billing", "shift_by": by}, st.integers(-99, 99)),
    st.builds(lambda time: {"reset_offsets": "billing", "by_duration": time}, durations),
    st.just({"delete_group": "billing", "timeout": "1s"}),
    st.just({"lose_message": {"kind": "Heartbeat", "member": "billing-0"}}),
    st.just({"delay_message": {"kind": "OffsetCommit", "member": "billing-0"}, "by": "1s"}),
)
faults = st.builds(lambda verb, when: deepcopy({**verb, **when}), verbs, timing)
"""Copies: who draws one may change it."""


SHOWN = st.characters(
    exclude_categories=["Cc", "Cs", "Zl", "Zp"],
    exclude_characters="\u061c\u200e\u200f"
    + "".join(map(chr, range(0x202A, 0x202F)))
    + "".join(map(chr, range(0x2066, 0x206A))),
)
"""Characters of a title: no control characters, no marks that change the direction of text."""


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a document that a scenario file could say, and that is right."""
    topic = st.fixed_dictionaries(
        {"name": st.just("orders")},
        optional={
            "partitions": st.integers(1, 20),
            "rate": arrivals,
            "backlog": st.integers(0, 1000),
            "record_size": st.sampled_from(["100B", "1KiB", "5MB"]),
            "skew": st.lists(st.floats(0, 9), max_size=1),
            "retention": durations,
        },
    )
    group = st.fixed_dictionaries(
        {"id": st.just("billing"), "topics": st.just(["orders"])},
        optional={
            "work": distributions,
            "commit": commits,
            "settings": settings,
            "static": st.booleans(),
            "listener": distributions,
            "poll_timeout": durations,
            "poison": st.just([{"topic": "orders", "partition": 0, "offset": 7, "work": "1s"}]),
        },
    )
    listed = draw(st.sampled_from([{"members": 3}, {"members": list(MEMBERS)}]))
    return {
        "title": draw(st.text(SHOWN, min_size=1, max_size=20)),
        "run_for": "2h",
        "seed": draw(st.integers(0, 2**64 - 1)),
        "cluster": draw(
            st.fixed_dictionaries(
                {"load_bytes": byte_rates, "load_records": st.just("5000/s")},
                optional={
                    "offsets_backlog": st.sampled_from(["1B", "20GiB"]),
                    "offsets_backlog_records": st.integers(0, 10**9),
                    "metadata_time": distributions,
                },
            )
        ),
        "network": draw(
            st.fixed_dictionaries({}, optional={"loss": st.floats(0, 1), "latency": distributions})
        ),
        "topic": [draw(topic)],
        "group": [{**draw(group), **listed}],
        "fault": draw(st.lists(faults, max_size=4)),
        "expect": draw(
            st.dictionaries(
                st.sampled_from(["lost", "reprocessed", "reprocessed.p95"]),
                st.sampled_from([0, 7.5, "<= 200", ">= 1"]),
            )
        ),
    }


def scenarios() -> st.SearchStrategy[Any]:
    """Draw scenarios."""
    return files().map(lambda document: scenario_of(tidy(document), ScenarioSource("drawn")))
