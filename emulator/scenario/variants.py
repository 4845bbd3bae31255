"""Variants of a scenario: what ``rebalance compare`` holds against each other."""

from pydantic import Field

from emulator.scenario.part import Part


class Variant(Part):
    """The same scenario with some keys changed; ``rebalance compare`` plays them side by side.

    ``rebalance run`` plays the scenario as it is written.
    """

    name: str = Field(min_length=1, max_length=60)
    changes: tuple[str, ...] = Field((), alias="set")
    """``path=value``, as for ``--set``; left out: as it is written."""
