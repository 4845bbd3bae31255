"""The part of a stream that is in memory: a window that only moves forward."""

from __future__ import annotations

from typing import BinaryIO, Final

CHUNK_BYTES: Final = 2**18
"""How much is read at a time, and about what the window holds of a sound log."""

_ZEROS: Final = bytes(CHUNK_BYTES)


class Window:
    """A view of a stream of bytes, or of bytes that are all there.

    Positions are those of the stream. What lies before a position that was asked for is let
    go of, so the window holds what was asked for at once and about one chunk.
    """

    __slots__ = ("_source", "data", "start")

    data: bytes
    start: int
    """Position of the first byte of ``data``."""

    def __init__(self, source: bytes | BinaryIO) -> None:
        self.start = 0
        self.data = source if isinstance(source, bytes) else b""
        self._source = None if isinstance(source, bytes) else source

    @property
    def end(self) -> int:
        """Position behind the last byte in memory."""
        return self.start + len(self.data)

    def reach(self, position: int, size: int) -> int:
        """Bring *size* bytes from *position* on into memory; return how many of them there are.

        Fewer than *size* means that the stream ends there. *position* lies neither before what
        was asked for last nor behind what is in memory.
        """
        assert self.start <= position <= self.end
        while self._source is not None and position + size > self.end:
            more = self._source.read(max(CHUNK_BYTES, position + size - self.end))
            if not more:
                self._source = None
                break
            self.data = self.data[position - self.start :] + more
            self.start = position
        return min(size, self.end - position)

    def bytes_at(self, position: int, size: int) -> bytes:
        """Return *size* bytes from *position* on, fewer at the end of the stream."""
        self.reach(position, size)
        at = position - self.start
        return self.data[at : at + size]

    def end_of_zeros(self, position: int, kept_bytes: int) -> int:
        """Return the position of the first byte from *position* on that is not 0, or the end.

        Of the zeros before it, the last *kept_bytes* stay in memory.
        """
        probe = position
        while True:
            kept = max(position, probe - kept_bytes)
            self.reach(kept, probe - kept + CHUNK_BYTES)
            at = probe - self.start
            chunk = self.data[at : at + CHUNK_BYTES]
            if chunk != _ZEROS:
                return probe + len(chunk) - len(chunk.lstrip(b"\0"))
            probe += CHUNK_BYTES
