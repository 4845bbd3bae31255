"""Read the settings of a group from the file of a real client: ``settings_from``.

Three kinds of files: properties of the Java client (``key=value`` lines), which librdkafka's are too;
properties of Spring Boot (``spring.kafka.…``); Spring's YAML. What has no part in a simulation
(addresses, security, deserializers) is left out and noted.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from emulator.input_files import file_in, nearest_file, read_bytes, utf8_text
from emulator.scenario.clients.keys import ClientFile
from emulator.scenario.clients.names import kafkas_value, with_kafkas_names
from emulator.scenario.kafka_settings import (
    CONSUMER,
    CONSUMERS,
    PROTOCOL,
    REFUSED_WITH,
    flattened,
    setting_value,
)
from emulator.scenario.part import Document, ScenarioSource
from emulator.scenario.problems import Problem, ScenarioError, few_listed, hint
from emulator.scenario.resolution import AUTO_COMMIT, OFFSET_STORE
from protocols.consumer.clients import CLIENTS, ClientProfile, profile_of
from protocols.settings import Kind

KEY = "settings_from"
"""As in ``emulator.scenario.load``."""

SPRING = "spring."

_LINE = re.compile(r"[ \t]*((?:[^\\=: \t]|\\.)+)[ \t]*[=: \t]?[ \t]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NEAR_ENOUGH = 0.9
"""From which similarity on an unknown name is taken for a misspelt setting."""


def with_client_files(document: Document, source: ScenarioSource) -> Document:
    """Return a tidy document in which each ``settings_from`` is replaced by what its file says.

    Keys that the scenario has itself are kept. Raise ScenarioError if a file cannot be used.
    """
    groups = []
    for group in document["group"]:
        if not isinstance(group, dict) or KEY not in group:
            groups.append(group)
            continue
        found = _read(group, source)
        rest = {key: value for key, value in group.items() if key != KEY}
        settings = {**found.settings, **with_kafkas_names(group).get("settings", {})}
        groups.append({**found.group, **rest, "settings": settings})
        document = _with_stops(document, group, found.stop)
    return {**document, "group": tuple(groups)}


def client_file(path: str, source: ScenarioSource, client: str = CLIENTS[0]) -> ClientFile:
    """Return what the file of a client says; raise ScenarioError if it cannot be used."""
    return _read({KEY: path, "client": client}, source)


def notes_of(document: Document, source: ScenarioSource) -> Iterator[str]:
    """Yield what to tell the user about each ``settings_from`` of a tidy document."""
    for group in document.get("group", ()):
        if isinstance(group, dict) and KEY in group:
            found = _read(group, source)
            yield from (f"{group[KEY]}: {note}" for note in found.notes)
            own = {**found.group, **group}
            commits = {"commit", "framework"} & own.keys()
            if found.settings.get("enable.auto.commit") is False and not commits:
                yield (
                    f"{group[KEY]}: enable.auto.commit is false, so nothing is committed unless the "
                    f'group has a "commit" key, such as commit = "sync"'
                )
            if "client" not in group and (theirs := found.of_librdkafka):
                yield (
                    f"{group[KEY]}: {few_listed(theirs)}: of librdkafka; the group is played as "
                    'a Java client, which commits and polls differently, unless it has client = "librdkafka" (and '
                    'commit = "store" for enable.auto.offset.store=false)'
                )
            if found.ignored:
                yield f"{group[KEY]}: ignored: {_without_part(found.ignored)}"


def _without_part(names: list[str]) -> str:
    """Return the number of settings that the emulator does not use, and the first of them."""
    if len(names) == 1:
        return f"{names[0]}, which the emulator does not use"
    return f"{len(names):,} settings that the emulator does not use, such as {names[0]}"


def _with_stops(document: Document, group: Document, stop: Document) -> Document:
    """Return a document whose acts that stop members of a group have the file's keys."""
    if not stop or not isinstance(document.get("fault"), tuple):
        return document
    own = group.get("id")
    faults = [
        {**stop, **fault} if isinstance(fault, dict) and _stops(fault, own) else fault
        for fault in document["fault"]
    ]
    return {**document, "fault": tuple(faults)}


def _stops(fault: Document, group: object) -> bool:
    """Return whether an act stops members of a group; a member's name begins with its group's."""
    return fault.get("rolling_restart") == group or str(fault.get("close", "")).startswith(
        f"{group}-"
    )


# -- reading ---------------------------------------------------------------------------------


MAX_NAMES = 10_000
"""Settings of one file; each that has no part here is compared with those that have one."""


def _read(group: Document, source: ScenarioSource) -> ClientFile:
    """Return what the file of a group says; raise ScenarioError if it cannot be read or is wrong."""
    name, where = group[KEY], f"group[{group.get('id', '')}].{KEY}"
    if not isinstance(name, str) or source.folder is None:
        reason = "wrong type; allowed is the path of a file, relative to the scenario's"
        raise ScenarioError(source.name, [Problem(where, reason, name)])
    path = source.folder / name
    try:
        content = read_bytes(file_in(source.folder, name))
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        near = nearest_file(path) if isinstance(error, FileNotFoundError) else ""
        raise ScenarioError(source.name, [Problem(where, f"{reason}{near}", name)]) from None
    try:
        text = _text(path, content)
        pairs = _few(dict(_pairs(path, text)))
    except ValueError as error:
        raise ScenarioError(str(path), [Problem("", f"cannot be read: {error}")]) from None
    client = group.get("client")
    profile = profile_of(client if client in CLIENTS else CLIENTS[0])
    try:
        found = _found(pairs, str(path), profile)
    except ScenarioError as error:
        problems = [replace(each, line=_line_of(each, text)) for each in error.problems]
        raise ScenarioError(error.name, problems) from None
    _leave_out_refused(found, group.get("settings"))
    _store_offsets(found)
    return found


def _found(pairs: Mapping[str, object], path: str, profile: ClientProfile) -> ClientFile:
    """Return what the settings of a file say; raise ScenarioError if some are wrong."""
    found = ClientFile()
    plain = {key: value for key, value in pairs.items() if not key.startswith(SPRING)}
    if len(plain) < len(pairs):
        from emulator.scenario.clients.spring import translate  # noqa: PLC0415  few files are Spring's

        plain = {**translate(pairs, found, path)}
    problems = list(_take(found, plain, profile))
    if problems:
        raise ScenarioError(path, [_as_written(each, pairs) for each in problems])
    return found


def _line_of(problem: Problem, text: str) -> int | None:
    """Return the line of a setting in a file of any kind; None if it cannot be found.

    In YAML the first parts of a name are on lines above it. A line with the value comes first; of
    several such lines the last one counts.
    """
    parts, value = problem.path.split("."), re.escape(str(problem.given))
    for with_value in (rf"[=: \t\"']*{value}", ""):
        for first in range(len(parts)):
            name = re.escape(".".join(parts[first:]))
            key = re.compile(rf"""(?:[^#]*[\s{{,"'])?{name}["'\]]*[ \t]*[=: \t]{with_value}""")
            found = [at for at, line in enumerate(text.splitlines(), 1) if key.match(line)]
            if found:
                return found[-1]
    return None


def _store_offsets(found: ClientFile) -> None:
    """Let the application store offsets behind its work if the client does not store them."""
    if found.settings.get(OFFSET_STORE) is False and found.settings.get(AUTO_COMMIT) is not False:
        found.group["commit"] = "store"
        found.notes.append(
            f'{OFFSET_STORE} is false: commit = "store", offsets are stored behind the work of a batch'
        )


def _leave_out_refused(found: ClientFile, own: object) -> None:
    """Remove settings of a file that the scenario's own ``group.protocol`` does not have; note them.

    Without this the other protocol could be tried only with another file.
    """
    protocol = dict(flattened(own)).get(PROTOCOL) if isinstance(own, dict) else None
    refused = REFUSED_WITH.get(str(protocol), ())
    if names := [name for name in refused if name in found.settings]:
        found.settings = {
            name: value for name, value in found.settings.items() if name not in names
        }
        found.notes.append(
            f"left out, as {PROTOCOL}={protocol} of the scenario does not have them: {', '.join(names)}"
        )


def _as_written(problem: Problem, pairs: Mapping[str, object]) -> Problem:
    """Return a problem with the key of the file, if that is Spring's."""
    if problem.path in pairs:
        return problem
    from emulator.scenario.clients.spring import NAMES, relaxed  # noqa: PLC0415  as above

    keys = (key for key in pairs if NAMES.get(relaxed(key).rpartition(".")[2]) == problem.path)
    return replace(problem, path=next(keys, problem.path))


def _few(pairs: dict[str, object]) -> dict[str, object]:
    """Return the settings of a file; raise ValueError for very many."""
    if len(pairs) > MAX_NAMES:
        raise ValueError(f"{len(pairs):,} settings; at most {MAX_NAMES:,} are read")
    return pairs


def _take(
    found: ClientFile, pairs: Mapping[str, object], profile: ClientProfile
) -> Iterator[Problem]:
    """Add a client's settings to *found*, by Kafka's names; yield a problem for each that is wrong."""
    known = CONSUMER | {name: CONSUMERS[name] for name in profile.own}
    for name, value in pairs.items():
        kafkas = profile.names.get(name, name)
        if name in profile.means_otherwise:
            found.ignored.append(name)
        elif kafkas in known:
            try:
                meant = kafkas_value(kafkas, _as_kind(known[kafkas].kind, value), profile)
                found.settings[kafkas] = setting_value(known[kafkas], meant)
            except ValueError as error:
                yield Problem(name, str(error), value)
        elif name == "group.id":
            found.group_id = str(value)
        elif misspelt := _misspelt(name):
            yield Problem(name, f"unknown setting{hint(misspelt, CONSUMER)}")
        else:
            found.ignored.append(name)


def _as_kind(kind: Kind, value: object) -> object:
    """Return a whole number for its text, in Kafka's own unit; and a text for a number, if it is one.

    A file has ``client.id=7``, and YAML and JSON read a number in that.
    """
    if kind is Kind.TEXT:
        return str(value) if type(value) is int else value
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value) else value


def _misspelt(name: str) -> str:
    """Return a name that is almost that of a setting; empty if it is not."""
    from difflib import get_close_matches  # noqa: PLC0415  only names without a part get here

    return next(iter(get_close_matches(name, CONSUMER, 1, _NEAR_ENOUGH)), "")


def _pairs(path: Path, text: str) -> Iterator[tuple[str, object]]:
    """Yield the names and values of a file by its kind; raise ValueError if it is invalid."""
    if path.suffix in (".yml", ".yaml"):
        from emulator.scenario.clients.spring import yaml_pairs  # noqa: PLC0415  needs a parser

        yield from yaml_pairs(text)
    elif path.suffix == ".json":
        document = _json(text)
        if not isinstance(document, dict):
            raise ValueError("a JSON object is needed")
        yield from document.items()
    elif path.suffix == ".toml":
        raise ValueError(
            "TOML is not the form of a client's settings; allowed are .properties, .conf, .json, .yml"
        )
    else:
        yield from properties(text)


def _text(path: Path, content: bytes) -> str:
    """Return the text of a file; raise ValueError if it is in no encoding that its reader has.

    Properties may be ISO 8859-1: ``java.util.Properties.load`` reads nothing else.
    """
    if path.suffix == ".properties" and not content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        with suppress(UnicodeDecodeError):
            return content.decode("utf-8-sig")
        return content.decode("iso-8859-1")
    return utf8_text(content)


def _json(text: str) -> Any:
    from emulator.limits import parser_words, refuse_deep  # noqa: PLC0415  as above

    refuse_deep(text)
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"not JSON: {parser_words(error)}") from None


def properties(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the names and values of a properties file, as ``java.util.Properties.load`` reads it.

    >>> list(properties("# no\na.b = 1\n c:2 \\\n   3\nd\\ e f"))
    [('a.b', '1'), ('c', '2 3'), ('d e', 'f')]
    """
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for line in joined.splitlines():
        found = _LINE.fullmatch(line)
        if found is not None and line.strip() and line.lstrip()[0] not in "#!":
            yield _unescaped(found[1]), _unescaped(found[2]).strip()


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        mark = found[1]
        if len(mark) == 5:
            return chr(int(mark[1:], 16))
        return {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(mark, mark)

    return _ESCAPE.sub(plain, text)
