"""Kill commands that write folders, run them again, and compare the result with an undisturbed one.

``python -m benchmarks.kills COUNT [SEED [COMMAND…]]`` tries each way to disturb ``study``, ``import`` and
``audit``, or those that are named:

* SIGKILL at a random instant, to the command alone or also to its worker processes, COUNT times each;
* a full disk: a limit for the size of files, and for root a file system in memory of a random size;
* a folder that cannot be written: read-only, or for root immutable (``chattr +i``, where the file system
  has it), half of the times with a killed run in it;
* two of the same command on one folder at the same time.

Afterwards the same command must write the same bytes as without a disturbance, and leave nothing
beside them. Prints how often each was tried; status 1 if anything differed.
"""

from __future__ import annotations

import os
import random  # noqa: TID251  disturbs processes, not simulated worlds
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

LIMIT_S = 600
"""Seconds after which a command hangs."""

SCENARIO = """
title = "two of three crash"
run_for = "30s"
[[topic]]
name = "orders"
partitions = 6
rate = "20/s"
[[group]]
id = "billing"
topics = ["orders"]
members = 3
work = "5ms"
settings = { "session.timeout.ms" = 6000 }
[[fault]]
crash = "billing-1"
between = ["8s", "10s"]
"""

STUDY = """
title = "how often to commit?"
scenario = "scenario.toml"
seeds = 3
metrics = ["reprocessed", "takeover_first_s"]
[[vary]]
name = "commit interval"
set = "group[billing].settings[auto.commit.interval.ms]"
values = ["500ms", "5s"]
"""

NAMES = ("study", "import", "audit")
SEGMENTS = 12
AUDITED_ROWS = 20_000


@dataclass(frozen=True)
class Command:
    """A command that writes a folder, and what it writes when undisturbed."""

    name: str
    arguments: tuple[str, ...]
    expected: dict[str, str]
    seconds: float
    """Duration of the undisturbed run."""

    def start(self, output: Path, limit_bytes: int | None = None) -> subprocess.Popen[str]:
        """Start it in a process group of its own; *limit_bytes*: of each file that it writes."""
        limit = [] if limit_bytes is None else ["prlimit", f"--fsize={limit_bytes}"]
        return subprocess.Popen(  # noqa: S603  our own command
            [*limit, sys.executable, "-m", "emulator", *self.arguments, "-o", str(output)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def run(self, output: Path, limit_bytes: int | None = None) -> tuple[int, str]:
        """Run it; return its exit status and what it said on stderr."""
        running = self.start(output, limit_bytes)
        _, said = running.communicate(timeout=LIMIT_S)
        return running.returncode, said

    def difference(self, output: Path) -> str | None:
        """Return how the folder differs from that of an undisturbed run; None: it does not."""
        return difference(self.expected, content(output.parent))


def content(folder: Path) -> dict[str, str]:
    """Return a digest of each file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files
    }


def difference(expected: dict[str, str], found: dict[str, str]) -> str | None:
    """Return in words how the content of a folder differs; None: it does not."""
    names = sorted(expected.keys() | found.keys())
    wrong = [name for name in names if expected.get(name) != found.get(name)]
    return f"differs: {', '.join(wrong[:5])}" if wrong else None


# -- what is disturbed ---------------------------------------------------------------------------


def commands(folder: Path, names: Sequence[str] = NAMES) -> list[Command]:
    """Write the inputs of some commands into a folder, and run each undisturbed."""
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    (folder / "log.csv").write_text("".join(_rows()), encoding="utf-8")
    if "import" in names:
        _write_segments(folder)
    given = {
        "study": ("study", folder / "study.toml", "--jobs", 2),
        "import": ("import", folder / "logs"),
        "audit": ("audit", folder / "log.csv"),
    }
    return [_measured(name, tuple(map(str, given[name])), folder) for name in names]


def _write_segments(folder: Path) -> None:
    """Write the offsets log of a run several times."""
    log = folder / "log"
    _rebalance("run", folder / "scenario.toml", "--write-log", log)
    (segments,) = log.glob("__consumer_offsets-*")
    for number in range(SEGMENTS):
        shutil.copytree(segments, folder / "logs" / f"__consumer_offsets-{number}")


def _rows() -> Iterator[str]:
    """Yield the lines of a processing log in which every hundredth record is reprocessed."""
    yield "topic,partition,consumer,offset,end\n"
    for number in range(AUDITED_ROWS):
        offset = number - number // 100
        yield f"orders,{number % 7},c-{number % 3},{offset},{1_700_000_000_000 + number}\n"


def _rebalance(*words: object) -> None:
    command = [sys.executable, "-m", "emulator", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  our own command


def _measured(name: str, arguments: tuple[str, ...], folder: Path) -> Command:
    output = folder / "expected" / name / "out"
    output.parent.mkdir(parents=True)
    began = time.monotonic()
    status, said = Command(name, arguments, {}, 0).run(output)
    if status != 0:
        raise RuntimeError(f"{name}: {said}")
    return Command(name, arguments, content(output.parent), time.monotonic() - began)


# -- disturbances --------------------------------------------------------------------------------


def killed(command: Command, output: Path, draw: random.Random) -> None:
    """Kill the command at a random instant: half of the times after it has begun to write."""
    running = command.start(output)
    left_s = command.seconds
    if draw.random() < 0.5:
        began = time.monotonic()
        while running.poll() is None and not any(output.parent.iterdir()):
            time.sleep(0.001)
        left_s -= time.monotonic() - began
    time.sleep(max(0.0, draw.uniform(0, left_s)))
    if draw.random() < 0.5:
        _kill_group(running.pid)
    else:
        running.kill()
    running.communicate(timeout=LIMIT_S)  # also waits for its worker processes


def on_a_full_disk(command: Command, output: Path, draw: random.Random) -> None:
    """Run the command while files cannot exceed a random size; it must say so, or end well."""
    status, said = command.run(output, limit_bytes=int(10 ** draw.uniform(1, 5)))
    if status != 0 and (status != 2 or "cannot be written" not in said):
        raise AssertionError(f"status {status}: {said[-2_000:]}")


def on_a_full_file_system(command: Command, output: Path, draw: random.Random) -> None:
    """Run the command on a file system of a random size, and move what it left to one with room."""
    place, pages = output.parent, int(10 ** draw.uniform(0, 2.5))
    with tempfile.TemporaryDirectory() as kept:
        with in_memory(place, pages * 4_096):
            status, said = command.run(output)
            shutil.copytree(place, kept, dirs_exist_ok=True)
        shutil.copytree(kept, place, dirs_exist_ok=True)
    if status != 0 and (status != 2 or "cannot be written" not in said):
        raise AssertionError(f"status {status}: {said[-2_000:]}")


@contextmanager
def in_memory(folder: Path, limit_bytes: int) -> Iterator[None]:
    """Mount a file system of so many bytes on a folder; for root alone."""
    size = f"size={limit_bytes}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True)  # noqa: S603, S607
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)  # noqa: S603, S607  as above


def may_mount(folder: Path) -> bool:
    """Return whether a file system can be mounted here."""
    try:
        with in_memory(folder, 4_096):
            return True
    except (subprocess.CalledProcessError, OSError):
        return False


def in_a_read_only_folder(command: Command, output: Path, draw: random.Random) -> None:
    """Run the command where no file can be made, renamed or deleted; it must say so."""
    place = output.parent
    if draw.random() < 0.5:
        killed(command, output, draw)
        place = output if output.exists() else place
    with read_only(place):
        status, said = command.run(output)
    if status != 2 or not any(words in said for words in REFUSED):
        raise AssertionError(f"status {status}: {said[-2_000:]}")


REFUSED = ("cannot be written", "already")
"""What a command says of a folder that is read-only, or that was complete before."""


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Let nobody write into a folder, not even root."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    subprocess.run(["chattr", "-R", "+i", str(folder)], check=True)  # noqa: S603, S607  for root alone
    try:
        yield
    finally:
        subprocess.run(["chattr", "-R", "-i", str(folder)], check=True)  # noqa: S603, S607  as above


def has_read_only(folder: Path) -> bool:
    """Return whether the file system lets a folder be read-only, for root, too."""
    try:
        with read_only(folder):
            (folder / "tried").touch()
    except subprocess.CalledProcessError:
        return False
    except OSError:
        return True
    (folder / "tried").unlink()
    return False


def beside_another(command: Command, output: Path, draw: random.Random) -> None:
    """Run two at once; each must end well, or name the folder that the other one writes."""
    first = command.start(output)
    time.sleep(draw.uniform(0, command.seconds / 2))
    second = command.start(output)
    ended = [(one.communicate(timeout=LIMIT_S)[1], one.returncode) for one in (first, second)]
    for said, status in ended:
        if status != 0 and (status != 2 or str(output) not in said):
            raise AssertionError(f"status {status}: {said[-2_000:]}")
    if not any(status == 0 for _, status in ended):
        raise AssertionError(f"neither ended well: {ended}")


def _kill_group(number: int) -> None:
    os.killpg(number, signal.SIGKILL)


DISTURBANCES: dict[str, Callable[[Command, Path, random.Random], None]] = {
    "killed": killed,
    "full disk": on_a_full_disk,
    "full file system": on_a_full_file_system,
    "read-only": in_a_read_only_folder,
    "two at once": beside_another,
}

POSSIBLE: dict[str, Callable[[Path], bool]] = {
    "read-only": has_read_only,
    "full file system": may_mount,
}
"""Those that not every machine allows, each with a test whether this one does."""


def problem_after(command: Command, how: str, folder: Path, draw: random.Random) -> str | None:
    """Disturb a command, run it again, and return what is wrong then; None: nothing.

    *folder*: an empty one. The second run may refuse if it names what to delete.
    """
    output = folder / "out"
    try:
        DISTURBANCES[how](command, output, draw)
    except AssertionError as wrong:
        return f"{command.name}, {how}: {wrong}"
    if difference(command.expected, content(folder)) is not None or how in ("killed", "read-only"):
        if command.name == "import" and (output / "manifest.json").exists():
            return _problem(command, output, how)  # complete: it is refused, and must be equal
        status, said = command.run(output)
        if status != 0:
            return f"{command.name}, {how}: the second run ended with {status}: {said[-2_000:]}"
    return _problem(command, output, how)


def _problem(command: Command, output: Path, how: str) -> str | None:
    found = command.difference(output)
    return None if found is None else f"{command.name}, {how}: the result {found}"


def main(count: int, seed: int, names: Sequence[str] = NAMES) -> int:
    """Disturb each of some commands in each way, and return the exit status."""
    draw, tried, problems = random.Random(seed), Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command in commands(folder, names):
            for how in DISTURBANCES:
                possible = POSSIBLE.get(how)
                if possible is not None and not possible(folder):
                    continue
                for number in range(count if how == "killed" else max(1, count // 5)):
                    place = folder / "tried" / f"{command.name}-{how.replace(' ', '-')}-{number}"
                    place.mkdir(parents=True)
                    problem = problem_after(command, how, place, draw)
                    tried[f"{command.name} {how}"] += 1
                    if problem is not None:
                        problems.append(problem)
                        print(problem, flush=True)
                    shutil.rmtree(place)
                print(f"{command.name}, {how}: {tried[f'{command.name} {how}']} tried", flush=True)
    print(f"{sum(tried.values())} tried, seed {seed}: {len(problems)} wrong")
    return 1 if problems else 0


def arguments_of(words: Sequence[str]) -> tuple[int, int, Sequence[str]]:
    """Return the number of kills, the seed, and the commands."""
    return int(words[0]), int(words[1]) if len(words) > 1 else 1, words[2:] or NAMES


if __name__ == "__main__":
    sys.exit(main(*arguments_of(sys.argv[1:])))
