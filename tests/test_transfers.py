"""Transfers from Python: files, bins of sizes, the picture, and what a run with many of them costs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock as ps
from penstock.analysis import transfers as analysis
from penstock.errors import ScenarioError
from penstock.interchange import csv_trace
from penstock.measurements import Measurements
from penstock.plots import save, transfers
from penstock.result.summary import summarise

HEAD = """
[simulation]
duration = "2 ms"
[topology.star]
hosts = 4
rate = "10 Gb/s"
phy = "none"
"""
LINES = [(0.0, "h0", "h1", 3000, 3), (1.25, "h2", "h1", 2, 3), (1.5, "h1", "h0", 50_000, 0)]


def _from_file(directory: Path, name: str) -> Path:
    scenario = directory / f"{name}.toml"
    scenario.write_text(HEAD + f'[[transfers]]\nname = "t"\narrivals = {{ file = "{name}" }}\n')
    return scenario


def _columns() -> dict[str, list[object]]:
    return dict(
        zip(("time_us", "from", "to", "bytes", "priority"), map(list, zip(*LINES, strict=True)), strict=True)
    )


def test_parquet_and_csv_are_the_same_run(tmp_path: Path) -> None:
    table = pa.table(_columns())
    pq.write_table(table, tmp_path / "a.parquet")
    named = table.set_column(1, "from", table["from"].dictionary_encode())
    pq.write_table(named, tmp_path / "b.parquet", row_group_size=2)
    text = "time_us,from,to,bytes,priority\n" + "".join(",".join(map(str, line)) + "\n" for line in LINES)
    (tmp_path / "c.csv").write_text(text)
    runs = [ps.run(_from_file(tmp_path, name)) for name in ("a.parquet", "b.parquet", "c.csv")]
    assert len({run.fingerprint for run in runs}) == 1
    rows = runs[0].rows("transfers")
    assert [
        (row["start_ns"], row["source"], row["destination"], row["bytes"], row["class"]) for row in rows
    ] == [(time * 1e3, *rest) for time, *rest in LINES]
    # 3000 B are one full frame and 1496 B more; the switch sends the second while nothing else is there.
    full, rest = 1542 * 0.8, (3000 - 1504 + 18 + 20) * 0.8
    assert rows[0]["ideal_ns"] == pytest.approx(full + max(full, rest) + rest + 2 * _delay(runs[0]))


def test_a_table_that_import_reads_is_reported_of_it(tmp_path: Path) -> None:
    """Each name of a column that the importer takes and the engine does not."""
    usual = {"start": "time_us", "from": "from", "to": "to", "bytes": "bytes"}
    names = {"start": csv_trace.STARTS, **csv_trace.COLUMNS}
    others = [(key, name) for key, known in names.items() for name in known]
    for key, name in others:
        header = ",".join(({key: usual.get(key, key)} | usual | {key: name}).values())
        (tmp_path / "t.csv").write_text(f"{header}\n{'1,' * header.count(',')}1\n")
        with pytest.raises(ScenarioError) as wrong:
            ps.run(_from_file(tmp_path, "t.csv"))
        is_own = name in {*usual.values(), *names} or (key == "start" and name.startswith("time_"))
        assert ("penstock import FILE" in str(wrong.value)) != is_own, (name, wrong.value)


def _delay(run: ps.Result) -> float:
    return float(run.topology["links"][0]["delay_ns"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bytes": [3000, 0, 50_000]}, "a transfer of 0 B"),
        ({"bytes": [3000, None, 50_000]}, "no bytes"),
        ({"time_us": [0.0, math.nan, 1.5]}, "is not a time"),
        ({"time_us": [0.0, 5.0, 1.5]}, "is before the transfer above"),
        ({"to": ["h1", "h9", "h0"]}, "is not a host"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, change: dict[str, list[object]], message: str) -> None:
    pq.write_table(pa.table({**_columns(), **change}), tmp_path / "a.parquet")
    with pytest.raises(ps.ScenarioError) as error:
        ps.run(_from_file(tmp_path, "a.parquet"))
    assert message in str(error.value)
    # Row 2 is on line 3, below the header.
    line = 4 if "before" in message else 3
    found = json.loads(error.value.diagnostics)[0]
    assert (found["file"], found["line"]) == ("a.parquet", line)


def test_no_parquet_no_column_no_row(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("time_us,from,to,bytes")
    with pytest.raises(ps.ScenarioError, match="cannot"):
        ps.run(_from_file(tmp_path, "a.parquet"))
    pq.write_table(pa.table({"time_us": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ps.ScenarioError, match='no column "from"'):
        ps.run(_from_file(tmp_path, "b.parquet"))
    pq.write_table(pa.table(_columns()).slice(0, 0), tmp_path / "c.parquet")
    with pytest.raises(ps.ScenarioError, match="no transfer below the header"):
        ps.run(_from_file(tmp_path, "c.parquet"))


def _made_up(sizes: list[int], slowdowns: list[float], starts: list[float] | None = None) -> Measurements:
    columns = {
        "name": ["t"] * len(sizes),
        "bytes": sizes,
        "start_ns": starts or [2e6] * len(sizes),
        "completion_ns": [1000.0 * one for one in slowdowns],
        "slowdown": slowdowns,
    }
    table = pa.table(columns)
    return Measurements(
        run={"name": "made up", "warmup_s": 1e-3},
        scenario_toml="",
        topology={},
        description={},
        tables={"transfers": lambda: table},
    )


def test_bins_by_hand() -> None:
    sizes = list(range(1, 201))
    bins = analysis.size_bins(_made_up(sizes, [float(size) for size in sizes]))
    assert [(one.transfers, one.bytes_min, one.bytes_max) for one in bins] == [
        (10, 10 * n + 1, 10 * n + 10) for n in range(20)
    ]
    # Nearest ranks of ten values: the fifth, the tenth, the tenth.
    assert (bins[0].p50, bins[0].p95, bins[0].p99, bins[0].mean, bins[0].max) == (5.0, 10.0, 10.0, 5.5, 10.0)


def test_bins_keep_a_size_together_and_leave_out_what_is_not_complete_or_before_the_warmup() -> None:
    sizes = [100] * 50 + [200] * 50 + [300]
    slowdowns = [2.0] * 100 + [math.nan]
    bins = analysis.size_bins(_made_up(sizes, slowdowns))
    assert [(one.transfers, one.bytes_max) for one in bins] == [(50, 100), (50, 200)]
    starts = [0.0] * 50 + [2e6] * 51
    late = _made_up(sizes, slowdowns, starts)
    assert [(one.transfers, one.bytes_max) for one in analysis.size_bins(late)] == [(50, 200)]
    (total,) = analysis.totals(late)
    assert (total.begun, total.complete, total.bytes, total.slowdown["p99"]) == (51, 50, 10_000, 2.0)
    assert analysis.totals(_made_up([], [])) == []
    (nothing,) = analysis.totals(_made_up([5], [math.nan]))
    assert (nothing.complete, nothing.slowdown["mean"]) == (0, None)


@pytest.fixture(scope="module")
def busy() -> ps.Result:
    return (
        ps.Scenario(duration="2 ms")
        .topology.leaf_spine(
            leaves=2, spines=2, hosts_per_leaf=8, rate="25 Gb/s", phy="none", uplink_rate="100 Gb/s"
        )
        .transfers("web", from_="all", to="all", sizes="google_rpc", arrivals=ps.poisson(load=0.4))
        .transfers(
            "rounds", from_="h*", to="h3", sizes="20 kB", arrivals=ps.incast("500 us", senders=6), priority=3
        )
        .flow_control.pfc()
        .run()
    )


def test_none_is_faster_than_alone_and_the_bytes_are_those_delivered(busy: ps.Result) -> None:
    table = busy.to_pandas("transfers")
    done = table[table["frames_missing"] == 0]
    assert (done["slowdown"] >= 1.0).all()
    assert np.allclose(done["slowdown"], done["completion_ns"] / done["ideal_ns"], rtol=1e-12)
    delivered = int(table["frames"].sum() - table["frames_missing"].sum())
    assert delivered == sum(row["frames_delivered"] for row in busy.rows("flows"))
    paths = busy.rows("paths")
    for row in table.sample(20, random_state=1).to_dict("records"):
        assert paths[row["path"]]["flow"] == f"{row['name']}[{row['source']}]"
        assert paths[row["path"]]["destination"] == row["destination"]


def test_series_have_what_transfers_deliver(busy: ps.Result) -> None:
    series = busy.all_series("flow_throughput_bps")
    # The last bin has the parts of frames that are arriving: at most one at each port.
    arriving = len(busy.rows("ports")) * 1522 * 8
    for row in busy.rows("flows"):
        times, rates = series[row["flow"]]
        bits = float(np.sum(rates)) * (times[1] - times[0]) / 1e9
        delivered = row["bytes_delivered"] * 8
        assert delivered * (1 - 1e-9) <= bits <= delivered + arriving


def test_summary_and_picture(busy: ps.Result, tmp_path: Path) -> None:
    reported = summarise(busy)["transfers"]
    assert [entry["name"] for entry in reported] == ["rounds", "web"]
    assert reported[0]["begun"] == 24 and reported[1]["begun"] > 1000
    figure = transfers(busy)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["rounds", "web"]
    bins = analysis.size_bins(busy, name="web")
    drawn = figure.axes[1].get_lines()[2].get_ydata()
    assert np.allclose(np.asarray(drawn, dtype=float), [one.p99 for one in bins])
    assert all(path.stat().st_size > 5_000 for path in save(figure, tmp_path, "transfers"))


def test_many_transfers_are_few_flows() -> None:
    result = (
        ps.Scenario(duration="4 ms")
        .topology.star(hosts=32, rate="10 Gb/s", phy="none")
        .transfers("t", from_="all", to="all", sizes="200 B", arrivals=ps.poisson(gap="6.4 us"))
        .run()
    )
    assert abs(result.table("transfers").num_rows - 20_000) < 6 * math.sqrt(20_000)
    assert (result.table("flows").num_rows, result.table("paths").num_rows) == (32, 32 * 31)
