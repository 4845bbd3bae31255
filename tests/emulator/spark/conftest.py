"""One real Spark for all tests of a process; what it leaves behind lies in a tmp folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.spark.session import Session, open_session

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A Java that starts sooner and works slower."""


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Start Spark once in each process that plays tests."""
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.defaultJavaOptions": QUICK,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    with open_session("tests", master="local[2]", settings=settings) as opened:
        yield opened
