"""The segment that is shipped as an example, and how many modules a command loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .audit.logs import records, write

ROOT = Path(__file__).parents[3]
SEGMENT = ROOT / "examples" / "__consumer_offsets-4"

PROGRAM = """
import sys
from emulator.cli.main import main
try:
    main()
except SystemExit:
    pass
ours = {"assignors", "emulator", "protocols"}
print(sum(name.split(".")[0] in ours for name in sys.modules), file=sys.stderr)
"""


def module_counts(command: str, folder: Path) -> int:
    """Return how many of our modules a command loads: an import of a folder, an audit of Parquet."""
    log = folder / "log.parquet"
    arguments = {
        "import": ["import", str(SEGMENT), "-o", str(folder / "imported")],
        "audit": ["audit", str(write(log, [*records(0, 9, "m1", 0)]))],
    }[command]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    return int(done.stderr.split()[-1])
