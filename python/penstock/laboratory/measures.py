"""Measures of a run: expressions over the tables of its result.

``max(flows.latency_p99_ns)`` is a number; ``flows.latency_p99_ns`` is a column, one number for each flow.
``["victim"]`` picks the rows of a name, or of all names that a pattern such as ``"from-*"`` matches;
``[flows.frames_sent > 0]`` picks rows by a comparison. ``flows["class"]`` is a column whose name is a word of
Python, ``scenario.switch.buffer.total`` a key of the scenario, ``run.frame_hops`` a number of the run.
All functions leave out numbers that are not known, such as the latency of a flow that received nothing. What
is divided by zero, or is larger than any number, is not known either.
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
"""A number, or one for each entity; NaN where it is not known."""


class Measure:
    """A named expression over result tables.

    Parameters
    ----------
    name : str
        Its name in tables and pictures. A last word such as ``_ns`` or ``_bps`` is its unit.
    text : str
        The expression.

    Raises
    ------
    ArgumentError
        If the name is not a word, or the expression cannot be read.
    """

    def __init__(self, name: str, text: str) -> None:
        if not text_of("the name of a measure", name).isidentifier():
            raise ArgumentError(f'the measure "{name}" needs a name of letters, digits and _, such as p99_ns')
        self.name = name
        self.text = text
        self._expression = Expression(text, name)

    def check(self) -> None:
        """Refuses a function that there is not, before anything runs.

        Raises
        ------
        ArgumentError
            If it calls one.
        """
        from .columns import FUNCTIONS

        for function in sorted(self._expression.calls - FUNCTIONS.keys()):
            text = f"no function {function}; {suggestion(function, FUNCTIONS)}"
            raise ArgumentError(f'{self.name} "{self.text}": {text}')

    def of(self, result: Measurements) -> Value:
        """Its value for a run.

        Raises
        ------
        ArgumentError
            If the result has no such table, column or row.
        """
        from .columns import OfResult  # NumPy and Arrow, for those who have a result

        value: Value = self._expression.value(OfResult(result))
        return value
