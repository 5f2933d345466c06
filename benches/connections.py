"""Measures the cost of many TCP connections and queue pairs: ``python benches/connections.py``.

Measures a hundred thousand connections that are open at the same time, and a million short transfers in
sequence: CPU time in seconds and peak memory of the whole process, including Python and the result. Each
workload runs in a separate process. The exit code is 1 if a hundred thousand connections take 2 GB or more,
or a transfer did not complete.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys

import numpy as np

import penstock as ps

MOST_MB = 2_000
AT_ONCE = "at the same time"
HEAD = """
[simulation]
duration = "{duration}"

[probes]
bin = "off"
pauses = false

[topology.star]
hosts = {hosts}
rate = "100 Gb/s"
phy = "none"
"""
OPEN = """
[[flows]]
name = "{shift}"
from = "all"
to = {{ permutation = {{ shift = {shift} }} }}
limit = "20 kB"
source = {{ tcp = {{ preset = "datacenter" }} }}
"""
SHORT = """
[[transfers]]
name = "rpc"
from = "all"
to = "all"
sizes = "2 kB"
arrivals = { poisson = { gap = "1600 ns" } }
stop = "100 ms"
over = { tcp = { preset = "datacenter", handshake = true, reconnect = true } }
"""
DCQCN = 'rdma = { control = { dcqcn = { preset = "paper" } } }'
SCENARIOS = {
    f"open {AT_ONCE}": HEAD.format(duration="40 ms", hosts=1_000)
    + "".join(OPEN.format(shift=shift) for shift in range(1, 101)),
    "a million short transfers in sequence": HEAD.format(duration="101 ms", hosts=16) + SHORT,
    f"queue pairs {AT_ONCE}": HEAD.format(duration="40 ms", hosts=1_000)
    + "".join(OPEN.format(shift=shift) for shift in range(1, 101)).replace(
        'tcp = { preset = "datacenter" }', DCQCN
    ),
    "a million transfers over RDMA": HEAD.format(duration="101 ms", hosts=16)
    + re.sub(r"tcp = \{.*?\}", DCQCN, SHORT),
}


def one(name: str) -> None:
    """Runs a workload in this process, and prints its cost as JSON."""
    result = ps.Scenario.from_toml(SCENARIOS[name]).run(seed=1)
    took = resource.getrusage(resource.RUSAGE_SELF)
    scheduled = AT_ONCE not in name
    table, column = ("transfers", "completion_ns") if scheduled else ("connections", "completed_ns")
    ends = result.table(table).column(column).to_numpy()
    found = {
        "transfers": len(ends),
        "complete": int(np.isfinite(ends).sum()),
        "hops": result.run["frame_hops"],
        "cpu_s": took.ru_utime + took.ru_stime,
        "peak_mb": took.ru_maxrss * 1024 / 1e6,
    }
    print(json.dumps(found))


def main() -> int:
    """Prints the table; returns the exit code."""
    if sys.argv[1:]:
        one(sys.argv[1])
        return 0
    print("| connections | transfers | frame-hops | CPU time (s) | peak (MB) |\n|---|---|---|---|---|")
    status = 0
    for name in SCENARIOS:
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800)
        found = json.loads(done.stdout)
        print("| {} | {transfers:,} | {hops:,} | {cpu_s:.1f} | {peak_mb:.0f} |".format(name, **found))
        whole = found["complete"] == found["transfers"]
        status |= not whole or (AT_ONCE in name and found["peak_mb"] >= MOST_MB)
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
