"""Values of a flow's keys: a function each gives its table.

Made by `make docs` from the JSON Schema of scenarios; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import keys as k
from .values import table

__all__: list[str] = [
    "bernoulli",
    "bimodal",
    "constant",
    "empirical",
    "exponential",
    "hot_spot",
    "on_off",
    "pareto",
    "permutation",
    "poisson",
    "request_response",
    "uniform",
    "window",
]


def bernoulli(rate: str) -> k.SourceTable:
    """In each frame time of the link a frame with a fixed probability."""
    made: k.SourceTable = table("bernoulli", None, rate=rate)
    return made


def bimodal(small: str, large: str, small_share: float) -> k.FrameTable:
    """Two sizes."""
    made: k.FrameTable = table("bimodal", None, small=small, large=large, small_share=small_share)
    return made


def constant(rate: str, *, random_phase: bool | None = None) -> k.SourceTable:
    """One frame every `bytes * 8 / rate`."""
    made: k.SourceTable = table("constant", None, rate=rate, random_phase=random_phase)
    return made


def empirical(value: str, /) -> k.FrameTable:
    """The path of a CSV file with the columns `bytes` and `weight`, relative to the scenario."""
    made: k.FrameTable = table("empirical", value)
    return made


def exponential(value: str, /) -> Any:
    """Exponential with this mean."""
    made: Any = table("exponential", value)
    return made


def hot_spot(host: str, share: float) -> k.ReceiversTable:
    """Each frame to one host with a given probability, otherwise to any other."""
    made: k.ReceiversTable = table("hot_spot", None, host=host, share=share)
    return made


def on_off(peak: str, on: k.Period, off: k.Period) -> k.SourceTable:
    """Bursts at the peak rate for a random time, then silence for a random time."""
    made: k.SourceTable = table("on_off", None, peak=peak, on=on, off=off)
    return made


def pareto(mean: str, shape: float) -> k.PeriodTable:
    """Pareto, truncated: no period is longer than 100 times `mean`."""
    made: k.PeriodTable = table("pareto", None, mean=mean, shape=shape)
    return made


def permutation(shift: int | None = None) -> k.ReceiversTable:
    """Each sender has one destination of its own, and each destination one sender."""
    made: k.ReceiversTable = table("permutation", "random", shift=shift)
    return made


def poisson(rate: str) -> k.SourceTable:
    """Exponential gaps between frames."""
    made: k.SourceTable = table("poisson", None, rate=rate)
    return made


def request_response(
    request: str,
    response: str,
    *,
    outstanding: int | None = None,
    think: k.Delay | None = None,
    service: k.Delay | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
) -> k.SourceTable:
    """Requests and responses."""
    made: k.SourceTable = table(
        "request_response",
        None,
        request=request,
        response=response,
        outstanding=outstanding,
        think=think,
        service=service,
        timeout=timeout,
        ecn=ecn,
    )
    return made


def uniform(
    value: str | Sequence[str] | None = None, /, *, min: str | None = None, max: str | None = None
) -> Any:
    """Every size from `min` to `max`, equally likely. Or: Each frame to one of these hosts, equally
    likely, never to the sender.
    """
    made: Any = table("uniform", value, min=min, max=max)
    return made


def window(
    size: str | None = None,
    *,
    rate: str | None = None,
    ack: str | None = None,
    ack_every: int | None = None,
    ack_delay: str | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
) -> k.SourceTable:
    """A transfer that is clocked by acknowledgements."""
    made: k.SourceTable = table(
        "window",
        None,
        size=size,
        rate=rate,
        ack=ack,
        ack_every=ack_every,
        ack_delay=ack_delay,
        timeout=timeout,
        ecn=ecn,
    )
    return made
