"""The fabric over time in the report page, against the tables that it is made of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from penstock.analysis.film import FEWEST_STRETCHES, MOST_STRETCHES, film


def run(duration: str = "2 ms", **probes: str) -> ps.Result:
    scenario = ps.Scenario(duration=duration).topology.star(
        hosts=4, rate="10 Gb/s", length="100 m", phy="none"
    )
    scenario = scenario.flow_control.pfc(xoff="20 frames", xon="10 frames")
    scenario = scenario.flow("one", from_="h0", to="h3", source=ps.constant("6 Gb/s"), start="500 us")
    scenario = scenario.flow("two", from_="h1", to="h3", source="greedy", start="1 ms")
    return (scenario.probes(**probes) if probes else scenario).run()


def test_a_film_says_what_the_tables_say() -> None:
    result = run(bin="4 us")
    found = film(result)
    assert found is not None
    ports = result.table("ports").to_pylist()
    assert found["ports"] == [port["port"] for port in ports]
    count = len(found["used"])
    assert FEWEST_STRETCHES <= count <= MOST_STRETCHES
    assert count == pytest.approx(2e6 / found["stretch_ns"], abs=1)
    lengths = {len(line) for name in ("used", "paused", "queued") for line in found[name]}
    assert lengths == {len(ports)} and len(found["paused"]) == len(found["queued"]) == count
    by_port = {
        port["port"]: ["".join(line[place] for line in found[name]) for name in ("used", "paused", "queued")]
        for place, port in enumerate(ports)
    }
    # Idle for a quarter, then 6 Gb/s, then full: 6 Gb/s of frames are 60 to 61 % of the wire.
    used, _, queued = by_port["sw.3->h3"]
    quarter, half = count // 4, count // 2
    assert set(used[: quarter - 1]) == {"0"} and set(used[quarter + 2 : half - 1]) == {"3"}
    assert set(used[half + 2 : -1]) == {"5"}
    assert "9" in queued and set(queued[:half]) == {"0"}
    assert found["queue_bytes_max"] == max(port["queue_bytes_max"] for port in ports if port["node"] == "sw")
    # Paused time, to a ninth of a stretch.
    for port in ports:
        reported = np.array([int(level) for level in by_port[port["port"]][1]]) / 9
        seconds = reported.sum() * found["stretch_ns"] / 1e9
        stretches = np.count_nonzero(reported)
        assert port["paused_s"] <= seconds + 1e-12
        assert seconds - port["paused_s"] <= stretches * found["stretch_ns"] / 1e9 / 9
    assert any("9" in levels[1] or "8" in levels[1] for levels in by_port.values())


def test_there_is_none_of_what_was_not_recorded() -> None:
    assert film(run(bin="off")) is None
    assert film(run("50 us", bin="10 us")) is None


def test_pauses_need_not_be_recorded() -> None:
    found = film(run(pauses=False))  # type: ignore[arg-type]
    assert found is not None and {level for line in found["paused"] for level in line} == {"0"}


def test_marks_are_a_series_and_play() -> None:
    result = ps.run("tcp-incast")
    marks = result.curves()["queue_marks"]
    queues = result.table("queues").to_pylist()
    record = {f"{queue['port']}/{queue['class']}": queue["marks"] for queue in queues if queue["marks"]}
    assert {name: values.sum() for name, (_, values) in marks.items()} == record and len(record) == 1
    found = film(result)
    assert found is not None
    (place,) = {at for line in found["marked"] for at, level in enumerate(line) if level != "0"}
    assert found["ports"][place] == next(iter(record)).partition("/")[0]
    assert 0 < found["marks_max"] <= sum(record.values())
    assert {line[place] for line in found["marked"]} > {"0", "9"}
    assert "marked" not in (film(run()) or {})


def recorded(result: ps.Result, path: Path) -> list[int]:
    """Milliseconds of each frame of a recording."""
    with Image.open(path) as image:
        lengths = []
        for nth in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(nth)
            image.load()
            lengths.append(int(image.info["duration"]))
    return lengths


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_a_recording_plays_the_film(suffix: str, tmp_path: Path) -> None:
    result = run("60 us", bin="4 us")
    found = film(result)
    assert found is not None
    path = result.record(tmp_path / "new" / f"run.{suffix}", seconds=3)
    with Image.open(path) as image:
        frames = image.n_frames  # type: ignore[attr-defined]
        colors = np.asarray(image.convert("RGB")).reshape(-1, 3)
    # Frames of one picture may be merged by the format.
    assert 2 <= frames <= len(found["used"])
    assert sum(recorded(result, path)) == pytest.approx(3_000, rel=0.1)
    assert len(np.unique(colors, axis=0)) > 5


def test_a_recording_names_what_it_cannot_do(tmp_path: Path) -> None:
    result = run("60 us", bin="4 us")
    with pytest.raises(ps.InputError, match=r"run\.avi: expected a file that ends in \.gif, \.webp"):
        result.record(tmp_path / "run.avi")
    with pytest.raises(ps.InputError, match="--seconds is 0; expected a number above 0 and at most 120"):
        result.record(tmp_path / "run.gif", seconds=0)
    with pytest.raises(ps.InputError, match="no time series of ports"):
        run(bin="off").record(tmp_path / "run.gif")
    assert not list(tmp_path.iterdir())
