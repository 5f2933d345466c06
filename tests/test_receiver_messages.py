"""Method 2 of path rate control from a slow receiver, and RED beside path rate control in one queue."""

from __future__ import annotations

import itertools

import pytest

import penstock as ps

SLOW = """\
[simulation]
duration = "20 ms"
warmup = "4 ms"
[topology.star]
hosts = {hosts}
rate = "10 Gb/s"
phy = "none"
[host]
rate_limiters = {{ per = "path", prc = {{ method = "messages" }} }}
[hosts.h0.receive]
rate = "{rate}"
buffer = "64 KiB"
[[flows]]
name = "f"
from = {senders}
to = "h0"
source = "greedy"
"""
POINTS = "[switch]\nqueue_managers = [{ prc = { messages = true } }]\n"


def run(text: str) -> ps.Result:
    return ps.run(ps.Scenario.from_toml(text))


def lost(result: ps.Result) -> int:
    return sum(row["frames_dropped"] for row in result.rows("flows"))


@pytest.mark.parametrize(
    ("rate", "hosts", "points"),
    [("2 Gb/s", 2, POINTS), ("2 Gb/s", 2, ""), ("6 Gb/s", 2, ""), ("2 Gb/s", 5, POINTS), ("5 Gb/s", 5, "")],
)
def test_a_slow_receiver_slows_its_senders(rate: str, hosts: int, points: str) -> None:
    senders = str([f"h{host}" for host in range(1, hosts)])
    result = run(SLOW.format(rate=rate, hosts=hosts, senders=senders) + points)
    flows = result.rows("flows")
    assert lost(result) == 0
    served = float(rate.split()[0]) * 1e9
    # The core takes frames in at its rate; the throughput counts what it has taken in.
    assert sum(row["throughput_bps"] for row in flows) == pytest.approx(served, rel=0.05)
    limiters = result.rows("rate_limiters")
    assert all(row["messages"] > 10 for row in limiters if row["host"] != "h0")


def test_messages_are_spaced_and_begin_at_their_level() -> None:
    """A message leaves at most every 10 us; none leaves below 16 % of the buffer."""
    text = SLOW.format(rate="2 Gb/s", hosts=2, senders='"h1"')
    text += '[[probes]]\nwhat = "frames"\nwhich = ["sw.*"]\n'
    frames = run(text).rows("frames")
    sent = [row["time_ps"] for row in frames if row["kind"] == "cnm" and row["event"] == "arrived"]
    assert len(sent) > 50
    gaps = [after - before for before, after in itertools.pairwise(sent)]
    assert min(gaps) >= 10_000_000
    # What waits at the receiver, which takes frames in at 2 Gb/s.
    waits, last, levels = 0.0, 0, []
    for row in frames:
        if row["kind"] == "raw" and row["event"] == "sent" and row["port"] == "sw.0->h0":
            waits = max(0.0, waits - (row["time_ps"] - last) * 2e9 / 8e12)
            levels.append((row["time_ps"], waits))
            waits, last = waits + row["bytes"], row["time_ps"]
    caused = [max(level for time, level in levels if time < at) for at in sent[:1]]
    assert caused[0] > 0.16 * 65_536 - 2 * 1_522


def test_without_a_receive_buffer_or_points_no_one_reports() -> None:
    text = SLOW.format(rate="2 Gb/s", hosts=2, senders='"h1"')
    text = text.replace('[hosts.h0.receive]\nrate = "2 Gb/s"\nbuffer = "64 KiB"\n', "")
    with pytest.raises(ps.ScenarioError, match="no switch on its paths"):
        run(text)


BOTH = """\
simulation = { duration = "10 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", phy = "none" }
host.rate_limiters = { per = "path", prc = {} }
MANAGERS
[[flows]]
name = "f"
from = ["h0", "h1", "h2"]
to = "h3"
source = "greedy"
"""
RED = '{ red = { min = "MIN", max = "64 kB", weight = 1.0 } }'


def both(managers: str) -> ps.Result:
    return run(BOTH.replace("MANAGERS", f"switch.queue_managers = [{managers}]"))


def test_red_drops_where_path_rates_alone_let_queues_grow() -> None:
    alone = both("{ prc = {} }")
    beside = both("{ prc = {} }, " + RED.replace("MIN", "6 kB"))
    other_order = both(RED.replace("MIN", "6 kB") + ", { prc = {} }")
    classes = both("{ classes = [0], prc = {} }, { classes = [0], " + RED.replace("MIN", "6 kB")[1:])
    assert lost(alone) == 0 < lost(beside)
    assert lost(other_order) == lost(beside)
    assert lost(classes) == lost(beside)
    # Above all that waits RED has no effect, and the trajectory is that without it.
    far = both("{ prc = {} }, " + RED.replace("MIN", "60 kB"))
    assert far.rows("flows") == alone.rows("flows")


def test_other_managers_do_not_share_a_class() -> None:
    for managers in ("{ qcn = {} }, { red = {} }", "{ prc = {} }, { red = {} }, { red = {} }"):
        with pytest.raises(ps.ScenarioError, match="prc and red may share classes"):
            both(managers)
