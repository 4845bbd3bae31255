"""The commit policy of an application: which calls it makes, when, and with which offsets."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from emulator.scenario import short_forms
from emulator.scenario.part import Part
from emulator.scenario.tables.distributions import Duration, PositiveDuration


class CommitPolicy(Part):
    """The commit calls of the members, and their times."""

    call: Literal["auto", "sync", "async", "none", "store"] = "auto"
    """``auto``: poll() itself; ``sync``, ``async``: the application; ``none``: no commits; ``store``: the
    application stores the offsets that automatic commits then cover (librdkafka: ``store_offsets()``)."""

    when: Literal["batch", "record", "before", "every"] = "batch"
    """After each batch, after each record, after poll() and before processing, or at an interval."""

    every: PositiveDuration | None = None
    """With ``when = "every"``: the time between two commits."""

    records: int | None = Field(None, ge=1)
    """With ``when = "every"``: the records between two commits."""

    between_batches: bool = True
    """Check ``every`` and ``records`` after each batch; False: after each record."""

    offsets: Literal["frontier", "highest", "last"] = "frontier"
    """With a ``handler`` whose workers overtake one another, commit for each partition the offset of its
    first unfinished record, the one behind its highest finished record, or the one behind the record
    finished last. Only the first is safe."""

    arguments: bool = True
    """False: call commitSync() without offsets, which commits everything that poll() returned; with
    ``on_revoke`` also in the revoke listener."""

    on_revoke: bool = False
    """Also commit in the revoke listener."""

    leader_epoch: bool = False
    """Send the leader epoch of the last record with its offset, so that the next owner can detect
    a truncated log; commits without offsets always do."""

    off_by_one: bool = False
    """A bug: commit the offset of the last processed record instead of the next one."""

    retry_older: Duration | None = None
    """A bug: retry a failed async commit after this time, even if newer commits were sent."""

    retry_older_in: Literal["revoked", "assigned"] | None = None
    """A bug: keep failed async commits, and commit their offsets again in the next call of the revoke
    listener, behind newer ones, or when partitions have been assigned, also of those that another
    member owns by then."""

    on_refusal: Literal["ignore", "discard", "stop", "keep"] = "ignore"
    """After a refused commit: continue, discard the rest of the batch, or exit the process. ``keep``:
    after a RebalanceInProgressException, commit it again behind the next poll, if still owned."""

    @property
    def is_by_time(self) -> bool:
        """Whether the application itself commits, behind the first batch that ends after a time."""
        spaced = self.when == "every" and self.between_batches and self.records is None
        return spaced and self.call in ("sync", "async")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        spaced = self.every is not None or self.records is not None
        if self.call in ("auto", "none") and (self.when != "batch" or spaced):
            raise ValueError(f'"when", "every" and "records" have no meaning with "{self.call}"')
        if self.call == "store" and self.when not in ("batch", "record"):
            raise ValueError(
                '"store" needs when = "batch" or "record": offsets of finished records'
            )
        if self.when == "every" and not spaced:
            raise ValueError('when = "every" needs "every" (a time) or "records" (a number)')
        if self.when != "every" and spaced:
            raise ValueError('"every" and "records" need when = "every"')
        if self.on_refusal == "keep" and self.call != "sync":
            raise ValueError('on_refusal = "keep" needs call = "sync"')
        if self.leader_epoch and not (self.on_revoke or self._has_offsets):
            raise ValueError(
                '"leader_epoch" needs a commit with offsets: call = "sync" or "async", or on_revoke'
            )
        if self.offsets != "frontier" and not self._names_offsets:
            raise ValueError('"offsets" needs a commit with offsets: call = "sync" or "async"')
        if self.off_by_one and not self._names_offsets:
            raise ValueError('"off_by_one" needs a commit with offsets: call = "sync" or "async"')
        return self

    @model_validator(mode="after")
    def _retries_one_way(self) -> Self:
        if self.retries_older and self.call != "async":
            key = "retry_older" if self.retry_older is not None else "retry_older_in"
            raise ValueError(f'"{key}" needs call = "async"')
        if self.retry_older is not None and self.retry_older_in is not None:
            raise ValueError('set only one of "retry_older" and "retry_older_in"')
        return self

    @property
    def retries_older(self) -> bool:
        """Whether failed commits are sent again, over newer ones."""
        return self.retry_older is not None or self.retry_older_in is not None

    @property
    def _names_offsets(self) -> bool:
        """Whether the application names the offsets that it commits or stores."""
        return self._has_offsets or self.call == "store"

    @property
    def _has_offsets(self) -> bool:
        """Whether the application names the offsets that it commits."""
        return self.arguments and self.call in ("sync", "async")


Commit = Annotated[CommitPolicy, BeforeValidator(short_forms.commit)]
