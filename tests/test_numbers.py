"""Numbers that a run reports: goodput, ideal times, times of queue pairs, timeouts, queues of classes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import _core
from penstock.library import Source
from penstock.running import estimate
from penstock.validation.bench import flow_text

STAR = """\
[simulation]
duration = "{duration}"
[topology.star]
hosts = {hosts}
rate = "{rate} Gb/s"
delay = "0.5 us"
phy = "none"
"""


def run(text: str) -> ps.Result:
    return ps.run(ps.Scenario.from_toml(text))


def star(duration: str, hosts: int = 2, rate: int = 10) -> str:
    return STAR.format(duration=duration, hosts=hosts, rate=rate)


def column(result: ps.Result, table: str, name: str) -> list[float]:
    return [row[name] for row in result.rows(table)]


# Goodput


LOSSY = """\
[[faults]]
link = ["sw", "h1"]
towards = "h1"
frame_loss = {loss}
[[flows]]
name = "f"
from = "h0"
to = "h1"
priority = 3
frame = "1100 B"
"""


def test_goodput_of_go_back_n_is_what_arrives_in_order() -> None:
    text = star("5 ms", rate=100) + LOSSY.format(loss=0.01)
    text += 'source = { rdma = { control = "none", mtu = "1000 B", ack_every = 1 } }\n'
    result = run(text)
    [flow], [pair] = result.rows("flows"), result.rows("queue_pairs")
    in_order = pair["packets_delivered"] * (1066 - 18) * 8 / 5e-3
    assert flow["goodput_bps"] == pytest.approx(in_order, rel=1e-9)
    assert in_order < 0.7 * flow["throughput_bps"]
    assert flow["frames_discarded"] == flow["frames_delivered"] - pair["packets_delivered"]
    totals = {row["name"]: row["value"] for row in result.rows("summary")}
    assert totals["goodput"] == pytest.approx(flow["goodput_bps"])


SOURCES = {
    "go back N": '{ rdma = { control = "none", mtu = "1000 B" } }',
    "selective": '{ rdma = { control = "none", recovery = "selective", timeout = "200 us" } }',
    "tcp": '{ tcp = { recovery = "newreno" } }',
    "tcp with sack": '{ tcp = { recovery = "sack" } }',
    "window": '{ window = { size = "20 kB", timeout = "1 ms" } }',
    "iwarp": '{ conversation = { messages = "iwarp_write", outstanding = 2 } }',
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("loss", [0.0, 0.003])
def test_goodput_counts_what_the_application_gets(source: str, loss: float) -> None:
    """Every byte once: without losses all that arrives, else no more than was sent for the first time."""
    [flow] = run(star("20 ms") + LOSSY.format(loss=loss) + f"source = {source}\n").rows("flows")
    headers = 18 * 8 * flow["frames_delivered"] / 20e-3
    received = flow["throughput_bps"] - headers
    if loss == 0:
        assert flow["frames_discarded"] == 0
        assert flow["goodput_bps"] == pytest.approx(received, rel=1e-9)
    else:
        assert 0 < flow["goodput_bps"] <= received * (1 + 1e-12)
        if source == SOURCES["go back N"]:
            assert flow["frames_discarded"] > 0


# Ideal times

VERBS = {
    "frames": '"frames"',
    "tcp": "{ tcp = {} }",
    "send": '{ rdma = { control = "none", verb = "send" } }',
    "write": '{ rdma = { control = "none", verb = "write" } }',
    "read": '{ rdma = { control = "none", verb = "read" } }',
    "write, small MTU": '{ rdma = { control = "none", verb = "write", mtu = "256 B" } }',
    "read, odd MTU": '{ rdma = { control = "none", verb = "read", mtu = "333 B" } }',
    "send, selective": '{ rdma = { control = "none", recovery = "selective", window = "1 MB" } }',
    "write, a byte": '{ rdma = { control = "none", verb = "write", mtu = "1 B", headers = "50 B" } }',
}
SWITCHES = {
    "output queues": "",
    "crossbar": "switch.queueing = { crossbar = { speedup = 2 } }\n",
    "slow crossbar": "switch.queueing = { crossbar = { speedup = 1 } }\n",
    "cut-through": 'switch.forwarding = "cut_through"\n',
    "cut-through crossbar": (
        'switch.forwarding = "cut_through"\nswitch.queueing = { crossbar = { speedup = 1.5 } }\n'
    ),
    "latency": 'switch.latency = "300 ns"\n',
    "contexts": 'host.rdma = { contexts = 4, context_fetch = "700 ns" }\n',
}


def alone(over: str, switch: str, size: str, topology: str) -> str:
    return f"""\
simulation = {{ duration = "20 ms" }}
{topology}
{switch}
[[transfers]]
name = "t"
from = "h0"
to = "h1"
sizes = "{size}"
arrivals = "once"
priority = 3
over = {over}
"""


@pytest.mark.parametrize("over", VERBS.values(), ids=VERBS.keys())
@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES.keys())
def test_a_lone_transfer_has_a_slowdown_of_one(over: str, switch: str) -> None:
    for rate, hosts in [(10, 2), (40, 3)]:
        topology = (
            f'topology.star = {{ hosts = {hosts}, rate = "{rate} Gb/s", delay = "0.7 us", phy = "none" }}'
        )
        for size in ["1 B", "70 B", "1000 B", "4097 B", "100 kB"]:
            [row] = run(alone(over, switch, size, topology)).rows("transfers")
            assert row["slowdown"] == pytest.approx(1, abs=1e-9), (rate, size, row["completion_ns"])


def test_rates_that_rise_raise_the_ideal() -> None:
    text = (
        star("4 ms")
        + """\
[[transfers]]
name = "t"
from = "h0"
to = "h1"
sizes = "100 kB"
arrivals = { poisson = { gap = "300 us" } }
priority = 3
over = { rdma = { control = "none" } }
[[faults]]
link = ["h0", "sw"]
at = "1 ms"
rate = "40 Gb/s"
[[faults]]
link = ["sw", "h1"]
at = "1 ms"
rate = "40 Gb/s"
"""
    )
    rows = run(text).rows("transfers")
    slowdowns = [row["slowdown"] for row in rows if row["slowdown"] is not None]
    assert len(slowdowns) > 5 and min(slowdowns) >= 1 - 1e-12
    late = [row for row in rows if row["start_ns"] > 1e6 and row["slowdown"]]
    assert min(row["slowdown"] for row in late) == pytest.approx(1, abs=1e-9)


# Timers and times of queue pairs


def nothing_arrives(begin: str, end: str) -> str:
    """A fault that loses all frames to h1 for a while."""
    times = f'from = "{begin}"\nuntil = "{end}"\n'
    return f'[[faults]]\nlink = ["sw", "h1"]\ntowards = "h1"\nframe_loss = 1.0\n{times}'


def survivor(text: str) -> dict[str, Any]:
    """The only queue pair of a scenario, which has not failed."""
    [pair] = run(text).rows("queue_pairs")
    assert pair["failed_ns"] is None or math.isnan(pair["failed_ns"])
    return pair


def test_a_queue_pair_survives_a_pacer_that_is_slower_than_its_timeouts() -> None:
    text = (
        star("40 ms")
        + """\
[switch]
queue_managers = [{ classes = [3], step = { threshold = "100 B", counts = "with_frame" } }]
[[flows]]
name = "f"
from = "h0"
to = "h1"
priority = 3
[flows.source.rdma]
control = { dcqcn = { time_reset = "1 s", byte_reset = "never" } }
cnp_gap = "1 us"
recovery = "selective"
timeout = "320 us"
low_timeout = "100 us"
"""
    )
    pair = survivor(text + nothing_arrives("10000 us", "10900 us"))
    assert pair["packets_sent_again"] == pair["timeouts"] == 1
    assert pair["packets_delivered"] > 50


def test_a_queue_pair_survives_a_pause_that_is_longer_than_its_retries() -> None:
    pause = "0180c2000001 0200000000ff 8808 0101 0008 000000000000ffff" + "0" * 52
    text = (
        star("30 ms")
        + f"""\
[flow_control.pfc]
priorities = [3]
[[flows]]
name = "f"
from = "h0"
to = "h1"
priority = 3
limit = "2 MB"
source = {{ rdma = {{ control = "none", recovery = "selective", timeout = "320 us" }} }}
[[faults]]
link = ["h0", "sw"]
towards = "h0"
at = "500 us"
control_frame = "{pause}"
"""
    )
    pair = survivor(text + nothing_arrives("502 us", "504 us"))
    assert pair["timeouts"] <= 1 and pair["packets_delivered"] == 1954


def test_go_back_n_has_no_timeouts_where_nothing_is_lost() -> None:
    """Acknowledgements of every 64th packet take longer than the timeout to come."""
    text = (
        star("100 ms", hosts=17)
        + """\
[[switch.queue_managers]]
classes = [3]
[switch.queue_managers.red]
weight = 1
min = "40 kB"
max = "160 kB"
max_probability = 0.2
gentle = false
action = "mark_only"
spacing = "geometric"
[[transfers]]
name = "t"
from = "h0..h15"
to = "h16"
sizes = "1 MB"
arrivals = { incast = { every = "1 s" } }
priority = 3
over = { rdma = { verb = "write", control = "dcqcn", timeout = "500 us" } }
"""
    )
    result = run(text)
    assert sum(column(result, "queue_pairs", "timeouts")) == 0
    assert sum(column(result, "queue_pairs", "packets_sent_again")) == 0


@pytest.mark.parametrize("overhead", [20, 38, 2000])
def test_times_of_a_queue_pair_have_the_overhead_of_its_link(overhead: int) -> None:
    text = f"""\
simulation = {{ duration = "20 ms" }}
topology.star = {{ hosts = 2, rate = "10 Gb/s", delay = "0.5 us", overhead = "{overhead} B", phy = "none" }}
[[transfers]]
name = "t"
from = "h0"
to = "h1"
sizes = "1024000 B"
arrivals = "once"
priority = 3
over = {{ rdma = {{ control = "none" }} }}
"""
    result = run(text)
    # Until the NIC takes the last packet: two are still to be sent then.
    [message], [transfer] = result.rows("message_times"), result.rows("transfers")
    assert message["sending_ns"] == pytest.approx(998 * (1090 + overhead) * 0.8, abs=1)
    assert message["host_ns"] <= 1
    parts = [value for name, value in message.items() if name.endswith("_ns")]
    assert 0 <= transfer["acknowledged_ns"] - sum(parts) < 1


@pytest.mark.parametrize("verb", ["write", "read"])
def test_parts_of_message_times_add_up(verb: str) -> None:
    text = (
        star("20 ms", hosts=5, rate=25)
        + f"""\
[flow_control.pfc]
priorities = [3]
[[switch.queue_managers]]
classes = [3]
step = {{ threshold = "20 kB" }}
[[transfers]]
name = "t"
from = "h0..h3"
to = "h4"
sizes = {{ uniform = {{ min = "100 B", max = "300 kB" }} }}
arrivals = {{ poisson = {{ load = 0.9 }} }}
stop = "5 ms"
priority = 3
over = {{ rdma = {{ control = "dcqcn", verb = "{verb}" }} }}
"""
    )
    result = run(text)
    transfers, messages = result.rows("transfers"), result.rows("message_times")
    assert len(messages) > 20
    for message in messages:
        transfer = transfers[message["transfer"]]
        whole = transfer["completion_ns" if verb == "read" else "acknowledged_ns"]
        parts = sum(value for name, value in message.items() if name.endswith("_ns"))
        assert -1e-3 <= whole - parts < 1, (message, whole)


def test_transfers_have_the_ids_of_their_list(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(
        "time_us,from,to,bytes,id,after\n1,h0,h1,1000,first,\n2,h0,h1,1000,,\n,h1,h0,1000,answer,first\n"
    )
    entry = (
        'name = "t"\narrivals = { file = "list.csv" }\npriority = 3\nover = { rdma = { control = "none" } }\n'
    )
    scenario = tmp_path / "s.toml"
    scenario.write_text(star("1 ms") + "[[transfers]]\n" + entry)
    result = ps.run(ps.Scenario.from_file(scenario))
    assert column(result, "transfers", "id") == ["first", "", "answer"]


# NICs


def test_cnps_in_the_queue_of_data_leave_no_frames_behind() -> None:
    """A host sends data and CNPs through one queue: two frames of an endpoint wait there."""
    text = """\
simulation = { duration = "20 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "0.5 us", phy = "none" }
host = { queues = "shared" }
[switch]
queue_managers = [{ classes = [3], step = { threshold = "10 kB" } }]
[[flows]]
name = "x"
from = "h0..h1"
to = "h2"
priority = 3
source = { rdma = { control = { dcqcn = { preset = "mlx" } }, cnp_gap = "4 us" } }
[[flows]]
name = "z"
from = "h2"
to = "h3"
priority = 3
frame = "4200 B"
source = { rdma = { control = "none" } }
"""
    result = run(text)
    assert sum(column(result, "queue_pairs", "cnps_sent")) > 500
    [port] = [row for row in result.rows("ports") if row["port"] == "h2.0->sw"]
    assert port["queue_bytes_max"] < 2 * 4162 + 3 * 82
    [z] = [row for row in result.rows("flows") if row["flow"] == "z"]
    assert z["latency_max_ns"] < 50e3


# Controls


@pytest.mark.parametrize("senders", [1, 2])
def test_theta_powertcp_fills_its_link(senders: int) -> None:
    text = (
        star("10 ms", hosts=senders + 1, rate=25)
        .replace("[topology", 'warmup = "5 ms"\n[topology')
        .replace("0.5 us", "1 us")
        + f"""\
[[flows]]
name = "pair"
from = "h0..h{senders - 1}"
to = "h{senders}"
priority = 3
frame = "1100 B"
source = {{ rdma = {{ mtu = "1000 B", control = {{ theta_powertcp = {{ ai_rate = "150 Mb/s" }} }} }} }}
"""
    )
    assert max(column(run(text), "ports", "utilisation")) > 0.985


ETS = """\
[simulation]
duration = "100 ms"
warmup = "50 ms"
[topology.star]
hosts = 4
rate = "10 Gb/s"
phy = "none"
[host]
rate_limiters = {{ priorities = [3], fecn = {{ interval = "200 us" }} }}
[switch]
queue_managers = [{{ classes = [3], fecn = {{ interval = "200 us" }} }}]
[switch.scheduler.ets]
classes = [ {{ queues = [0,1,2,4,5,6,7], percent = {rest} }}, {{ queues = [3], percent = {share} }} ]
[switch.buffer]
class = "4 MB"
{storage}{lan}
"""
STORAGE = flow_text("storage", '["h0", "h1"]', "h3", "priority = 3", 'source = "greedy"')
LAN = flow_text("lan", "h2", "h3", "priority = 0", 'source = "greedy"')


@pytest.mark.parametrize("share", [10, 30, 60])
def test_fecn_holds_the_queue_of_a_class_at_its_set_point(share: int) -> None:
    result = run(ETS.format(storage=STORAGE, share=share, rest=100 - share, lan=LAN))
    [queue] = [row for row in result.rows("queues") if row["port"] == "sw.3->h3" and row["class"] == 3]
    assert 12e3 < queue["queue_bytes_mean"] < 48e3
    storage = sum(row["throughput_bps"] for row in result.rows("flows") if row["flow"].startswith("storage"))
    assert storage > 0.9 * share / 100 * 10e9 * 1522 / 1542


def test_fecn_has_the_whole_link_while_other_classes_are_idle() -> None:
    result = run(ETS.format(storage=STORAGE, share=30, rest=70, lan=""))
    assert sum(column(result, "flows", "throughput_bps")) > 0.9 * 10e9 * 1500 / 1542


BESIDE = {
    "qcn": (
        "rate_limiters = { priorities = [3], qcn = {} }",
        'queue_managers = [{ classes = [3], qcn = { scope = "port", sampling = "random" } }]',
    ),
    "prc": (
        'rate_limiters = { per = "path", priorities = [3], prc = {} }',
        "queue_managers = [{ classes = [3], prc = {} }]",
    ),
}


@pytest.mark.parametrize("control", BESIDE)
def test_check_warns_of_controls_beside_classes_without_one(control: str) -> None:
    host, switch = BESIDE[control]
    flow = '[[flows]]\nname = "{0}"\nfrom = "{1}"\nto = "h3"\npriority = {2}\nsource = "greedy"\n'
    text = star("1 ms", hosts=4) + f"[host]\n{host}\n[switch]\n{switch}\n" + flow.format("storage", "h0", 3)
    output = _core.warnings(text, "t.toml")
    assert not any("without it" in warning for warning in output)
    text += flow.format("lan", "h1", 0)
    output = _core.warnings(text, "t.toml")
    assert any("without it" in warning and "lan" in warning for warning in output), output


# Estimates


def rings(hosts: int, steps: int) -> str:
    lines = ["time_us,from,to,bytes,id,after"]
    for step in range(steps):
        for host in range(hosts):
            after = f"s{step - 1}h{(host - 1) % hosts}" if step else ""
            start = "" if after else "0"
            lines.append(f"{start},h{host},h{(host + 1) % hosts},20000,s{step}h{host},{after}")
    return "\n".join(lines) + "\n"


def test_estimates_of_transfers_that_wait(tmp_path: Path) -> None:
    (tmp_path / "rings.csv").write_text(rings(32, 1500))
    entry = '[[transfers]]\nname = "t"\narrivals = { file = "rings.csv" }\npriority = 3\n'
    entry += 'over = { rdma = { control = "none" } }\n'
    scenario = tmp_path / "s.toml"
    scenario.write_text(star("2 s", hosts=32, rate=100) + entry)
    source = Source(scenario.read_text(), str(scenario))
    output = estimate.estimate(source, threads=1)
    took = ps.run(ps.Scenario.from_file(scenario))
    assert output.frame_hops == pytest.approx(took.run["frame_hops"], rel=1 / 3)
