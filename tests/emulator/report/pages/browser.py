"""A headless Chromium that tests open a page in, if Chromium and Node.js are installed.

``make browser`` installs them, axe-core, which checks accessibility, and Mermaid.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

DRIVER = Path(__file__).with_name("browser.mjs")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
NODE = shutil.which("node")


def _package(file: str) -> Path | None:
    """Return a file of a package that npm has installed; None if there is none."""
    folders = (Path(sys.prefix), Path("/usr/local/lib"), Path("/usr/lib"))
    paths = (folder / "node_modules" / file for folder in folders)
    return next((path for path in paths if path.is_file()), None)


AXE = _package("axe-core/axe.min.js")
MERMAID = _package("mermaid/dist/mermaid.min.js")


class Opened(NamedTuple):
    """What the browser says of a page."""

    errors: list[str]
    """Errors of the console, and exceptions."""

    answers: list[object]
    """The values of the expressions, in order."""

    width: int
    """Of the page's content."""


def open_page(path: Path, *expressions: str, width: int = 1_280, scheme: str = "light") -> Opened:
    """Open a page and evaluate expressions in it; skip the test if there is no browser.

    ``press Tab`` and ``press Enter`` are keys instead of expressions.
    """
    profile = path.parent / "profile"
    return open_address(path.as_uri(), *expressions, profile=profile, width=width, scheme=scheme)


def open_address(
    address: str, *expressions: str, profile: Path, width: int = 1_280, scheme: str = "light"
) -> Opened:
    """Do the same for an address; *profile*: a folder for files of the browser."""
    if CHROMIUM is None or NODE is None:
        pytest.skip(
            "chromium or node is not installed (make browser): the page is not opened in a browser"
        )
    request = {
        "chromium": CHROMIUM,
        "page": address,
        "expressions": expressions,
        "width": width,
        "scheme": scheme,
        "profile": str(profile),
    }
    done = subprocess.run(
        [NODE, "--experimental-websocket", DRIVER],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Opened(**json.loads(done.stdout))


def violations(path: Path, scheme: str) -> list[object]:
    """Return what axe-core finds serious; skip the test if it is not installed."""
    return checked(path, scheme, 1_280).answers[1]  # type: ignore[return-value]


def checked(path: Path, scheme: str, width: int) -> Opened:
    """Open a page for axe-core; the second answer is what it finds serious. Skips the test without it."""
    if AXE is None:
        pytest.skip("axe-core is not installed (make browser): accessibility is not checked")
    script = AXE.read_text(encoding="utf-8")
    run = (
        "axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
        ".map(v => [v.id, v.nodes.map(n => n.html.slice(0, 120))]))"
    )
    return open_page(path, f"{script}; 0", run, width=width, scheme=scheme)
