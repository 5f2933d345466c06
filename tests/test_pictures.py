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

from penstock import plots, report
from penstock.errors import ResultError
from penstock.plots.decimate import envelope, merge_spans
from penstock.plots.style import spread
from penstock.result import Result

PAGE = '<html><script type="application/json" id="penstock-result">__PENSTOCK_RESULT__</script></html>'


def test_all_pictures_are_written_and_repeatable(made_up: Result, tmp_path: Path) -> None:
    first = plots.save_all(made_up, tmp_path / "a")
    second = plots.save_all(made_up, tmp_path / "b")
    assert [path.name for path in first] == ["timeline.png", "timeline.svg", "fabric.png", "fabric.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.stat().st_size > 1_000
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")


def test_timeline_shares_its_time_axis(made_up: Result) -> None:
    top, middle, bottom = plots.timeline(made_up).axes
    assert top.get_xlim() == middle.get_xlim() == bottom.get_xlim()
    assert bottom.get_xlabel() == "time (µs)"
    assert "Gb/s" in top.get_ylabel()
    assert {text.get_text() for text in top.texts} == {"victim", "</script><b>"}
    assert "xoff" in {text.get_text() for text in middle.texts}
    assert [label.get_text() for label in bottom.get_yticklabels()] == ["h0.0->sw"]


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
    said = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert said.count("no time series was recorded") == 2
    assert "no pause was sent" in said


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
    assert len(top.lines) == 60
    assert {text.get_text() for text in top.texts} == {"f000", "f001", "f002", "f057", "f058", "f059"}


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
    with pytest.raises(ValueError, match="2 times but 1 values"):
        envelope([1, 2], [1.0], 10)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)), max_size=50), st.floats(0, 100))
def test_merged_spans_cover_the_same(pairs: list[tuple[float, float]], gap: float) -> None:
    spans = [(start, start + length) for start, length in pairs]
    merged = merge_spans(spans, gap)
    for start, end in spans:
        assert any(a <= start and end <= b for a, b in merged)
    for (_, end), (start, _) in pairwise(merged):
        assert start - end >= gap


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
    monkeypatch.setattr(report, "MAX_SERIES_ROWS", 1_000)
    document = report.document(made_up)
    values = document["tables"]["series"]["columns"]["value"]
    assert len(values) <= 1_000
    assert max(values) == 9.0
    assert "thinned out" in document["run"]["warnings"][0]
    assert made_up.run["warnings"] == []


def test_many_pauses_are_joined_and_it_says_so(made_up: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_PAUSES", 1)
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
    assert not axes.texts, "a layer of 4,000 has no room for names"
    assert len(plots.timeline(large).axes[0].lines) < 300
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
