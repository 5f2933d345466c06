"""Measures of a run: expressions over the tables of its result.

``max(flows.latency_p99_ns)`` is a number; ``flows.latency_p99_ns`` is a column with one number per flow.
``["victim"]`` selects rows by name, or by a pattern such as ``"from-*"``; ``[flows.frames_sent > 0]`` selects
rows by a comparison. Use ``flows["class"]`` for a column whose name is a keyword of Python.
``scenario.switch.buffer.total`` is a key of the scenario, ``run.frame_hops`` a number of the run.
All functions ignore unknown values, such as the latency of a flow that received nothing. A quotient with
divisor zero and a number beyond floats are unknown as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import ArgumentError
from penstock.library import suggestion, text_of

from .expression import Expression

if TYPE_CHECKING:
    from penstock.measurements import Measurements

DEFAULT_MEASURES: dict[str, str] = {
    "throughput_bps": "sum(flows.throughput_bps)",
    "jain": "jain(flows.throughput_bps)",
    "latency_mean_ns": "mean(flows.latency_mean_ns)",
    "latency_p99_ns": "max(flows.latency_p99_ns)",
    "frames_dropped": "sum(drops.frames)",
    "queue_max_bytes": "max(ports.queue_bytes_max)",
    "pauses": "sum(ports.pauses_received)",
    "paused_s": "sum(ports.paused_s)",
}
"""Default measures: sums, means and maxima over flows and ports."""

Value = float | dict[str, float]
"""A number, or one number per entity; NaN if unknown."""


class Measure:
    """A named expression over result tables.

    Parameters
    ----------
    name : str
        Name in tables and pictures. A suffix such as ``_ns`` or ``_bps`` is the unit.
    text : str
        The expression.

    Raises
    ------
    ArgumentError
        If the name is not an identifier, or the expression is invalid.
    """

    def __init__(self, name: str, text: str) -> None:
        if not text_of("the name of a measure", name).isidentifier():
            raise ArgumentError(f'the measure "{name}" needs a name of letters, digits and _, such as p99_ns')
        self.name = name
        self.text = text
        self._expression = Expression(text, name)

    def check(self) -> None:
        """Rejects unknown functions before any run.

        Raises
        ------
        ArgumentError
            If the expression calls an unknown function.
        """
        from .columns import FUNCTIONS

        for function in sorted(self._expression.calls - FUNCTIONS.keys()):
            text = f"unknown function {function}; {suggestion(function, FUNCTIONS)}"
            raise ArgumentError(f'{self.name} "{self.text}": {text}')

    def of(self, result: Measurements) -> Value:
        """Evaluates the measure for a run.

        Raises
        ------
        ArgumentError
            If the result has no such table, column or row.
        """
        from .columns import OfResult  # imports NumPy and Arrow, which plans do not need

        value: Value = self._expression.value(OfResult(result))
        return value
