"""Numbers and ports in the notation of NVUE: ``1-3,7`` and ``swp1-4,swp6``."""

from __future__ import annotations

from collections.abc import Iterator


def listed(text: str) -> Iterator[str]:
    """Expands numbers such as ``10,21,36`` or ``1-3``; a range has fewer than a hundred numbers."""
    for one in text.split(","):
        if (found := _range_of(one)) is not None and found[0] == "" and found[2] < 100:
            yield from map(str, range(found[1], found[2] + 1))
        else:
            yield one


def _range_of(text: str) -> tuple[str, int, int] | None:
    """Stem, first and last number of a range such as ``swp1-4``; ``None`` if the text is not a range."""
    front, dash, last = text.rpartition("-")
    stem = front.rstrip("0123456789")
    first = front[len(stem) :]
    if not (dash and first and last.isascii() and last.isdigit() and len(last) < 5 and len(first) < 5):
        return None
    return (stem, int(first), int(last)) if int(first) <= int(last) else None


def members(text: str) -> Iterator[str]:
    """Expands ports such as ``swp1-4,swp6``."""
    for one in text.split(","):
        if (found := _range_of(one)) is not None:
            yield from (f"{found[0]}{number}" for number in range(found[1], found[2] + 1))
        else:
            yield one


def count(text: str) -> int:
    """Number of ports that a text names, without expanding them."""
    ranges = (_range_of(one) for one in text.split(","))
    return sum(1 if one is None else one[2] - one[1] + 1 for one in ranges)
