"""The random scenarios of :mod:`.worlds`, with deploys that change the group's protocol."""

from __future__ import annotations

from hypothesis import strategies as st

from .consumer_worlds import BROKERS, TIMES
from .worlds import DISTURBED

CLASSIC_ONLY = ["partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"]
POLICIES = st.sampled_from(["bidirectional", "bidirectional", "upgrade", "downgrade", "disabled"])
TO_CONSUMER = {"settings": {"group.protocol": "consumer"}, "unset": CLASSIC_ONLY}
TO_CLASSIC = {"settings": {"group.protocol": "classic"}}
PACE = st.fixed_dictionaries(
    {
        "gap": st.sampled_from(["0s", "1s", "5s"]),
        "down_time": st.sampled_from(["0s", "300ms", "4s"]),
    },
    optional={
        "surge": st.booleans(),
        "grace": st.sampled_from(["0s", "1s"]),
        "stop_at_failure": st.just(value=True),
    },
)


def _migrating(document: dict, times: dict, policy: str, paces: list[dict], static: bool) -> dict:
    """Let a random scenario roll its group to the consumer protocol, and back."""
    (group,) = document["group"]
    cluster = document["cluster"]
    there = {"rolling_restart": "g", "at": "3s", **paces[0], **TO_CONSUMER}
    back = {"rolling_restart": "g", "at": "20s", **paces[1], **TO_CLASSIC}
    brokers = {
        **BROKERS,
        **times,
        "group.consumer.migration.policy": policy,
        **cluster.get("settings", {}),
    }
    return {
        **document,
        "group": [{**group, "static": static}],
        "cluster": {**cluster, "settings": brokers},
        "fault": [there, back, *document.get("fault", [])],
    }


MIGRATING = st.builds(
    _migrating,
    DISTURBED,
    TIMES,
    POLICIES,
    st.lists(PACE, min_size=2, max_size=2),
    st.booleans(),
)
"""There and back in the midst of anything that may happen."""
