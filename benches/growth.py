"""Measures how the cost of a frame-hop grows: ``chrt -f 1 python benches/growth.py [--runs 5] [--time]``.

Measures instructions as in ``benches/instructions.py``, time, and memory. Workloads have more hosts (fat-
trees), more flows (a star of 16 hosts at half load, flows of all pairs), or deeper queues (a hashed fat-tree
with overloaded links, whose queues grow with time). Instructions and time are differences between two lengths
of the same run, which exclude its start; times are those of the fastest of several runs. ``--time`` omits
instructions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from instructions import build, counts


class Grown(NamedTuple):
    """A workload, with the two lengths for counting instructions and the two for measuring time."""

    workload: str
    counted: tuple[str, str]
    timed: tuple[str, str]


GROWTH = {
    "hosts": {
        "16 (fat-tree k = 4)": Grown("fat-tree-4", ("500 us", "1 ms"), ("100 ms", "300 ms")),
        "128 (k = 8)": Grown("fat-tree-8", ("200 us", "400 us"), ("10 ms", "50 ms")),
        "1,024 (k = 16)": Grown("fat-tree-16", ("100 us", "200 us"), ("1 ms", "6 ms")),
        "8,192 (k = 32)": Grown("fat-tree-32", ("30 us", "60 us"), ("200 us", "700 us")),
    },
    "flows": {
        "16": Grown("flows-16", ("1 ms", "2 ms"), ("100 ms", "500 ms")),
        "256": Grown("flows-256", ("1 ms", "2 ms"), ("100 ms", "500 ms")),
        "4,096": Grown("flows-4096", ("4 ms", "5 ms"), ("100 ms", "400 ms")),
        "65,536": Grown("flows-65536", ("40 ms", "41 ms"), ("100 ms", "300 ms")),
    },
    "frames waiting, after": {
        "0.2 to 0.4 ms": Grown("hashed-8", ("200 us", "400 us"), ("200 us", "2 ms")),
        "2 to 2.2 ms": Grown("hashed-8", ("2 ms", "2200 us"), ("2 ms", "8 ms")),
        "8 to 8.2 ms": Grown("hashed-8", ("8 ms", "8200 us"), ("8 ms", "14 ms")),
    },
}


def counters(program: Path, workload: str, duration: str) -> dict[str, float]:
    """Output of a run."""
    run = subprocess.run([str(program), workload, duration], check=True, capture_output=True, text=True)
    return dict(json.loads(run.stdout))


def nanoseconds(program: Path, grown: Grown, runs: int) -> float:
    """Time per frame-hop between two lengths of a run, from the fastest of each."""
    every = [[counters(program, grown.workload, length) for length in grown.timed] for _ in range(runs)]
    before, after = (min(float(run["wall_s"]) for run in of) for of in zip(*every, strict=True))
    return 1e9 * (after - before) / (every[0][1]["frame_hops"] - every[0][0]["frame_hops"])


def instructions(program: Path, grown: Grown) -> int:
    """Instructions per frame-hop between two lengths of a run."""
    (before, hops_before), (after, hops) = (
        counts(program, grown.workload, length) for length in grown.counted
    )
    return round((after - before) / (hops - hops_before))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="How the cost of a frame-hop grows.")
    parser.add_argument("--runs", type=int, default=5, help="runs, of which the fastest is used; default 5")
    parser.add_argument("--time", action="store_true", help="time and memory only")
    options = parser.parse_args()
    program = build()
    for what, runs in GROWTH.items():
        print(f"| {what} | instructions per frame-hop | nanoseconds | memory (MB) |\n|---|---|---|---|")
        for name, grown in runs.items():
            cost = "" if options.time else instructions(program, grown)
            took = nanoseconds(program, grown, options.runs)
            memory = counters(program, grown.workload, grown.counted[1])["memory_mb"]
            print(f"| {name} | {cost} | {took:.1f} | {memory:.1f} |", flush=True)
        print()


if __name__ == "__main__":
    main()
