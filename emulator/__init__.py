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

The rooms, from the bottom up:

``scenario/``
    What a user writes: the model of scenario files with its ``tables/``, files of real ``clients/``,
    ``checks/``, ``estimates/`` before a run, units, overrides, the catalogue.
``events/``
    What happened in a run, as typed events; ``events/parquet.py`` writes and reads them.
``world/``
    One run in virtual time, on SimPy: ``cluster/`` (brokers, logs, coordinators), ``consumer/``
    (processes) and ``faults/`` host the machines of ``protocols``; ``autoscaling/`` starts and stops
    members; ``periods/`` skips time that repeats; ``world/build.py`` puts them together.
``ledger/``
    Events to the ledger: which messages were reprocessed or lost, and the cause of each.
``metrics/``
    Events to metrics, checks of ``[expect]``, laws, distributions over seeds.
``verdicts/``
    What is said of a run before its totals: problems, and why it is inconclusive.
``advice/``
    The changes that hints recommend, with values for a scenario, and trials of them.
``report/``
    Everything that a person reads: screens, JSON documents, pages, explanations, advice.
``study/``
    Many cells and many seeds: plans, results, answers.
``logs/``
    Logs of real clusters: ``offsets_log/`` (segments), ``imports/`` (groups of a cluster), ``audit/``
    (processing logs).
``blaming/``
    The search for the commit policy and the fault that explain the logs of a real incident.
``capturing/``
    Experiments on a real Kafka: its cluster, its traced members, the files of a run.
``conformance/``
    Captures of a real Kafka: read, rebuilt as a scenario, compared.
``spark/``
    The one room that imports PySpark: studies, imports and audits at scale.
``testing/``
    The pytest plugin: fixture, scenario files as tests, reports of failed tests.
``cli/``
    One file a command: reads options, calls the library, prints.

The functions that users call are modules beside the rooms: ``loading.py``, ``playing.py``,
``sweeps.py``, ``comparison.py``, ``advising.py``, ``explanation.py``, ``assignment.py``,
``strategies.py``, ``modes.py``, ``handlers.py`` (handlers of the user).

One JoinGroup through a run: ``emulator/world/consumer/process.py`` polls its client, whose request
``emulator/world/router.py`` puts on the wire (``emulator/world/network.py`` draws the delay);
``emulator/world/cluster/shards.py`` finds the coordinator of the group and
``emulator/world/cluster/hosts.py`` calls its machine, carries out the effects, and returns the answer
the same way. ``emulator/world/cluster/coordinator_events.py`` writes what the machine reports as
events.

One commit through a run: the same way to ``emulator/world/cluster/hosts.py``;
``emulator/world/cluster/offsets_log/appends.py`` appends the records to the leader's log
(``emulator/world/cluster/offsets_log/leader_log.py``,
``emulator/world/cluster/offsets_log/stored_log.py``) and reports when they are durable. The event goes
to ``emulator/ledger/builder.py``; when the next owner starts, ``emulator/ledger/attribution.py`` and
``emulator/ledger/causes.py`` decide whether it starts below or beyond what was processed, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.lazy_imports import lazy_names

if TYPE_CHECKING:
    from assignors.own_code import allow_plugins
    from emulator.advising import Advice, advise
    from emulator.assignment import assign
    from emulator.blaming.incident import Explained, blame
    from emulator.comparison import Comparison, compare
    from emulator.conformance.verifying import Verification, verify
    from emulator.errors import EmulatorError
    from emulator.events.stored import read_events
    from emulator.explanation import Explanation, explain
    from emulator.loading import load, loads
    from emulator.logs.auditing import Audit, audit
    from emulator.logs.group_scenario import GroupScenario, group_scenario
    from emulator.logs.importing import Import, import_log
    from emulator.modes import ModeCheck, check_modes
    from emulator.playing import Run, run
    from emulator.scenario.model import Scenario
    from emulator.scenario.problems import ScenarioError
    from emulator.study.planning import plan_study
    from emulator.study.running import StudyResult, run_study
    from emulator.sweeps import Sweep, sweep

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "Audit",
    "Comparison",
    "EmulatorError",
    "Explained",
    "Explanation",
    "GroupScenario",
    "Import",
    "ModeCheck",
    "Run",
    "Scenario",
    "ScenarioError",
    "StudyResult",
    "Sweep",
    "Verification",
    "advise",
    "allow_plugins",
    "assign",
    "audit",
    "blame",
    "check_modes",
    "compare",
    "explain",
    "group_scenario",
    "import_log",
    "load",
    "loads",
    "plan_study",
    "read_events",
    "run",
    "run_study",
    "sweep",
    "verify",
]

_PLACES = {
    "Advice": "emulator.advising",
    "advise": "emulator.advising",
    "Audit": "emulator.logs.auditing",
    "GroupScenario": "emulator.logs.group_scenario",
    "Import": "emulator.logs.importing",
    "audit": "emulator.logs.auditing",
    "group_scenario": "emulator.logs.group_scenario",
    "import_log": "emulator.logs.importing",
    "Comparison": "emulator.comparison",
    "EmulatorError": "emulator.errors",
    "Explanation": "emulator.explanation",
    "ModeCheck": "emulator.modes",
    "Run": "emulator.playing",
    "Scenario": "emulator.scenario.model",
    "ScenarioError": "emulator.scenario.problems",
    "StudyResult": "emulator.study.running",
    "Sweep": "emulator.sweeps",
    "Verification": "emulator.conformance.verifying",
    "allow_plugins": "assignors.own_code",
    "assign": "emulator.assignment",
    "Explained": "emulator.blaming.incident",
    "blame": "emulator.blaming.incident",
    "check_modes": "emulator.modes",
    "compare": "emulator.comparison",
    "explain": "emulator.explanation",
    "load": "emulator.loading",
    "loads": "emulator.loading",
    "plan_study": "emulator.study.planning",
    "read_events": "emulator.events.stored",
    "run": "emulator.playing",
    "run_study": "emulator.study.running",
    "sweep": "emulator.sweeps",
    "verify": "emulator.conformance.verifying",
}

__getattr__ = lazy_names(__name__, {name: f"{place}:{name}" for name, place in _PLACES.items()})


def __dir__() -> list[str]:
    """Return all names, those that are not imported yet included."""
    return sorted([*globals(), *__all__])
