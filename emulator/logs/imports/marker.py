"""Tell the folder of an import from others, by its manifest."""

from __future__ import annotations

import json
from pathlib import Path


def is_import(folder: Path) -> bool:
    """Return whether a folder is that of a complete import."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("kind") == "import"


def import_with(path: Path) -> Path | None:
    """Return the folder of the import that a path is, or is in; None: it is in none."""
    near = (path, *path.parents[:2])
    return next((each for each in near if is_import(each)), None)
