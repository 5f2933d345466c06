"""One verdict on a run, the same in every command, page and file; and transfers that were not complete."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import penstock as ps
from conftest import TWO_GREEDY
from penstock.analysis import transfers
from penstock.analysis.verdict import FAILED, STATES, TONES, Finding, Verdict, of_text, together, unfinished
from penstock.report import document
from penstock.validation.bench import star

RING = "".join(
    f"""
[[flows]]
name = "f{i}"
from = "h{i}.0"
to = "h{(i + 2) % 4}.0"
priority = 3
source = {{ constant = {{ rate = "6 Gb/s" }} }}
route = ["sw{i}", "sw{(i + 1) % 4}", "sw{(i + 2) % 4}", "h{(i + 2) % 4}.0"]
"""
    for i in range(4)
)
DEADLOCK = f"""
[simulation]
duration = "2 ms"
on_deadlock = "count"
[topology.ring]
switches = 4
hosts_per_switch = 1
rate = "10 Gb/s"
length = "20 m"
phy = "none"
[flow_control.pfc]
priorities = [3]
{RING}
"""
SHORT = (
    """
[simulation]
duration = "1 ms"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "10 Gb/s"
length = "100 m"
phy = "none"
[flow_control.pfc]
accounting = "ingress"
xoff = "20 kB"
xon = "10 kB"
headroom = "1 kB"
"""
    + TWO_GREEDY
)
WEB = """
[simulation]
duration = "1 ms"
[topology.leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 8
rate = "100 Gb/s"
phy = "none"
uplink_rate = "400 Gb/s"
[switch.buffer]
total = "16 MiB"
[[switch.queue_managers]]
classes = [3]
red.min = "100 kB"
red.max = "400 kB"
red.weight = 1
red.max_probability = 0.2
red.gentle = false
red.action = "mark_only"
red.spacing = "geometric"
red.at = "dequeue"
[flow_control.pfc]
priorities = [3]
[[transfers]]
name = "web"
from = "all"
to = "all"
sizes = "web_search"
arrivals = { poisson = { load = 0.5 } }
priority = 3
frame = "4200 B"
over = { rdma = { control = "dcqcn" } }
"""
QUIET = SHORT.replace('headroom = "1 kB"', "")


def scenario(text: str) -> ps.Scenario:
    return ps.Scenario.from_toml(text)


@pytest.fixture(scope="module")
def web() -> ps.Result:
    return scenario(WEB).run()


HUNG = """
[simulation]
duration = "1 ms"
[topology.star]
hosts = 2
rate = "10 Gb/s"
phy = "none"
[[faults]]
link = ["h1", "sw"]
at = "1 us"
down = true
[[jobs]]
name = "job"
ranks = "all"
workload = { collective = "send_receive", bytes = "1 MB" }
"""
CASES = {
    "deadlocked": (DEADLOCK, "bad", 1),
    "hung": (HUNG, "bad", 1),
    "lost_lossless": (SHORT, "bad", 1),
    "not_lossless": (
        SHORT.replace('source = "greedy"', 'source = { constant = { rate = "1 Gb/s" } }'),
        "bad",
        1,
    ),
    "unfinished": (WEB, "warn", 0),
    "complete": (QUIET, "good", 0),
}


@pytest.mark.parametrize("state", CASES)
def test_the_verdict_is_the_same_everywhere(state, penstock, tmp_path: Path) -> None:
    text, tone, code = CASES[state]
    (tmp_path / "s.toml").write_text(text)
    ran = penstock("run", "s.toml", "--out", "r")
    assert ran.returncode == code, ran.stderr
    result = ps.Result.load(tmp_path / "r")
    judged = result.verdict
    assert (judged.state, judged.tone, judged.exit_code) == (state, tone, code)
    assert ran.stdout.splitlines()[0] == f"verdict  {judged}"
    assert str(judged) in ran.stderr or not code
    reported = penstock("run", "s.toml", "--json")
    assert reported.returncode == code
    assert json.loads(reported.stdout)["verdict"] == judged.to_dict()
    for arguments in (
        ("why", "r"),
        ("why", "r", "--json"),
        ("compare", "r", "r"),
        ("compare", "r", "r", "--json"),
    ):
        read = penstock(*arguments)
        assert read.returncode == code, read.stderr
        assert json.dumps(str(judged))[1:-1] in read.stdout or str(judged) in read.stdout
    assert document(result)["verdict"] == judged.to_dict()
    swept = penstock("sweep", "s.toml", "--vary", "simulation.seed=1", "--json", "--out", "s")
    assert swept.returncode == code, swept.stderr
    answer = json.loads(swept.stdout)
    assert answer["verdict"]["state"] == state
    assert answer["runs"][0]["verdict_text"] == str(judged)
    assert str(judged).partition(":")[0] in (tmp_path / "s" / "report.html").read_text()


def test_check_says_what_a_run_will(penstock, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "quiet.toml").write_text(QUIET)
    broken = penstock("check", "short.toml")
    assert broken.returncode == 1
    assert broken.stdout.startswith(
        "short.toml: not lossless: headroom 1000 B is less than the bytes in flight"
    )
    assert not broken.stdout.rstrip().endswith("ok")
    fine = penstock("check", "quiet.toml")
    assert (fine.returncode, fine.stdout) == (0, "quiet.toml: ok\n")
    # With other answers, too.
    assert penstock("check", "short.toml", "--effective").returncode == 1
    assert penstock("check", "short.toml", "--estimate").returncode == 1


def test_a_deadlock_that_stops_the_run_is_the_verdict(penstock, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(DEADLOCK.replace('"count"', '"stop"'))
    ran = penstock("run", "s.toml", "--no-report")
    assert ran.returncode == 1
    judged = ps.Result.load(tmp_path / "out" / "s").verdict
    assert [one.state for one in judged.findings] == ["deadlocked", "stopped_early"]


def test_a_run_that_broke_an_invariant_has_lost_frames(penstock, tmp_path: Path) -> None:
    text = QUIET.replace('"count"', '"stop"').replace(
        "[flow_control", '[switch.buffer]\ntotal = "40 kB"\n[flow_control'
    )
    (tmp_path / "s.toml").write_text(text)
    ran = penstock("run", "s.toml", "--no-report")
    states = [one.state for one in ps.Result.load(tmp_path / "out" / "s").verdict.findings]
    assert (ran.returncode, states[0], states[-1]) == (1, "lost_lossless", "stopped_early"), ran.stdout


def test_of_several_runs_the_gravest_state_comes_first() -> None:
    runs = [
        ("a", Verdict()),
        ("b", Verdict((Finding("unfinished", "1 of 2 transfers"),))),
        ("c", Verdict((Finding("deadlocked", "4 queues"), Finding("unfinished", "2 of 2 transfers")))),
    ]
    found = together(runs)
    assert str(found) == (
        "deadlocked: 1 of 3 runs, c: 4 queues; unfinished: 2 of 3 runs, the first: b: 1 of 2 transfers"
    )
    assert together(runs[:1]).state == "complete"
    for name, judged in runs:
        assert of_text(judged.state, str(judged)).state == judged.state, name


def test_every_state_has_words_a_color_and_a_code() -> None:
    assert set(STATES) == set(TONES)
    assert set(STATES) > FAILED
    for state in STATES:
        judged = Verdict() if state == "complete" else Verdict((Finding(state, "x"),))
        assert judged.exit_code == int(state in FAILED)
        assert judged.failed <= (judged.tone != "good")


def test_unfinished_transfers_are_null_in_every_table(web: ps.Result, tmp_path: Path) -> None:
    table = web["transfers"]
    assert table.num_rows == 128
    for column in ("completion_ns", "slowdown", "acknowledged_ns"):
        assert table[column].null_count >= 18
    assert table["slowdown"].null_count == 18
    for name in web:
        for field in web[name].schema:
            if pa.types.is_floating(field.type):
                assert not pc.any(pc.is_nan(web[name][field.name])).as_py(), (name, field.name)
    frame = web.to_pandas("transfers")
    assert int(frame["slowdown"].isna().sum()) == 18
    assert math.isclose(float(frame["slowdown"].mean()), transfers.totals(web)[0].slowdown["mean"])
    loaded = ps.Result.load(web.save(tmp_path / "r", report=False))
    assert loaded["transfers"].equals(table)


def test_every_statistic_says_how_many_it_leaves_out(web: ps.Result, penstock, tmp_path: Path) -> None:
    (total,) = transfers.totals(web)
    assert (total.begun, total.complete, total.unfinished, total.never_began) == (128, 110, 18, 0)
    assert transfers.measures(total)["unfinished"] == 18
    assert unfinished(web).text == "18 of 128 transfers"
    bins = transfers.size_bins(web)
    assert sum(one.unfinished for one in bins) == 18
    left = np.sort([row["bytes"] for row in web.rows("transfers") if row["slowdown"] is None])
    for one, after in zip(bins, [*bins[1:], None], strict=True):
        below = np.inf if after is None else one.bytes_max
        first = 0 if one is bins[0] else bins[bins.index(one) - 1].bytes_max + 1
        assert one.unfinished == int(((left >= first) & (left <= below)).sum())
    (tmp_path / "web.toml").write_text(WEB)
    repeated = penstock("run", "web.toml", "--replications", "2", "--no-report")
    assert "unfinished" in repeated.stdout
    assert repeated.stdout.startswith(
        "verdict  unfinished: 2 of 2 replications, the first: seed 1: 18 of 128"
    )
    pytest.importorskip("optuna")
    found = penstock(
        *("optimise", "web.toml", "--vary", "simulation.duration=0.8 ms, 1 ms", "--trials", "2", "--json"),
        *("--minimize", "mean(transfers.slowdown)"),
    )
    assert [one["unfinished"] > 0 for one in json.loads(found.stdout)["trials"]] == [True, True], found.stderr


def test_a_comparison_of_different_transfers_says_so_first(web: ps.Result, penstock, tmp_path: Path) -> None:
    web.save(tmp_path / "a", report=False)
    scenario(WEB.replace('"1 ms"', '"2 ms"')).run().save(tmp_path / "b", report=False)
    compared = penstock("compare", "a", "b")
    assert compared.stdout.startswith("unfinished transfers differ (first: 18 of 128 transfers, second: ")
    answer = json.loads(penstock("compare", "a", "b", "--json").stdout)
    assert answer["unfinished_differ"]
    assert answer["results"][0]["unfinished"] == {"begun": 128, "unfinished": 18, "waiting": 0}
    assert any(row["metric"] == "unfinished" for row in answer["transfers"])
    same = penstock("compare", "a", "a").stdout
    assert not same.startswith("unfinished transfers differ")


def test_transfers_that_never_begin_are_unfinished(tmp_path: Path) -> None:
    rows = "id,time_ns,from,to,bytes,after\na,0,h0,h1,100000000,\nb,,h1,h2,1000,a\n"
    (tmp_path / "list.csv").write_text(rows)
    text = '[simulation]\nduration = "100 us"\n' + star(3, rate="10 Gb/s")
    text += '[[transfers]]\nname = "chain"\narrivals = { file = "list.csv" }\n'
    (tmp_path / "s.toml").write_text(text)
    result = ps.run(tmp_path / "s.toml")
    found = unfinished(result)
    assert (found.begun, found.unfinished, found.waiting) == (1, 1, 1)
    assert str(result.verdict) == "unfinished: 2 of 2 transfers, 1 of which never started"
    (total,) = transfers.totals(result)
    assert (total.unfinished, total.never_began) == (1, 1)


def test_a_connection_with_an_end_that_it_does_not_reach_is_unfinished() -> None:
    text = """
[simulation]
duration = "1 ms"
[topology.star]
hosts = 2
rate = "10 Gb/s"
phy = "none"
[[flows]]
name = "t"
from = "h0"
to = "h1"
limit = "100 MB"
source = { tcp = {} }
"""
    assert str(scenario(text).run().verdict) == "unfinished: 1 connection with an end"
    assert scenario(text.replace("100 MB", "10 kB")).run().verdict.state == "complete"
    assert scenario(text.replace('limit = "100 MB"\n', "")).run().verdict.state == "complete"
