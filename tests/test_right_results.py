"""Results compared with their exact values: ties, rates of sources and links, violations, slowdowns."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock import _core

STAR = """
[simulation]
duration = "1 ms"
{simulation}
[topology.star]
hosts = 4
rate = "10 Gb/s"
phy = "none"
"""


def run(text: str, **keys: Any) -> ps.Result:
    return ps.Scenario.from_toml(text).run(**keys)


def refused(text: str) -> str:
    with pytest.raises(ps.ScenarioError) as caught:
        ps.Scenario.from_toml(text).check()
    return str(caught.value)


SENDERS = 32


def incast(tcp: str = "", host: str = "") -> str:
    """Senders that begin within 250 us and share a queue of 64 frames, as in ns-2."""
    names = [f"s{nth}" for nth in range(SENDERS)]
    link = 'rate = "1 Gb/s", delay = "25 us", overhead = "0 B"'
    links = ", ".join(f'{{ between = ["{name}", "a"], {link} }}' for name in [*names, "b"])
    flows = "".join(
        f"""
[[flows]]
name = "f{nth}"
from = "{name}"
to = "b"
frame = "1500 B"
start = "{(nth * 37 % SENDERS) * 8 + nth} us"
limit = "65700 B"
source = {{ tcp = {{ preset = "ns2", receive_window = "10000 frames", initial_threshold = "10000 frames", \
headers = "40 B", initial_timeout = "200 ms", tick = "100 us"{tcp} }} }}
"""
        for nth, name in enumerate(names)
    )
    return f"""
[simulation]
duration = "10 s"
[topology.explicit]
hosts = {[*names, "b"]}
switches = ["a"]
links = [{links}]
[switch]
queues = "shared"
buffer = {{ queue = "64 frames" }}
{host}
{flows}
"""


def last_ms(result: ps.Result) -> float:
    return max(float(row["completed_ns"]) for row in result.rows("connections")) / 1e6


def told_of_ties(result: ps.Result) -> list[str]:
    return [text for text in result.run["warnings"] if "depends on ties" in text]


def test_advice_on_ties_ends_them() -> None:
    result = run(incast())
    assert last_ms(result) > 300
    [advice] = told_of_ties(result)
    assert 'send_jitter = "12 us" in the tcp of "f0" and 31 more' in advice
    assert "clock_tolerance" not in advice and "set jitter" not in advice
    for seed in (1, 2, 3):
        result = run(incast(tcp=', send_jitter = "12 us"'), seed=seed)
        assert 200 < last_ms(result) < 215
        assert not told_of_ties(result)


@pytest.mark.parametrize("ppm", [1, 100, 1000])
def test_clocks_hide_no_order_that_they_do_not_change(ppm: int) -> None:
    result = run(incast(host=f'[host]\nclock_tolerance = "{ppm} ppm"'))
    if last_ms(result) > 300:
        [advice] = told_of_ties(result)
        assert "send_jitter" in advice


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("tcp = {}", "send_jitter"),
        ('conversation = { messages = "iscsi_read", tcp = {} }', "tcp.send_jitter"),
        ('window = { size = "8 frames" }', ""),
        ('request_response = { request = "1 kB", response = "1 kB" }', ""),
    ],
)
def test_jitter_of_connections_is_refused(source: str, key: str) -> None:
    flow = f'[[flows]]\nname = "f"\nfrom = "h0"\nto = "h1"\njitter = "5 us"\nsource = {{ {source} }}\n'
    why = refused(STAR.format(simulation="") + flow)
    assert f"jitter with {source.split()[0]}" in why
    assert (f'or {key} = "5 us" in' in why) == bool(key)


@pytest.mark.parametrize("fault", ["bit_error_rate = 1e-9", "frame_loss = 1e-6"])
def test_a_check_refuses_losses_of_credits(fault: str) -> None:
    flow = '[[flows]]\nname = "f"\nfrom = "h0"\nto = "h3"\nsource = "greedy"\n'
    text = STAR.format(simulation="") + "[flow_control.credit]\n" + flow
    assert run(text).rows("flows")[0]["frames_delivered"] > 0
    why = refused(text + f'[[faults]]\nlink = "all"\n{fault}\n')
    assert "on a link with credits" in why and "toml:17:" in why


@pytest.mark.parametrize(
    ("interval", "frame"), [("6 us", "1522 B"), ("20 us", "100 B"), ("40 us", "1522 B"), ("1 ms", "1522 B")]
)
def test_video_keeps_its_rate(interval: str, frame: str) -> None:
    text = STAR.replace("1 ms", "300 ms").format(simulation="") + (
        f'[[flows]]\nname = "v"\nfrom = "h0"\nto = "h1"\nframe = "{frame}"\n'
        f'source = {{ video = {{ rate = "100 Mb/s", interval = "{interval}" }} }}\n'
    )
    [flow] = run(text).rows("flows")
    assert flow["offered_bps"] == pytest.approx(100e6, rel=0.06)


@pytest.mark.parametrize("interval", ["1 ps", "1 us", "5.1 us"])
def test_video_below_a_frame_a_picture_is_refused(interval: str) -> None:
    why = refused(
        STAR.format(simulation="")
        + '[[flows]]\nname = "v"\nfrom = "h0"\nto = "h1"\n'
        + f'source = {{ video = {{ rate = "100 Mb/s", interval = "{interval}" }} }}\n'
    )
    assert 'expected "5.12 us" to' in why


def odd_clocks() -> Iterator[str]:
    for host, rate in (
        ("1000 ppm", "1 Gb/s"),
        ("1000 ppm", "7 Gb/s"),
        ("0 ppm", "3 Gb/s"),
        ("7 ppm", "400 Gb/s"),
    ):
        yield f"""
[simulation]
duration = "100 us"
[topology.star]
hosts = 6
rate = "{rate}"
phy = "none"
[host]
clock_tolerance = "{host}"
[[flows]]
name = "f"
from = "all"
to = {{ permutation = {{ shift = 1 }} }}
frame = {{ uniform = {{ min = "64 B", max = "1522 B" }} }}
source = "greedy"
"""


@pytest.mark.parametrize("text", list(odd_clocks()))
def test_no_bin_holds_more_than_its_link(text: str) -> None:
    result = run(text)
    rates = {row["port"]: row["rate_bps"] for row in result.rows("ports")}
    busy = {row["port"]: row["utilisation"] for row in result.rows("ports")}
    bin_s = 200e-9
    for row in result.rows("series"):
        if row["metric"] == "port_tx_bps":
            # Fast clocks are at most a thousandth off; a bin holds whole bits.
            most = -(-rates[row["entity"]] * bin_s * 1.001 // 1)
            assert round(row["value"] * bin_s) <= most, (row, busy[row["entity"]])


SPRAYED = """
[simulation]
duration = "20 ms"
[topology.explicit]
hosts = ["a", "b"]
switches = ["s", "t"]
links = [ {{ between = ["a", "s"], rate = "100 Gb/s", phy = "none" }},
  {{ between = ["t", "b"], rate = "{last}", phy = "none" }},
  {{ between = ["s", "t"], rate = "25 Gb/s", count = 4, phy = "none" }} ]
[switch]
path_choice = "spray"
[[transfers]]
name = "x"
from = "a"
to = "b"
sizes = "{size}"
arrivals = "once"
"""


@pytest.mark.parametrize("last", ["100 Gb/s", "40 Gb/s"])
@pytest.mark.parametrize("size", ["1 kB", "100 kB", "1 MB"])
def test_sprayed_transfers_are_never_faster_than_ideal(last: str, size: str) -> None:
    [row] = run(SPRAYED.format(last=last, size=size)).rows("transfers")
    assert 1 <= row["slowdown"] < 2


def test_transfers_over_reused_connections_are_never_faster_than_ideal() -> None:
    text = STAR.replace("1 ms", "40 ms").format(simulation="") + (
        'delay = "20 us"\n[[transfers]]\nname = "t"\nfrom = "h0"\nto = "h1"\nsizes = "400 kB"\n'
        'arrivals = { incast = { every = "4 ms" } }\nover = { tcp = { handshake = true, ack_every = 1 } }\n'
    )
    rows = run(text).rows("transfers")
    assert len(rows) > 5
    assert all(row["slowdown"] >= 1 for row in rows)
    # A fresh connection has its handshake and slow start; the others have neither.
    assert rows[0]["ideal_ns"] > 1.01 * rows[1]["ideal_ns"]


def test_a_run_that_ends_in_its_warmup_is_measured_from_the_beginning() -> None:
    text = (
        '[simulation]\nduration = "2 s"\nwarmup = "1 s"\n'
        '[topology.star]\nhosts = 3\nrate = "100 Gb/s"\nphy = "none"\n'
        '[[flows]]\nname = "f"\nfrom = "h0"\nto = "h2"\nframe = "64 B"\nsource = "greedy"\n'
    )
    found = _core.run(text, "x.toml", progress=lambda *_: False)
    ended = json.loads(found.run)
    assert ended["simulated_s"] < 1
    assert ended["warmup_s"] == 0
    assert any("before its warm-up of 1 s" in text for text in ended["warnings"])


def test_lost_messages_of_a_lossless_class_are_violations() -> None:
    text = """
[simulation]
duration = "100 us"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[flow_control.pfc]
accounting = "egress"
xoff = "60 kB"
xon = "30 kB"
pause_quanta = 1000
[switch.buffer]
class = "80 kB"
[[switch.queue_managers]]
sampling = { threshold = "2 frames", every = 1 }
[[flows]]
name = "f"
from = ["h0", "h1"]
to = "h2"
frame = "64 B"
source = "greedy"
[[flows]]
name = "back"
from = ["h1", "h2"]
to = "h0"
frame = "64 B"
source = "greedy"
"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(text)
    drops = result.rows("drops")
    assert any(row["part"] == "beside" for row in drops)
    lost = sum(row["frames"] for row in drops)
    assert sum(row["headroom_violations"] for row in result.rows("ports")) == lost
