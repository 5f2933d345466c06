"""``penstock view``: the pages of results, to this machine alone."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock as ps
from conftest import browse
from penstock.cli import main
from penstock.viewing.server import Pages


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    found = []
    for name in ("a", "b & c"):
        scenario = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m")
        scenario.flow("one", from_="h0", to="h1", source="greedy").run().save(folder / name)
        found.append(folder / name)
    return found


@pytest.fixture
def pages(runs: list[Path]) -> Iterator[Pages]:
    with Pages(runs) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield served
        served.shutdown()


def get(pages: Pages, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", pages.server_port, timeout=20)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def test_results_stand_side_by_side(pages: Pages, runs: list[Path]) -> None:
    status, front = get(pages, "/")
    assert status == 200 and front.count(b"<iframe") == 2 and b"b &amp; c" in front
    for number, run in enumerate(runs):
        status, page = get(pages, f"/{number}/report.html")
        assert status == 200 and page == (run / "report.html").read_bytes()


BROWSE = """
import {{ chromium }} from "{playwright}";
const browser = await chromium.launch({{ executablePath: "{chromium}", args: ["--no-sandbox"] }});
const page = await (await browser.newContext()).newPage();
await page.goto("{url}");
const [left, right] = [0, 1].map((number) => page.frameLocator("iframe >> nth=" + number));
await left.getByRole("tab", {{ name: /Ports/ }}).click();
await right.getByRole("tab", {{ name: /Queues/ }}).click();
await page.waitForFunction(() => location.hash.includes("ports") && location.hash.includes("queues"));
const copy = await (await browser.newContext()).newPage();
await copy.goto(page.url());
for (const number of [0, 1]) {{
  const tab = copy.frameLocator("iframe >> nth=" + number).locator("[role=tab][aria-selected=true]");
  console.log((await tab.textContent()).trim().split(" ")[0]);
}}
await browser.close();
"""


def test_a_link_opens_both_views(pages: Pages, tmp_path: Path) -> None:
    done = browse(BROWSE, pages.url, tmp_path, 120)
    assert done.stdout.split() == ["Ports", "Queues"], done.stderr


def test_all_that_the_page_of_a_sweep_links_to_is_served(tmp_path: Path) -> None:
    scenario = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m")
    scenario = scenario.flow("one", from_="h0", to="h1", source="greedy", frame="1500 B")
    plan = ps.Plan(scenario, {"flows.one.frame": ["64 B", "1500 B", "no size"], "simulation.seed": "1..2"})
    ps.sweep(plan, tmp_path / "sweep", executor=ThreadPoolExecutor(1), keep=True)
    with Pages([tmp_path / "sweep"]) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        page = get(served, "/0/report.html")[1].decode()
        links = re.findall(r'(?:href|src)="([^"]+)"', page)
        assert {link.partition("/")[0] for link in links} >= {"runs", "failed", "pictures", "sweep.toml"}
        assert sum(link.endswith("/report.html") for link in links) == 4
        assert {get(served, f"/0/{link}")[0] for link in links} == {200}
        served.shutdown()


def test_nothing_else_is_served(pages: Pages, runs: list[Path]) -> None:
    (runs[0].parent / "secret").write_text("secret")
    for path in (
        "/2/report.html",
        "/0/../secret",
        "/0/%2e%2e/secret",
        "/../secret",
        "/secret",
        "/0/",
        "/x",
    ):
        assert get(pages, path)[0] == 404, path
    assert get(pages, "/", Host="evil.example:80")[0] == 403
    assert get(pages, "/0/report.html", method="POST")[0] == 501
    assert get(pages, "/0/report.html", method="HEAD")[0] == 405


def test_the_command_shows_a_result_until_it_is_ended(runs: list[Path], tmp_path: Path) -> None:
    run = ps.Result.load(runs[0]).save(tmp_path / "run", report=False)
    command = [sys.executable, "-m", "penstock", "view", str(run), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[1]
        port = int(url.rstrip("/").rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (302, "/0/report.html")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert (run / "report.html").is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name the directory of a result or of a sweep"),
        (("nowhere",), "nowhere: has no report.html; expected the directory of a result or of a sweep"),
        (("nowhere", "--port", "70000"), "--port is 70000; expected 0 (any that is free) to 65535"),
    ],
)
def test_what_cannot_be_shown(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_port_that_is_taken(pages: Pages, runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(runs[0]), "--no-browser", "--port", str(pages.server_port)]) == 2
    assert "leave it out for one that is free" in " ".join(capsys.readouterr().err.split())
