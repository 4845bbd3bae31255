"""Settings have the types, defaults and ranges of Kafka's own ``ConfigDef``.

``kafka_ranges.tsv`` is what ``PrintRanges.java`` prints with the jars of Kafka 4.4.0, without the
settings that have no part here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emulator.capturing.toolchain import MachineError, prepare
from emulator.versions import KAFKA
from protocols.settings import (
    INT_MAX,
    LONG_MAX,
    BrokerSettings,
    ConsumerSettings,
    Kind,
    defaults_of,
    fields_by_name,
    settings_of,
)

HERE = Path(__file__).parent
TABLE = HERE / "kafka_ranges.tsv"
ROWS = [line.split("\t") for line in TABLE.read_text().splitlines()[1:]]
OF = {"consumer": ConsumerSettings, "broker": BrokerSettings, "topic": BrokerSettings}

NARROWER = {
    "offsets.topic.num.partitions": (1, 100_000),
    "offsets.topic.segment.bytes": (2**20, INT_MAX),
    "session.timeout.ms": (1, INT_MAX),
    "heartbeat.interval.ms": (1, INT_MAX),
    "broker.session.timeout.ms": (1, INT_MAX),
    "default.replication.factor": (1, INT_MAX),
    "log.roll.ms": (1, LONG_MAX),
    "replica.lag.time.max.ms": (1, LONG_MAX),
}
"""Least and greatest value where ConfigDef has no range, or a wider one: a broker of it does not
start, or its consumer throws. Segments below 1 MiB and more partitions are of no real cluster."""

OTHER_DEFAULTS = {
    "default.replication.factor": 3,
    "log.roll.ms": 168 * 3_600_000,
}
"""Three copies, as on a cluster; ``log.roll.ms`` has its default from ``log.roll.hours``."""


NO_TEXT = {
    "client.id": "",
    "group.instance.id": "null",
    "group.remote.assignor": "null",
}
"""What Kafka prints for settings that are None here."""

ASSIGNOR_CLASSES = {
    "range": "RangeAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
"""Assignors of clients, which Kafka names by their classes; the coordinator's have their names."""


def test_every_setting_has_a_row():
    """Also a new one; and no row is of a setting that is not modelled."""
    modelled = {*fields_by_name(ConsumerSettings), *fields_by_name(BrokerSettings)}

    assert modelled == {name for _, name, *_ in ROWS}


@pytest.mark.parametrize(("of", "name", "type_", "default", "range_"), ROWS)
def test_a_setting_has_the_range_and_the_default_of_kafka(of, name, type_, default, range_):
    """A value that Kafka refuses is refused, and one that it takes is taken."""
    kind = OF[of]
    setting = settings_of(kind)[fields_by_name(kind)[name]]
    ours = defaults_of(kind)[name]
    if setting.kind in (Kind.TIME_MS, Kind.MINUTES, Kind.BYTES, Kind.COUNT):
        numbers = re.match(r"\[(-?\d+),\.\.\.", range_)
        largest = {"INT": INT_MAX, "LONG": LONG_MAX, "SHORT": 32_767}[type_]
        kafkas = (int(numbers[1]) if numbers else 0, largest)
        assert NARROWER.get(name, kafkas) == (setting.minimum, setting.maximum)
        assert OTHER_DEFAULTS.get(name, default) == (ours if name in OTHER_DEFAULTS else str(ours))
    elif setting.kind is Kind.RATIO:
        assert (type_, float(default)) == ("DOUBLE", ours)
    elif setting.kind is Kind.SWITCH:
        assert (type_, default) == ("BOOLEAN", str(ours).lower())
    elif setting.kind is Kind.CHOICE:
        assert {each.lower() for each in re.findall(r"\w+", range_.rpartition("[")[2])} == {
            each.lower() for each in setting.choices
        }
        assert default == ours
    elif setting.kind is Kind.NAMES:
        classes = ASSIGNOR_CLASSES if of == "consumer" else {}
        names = ", ".join(classes.get(each, each) for each in ours)
        assert (type_, default) == ("LIST", f"[{names}]")
    else:
        assert (setting.kind, type_) == (Kind.TEXT, "STRING")
        assert default == NO_TEXT.get(name, ours)


@pytest.mark.long
def test_the_table_is_what_kafka_prints():
    """With the jars of the version that is followed."""
    missing = [each for each in ("java", "javac", "mvn") if shutil.which(each) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}, which this machine has not")
    try:
        tools = prepare(KAFKA)
    except MachineError as error:
        pytest.skip(f"Kafka's jars cannot be had here: {error}")
    command = [tools.java, "-cp", tools.classpath, str(HERE / "PrintRanges.java")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    table = [
        line.replace("class org.apache.kafka.clients.consumer.", "")
        for line in printed.splitlines()
    ]

    assert set() == {"\t".join(row) for row in ROWS} - set(table)
