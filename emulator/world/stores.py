"""The offset stores of a run outside Kafka, by group."""

from __future__ import annotations

from emulator.world.run import Run


def add_stores(run: Run) -> None:
    """Add the stores of the groups that keep their offsets outside Kafka; import only these."""
    groups: dict[str, list[str]] = {}
    for group in run.scenario.group:
        groups.setdefault(group.offsets, []).append(group.id)
    if "zookeeper" in groups:
        from emulator.world.zookeeper import EnsembleHost  # noqa: PLC0415

        ensemble = EnsembleHost(run.kernel, run.scenario.zookeeper, run.seed)
        run.stores.update(dict.fromkeys(groups["zookeeper"], ensemble))
    if "database" in groups:
        from emulator.world.database import DatabaseHost  # noqa: PLC0415

        database = DatabaseHost(run.kernel, run.scenario.database, run.seed)
        run.stores.update(dict.fromkeys(groups["database"], database))
