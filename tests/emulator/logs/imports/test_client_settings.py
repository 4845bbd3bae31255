"""The settings with which a cluster is reached."""

from __future__ import annotations

import pytest

from emulator.logs.errors import SettingError
from emulator.logs.imports.client_settings import for_consumer, merged, parse_setting, read_settings

FILE = """
# how we log in
! and a remark of another kind
security.protocol = SASL_SSL
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
    username="audit" password="a\\"b=c";

ssl.ca.location=/etc/ca.pem
"""


def test_a_properties_file_is_read():
    """Remarks and empty lines aside, lines may go on in the next one."""
    settings = merged("host:9092", [read_settings(FILE, "client.properties")])

    assert {
        "bootstrap.servers": "host:9092",
        "security.protocol": "SASL_SSL",
        "sasl.username": "audit",
        "sasl.password": 'a"b=c',
        "ssl.ca.location": "/etc/ca.pem",
    } == settings


def test_later_settings_win_and_the_address_is_kept():
    """The command line over the file."""
    settings = merged("here:1", [{"a": "1", "b": "1", "bootstrap.servers": "there:1"}, {"a": "2"}])

    assert {"a": "2", "b": "1", "bootstrap.servers": "here:1"} == settings


def test_no_setting_makes_an_import_commit():
    """Our settings override the user's; a group id is the user's choice."""
    given = {"enable.auto.commit": "true", "isolation.level": "none", "group.id": "mine"}

    wanted = for_consumer(given, committed_only=True)

    assert (False, "read_committed", "mine") == tuple(wanted[name] for name in given)
    assert "read_uncommitted" == for_consumer({}, committed_only=False)["isolation.level"]


@pytest.mark.parametrize("text", ["secret", "=x", " = x"])
def test_an_invalid_setting_is_refused(text):
    """With its place; a value is never repeated."""
    with pytest.raises(SettingError, match=r"client.properties, line 2: .* is not a setting"):
        read_settings(f"a=b\n{text}", "client.properties")
    with pytest.raises(SettingError, match=r"--set: "):
        parse_setting(text, "--set")
