"""What a study's folder says about itself: the study, its cells, and by what they were played."""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import assignors
import emulator
import protocols
from emulator.metrics.catalogue import VALUES
from emulator.scenario.manifest import dump, manifest
from emulator.scenario.parties import members_of
from emulator.scenario.resolution import consumer_settings
from emulator.study.plan import Plan
from emulator.study.results import metrics_of
from emulator.versions import KAFKA, SCHEMA_VERSION

DECIDING = (
    *("events", "measure", "scenario", "world", "playing.py", "tables.py"),
    *("study/axes.py", "study/plan.py", "study/rows.py", "study/schemas.py"),
)
"""What of ``emulator`` decides what a run's rows are."""

ASKED_OF_ROWS = frozenset({"title", "question", "metrics", "pareto", "goal"})
"""Keys of a study file that change no row: every value of the catalogue is kept."""

VALUE_NAMES = frozenset(metric.name for metric in VALUES)


def study_manifest(plan: Plan) -> dict[str, Any]:
    """Return the manifest; ``study_key`` is the same where the same rows belong together."""
    study = plan.study.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    cells = [
        {
            "cell": cell.number,
            "name": cell.settings.name,
            "protocol": cell.settings.protocol,
            "settings": {choice.axis: choice.label for choice in cell.settings.point},
            "overrides": list(cell.settings.overrides),
            "scenario_hash": cell.scenario_hash,
        }
        for cell in plan.cells
    ]
    first = plan.cells[0].scenario
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kafka": KAFKA,
        "version": emulator.__version__,
        "code": code_digest(),
        "own_assignors": own_assignors(plan),
        "title": plan.study.title,
        "study": study,
        "cells": cells,
        "scenario": dump(first),
        "settings": manifest(first)["settings"],
    }
    return {"study_key": _key(document, plan), **document}


def _key(document: dict[str, Any], plan: Plan) -> str:
    """Return 16 hexadecimal digits over all that decides the rows, not over what is asked of them."""
    study = {name: value for name, value in document["study"].items() if name not in ASKED_OF_ROWS}
    columns = [name for name in metrics_of(plan) if name not in VALUE_NAMES]
    deciding = {**document, "title": "", "study": study, "columns": sorted(columns)}
    text = json.dumps(deciding, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:16]


def own_assignors(plan: Plan) -> dict[str, str]:
    """Return 16 hexadecimal digits over the source of each module with an assignor of a user's own.

    They have been loaded, when the cells' scenarios were checked.
    """
    modules = {
        name.partition(":")[0]
        for cell in plan.cells
        for group, member in members_of(cell.scenario)
        for name in consumer_settings(group, member).partition_assignment_strategy
        if ":" in name
    }
    found = {}
    for name in sorted(modules):
        source = getattr(sys.modules.get(name), "__file__", None)
        if source is not None:
            found[name] = sha256(Path(source).read_bytes()).hexdigest()[:16]
    return found


def code_digest() -> str:
    """Return 16 hexadecimal digits over the sources that decide what a run's rows are."""
    digest = sha256()
    base = Path(emulator.__file__).parent
    roots = [Path(assignors.__file__).parent, Path(protocols.__file__).parent]
    for root in [*roots, *(base / name for name in DECIDING)]:
        for path in sorted([root] if root.is_file() else root.rglob("*.py")):
            digest.update(f"{path.relative_to(root.parent)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
