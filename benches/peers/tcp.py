"""TCP of ns-2 beside Penstock's: ``python benches/peers/tcp.py [--runs N]``.

Ten connections, and one alone, share a link of 50 Mb/s for a minute behind a queue that overflows, RED that
drops, and RED that marks. Both simulators get the same links, frames, timers, thresholds and starts; each
run has other starts. Prints a Markdown table of means over the runs. Throughput may differ by 3 %, mean
queues by 5 % (10 % under RED), drops and marks of ten connections by 10 %; beyond that the exit status is 1.
ns-2 has to be installed (Debian: ``apt-get install ns2``), Penstock too (``pip install .``).

Windows grow as in ns-2: with each acknowledgement, also while they are not what holds a sender back. What
differs is rounding. ns-2 adds fractions of segments, RFC 5681 whole bytes, rounded down: a little less than
a segment a round trip. A connection alone therefore loses one frame each time it overflows its queue where
ns-2 loses one or two, so that its drops are shown and not judged.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import penstock as ps

HERE = Path(__file__).resolve().parent
WARMUP_S, END_S = 10, 70
JITTER_S = 0.0005
RECOVERIES = {"newreno": "Newreno", "sack": "Sack1"}
# As ns-2 has it: packets of 1500 B, and an idle queue of m packets counts as m + 1.
RED: dict[str, Any] = {
    "min": "10 frames",
    "max": "60 frames",
    "max_probability": 0.05,
    "mean_frame": "1500 B",
    "idle_exponent": "elapsed_and_arrival",
}
QUEUES: dict[str, dict[str, Any]] = {
    "drop": {"buffer": {"queue": "100 frames"}},
    "red": {"queue_managers": [{"red": RED}]},
    "ecn": {"queue_managers": [{"red": {**RED, "action": "mark"}}]},
}
ALLOWED = {"bps": 0.03, "queue": 0.05, "drops": 0.1, "marks": 0.1}
"""Relative; mean queues of RED may differ by as much as its drops."""


def by_ns2(recovery: str, queue: str, starts: list[float]) -> dict[str, float]:
    """Bits a second, mean queue in packets, drops and marks under ns-2."""
    words = [RECOVERIES[recovery], queue, *map(str, (JITTER_S, WARMUP_S, END_S)), *map(str, starts)]
    command = ["ns", str(HERE / "tcp.tcl"), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def by_penstock(recovery: str, queue: str, starts: list[float], seed: int) -> dict[str, float]:
    """The same under Penstock."""
    senders = [f"h{number}" for number in range(len(starts))]
    rates = [*((host, "router", "1 Gb/s") for host in senders), ("router", "receiver", "50 Mb/s")]
    links: Any = [
        {"between": [one, other], "rate": rate, "delay": "5 ms", "overhead": "0 B"}
        for one, other, rate in rates
    ]
    scenario = (
        ps.Scenario(duration=f"{END_S} s", warmup=f"{WARMUP_S} s")
        .topology.explicit(
            hosts=[*senders, "receiver"],
            switches=["router"],
            links=links,
        )
        .probes(bin="off")
        .switch(**QUEUES[queue])
    )
    tcp: Any = {
        "recovery": recovery,
        "growth": "acks",
        "grows_unused": True,
        "initial_window": "2 frames",
        "headers": "40 B",
        "ack_every": 1,
        "limited_transmit": False,
        "min_timeout": "200 ms",
        "tick": "1 ms",
        "send_jitter": f"{JITTER_S * 1e6:g} us",
        "ecn": "rfc3168" if queue == "ecn" else "off",
    }
    for number, start in enumerate(starts):
        scenario = scenario.flow(
            f"s{number}",
            from_=senders[number],
            to="receiver",
            frame="1500 B",
            start=f"{start * 1e6:.0f} us",
            source={"tcp": tcp},
        )
    result = scenario.run(seed=seed)
    port = next(row for row in result.rows("ports") if row["port"].endswith("->receiver"))
    return {
        "bps": port["utilisation"] * 50e6,
        "queue": port["queue_bytes_mean"] / 1500,
        "drops": port["drops"],
        "marks": sum(row["marks"] for row in result.rows("queues")),
    }


def main() -> int:
    """Prints the table; 1 if something differs by more than is allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="runs of each case (default 10)")
    options = parser.parse_args()
    if shutil.which("ns") is None:
        print("ns-2 is not installed (Debian: apt-get install ns2)", file=sys.stderr)
        return 2
    failed = False
    print("| recovery | queue | connections | measured | ns-2 | Penstock | difference |\n" + "|---" * 7 + "|")
    for recovery in RECOVERIES:
        for queue in QUEUES:
            for connections in (1, 10):
                theirs, ours = [], []
                for seed in range(1, options.runs + 1):
                    draws = random.Random(seed)
                    starts = [round(draws.uniform(0, 1), 6) for _ in range(connections)]
                    theirs.append(by_ns2(recovery, queue, starts))
                    ours.append(by_penstock(recovery, queue, starts, seed))
                for what, allowed in ALLOWED.items():
                    their, our = (statistics.mean(one[what] for one in runs) for runs in (theirs, ours))
                    if their or our:
                        difference = our / their - 1 if their else float("inf")
                        judged = connections > 1 or what in ("bps", "queue")
                        most = max(allowed, 0.1) if what == "queue" and queue != "drop" else allowed
                        failed |= judged and abs(difference) > most
                        print(
                            f"| {recovery} | {queue} | {connections} | {what} | {their:.6g} | {our:.6g} "
                            f"| {difference:+.2%} |"
                        )
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
