"""Values of a flow's keys, spelled as the scenario file spells them.

Each function returns the table that stands for it in TOML: ``constant("2.5 Gb/s")`` is
``{constant = {rate = "2.5 Gb/s"}}``. Nothing is checked here; the scenario checker reads the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Table = dict[str, Any]


def _given(**keys: Any) -> Table:
    return {key: value for key, value in keys.items() if value is not None}


def constant(rate: str, *, random_phase: bool | None = None) -> Table:
    """One frame every frame length / `rate`.

    Parameters
    ----------
    rate : str
        Rate with its unit, such as ``"2.5 Gb/s"``.
    random_phase : bool, optional
        Whether the first frame comes at a random time within the first interval. Default: as the file.
    """
    return {"constant": _given(rate=rate, random_phase=random_phase)}


def bernoulli(rate: str) -> Table:
    """In each slot of one frame time a frame with probability `rate` / line rate."""
    return {"bernoulli": {"rate": rate}}


def poisson(rate: str | None = None, *, load: float | None = None, gap: str | None = None) -> Table:
    """Frames or transfers with exponential gaps.

    Parameters
    ----------
    rate : str, optional
        Mean rate of the frames of a flow.
    load : float, optional
        Of transfers: the share of the rate of each sender's link that their bytes take.
    gap : str, optional
        Of transfers: the mean time between two starts of one sender.
    """
    return {"poisson": _given(rate=rate, load=load, gap=gap)}


def incast(every: str, *, senders: int | None = None) -> Table:
    """Rounds of transfers that begin at the same time.

    Parameters
    ----------
    every : str
        Time between two rounds.
    senders : int, optional
        How many send in each. Default: all.
    """
    return {"incast": _given(every=every, senders=senders)}


def arrivals_file(path: str) -> Table:
    """Transfers from a CSV or Parquet file with the columns ``time_us``, ``from``, ``to``, ``bytes``."""
    return {"file": path}


def log_normal(mean: str, *, sigma: float) -> Table:
    """Sizes whose natural logarithm is normal with the standard deviation `sigma`."""
    return {"log_normal": {"mean": mean, "sigma": sigma}}


def points(path: str) -> Table:
    """Sizes from a CSV file with the columns ``bytes`` and ``cdf``."""
    return {"points": path}


def on_off(peak: str, *, on: Table, off: Table) -> Table:
    """Bursts at `peak` for a random time, silence for a random time.

    Parameters
    ----------
    peak : str
        Rate within a burst, with its unit.
    on, off : dict
        Lengths of bursts and silences: `exponential` or `pareto`.
    """
    return {"on_off": {"peak": peak, "on": on, "off": off}}


def window(
    size: str | None = None,
    *,
    rate: str | None = None,
    ack: str | None = None,
    ack_every: int | None = None,
    ack_delay: str | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
) -> Table:
    """A transfer that is clocked by acknowledgements; full segments have the length `frame` of the flow.

    Parameters
    ----------
    size : str, optional
        How much may be in flight, such as ``"64 KiB"`` or ``"43 frames"``. Default: unlimited.
    rate : str, optional
        Rate of pacing, with its unit, in place of `size`. Default: as fast as the link.
    ack : str, optional
        Length of an acknowledgement from DA to FCS. Default: ``"64 B"``.
    ack_every : int, optional
        One acknowledgement for so many segments. Default: 1.
    ack_delay : str, optional
        How long a segment waits for its acknowledgement at most. Default: ``"500 us"``.
    timeout : str, optional
        After so long without progress everything in flight is sent again. Default: never.
    ecn : bool, optional
        Whether switches may mark segments. Default: false.
    """
    keys = _given(
        size=size, rate=rate, ack=ack, ack_every=ack_every, ack_delay=ack_delay, timeout=timeout, ecn=ecn
    )
    return {"window": keys}


def request_response(
    request: str,
    response: str,
    *,
    outstanding: int | None = None,
    think: str | Table | None = None,
    service: str | Table | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
) -> Table:
    """Requests of one size, answered by responses of another; both are cut into frames of the flow's length.

    Parameters
    ----------
    request, response : str
        Sizes with their units, such as ``"64 B"`` and ``"4 KiB"``.
    outstanding : int, optional
        Requests at the same time. Default: 1.
    think, service : str or dict, optional
        From a response to the next request, and from a request to its response: a time such as ``"1 us"``, or
        `exponential`. Default: none.
    timeout : str, optional
        After so long without progress a request is repeated. Default: never.
    ecn : bool, optional
        Whether switches may mark frames. Default: false.
    """
    keys = _given(
        request=request,
        response=response,
        outstanding=outstanding,
        think=think,
        service=service,
        timeout=timeout,
        ecn=ecn,
    )
    return {"request_response": keys}


def exponential(mean: str) -> Table:
    """Exponential times with this `mean`, such as ``"10 us"``."""
    return {"exponential": mean}


def pareto(mean: str, *, shape: float) -> Table:
    """Pareto times with this `mean` and `shape` (above 1).

    None is longer than 100 times the mean, and the mean holds all the same.
    """
    return {"pareto": {"mean": mean, "shape": shape}}


def bimodal(*, small: str, large: str, small_share: float) -> Table:
    """Frames of length `small` with probability `small_share` (0 to 1), otherwise `large`."""
    return {"bimodal": {"small": small, "large": large, "small_share": small_share}}


def empirical(file: str) -> Table:
    """Frame lengths drawn from a CSV `file` with the columns ``bytes`` and ``weight``."""
    return {"empirical": file}


def uniform(
    hosts: Sequence[str] | None = None,
    *,
    min: str | None = None,
    max: str | None = None,
) -> Table:
    """Equally likely: destinations ``uniform(["h1", "h2"])`` or frame lengths ``uniform(min=.., max=..)``."""
    return {"uniform": list(hosts) if hosts is not None else _given(min=min, max=max)}


def hot_spot(host: str, *, share: float) -> Table:
    """Each frame to `host` with probability `share` (0 to 1), otherwise to any other host."""
    return {"hot_spot": {"host": host, "share": share}}


def permutation(shift: int | None = None) -> Table:
    """Every sender has one receiver of its own: `shift` hosts further on, or drawn at random."""
    return {"permutation": "random" if shift is None else {"shift": shift}}
