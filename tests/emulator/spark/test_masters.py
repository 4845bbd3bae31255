"""The choice of the master, and refusals of impossible ones."""

from __future__ import annotations

import socket

import pytest

from emulator.spark.environment import is_local, master_to_set
from emulator.spark.errors import SparkError


@pytest.mark.parametrize(
    ("environment", "wanted", "master"),
    [
        ({}, None, "local[*]"),
        ({"HADOOP_CONF_DIR": "/etc/hadoop"}, "yarn", "yarn"),
        ({}, "local[2]", "local[2]"),
        ({"PYSPARK_GATEWAY_PORT": "1"}, None, None),
        ({"SPARK_REMOTE": "local[2]"}, None, None),
    ],
)
def test_a_master_is_set_only_if_none_is_configured(environment, wanted, master):
    """A setting in code would override spark-submit."""
    assert master == master_to_set(environment, wanted)


def test_a_master_that_contradicts_spark_submit_is_refused():
    """Rather than to guess who is right."""
    with pytest.raises(SparkError, match="chosen by spark-submit"):
        master_to_set({"PYSPARK_GATEWAY_PORT": "1"}, "local[2]")


@pytest.mark.parametrize("master", ["foo", "local[0]", "local[x]", "spark:host", "k8s://", ""])
def test_an_invalid_master_is_refused(master):
    """With the valid ones."""
    with pytest.raises(SparkError, match=r"not a master; allowed are local\[\*\]"):
        master_to_set({}, master)


def test_a_master_that_gives_no_answer_is_named():
    """Every address that was tried; one that answers is enough."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        answers = f"127.0.0.1:{server.getsockname()[1]}"
        master = f"spark://127.0.0.1:1,{answers}"
        assert master == master_to_set({}, master)

    with pytest.raises(SparkError, match=r"no answer: 127\.0\.0\.1:1 \(Connection refused\); "):
        master_to_set({}, master)


def test_yarn_without_hadoops_settings_is_refused():
    """Spark itself would print a stack trace."""
    with pytest.raises(SparkError, match="set HADOOP_CONF_DIR to their folder"):
        master_to_set({}, "yarn")


@pytest.mark.parametrize("master", ["k8s://127.0.0.1:1", "k8s://https://127.0.0.1:1/path"])
def test_a_cluster_of_kubernetes_that_gives_no_answer_is_named(master):
    """By its address, whatever the scheme before it."""
    with pytest.raises(SparkError, match=r"no answer: 127\.0\.0\.1:1 \(Connection refused\)"):
        master_to_set({}, master)


def test_a_connect_server_that_gives_no_answer_is_named_without_its_token():
    """Spark's own client would ask for ten minutes."""
    remote = {"SPARK_REMOTE": "sc://127.0.0.1:1/;token=secret"}

    with pytest.raises(SparkError, match=r"no answer: 127\.0\.0\.1:1 \(Conn") as refused:
        master_to_set(remote, None)

    assert "secret" not in str(refused.value)


def test_a_connect_server_that_answers_is_left_to_decide():
    """No master is set."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sc://127.0.0.1:{server.getsockname()[1]}"

        assert master_to_set({"SPARK_REMOTE": address}, None) is None


def test_an_invalid_address_of_a_connect_server_is_refused():
    """With an example."""
    with pytest.raises(SparkError, match="expected a form such as sc://host:15002"):
        master_to_set({"SPARK_REMOTE": "there"}, None)


def test_local_is_this_machine():
    """Workers elsewhere have a Python of their own."""
    assert is_local("local")
    assert is_local("local[2]")
    assert not is_local("local-cluster[2,1,1024]")
    assert not is_local("yarn")
