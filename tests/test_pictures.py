"""Pictures and the report page: nothing lost that can be seen, nothing in them that could run."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from penstock import plots, report
from penstock.analysis.decimate import envelope, merge_bins, merge_spans, rows_by
from penstock.analysis.tiers import step, tiers
from penstock.errors import ResultError
from penstock.plots.cells import blocks
from penstock.plots.style import PAUSE_COLOR, rate_scale, spread
from penstock.plots.timeline import by_number as timeline_rows
from penstock.result import Result
from penstock.scenario import Scenario

PAGE = '<html><script type="application/json" id="penstock-result">__PENSTOCK_RESULT__</script></html>'


def test_all_pictures_are_written_and_repeatable(made_up: Result, tmp_path: Path) -> None:
    first = plots.save_all(made_up, tmp_path / "a", svg=True)
    second = plots.save_all(made_up, tmp_path / "b", svg=True)
    assert [path.name for path in first] == ["timeline.png", "timeline.svg", "fabric.png", "fabric.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.stat().st_size > 1_000
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")


def test_latencies_are_those_of_the_table() -> None:
    """One line a flow, from all frames to the last one, which took longest."""
    result = Scenario.from_file("first-light").run()
    slowest = max(row["to_ns"] for row in result.rows("latencies"))
    [axes] = plots.latencies(result).axes
    flows = {row["flow"] for row in result.rows("latencies")}
    labels = {line.get_label() for line in axes.get_lines()}
    assert labels <= flows
    assert len(labels) == min(len(flows), 8)
    ends = [float(np.asarray(line.get_xdata())[-1]) for line in axes.get_lines()]
    assert max(ends) == pytest.approx(slowest)
    for line in axes.get_lines():
        parts = np.asarray(line.get_ydata())
        assert (np.diff(parts) <= 0).all()
        assert 0 < parts.min() <= parts.max() <= 1


def test_timeline_shares_its_time_axis(made_up: Result) -> None:
    top, middle, bottom = plots.timeline(made_up).axes
    assert top.get_xlim() == middle.get_xlim() == bottom.get_xlim()
    assert bottom.get_xlabel() == "time (µs)"
    assert "Gb/s" in top.get_ylabel()
    assert {text.get_text() for text in top.texts} == {"victim", "</script><b>"}
    assert "mean per 10 µs" in top.get_ylabel()
    assert "xoff" in {text.get_text() for text in middle.texts}
    assert [label.get_text() for label in bottom.texts] == ["h0.0->sw"]


def test_a_run_without_series_or_pauses_is_drawn(made_up: Result) -> None:
    empty = {name: made_up.table(name).slice(0, 0) for name in ("series", "pauses", "watermarks")}
    bare = Result(
        run=made_up.run,
        scenario_toml="",
        topology=made_up.topology,
        description={},
        tables={name: (lambda n=name: empty.get(n, made_up.table(n))) for name in made_up.table_names},
    )
    figure = plots.timeline(bare)
    assert not any(axes.axison for axes in figure.axes)
    output = " ".join(text.get_text() for text in figure.texts)
    assert "no time series of flows was recorded" in output
    assert "no pause was sent" in output


def test_many_flows_are_grey_but_for_the_extremes(made_up: Result) -> None:
    names = [f"f{k:03}" for k in range(60)]
    series = pa.table(
        {
            "metric": ["flow_throughput_bps"] * 120,
            "entity": [name for name in names for _ in range(2)],
            "time_ns": [0, 10_000] * 60,
            "value": [float(k) * 1e6 for k in range(60) for _ in range(2)],
        }
    )
    crowd = Result(
        run=made_up.run,
        scenario_toml="",
        topology=made_up.topology,
        description={},
        tables={n: (lambda n=n: series if n == "series" else made_up.table(n)) for n in made_up.table_names},
    )
    top = plots.timeline(crowd).axes[0]
    assert len(top.lines) == 6
    assert len(top.collections[0].get_segments()) == 54
    assert {text.get_text() for text in top.texts} == {"f000", "f001", "f002", "f057", "f058", "f059"}


def with_tables(result: Result, **run: object) -> Result:
    """A copy whose tables and run may be changed."""
    tables = {name: (lambda n=name: result.table(n)) for name in result.table_names}
    return Result(
        run={**result.run, **run},
        scenario_toml="",
        topology=result.topology,
        description={},
        tables=tables,
    )


def levels(*rows: tuple[str, str, float, str]) -> pa.Table:
    return pa.table(dict(zip(("entity", "watermark", "value", "unit"), zip(*rows, strict=True), strict=True)))


def test_watermarks_stand_at_their_lines(made_up: Result) -> None:
    queue = "sw.0->h0#0"
    made_up._tables["watermarks"] = levels(
        (queue, "xon", 1_000.0, "B"),
        (queue, "xoff", 2_000.0, "B"),
        (queue, "target", 2_000.0, "B"),
        (queue, "limit", 90_000.0, "B"),
        (queue, "headroom_needed", 500.0, "B"),
        ("sw.0->h0 in/3", "xoff", 1_500.0, "B"),
    )
    axes = plots.timeline(made_up).axes[1]
    top = axes.get_ylim()[1]
    at = {text.get_text(): text.xy[1] * top * 1024 for text in axes.texts}
    assert at == {"xon": pytest.approx(1_000.0), "target, xoff": pytest.approx(2_000.0)}, (
        "not the limit, which is far above; no headroom, which is not a level; no level of a line not drawn"
    )
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [queue]


def series_of(metric: str, values: dict[str, list[float]]) -> pa.Table:
    """Series of bins of 10 us."""
    bins = len(next(iter(values.values())))
    return pa.table(
        {
            "metric": [metric] * bins * len(values),
            "entity": [name for name in values for _ in range(bins)],
            "time_ns": [10_000 * k for k in range(bins)] * len(values),
            "value": [value for line in values.values() for value in line],
        }
    )


def test_no_two_lines_have_one_color_and_hosts_have_a_panel(made_up: Result) -> None:
    flows = {f"flow-{k}": [1e9 + 1e8 * k] * 4 for k in range(8)}
    queues = {
        "sw.0->h0/0": [9e4] * 4,
        "sw.1->h1/0": [8e4] * 4,
        "sw.0->h0 in/0": [7e4] * 4,
        "sw.1->h1 in/0": [6e4] * 4,
        "h0.0->sw/0": [9e6] * 4,
        "h1.0->sw/0": [8e6] * 4,
    }
    shares = {f"sw.0->h0/{k}": [1e9] * 4 for k in range(8)}
    tables = (("flow_throughput_bps", flows), ("queue_bytes", queues), ("class_tx_bps", shares))
    made_up._tables["series"] = pa.concat_tables([series_of(metric, values) for metric, values in tables])
    waits = {"port": ["sw.0->h0"], "class": [0], "queue_frames_mean": [2.0]}
    made_up._tables["queues"] = pa.table(waits)
    panels = plots.timeline(made_up).axes
    assert [axes.get_title("left") for axes in panels] == [
        "Throughput per flow",
        "Classes at sw.0->h0",
        "Longest queues",
        "Ingress counters",
        "Host queues",
        "Pauses by port",
    ]
    drawn = [line.get_color() for axes in panels for line in axes.lines if line.get_linestyle() == "-"]
    assert len(drawn) == len(set(drawn)) == 22
    assert PAUSE_COLOR not in drawn
    assert panels[2].get_ylim()[1] < 100, "queues of hosts would squeeze the others"
    queues["h0.0->sw/0"], queues["h1.0->sw/0"] = [100.0] * 4, [100.0] * 4
    made_up._tables["series"] = series_of("queue_bytes", queues)
    assert "Host queues" not in [axes.get_title("left") for axes in plots.timeline(made_up).axes]


def test_flows_of_a_name_are_drawn_as_their_sum_in_bins_that_do_not_flicker(made_up: Result) -> None:
    flicker = {f"in[{k}]": [2e9 * ((n + k) % 2) for n in range(80)] for k in range(8)}
    total = {"in": [sum(values) for values in zip(*flicker.values(), strict=True)]}
    tables = [series_of("flow_throughput_bps", flicker), series_of("group_throughput_bps", total)]
    made_up._tables["series"] = pa.concat_tables(tables)
    made_up._tables["flows"] = pa.table({"flow": list(flicker)})
    axes = plots.timeline(made_up).axes[0]
    assert [text.get_text() for text in axes.texts] == ["in, 8 flows"]
    thin = axes.collections[0]
    assert {height for way in thin.get_segments() for _, height in way} == {1.0}, "the mean of 0 and 2 Gb/s"
    assert len(thin.get_segments()) == 8


def test_transfers_of_one_size_are_a_distribution(made_up: Result) -> None:
    def drawn(sizes: list[int]) -> Axes:
        rows = len(sizes)
        made_up._readers["transfers"] = lambda: pa.table({})
        made_up._tables["transfers"] = pa.table(
            {
                "name": ["rounds"] * rows,
                "start_ns": [1.0] * rows,
                "bytes": sizes,
                "completion_ns": [float(n + 1) for n in range(rows)],
                "slowdown": [1.0 + n / 10 for n in range(rows)],
            }
        )
        return plots.transfers(made_up).axes[0]

    axes = drawn([32_768] * 100)
    assert axes.get_ylabel() == "cumulative share of transfers"
    assert axes.get_xlabel().endswith("(all transfers: 32 KiB)")
    x, y = axes.lines[0].get_data()
    assert (x[0], y[0], x[-1], y[-1]) == (1.0, 0.0, 10.9, 1.0)
    assert "median 5.9" in {text.get_text() for text in axes.texts}
    assert drawn([1_000, 2_000] * 50).get_ylabel() == "slowdown"


def test_rates_of_a_fabric_are_read_in_its_unit() -> None:
    assert [rate_scale(rate).unit for rate in (10e6, 0.9e9, 1e9, 100e9, 400e9, 1.6e12)] == [
        "Mb/s",
        "Mb/s",
        "Gb/s",
        "Gb/s",
        "Gb/s",
        "Tb/s",
    ]


def test_merged_bins_keep_mean_and_largest() -> None:
    times, values = np.arange(500) * 10, np.arange(500.0)
    t, mean = merge_bins(times, values, 120)
    assert (len(t), t[1], mean[0], mean[-1]) == (100, 50, 2.0, 497.0)
    assert merge_bins(times, values, 120, largest=True)[1][0] == 4.0
    assert list(merge_bins([0, 10, 20], [1.0, 3.0, 8.0], 2)[1]) == [2.0, 8.0], "the last has fewer"
    assert list(merge_bins([0, 10], [1.0, 3.0], 2)[1]) == [1.0, 3.0]
    assert list(merge_bins(range(7), [2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 8.0], 3)[1]) == [2.0, 5.0], "or more"


def test_pauses_are_in_the_order_of_their_numbers() -> None:
    rows = [("h10.0->sw", 3), ("h2.0->sw", 3), ("h2.0->sw", 0), ("sw.1->h10", 3)]
    assert sorted(rows, key=timeline_rows) == [rows[2], rows[1], rows[0], rows[3]]


def test_rows_of_pauses_have_room_and_it_says_how_many_more(made_up: Result) -> None:
    def drawn(ports: int) -> Axes:
        made_up._tables["pauses"] = pa.table(
            {
                "port": [f"h{k}.0->sw" for k in range(ports)],
                "priority": [3] * ports,
                "start_ns": [0.0] * ports,
                "end_ns": [1_000.0 + k for k in range(ports)],
            }
        )
        return plots.timeline(made_up).axes[2]

    few, many = drawn(1), drawn(30)
    assert many.bbox.height > 5 * few.bbox.height
    assert many.bbox.height / many.figure.dpi / 24 > 0.14, "inches: labels of 7 points must not touch"
    assert len(many.texts) == 24
    assert many.get_title("left") == "Pauses: 24 of 30 ports, longest paused"


def test_the_warmup_and_faults_are_marked(made_up: Result) -> None:
    broken = with_tables(made_up, warmup_s=10e-6)
    faults = {
        "time_ns": [0.0, 20_000.0, 30_000.0, 30_000.0],
        "what": ["bit_errors_begin", "link_down", "link_up", "restart"],
        "where": ["h0<->sw", "h0<->sw", "h0<->sw", "sw"],
        "value": [1e-7, None, None, None],
    }
    broken._readers["faults"] = lambda: pa.table(faults)
    figure = plots.timeline(broken)
    output = {text.get_text() for text in figure.axes[0].texts}
    assert {"warmup ends", "h0<->sw down", "h0<->sw up and 1 more"} <= output
    assert not any("bit errors" in text for text in output), "what is so from the start happens at no time"
    for axes in figure.axes:
        marks = axes.collections[-1].get_segments()
        assert [segment[0][0] for segment in marks] == pytest.approx([10.0, 20.0, 30.0])


def test_links_are_paused_for_a_share_of_the_measured_time(made_up: Result) -> None:
    def longest(result: Result) -> float:
        return max(float(end.paused.max()) for tier in tiers(result) for end in (tier.up, tier.down))

    simulated = made_up.run["simulated_s"]
    assert longest(made_up) > 0
    shorter = with_tables(made_up, warmup_s=simulated / 2)
    assert longest(shorter) == pytest.approx(min(1.0, 2 * longest(made_up)))


def two_leaves(made_up: Result) -> Result:
    """Two leaves of 21 hosts each; leaf1 has two links to the spine."""
    hosts = [f"h{k}" for k in range(42)]
    pairs = [(name, f"leaf{k // 21}") for k, name in enumerate(hosts)]
    pairs += [("leaf0", "spine"), ("spine", "leaf1"), ("leaf1", "spine")]
    nodes = [{"name": name, "role": "host", "level": 0} for name in hosts]
    nodes += [{"name": f"leaf{k}", "role": "switch", "level": 1} for k in range(2)]
    nodes += [{"name": "spine", "role": "switch", "level": 2}]
    ends = [end for a, b in pairs for end in ((a, b), (b, a))]
    ports = pa.table(
        {
            "node": [a for a, _ in ends],
            "peer": [b for _, b in ends],
            "utilisation": [n / len(ends) for n in range(len(ends))],
            "paused_s": [1e-5 if a == "h3" else None for a, _ in ends],
            "drops": [5 if (a, b) == ("leaf0", "h3") else 0 for a, b in ends],
        }
    )
    large = Result(
        run=made_up.run,
        scenario_toml="",
        topology={"nodes": nodes, "links": [{"a": a, "b": b} for a, b in pairs]},
        description={},
        tables={n: (lambda n=n: made_up.table(n)) for n in made_up.table_names},
    )
    large._tables["ports"] = ports
    return large


def test_tiers_have_what_both_ends_of_each_link_did(made_up: Result) -> None:
    result = two_leaves(made_up)
    upper, lower = tiers(result)
    names = np.array([node["name"] for node in result.topology["nodes"]])
    assert (upper.up.name, upper.down.name) == ("leaf -> spine", "spine -> leaf")
    assert (upper.groups, list(upper.group)) == (["leaf0", "leaf1"], [0, 1, 1])
    assert names[upper.low].tolist() == ["leaf0", "leaf1", "leaf1"]
    assert names[upper.high].tolist() == ["spine"] * 3
    # Ends are numbered from 84: leaf0, spine, spine, leaf1, leaf1, spine. Parallel links keep their order.
    assert upper.up.utilisation * 90 == pytest.approx([84, 87, 88])
    assert upper.down.utilisation * 90 == pytest.approx([85, 86, 89])
    assert lower.groups == ["leaf0", "leaf1"] and list(lower.group) == [0] * 21 + [1] * 21
    assert names[lower.low[3]] == "h3" and names[lower.high[3]] == "leaf0"
    share = 1e-5 / made_up.run["simulated_s"]
    assert lower.up.paused[3] == pytest.approx(share) and lower.up.paused.sum() == pytest.approx(share)
    assert lower.down.drops[3] == 5 and lower.down.drops.sum() == 5


def test_steps_of_utilisation() -> None:
    found = step(np.array([np.nan, 0.0, 0.001, 0.24, 0.25, 0.95, 1.0]))
    assert list(found) == [-1, 0, 1, 1, 2, 5, 5]


def test_a_large_fabric_is_drawn_as_cells(made_up: Result) -> None:
    axes = plots.fabric(two_leaves(made_up)).axes[0]
    output = {text.get_text() for text in axes.texts}
    assert {"host → leaf", "leaf → host", "leaf → spine", "spine → leaf", "leaf0", "leaf1"} <= output
    up, down = axes.images[2:]
    colors = [{tuple(dot) for row in image.get_array() for dot in row} for image in (up, down)]
    amber, red = (224, 138, 0), (179, 25, 79)
    assert amber in colors[0] and red not in colors[0], "h3 was paused"
    assert red in colors[1] and amber not in colors[1], "leaf0 lost frames to h3"


@pytest.mark.parametrize(("groups", "largest"), [(1, 1), (1, 64), (8, 8), (128, 8), (512, 16), (3, 1_000)])
def test_blocks_of_cells_fit(groups: int, largest: int) -> None:
    found = blocks(groups, largest, 5.85)
    assert found.columns * found.rows >= largest
    assert groups * found.columns * found.wide <= 5.85 + 1e-9
    assert found.rows * found.high <= 0.55 + 1e-9


numbers = st.lists(st.floats(-1e12, 1e12, allow_nan=False), min_size=1, max_size=300)


@given(numbers, st.integers(2, 50))
def test_an_envelope_keeps_the_extremes(values: list[float], points: int) -> None:
    times = np.arange(len(values)) * 10
    t, v = envelope(times, values, points)
    assert len(t) <= max(points, 2)
    assert np.all(np.diff(t) > 0)
    assert v.min() == min(values)
    assert v.max() == max(values)
    assert [values[index] for index in t // 10] == list(v)


def test_an_envelope_of_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        envelope([1], [1.0], 1)
    with pytest.raises(ValueError, match="2 times for 1 values"):
        envelope([1, 2], [1.0], 10)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)), max_size=50), st.floats(0, 100))
def test_merged_spans_cover_the_same(pairs: list[tuple[float, float]], gap: float) -> None:
    spans = [(start, start + length) for start, length in pairs]
    merged = merge_spans(np.array(spans).reshape(-1, 2), gap).tolist()
    for start, end in spans:
        assert any(a <= start and end <= b for a, b in merged)
    for (_, end), (start, _) in pairwise(merged):
        assert start - end >= gap


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=30))
def test_rows_with_the_same_values_stand_together(values: list[tuple[str, int]]) -> None:
    table = pa.table({"name": [name for name, _ in values], "number": [number for _, number in values]})
    expected: dict[tuple[str, int], list[int]] = {}
    for row, value in enumerate(values):
        expected.setdefault(value, []).append(row)
    assert [rows.tolist() for rows in rows_by(table, ["name", "number"])] == list(expected.values())


@given(st.lists(st.floats(0, 1), max_size=9))
def test_labels_keep_their_distance(positions: list[float]) -> None:
    placed = spread(sorted(positions), 0.1)
    assert len(placed) == len(positions)
    assert all(b - a >= 0.1 - 1e-9 for a, b in pairwise(placed))
    assert all(-1e-9 <= p <= 1 + 1e-9 for p in placed)


def test_labels_that_fit_stay() -> None:
    assert spread([0.1, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.5, 0.9])


def content(page: str) -> str:
    found = re.search(r'<script type="application/json" id="penstock-result">(.*?)</script>', page, re.S)
    assert found is not None
    return found[1]


def test_the_report_holds_the_result_and_nothing_that_runs(made_up: Result) -> None:
    page = report.fill(PAGE, report.document(made_up))
    text = content(page)
    assert page.count("</script") == 1
    assert "<" not in text
    assert "\u2028" not in text
    document = json.loads(text)
    assert document["schema"] == "penstock-report/1"
    flows = document["tables"]["flows"]["columns"]
    assert flows["flow"] == ["victim", "</script><b>", "never\u2028sent"]
    assert flows["latency_mean_ns"] == [1_000.0, 2_000.0, None]
    assert document["run"]["fingerprint"] == "00ff"


@given(st.text())
def test_any_text_survives_the_page(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    page = report.fill(PAGE, {"name": text})
    assert json.loads(content(page)) == {"name": text}


@pytest.mark.parametrize("template", ["", "<p></p>", PAGE + PAGE])
def test_a_page_without_one_place_is_refused(template: str) -> None:
    with pytest.raises(ResultError, match="expected one"):
        report.fill(template, {})


def test_huge_series_are_thinned_out_and_it_says_so(made_up: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 5_000
    series = pa.table(
        {
            "metric": ["flow_throughput_bps"] * n,
            "entity": ["victim"] * n,
            "time_ns": pa.array(range(n), pa.int64()),
            "value": [1.0] * (n - 1) + [9.0],
        }
    )
    made_up._tables["series"] = series
    monkeypatch.setattr(report.page, "MAX_SERIES_ROWS", 1_000)
    document = report.document(made_up)
    values = document["tables"]["series"]["columns"]["value"]
    assert len(values) <= 1_000
    assert max(values) == 9.0
    assert "thinned out" in document["run"]["warnings"][0]
    assert made_up.run["warnings"] == []


def test_many_pauses_are_joined_and_it_says_so(made_up: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report.page, "MAX_PAUSES", 1)
    document = report.document(made_up)
    pauses = document["tables"]["pauses"]["columns"]
    assert pauses["start_ns"] == [10_000.0, 30_000.0]
    assert pauses["end_ns"] == [15_000.0, 40_000.0]
    assert "joined" in document["run"]["warnings"][0]


def test_a_large_seed_stays_exact(made_up: Result) -> None:
    made_up.run["seed"] = 2**64 - 1
    assert report.document(made_up)["run"]["seed"] == str(2**64 - 1)


def test_the_installed_page_can_be_filled(made_up: Result, tmp_path: Path) -> None:
    report.write_report(made_up, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert json.loads(content(page))["run"]["name"] == "made-up"
    assert not re.search(r'(?:src|href)="https?://', page), "the page must not need a network"


def test_a_large_fabric_is_drawn_in_seconds(made_up: Result) -> None:
    hosts = [{"name": f"h{k}", "role": "host", "level": 0} for k in range(4_000)]
    switches = [{"name": f"sw{k}", "role": "switch", "level": 1} for k in range(100)]
    links = [{"a": f"h{k}", "b": f"sw{k // 40}", "rate_bps": 1e10, "delay_ns": 1.0} for k in range(4_000)]
    names = [f"flow{k}" for k in range(4_000)]
    series = pa.table(
        {
            "metric": ["flow_throughput_bps"] * 40_000,
            "entity": [name for name in names for _ in range(10)],
            "time_ns": list(range(0, 40_000, 4_000)) * 4_000,
            "value": [float(k) for k in range(40_000)],
        }
    )
    large = Result(
        run=made_up.run,
        scenario_toml="",
        topology={"nodes": [*hosts, *switches], "links": links},
        description={},
        tables={n: (lambda n=n: series if n == "series" else made_up.table(n)) for n in made_up.table_names},
    )
    axes = plots.fabric(large).axes[0]
    assert len(axes.texts) < 20, "a layer of 4,000 has no room for names"
    top = plots.timeline(large).axes[0]
    assert len(top.lines) == 6
    assert len(top.collections[0].get_segments()) < 300
    assert len(large.all_series("flow_throughput_bps")) == 4_000


def test_interleaved_series_are_taken_apart(made_up: Result) -> None:
    shuffled = pa.table(
        {
            "metric": ["m", "m", "other", "m", "m"],
            "entity": ["b", "a", "a", "b", "a"],
            "time_ns": [0, 0, 0, 10, 10],
            "value": [1.0, 2.0, 9.0, 3.0, 4.0],
        }
    )
    made_up._tables["series"] = shuffled
    found = {name: (list(t), list(v)) for name, (t, v) in made_up.all_series("m").items()}
    assert found == {"b": ([0, 10], [1.0, 3.0]), "a": ([0, 10], [2.0, 4.0])}
    times, values = made_up.series("m", "a")
    assert (list(times), list(values)) == ([0, 10], [2.0, 4.0])
    assert made_up.all_series("nothing") == {}
