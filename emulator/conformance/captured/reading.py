"""Read files of a capture as checked values; raise :class:`CaptureError` with the place."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from assignors.values import dataclass
from emulator.errors import EmulatorError
from emulator.input_files import MAX_CAPTURED_BYTES, read_bytes, refuse_pipe, unpacked
from emulator.limits import parser_words, refuse_deep

_ENDLESS_NUMBER: Final = re.compile(r"\d{4301}")


class CaptureError(EmulatorError):
    """A capture cannot be used: the file, the problem, and the line if there is one."""

    def __init__(self, path: str, problem: str, line: int | None = None) -> None:
        super().__init__(path, problem, line)
        self.path, self.problem, self.line = path, problem, line

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value: a file, and the line if the file is read by lines."""

    path: Path
    line: int | None = None

    def error(self, problem: str) -> CaptureError:
        """Return an error at this place."""
        return CaptureError(str(self.path), problem, self.line)


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object whose fields are read by name and type."""

    values: Mapping[str, Any]
    place: Place
    within: str = ""
    """The keys that lead to it, each followed by a dot."""

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def wrong(self, key: str, wanted: str) -> CaptureError:
        """Return an error for a field of the wrong type."""
        given = json.dumps(self.values[key])
        shown = given if len(given) <= 60 else given[:57] + "..."
        return self.place.error(f"field '{self.within}{key}' is {shown}; expected {wanted}")

    def anything(self, key: str) -> Any:
        """Return a required field of any type."""
        if key not in self:
            raise self.place.error(f"field '{self.within}{key}' is missing")
        return self.values[key]

    def whole(self, key: str) -> int:
        """Return an integer."""
        value = self.anything(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(key, "a whole number")
        return value

    def count(self, key: str) -> int:
        """Return an integer of at least 0."""
        value = self.whole(key)
        if value < 0:
            raise self.wrong(key, "a number that is not negative")
        return value

    def number(self, key: str) -> float:
        """Return a number."""
        value = self.anything(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(key, "a number")
        return value

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.anything(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; a missing field is false."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def table(self, key: str) -> Fields:
        """Return an object inside this one."""
        value = self.anything(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Fields(value, self.place, f"{self.within}{key}.")

    def tables(self, key: str) -> list[Fields]:
        """Return a list of objects."""
        values = self.listed(key)
        if not all(isinstance(value, dict) for value in values):
            raise self.wrong(key, "a list of objects")
        return [Fields(v, self.place, f"{self.within}{key}[{i}].") for i, v in enumerate(values)]

    def listed(self, key: str) -> list[Any]:
        """Return a list."""
        value = self.anything(key)
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self.listed(key)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "a list of strings")
        return values

    def counts(self, key: str) -> list[int]:
        """Return a list of integers of at least 0."""
        values = self.listed(key)
        if not all(isinstance(value, int) and value >= 0 for value in values):
            raise self.wrong(key, "a list of whole numbers")
        return values


def named_file(folder: Path, name: str) -> Path:
    """Return a file in a folder; raise CaptureError if the name, of a capture, leads elsewhere."""
    if Path(name).name != name or "\0" in name:
        raise CaptureError(str(folder), f"{name!r} is not the name of a file in this folder")
    return folder / name


def read_text(path: Path) -> str:
    """Return the text of a file, decompressed if gzip; raise CaptureError if that fails."""
    place = Place(path)
    try:
        refuse_pipe(path)
        content = read_bytes(path, MAX_CAPTURED_BYTES)
        if path.suffix == ".gz":
            content = unpacked(content, str(path), MAX_CAPTURED_BYTES)
        return _with_numbers(content.decode())
    except FileNotFoundError:
        raise place.error("the file is missing") from None
    except EOFError:
        raise place.error("the gzip file is cut off before its end") from None
    except zlib.error as error:
        raise place.error(f"not a valid gzip file ({error})") from None
    except UnicodeDecodeError as error:
        raise place.error(f"not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise place.error(str(error)) from None
    except OSError as error:
        raise place.error(f"cannot be read ({error.strerror})") from None


def _with_numbers(text: str) -> str:
    """Return a text; raise ValueError for a number that Python does not read."""
    if _ENDLESS_NUMBER.search(text):
        raise ValueError("a number of more than 4,300 digits")
    return text


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file without their ends."""
    lines = read_text(path).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def read_json(text: str) -> Any:
    """Return a JSON value; raise ValueError if it is invalid, RecursionError if the limit was raised."""
    refuse_deep(text)
    return json.loads(text)


def read_object(path: Path) -> Fields:
    """Return the single JSON object of a file."""
    place = Place(path)
    try:
        return as_object(read_json(read_text(path)), place)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON ({parser_words(error)})") from None


def read_objects(path: Path) -> Iterator[Fields]:
    """Yield the JSON object of each line of a file."""
    for number, line in enumerate(read_lines(path), start=1):
        place = Place(path, number)
        try:
            value = read_json(line)
        except (ValueError, RecursionError) as error:
            raise place.error(f"not JSON ({parser_words(error)})") from None
        yield as_object(value, place)


def as_object(value: Any, place: Place) -> Fields:
    """Return a JSON value as an object; raise CaptureError if it is not one."""
    if not isinstance(value, dict):
        raise place.error("expected a JSON object")
    return Fields(value, place)
