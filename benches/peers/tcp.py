"""TCP of ns-2 and ns-3 beside Penstock's: ``python benches/peers/tcp.py [--runs N] [--peer NAME]``.

Ten connections, and one alone, share a link of 50 Mb/s for a minute behind a queue that overflows, RED that
drops, and RED that marks. Both simulators get the same links, frames, timers, thresholds and starts; each
run has other starts. Prints a Markdown table of means over the runs. Throughput may differ by 3 %, mean
queues by 5 % (10 % under RED), drops and marks of ten connections by 10 %; beyond that the exit status is 1.
A peer that is not installed is left out (Debian: ``apt-get install ns2 libns3-dev g++``).

Windows grow as in ns-2: with each acknowledgement, also while they are not what holds a sender back, and by
fractions. A connection alone loses one frame or two each time it overflows its queue, which hangs on a
fraction of a segment: its drops are shown and not judged.

ns-3 has proportional rate reduction and limited transmit, no jitter, and repairs well only with selective
acknowledgements (3.37); Penstock is told the same. After a loss ns-3 halves what it believes to be on its
way. The peer ``ns-3-flight`` is ns-3 that halves what is not acknowledged, as RFC 6675 says and Penstock
does; with ``ns-3`` as it comes, queues and drops where losses tell are printed and not judged.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import penstock as ps

HERE = Path(__file__).resolve().parent
WARMUP_S, END_S = 10, 70
JITTER_S = 0.0005
RECOVERIES = {"newreno": "Newreno", "sack": "Sack1"}
BY_PEER: dict[str, dict[str, Any]] = {
    "ns-2": {"limited_transmit": False, "send_jitter": f"{JITTER_S * 1e6:g} us"},
    "ns-3": {"limited_transmit": True, "proportional": True},
    "ns-3-flight": {"limited_transmit": True, "proportional": True},
}
"""Keys of Penstock's TCP that make it that of the peer."""
NS3_LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
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


def build_ns3(directory: Path) -> Path:
    """The program that runs ns-3, compiled."""
    program = directory / "tcp"
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    command = ["g++", "-O2", "-DNDEBUG", str(HERE / "tcp.cc"), "-o", str(program), *libraries]
    subprocess.run(command, check=True)
    return program


def by_peer(command: list[str]) -> dict[str, float]:
    """Bits a second, mean queue in packets, drops and marks under a peer."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def commands(ns3: Path | None, recovery: str, queue: str, starts: list[float]) -> dict[str, list[str]]:
    """What runs each peer that is installed and has this recovery."""
    times = [str(WARMUP_S), str(END_S), *map(str, starts)]
    found = {}
    if shutil.which("ns"):
        found["ns-2"] = ["ns", str(HERE / "tcp.tcl"), RECOVERIES[recovery], queue, str(JITTER_S), *times]
    if ns3 is not None and recovery == "sack":
        found["ns-3"] = [str(ns3), "pipe", queue, *times]
        found["ns-3-flight"] = [str(ns3), "flight", queue, *times]
    return found


def by_penstock(
    recovery: str, queue: str, starts: list[float], seed: int, like: dict[str, Any]
) -> dict[str, float]:
    """The same under Penstock, with the keys that make it like a peer."""
    senders = [f"h{number}" for number in range(len(starts))]
    rates = [*((host, "router", "1 Gb/s") for host in senders), ("router", "receiver", "50 Mb/s")]
    links: Any = [
        {"between": [one, other], "rate": rate, "phy": "none", "delay": "5 ms", "overhead": "0 B"}
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
        "min_timeout": "200 ms",
        "tick": "1 ms",
        "ecn": "rfc3168" if queue == "ecn" else "off",
        **like,
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


def compare(ns3: Path | None, case: tuple[str, str, int], runs: int, peers: list[str]) -> bool:
    """Prints the rows of a case; whether all that is judged agrees."""
    recovery, queue, connections = case
    agrees = True
    theirs: dict[str, list[dict[str, float]]] = {}
    ours: dict[str, list[dict[str, float]]] = {}
    for seed in range(1, runs + 1):
        draws = random.Random(seed)
        starts = [round(draws.uniform(0, 1), 6) for _ in range(connections)]
        for peer, command in commands(ns3, recovery, queue, starts).items():
            if peer in peers:
                theirs.setdefault(peer, []).append(by_peer(command))
                ours.setdefault(peer, []).append(by_penstock(recovery, queue, starts, seed, BY_PEER[peer]))
    for peer in theirs:
        for what, allowed in ALLOWED.items():
            their, our = (statistics.mean(one[what] for one in of[peer]) for of in (theirs, ours))
            if not (their or our):
                continue
            difference = our / their - 1 if their else float("inf")
            halves_less = peer == "ns-3" and queue != "ecn" and what != "bps"
            judged = not halves_less and (connections > 1 or what in ("bps", "queue"))
            most = max(allowed, 0.1) if what == "queue" and queue != "drop" else allowed
            agrees &= not judged or abs(difference) <= most
            print(
                f"| {peer} | {recovery} | {queue} | {connections} | {what} | {their:.6g} | {our:.6g} "
                f"| {difference:+.2%} |",
                flush=True,
            )
    return agrees


def main() -> int:
    """Prints the table; 1 if something differs by more than is allowed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="runs of each case (default 10)")
    parser.add_argument("--peer", choices=BY_PEER, help="one of the peers; all if not given")
    options = parser.parse_args()
    peers = [options.peer] if options.peer else list(BY_PEER)
    has_ns3 = any(peer.startswith("ns-3") for peer in peers) and any(Path("/usr/include").glob("ns3*"))
    if not has_ns3 and shutil.which("ns") is None:
        print("no peer is installed (Debian: apt-get install ns2 libns3-dev g++)", file=sys.stderr)
        return 2
    print(
        "| peer | recovery | queue | connections | measured | peer's | Penstock | difference |\n"
        + "|---" * 8
        + "|"
    )
    cases = [(recovery, queue, count) for recovery in RECOVERIES for queue in QUEUES for count in (1, 10)]
    with tempfile.TemporaryDirectory() as scratch:
        ns3 = build_ns3(Path(scratch)) if has_ns3 else None
        agree = [compare(ns3, case, options.runs, peers) for case in cases]
    return int(not all(agree))


if __name__ == "__main__":
    raise SystemExit(main())
