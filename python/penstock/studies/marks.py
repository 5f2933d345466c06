"""Marking that queue pairs with DCQCN and related controls expect of switches."""

from __future__ import annotations

from typing import Any

_AT_DEQUEUE = {
    "weight": 1,
    "gentle": False,
    "action": "mark_only",
    "spacing": "geometric",
    "at": "dequeue",
}


def red_marks(least: str, most: str, probability: float, *, at: str = "dequeue") -> dict[str, Any]:
    """A queue manager that marks by the instantaneous queue length, and drops nothing.

    Parameters
    ----------
    least, most : str
        Lengths with unit, such as "5 kB": below `least` no frame is marked, above `most` all are.
    probability : float
        Marking probability at `most`, above 0 and at most 1.
    at : str
        "dequeue" or "enqueue". Default: "dequeue", as in the source.

    Notes
    -----
    Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, figure 5.
    """
    slope = {"min": least, "max": most, "max_probability": probability}
    return {"red": {**_AT_DEQUEUE, **slope, "at": at}}
