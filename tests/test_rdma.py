"""RDMA against the fluid model of DCQCN, and what always holds; `penstock validate` has the other models."""

from __future__ import annotations

import math

import pytest

import penstock as ps
from penstock import _core
from penstock.library import read
from penstock.validation.bench import fill
from penstock.validation.rdma import DCQCN, HEADERS, LINK, ON_WIRE, OVERHEAD, TRIP


def marked_share(senders: int) -> float:
    """The share of marked packets at which DCQCN neither gains nor loses: its fluid model, by bisection.

    Y. Zhu et al., CoNEXT 2016, section 3: packets of 1 kB, 40 Gb/s, a CNP in 50 us, alpha and timer of 55 us,
    10 MB, F = 5, 40 Mb/s.
    """
    packet = (1000 + HEADERS) * 8
    rate = 40e9 / packet / senders
    add, tau, period, counter, stages = 40e6 / packet, 50e-6, 55e-6, 10e6 * 8 / packet, 5

    def gain(p: float) -> float:
        cut = 1 - (1 - p) ** (tau * rate)
        alpha = 1 - (1 - p) ** (period * rate)
        timer = period * rate
        by_bytes, by_time = (p / math.expm1(min(-n * math.log1p(-p), 700)) for n in (counter, timer))
        steps = rate * (by_bytes + by_time)
        adds = add * rate * ((1 - p) ** (stages * counter) * by_bytes + (1 - p) ** (stages * timer) * by_time)
        # The target stands above the rate by what its additions and its resets make of it.
        above = adds * tau / cut
        return above / 2 * steps - rate * alpha / (2 * tau) * cut

    low, high = 1e-7, 0.5
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gain(middle) > 0 else (low, middle)
    return low


@pytest.mark.parametrize("senders", [2, 4, 10])
def test_dcqcn_comes_to_its_fixed_point(senders: int) -> None:
    """The queue that marks this share; the model has no packets, and chance makes the queue longer."""
    published = {2: 0.00078, 4: 0.00189, 10: 0.00603}
    assert marked_share(senders) == pytest.approx(published[senders], rel=0.1), "the published table"
    result = ps.run(ps.Scenario.from_toml(fill(DCQCN, duration="80 ms", hosts=senders + 1, senders=senders)))
    queue = max(row["queue_bytes_mean"] for row in result.rows("queues"))
    expected = 5e3 + marked_share(senders) / 0.01 * 195e3
    assert expected < queue < 1.45 * expected
    rates = [row["throughput_bps"] for row in result.rows("flows")]
    assert ps.jain(rates) > 0.98
    assert sum(rates) > 0.99 * 40e9 * (1000 + HEADERS) / (1000 + HEADERS + OVERHEAD)


CONTROLS = ["none", "dcqcn", "dctcp", "timely", "swift", "hpcc", "hpcc_pint", "powertcp", "theta_powertcp"]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("recovery", ["go_back_n", "selective"])
def test_messages_arrive_once_and_cnps_follow_marks(control: str, recovery: str) -> None:
    text = read("dcqcn-incast").text.replace('sizes = "4 MB"', 'sizes = "400 kB"')
    own = f'control = "{control}", recovery = "{recovery}" }} }}'
    text = text.replace('control = { dcqcn = { preset = "hpcc" } }, cnp_gap = "4 us" } }', own)
    text = text.replace('"12 ms"', '"60 ms"')
    result = ps.run(ps.Scenario.from_toml(text))
    for row in result.rows("queue_pairs"):
        assert (row["messages"], row["messages_delivered"], row["packets_delivered"]) == (1, 1, 98)
        assert row["cnps_sent"] <= row["packets_marked"]
        assert row["cnps_received"] == row["cnps_sent"]
        assert row["packets_sent"] == 98 + row["packets_sent_again"]
        assert 1e6 <= row["rate_bps"] <= 100e9
        assert control == "dcqcn" or row["cnps_sent"] == 0
    assert all(row["frames_missing"] == 0 for row in result.rows("transfers"))


TELEMETRY = """\
[simulation]
duration = "6 ms"
warmup = "3 ms"
[topology.star]
hosts = {hosts}
rate = "100 Gb/s"
delay = "2500 ns"
phy = "none"
[[flows]]
name = "f"
from = "h1..h{senders}"
to = "h0"
frame = "1200 B"
source = {{ rdma = {{ mtu = "1000 B", control = {{ {control} }} }} }}
"""


def test_an_incast_fills_no_more_than_the_windows() -> None:
    """Sixteen windows of a round trip begin at once: fifteen of them wait."""
    for control in ("hpcc", "hpcc_pint", "powertcp"):
        text = TELEMETRY.format(hosts=17, senders=16, control=f"{control} = {{}}")
        rows = ps.run(ps.Scenario.from_toml(text.replace('warmup = "3 ms"', ""))).rows("queues")
        longest = max(row["queue_bytes_max"] for row in rows)
        assert longest < 15 * TRIP * LINK / 8 + 17 * ON_WIRE, control


@pytest.mark.parametrize("latency", ["0 s", "500 ns", "5 us"])
@pytest.mark.parametrize("forwarding", ["store_and_forward", "cut_through"])
def test_a_window_that_fills_the_path_fills_it_whatever_switches_take(latency: str, forwarding: str) -> None:
    text = f"""
[simulation]
duration = "4 ms"

[topology.dumbbell]
left = 1
right = 1
rate = "100 Gb/s"
delay = "1 us"
phy = "none"
bottleneck_rate = "400 Gb/s"
bottleneck_delay = "1 us"

[switch]
latency = "{latency}"
forwarding = "{forwarding}"

[[flows]]
name = "pair"
from = "l0"
to = "r0"
frame = "4200 B"
source = {{ rdma = {{ control = "none", window = "bdp" }} }}
"""
    [port] = [row for row in ps.run(ps.Scenario.from_toml(text)).rows("ports") if row["port"] == "l0.0->left"]
    assert port["utilisation"] >= 0.98


def timely_fluid(senders: int) -> tuple[float, float, float]:
    """Patched TIMELY (Zhu et al. 2016) without a window, from line rate on, over a fluid queue at 10 Gb/s.

    The longest wait there, when it is below 1 ms again, and the wait at rest, in seconds.
    """
    link, base, packet, step = 10e9, 22e-6, 0.86e-6, 2e-6
    rates, now, wait, longest, calm = [link] * senders, 0.0, 0.0, 0.0, math.inf
    samples = [(base + nth * packet, base + nth * packet) for nth in range(senders)]
    last: list[float | None] = [None] * senders
    difference = [0.0] * senders
    while now < 0.4:
        now, wait = now + step, max(0.0, wait + step * (sum(rates) / link - 1))
        longest = max(longest, wait)
        calm = min(calm, now) if longest > 1e-3 > wait else calm
        for nth, (comes, trip) in enumerate(samples):
            if comes > now:
                continue
            before, last[nth] = last[nth], trip
            if before is not None:
                difference[nth] = 0.125 * difference[nth] + 0.875 * (trip - before)
                weight = min(max(2 * difference[nth] / 20e-6 + 0.5, 0.0), 1.0)
                kept = 1 - 0.008 * weight * (trip - 50e-6) / 50e-6
                rate = 10e6 * (1 - weight) + rates[nth] * kept
                rate = rates[nth] + 10e6 if trip < 50e-6 else rate
                rate = rates[nth] * (1 - 0.8 * (1 - 500e-6 / trip)) if trip > 500e-6 else rate
                rates[nth] = min(max(rate, 100e6), link)
            samples[nth] = (now + base + wait + 8640 / rates[nth], base + wait)
    return longest, calm, wait


@pytest.mark.parametrize("senders", [4, 10])
def test_patched_timely_without_a_window_overshoots_and_comes_to_rest(senders: int) -> None:
    """What is under way grows by a factor a round trip until the cuts, one a round trip, are felt.

    With ten senders that is 88 ms of queue, which take 0.2 s to drain. The fluid does the same.
    """
    scenario = ps.Scenario(duration="400 ms").topology.star(
        hosts=senders + 1, rate="10 Gb/s", delay="5 us", phy="none"
    )
    control = {"timely": {"patched": True}}
    scenario = scenario.probes(bin="500 us").flow(
        "f", from_=f"h1..h{senders}", to="h0", source={"rdma": {"control": control, "mtu": "1000 B"}}
    )
    times, queue = scenario.run().series("queue_bytes", "sw.0->h0/0")
    waits = queue * 8 / 10e9 * (1078 + 20) / 1078
    longest, calm, rests = timely_fluid(senders)
    drained = times[int(waits.argmax()) :][waits[int(waits.argmax()) :] < 1e-3][0] * 1e-9
    assert waits.max() == pytest.approx(longest, rel=0.1)
    assert drained == pytest.approx(calm, rel=0.1, abs=2e-3)
    assert waits[-1] == pytest.approx(rests, rel=0.05)
    assert rests == pytest.approx(50e-6 * (1 + senders * 10e6 / (0.008 * 10e9)) - 22e-6, rel=0.03)


IDLE_KEYS = [
    ('control = "dcqcn", recovery = "go_back_n"', 'low_timeout = "20 us"'),
    ('control = "dcqcn", recovery = "selective"', 'nak_gap = "1 ns"'),
    ('control = "dcqcn"', "max_reads = 1"),
    ('control = "dcqcn", verb = "write"', 'receive_queue = 1, receive_time = "1 ms"'),
    ('control = "dcqcn"', 'rnr_timer = "1 us", rnr_retries = 0'),
    ('control = "hpcc"', 'cnp_gap = "1 ns", cnp_scope = "port"'),
    ('control = "dcqcn"', 'base_rtt = "1 ns"'),
]


@pytest.mark.parametrize(("keys", "idle"), IDLE_KEYS)
def test_a_key_of_which_it_is_reported_so_changes_nothing(keys: str, idle: str) -> None:
    """Five to one, over links that lose one of a hundred packets."""

    def text(keys: str) -> str:
        return f"""
[simulation]
duration = "2 ms"
[topology.star]
hosts = 6
rate = "100 Gb/s"
delay = "500 ns"
phy = "none"
[[switch.queue_managers]]
classes = [3]
red = {{ weight = 1, min = "40 kB", max = "160 kB", max_probability = 0.2, action = "mark_only" }}
[[faults]]
link = "all"
frame_loss = 0.01
[[transfers]]
name = "t"
from = "h1..h5"
to = "h0"
priority = 3
sizes = "100 kB"
arrivals = "once"
over = {{ rdma = {{ timeout = "200 us", {keys} }} }}
"""

    for key in idle.split(","):
        name = key.split("=")[0].strip()
        output = [
            line for line in _core.warnings(text(f"{keys}, {idle}"), "t.toml") if f"warning: `{name}`" in line
        ]
        assert len(output) == 1 and "changes nothing" in output[0]
    own, other = (ps.run(ps.Scenario.from_toml(text(more))) for more in (keys, f"{keys}, {idle}"))
    assert own.fingerprint == other.fingerprint
    assert sum(row["packets_sent_again"] for row in own.rows("queue_pairs")) > 0
