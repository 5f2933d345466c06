"""Measures the cost of layer 2 congestion control: ``chrt -f 1 python benches/controls.py [--runs 30]``.

Each workload runs without a control, with QCN and with FECN in turn, so that drift of the machine's speed
affects all of them equally. Other load only ever slows a run down, so the fastest of many runs is the one
with the least disturbance. The second figure is the median, over the rounds, of the ratio of consecutive
runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

from instructions import build

# Long enough for a control to settle; the first milliseconds of FECN are a transient.
WORKLOADS = {"star": "1 s", "incast-8 pfc": "500 ms", "fat-tree-8": "60 ms", "hashed-8 pfc": "15 ms"}
CONTROLS = ("none", "qcn", "fecn")


def rate(program: Path, workload: str, control: str) -> float:
    """Rate of one run in million frame-hops per second."""
    name, *options = workload.split()
    command = [str(program), name, WORKLOADS[workload], *options, *([] if control == "none" else [control])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout)["million_hops_per_s"])


def row(program: Path, workload: str, runs: int) -> str:
    """Returns the fastest rate of each, and the cost of a control, by fastest runs and median round."""
    rounds = [{control: rate(program, workload, control) for control in CONTROLS} for _ in range(runs)]
    fastest = {control: max(one[control] for one in rounds) for control in CONTROLS}
    cells = [f"`{workload}`", f"{fastest['none']:.1f}"]
    for control in CONTROLS[1:]:
        best = 1 - fastest[control] / fastest["none"]
        median = statistics.median(1 - one[control] / one["none"] for one in rounds)
        cells.append(f"{fastest[control]:.1f} ({best:.0%}; {median:.0%})")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=30, help="runs of each (default 30)")
    runs = parser.parse_args().runs
    program = build()
    print("| workload | million frame-hops per second | with QCN | with FECN |\n|---|---|---|---|")
    for workload in WORKLOADS:
        print(row(program, workload, runs), flush=True)


if __name__ == "__main__":
    main()
