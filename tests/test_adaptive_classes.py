"""DRR-AWC within a class of ETS, its whole weights, XON at each dequeue, and retry on links with credits."""

from __future__ import annotations

import pytest

import penstock as ps

LINK = 10e9

ETS = """\
simulation = { duration = "12 ms", warmup = "4 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", phy = "none" }
[switch.scheduler.ets]
classes = [{ queues = [0, 1, 2, 3], percent = SHARE WITHIN }, { queues = [4, 5, 6, 7], percent = REST }]
[[flows]]
name = "small"
from = "h0"
to = "h3"
priority = 1
frame = "SIZE B"
source = "greedy"
[[flows]]
name = "large"
from = "h1"
to = "h3"
priority = 2
source = "greedy"
[[flows]]
name = "other"
from = "h2"
to = "h3"
priority = 5
source = "greedy"
"""


def run(text: str) -> ps.Result:
    return ps.run(ps.Scenario.from_toml(text))


def shares(within: str, size: int = 68, share: int = 60) -> tuple[list[float], float]:
    """Goodput of the flows of the shared class, and the wire rate of that class."""
    text = ETS.replace("WITHIN", within).replace("SIZE", str(size))
    rows = run(text.replace("SHARE", str(share)).replace("REST", str(100 - share))).rows("flows")[:2]
    lengths = [size, 1522]
    wire = [row["throughput_bps"] * (length + 20) / length for row, length in zip(rows, lengths, strict=True)]
    return [row["goodput_bps"] for row in rows], sum(wire)


def weight(size: int) -> float:
    """Formulas 6.1 and 6.2."""
    return -0.008 * size + 2.276 if size <= 146 else -8.555e-5 * size + 1.106


@pytest.mark.parametrize("share", [30, 60])
@pytest.mark.parametrize("size", [68, 128, 512])
def test_weights_within_a_class_are_those_of_algorithm_1(size: int, share: int) -> None:
    goodput, wire = shares(', drr_awc = { interval = "1 ms" }', size, share)
    quanta = weight(size) / weight(1522)
    payload = (size - 18) / (size + 20) / ((1522 - 18) / 1542)
    assert goodput[0] / goodput[1] == pytest.approx(quanta * payload, rel=0.03)
    assert wire == pytest.approx(share / 100 * LINK, rel=0.02)


def test_whole_weights_are_plain_round_robin() -> None:
    """Each sum of fractions is cut: 1.73 to 1, and 0.98 to 0, which is not a weight."""
    whole, _ = shares(', drr_awc = { interval = "1 ms", total_weight = "integer" }')
    plain, _ = shares("")
    fraction, _ = shares(', drr_awc = { interval = "1 ms" }')
    assert whole == pytest.approx(plain, rel=0.01)
    assert fraction[0] > 1.2 * whole[0]


@pytest.mark.parametrize(
    ("within", "message"),
    [
        (", drr_awc = { accounted_length = 'frame' }", "counts frames otherwise than ets"),
        (", drr_awc = { interval = '0 s' }", "interval of drr_awc is zero"),
    ],
)
def test_what_cannot_be_meant(within: str, message: str) -> None:
    with pytest.raises(ps.ScenarioError, match=message):
        shares(within)


TPFC = """\
simulation = { duration = "3 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", phy = "none" }
[flow_control.pfc]
accounting = "egress"
xoff = "60 frames"
xon = "11 frames"
target = { method = "fair_bandwidth", watermark = "50 frames", xon_sent = "XON" }
QUEUEING
[[flows]]
name = "victim"
from = ["h0", "h1"]
to = "h3"
source = { constant = { rate = "2 Gb/s" } }
[[flows]]
name = "aggressor"
from = "h2"
to = "h3"
source = "greedy"
[[probes]]
what = "frames"
which = ["sw.3->h3"]
"""


@pytest.mark.parametrize("queueing", ["", "[switch.queueing]\ncrossbar = {}"])
def test_xon_at_each_dequeue_goes_to_all_partners(queueing: str) -> None:
    def counts(xon: str) -> tuple[list[int], ps.Result]:
        result = run(TPFC.replace("XON", xon).replace("QUEUEING", queueing))
        ports = {row["port"]: row for row in result.rows("ports")}
        return [ports[f"sw.{host}->h{host}"]["resumes_sent"] for host in range(3)], result

    once, before = counts("once")
    each, after = counts("every_dequeue")
    # Only the aggressor is paused, so that XON goes to it alone unless each dequeue sends it.
    assert once[0] == once[1] == 0 < once[2]
    assert min(each) > 100 and max(each) > max(once)
    for result in (before, after):
        assert sum(row["frames_dropped"] for row in result.rows("flows")) == 0
    rates = [[row["throughput_bps"] for row in result.rows("flows")] for result in (before, after)]
    assert rates[1] == pytest.approx(rates[0], rel=0.02)


CREDITS = """\
simulation = { duration = "20 ms" }
topology.star = { hosts = 3, rate = "2 Gb/s", phy = "none" }
link = { llr = { replay_timer_max = "60 us" } }
[flow_control.credit]
buffer = "8704 B"
[[flows]]
name = "f"
from = ["h0", "h1"]
to = "h2"
frame = "2176 B"
source = "greedy"
[[faults]]
link = ["sw", "h2"]
bit_error_rate = RATE
"""


@pytest.mark.parametrize("rate", [1e-7, 3e-6])
def test_credit_links_repeat_damaged_frames(rate: float) -> None:
    """With sequence numbers, CRC and retry nothing is lost, and no credit either."""
    result = run(CREDITS.replace("RATE", str(rate)))
    assert sum(row["frames_dropped"] for row in result.rows("flows")) == 0
    [link] = [row for row in result.rows("link_retries") if row["port"] == "sw.2->h2"]
    damaged = link["damaged_frames"] + sum(
        row["damaged_frames"] for row in result.rows("link_retries") if row["port"] == "h2.0->sw"
    )
    sent = link["frames"] + link["replayed_frames"]
    # Binomial: each frame is damaged with this probability, within four deviations.
    chance = 1 - (1 - rate) ** (8 * 2176)
    assert abs(damaged - sent * chance) <= 4 * (sent * chance) ** 0.5 + 1
    delivered = sum(row["frames_delivered"] for row in result.rows("flows"))
    busy = (delivered + link["replayed_frames"]) * 8 * 2196 / 2e9
    assert busy == pytest.approx(20e-3, rel=0.1)
