"""Crossbars with queues at inputs and outputs: targeted pauses, limits of the buffer, path rates."""

from __future__ import annotations

import pytest

import penstock as ps

LINK = 10e9
FRAME = 1522
FULL = LINK * FRAME / (FRAME + 20)

STAR = """\
simulation = { duration = "10 ms", warmup = "2 ms" }
topology.star = { hosts = 5, rate = "10 Gb/s", phy = "none" }
"""
INPUTS = ["{}", '{ arbitration = "islip" }', '{ inputs = "fifo" }']


def run(text: str) -> ps.Result:
    return ps.run(ps.Scenario.from_toml(text))


def flow(name: str, senders: str, source: str, to: str = "h4") -> str:
    return f'[[flows]]\nname = "{name}"\nfrom = {senders}\nto = "{to}"\npriority = 3\nsource = {source}\n'


def paused(result: ps.Result) -> dict[str, float]:
    return {
        row["port"]: row["pauses_received"] for row in result.rows("ports") if row["port"].startswith("h")
    }


@pytest.mark.parametrize("method", ["fair_bandwidth", "random_sampling", "max_min"])
@pytest.mark.parametrize("crossbar", INPUTS[:2])
def test_the_aggressor_is_the_target(method: str, crossbar: str) -> None:
    text = STAR + f"switch.queueing.crossbar = {crossbar}\n"
    text += '[flow_control.pfc]\naccounting = "egress"\nxoff = "100 kB"\nxon = "20 kB"\n'
    text += f'target = {{ method = "{method}", watermark = "60 kB" }}\n'
    victims = flow("victim", '["h0", "h1"]', '{ constant = { rate = "2 Gb/s" } }')
    result = run(text + victims + flow("aggressor", '"h2"', '"greedy"'))
    stops = paused(result)
    assert stops["h2.0->sw"] > 20
    assert stops["h2.0->sw"] > 4 * max(stops["h0.0->sw"], stops["h1.0->sw"])
    rates = {row["flow"]: row["throughput_bps"] for row in result.rows("flows")}
    assert rates["victim[h0]"] == pytest.approx(2e9, rel=0.02)
    assert rates["aggressor"] == pytest.approx(FULL - 4e9, rel=0.02)
    assert sum(row["frames_dropped"] for row in result.rows("flows")) == 0


def test_without_targets_all_partners_are_paused() -> None:
    text = STAR + 'switch.queueing.crossbar = {}\n[flow_control.pfc]\naccounting = "egress"\n'
    text += 'xoff = "60 kB"\nxon = "20 kB"\n'
    victims = flow("victim", '["h0", "h1"]', '{ constant = { rate = "2 Gb/s" } }')
    stops = paused(run(text + victims + flow("aggressor", '"h2"', '"greedy"')))
    assert stops["h0.0->sw"] == stops["h1.0->sw"] == stops["h2.0->sw"] > 20


@pytest.mark.parametrize("limit", ["queue", "port", "class", "total"])
@pytest.mark.parametrize("crossbar", INPUTS)
def test_limits_count_inputs_and_outputs(limit: str, crossbar: str) -> None:
    text = STAR + f'switch = {{ queueing.crossbar = {crossbar}, buffer.{limit} = "40 frames" }}\n'
    result = run(text + flow("f", '["h0", "h1", "h2"]', '"greedy"'))
    flows = result.rows("flows")
    assert sum(row["throughput_bps"] for row in flows) == pytest.approx(FULL, rel=0.01)
    assert sum(row["frames_dropped"] for row in flows) > 1_000
    # 40 frames are in the switch, and one is on the link: none waits longer than they take.
    longest = 41 * 8 * (FRAME + 20) / LINK * 1e9
    latest = max(row["latency_max_ns"] for row in flows)
    own_link = 8 * (FRAME + 20) / LINK * 1e9
    assert 0.9 * longest < latest < longest + 3 * own_link


@pytest.mark.parametrize("crossbar", INPUTS[:2])
@pytest.mark.parametrize("method", ["feedback", "probes", "messages"])
def test_path_rates_go_by_what_waits_at_inputs_too(crossbar: str, method: str) -> None:
    text = STAR.replace('"10 ms", warmup = "2 ms"', '"20 ms", warmup = "10 ms"')
    text += f'host.rate_limiters = {{ per = "path", prc = {{ method = "{method}" }} }}\n'
    point = "{ messages = true }" if method == "messages" else "{}"
    switch = f"switch.queue_managers = [{{ prc = {point} }}]\n"
    senders = flow("f", '["h0", "h1", "h2"]', '"greedy"')
    plain = run(text + switch + senders)
    crossed = run(text + switch + f"switch.queueing.crossbar = {crossbar}\n" + senders)

    def waits(result: ps.Result) -> float:
        queue = sum(row["queue_bytes_mean"] for row in result.rows("queues") if row["port"] == "sw.4->h4")
        return queue + sum(row["bytes_mean"] for row in result.rows("crossbars"))

    def rate(result: ps.Result) -> float:
        return sum(row["throughput_bps"] for row in result.rows("flows"))

    assert rate(crossed) == pytest.approx(rate(plain), rel=0.03)
    assert waits(crossed) == pytest.approx(waits(plain), rel=0.35)
    assert waits(crossed) < 30_000
