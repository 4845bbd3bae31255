"""A scenario of somebody else executes nothing."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from assignors import own_code
from emulator.processes import parallel_map

from ..commands import changed, rebalance, written

OWN = """
from assignors.types import FunctionAssignor
def create():
    return FunctionAssignor("own", lambda topics, members: {
        member: [(topic, number) for topic, count in topics.partition_counts.items()
                 for number in range(count)] if member == min(members) else []
        for member in members})
"""


@pytest.fixture(autouse=True)
def nothing_allowed(monkeypatch):
    """Forget what other tests have allowed."""
    monkeypatch.setattr(own_code, "_ALLOWED", own_code._Allowed())


def naming(spec: str, config: str = "{}") -> str:
    """Return a scenario whose members name an assignor."""
    names = ("billing-0", "billing-1")
    members = [f'{{ name = "{name}", assignor_config = {config} }}' for name in names]
    return changed(
        ('= "range"', f'= "{spec}"'), ("members = 2", f"members = [{', '.join(members)}]")
    )


@pytest.mark.parametrize("command", ["run", "compare", "explain"])
def test_a_program_named_in_a_scenario_is_not_run(tmp_path, command):
    """Any callable could be named, with arguments of the scenario's choice."""
    proof = tmp_path / "proof"
    program = f'{{ "()" = "os.system", command = "touch {proof}" }}'
    config = f"{{ version = 1, formatters = {{ x = {program} }} }}"
    path = written(tmp_path, naming("logging.config:dictConfig", config))

    status, out, err = rebalance(command, path, *(["D1"] if command == "explain" else []))

    assert (2, "") == (status, out)
    assert "--plugin logging.config" in err
    assert not proof.exists()


def test_a_scenario_cannot_allow_a_module_itself(tmp_path):
    """It would be no permission of the user."""
    path = written(tmp_path, 'plugins = ["os"]\n' + naming("os:getcwd"))

    status, _, err = rebalance("run", path)

    assert status == 2
    assert "plugins" in err
    assert "unknown key" in err


def test_nothing_is_beside_standard_input(tmp_path, monkeypatch):
    """Modules of the current folder are not the scenario's."""
    (tmp_path / "ours_of_stdin.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    scenario = naming("ours_of_stdin:create")

    status, _, err = rebalance("run", "-", given=scenario)

    assert status == 2
    assert "--plugin ours_of_stdin" in err
    assert 0 == rebalance("run", "-", "--plugin", "ours_of_stdin", given=scenario)[0]


def test_files_beside_a_scenario_cannot_replace_modules_in_worker_processes(tmp_path):
    """They are not on Python's path."""
    (tmp_path / "only_beside.py").write_text("raise SystemExit")

    found = parallel_map(
        importlib.util.find_spec, ["only_beside"], jobs=1, isolated=True, folders=[tmp_path]
    )

    assert [None] == list(found)
    assert "only_beside" not in sys.modules


def test_a_plugin_that_is_missing_is_a_module():
    """It may have assignors and handlers."""
    status, out, err = rebalance("run", "quiet", "--plugin", "absent_module")

    assert (2, "") == (status, out)
    assert err.startswith("The module 'absent_module' cannot be imported: there is no module")
