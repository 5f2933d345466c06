"""Figures of the experiments from runs with one seed, for the study and for the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

import numpy as np

from penstock.result import Result

from .measure import Run, connections, queue_series, response

ORDER = ("PRC_only", "PRC_ECN", "ECN_PAUSE", "RED_only", "PAUSE_only")
"""From the highest throughput to the lowest."""
ALONE_STACK_US = 5.2
"""Time of the shortest exchange in the end stations, in us: an input."""
KIB = 1024
Figures = dict[str, float]


def least_step(share: Mapping[str, float]) -> float:
    """Smallest difference between successive scenarios in the paper's order."""
    return min(share[one] - share[other] for one, other in pairwise(ORDER))


def database(plain: Mapping[str, Run], most: float) -> Figures:
    """Figures 5 and 6; `most` is the largest possible throughput of the database."""
    share = {name: run.database / most for name, run in plain.items()}
    red = plain["RED_only"]
    return {
        **{f"share_{name}": value for name, value in share.items()},
        **{f"response_{name}_us": run.response_us for name, run in plain.items()},
        **{f"lost_{name}": run.lost for name, run in plain.items()},
        "order": least_step(share),
        "silent": red.silent,
        "lost_RED": red.lost,
        "lost_late": red.lost_late,
        "lost_others": sum(plain[name].lost for name in ("PAUSE_only", "ECN_PAUSE", "PRC_only")),
        "late_us": red.late_us,
        "overhead": plain["PRC_only"].overhead,
    }


def queues(plain: Mapping[str, Run]) -> Figures:
    """Figure 7."""
    others = min(run.queue for name, run in plain.items() if not name.startswith("PRC"))
    longest = {name: float(queue_series(run.result)[1].mean()) for name, run in plain.items()}
    return {
        **{f"longest_{name}_kib": value for name, value in longest.items()},
        "longest": longest["PRC_only"]
        / min(value for name, value in longest.items() if not name.startswith("PRC")),
        **{f"queue_{name}_kib": run.queue / KIB for name, run in plain.items()},
        "queue": plain["PRC_only"].queue / others,
    }


def targets(lengths: Mapping[float, float]) -> Figures:
    """Growth of the mean queue with its target, from the lengths by target."""
    shares = sorted(lengths)
    sizes = [lengths[share] for share in shares]
    return {
        "target_power": float(np.polyfit(np.log(shares), np.log(sizes), 1)[0]),
        "target_step_kib": min(later - before for before, later in pairwise(sizes)) / KIB,
    }


def messages(plain: Mapping[str, Run], fast: Run) -> Figures:
    """Figures 8 and 9; `fast` has 10 Gb/s to server 3."""
    prc = plain["PRC_only"]
    return {
        **{f"ethernet_{name}_us": run.ethernet_us for name, run in plain.items()},
        **{f"ipc_{name}_us": run.ipc_us for name, run in plain.items()},
        "ethernet_us": prc.ethernet_us,
        "ethernet_ecn": plain["ECN_PAUSE"].ethernet_us / prc.ethernet_us,
        "ethernet_pause": plain["PAUSE_only"].ethernet_us / prc.ethernet_us,
        "ethernet_fast_us": fast.ethernet_us,
        "ipc_us": prc.ipc_us,
    }


def alone(result: Result) -> Figures:
    """The shortest exchange."""
    took_us = response(connections(result, ("ipc",)))
    return {"alone_us": took_us, "alone_ethernet_us": (took_us - ALONE_STACK_US) / 2}


def video(
    share: Mapping[str, float], missed: Mapping[str, int], deviation_us: Mapping[str, float]
) -> Figures:
    """Figure 10: shares of the database, lost frames of video, and its deviation from the mean."""
    return {
        **{f"video_share_{name}": value for name, value in share.items()},
        **{f"video_{name}_us": value for name, value in deviation_us.items()},
        "video_order": least_step(share),
        "video_lost": max(count for name, count in missed.items() if name != "RED_only"),
        "video_pause": deviation_us["PAUSE_only"] / deviation_us["PRC_only"],
        "video_ecn": deviation_us["PRC_ECN"] / deviation_us["PRC_only"],
        "video_others": min(deviation_us[name] for name in ("RED_only", "PAUSE_only", "ECN_PAUSE"))
        / deviation_us["PRC_ECN"],
    }


def methods(best: tuple[float, int], others: Sequence[tuple[float, int]], most: float) -> Figures:
    """Method 4 compared with the others; each has bytes of the database per second, and lost frames."""
    return {
        "method_4_lost": best[1],
        "method_others_lost": min(lost for _, lost in others),
        "method_4_ahead": (best[0] - max(bytes_ for bytes_, _ in others)) / most,
    }


def stalled(result: Result) -> Figures:
    """Delays of probes of two priorities to one host, and the level of its port: method 3."""
    took: dict[int, list[int]] = {}
    for row in result.rows("frames"):
        if row["kind"] == "tag" and row["event"] == "arrived" and row["direction"] == "in":
            took.setdefault(row["priority"], []).append(row["time_ps"] - row["created_ps"])
    low, high = (fmean(took[priority]) for priority in (2, 5))
    [port] = [row for row in result.rows("ports") if row["port"] == "sw.0->h0"]
    return {"stalled_by": low / high, "stalled_level": port["queue_bytes_mean"] / (64 * KIB)}
