"""Compress and decompress with the five codecs of record batches, with a bound on the output.

Kafka's snappy is not plain snappy: snappy-java writes a header of 16 bytes and blocks of at most
32 KiB, each preceded by its length. Other clients write one plain block; both forms are read.
Kafka's lz4 reader rejects blocks that depend on earlier ones, so blocks are written independent.

Source: ``CompressionType``, ``org.apache.kafka.common.compress`` and snappy-java's
``SnappyCodec``.
"""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import cramjam

from protocols.offsets_topic.segments.header import BadBatch, InflatesTooFar

MAX_INFLATED_BYTES: Final = 64 * 2**20
"""Default maximum decompressed size of a batch: sixty times Kafka's ``max.message.bytes``."""

_GZIP_WINDOW: Final = 31
_PIECE_BYTES: Final = 2**14
_FIRST_OUTPUT_BYTES: Final = 2**16
_OUTPUT_FULL: Final = "failed to write whole buffer"
"""Messages of cramjam when the output buffer is too small; any other message is bad input."""

_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_SNAPPY_HEADER: Final = _SNAPPY_MAGIC + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK_BYTES: Final = 32 * 1024
_BLOCK_LENGTH: Final = struct.Struct(">i")


class Compression(enum.IntEnum):
    """The codec of the records of a batch: bits 0 to 2 of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(data: bytes, codec: Compression) -> bytes:
    """Return *data* compressed as Kafka reads it with this codec."""
    return _COMPRESS[codec](data)


def decompress(data: bytes, codec: int, max_bytes: int = MAX_INFLATED_BYTES) -> bytes:
    """Return *data* decompressed, at most *max_bytes*.

    Raises :class:`InflatesTooFar` for a larger output, without producing it, and
    :class:`BadBatch` for damaged data or an unknown codec.
    """
    if codec not in _DECOMPRESS:
        raise BadBatch(f"compression {codec} is not known; 0 to {max(_DECOMPRESS)} are")
    return _DECOMPRESS[codec](data, max_bytes)


def _unchanged(data: bytes, max_bytes: int) -> bytes:
    return data if len(data) <= max_bytes else _too_far("none", max_bytes)


def _too_far(codec: str, max_bytes: int) -> bytes:
    raise InflatesTooFar(
        f"{codec}: the records are longer than the limit `unpacked`, {max_bytes} bytes"
    )


def _gzip(data: bytes) -> bytes:
    # Level and header are zlib's own: the same bytes for the same data, no time in them.
    stream = zlib.compressobj(wbits=_GZIP_WINDOW)
    return stream.compress(data) + stream.flush()


def _gunzip(data: bytes, max_bytes: int) -> bytes:
    inflated, at, stream = bytearray(), 0, zlib.decompressobj(wbits=_GZIP_WINDOW)
    while at < len(data):
        piece = data[at : at + _PIECE_BYTES]  # there may be very many short streams in the data
        try:
            while piece and not stream.eof and len(inflated) <= max_bytes:
                inflated += stream.decompress(piece, max_bytes - len(inflated) + 1)
                piece = stream.unconsumed_tail
        except zlib.error as error:
            raise BadBatch(f"gzip: {error}") from None
        if len(inflated) > max_bytes:
            return _too_far("gzip", max_bytes)
        at = min(at + _PIECE_BYTES, len(data))
        if stream.eof and at - len(stream.unused_data) < len(data):
            at -= len(stream.unused_data)
            stream = zlib.decompressobj(wbits=_GZIP_WINDOW)
    if not stream.eof:
        raise BadBatch("gzip: the data ends before its end mark")
    return bytes(inflated)


def _snappy(data: bytes) -> bytes:
    parts = [_SNAPPY_HEADER]
    for at in range(0, len(data), _SNAPPY_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _SNAPPY_BLOCK_BYTES]))
        parts += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _unsnappy(data: bytes, max_bytes: int) -> bytes:
    blocks = _snappy_blocks(data) if data.startswith(_SNAPPY_MAGIC) else iter((data,))
    inflated = bytearray()
    try:
        for block in blocks:
            if len(inflated) + cramjam.snappy.decompress_raw_len(block) > max_bytes:
                return _too_far("snappy", max_bytes)
            inflated += memoryview(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise BadBatch(f"snappy: {error}") from None
    return bytes(inflated)


def _snappy_blocks(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        if data.startswith(_SNAPPY_MAGIC, at):  # streams may be concatenated
            at += len(_SNAPPY_HEADER)
            continue
        start = at + _BLOCK_LENGTH.size
        if start > len(data):
            raise BadBatch("snappy: the data ends within the length of a block")
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at = start + length
        if length <= 0 or at > len(data):
            raise BadBatch(f"snappy: a block of {length} bytes where {len(data) - start} are left")
        yield data[start:at]


def _lz4(data: bytes) -> bytes:
    stream = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    stream.compress(data)
    return bytes(stream.finish())


def _zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


def _inflate(name: str, into: Callable[[Any, Any], int], data: bytes, max_bytes: int) -> bytes:
    """Decompress into buffers of fixed sizes, the next larger one if a buffer is too small."""
    size = min(max_bytes, max(_FIRST_OUTPUT_BYTES, 4 * len(data)))
    while True:
        output = bytearray(size)
        try:
            return bytes(memoryview(output)[: into(data, output)])
        except cramjam.DecompressionError as error:
            if _OUTPUT_FULL not in str(error):
                raise BadBatch(f"{name}: {error}") from None
        if size >= max_bytes:
            return _too_far(name, max_bytes)
        size = min(max_bytes, 4 * size)


_COMPRESS: Final[dict[Compression, Callable[[bytes], bytes]]] = {
    Compression.NONE: lambda data: data,
    Compression.GZIP: _gzip,
    Compression.SNAPPY: _snappy,
    Compression.LZ4: _lz4,
    Compression.ZSTD: _zstd,
}

_DECOMPRESS: Final[dict[int, Callable[[bytes, int], bytes]]] = {
    Compression.NONE: _unchanged,
    Compression.GZIP: _gunzip,
    Compression.SNAPPY: _unsnappy,
    Compression.LZ4: lambda data, most: _inflate("lz4", cramjam.lz4.decompress_into, data, most),
    Compression.ZSTD: lambda data, most: _inflate("zstd", cramjam.zstd.decompress_into, data, most),
}
