"""The random scenarios of :mod:`.worlds`, in groups of the consumer protocol."""

from __future__ import annotations

from hypothesis import strategies as st

from .worlds import DISTURBED, QUIET

SETTINGS = st.fixed_dictionaries(
    {
        "group.protocol": st.just("consumer"),
        "auto.offset.reset": st.sampled_from(["earliest", "latest", "by_duration:PT5S"]),
        "max.poll.interval.ms": st.sampled_from(["4s", "5min"]),
        "max.poll.records": st.sampled_from([1, 7, 500]),
        "auto.commit.interval.ms": st.sampled_from(["300ms", "5s"]),
        "metadata.max.age.ms": st.sampled_from(["3s", "5min"]),
        "request.timeout.ms": st.sampled_from(["3s", "30s"]),
    },
    optional={"group.remote.assignor": st.sampled_from(["uniform", "range"])},
)
BROKERS = {
    "group.consumer.min.session.timeout.ms": "6s",
    "group.consumer.min.heartbeat.interval.ms": "500ms",
}
TIMES = st.fixed_dictionaries(
    {
        "group.consumer.session.timeout.ms": st.sampled_from(["6s", "9s"]),
        "group.consumer.heartbeat.interval.ms": st.sampled_from(["500ms", "2s"]),
        "group.consumer.assignment.interval.ms": st.sampled_from(["0s", "1s", "4s"]),
    }
)


def _spoken(document: dict, settings: dict, times: dict) -> dict:
    """Let the group of a random scenario speak the consumer protocol."""
    (group,) = document["group"]
    cluster = document["cluster"]
    brokers = {**BROKERS, **times, **cluster.get("settings", {})}
    return {
        **document,
        "group": [{**group, "settings": settings}],
        "cluster": {**cluster, "settings": brokers},
    }


DISTURBED_BY_EPOCHS = st.builds(_spoken, DISTURBED, SETTINGS, TIMES)
"""Anything may happen."""

QUIET_BY_EPOCHS = st.builds(_spoken, QUIET, SETTINGS, TIMES)
"""Nothing is done to the run, and nothing about it is mistaken."""
