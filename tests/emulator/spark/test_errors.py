"""Messages about a task that failed."""

from __future__ import annotations

import pytest

from emulator.spark.errors import reason_in


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Job aborted\n  ValueError: no such thing\n  at java", "ValueError: no such thing"),
        ("Job aborted\n\nDriver stacktrace:", "Job aborted"),
        ("", "no reason given"),
    ],
)
def test_the_end_of_a_workers_traceback_is_the_reason(text, reason):
    """Of Spark's own lines only where there is none."""
    assert reason == reason_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "aborted\nModuleNotFoundError: No module named 'pyarrow'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.11",
        'Cannot run program "python3.12": error=2',
    ],
)
def test_a_python_without_a_package_gets_advice(text):
    """Executors use python3 of their own path by default."""
    assert "set PYSPARK_PYTHON to one" in reason_in(text)


def test_an_executor_that_cannot_start_python_is_reported_with_its_path():
    """Spark's message begins with the call that failed in the driver."""
    text = (
        'An error occurred while calling o7.x\n: Job aborted: Cannot run program "/p": error=13\n'
    )

    assert reason_in(text).startswith('Cannot run program "/p": error=13 (')


def test_a_line_of_source_is_not_what_was_raised():
    """Tracebacks show some that end in a colon."""
    text = "Traceback:\n    except KeyError:\n  at it\nOSError: [Errno 28] No space left\n"

    assert "OSError: [Errno 28] No space left" == reason_in(text)
