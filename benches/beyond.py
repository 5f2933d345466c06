"""Measures the overhead of ``penstock run`` beyond the simulation, which must not exceed the simulation.

Run ``python benches/beyond.py`` in the environment in which Penstock is installed. Each run is a separate
process. The overhead is its total time minus the simulation time that it prints: the start of Python,
imports, reading and checking, tables, Parquet, the report page, pictures, and the exit. The simulation time
includes building the fabric, which is also measured separately, as the time of a run of one nanosecond.

With ``--against DIR``, runs of the package in that directory alternate with runs of the installed one.
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
import time
from pathlib import Path

LEAST_S = 1.0
"""Of simulation."""
FIRST = {64: 6.5, 128: 13.0, 432: 1.8, 1_024: 0.5, 8_192: 0.05}
"""Simulated milliseconds of the first attempt, which are then scaled to a run time of a second."""

INCAST = """
[topology.leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 16
rate = "100 Gb/s"
uplink_rate = "100 Gb/s"
length = "100 m"
phy = "none"

[switch.buffer]
total = "256 MiB"

[flow_control.pfc]
priorities = [3]

[switch.scheduler.ets]
classes = [
  { queues = [0, 1, 2, 4, 5, 6, 7], percent = 40 },
  { queues = [3], percent = 60 },
]

[[flows]]
name = "incast"
from = "h*"
to = "h0"
priority = 3
frame = "1090 B"
limit = "1 MB"
source = "greedy"

[[flows]]
name = "background"
from = "all"
to = "all"
priority = 0
source = { poisson = { rate = "20 Gb/s" } }
"""
"""The first real fabric of the guide, with more memory, for longer runs."""

FAT_TREE = """
[topology.fat_tree]
k = %d
rate = "10 Gb/s"
length = "10 m"
phy = "none"

[switch.buffer]
total = "12 MiB"

[flow_control.pfc]

[[flows]]
name = "pairs"
from = "all"
to = { permutation = "random" }
source = { poisson = { rate = "6 Gb/s" } }

[[flows]]
name = "incast"
from = "h1..h16"
to = "h0"
source = "greedy"
"""
"""Random pairs and an incast with PFC: time series, pauses and congestion trees, everything that is drawn."""


def scenario(hosts: int, simulated_ms: float) -> str:
    """Returns the workload for a number of hosts as TOML."""
    ports = round((4 * hosts) ** (1 / 3))
    what = INCAST if hosts == 64 else FAT_TREE % ports
    return f'[simulation]\nduration = "{1e6 * simulated_ms:.0f} ns"\nseed = 1\n{what}'


def run(file: Path, package: str | None) -> tuple[float, float]:
    """Returns seconds of the simulation, and of everything else."""
    out = file.with_suffix("")
    path = {} if package is None else {"PYTHONPATH": package}
    command = [sys.executable, "-m", "penstock", "run", str(file), "--out", str(out), "--threads", "1"]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **path}, check=False)
    took = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(done.stderr)
    simulated: float = json.loads((out / "run.json").read_text("utf-8"))["wall_s"]
    return simulated, took - simulated


def lasting(file: Path, hosts: int) -> None:
    """Scales the scenario to a run time of slightly more than a second."""
    simulated_ms = FIRST[hosts]
    for _ in range(5):
        file.write_text(scenario(hosts, simulated_ms), "utf-8")
        took, _ = run(file, None)
        if LEAST_S <= took <= 1.3 * LEAST_S:
            return
        simulated_ms *= 1.15 * LEAST_S / took


def main() -> None:
    """Measures each size, and prints one row per size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--hosts", type=int, nargs="*", default=list(FIRST))
    parser.add_argument("--against", help="a directory with another version of the package")
    given = parser.parse_args()
    packages = [None, *([given.against] if given.against else [])]
    heads = ["beyond", *(["beyond, the other"] if given.against else [])]
    print(f"| hosts | simulation (s) | of which building | {' | '.join(heads)} |")
    print(f"|---|---|---|{'---|' * len(heads)}")
    place = Path(tempfile.mkdtemp())
    try:
        for hosts in given.hosts:
            file = place / f"of-{hosts}.toml"
            file.write_text(scenario(hosts, 1e-6), "utf-8")
            building, _ = run(file, None)
            lasting(file, hosts)
            by_turns = [[run(file, package) for package in packages] for _ in range(given.runs)]
            simulated = statistics.median(own[0] for turn in by_turns for own in turn)
            beyond = [statistics.median(turn[n][1] for turn in by_turns) for n in range(len(packages))]
            print(
                f"| {hosts:,} | {simulated:.2f} | {building:.2f} | {' | '.join(f'{b:.2f}' for b in beyond)} |"
            )
            sys.stdout.flush()
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
