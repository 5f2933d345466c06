"""H5-5: a stream of low load beside a full one, by settings that the source omits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

from .measure import SLOWED, changed, sent

LOW = {"threads": {"rate": "5.76 Gb/s", "count": 16, "burst": 16, "delay": "1 ms"}}
REPORTED = (250.0, 200.0, 240.0)
"""MB/s of TS1: alone, with TS2, while CNA 4 is slow."""
IDS = ("H5-5", "H5-5-alone", "H5-5-recovers", "H5-5-xon")
SEEDS = (1, 2, 3)
SOCKETS = ("2 frames", "4 frames", "64 frames")
MEMORIES = (
    ("64 KiB", "32 KiB", "16 KiB"),
    ("64 KiB", "24 KiB", "12 KiB"),
    ("256 KiB", "32 KiB", "16 KiB"),
    ("256 KiB", "64 KiB", "16 KiB"),
)
"""Buffers of the adapters, XOFF and XON."""
ACCOUNTING = ("egress", "ingress")
CHOSEN = ("2 frames", "64 KiB", "32 KiB", "16 KiB", "egress")
Setting = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Low:
    """Rates of TS1 in three phases and XONs to both senders, by setting; figures by seed."""

    rates: dict[Setting, list[float]]
    resumes: dict[Setting, list[float]]
    figures: list[dict[str, float]]

    @property
    def chosen(self) -> list[float]:
        """Rates with the adapter and switch settings used in the whole chapter."""
        return self.rates[CHOSEN]


def measure(context: Context, alone: Scenario, both: Scenario) -> Low:
    """Means of the seeds."""
    phases = low_phases(alone, both)
    settings = [
        (socket, *memory, accounting)
        for socket, memory, accounting in itertools.product(SOCKETS, MEMORIES, ACCOUNTING)
    ]
    low = Low({}, {}, context.over_seeds(lambda seed: figures(phases, seed), *IDS))
    for setting in [CHOSEN] if context.quick else settings:
        values = keys_of(setting)
        runs = [[changed(phase, values).run(seed=seed) for seed in SEEDS] for phase in phases]
        low.rates[setting] = [mean(sent(result) for result in of) for of in runs]
        low.resumes[setting] = [
            mean(resumes(result, port) for result in runs[1]) for port in ("sw1.0->cna1", "sw1.1->cna2")
        ]
    return low


def low_phases(alone: Scenario, both: Scenario) -> list[Scenario]:
    """TS1 of low load alone, with TS2, and while CNA 4 is slow."""
    return [changed(phase, {"flows.TS1.source": LOW}) for phase in (alone, both, changed(both, SLOWED))]


def keys_of(setting: Setting) -> dict[str, Any]:
    """The keys of a setting."""
    socket, buffer, xoff, xon, accounting = setting
    return {
        "host.queue_limit": socket,
        "host.receive.buffer": buffer,
        "flow_control.pfc": {"accounting": accounting, "xoff": xoff, "xon": xon},
    }


def figures(phases: Sequence[Scenario], seed: int) -> dict[str, float]:
    """Figure 5-5 with one seed and the adapter of the chapter."""
    runs = [changed(phase, keys_of(CHOSEN)).run(seed=seed) for phase in phases]
    alone, beside, victim = (sent(result) for result in runs)
    to_low, to_full = (resumes(runs[1], port) for port in ("sw1.0->cna1", "sw1.1->cna2"))
    return {
        "alone": alone,
        "beside": beside,
        "fell": alone - beside,
        "victim": victim,
        "recovered": victim - beside,
        "alone_pauses": sum(row["pauses_received"] for row in runs[0].rows("ports")),
        "switch_pauses": sum(
            row["pauses_received"] for row in runs[1].rows("ports") if row["port"] == "sw1.2->sw2"
        ),
        "xon_ahead": to_low - to_full,
    }


def resumes(result: Result, port: str) -> int:
    """Number of XONs sent by a port."""
    return next(int(row["resumes_sent"]) for row in result.rows("ports") if row["port"] == port)


def judge(context: Context, low: Low) -> list[Outcome]:
    """H5-5, one outcome per sentence of the source."""
    save(context, low)
    return [context.judge(one, low.figures) for one in IDS]


def save(context: Context, low: Low) -> None:
    """Table of settings."""

    def cells(values: Sequence[float]) -> list[str]:
        return [f"{value:.0f}" for value in values]

    columns = ("socket", "buffer", "XOFF", "XON", "accounting")
    context.save_table(
        "low-load",
        "TS1 of low load, by settings that the source omits",
        (*columns, "alone", "with TS2", "CNA 4 slow", "XON to CNA 1", "to CNA 2"),
        [
            ("the source", "", "", "", "", *cells(REPORTED), "", ""),
            *(
                (*setting, *cells(rates), *cells(low.resumes[setting]))
                for setting, rates in low.rates.items()
            ),
        ],
        note=f"MB/s, means of {len(SEEDS)} seeds. The first setting is that of the chapter.",
    )
