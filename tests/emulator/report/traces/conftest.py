"""One run that several tests look at, traced."""

from __future__ import annotations

import json

import pytest

import emulator
from emulator.tracing import trace

from ...cli.commands import CRASH


@pytest.fixture(scope="session")
def traced():
    """Return the traced run of a crash."""
    return trace(emulator.loads(CRASH))


@pytest.fixture(scope="session")
def document(traced):
    """Return its trace for Perfetto, read back."""
    return json.loads("".join(traced.perfetto()))
