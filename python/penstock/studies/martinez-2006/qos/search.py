"""The figures of one choice of the paper's open parameters, for both schedulers, with Table 2 as input.

Runs are as in the quick form of the study: 16 hosts, 30 ms.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from penstock.library import allow_files
from penstock.result import Result
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context

from . import figures
from .classes import BEST_EFFORT, LINK_BPS, SCHEDULERS, Class, scenario, schedulers, table_2
from .measure import Measured, per_class
from .study import QUICK

Values = Mapping[str, Any]
LOADS = (0.78, 0.85, 0.95, 1.0)
MTU_BYTES, CREDIT_BYTES = 2176, 64
PICTURES, SCENES = 12_000, 1.0
"""Number of pictures in the trace, and standard deviation of the logarithm of the scale of a scene."""
LINK = "s0.0.0->h0"
"""The link on which turns of the table are observed."""


def measure(context: Context, values: Values, seed: int) -> figures.Figures:
    """Measures all figures that `search.toml` names."""
    base, classes = fabric(context.scenario("fabric"), values), changed(context, values)
    settings = schedulers(classes)
    settings["MinBW"]["min_bw"] |= {"rate": {"share": values["nc_share"]}, "depth": values["nc_depth"]}
    hosts = base.to_dict()["topology"]["n_tree"]["k"] ** QUICK.levels
    points: dict[str, dict[float, dict[str, Measured]]] = {name: {} for name in SCHEDULERS}
    turns: dict[str, float] = {}
    for name in SCHEDULERS:
        for load in LOADS:
            made = scenario(base, classes, settings[name], load, levels=QUICK.levels, times_ms=QUICK.times_ms)
            logged = (name, load) == ("DTable", LOADS[-1])
            with allow_files():  # the trace is beside the results
                result = (logging(made) if logged else made).run(seed=seed)
            points[name][load] = per_class(result, hosts * LINK_BPS)
            if logged:
                turns = credits_a_turn(result, classes)
    return {**figures.overview(points), **figures.compared(points, LOADS), **turns}


def fabric(base: Scenario, values: Values) -> Scenario:
    """The fabric with other buffers, arbitration order and credit updates."""
    base = base.with_value("flow_control.credit.buffer", f"{values['input_frames'] * MTU_BYTES} B")
    base = base.with_value("flow_control.credit.update_after", f"{values['update_after']} B")
    if values["architecture"] == "output queues":
        base = base.with_value("switch.queueing", None)
    else:
        crossbar = {
            "arbitration": values["arbitration"],
            "speedup": values["speedup"],
            "room": values["room"],
            "output_buffer": f"{values['output_frames'] * MTU_BYTES} B",
        }
        base = base.with_value("switch.queueing", {"crossbar": crossbar})
    return base.with_value("switch.forwarding", values["forwarding"])


def changed(context: Context, values: Values) -> dict[str, Class]:
    """Table 2 with other frame lengths, which it leaves open, and the changes of additional questions."""
    classes = table_2()
    for name in BEST_EFFORT:
        pareto = {"bounded_pareto": {"shape": values["shape"], "min": "64 B", "max": f"{MTU_BYTES} B"}}
        classes[name] = replace(classes[name], frame=pareto)
    classes["NC"] = replace(classes["NC"], frame=values["nc_frame"])
    if values["voice"] != "as in Table 2":
        classes["VO"] = replace(classes["VO"], frame=f"{MTU_BYTES} B", each="1088 kb/s")
    if values["video"] == "constant":
        classes["VI"] = replace(classes["VI"], source="streams")
    if values["video"] == "scenes":
        classes["VI"] = replace(
            classes["VI"], more={"trace": str(scenes(context.out.resolve() / "scenes.csv"))}
        )
    if values["voice_weight"] != "as in Table 2":
        classes["VO"] = replace(classes["VO"], weight=classes["VI"].weight)
    return classes


def scenes(path: Path) -> Path:
    """Writes a trace of pictures in scenes whose sizes vary more than those of the generator.

    Each scene of 75 pictures on average scales the pictures of the usual pattern by a log-normal factor of
    its own. The coefficient of variation of all sizes is 1.6; that of the generator is 0.9.
    """
    draw = np.random.default_rng(1)
    lines, scale = ["kind,bytes"], 1.0
    for nth in range(PICTURES):
        if nth == 0 or draw.random() < 1 / 75:
            scale = draw.lognormal(0, SCENES)
        kind = "IBBPBBPBBPBB"[nth % 12]
        mean, sigma = {"I": (5.0, 0.3), "P": (2.0, 0.5), "B": (1.0, 0.5)}[kind]
        size = 2000 * scale * mean * draw.lognormal(0, sigma)
        lines.append(f"{kind},{max(1, round(size))}")
    partial = path.with_suffix(f".{threading.get_ident()}")
    partial.write_text("\n".join(lines) + "\n", "utf-8")
    return partial.replace(path)


def logging(made: Scenario) -> Scenario:
    """The scenario with a log of the frames on the observed link."""
    return made.with_value(
        "probes", [{"what": "frames", "which": LINK, "start": "5 ms", "max_rows": 200_000}]
    )


def credits_a_turn(result: Result, classes: Mapping[str, Class]) -> dict[str, float]:
    """Credits of each class per turn: consecutive frames of one class."""
    names = {own.priority: name for name, own in classes.items()}
    turns: dict[str, list[int]] = defaultdict(list)
    before = ""
    for row in result.rows("frames"):
        if row["event"] != "sent":
            continue
        name = names[row["priority"]]
        needed = -(-row["bytes"] // CREDIT_BYTES)
        if name == before:
            turns[name][-1] += needed
        else:
            turns[name].append(needed)
        before = name
    return {f"turn_{name}": sum(turns[name]) / max(1, len(turns[name])) for name in classes}
