"""Reading a scenario starts quickly: nothing is imported that it does not need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("jsonschema", "rich", "pyarrow", "numpy", "typer", "simpy", "pyspark", "plotly")


def test_reading_a_scenario_imports_nothing_heavy():
    """A fresh process that reads a scenario has loaded pydantic and the standard library."""
    program = (
        "import sys; from emulator.scenario import catalogue; "
        "from emulator.scenario.load import load; load(catalogue.path_of('quiet')); "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "[]" == done.stdout.strip()
