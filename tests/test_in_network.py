"""Reductions in the network, and jobs over frames without a transport: what a run says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock as ps
from penstock import cli
from penstock.analysis import jobs
from penstock.analysis.critical_path import critical_path
from penstock.analysis.rank_times import rank_times

LEAVES = """
[simulation]
duration = "20 ms"
[topology.leaf_spine]
phy = "none"
leaves = 2
spines = 2
hosts_per_leaf = 3
rate = "100 Gb/s"
uplink_rate = "100 Gb/s"
[flow_control.pfc]
[[jobs]]
name = "job"
ranks = "all"
workload = { collective = "all_reduce", algorithm = "in_network", bytes = "400 kB" }
frame = "4200 B"
priority = 3
"""


def run(text: str) -> ps.Result:
    return ps.Scenario.from_toml(text).run()


@pytest.mark.parametrize("over", ['"frames"', "{ rdma = {} }", "{ tcp = {} }"])
def test_a_slow_rank_is_named_through_the_units(over: str) -> None:
    slow = f'over = {over}\ncompute = "20 us"\nstragglers = {{ hosts = "h4", slowdown = 3.0 }}\n'
    result = run(LEAVES + slow)
    (job,) = result.rows("jobs")
    found = critical_path(result, "job")
    assert found is not None
    assert found.length_ps == round((job["end_ns"] - job["start_ns"]) * 1e3)
    assert found.parts["straggler"] == 40_000_000
    first = found.segments[0]
    assert (first.kind, found.steps.hosts[first.rank]) == ("compute", "h4")
    # Its segments go up over the unit of its leaf.
    units = [name for name in found.steps.hosts if name.endswith(".reduction")]
    assert units == ["leaf0.reduction", "leaf1.reduction", "spine0.reduction"]
    assert any(found.steps.hosts[one.peer] == "leaf1.reduction" for one in found.segments)
    assert [one.rank for one in rank_times(result, "job")] == list(range(6))


def test_bandwidth_is_that_of_the_bytes_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.toml"
    file.write_text(LEAVES + 'over = "frames"\n', "utf-8")
    out = tmp_path / "out"
    assert cli.main(["run", str(file), "--out", str(out), "--no-report"]) == 0
    capsys.readouterr()
    result = ps.Result.load(out)
    (job,) = result.rows("jobs")
    assert job["ranks"] == 6
    assert job["bound_bps"] == pytest.approx(100e9 * 2 * 5 / 6)
    (collective,) = result.rows("collectives")
    assert collective["bound_ns"] == pytest.approx(400e3 * 0.08)
    assert job["bus_bps"] / job["bound_bps"] == pytest.approx(collective["bound_ns"] / collective["time_ns"])
    assert cli.main(["why", "job", str(out)]) == 0
    assert "of what the slowest link allows" in " ".join(capsys.readouterr().out.split())
    flows = {row["flow"] for row in result.rows("flows")}
    assert flows == {f"job[h{host}]" for host in range(6)} | {
        f"job[{unit}.reduction]" for unit in ("leaf0", "leaf1", "spine0")
    }


def test_a_lost_frame_is_the_root_of_what_hangs() -> None:
    fault = '[[faults]]\nlink = ["h2", "leaf0"]\nat = "10 us"\ndown = true\nduration = "1 us"\n'
    ring = LEAVES.replace("in_network", "ring") + 'over = "frames"\n'
    result = run(ring + fault)
    (chain,) = jobs.unfinished(result)
    assert jobs.hangs(result, chain)
    assert chain.root["cause"] == "lost"
    assert "h2" in (chain.root["host"], chain.root["peer_host"])
    output = jobs.hung(result)
    assert output is not None and output.endswith("a frame of it was lost and not retransmitted")
    assert jobs.hung(run(ring)) is None


def test_a_preview_sends_frames_as_the_run_does() -> None:
    ring = LEAVES.replace("in_network", "ring") + 'over = "frames"\n'
    scenario = ps.Scenario.from_toml(ring)
    (exact,) = scenario.run().rows("jobs")
    near = ps.preview(scenario).jobs[0]
    assert near["step_ns"] == pytest.approx(exact["step_ns"], rel=0.03)
