"""Weights that make queues of different frame sizes get equal throughput: DRR-AWC without the simulator.

A deficit round robin whose accounted length exceeds the payload (preamble, inter-frame gap, header) gives
less payload throughput to queues of small frames. This module computes correcting weights from the counters
of a switch, with the code of the scheduler ``drr_awc`` (``penstock explain drr_awc``). A controller
periodically reads
the counters and sets quanta::

    from penstock.weights import Counters, Learner

    learner = Learner()
    weights = learner.weights([
        Counters(frames=101_100, bytes=6_874_800, quantum=1542.0, always_active=True),
        Counters(frames=5_770, bytes=8_781_940, quantum=1542.0, always_active=True),
    ])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from . import _core
from .errors import ArgumentError, InputError
from .library import suggestion

EDGES = (68, 128, 256, 512, 1024)
"""Upper edges of the frame size bins in bytes; a sixth bin contains longer frames."""


@dataclass(frozen=True)
class Counters:
    """Counters of a queue over an interval.

    Attributes
    ----------
    frames : int
        Frames sent.
    bytes : int
        Their bytes, DA to FCS.
    quantum : float
        The quantum that was in force, in any unit, the same for all queues; above 0.
    always_active : bool
        Whether the queue always had a frame that might go. Default true.
    """

    frames: int
    bytes: int
    quantum: float
    always_active: bool = True


class Rules(TypedDict, total=False):
    """How `from_sizes` computes weights."""

    formula: str
    """``"published"`` (default; formulas 6.1 and 6.2) or ``"analytic"`` (from accounted lengths)."""
    mix: str
    """Weight of a size: its ``"frames"`` (default, as published) or its ``"bytes"``."""
    top_bin: str
    """Weight of frames above 1024 B: ``"formula"`` (default, 6.2) or ``"one"``; published only."""
    representative: str
    """The size of a bin: its ``"upper_edge"`` (default) or its ``"middle"``; published only."""
    metric: str
    """Quantity that becomes equal: ``"payload"`` (default) or ``"frame"``; analytic only."""
    largest: int
    """The longest frame in bytes, 64 to 16384. Default 1522."""


_DEFAULTS: Rules = {
    "formula": "published",
    "mix": "frames",
    "top_bin": "formula",
    "representative": "upper_edge",
    "metric": "payload",
    "largest": 1522,
}


def from_sizes(
    frames: Sequence[Sequence[int]],
    *,
    bytes: Sequence[Sequence[int]] | None = None,
    **rules: Unpack[Rules],
) -> list[float | None]:
    """Weights from the sizes of frames received, as Algorithm 1 of Hagen 2012, section 6.3.

    Parameters
    ----------
    frames : sequence of sequences of int
        For each queue the frames received in six bins: up to 68, 128, 256, 512, 1024 B, and longer.
    bytes : sequence of sequences of int, optional
        Their bytes; needed for ``mix="bytes"``.
    **rules
        `Rules`, such as ``formula="analytic"``.

    Returns
    -------
    list of float or None
        One a queue; ``None`` if no frame was counted: keep the weight that it has. The quantum is the weight
        times the longest frame.

    Raises
    ------
    InputError
        If a name is unknown or a count is missing or negative.

    Examples
    --------
    >>> [round(w, 3) for w in from_sizes([[1000, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1000]])]
    [1.732, 0.976]
    """
    if unknown := sorted(set(rules) - set(_DEFAULTS)):
        raise InputError(f"from_sizes() has no keyword {unknown[0]!r}; {suggestion(unknown[0], _DEFAULTS)}")
    chosen: Rules = {**_DEFAULTS, **rules}
    largest = chosen["largest"]
    if bytes is None and chosen["mix"] == "bytes":
        raise InputError('mix = "bytes" needs the bytes of each bin')
    given = {"frames": frames, "bytes": bytes if bytes is not None else [[0] * 6 for _ in frames]}
    for name, counts in given.items():
        if len(counts) != len(frames):
            raise InputError(f"{name}: {len(counts)} queues; frames has {len(frames)}")
        for queue, bins in enumerate(counts):
            if len(bins) != len(EDGES) + 1 or min(bins) < 0:
                raise InputError(
                    f"{name} of queue {queue}: {list(bins)}; six counts of at least 0 are accepted"
                )
    if not 64 <= largest <= 16_384:
        raise InputError(f"largest = {largest}; 64 to 16384 are accepted")
    try:
        return _core.awc_weights(
            [list(bins) for bins in given["frames"]],
            [list(bins) for bins in given["bytes"]],
            chosen,
        )
    except (TypeError, ValueError) as error:
        why = error.__cause__ or error
        raise ArgumentError(f"{why}; counts and the longest frame are whole numbers") from error


class Learner:
    """Learns the accounted length of frames from counters, and the weights that make throughput equal.

    Needs no formula and no knowledge of the switch: queues that were always backlogged had the same number of
    rounds, so quanta show what they were charged.

    Parameters
    ----------
    metric : str
        What is to be equal: ``"payload"`` (L - 18 a frame, default) or ``"frame"`` (L).

    Attributes
    ----------
    per_frame : float or None
        Bytes accounted per frame besides its own; ``None`` until known.
    """

    def __init__(self, metric: str = "payload") -> None:
        if metric not in ("payload", "frame"):
            raise InputError(f"metric: {metric!r}; accepted are payload, frame")
        self.metric = metric
        self.per_frame: float | None = None

    def weights(self, counters: Sequence[Counters]) -> list[float | None]:
        """Weights from the counters of an interval; quanta are to be in their proportion.

        Parameters
        ----------
        counters : sequence of Counters
            One a queue.

        Returns
        -------
        list of float or None
            One a queue; ``None`` if it sent nothing: keep the weight that it has.

        Raises
        ------
        InputError
            If a count is negative or a quantum is not above 0.

        Examples
        --------
        A switch that accounts 20 B a frame beside its own: 63 frames of 68 B take as long as four of 1366 B.

        >>> learner = Learner()
        >>> small, large = learner.weights([Counters(63, 63 * 68, 5544.0), Counters(4, 4 * 1366, 5544.0)])
        >>> round(learner.per_frame, 6), round(small / large, 3)
        (20.0, 1.712)
        """
        for queue, it in enumerate(counters):
            if it.frames < 0 or it.bytes < 0 or not 0 < it.quantum < math.inf:
                raise InputError(
                    f"queue {queue}: {it}; counts of at least 0 and a quantum above 0 are accepted"
                )
        rows = [(it.frames, it.bytes, float(it.quantum), it.always_active) for it in counters]
        try:
            weights, self.per_frame = _core.awc_learn(rows, metric=self.metric, per_frame=self.per_frame)
        except TypeError as error:
            raise ArgumentError(f"{error}; frames and bytes are whole numbers") from error
        return weights
