"""Moves of what both protocols share, made in the state of a client of this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from protocols.client.reader import Reads
from protocols.kip848.client.values import ClientState
from protocols.step import Step


def on_reads(state: ClientState, move: Callable[[Reads], Step[Reads]]) -> Step[ClientState]:
    """Make a move of what the client asks any broker."""
    step = move(state.reads)
    if step.state is state.reads:
        return Step(state, step.effects)
    return Step(replace(state, reads=step.state), step.effects)
