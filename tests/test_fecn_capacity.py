"""FECN with the capacity of a class, of a port and of a switch, beside a model in plain Python."""

from __future__ import annotations

from typing import Any

import pytest

import penstock as ps
from penstock import _core

INTERVAL = 100_000_000  # ps
LINK = 10e9
SET_POINT = 24_000


def greedy(**flows: tuple[str, str, int]) -> str:
    """Greedy flows by name: senders in TOML, receiver and priority."""
    return "".join(
        f'[[flows]]\nname = "{name}"\nfrom = {senders}\nto = "{to}"\npriority = {priority}\n'
        'source = "greedy"\n'
        for name, (senders, to, priority) in flows.items()
    )


CLASS = """\
simulation = { duration = "3 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", phy = "none" }
probes = [{ what = "frames", which = ["sw.*"] }]
host.rate_limiters = { priorities = [3], fecn = { interval = "100 us" } }
switch.queue_managers = [{ classes = [3], fecn = { interval = "100 us", capacity = "measured" CONTROL } }]
[switch.scheduler.ets]
classes = [ { queues = [0,1,2,4,5,6,7], percent = 70 }, { queues = [3], percent = 30 } ]
""" + greedy(storage=('["h0", "h1"]', "h3", 3), lan=('"h2"', "h3", 0))

Row = dict[str, Any]


def wire_ps(row: Row) -> float:
    """Time of a frame on the link."""
    return 8e12 * (row["bytes"] + 20) / LINK


def capacities(arrivals: list[Row], departures: list[Row], intervals: int) -> list[float]:
    """Bits sent by the time that was not idle, for each interval."""
    busy: list[list[float]] = []
    for came, left in zip(arrivals, departures, strict=False):
        start, end = came["time_ps"], left["time_ps"] + wire_ps(left)
        if busy and start <= busy[-1][1]:
            busy[-1][1] = end
        else:
            busy.append([start, end])

    def overlap(start: float, end: float, nth: int) -> float:
        return max(min(end, (nth + 1) * INTERVAL) - max(start, nth * INTERVAL), 0.0)

    result = []
    for nth in range(intervals):
        time = sum(overlap(start, end, nth) for start, end in busy)
        sent = sum(overlap(row["time_ps"], row["time_ps"] + wire_ps(row), nth) for row in departures)
        result.append(sent / time * LINK)
    return result


def advertised(frames: list[Row], additive: bool, intervals: int) -> list[float]:
    """The advertised rate after each interval."""
    ours = [row for row in frames if row["flow"].startswith("storage") and row["kind"] == "raw"]
    arrivals = [row for row in ours if row["event"] == "arrived"]
    departures = [row for row in ours if row["event"] == "sent" and row["port"] == "sw.3->h3"]
    rate = before = step = LINK / 20
    rates = [rate]
    for nth, capacity in enumerate(capacities(arrivals, departures, intervals)):
        end = (nth + 1) * INTERVAL
        came = sum(8 * (row["bytes"] + 20) for row in arrivals if 0 <= end - row["time_ps"] < INTERVAL)
        waits = sum(row["bytes"] for row in arrivals if row["time_ps"] < end)
        waits -= sum(row["bytes"] for row in departures if row["time_ps"] < end)
        load = came / INTERVAL * 1e12 / capacity
        if additive:
            load = min(max(load + 0.1 * (waits / SET_POINT - 1), load / 2), load / 0.1)
        elif waits <= SET_POINT:
            load /= 1.002 * SET_POINT / (0.002 * waits + SET_POINT)
        else:
            load /= max(0.1, 1.1 * SET_POINT / (0.1 * waits + SET_POINT))
        step *= 1.414 if waits < SET_POINT else 0.707 if waits > 72_000 else 1
        step = min(max(step, 0.001 * capacity), capacity)
        after = min(0.5 * rate / load + 0.5 * before, rate + step)
        rate, before = min(max(after, 0.001 * capacity), capacity), rate
        rates.append(rate)
    return rates


@pytest.mark.parametrize("control", ["hyperbolic", "additive"])
def test_the_rate_of_a_class_is_that_of_the_model(control: str) -> None:
    text = CLASS.replace("CONTROL", f', queue_control = "{control}"')
    result = ps.run(ps.Scenario.from_toml(text))
    frames = result.rows("frames")
    rates = advertised(frames, control == "additive", 29)
    for limiter in result.rows("rate_limiters"):
        flow = limiter["limiter"]
        tagged = [
            row["time_ps"]
            for row in frames
            if row["flow"] == flow and row["bytes"] == 1534 and row["event"] == "sent"
        ]
        back = [row["created_ps"] for row in frames if row["flow"] == flow and row["kind"] == "tag"]
        stamped = max(time for time in tagged if time < max(back))
        assert limiter["rate_end_bps"] == pytest.approx(rates[stamped // INTERVAL], rel=1e-6)
    assert rates[-1] < 2e9, "half of 30 % of the link"


FAT_TREE = """\
[simulation]
duration = "40 ms"
warmup = "20 ms"
[topology.fat_tree]
k = 4
rate = "10 Gb/s"
phy = "none"
[flow_control.pfc]
priorities = [3]
[host]
rate_limiters = { priorities = [3], fecn = { interval = "200 us" } }
[switch]
queue_managers = [{ classes = [3], fecn = { interval = "200 us", expected_sources = 4 AIM } }]
[switch.scheduler.ets]
classes = [{ queues = [0,1,2,4,5,6,7], percent = 40 }, { queues = [3], percent = 60 }]
""" + greedy(storage=('["h4", "h8", "h12", "h5"]', "h0", 3), lan=('["h6", "h9"]', "h0", 1))


def test_under_ets_and_pfc_on_a_fat_tree_all_get_the_same() -> None:
    result = ps.run(ps.Scenario.from_toml(FAT_TREE.replace("AIM", ', set_point = "10 kB"')))
    rates = [row["throughput_bps"] for row in result.rows("flows") if row["flow"].startswith("storage")]
    fair = 0.6 * LINK * 1522 / 1542 / 4
    assert rates == pytest.approx([fair] * 4, rel=0.02)


def warnings_of(text: str) -> list[str]:
    return [one for one in _core.warnings(text, "t.toml") if "set point" in one]


def test_a_set_point_above_xoff_is_warned_of() -> None:
    [warning] = warnings_of(FAT_TREE.replace("AIM", ""))
    assert "XOFF at a port" in warning and "advertised rates do not fall" in warning
    assert not warnings_of(FAT_TREE.replace("AIM", ', set_point = "10 kB"'))
    inputs = "switch.queueing.crossbar = {}"
    [warning] = warnings_of(SCOPES.replace("SCOPE", "queue").replace("QUEUEING", inputs).replace("TO", "h4"))
    assert "output_buffer" in warning
    assert not warnings_of(SCOPES.replace("SCOPE", "port").replace("QUEUEING", inputs).replace("TO", "h4"))


SCOPES = """\
simulation = { duration = "40 ms", warmup = "20 ms" }
topology.star = { hosts = 6, rate = "10 Gb/s", phy = "none" }
host.rate_limiters = { fecn = { interval = "200 us" } }
switch.queue_managers = [{ fecn = { interval = "200 us", scope = "SCOPE", queue_control = "linear" } }]
switch.scheduler.drr = {}
QUEUEING
""" + greedy(low=('["h0", "h1"]', "h4", 2), high=('["h2", "h3"]', "TO", 3))


def queued(scope: str, queueing: str = "", to: str = "h4") -> float:
    """Bytes that wait in the switch on average."""
    text = SCOPES.replace("SCOPE", scope).replace("QUEUEING", queueing).replace("TO", to)
    result = ps.run(ps.Scenario.from_toml(text))
    rates = [row["throughput_bps"] for row in result.rows("flows")]
    due = LINK * 1522 / 1542 * (1 if to == "h4" else 2) / 4
    assert rates == pytest.approx([due] * 4, rel=0.05)
    inputs = sum(row["bytes_mean"] for row in result.rows("crossbars")) if queueing else 0.0
    return inputs + sum(row["queue_bytes_mean"] for row in result.rows("queues") if "sw." in row["port"])


@pytest.mark.parametrize("to", ["h4", "h5"])
def test_each_queue_has_a_set_point_of_its_own(to: str) -> None:
    assert queued("queue", to=to) == pytest.approx(48_000, rel=0.15)


@pytest.mark.parametrize("queueing", ["", "switch.queueing.crossbar = {}"])
def test_a_port_has_one_set_point_for_all_its_classes(queueing: str) -> None:
    assert queued("port", queueing) == pytest.approx(24_000, rel=0.15)


@pytest.mark.parametrize("queueing", ["", "switch.queueing.crossbar = {}"])
def test_a_switch_has_one_set_point_for_all_its_ports(queueing: str) -> None:
    assert queued("switch", queueing, "h5") == pytest.approx(24_000, rel=0.15)
