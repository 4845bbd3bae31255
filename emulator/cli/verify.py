"""``rebalance verify``: captured runs of a real Kafka, side by side with their emulation."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("verify")(verify)


def verify() -> None:
    """x."""
