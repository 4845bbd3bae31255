"""Numbers of variable length: zig-zag, seven bits a byte, low bits first.

Zig-zag puts small numbers of either sign into few bytes: 0, -1, 1, -2 are written as 0, 1, 2, 3.
Source: ``ByteUtils.readVarint``, ``writeVarint`` and their long forms (spec records, section 3).
"""

from __future__ import annotations

from typing import Final

INT_BITS: Final = 32
LONG_BITS: Final = 64

_MORE: Final = 0x80
_SEVEN_BITS: Final = 0x7F


def read_varint(data: bytes, at: int, bits: int = INT_BITS) -> tuple[int, int]:
    """Read the number that begins at byte *at*; return it and where the next byte stands.

    Raises ``IndexError`` where the data ends first, ``ValueError`` where the number does not
    fit into *bits*.

    >>> read_varint(bytes([0x54]), 0), read_varint(bytes([0x01]), 0)
    ((42, 1), (-1, 1))
    """
    zigzag = shift = 0
    while True:
        byte = data[at]
        at += 1
        zigzag |= (byte & _SEVEN_BITS) << shift
        if byte < _MORE:
            break
        shift += 7
        if shift >= bits:
            raise ValueError(f"has a number of {bits} bits that goes on after {shift // 7} bytes")
    if zigzag >> bits:
        raise ValueError(f"has a number that does not fit into {bits} bits")
    return zigzag >> 1 ^ -(zigzag & 1), at


def encode_varint(value: int) -> bytes:
    """Return the bytes of a number of up to 64 bits.

    >>> encode_varint(42).hex(), encode_varint(-1).hex(), encode_varint(64).hex()
    ('54', '01', '8001')
    """
    zigzag = value << 1 if value >= 0 else ~value << 1 | 1
    encoded = bytearray()
    while zigzag > _SEVEN_BITS:
        encoded.append(zigzag & _SEVEN_BITS | _MORE)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


class Varints(dict[int, bytes]):
    """The bytes of numbers, those of small ones made beforehand: look up, do not ask twice."""

    def __missing__(self, value: int) -> bytes:
        return encode_varint(value)


VARINTS: Final = Varints((value, encode_varint(value)) for value in range(-64, 1024))
