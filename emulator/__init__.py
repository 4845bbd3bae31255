"""Replay failures of Kafka consumer groups, and count what is reprocessed and lost, with causes.

>>> import emulator
>>> scenario = emulator.loads('''
... title = "nothing happens"
... run_for = "20s"
... [[topic]]
... name = "orders"
... rate = "10/s"
... [[group]]
... id = "billing"
... topics = ["orders"]
... members = 1
... ''')
>>> emulator.run(scenario, seed=7).ledger.reprocessed
0

What each room does, from the bottom to the top:

- ``scenario/``: scenario files: model, units, overrides, checks, catalogue.
- ``events/``: typed events of a run, written to and read from Parquet.
- ``world/``: one run in virtual time: brokers, network, consumers, faults.
- ``ledger/``: reprocessed and lost records with their causes, from events alone.
- ``metrics/``: figures, expectations and laws, from events and the ledger.
- ``report/``: text, tables, JSON and pages for people.
- ``loading.py``, ``playing.py``, ``sweeps.py``, ``comparison.py``, ``explanation.py``,
  ``assignment.py``: the functions below.
- ``study/``: plans and answers over many settings and seeds.
- ``logs/``: offsets logs of real clusters: reading, import, audit.
- ``conformance/``: captures of a real Kafka, compared with the emulator.
- ``spark/``: studies, imports and audits on Spark.
- ``cli/``: the command ``rebalance``; one file a command.

One JoinGroup and one commit on their way through ``protocols/`` are described there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_names

if TYPE_CHECKING:
    from emulator.assignment import assign
    from emulator.comparison import Comparison, compare
    from emulator.conformance.verifying import Verification, verify
    from emulator.errors import EmulatorError
    from emulator.explanation import Explanation, explain
    from emulator.loading import load, loads
    from emulator.logs.auditing import Audit, audit
    from emulator.logs.group_scenario import GroupScenario, group_scenario
    from emulator.logs.importing import Import, import_log
    from emulator.playing import Run, run
    from emulator.scenario.model import Scenario
    from emulator.scenario.problems import ScenarioError
    from emulator.study.planning import plan_study
    from emulator.study.running import StudyResult, run_study
    from emulator.sweeps import Sweep, sweep

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "Comparison",
    "EmulatorError",
    "Explanation",
    "GroupScenario",
    "Import",
    "Run",
    "Scenario",
    "ScenarioError",
    "StudyResult",
    "Sweep",
    "Verification",
    "assign",
    "audit",
    "compare",
    "explain",
    "group_scenario",
    "import_log",
    "load",
    "loads",
    "plan_study",
    "run",
    "run_study",
    "sweep",
    "verify",
]

_PLACES = {
    "Audit": "emulator.logs.auditing",
    "GroupScenario": "emulator.logs.group_scenario",
    "Import": "emulator.logs.importing",
    "audit": "emulator.logs.auditing",
    "group_scenario": "emulator.logs.group_scenario",
    "import_log": "emulator.logs.importing",
    "Comparison": "emulator.comparison",
    "EmulatorError": "emulator.errors",
    "Explanation": "emulator.explanation",
    "Run": "emulator.playing",
    "Scenario": "emulator.scenario.model",
    "ScenarioError": "emulator.scenario.problems",
    "StudyResult": "emulator.study.running",
    "Sweep": "emulator.sweeps",
    "Verification": "emulator.conformance.verifying",
    "assign": "emulator.assignment",
    "compare": "emulator.comparison",
    "explain": "emulator.explanation",
    "load": "emulator.loading",
    "loads": "emulator.loading",
    "plan_study": "emulator.study.planning",
    "run": "emulator.playing",
    "run_study": "emulator.study.running",
    "sweep": "emulator.sweeps",
    "verify": "emulator.conformance.verifying",
}

__getattr__ = lazy_names(__name__, {name: f"{place}:{name}" for name, place in _PLACES.items()})


def __dir__() -> list[str]:
    """Return all names, those that are not imported yet included."""
    return sorted([*globals(), *__all__])
