"""The group of the tests of offset stores, and code of the user beside a scenario."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

TOPIC_AND_GROUP = """\
[[topic]]
name = "t"
partitions = 4
rate = "20/s"

[[group]]
id = "g"
topics = ["t"]
members = 2
work = "5ms"
"""


def write_class(folder: Path, module: str, body: str, scenario: str) -> Path:
    """Write a class ``Own`` with this body, and a scenario beside it; return the scenario's path."""
    code = f"class Own:\n{indent(dedent(body), '    ')}\n"
    (folder / f"{module}.py").write_text(f"from emulator.handlers import *\n{code}")
    path = folder / f"{module}.toml"
    path.write_text(scenario)
    return path
