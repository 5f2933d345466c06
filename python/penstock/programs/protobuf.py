"""Decodes Protocol Buffers messages without a schema, as fields by number.

Source: Protocol Buffers documentation, "Encoding"
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Malformed(Exception):  # noqa: N818 (becomes an InputError with the name of the file)
    """Raised for bytes that are not a valid message.

    Parameters
    ----------
    offset : int
        Offset of the error from the beginning of the file.
    reason : str
        Description of the error.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(f"byte {offset}: {reason}")


def varint(data: memoryview, at: int, base: int = 0) -> tuple[int, int]:
    """Decodes a varint of up to 64 bits; returns the value and the offset of its end."""
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(data):
            raise Malformed(base + at, "the data ends within a number: the file is truncated")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (2**64 - 1), at + place + 1
    raise Malformed(base + at, "a number of more than 10 bytes")


def records(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yields length-prefixed messages with the offsets at which they begin."""
    at = 0
    while at < len(data):
        length, begin = varint(data, at)
        if begin + length > len(data):
            left = len(data) - begin
            raise Malformed(at, f"a record of {length} bytes, and {left} are left: the file is truncated")
        yield begin, data[begin : begin + length]
        at = begin + length


def fields(data: memoryview, base: int = 0) -> Iterator[tuple[int, int | memoryview, int]]:
    """Yields number, value and offset of each field; length-delimited values are not decoded."""
    at = 0
    while at < len(data):
        begin = at
        key, at = varint(data, at, base)
        number, wire = key >> 3, key & 7
        value: int | memoryview
        if wire == VARINT:
            value, at = varint(data, at, base)
        elif wire in (FIXED64, FIXED32):
            value, at = data[at : at + (8 if wire == FIXED64 else 4)], at + (8 if wire == FIXED64 else 4)
        elif wire == LENGTH:
            length, at = varint(data, at, base)
            value, at = data[at : at + length], at + length
        else:
            raise Malformed(base + begin, f"field {number} has wire type {wire}, which no field has")
        if number == 0:
            raise Malformed(base + begin, "field 0, which no message has")
        if at > len(data):
            raise Malformed(base + begin, f"field {number} exceeds its message: the file is truncated")
        yield number, value, base + begin


def integers(value: int | memoryview, base: int) -> list[int]:
    """Decodes one number of a repeated field, or all numbers of a packed one."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = varint(value, at, base)
        found.append(one)
    return found


def text(value: int | memoryview, base: int, what: str) -> str:
    """Decodes a UTF-8 text."""
    if isinstance(value, int):
        raise Malformed(base, f"{what} is a number; expected text")
    try:
        return bytes(value).decode()
    except UnicodeDecodeError as error:
        raise Malformed(base, f"{what} is not UTF-8") from error


def signed(value: int) -> int:
    """Converts 64 bits to a signed number (two's complement)."""
    return value - 2**64 if value >= 2**63 else value


def zigzag(value: int) -> int:
    """Decodes a number of type sint32 or sint64 (zigzag)."""
    return (value >> 1) ^ -(value & 1)


def fixed(value: int | memoryview, form: str, base: int) -> float:
    """Decodes a number of 4 or 8 bytes; `form` is a format of `struct`."""
    if isinstance(value, int) or len(value) != struct.calcsize(f"<{form}"):
        raise Malformed(base, f"expected {struct.calcsize(f'<{form}')} bytes")
    found: float = struct.unpack(f"<{form}", value)[0]
    return found
