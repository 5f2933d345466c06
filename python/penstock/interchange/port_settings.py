"""Traffic classes and PFC of a port, common to all formats of settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PortSettings:
    """Classes and lossless priorities of a port.

    Attributes
    ----------
    class_of : list of int
        Traffic class of each priority, 0 to 7.
    algorithms : list of str
        Algorithm of each traffic class: "strict" or "ets".
    percent : list of int
        Share of each traffic class in percent; 0 for strict classes.
    lossless : list of int
        Priorities with PFC.
    """

    class_of: list[int]
    algorithms: list[str]
    percent: list[int]
    lossless: list[int]
