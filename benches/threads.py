"""Compares two threads with one: ``python benches/threads.py [--runs 5]``, on a machine with two idle cores.

Each round runs four variants, so that drift of the machine's speed affects all equally: a run on one thread,
a run that may choose up to two threads, a run that always uses two, and two concurrent runs on one thread
each, which measure the capacity of the machine. Ratios are medians over the rounds; above 1, two threads are
faster. The results are checked to be bit-identical.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

from instructions import build


class Run(NamedTuple):
    """Output of a run."""

    rate: float
    memory: float
    rounds: int
    together: int
    fingerprint: str


WORKLOADS = {
    "star": "2 s",
    "star pfc": "2 s",
    "fat-tree-4": "300 ms",
    "fat-tree-8": "80 ms",
    "fat-tree-16": "10 ms",
    "fat-tree-32": "1500 us",
    "hashed-8 pfc": "30 ms",
    "incast-8 pfc": "2 s",
    "incast-64 pfc": "2 s",
    "requests-8": "80 ms",
    "window": "1 s",
    "spray-8": "40 ms",
}


def start(program: Path, workload: str, times: int, *options: str) -> subprocess.Popen[str]:
    """Starts a run of a multiple of the usual length."""
    name, *own = workload.split()
    duration, unit = WORKLOADS[workload].split()
    command = [str(program), name, f"{int(duration) * times} {unit}", *own, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def end(run: subprocess.Popen[str]) -> Run:
    """Waits for a run and returns its output."""
    reported, _ = run.communicate()
    if run.returncode:
        raise subprocess.CalledProcessError(run.returncode, run.args)
    answer = json.loads(reported)
    return Run(
        answer["million_hops_per_s"],
        answer["memory_mb"],
        answer["rounds"],
        answer["on_several_threads"],
        answer["fingerprint"],
    )


def row(program: Path, workload: str, runs: int, times: int) -> str:
    """Returns the row of a workload with its ratios."""
    alone, choosing, two, side = [], [], [], []
    for _ in range(runs):
        alone.append(end(start(program, workload, times)))
        choosing.append(end(start(program, workload, times, "auto")))
        two.append(end(start(program, workload, times, "two")))
        pair = [start(program, workload, times) for _ in range(2)]
        side.append(sum(end(run).rate for run in pair))
    if len({run.fingerprint for run in [*alone, *choosing, *two]}) > 1:
        raise RuntimeError(f"{workload}: the result depends on the number of threads")
    rates = [run.rate for run in alone]
    median = statistics.median
    chosen = median(run.rate / rate for run, rate in zip(choosing, rates, strict=True))
    always = median(run.rate / rate for run, rate in zip(two, rates, strict=True))
    machine = median(both / rate for both, rate in zip(side, rates, strict=True))
    share = median(run.together / run.rounds for run in choosing)
    memory = f"{alone[0].memory} to {two[0].memory}"
    return (
        f"| {workload} | {median(rates):.1f} | {chosen:.2f} | {share:.0%} | {always:.2f} | {machine:.2f} "
        f"| {memory} |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Two threads beside one.")
    parser.add_argument("--runs", type=int, default=5, help="rounds; default 5")
    parser.add_argument("--times", type=int, default=1, help="factor for the length of each run; default 1")
    parser.add_argument("--only", choices=WORKLOADS, nargs="+", help="some workloads")
    arguments = parser.parse_args()
    program = build()
    print("| workload | one thread (M/s) | automatic | rounds on two | always two | two runs | MB |")
    print("|---|---|---|---|---|---|---|")
    for workload in arguments.only or WORKLOADS:
        print(row(program, workload, arguments.runs, arguments.times), flush=True)


if __name__ == "__main__":
    main()
