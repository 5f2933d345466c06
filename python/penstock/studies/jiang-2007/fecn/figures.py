"""Figures of the experiments from runs with one seed, for the study and for the search."""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.result import Result

from .measure import (
    CORE,
    HOT,
    Array,
    active,
    allowed,
    jain,
    longest,
    lost,
    mean,
    pauses,
    port,
    queue,
    rates,
    settles,
    together,
)

SINK = "sw.4->h4"
FIRST_RATES = (20, 40, 80, 100)
"""N0 of the slides' sensitivity analysis."""
AIM_FREE = 8 * 0.9444 * 1520 / 1500 + 1 / 9
"""Rate of ST2 on the wire in Gb/s: eight flows as offered, and a ninth of the slow link."""
LABELS = ("sr1", "sr1_us", "sr2", "sr2_us", "st")
Figures = dict[str, float]


def tcp(none: Result, fecn: Result) -> Figures:
    """J1: transactions a second and their mean time (us), mean rate of ST (Gb/s), fairness, drops."""
    found: Figures = {}
    for name, result in (("none", none), ("FECN", fecn)):
        flows = {row["flow"]: row["throughput_bps"] / 1e9 for row in result.rows("flows")}
        bulk = [flows[f"ST{host}-{n}"] for host in range(1, 5) for n in range(1, 11)]
        values = (*connection(result, "SR1"), *connection(result, "SR2"), sum(bulk) / 4)
        found |= {f"{name}_{label}": value for label, value in zip(LABELS, values, strict=True)}
        used = next(row["utilisation"] for row in result.rows("ports") if row["port"] == "left.7->right")
        found |= {f"{name}_jain": jain(bulk), f"{name}_lost": lost(result), f"{name}_used": used}
    return found


def connection(result: Result, flow: str) -> tuple[float, float]:
    """Transactions of a flow in one second, and their mean time in us."""
    row = next(row for row in result.rows("connections") if row["flow"] == flow)
    return row["exchanges"], row["exchange_mean_ns"] / 1e3


def symmetric(near: Result, far: Result) -> Figures:
    """J2 and J3, with short and long delay."""
    found: Figures = {}
    for name, result in (("near", near), ("far", far)):
        flows = rates(result)
        before = [mean(series, 20, 80) for series in flows.values()]
        late = [mean(series, 90, 100) for series in together(flows, "stays").values()]
        found |= {
            f"{name}_apart": max(before) / min(before) - 1,
            f"{name}_late": max(abs(rate / 5 - 1) for rate in late),
            f"{name}_longest": longest(result, SINK),
            f"{name}_rests": mean(queue(result, f"{SINK}/0"), 20, 80),
            f"{name}_used": mean(port(result, SINK), 20, 80) / 10,
            f"{name}_lost": lost(result),
            f"{name}_ms": arrives(flows),
        }
    found["far_to_near"] = (found["far_ms"] - 5) / (found["near_ms"] - 5)
    return found


def reaches(flows: Mapping[str, tuple[Array, Array]]) -> float:
    """Time in ms at which the last source reaches 95 % of its share."""
    return max(float(times[(values >= 0.95 * 2.5)][0]) for times, values in flows.values())


def arrives(flows: Mapping[str, tuple[Array, Array]]) -> float:
    """Time in ms at which the last source reaches 95 % of its share; NaN if one never does."""
    try:
        return reaches(flows)
    except IndexError:
        return math.nan


def large(result: Result) -> Figures:
    """J4."""
    flows = rates(result).values()
    return {
        "large_jain": jain([mean(series, 18, 22) for series in flows]),
        "large_jain_early": jain([mean(series, 14, 16) for series in flows]),
        "large_used": mean(port(result, CORE), 15, 100) / 10,
        "large_lost": lost(result),
        "large_longest": longest(result, CORE),
        "large_pauses": pauses(result)[0],
    }


def victim(pause: Result, fecn: Result) -> Figures:
    """J5: relative loss of throughput of the victim."""

    def share(result: Result) -> float:
        row = next(row for row in result.rows("flows") if row["flow"] == "S1")
        return float(row["throughput_bps"] / 9e9)

    return {
        "victim_pause": 1 - share(pause),
        "victim_fecn": 1 - share(fecn),
        "victim_pauses": pauses(pause)[0],
        "victim_fecn_pauses": pauses(fecn)[0],
    }


def bursty(result: Result) -> Figures:
    """J6."""
    flows = rates(result)
    indices = [jain(of) for begin in range(30, 197, 3) if (of := active(flows, begin, begin + 3))]
    return {
        "bursty_jain": sum(indices) / len(indices),
        "bursty_used": mean(port(result, CORE), 20, 200) / 10,
        "bursty_lost": lost(result),
        "bursty_longest": longest(result, CORE),
    }


def hot(result: Result, name: str) -> Figures:
    """J7 or J8; `name` is the prefix of the figures' names."""
    nine = [row["flow"] for row in result.rows("flows") if row["destination"] == "h0"]
    series = rates(result)
    each = [mean(series[flow], 30, 90) for flow in nine]
    times, lasted = pauses(result)
    return {
        f"{name}_apart": max(abs(value * 9 - 1) for value in each),
        f"{name}_free": abs(mean(port(result, "h2.0->sw"), 30, 90) / AIM_FREE - 1),
        f"{name}_used": mean(port(result, HOT), 30, 90),
        f"{name}_lost": lost(result),
        f"{name}_pauses": times,
        f"{name}_paused_ms": lasted,
        f"{name}_longest": longest(result, HOT),
    }


def slope(times: Mapping[int, float]) -> Figures:
    """J9: intervals by which the time to 95 % of the share grows when N0 doubles, from the times by N0."""
    return {"doubling": (times[100] - times[20]) / math.log2(5)}


def overhead(result: Result) -> Figures:
    """J10: tags of the symmetric topology, by flow, compared with t/T."""
    rows = {row["limiter"]: row for row in result.rows("rate_limiters")}
    due = {flow: 95 if flow.startswith("stays") else 75 for flow in rows}
    tags = sum(row["tags_sent"] for row in rows.values())
    return {
        "tags_off": max(abs(row["tags_sent"] - due[flow]) for flow, row in rows.items()),
        "tags_missing": max(abs(row["tags_returned"] - row["tags_sent"]) for row in rows.values()),
        "tags_share": tags * 12 / sum(row["bytes_sent"] for row in rows.values()),
    }


def buffers(enough: Result, tight: Result) -> Figures:
    """J11."""
    used = next(row["utilisation"] for row in enough.rows("ports") if row["port"] == "sw.2->h2")
    return {
        "room_lost": lost(enough),
        "room_used": used,
        "room_longest_kb": longest(enough, "sw.2->h2") * 1.5,
        "tight_lost": lost(tight),
    }


def joined(by_time: Result, by_count: Result) -> Figures:
    """J12: two sources start at 30 ms while two others run, with tags by time and by count."""
    found: Figures = {}
    for name, result in (("time", by_time), ("count", by_count)):
        flows = rates(result)
        settled = [settles(series, 2.5, 0.05, 30, 100) for series in allowed(result).values()]
        last = [mean(series, 80, 100) for series in flows.values()]
        found |= {
            f"joined_{name}_ms": max(settled) - 30,
            f"joined_{name}_apart": max(last) / min(last) - 1,
            f"joined_{name}_lost": lost(result),
            f"joined_{name}_used": mean(port(result, SINK), 80, 100) / 10,
        }
    return {**found, "joined_longer": found["joined_count_ms"] / found["joined_time_ms"]}


def two_intervals(one: Result, two: Result) -> Figures:
    """J13: four sources with a longer interval near the optimum, compared with one interval."""
    tags, fewer = (sum(row["tags_sent"] for row in of.rows("rate_limiters")) for of in (one, two))
    flows = [mean(series, 20, 80) for series in rates(two).values()]
    return {
        "long_tags": fewer / tags,
        "long_apart": max(flows) / min(flows) - 1,
        "long_used": mean(port(two, SINK), 20, 80) / 10,
        "long_lost": lost(two),
    }


def swing(result: Result, name: str) -> float:
    """Standard deviation of a queue from 20 to 80 ms, in packets."""
    times, values = queue(result, f"{name}/0")
    return float(values[(times >= 20) & (times < 80)].std())
