"""Sweeps: what varies, what is measured, and that no run is run twice, whatever is killed."""

from __future__ import annotations

import json
import math
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import penstock as ps
from conftest import SMALL, Command, command_line, json_of
from penstock.cli import main
from penstock.errors import ArgumentError, InputError
from penstock.laboratory import execute, front, pictures, values, worker
from penstock.laboratory import sweep as sweeping
from penstock.laboratory.engines import engine
from penstock.laboratory.measures import Measure
from penstock.laboratory.precision import Precision
from penstock.laboratory.quantity import Quantity
from penstock.laboratory.sweep import SweepProgress
from penstock.plots.sweeps import key_scale
from penstock.running.replications import Replications

XOFF = "flow_control.pfc.xoff"
XON = "flow_control.pfc.xon"
SEED = "simulation.seed"
BASE = ps.Scenario.from_toml(SMALL, file="small.toml")


def plan(**more: object) -> ps.Plan:
    return ps.Plan(BASE, **{"vary": {XOFF: "20 frames, 40 frames", SEED: "1..3"}, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 KiB, 40 KiB", ["10 KiB", "40 KiB"]),
        ("1..4", [1, 2, 3, 4]),
        ("10 KiB:50 KiB:20 KiB", ["10 KiB", "30 KiB", "50 KiB"]),
        ("10 KiB:55 KiB:20 KiB", ["10 KiB", "30 KiB", "50 KiB"]),
        ("20 KiB:200 KiB:10", [f"{n} KiB" for n in range(20, 201, 20)]),
        ("1 B:4 B:3", ["1 B", "2 B", "4 B"]),  # 2.5 B lies between; halves go to even
        ("1 KiB:1 MiB:11:log", [f"{1 << n} KiB" for n in range(11)]),
        ("0.5 us:1.5 us:3", ["0.5 us", "1 us", "1.5 us"]),
        ("0:1:5", [0, 0.25, 0.5, 0.75, 1]),
        ("2:8:4", [2, 4, 6, 8]),
        ("ingress, egress", ["ingress", "egress"]),
        ('"a, b", true, 1.5', ["a, b", True, 1.5]),
        ("[0, 1], [2]", [[0, 1], [2]]),
        ('{ queues = [3], percent = 60 }, "x"', [{"queues": [3], "percent": 60}, "x"]),
        ("10 Gb/s", ["10 Gb/s"]),
    ],
)
def test_values(text: str, expected: list[object]) -> None:
    assert values.read("key", text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5..1", "is descending"),
        ("1..99999999", "at most 1,000,000"),
        ("10 KiB:5 KiB:3", "the smaller one first"),
        ("10 KiB:5 us:3", "have different dimensions"),
        ("10:5 KiB:3", "the same unit"),
        ("10 KiB:20 KiB:1", "a whole number of at least 2"),
        ("10 KiB:20 KiB:2.5", "a whole number of at least 2"),
        ("10 KiB:20 KiB:x", "neither a number of values nor a step"),
        ("10 KiB:20 KiB:5 us", "with the unit of both ends"),
        ("10 KiB:20 KiB:0 KiB", "above zero"),
        ("0 KiB:20 KiB:4:log", "expected a number above 0 for log"),
        ("1 KiB:20 KiB:4:5", "too many parts"),
        ("1,,2", "empty value"),
        ([], "at least one"),
    ],
)
def test_wrong_values(text: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        values.read("key", text)


def test_a_quantity_survives_its_text() -> None:
    for text in ("1.5 us", "20 KiB", "100 frames", "10 Gb/s", "0.001 ppm", "300 m"):
        found = Quantity.read(text)
        assert found is not None
        assert str(found) == text
    third = Quantity.read("1 KiB") / 3  # type: ignore[operator]
    assert str(third) == "341 B"


def test_points_of_each_mode() -> None:
    two = {XOFF: [20, 40], "switch.buffer.queue": "100 frames, 200 frames"}
    assert [point.values[XOFF] for point in plan(vary=two).settings] == [20, 20, 40, 40]
    zipped = [point.values for point in plan(vary=two, mode="zip").settings]
    assert zipped == [
        {XOFF: 20, "switch.buffer.queue": "100 frames"},
        {XOFF: 40, "switch.buffer.queue": "200 frames"},
    ]
    spans = {XOFF: "10 frames:110 frames", "host.queue_limit": ["10 frames", "20 frames"]}
    drawn = [point.values for point in plan(vary=spans, mode="latin", points=10).settings]
    tenths = sorted(int((int(str(one[XOFF]).split()[0]) - 10) / 10.01) for one in drawn)
    assert tenths == list(range(10))  # each tenth is met once
    assert [one["host.queue_limit"] for one in drawn].count("10 frames") == 5


def test_keys_that_follow() -> None:
    derive = {
        XON: 'max(xoff / 2, "15 frames")',
        "host.queue_limit": "switch.buffer.queue - flow_control.pfc.xoff",
    }
    found = plan(derive=derive).settings
    assert [point.values[XON] for point in found] == ["15 frames", "20 frames"]
    assert [point.values["host.queue_limit"] for point in found] == ["180 frames", "160 frames"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"vary": {}}, "no key varies"),
        ({"mode": "gird"}, "did you mean grid"),
        ({"mode": "latin"}, "expected both or neither"),
        ({"points": 4}, "expected both or neither"),
        ({"mode": "latin", "points": 0}, "from 1 to"),
        ({"vary": {XOFF: [1, 2], XON: [1]}, "mode": "zip"}, "need the same number of values"),
        ({"vary": {XOFF: "1 KiB:2 KiB"}}, "a continuous range"),
        ({"vary": {SEED: "1, x"}}, "whole numbers from 0"),
        ({"vary": {SEED: "1:5"}}, "whole numbers from 0"),
        ({"derive": {XOFF: "1"}}, "varies and is also set"),
        ({"derive": {XON: "xof / 2"}}, "did you mean xoff"),
        ({"derive": {XON: "xoff +"}}, "is not a valid expression"),
        ({"derive": {XON: 'xoff + "1 us"'}}, "have different dimensions"),
        ({"derive": {XON: "xoff / 0"}}, "division by zero"),
        ({"derive": {XON: "open('f')"}}, "no function open"),
        ({"derive": {XON: "xoff.__class__"}}, "no key"),
        ({"derive": {XON: "[x for x in (1,)]"}}, "expected numbers, names"),
        ({"measure": {"a b": "1"}}, "needs a name"),
        ({"measure": {"a": "max(flows.x"}}, "is not a valid expression"),
        (
            {"measure": {"a": "p99(flows.x)"}},
            r"a \"p99\(flows.x\)\": unknown function p99; known names: sum,",
        ),
    ],
)
def test_wrong_plans(more: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        _ = plan(**more).settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max(flow.x)", "did you mean flows"),
        ("flows.latncy_p99_ns", "did you mean latency_p99_ns"),
        ('flows.throughput_bps["stedy"]', "did you mean steady"),
        ("max(flows.flow)", "flows.flow is text"),
        ("flows.flow", "flows.flow is text"),
        ("run.name", "is not a number of the run"),
        ("pauses.priority", "several rows"),
        ('"a" * 1000000000', "is not a number"),
        ("sum(1)", "expected a column"),
        ("max(flows)", "flows is a table; name a column, such as flows[.]"),
        ("quantile(flows.throughput_bps, 2)", "at most 1"),
        ("flows.throughput_bps + ports.drops", "different rows"),
    ],
)
def test_wrong_measures(text: str, message: str) -> None:
    result = BASE.run()
    with pytest.raises(ArgumentError, match=message):
        Measure("m", text).of(result)


def test_measures_are_what_the_tables_say() -> None:
    result = BASE.run()
    rows = {row["flow"]: row for row in result.rows("flows")}
    steady, greedy = rows["steady"], rows["greedy"]
    expected = {
        "flows.frames_sent": {"steady": steady["frames_sent"], "greedy": greedy["frames_sent"]},
        'sum(flows.throughput_bps["g*"]) / 1e9': greedy["throughput_bps"] / 1e9,
        'mean(flows.latency_p99_ns[flows.source == "h0"])': steady["latency_p99_ns"],
        'max(flows["class"])': 0.0,
        "count(flows.frames_sent > 0)": 2.0,
        "quantile(flows.latency_p99_ns, 0.5)": min(steady["latency_p99_ns"], greedy["latency_p99_ns"]),
        "run.frame_hops": result.run["frame_hops"],
        "abs(-min(3, 2))": 2.0,
        "max(queues.drops)": 0.0,
        "max(flows.throughput_bps) <= 1e10": 1.0,
    }
    assert {text: Measure("m", text).of(result) for text in expected} == expected


def test_tables_hold_what_single_runs_measure(tmp_path: Path) -> None:
    measure = {"p99_ns": "max(flows.latency_p99_ns)", "rate_bps": "flows.throughput_bps"}
    derive = {XON: "xoff / 2"}
    with ThreadPoolExecutor(2) as pool:
        found = ps.sweep(plan(measure=measure, derive=derive), tmp_path / "s", executor=pool)
    alone = [
        BASE.with_value(XOFF, f"{xoff} frames").with_value(XON, f"{xoff // 2} frames").run(seed=seed)
        for xoff in (20, 40)
        for seed in (1, 2, 3)
    ]
    runs = found.table("runs").to_pylist()
    assert [row["fingerprint"] for row in runs] == [one.fingerprint for one in alone]
    assert [(row[XOFF], row[f"{XOFF}_frames"], row["seed"]) for row in runs[2:4]] == [
        ("20 frames", 20.0, 3),
        ("40 frames", 40.0, 1),
    ]
    longest = [max(row["latency_p99_ns"] for row in one.rows("flows")) for one in alone]
    metrics = found.table("metrics").to_pylist()
    assert [row["value"] for row in metrics if row["metric"] == "p99_ns"] == longest
    summary = found.table("summary").to_pylist()
    interval = ps.student_t_interval(longest[:3])
    (first, *_) = summary
    assert (first["metric"], first["unit"], first["runs"]) == ("p99_ns", "ns", 3)
    assert (first["mean"], first["half_width"]) == (interval.mean, interval.half_width)
    assert {row["entity"] for row in summary if row["metric"] == "rate_bps"} == {"steady", "greedy"}
    again = ps.Outcome.load(tmp_path / "s")
    assert again.table("runs").equals(found.table("runs"))
    described = {
        name: [one["name"] for one in reported["columns"]] for name, reported in again.description.items()
    }
    assert described == {name: again.table(name).column_names for name in described}
    assert found.result(runs[0]["run"]).fingerprint == alone[0].fingerprint


def test_finished_runs_never_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    real = worker.run_source
    monkeypatch.setattr(worker, "run_source", lambda *a, **k: ran.append(a) or real(*a, **k))
    with ThreadPoolExecutor(1) as pool:
        ps.sweep(plan(), tmp_path / "s", executor=pool)
        assert len(ran) == 6
        ps.sweep(plan(), tmp_path / "s", executor=pool)
        assert len(ran) == 6
        monkeypatch.setattr(pictures, "draw", lambda *_: [])
        more = {XOFF: "20 frames, 30 frames, 40 frames", SEED: "1..3"}
        ps.sweep(plan(vary=more), tmp_path / "s", executor=pool)
        assert len(ran) == 9
        records = sorted((tmp_path / "s" / "runs").glob("*.json"))
        damaged = records[:3]
        for file, spoil in zip(
            damaged, (b"", file_flipped(records[1]), records[2].read_bytes()[:-1]), strict=True
        ):
            file.write_bytes(spoil)
        whole = ps.sweep(plan(vary=more), tmp_path / "s", executor=pool)
        assert len(ran) == 12
        assert not whole.failures()
        ps.sweep(plan(vary=more, measure={"jain": "jain(flows.goodput_bps)"}), tmp_path / "s", executor=pool)
        assert len(ran) == 21  # another measure, and no result was kept


def file_flipped(file: Path) -> bytes:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    return bytes(data)


def test_kept_results_are_linked(tmp_path: Path) -> None:
    one = plan(vary={XOFF: "20 frames"})
    with ThreadPoolExecutor(1) as pool:
        found = ps.sweep(one, tmp_path / "s", executor=pool, keep=True)
    (run,) = found.table("runs")["run"].to_pylist()
    assert f'href="runs/{run}/report.html"' in (tmp_path / "s" / "report.html").read_text("utf-8")
    assert (tmp_path / "s" / "runs" / run / "report.html").exists()
    assert found.result(run).complete


BROKEN = BASE.with_value("switch.buffer", {"total": "22 frames"})


def test_a_failing_run_is_recorded_and_the_others_go_on(penstock: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        SMALL.replace('queue = "200 frames"', 'total = "60 frames"'), "utf-8"
    )
    words = (
        "sweep",
        "small.toml",
        "--out",
        "s",
        "--vary",
        "switch.buffer.total=60 frames, 22 frames, 5 parsecs",
    )
    done = penstock(*words)
    assert done.returncode == 1
    assert "2 of 3 runs failed" in done.stderr
    assert "total_limit" in done.stderr
    assert "5 parsecs" in done.stderr
    rows = ps.Outcome.load(tmp_path / "s").table("runs").to_pylist()
    assert [bool(row["error"]) for row in rows] == [False, True, True]
    again = penstock("run", tmp_path / "s" / "failed" / f"{rows[1]['run']}.toml", "--out", "again")
    assert again.returncode == 1
    assert "total_limit" in again.stderr
    before = (tmp_path / "s" / "runs" / f"{rows[1]['run']}.json").stat().st_mtime_ns
    assert penstock(*words).returncode == 1
    assert (tmp_path / "s" / "runs" / f"{rows[1]['run']}.json").stat().st_mtime_ns == before


def test_the_same_sweep_from_words_file_and_python(penstock: Command, small: Path, tmp_path: Path) -> None:
    vary = ("--vary", f"{XOFF}=20 frames, 40 frames", "--vary", f"{SEED}=1..2", "--set", f"{XON}=xoff / 2")
    by_words = json_of(
        penstock("sweep", "small.toml", *vary, "--measure", "d=sum(ports.drops)", "--json", "--out", "a")
    )
    (tmp_path / "sweep.toml").write_text(
        f'[sweep]\nscenario = "small.toml"\n[sweep.vary]\n"{XOFF}" = ["20 frames", "40 frames"]\n'
        f'"{SEED}" = "1..2"\n[sweep.set]\n"{XON}" = "xoff / 2"\n[sweep.measure]\nd = "sum(ports.drops)"\n',
        "utf-8",
    )
    by_file = json_of(penstock("sweep", "sweep.toml", "--json", "--out", "b"))
    for document in (by_words, by_file):
        for row in document["runs"]:
            del row["wall_s"]
    assert by_words == by_file
    again = json_of(penstock("sweep", tmp_path / "a" / "sweep.toml", "--json", "--out", "a"))
    assert [row["run"] for row in again["runs"]] == [row["run"] for row in by_words["runs"]]
    assert len(list((tmp_path / "a" / "runs").glob("*.json"))) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no key varies"),
        (("--vary", "xoff"), "expected KEY=..."),
        (("--vary", f"{XOFF}=1 frames", "--vary", f"{XOFF}=2 frames"), "given twice"),
        (("--vary", "flow_control.pfc.xof=1 frames"), "xoff"),
        (("--vary", f"{XOFF}=20 parsecs"), "in the first point of the sweep"),
        (("--vary", f"{SEED}=1..2", "--zip", "--latin", "3"), "at most one of them"),
        (("--vary", f"{SEED}=1..2", "--grid", "--zip"), "at most one of them"),
        (("--vary", f"{SEED}=1..2", "--latin", "three"), "whole number"),
        (("--vary", f"{SEED}=1..2", "--workers", "0"), "workers is 0"),
        (("--vary", f"{SEED}=1..2", "--executor", "slurm"), "expected"),
        (("--vary", f"{SEED}=1..2", "--executor", "dask:"), "expected"),
        (
            ("--vary", f"{SEED}=1..2", "--executor", "dask:tcp://127.0.0.1:1", "--workers", "1"),
            "--workers applies to",
        ),
        (("--until", "jain"), "expected a measure and its precision"),
        (("--until", "jan 5 %"), "no measure jan"),
        (("--until", "jain 0 %"), "above 0 %"),
        (("--until", "jain 5 %", "--vary", f"{SEED}=1"), "expected at least two seeds"),
        (("--vary", f"{SEED}=1..2", "--pareto", "minimize jain"), "expected two for a Pareto front"),
        (("--vary", f"{SEED}=1..2", "--pareto", "best jain, maximize pauses"), '"minimize" or "maximize"'),
        (("--vary", f"{SEED}=1..2", "--pareto", "minimize jan, maximize pauses"), "did you mean jain"),
        (("--vary", f"{SEED}=1..2", "--measure", "a=max(flow.x)"), "did you mean flows"),
        (("--vary", f"{SEED}=1..2", "--out", "."), "is not a sweep"),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, refusal: Callable[..., str]) -> None:
    assert message in refusal("sweep", *words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sweep]\n", "has no scenario"),
        ("[sweep]\nscenario = 'small.toml'\nvay = 1\n", "did you mean vary"),
        ("[sweep]\nscenario = 'small.toml'\nvary = 1\n", "expected a table"),
        ("[sweep]\nscenario = 'small.toml'\nmode = { latin = 'x' }\n", "latin = NUMBER"),
        ("[sweep]\nscenario = 'smal.toml'\n[sweep.vary]\n'a' = 1\n", "no such file"),
    ],
)
def test_wrong_files(small: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = small.with_name("sweep.toml")
    file.write_text(text, "utf-8")
    assert main(["sweep", str(file)]) == 2
    assert message in capsys.readouterr().err


def test_pareto_front() -> None:
    points = [(1.0, 5.0), (2.0, 3.0), (2.0, 4.0), (3.0, 3.0), (4.0, 1.0), (4.0, 1.0)]
    assert front.best_of(points) == [True, True, False, False, True, True]


def test_pictures_of_one_and_two_keys(penstock: Command, small: Path, tmp_path: Path) -> None:
    two = ("--vary", f"{XOFF}=20 frames:40 frames:3", "--vary", "switch.buffer.queue=100 frames, 200 frames")
    requested = (
        "--measure",
        "p99_ns=max(flows.latency_p99_ns)",
        "--measure",
        "rate_bps=sum(flows.throughput_bps)",
    )
    front = (*requested, "--pareto", "minimize p99_ns, maximize rate_bps")
    done = penstock("sweep", "small.toml", *two, *front, "--vary", f"{SEED}=1..2", "--out", "s", timeout=300)
    assert done.returncode == 0, done.stderr
    drawn = {path.stem for path in (tmp_path / "s" / "pictures").glob("*.png")}
    assert drawn == {"lines", "pareto", "heat-p99_ns", "heat-rate_bps"}


def test_keys_that_go_together_are_reported_once(tmp_path: Path) -> None:
    """A key that follows from the one along the axis tells no lines apart; tables have no brackets."""
    long = {"swift": {"ai": 2.0, "base_target": "10 us"}}
    over = {"over": {"rdma": {"control": "dcqcn"}}}
    scenario = (
        ps.Scenario(duration="20 us").topology.star(hosts=3, rate="10 Gb/s", phy="none").flow_control.pfc()
    )
    for name, sender in (("a", "h1"), ("b", "h2")):
        scenario = scenario.transfers(name, from_=sender, to="h0", sizes="4 kB", arrivals="once", **over)
    vary = {f"transfers.{name}.over.rdma.control": ["none", long] for name in "ab"}
    wanted = ps.Plan(scenario, vary, {}, {"sent": "sum(flows.frames_sent)"}, mode="zip")
    with ThreadPoolExecutor(1) as pool:
        ps.sweep(wanted, tmp_path / "s", executor=pool)
    output = (tmp_path / "s/pictures/lines.svg").read_text("utf-8")
    assert "swift: ai 2.0, base_target" in output and "{" not in "".join(re.findall(r">([^<]*)</t", output))
    assert "b.over.rdma.control" not in output


def test_seeds_are_added_until_the_mean_is_known(tmp_path: Path) -> None:
    measure = {"p99_ns": "max(flows.latency_p99_ns)", "rate_bps": "sum(flows.throughput_bps)"}
    wanted = plan(vary={XOFF: "20 frames, 60 frames"}, measure=measure, until="p99_ns 6 % at 90 %")
    with ThreadPoolExecutor(2) as pool:
        found = ps.sweep(wanted, tmp_path / "a", executor=pool)
        other = ps.sweep(wanted, tmp_path / "b", executor=ThreadPoolExecutor(1))
    assert found.table("metrics").equals(other.table("metrics"))
    rows = found.table("metrics").to_pylist()
    for point in (0, 1):
        values = [row["value"] for row in rows if row["point"] == point and row["metric"] == "p99_ns"]
        seeds = [row["seed"] for row in rows if row["point"] == point and row["metric"] == "p99_ns"]
        assert seeds == list(range(1, len(seeds) + 1))
        assert len(seeds) > 10
        interval = ps.student_t_interval(values, 0.9)
        assert interval.half_width <= 0.06 / 1.06 * interval.mean


def test_a_precision_asks_for_what_the_spread_needs() -> None:
    wanted = Precision("x", 0.5, 0.95)  # half-widths up to a third of the mean
    assert wanted.more([10.0, 10.0, 10.0]) == 0
    assert wanted.more([10.0]) == 1
    assert wanted.more([1.0, 19.0]) == 2  # more than twice as many are not asked for at once
    values = [8.0, 12.0] * 2
    half = ps.student_t_interval(values).half_width
    assert wanted.more(values) == math.ceil(4 * (half / (10 / 3)) ** 2) - 4 == 1
    assert wanted.more([-1.0, 1.0] * 400) == 200
    assert wanted.more([-1.0, 1.0] * 500) == 0


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_dask_whose_workers_are_killed(small: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    wanted = ps.Plan(
        small, {XOFF: "20 frames, 40 frames", SEED: "1..20"}, measure={"d": "sum(flows.bytes_sent)"}
    )
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        engine(f"dask:{cluster.scheduler_address}") as where,
    ):
        assert (where.workers, where.beside) == (2, 2)
        victims = [worker.process.pid for worker in cluster.workers.values()]

        def watch(progress: SweepProgress) -> None:
            if progress.done in (5, 15) and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        found = ps.sweep(wanted, tmp_path / "s", executor=where, progress=watch)
    assert not victims
    assert not found.failures()
    with ThreadPoolExecutor(2) as pool:
        peaceful = ps.sweep(wanted, tmp_path / "peace", executor=pool)
    assert found.table("metrics").equals(peaceful.table("metrics"))


def killed(number: int) -> int:
    """Kills its process, the first few times that it is asked to."""
    mark = Path(os.environ["MARK"]) / str(number)
    if not mark.exists() and number % 9 == 0:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * 2


def hopeless(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_tasks_of_a_killed_process_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", str(tmp_path))
    found = dict(execute.each(killed, range(12), executor=None, workers=1))
    assert found == {number: number * 2 for number in range(12)}


def test_a_task_that_kills_is_given_up() -> None:
    found = dict(execute.each(hopeless, range(3, 9), executor=None, workers=1))
    assert isinstance(found.pop(3), execute.LostError)
    assert found == {number: number for number in range(4, 9)}


def test_a_broken_pool_of_someone_else_is_an_error() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = dict(execute.each(hopeless, [3], executor=pool))
        assert isinstance(found[3], execute.LostError)
        with pytest.raises(execute.LostError, match="broken"):
            list(execute.each(hopeless, range(9), executor=pool))


def test_killed_at_any_time_a_sweep_comes_to_the_same_end(small: Path, tmp_path: Path) -> None:
    """Processes of it, workers or the first, are killed at random; the table is that of a sweep in peace."""
    words = ["sweep", "small.toml", "--vary", f"{XOFF}=20 frames:60 frames:5", "--vary", f"{SEED}=1..40"]
    dice = random.Random(1)
    for attempt in range(4):
        process = subprocess.Popen(
            command_line(*words, "--out", "killed"),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(dice.uniform(0.8, 2.5))
        workers = subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        victim = int(dice.choice(workers)) if workers and attempt % 2 else process.pid
        os.kill(victim, signal.SIGKILL)
        if victim == process.pid:
            process.wait(60)
        else:
            assert process.wait(240) == 0
    last = subprocess.run(
        command_line(*words, "--out", "killed"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert last.returncode == 0, last.stderr
    with ThreadPoolExecutor(2) as pool:
        peaceful = ps.sweep(
            ps.Plan(small, {XOFF: "20 frames:60 frames:5", SEED: "1..40"}), tmp_path / "peace", executor=pool
        )
    table = pq.read_table(tmp_path / "killed" / "metrics.parquet")
    assert table.num_rows == 200 * 8
    assert table.equals(peaceful.table("metrics"))
    assert not list((tmp_path / "killed" / "runs").glob(".*.partial"))


def test_the_plan_beside_the_tables_has_every_word(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        ps.sweep(plan(vary={SEED: range(2)}), tmp_path / "s", executor=pool)
    described = json.loads((tmp_path / "s" / "description.json").read_text("utf-8"))
    assert set(described) == {"runs", "metrics", "summary"}
    assert "[sweep.vary]" in (tmp_path / "s" / "sweep.toml").read_text("utf-8")


def test_an_unknown_table_and_a_directory_without_one(tmp_path: Path) -> None:
    with pytest.raises(ps.ResultError, match="no complete sweep"):
        ps.Outcome.load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is not a sweep"):
        sweeping.ensure_sweep(tmp_path)


def test_a_flow_that_got_nothing_has_no_latency() -> None:
    starved = (
        ps.Scenario(duration="1 ms")
        .topology.star(hosts=3, rate="1 Gb/s", phy="none")
        .flow("first", from_="h0", to="h2", priority=7, source="greedy")
        .flow("starved", from_="h1", to="h2", source=ps.constant("100 Mb/s"))
        .fault(link=["h1", "sw"], at="0 s", down=True)
    )
    result = starved.run()
    rows = {row["flow"]: row for row in result.rows("flows")}
    assert rows["starved"]["frames_delivered"] == 0
    first = rows["first"]["latency_mean_ns"]
    for text in ("mean(flows.latency_mean_ns)", "min(flows.latency_mean_ns)"):
        assert Measure("m", text).of(result) == first, text
    assert math.isnan(float(str(Measure("m", 'max(flows.latency_p99_ns["starved"])').of(result))))
    means = {(one.flow, one.metric): one.interval for one in Replications([result]).intervals()}
    assert means["first", "latency_mean_ns"].mean == first
    assert math.isnan(means["starved", "latency_mean_ns"].mean)
    assert means["starved", "throughput_bps"].mean == 0


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([50e3, 100e3, 200e3], "kB"),
        ([10 * 1024, 40 * 1024], "KiB"),
        ([500, 1522], "B"),
        ([64_001, 200_000], "KiB"),
        ([1448.15, 2048], "KiB"),
        ([0, 0], "B"),
        ([], "B"),
        ([2e6, 1e9], "MB"),
    ],
)
def test_sizes_of_keys_are_whole_where_a_unit_allows_it(values: list[float], unit: str) -> None:
    assert key_scale("bytes", values).unit == unit
