"""Distributions of flow sizes: bytes, and the cumulative share of flows, in percent or from 0 to 1.

Source: `traffic_gen/*.txt` of the HPCC fork, the CDF files of its derivatives, and web-search generators.
A scenario refers to the written list with `sizes = { points = FILE }` in its transfers.

Not read: lists with a third column, such as those of ns-2's generators, which count packets.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.errors import InputError

from .piece import Document, Note, Piece, brief

_DIGITS = frozenset("0123456789.eE+-")
LARGEST = 2**40
WHOLE = {100: "per cent", 1: "shares"}


def recognises(document: Document) -> bool:
    """Returns true if every line consists of two numbers, the second of which rises to 100 or 1."""
    last, count = "", 0
    for _, line in document.lines():
        words = line.split()
        if len(words) != 2 or not set(line.replace("\t", " ")) <= _DIGITS | {" "}:
            return False
        last, count = words[1], count + 1
    try:
        return count >= 2 and document.decimal(1, "the share", last) in WHOLE
    except InputError:
        return False


def read(document: Document) -> Piece:
    """Reads the points of a distribution, which are written to a list beside the scenario.

    Raises
    ------
    InputError
        If sizes or shares do not increase, or the last share is neither 100 nor 1; the message has the line.
    """
    points: list[tuple[int, str]] = []
    last = 1
    for line, text in document.lines():
        words = text.split()
        if len(words) != 2:
            raise document.error(
                line, f"{len(words)} words; expected a size in bytes and its cumulative share of flows"
            )
        size = document.decimal(line, "the size", words[0])
        share = document.decimal(line, "the share", words[1])
        if size.denominator != 1 or size > LARGEST:
            raise document.error(
                line, f"the size is {brief(words[0])}; expected whole bytes, at most {LARGEST}"
            )
        if points and (size < points[-1][0] or share < Fraction(points[-1][1])):
            raise document.error(
                line, "size or share is less than in the line above; expected increasing values"
            )
        points.append((int(size), words[1]))
        last = line
    if len(points) < 2 or Fraction(points[-1][1]) not in WHOLE or not points[-1][0]:
        raise document.error(last, "the last share is neither 100 (per cent) nor 1; expected one of them")
    notes = [Note(last, f"{len(points)} points, in {WHOLE[int(Fraction(points[-1][1]))]}")]
    return Piece(points=points, notes=notes)
