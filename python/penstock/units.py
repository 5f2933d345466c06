"""Numbers and names as people read them."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

UNKNOWN = "-"

_RATES = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_SIZES = ((float(1 << 30), "GiB"), (float(1 << 20), "MiB"), (float(1 << 10), "KiB"), (1.0, "B"))


def rate(bps: float | None) -> str:
    """``2.5e9`` as ``2.5 Gb/s``."""
    return _scaled(bps, _RATES)


def duration(ns: float | None) -> str:
    """``1500`` nanoseconds as ``1.5 us``."""
    return _scaled(ns, _TIMES)


_ZERO: ContextVar[dt.datetime | None] = ContextVar("zero", default=None)


@contextlib.contextmanager
def clock(zero: dt.datetime | None) -> Iterator[None]:
    """Within it instants are times of a clock that showed `zero` when the run began; ``None``: since then."""
    token = _ZERO.set(zero)
    try:
        yield
    finally:
        _ZERO.reset(token)


def instant(ns: float) -> str:
    """A time of the run: ``1500`` nanoseconds as ``1.5 us``, or as a clock shows it (see `clock`)."""
    if (zero := _ZERO.get()) is None:
        for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
            if ns >= size:
                return f"{ns / size:.6g} {unit}"
        return f"{ns:.6g} ns"
    whole, rest = divmod(zero.microsecond * 1_000 + round(ns), 10**9)
    return f"{zero.replace(microsecond=0) + dt.timedelta(seconds=whole):%Y-%m-%d %H:%M:%S}.{rest:09d}"


def size(number: float | None) -> str:
    """``65536`` bytes as ``64 KiB``."""
    return _scaled(number, _SIZES)


def count(number: float | None) -> str:
    """``1234567`` as ``1,234,567``."""
    return UNKNOWN if number is None else f"{number:,.0f}"


def plain(number: float | None) -> str:
    """A number with four digits."""
    return UNKNOWN if number is None else f"{number:.4g}"


def share(number: float | None) -> str:
    """``0.5`` as ``50.0 %``."""
    return UNKNOWN if number is None else f"{100 * number:.1f} %"


_WRITERS = {"bps": rate, "b/s": rate, "ns": duration, "bytes": size, "B": size}


def written(value: float | None, unit: str) -> str:
    """A value with its unit, as people read it.

    Parameters
    ----------
    value : float or None
        The value; none and NaN are not known.
    unit : str
        As columns have it: ``"bps"``, ``"b/s"``, ``"ns"``, ``"s"``, ``"bytes"``, ``"B"``, or any other.
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if unit == "s":
        return duration(value * 1e9)
    return _WRITERS[unit](value) if unit in _WRITERS else f"{plain(value)} {unit}".rstrip()


def visible(text: str, keep: str = "") -> str:
    r"""A text of others, with escapes for what is not seen, or what terminals and pictures would obey.

    Control characters, marks of direction and whatever else has no picture are written as in Python:
    ``\x1b``, ``\u202e``.

    Parameters
    ----------
    text : str
        The text.
    keep : str, optional
        Characters that stay as they are, such as line ends. Default: none.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Of each key as many of its last words as tell it from the others: ``xoff``, ``host.queues``."""
    short = {}
    for key in keys:
        words = key.split(".")
        tails = (".".join(words[-count:]) for count in range(1, len(words)))
        alone = (tail for tail in tails if not any(one.endswith("." + tail) for one in keys if one != key))
        short[key] = next((tail for tail in alone if tail not in keys), key)
    return short


def _scaled(number: float | None, units: Sequence[tuple[float, str]]) -> str:
    if number is None or not math.isfinite(number):
        return UNKNOWN
    scale, unit = next(((s, u) for s, u in units if abs(number) >= s), units[-1])
    return f"{number / scale:.4g} {unit}" if abs(number / scale) < 1e4 else f"{number / scale:,.0f} {unit}"
