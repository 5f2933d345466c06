"""Penstock and its peers on the same workloads, in turn: ``python benches/peers/run.py [--only WORKLOAD]``.

ns-2 and ns-3 are run if they are installed (Debian: ``apt-get install ns2 libns3-dev g++``). The runs of
all programs are interleaved, so that a machine whose speed drifts does so for all; medians are printed as a
Markdown table: million frame-hops a second of one core, and, over the pairs of runs next to each other,
what part of Penstock's it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Length(NamedTuple):
    """How long each program simulates: some seconds of work. Without a unit: seconds; None: not at all."""

    penstock: str
    ns2: float
    ns3: float | None


WORKLOADS = {
    "star": Length("6 s", 1.2, 0.2),
    "fat-tree-4": Length("300 ms", 0.08, 0.01),
    "fat-tree-8": Length("40 ms", 0.01, 0.0015),
    "fat-tree-16": Length("5 ms", 0.001, 0.0002),
    "bottleneck": Length("600 s", 100, None),
}
LOSSY = ("bottleneck",)
"""PFC would have nowhere to keep what this one drops."""


def penstock(target: Path, workload: str, *options: str) -> list[str]:
    """The command of a workload."""
    return [str(target / "release" / "benches"), workload, WORKLOADS[workload].penstock, *options]


def commands(build: Path, target: Path) -> dict[str, dict[str, list[str]]]:
    """The command of each program and workload; programs that are not installed are left out."""
    found = {"penstock": {workload: penstock(target, workload) for workload in WORKLOADS}}
    lossless = [workload for workload in WORKLOADS if workload not in LOSSY]
    found["penstock, PFC armed"] = {workload: penstock(target, workload, "pfc") for workload in lossless}
    found["penstock, two threads"] = {workload: penstock(target, workload, "two") for workload in WORKLOADS}
    if shutil.which("ns"):
        found["ns-2"] = {w: ["ns", str(HERE / "ns2.tcl"), w, str(t.ns2)] for w, t in WORKLOADS.items()}
    else:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
    if Path("/usr/include/ns3.37").is_dir() or Path("/usr/include/ns3").is_dir():
        program = build / "ns3"
        libraries = ["-lns3-core", "-lns3-network", "-lns3-point-to-point"]
        compiler = ["g++", "-O2", "-DNDEBUG", str(HERE / "ns3.cc"), "-o", str(program), *libraries]
        subprocess.run(compiler, check=True)
        found["ns-3"] = {w: [str(program), w, str(t.ns3)] for w, t in WORKLOADS.items() if t.ns3}
    else:
        print("ns-3 is not installed (Debian: apt-get install libns3-dev g++)", file=sys.stderr)
    return found


def rate(command: list[str]) -> float:
    """Million frame-hops a second of one run."""
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    answer = json.loads(run.stdout.strip().splitlines()[-1])
    return float(answer["frame_hops"]) / float(answer["wall_s"]) / 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each program and workload")
    parser.add_argument(
        "--target",
        type=Path,
        default=Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")),
        help="where cargo builds",
    )
    parser.add_argument("--only", choices=WORKLOADS, help="one of the workloads; all if not given")
    options = parser.parse_args()
    workloads = [options.only] if options.only else list(WORKLOADS)
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "benches"]
    subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        programs = commands(Path(scratch), options.target)
        rates: dict[tuple[str, str], list[float]] = {}
        for _ in range(options.runs):
            for workload in workloads:
                for name, by_workload in programs.items():
                    if workload in by_workload:
                        rates.setdefault((name, workload), []).append(rate(by_workload[workload]))
    print("| workload | " + " | ".join(programs) + " |")
    print("|---" * (len(programs) + 1) + "|")
    for workload in workloads:
        cells = []
        for name in programs:
            if (name, workload) not in rates:
                cells.append("-")
                continue
            median = statistics.median(rates[name, workload])
            # Of neighbours in time: where a host is busy for a while, it is for both.
            ratios = [
                own / peer
                for own, peer in zip(rates["penstock", workload], rates[name, workload], strict=True)
            ]
            times = f" (1/{statistics.median(ratios):.1f})" if name.startswith("ns") else ""
            cells.append(f"{median:.2f}{times}")
        print(f"| {workload} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
