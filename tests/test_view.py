"""``penstock view``: the pages of results, to this machine alone."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import penstock as ps
from conftest import browse
from penstock.cli import main
from penstock.viewing import server
from penstock.viewing.server import Pages


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    found = []
    for name in ("a", "b & c"):
        scenario = ps.Scenario(duration="20 us").topology.star(
            hosts=2, rate="10 Gb/s", length="1 m", phy="none"
        )
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
    record = {"Host": f"127.0.0.1:{pages.server_port}", **headers}
    lines = [f"{name}: {value}" for name, value in record.items()]
    status, text = raw(pages, f"{method} /{pages.token}{path} HTTP/1.0", *lines)
    return status, text.partition(b"\r\n\r\n")[2]


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


AXES = """
import {{ chromium }} from "{playwright}";
const browser = await chromium.launch({{ executablePath: "{chromium}", args: ["--no-sandbox"] }});
const page = await (await browser.newContext({{ viewport: {{ width: 1600, height: 500 }} }})).newPage();
await page.goto("{url}");
const frames = [0, 1].map((number) => page.frameLocator("iframe >> nth=" + number));
// Of both: how high the highest line of throughput stands in the middle of its chart, as a share of it.
async function heights() {{
  const found = [];
  for (const frame of frames) {{
    const over = frame.locator("#time .u-over").first();
    await over.scrollIntoViewIfNeeded();
    await over.hover();
    found.push(await over.evaluate((one) => {{
      const box = one.getBoundingClientRect();
      const points = [...one.querySelectorAll(".u-cursor-pt")].map((point) => point.getBoundingClientRect());
      return 1 - (Math.min(...points.map((point) => point.y + point.height / 2)) - box.y) / box.height;
    }}));
  }}
  return found;
}}
async function colors() {{
  const chips = (frame) => frame.locator("#time .chart").first().locator(".chip", {{ hasText: "one" }});
  return Promise.all(frames.map((frame) => chips(frame).locator(".swatch").getAttribute("style")));
}}
async function settled(look, is) {{
  let found = await look();
  for (let tries = 0; tries < 50 && !is(found); tries++) {{
    await page.waitForTimeout(100);
    found = await look();
  }}
  return found;
}}
const found = await settled(heights, ([whole, half]) => whole > 1.8 * half);
const [left, right] = await settled(colors, ([left, right]) => left === right);
const tables = frames.map((frame) => frame.locator("#tables"));
await tables[1].evaluate((one) => one.scrollIntoView());
const tops = () => Promise.all(tables.map((one) => one.evaluate((it) => it.getBoundingClientRect().top)));
const [above, beside] = await settled(tops, ([left, right]) => Math.abs(left - right) < 2);
console.log(...found.map((height) => height.toFixed(2)), left === right, Math.abs(above - beside) < 2);
await browser.close();
"""


def test_views_share_axes_colors_and_sections(tmp_path: Path) -> None:
    """Half the rate is half as high, though others come before it and make the page longer."""
    for name, rate, others in (("whole", "8 Gb/s", 0), ("half", "4 Gb/s", 5)):
        scenario = ps.Scenario(duration="400 us").topology.star(
            hosts=2, rate="10 Gb/s", length="1 m", phy="none"
        )
        scenario = scenario.probes(bin="20 us")
        for other in range(others):
            source = {"constant": {"rate": "0.5 Gb/s"}}
            scenario = scenario.flow(f"x{other}", from_="h1", to="h0", source=source)
        source = {"constant": {"rate": rate}}
        scenario.flow("one", from_="h0", to="h1", source=source, frame="1500 B").run().save(tmp_path / name)
    with Pages([tmp_path / "whole", tmp_path / "half"]) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        done = browse(AXES, served.url, tmp_path, 120)
        served.shutdown()
    assert done.stdout, done.stderr
    *heights, colors, sections = done.stdout.split()
    whole, half = map(float, heights)
    assert [colors, sections] == ["true", "true"], done
    assert whole > 0.85 and half == pytest.approx(whole / 2, abs=0.03), done.stderr


def test_all_that_the_page_of_a_sweep_links_to_is_served(tmp_path: Path) -> None:
    scenario = ps.Scenario(duration="20 us").topology.star(hosts=2, rate="10 Gb/s", length="1 m", phy="none")
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


ODD = (
    "/²/report.html",
    "/0/²",
    "/%00/report.html",
    "/0/%00",
    "/0/%ff%fe",
    "/0//report.html",
    "//0/report.html",
    "/0/./report.html",
    "/0/report.html/",
    "/0/pictures",
    "/0/pictures/",
    "/-1/report.html",
    "/00/report.html",
    f"/{'9' * 5000}/report.html",
    "/0/" + "x" * 5000,
    "/0/" + "x/" * 5000,
    "/[",
    "/0/[::1",
    "/0/report.html;x",
    "/0/%2e%2e%2fsecret",
    "/0/..%5csecret",
)
"""Addresses that nobody has a page for."""


@pytest.mark.parametrize("path", [*ODD, "", "/", "/levels", "//[", "/?", "*", "/%"])
def test_who_does_not_know_the_token_gets_nothing(path: str, pages: Pages) -> None:
    """No answer tells whether there is such a page; nor does any address break the server."""
    for token in ("", "/", f"/{pages.token[:-1]}", f"/{pages.token}x", "/²", "/%ff"):
        status, body = raw(pages, f"GET {(token + path).replace(' ', '') or '/'} HTTP/1.0")
        assert status == 404, body


def raw(pages: Pages, *lines: str) -> tuple[int, bytes]:
    """The answer to a request as it is typed."""
    with socket.create_connection(("127.0.0.1", pages.server_port), timeout=20) as client:
        client.sendall("\r\n".join([*lines, "", ""]).encode())
        text = b"".join(iter(lambda: client.recv(1 << 16), b""))
    return int(text.split()[1]), text


def test_each_view_has_a_token_of_its_own(runs: list[Path]) -> None:
    with Pages(runs) as one, Pages(runs) as other:
        assert one.token != other.token and len(one.token) >= 32
        assert one.token in one.url


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("127.0.0.1:{port}", None, 200),
        ("localhost:{port}", None, 200),
        ("LOCALHOST:{port}", None, 200),
        (None, None, 200),
        ("127.0.0.1", 80, 200),
        ("127.0.0.1:80", 80, 200),
        ("127.0.0.1", None, 403),
        ("127.0.0.1:1", None, 403),
        ("evil.example:{port}", None, 403),
        ("127.0.0.1.evil.example:{port}", None, 403),
        ("", None, 403),
        ("[", None, 403),
    ],
)
def test_other_names_of_the_server(host: str | None, port: int | None, expected: int, pages: Pages) -> None:
    """Port 80 needs not be said; a page of another site that got itself this address says another name."""
    lines = [f"GET /{pages.token}/0/report.html HTTP/1.1"]
    if host is not None:
        lines.append("Host: " + host.format(port=pages.server_port))
    real = pages.server_port
    try:
        pages.server_port = port or real
        with socket.create_connection(("127.0.0.1", real), timeout=20) as client:
            client.sendall("\r\n".join([*lines, "", ""]).encode())
            assert int(client.makefile("rb").readline().split()[1]) == expected
    finally:
        pages.server_port = real


def test_links_out_of_a_result_are_not_followed(runs: list[Path], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "below" / "secret").write_text("secret")
    directory = tmp_path / "result"
    directory.mkdir()
    (directory / "report.html").write_text("page")
    (directory / "file").symlink_to(outside / "below" / "secret")
    (directory / "folder").symlink_to(outside)
    (directory / "relative").symlink_to("../outside/below/secret")
    (directory / "circle").symlink_to("circle")
    (directory / "within").symlink_to("report.html")
    os.mkfifo(directory / "pipe")
    with Pages([directory]) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        for path in ("file", "folder/below/secret", "relative", "circle", "pipe", "folder/levels"):
            assert get(pages, f"/0/{path}")[0] == 404, path
        assert get(pages, "/0/folder/levels?from=0&to=1&metric=m&entity=e&points=2")[0] == 404
        assert get(pages, "/0/within") == (200, b"page")
        pages.shutdown()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "from=nan&to=1&metric=m&entity=e&points=2",
        "from=0&to=inf&metric=m&entity=e&points=2",
        "from=0&to=1&metric=m&entity=e&points=²",
        f"from=0&to=1&metric=m&entity=e&points={'9' * 5000}",
        "from=0&to=1&metric=m&points=2",
        "from=0&to=1&metric=m&points=2" + "&entity=e" * 12_000,
        "from=%00&to=%ff&metric=m&entity=e&points=2",
    ],
)
def test_odd_questions_for_points(query: str, pages: Pages) -> None:
    assert get(pages, f"/0/levels?{query}")[0] in (400, 414)


def test_odd_requests(pages: Pages) -> None:
    for lines in (("GET",), ("x",), ("GET / HTTP/9.9",), ("\0\1\2",), ("GET /²² HTTP/1.0", "Host: ²")):
        with socket.create_connection(("127.0.0.1", pages.server_port), timeout=20) as client:
            client.sendall("\r\n".join([*lines, "", ""]).encode())
            while client.recv(1 << 16):
                pass
    assert get(pages, "/0/report.html")[0] == 200


def test_clients_that_stall_are_dropped(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that say nothing, that say a letter now and then, and that do not take what they asked for."""
    monkeypatch.setattr(server, "ASKS_S", 1.0)
    monkeypatch.setattr(server._Handler, "timeout", 1.0)
    with Pages(runs) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        silent = socket.create_connection(("127.0.0.1", pages.server_port), timeout=20)
        slow = socket.create_connection(("127.0.0.1", pages.server_port), timeout=20)
        began = time.monotonic()
        dropped = False
        while not dropped and time.monotonic() - began < 15:
            try:
                slow.sendall(b"G")
            except OSError:
                dropped = True
            time.sleep(0.2)
        assert dropped
        assert silent.recv(1) == b""
        assert get(pages, "/0/report.html")[0] == 200
        pages.shutdown()


def test_five_hundred_clients_are_heard(runs: list[Path]) -> None:
    """All at once, while the server hears nobody yet."""
    with Pages(runs) as pages:
        clients = [socket.socket() for _ in range(500)]
        for client in clients:
            client.settimeout(20)
            client.connect(("127.0.0.1", pages.server_port))
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        for client in clients:
            client.sendall(f"GET /{pages.token}/0/run.json HTTP/1.0\r\n\r\n".encode())
        assert {client.makefile("rb").readline() for client in clients} == {b"HTTP/1.0 200 OK\r\n"}
        for client in clients:
            client.close()
        pages.shutdown()


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
        *ODD,
    ):
        assert get(pages, path)[0] == 404, path
    assert get(pages, "/", Host="evil.example:80")[0] == 403
    assert b"secret" not in get(pages, "/0/report.html")[1]
    assert get(pages, "/0/report.html", method="POST")[0] == 501
    assert get(pages, "/0/report.html", method="HEAD")[0] == 405


def test_the_command_shows_a_result_until_it_is_ended(runs: list[Path], tmp_path: Path) -> None:
    run = ps.Result.load(runs[0]).save(tmp_path / "run", report=False)
    command = [sys.executable, "-m", "penstock", "view", str(run), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().split()[1])
        connection = http.client.HTTPConnection("127.0.0.1", url.port, timeout=20)
        connection.request("GET", url.path)
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (302, f"{url.path}0/report.html")
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()
    assert (run / "report.html").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name the directory of a result or sweep"),
        (("nowhere",), "nowhere: no such result directory"),
        (("nowhere", "--port", "70000"), "--port is 70000; expected 0 (any free port) to 65535"),
    ],
)
def test_what_cannot_be_shown(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_browser_is_not_called_with_the_token(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everybody sees with what words a program is called: it gets a page of the user that leads there."""
    opened: list[tuple[str, str, int]] = []

    def browser(url: str) -> None:
        page = Path(unquote(urlsplit(url).path))
        opened.append((url, page.read_text("utf-8"), page.parent.stat().st_mode & 0o777))
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", browser)
    assert main(["view", str(runs[0])]) == 0
    ((url, page, mode),) = opened
    address = capsys.readouterr().out.split()[1]
    assert url.startswith("file://") and mode == 0o700
    assert address in page and urlsplit(address).path.strip("/") not in url
    assert not Path(unquote(urlsplit(url).path)).exists()


def test_a_report_that_leads_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.html").symlink_to("/etc/hostname")
    assert main(["view", str(tmp_path)]) == 2
    assert "is a symbolic link" in capsys.readouterr().err


def test_a_port_that_is_taken(pages: Pages, runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(runs[0]), "--no-browser", "--port", str(pages.server_port)]) == 2
    assert "omit it to use any free port" in " ".join(capsys.readouterr().err.split())
