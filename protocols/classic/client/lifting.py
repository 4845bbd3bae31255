"""Moves of what both protocols share, made in a classic client's state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from protocols.classic.client.values import ClientState
from protocols.client.reader import Reads
from protocols.step import Step


def on_reads(state: ClientState, move: Callable[[Reads], Step[Reads]]) -> Step[ClientState]:
    """Make a move of what the client asks any broker."""
    step = move(state.reads)
    if step.state is state.reads:
        return Step(state, step.effects)
    return Step(replace(state, reads=step.state), step.effects)


def take_number(state: ClientState) -> tuple[int, ClientState]:
    """Return a fresh correlation id."""
    number, reads = state.reads.numbered()
    return number, replace(state, reads=reads)
