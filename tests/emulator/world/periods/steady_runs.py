"""Groups that do the same in each period: documents for tests of skipped periods."""

from __future__ import annotations


def steady(**changes: object) -> dict:
    """Return two members that commit every 400 ms what arrives every 100 ms."""
    settings = {
        "auto.offset.reset": "earliest",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 400,
        "auto.commit.interval.ms": 400,
    }
    group = {"id": "g", "topics": ["t"], "members": 2, "work": "2ms", "settings": settings}
    topic = {"name": "t", "partitions": 4, "rate": "10/s"}
    cluster = {"settings": {"group.initial.rebalance.delay.ms": 0}}
    whole: dict = {
        "title": "steady",
        "run_for": "12s",
        "lag_every": "400ms",
        "topic": [topic],
        "group": [group],
        "cluster": cluster,
    }
    for key, value in changes.items():
        if key in ("run_for", "network", "fault", "lag_every"):
            whole[key] = value
        elif key in ("rate", "partitions"):
            topic[key] = value
        elif key == "replication":
            cluster[key] = value
        elif "." in key:
            (cluster["settings"] if key in BROKERS else settings)[key] = value
        else:
            group[key] = value
    return whole


def busy(**changes: object) -> dict:
    """Return three members at work for most of the time, so that calls to commitSync() read metadata."""
    changes = {"metadata.max.age.ms": 2_000, "network": {"latency": "2ms"}, **changes}
    return steady(
        members=3, partitions=6, rate="5/s", work="40ms", commit="sync", run_for="16s", **changes
    )


BROKERS = (
    "group.min.session.timeout.ms",
    "log.cleaner.backoff.ms",
    "log.roll.ms",
    "offsets.topic.num.partitions",
)


def slow(fault: dict) -> dict:
    """Return a member whose period is longer than an outage of a broker."""
    found = steady(
        members=1,
        partitions=1,
        rate="1/s",
        run_for="100s",
        coordinator=2,
        fault=[fault],
        **{
            "heartbeat.interval.ms": 1_000,
            "auto.commit.interval.ms": 5_000,
            "session.timeout.ms": 45_000,
            "metadata.max.age.ms": 3_600_000,
            "offsets.topic.num.partitions": 1,
        },
    )
    found["lag_every"] = "1s"
    found["cluster"] |= {"brokers": 3, "replication": "50ms"}
    found["cluster"]["settings"] |= {
        "default.replication.factor": 1,
        "offsets.topic.replication.factor": 2,
    }
    return found


def ended_early() -> dict:
    """Return a member that has records in its buffer when their producer stops."""
    found = steady(
        members=1,
        partitions=1,
        rate="100/s",
        work="5ms",
        run_for="30s",
        network={"latency": "0s"},
        **{
            "max.poll.records": 1,
            "heartbeat.interval.ms": 1_000,
            "auto.commit.interval.ms": 1_000,
        },
    )
    found["topic"][0]["produce_until"] = "17350ms"
    found["lag_every"] = "1s"
    return found


def behind(lag_every: str = "30s") -> dict:
    """Return a member that first has a lag to recover: its first commits are at other distances."""
    found = steady(
        members=1,
        partitions=2,
        run_for="8s",
        **{
            "heartbeat.interval.ms": 1_000,
            "auto.commit.interval.ms": 1_000,
            "max.poll.records": 600,
        },
    )
    found["topic"][0]["backlog"] = 300
    return {**found, "lag_every": lag_every}


def with_upkeep(**changes: object) -> dict:
    """Return members that request metadata at times of their own; offsets are checked as well."""
    found = steady(
        run_for="30s",
        **{"metadata.max.age.ms": 2_300, "retry.backoff.ms": 70, "work": "9ms", **changes},
    )
    found["cluster"]["settings"]["offsets.retention.check.interval.ms"] = 3_100
    return found


def never_at_rest(**changes: object) -> dict:
    """Return members of which one always waits for the response to a commit."""
    far = {"members": 4, "partitions": 8, "network": {"latency": "15ms"}, "commit": "sync"}
    far["run_for"] = "12350ms"
    return steady(**{**far, **changes})


def sampled_often() -> dict:
    """Return a member whose lag is sampled several times before the log has its commit."""
    near = {"members": 1, "network": {"latency": "1ms"}}
    return never_at_rest(replication="250ms", lag_every="100ms", **near)


def with_threads(**changes: object) -> dict:
    """Return a member of the consumer protocol, the threads of which take their time to wake up."""
    found = with_upkeep(
        **{"members": 1, "partitions": 2, "rate": "5/s", "wake_up": "8ms", **changes}
    )
    settings = found["group"][0]["settings"]
    settings["group.protocol"] = "consumer"
    del settings["session.timeout.ms"], settings["heartbeat.interval.ms"]
    found["cluster"]["settings"] |= {
        "group.consumer.heartbeat.interval.ms": 1_000,
        "group.consumer.min.heartbeat.interval.ms": 1_000,
    }
    found["lag_every"] = "1s"
    return found
