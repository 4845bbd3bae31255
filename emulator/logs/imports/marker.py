"""Tell the folder of an import from others, by its manifest."""

from __future__ import annotations

from pathlib import Path

from emulator.input_files import object_in


def is_import(folder: Path) -> bool:
    """Return whether a folder is that of a complete import."""
    return object_in(folder / "manifest.json").get("kind") == "import"


def import_with(path: Path) -> Path | None:
    """Return the folder of the import that a path is, or is in; None: it is in none."""
    near = (path, *path.parents[:2])
    return next((each for each in near if is_import(each)), None)
