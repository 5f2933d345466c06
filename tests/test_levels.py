"""A result of a million points in ``penstock view``: levels of series, a browser that zooms and pans."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

import penstock as ps
from conftest import browse
from penstock.viewing.levels import LEAST, STEP, Pyramid
from penstock.viewing.server import Pages

MILLION = 1_000_000
SLOWEST_FRAME_MS = 250.0
MEDIAN_FRAME_MS = 50.0


def test_a_level_keeps_what_is_extreme() -> None:
    times = np.arange(MILLION, dtype=np.int64) * 10
    values = np.random.default_rng(1).random(MILLION)
    values[[7, 654_321]] = 9.0, -9.0
    pyramid = Pyramid(times, values)
    assert [len(level[0]) for level in pyramid.levels[1:]] == [125_000, 15_624]
    assert len(pyramid.levels[-1][0]) <= STEP * LEAST
    whole, reported = pyramid.part(0, 1e7, 2_000)
    assert len(whole) <= 2_000 and reported.max() == 9.0 and reported.min() == -9.0
    assert whole[reported == 9.0] == 70 and whole[reported == -9.0] == 6_543_210
    # A part has its own extremes, and where it is short each of its points with the one before it.
    begin, end = 3_000_000, 3_400_000
    some = pyramid.part(begin, end, 2_000)[1]
    inside = values[(times >= begin) & (times <= end)]
    assert (some.min(), some.max()) == (inside.min(), inside.max())
    few, exact = pyramid.part(5_000_005, 5_000_095, 2_000)
    assert few.tolist() == list(range(5_000_000, 5_000_100, 10))
    assert exact.tolist() == values[500_000:500_010].tolist()
    assert pyramid.part(-50, -20, 100)[0].tolist() == []


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    fabric = (
        ps.Scenario(duration="60 ms").probes(bin="1 us").topology.star(hosts=3, rate="10 Gb/s", phy="none")
    )
    scenario = fabric.flow_control.pfc(xoff="20 KiB", xon="10 KiB")
    scenario = scenario.flow("steady", from_="h0", to="h2", source={"poisson": {"rate": "4 Gb/s"}})
    scenario = scenario.flow("greedy", from_="h1", to="h2", source="greedy")
    result = scenario.run(seed=1)
    assert result.table("series").num_rows >= MILLION
    return result.save(tmp_path_factory.mktemp("long") / "run")


@pytest.fixture
def served(recorded: Path) -> Iterator[Pages]:
    with Pages([recorded]) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        yield pages
        pages.shutdown()


def ask(pages: Pages, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", pages.server_port, timeout=60)
    connection.request("GET", f"/{pages.token}{path}")
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_a_page_gets_the_points_of_a_part(served: Pages, recorded: Path) -> None:
    wanted = {"metric": "flow_throughput_bps", "from": 2e6, "to": 2.5e6, "points": 4_000}
    status, text = ask(
        served, "/0/levels?" + urlencode([*wanted.items(), ("entity", "greedy"), ("entity", "x")])
    )
    report = json.loads(text)
    assert status == 200 and set(report["series"]) == {"greedy"}
    times, values = ps.Result.load(recorded).curves()["flow_throughput_bps"]["greedy"]
    part = (times >= 2_000_000) & (times <= 2_500_000)
    assert report["series"]["greedy"] == {"time_ns": times[part].tolist(), "value": values[part].tolist()}
    for path, expected in (
        ("/0/levels", 400),
        ("/0/levels?from=x&to=1&points=2&metric=m&entity=e", 400),
        ("/7/levels?from=0&to=1&points=2&metric=m&entity=e", 404),
        ("/0/runs/levels?from=0&to=1&points=2&metric=m&entity=e", 404),
    ):
        assert ask(served, path)[0] == expected, path


BROWSE = """
import {{ chromium }} from "{playwright}";
const browser = await chromium.launch({{ executablePath: "{chromium}", args: ["--no-sandbox"] }});
const page = await (await browser.newContext({{ viewport: {{ width: 1280, height: 900 }} }})).newPage();
const said = [];
let answers = 0;
page.on("console", (message) => said.push(message.text()));
page.on("pageerror", (error) => said.push(error.message));
page.on("response", (answer) => {{ if (answer.url().includes("/levels?") && answer.ok()) answers++; }});
await page.goto("{url}0/report.html");
await page.locator("#time .u-over").first().scrollIntoViewIfNeeded();
await page.evaluate(() => {{
  window.frames_ms = [];
  let before = performance.now();
  const tick = (now) => {{ window.frames_ms.push(now - before); before = now; requestAnimationFrame(tick); }};
  requestAnimationFrame(tick);
}});
const press = async (name, times) => {{
  for (let at = 0; at < times; at++) {{
    await page.locator("#time").getByRole("button", {{ name, exact: true }}).click();
    await page.waitForTimeout(60);
  }}
}};
await press("Zoom in", 8);
for (let wait = 0; answers === 0 && wait < 200; wait++) await page.waitForTimeout(50);
await press("Later", 10);
await press("Earlier", 10);
let box = null; // a chart is made anew when its points have come
while (box === null) box = await page.locator("#time .u-over").first().boundingBox();
await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.6, box.y + 60, {{ steps: 10 }});
await page.mouse.up();
await page.waitForTimeout(1500);
const frames = (await page.evaluate(() => window.frames_ms)).sort((a, b) => a - b);
const [median, slow] = [0.5, 0.99].map((share) => frames[Math.floor(frames.length * share)]);
console.log(JSON.stringify({{ frames: frames.length, median, slow, slowest: frames.at(-1), answers, said }}));
await browser.close();
"""


def test_a_browser_zooms_and_pans_a_million_points(served: Pages, tmp_path: Path) -> None:
    done = browse(BROWSE, served.url, tmp_path, 300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["said"] == [] and report["answers"] >= 2 and report["frames"] > 60
    assert report["median"] < MEDIAN_FRAME_MS and report["slow"] < SLOWEST_FRAME_MS, report
