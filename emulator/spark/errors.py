"""What can be wrong with Spark itself, said to people."""

from __future__ import annotations

import re
from typing import Final

from emulator.errors import EmulatorError

OWN_PYTHON = (
    "executors have a Python of their own; let PYSPARK_PYTHON name one, on all of them, that has "
    "what rebalance-emulator needs"
)

_NAME: Final = re.compile(r"[\w.]+(Error|Exception)")
"""Of what was raised: before the colon, and alone; lines of a traceback's source are not so."""


class SparkError(EmulatorError):
    """Spark cannot be used, or broke off; the message says why, and what helps."""


def reason_in(text: str) -> str:
    """Return what went wrong: the end of the worker's traceback in *text*, or its first line.

    Where the executors' Python is at fault, say what helps.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [line for line in lines if _NAME.fullmatch(line.partition(":")[0])]
    reason = (ends or lines or ["no reason given"])[0]
    missing = "ModuleNotFoundError" in reason or "Cannot run program" in text
    return f"{reason} ({OWN_PYTHON})" if missing or "PYTHON_VERSION_MISMATCH" in text else reason
