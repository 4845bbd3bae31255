"""``emulator.import_log``, ``group_scenario`` and ``audit`` called from Python."""

from __future__ import annotations

import pytest

import emulator

from ..cli.commands import rebalance
from .audit.logs import records, write
from .segments import SEGMENT, module_counts

GROUP = "kip848-crash-1-cad7p"


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Return an import of the segment that is shipped as an example."""
    return emulator.import_log(SEGMENT, tmp_path_factory.mktemp("import") / "tables")


def test_an_import_has_tables_and_findings(imported):
    """Its tables are those of the folder, its groups those to look at first."""
    assert imported.complete
    assert 27 == imported.to_arrow().num_rows == len(imported.to_pandas())
    assert {"cds", GROUP} == {each.group for each in imported.groups}
    assert 2 == imported.to_arrow("findings/groups").num_rows
    assert "commits=27" in repr(imported)
    assert GROUP in imported._repr_html_()


@pytest.mark.parametrize("name", ["none", "../elsewhere", "findings/none", ""])
def test_a_table_that_is_not_there_is_refused(imported, name):
    """By an error of the library."""
    with pytest.raises(emulator.EmulatorError, match="no table"):
        imported.to_arrow(name)


def test_a_group_of_an_import_runs_as_a_scenario(imported):
    """The text is a scenario file; the group may also be read from the segments themselves."""
    found = emulator.group_scenario(imported.folder, GROUP)

    assert found.text == emulator.group_scenario(SEGMENT, GROUP).text
    assert emulator.loads(found.text).group[0].id == GROUP


def test_an_audit_counts_as_the_command_does(tmp_path):
    """Lists are taken, and a single path; the document is that of ``--json``."""
    log = write(tmp_path / "log.parquet", [*records(0, 30, "m1", 0), *records(20, 50, "m2", 100)])

    done = emulator.audit(log, expect="reprocessed <= 9", columns={"consumer": "consumer"})

    assert (10, 0, False) == (done.reprocessed, done.lost, done.ok)
    assert 1 == done.to_arrow().num_rows == done.to_arrow("partitions").num_rows
    assert 1 == len(done.to_pandas())
    assert "reprocessed=10, lost=0" in repr(done)
    assert "m1" in done._repr_html_()
    command = rebalance(
        "audit", log, "--column", "consumer=consumer", "--expect", "reprocessed <= 9"
    )
    assert "\n".join(done.lines()) in command.out


def test_an_audit_error_is_an_error_of_the_library(tmp_path):
    """As all errors of input are."""
    with pytest.raises(emulator.EmulatorError, match="no such file"):
        emulator.audit(tmp_path / "none.parquet")
    with pytest.raises(emulator.EmulatorError, match="no table"):
        emulator.audit(write(tmp_path / "log.parquet", [*records(0, 3, "m1", 0)])).to_arrow("none")


@pytest.mark.parametrize(("command", "most"), [("import", 161), ("audit", 120)])
def test_commands_load_few_modules(tmp_path, command, most):
    """An import of a folder, and an audit of Parquet, load no scenario, no world and no study."""
    assert most >= module_counts(command, tmp_path)
