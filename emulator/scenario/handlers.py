"""What processes the records of a group: workers, a batch listener, code of the user; deduplication."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from emulator.scenario import short_forms
from emulator.scenario.distributions import PositiveDuration
from emulator.scenario.part import Part


class Pool(Part):
    """Workers that process records while the application thread polls on."""

    workers: int = Field(ge=1, le=10_000)
    """Records that are processed at the same time."""

    order: Literal["partition", "key", "none"] = "partition"
    """Records of the same partition, or of the same key, are processed one after the other; ``none``: in
    any order."""

    keys: int = Field(1_000, ge=1)
    """With ``order = "key"``: the number of keys in a partition, all equally frequent."""

    queue: int = Field(1_000, ge=1)
    """Once so many polled records are unfinished, no more are polled."""

    when_full: Literal["pause", "block"] = "pause"
    """Pause the partitions and poll on, or poll again only when there is room, however long it takes."""

    resume_at: int | None = Field(None, ge=0)
    """Resume, or poll again, when at most so many polled records are unfinished; left out: as soon as there
    is room."""

    pause_call: Literal["each poll", "once"] = "each poll"
    """Pause what is assigned before each poll while the queue is full, or once, when it fills up: a bug,
    as partitions that a rebalance assigns meanwhile, or assigns again, are not paused."""

    drain: Literal["none", "running", "all"] = "none"
    """Before partitions are revoked and before close(), wait for no record, for the records that
    workers have begun, or for all that were polled."""

    drain_for: PositiveDuration = 30_000_000
    """The longest wait; then the rebalance, or close(), continues without the rest."""

    commit_first: bool = False
    """A bug: commit in the revoke listener before the wait, and not after it."""

    revoked: Literal["discard", "continue"] = "discard"
    """After the revocation, discard the polled records that no worker has begun, or process them."""


class BatchListener(Part):
    """A listener that gets all records of a poll in one call; it processes them one after the other."""

    listener: Literal["batch"] = "batch"
    names_failed: bool = False
    """When a record fails, the exception names it (``BatchListenerFailedException``): what is in front of
    it is committed, the rest is polled again. Else the whole batch is."""


class OwnHandler(Part):
    """Code of the user that processes the records of a poll, in virtual time."""

    code: str
    """``"module:Class"``: a class of a module beside the scenario, or of a module that ``--plugin``
    allows (docs/how-to/own-handlers.md)."""

    arguments: dict[str, object] = Field(default_factory=dict)
    """Passed to the class by name, after the consumer."""


def _kind(value: object) -> str:
    if isinstance(value, OwnHandler) or (isinstance(value, dict) and "code" in value):
        return "=own"
    keys = set(value) if isinstance(value, dict) else ()
    is_batch = isinstance(value, BatchListener) or not {"listener", "names_failed"}.isdisjoint(keys)
    return "=batch" if is_batch else "=pool"


Handler = Annotated[
    Annotated[
        Annotated[Pool, Tag("=pool")]
        | Annotated[BatchListener, Tag("=batch")]
        | Annotated[OwnHandler, Tag("=own")],
        Discriminator(_kind),
    ]
    | None,
    BeforeValidator(short_forms.handler),
]


class Deduplication(Part):
    """A seen-set behind the handler, by partition and offset."""

    window: PositiveDuration | None = None
    """How long it remembers a record; with neither this nor ``records`` it forgets nothing."""

    records: int | None = Field(None, ge=1)
    """How many records it remembers, the newest."""

    scope: Literal["shared", "process"] = "shared"
    """One set for the group, or one in the memory of each process, which ends with it."""

    mark: Literal["after", "before"] = "after"
    """``before``: a record is added before its work begins, a bug: if the process is killed, the
    record is recognised when it comes again, and is never processed."""
