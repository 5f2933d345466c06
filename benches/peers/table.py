"""Our speed beside that of other simulators: ``chrt -f 1 python benches/peers/table.py [--runs 5]``.

In the environment that Penstock is installed in. Each workload is run as ``penstock run`` does, on one
thread, with the default time series and without any, in turn. The table has the median of the runs in million
frame-hops per second of the event loop, and the speed of other simulators for the same frames over the same
links: figures of ``benches/peers/figures.toml`` with their date. The ratio compares the run without series
with the fastest and the slowest of them. None of them records series.
"""

from __future__ import annotations

import argparse
import statistics
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import penstock as ps

FIGURES = Path(__file__).with_name("figures.toml")
MATRICES = Path(ps.__file__).parent / "studies" / "uec" / "matrices" / "tree.toml"

STAR = """
[simulation]
duration = "300 ms"

[topology.star]
hosts = 9
rate = "10 Gb/s"
length = "200 m"
phy = "none"

[[flows]]
name = "senders"
from = "h0..h7"
to = "h8"
frame = "1522 B"
source = { constant = { rate = "1.1875 Gb/s" } }
"""
"""Eight senders at 95 % of the link of one receiver."""

TREE = """
[simulation]
duration = "{duration}"

[topology.fat_tree]
k = {k}
rate = "10 Gb/s"
length = "200 m"
phy = "none"
"""
"""Half of the rate of the links from each host to the one half of all hosts further."""

SPEED = Mapping[str, float]


def pairs(k: int, duration: str) -> ps.Scenario:
    """A fat tree of ports `k` in which each host sends over six hops."""
    scenario = ps.Scenario.from_toml(TREE.format(k=k, duration=duration))
    hosts = k**3 // 4
    flows = [
        {
            "name": f"f{host}",
            "from": f"h{host}",
            "to": f"h{(host + hosts // 2) % hosts}",
            "frame": "1522 B",
            "source": {"constant": {"rate": "5 Gb/s"}},
        }
        for host in range(hosts)
    ]
    return scenario.with_value("flows", flows)


def matrix(k: int, flows: Mapping[int, int]) -> ps.Scenario:
    """The fat tree of uet-htsim's matrices with a message of 2 MB from each sender under NSCC."""
    scenario = ps.Scenario.from_file(MATRICES).with_value("topology.fat_tree.k", k)
    usual = scenario.to_dict()["transfers"][0]
    transfers = [
        {**usual, "name": f"f{sender}", "from": f"h{sender}", "to": f"h{to}"} for sender, to in flows.items()
    ]
    return scenario.with_value("transfers", transfers)


def workloads() -> dict[str, ps.Scenario]:
    """All workloads, by name. A step that has no factor with the number of hosts makes a permutation."""
    return {
        "star": ps.Scenario.from_toml(STAR),
        "fat-tree-8": pairs(8, "8 ms"),
        "fat-tree-16": pairs(16, "1 ms"),
        "uet-permutation-128": matrix(8, {host: (host * 37 + 50) % 128 for host in range(128)}),
        "uet-permutation-1024": matrix(16, {host: (host * 397 + 450) % 1024 for host in range(1024)}),
        "uet-incast-127": matrix(8, {host: 1 for host in range(128) if host != 1}),
    }


def speed(scenario: ps.Scenario) -> float:
    """Million frame-hops per second of the event loop."""
    run = scenario.run(threads=1).run
    return float(run["frame_hops"] / (run["wall_s"] - run["build_s"]) / 1e6)


def measured(scenario: ps.Scenario, runs: int) -> tuple[float, float]:
    """Medians with the default series, and with none."""
    without = scenario.with_value("probes", {"bin": "off"})
    rounds = [(speed(scenario), speed(without)) for _ in range(runs)]
    with_series, none = (statistics.median(column) for column in zip(*rounds, strict=True))
    return with_series, none


def row(name: str, ours: tuple[float, float], figures: list[dict[str, Any]]) -> str:
    """A line of the table for each other simulator of a workload."""
    lines = []
    for figure in figures or [{}]:
        cells = [f"`{name}`", f"{ours[0]:.1f}", f"{ours[1]:.1f}"]
        if figure:
            slow, fast = figure["speed"]
            spread = f"{slow:g}" if slow == fast else f"{slow:g} to {fast:g}"
            times = (
                f"{ours[1] / fast:.1f}" if slow == fast else f"{ours[1] / fast:.1f} to {ours[1] / slow:.1f}"
            )
            cells += [figure["simulator"], spread, times, figure["date"]]
        else:
            cells += ["-"] * 4
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--only", help="one workload")
    options = parser.parse_args()
    data = tomllib.loads(FIGURES.read_text("utf-8"))
    print("| workload | with series | without | simulator | its speed | times as fast | measured |")
    print("|---|---|---|---|---|---|---|")
    for name, scenario in workloads().items():
        if options.only in (None, name):
            figures = [one for one in data["figures"] if one["workload"] == name]
            print(row(name, measured(scenario, options.runs), figures), flush=True)
    print(f"\nMillion frame-hops per second on one thread. Figures of others: {data['machine']}.")


if __name__ == "__main__":
    main()
