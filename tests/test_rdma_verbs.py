"""READ, WRITE and SEND of RDMA, receivers that are not ready, and limits of NICs, by closed forms."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import penstock as ps
from penstock import _core
from penstock.interchange.captures import write_capture

if TYPE_CHECKING:
    from pathlib import Path

LINK = 100e9
ON_WIRE = 20
HEADERS = 66

STAR = """\
[simulation]
duration = "{duration}"
[topology.star]
hosts = {hosts}
rate = "100 Gb/s"
delay = "500 ns"
phy = "none"
{more}
"""

FLOW = """\
[[flows]]
name = "f{n}"
from = "{source}"
to = "{to}"
frame = "{frame}"
source = {{ rdma = {{ control = "none", {keys} }} }}
"""


def run(
    flows: list[str], *, hosts: int, duration: str = "1 ms", more: str = "", threads: int = 1
) -> ps.Result:
    text = STAR.format(duration=duration, hosts=hosts, more=more) + "".join(flows)
    return ps.run(ps.Scenario.from_toml(text), threads=threads)


def flow(n: int, source: str, to: str, keys: str, frame: str = "1200 B") -> str:
    return FLOW.format(n=n, source=source, to=to, keys=keys, frame=frame)


def test_read_fills_a_lossless_link() -> None:
    reads = [flow(0, "h1", "h0", 'verb = "read", mtu = "1000 B", message = "100 kB"')]
    [row] = run(reads, hosts=2, duration="2 ms").rows("queue_pairs")
    # A request there, data back: two links each, and a packet that the switch stores.
    read = 100 * (1000 + HEADERS + ON_WIRE) + 2 * 4
    request = 2 * (82 + ON_WIRE) * 8 / LINK + 2 * 500e-9
    last = (1000 + HEADERS + 4 + ON_WIRE) * 8 / LINK + 2 * 500e-9
    whole = math.floor((2e-3 - request - last) * LINK / 8 / read)
    assert row["messages"] == row["messages_delivered"] == whole
    assert (row["verb"], row["application_bytes"]) == ("read", whole * 100_000)
    assert (row["packets_sent_again"], row["timeouts"]) == (0, 0)


def test_what_no_one_acknowledges_is_not_under_way_for_ever() -> None:
    """A responder that was asked for nothing more hears nothing more."""
    reads = [flow(0, "h1", "h0", 'verb = "read", mtu = "1000 B"') + 'limit = "100 kB"\n']
    [row] = run(reads, hosts=2).rows("queue_pairs")
    packet = (1000 + HEADERS + ON_WIRE) * 8 / LINK * 1e9
    # Its NIC takes a packet while the one before is on the wire.
    assert row["sending_ns"] == pytest.approx(99.5 * packet, abs=packet)
    assert row["under_way_ns"] == 0


@pytest.mark.parametrize("senders", [1, 3])
def test_a_nic_begins_messages_at_its_rate(senders: int) -> None:
    """All queue pairs of a host share it: at most one message each microsecond, whatever its length."""
    keys = 'mtu = "64 B", message = "64 B"'
    flows = [flow(n, "h0", f"h{n + 1}", keys) for n in range(senders)]
    rows = run(flows, hosts=senders + 1, more="[host.rdma]\nmessage_rate = 1000000\n").rows("queue_pairs")
    sent = [row["packets_sent"] for row in rows]
    assert sum(sent) == 1000
    assert max(sent) - min(sent) <= 1
    # Packets behind the first one of a message cost nothing.
    long = [flow(0, "h0", "h1", 'mtu = "1000 B", message = "10 kB"')]
    [row] = run(long, hosts=2, more="[host.rdma]\nmessage_rate = 1000000\n").rows("queue_pairs")
    expected = 1e-3 * LINK / 8 / (10 * (1000 + HEADERS + ON_WIRE))
    assert row["packets_sent"] / 10 == pytest.approx(min(1000, expected), abs=1)


@pytest.mark.parametrize("pairs", [4, 5, 9])
def test_a_queue_pair_more_than_contexts_fit_costs_a_fetch_a_packet(pairs: int) -> None:
    keys = 'mtu = "64 B", message = "64 B"'
    flows = [flow(n, "h0", f"h{n + 1}", keys) for n in range(pairs)]
    nic = '[host.rdma]\ncontexts = 4\ncontext_fetch = "500 ns"\n'
    rows = run(flows, hosts=pairs + 1, more=nic).rows("queue_pairs")
    fetches, sent = (sum(row[key] for row in rows) for key in ("context_fetches", "packets_sent"))
    if pairs == 4:
        # Each comes once; after that the link is the limit.
        assert fetches == 4
        at_line_rate = (1e-3 - 4 * 500e-9) * LINK / 8 / (64 + HEADERS + ON_WIRE)
        assert sent >= math.floor(at_line_rate)
    else:
        # Each comes just too late: a packet in 500 ns, and all the others wait for theirs.
        assert fetches == pytest.approx(2000 + pairs - 1, abs=1)
        assert sent == pytest.approx(2000, abs=pairs)


def test_a_receiver_that_is_not_ready_slows_its_sender_to_the_timer() -> None:
    """One message at a time: refused once, and taken after the timer, a packet and its NAK later."""
    keys = 'mtu = "1000 B", message = "1000 B", receive_queue = 1, receive_time = "5 us", rnr_timer = "20 us"'
    [row] = run([flow(0, "h1", "h0", keys)], hosts=2, duration="4 ms").rows("queue_pairs")
    packet, nak = ((size + ON_WIRE) * 8 / LINK for size in (1000 + HEADERS, 70))
    # The next message comes a packet behind the one that is taken.
    each = packet + 2 * nak + 2 * 500e-9 + 20e-6 + 2 * packet + 2 * 500e-9
    assert row["messages_delivered"] == pytest.approx(4e-3 / each, abs=1.5)
    assert row["rnr_naks_sent"] == pytest.approx(row["messages_delivered"], abs=1)


LOSSY = (
    'verb = "{verb}", mtu = "1000 B", message = "20 kB", timeout = "100 us", nak_gap = "20 us", retries = 255'
)


@pytest.mark.parametrize("verb", ["send", "write", "read"])
@pytest.mark.parametrize("recovery", ["go_back_n", "selective"])
def test_all_arrives_once_over_links_that_lose(verb: str, recovery: str) -> None:
    """And whatever threads run it."""
    keys = LOSSY.format(verb=verb) + f', recovery = "{recovery}"'
    text = FLOW.replace("source =", 'limit = "400 kB"\nsource =')
    flows = [text.format(n=n, source=f"h{n + 1}", to="h0", frame="1200 B", keys=keys) for n in range(3)]
    faults = '[[faults]]\nlink = ["sw", "h0"]\nframe_loss = 0.01\n'
    tables = []
    for threads in (1, 2, 3):
        result = run([*flows, faults], hosts=4, duration="20 ms", threads=threads)
        tables.append({name: result.rows(name) for name in ("queue_pairs", "flows", "ports")})
        for row in result.rows("queue_pairs"):
            assert (row["messages"], row["messages_delivered"], row["packets_delivered"]) == (20, 20, 400)
            assert row["packets_sent"] == 400 + row["packets_sent_again"]
            assert row["application_bytes"] == 400_000
        assert sum(row["packets_sent_again"] for row in result.rows("queue_pairs")) > 0
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("send", ["SEND first", "SEND middle", "SEND last", "SEND only", "ACK"]),
        ("write", ["WRITE first for 3000 B", "WRITE middle", "WRITE last", "WRITE only for 1000 B", "ACK"]),
        (
            "read",
            [
                "READ request for 3000 B",
                "READ response first",
                "READ response middle",
                "READ response last",
                "READ response only",
            ],
        ),
    ],
)
def test_captures_tell_packets_by_their_place(verb: str, words: list[str], tmp_path: Path) -> None:
    keys = f'verb = "{verb}", mtu = "1000 B"'
    probe = '[[probes]]\nwhat = "frames"\nwhich = ["h0.0->sw", "h1.0->sw", "h2.0->sw"]\n'
    one = flow(0, "h1", "h0", f'{keys}, message = "3 kB"')
    two = flow(1, "h2", "h0", f'{keys}, message = "1 kB"')
    result = run([one, two, probe], hosts=3, duration="20 us")
    write_capture(result, tmp_path / "out.pcapng")
    seen = {json.loads(line)["what"] for line in _core.Capture(str(tmp_path / "out.pcapng"))}
    for word in words:
        assert any(f"RoCEv2 {word} to queue pair" in what for what in seen), (word, sorted(seen)[:20])


@pytest.mark.parametrize("control", ["none", "hpcc"])
@pytest.mark.parametrize("verb", ["write", "read"])
def test_logs_say_how_long_messages_are(verb: str, control: str, tmp_path: Path) -> None:
    """Sizes around those of packets."""
    sizes = [1, 999, 1_000, 1_001, 2_000, 7_777, 100_000] * 6
    rows = [f"{10 * nth},h{1 + nth % 2},h0,{size}" for nth, size in enumerate(sizes)]
    (tmp_path / "list.csv").write_text("\n".join(["time_us,from,to,bytes", *rows, ""]))
    text = f"""[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "100 Gb/s"
phy = "none"
[flow_control.pfc]
[[probes]]
what = "frames"
which = ["sw.0->h0", "h0.0->sw"]
[[transfers]]
name = "t"
arrivals = {{ file = "list.csv" }}
over = {{ rdma = {{ verb = "{verb}", control = "{control}", mtu = "1000 B", queue_pairs = "free" }} }}
"""
    (tmp_path / "t.toml").write_text(text)
    log = ps.run(tmp_path / "t.toml").rows("frames")
    output = Counter(row["message_bytes"] for row in log if row["message_bytes"] and row["event"] == "sent")
    assert {row["protocol"] for row in log} == {"rdma"}
    assert output == Counter(sizes)


LEAVES = """\
[simulation]
duration = "300 us"
[topology.leaf_spine]
leaves = 4
spines = 2
hosts_per_leaf = 16
rate = "100 Gb/s"
uplink_rate = "400 Gb/s"
length = "20 m"
phy = "none"
[flow_control.pfc]
priorities = [3]
xoff = "200 kB"
xon = "150 kB"
[host.rdma]
message_rate = 700000
contexts = 3
context_fetch = "700 ns"
"""
MESSAGES = """\
[[transfers]]
name = "{verb}"
from = "all"
to = "all"
sizes = "20 kB"
priority = {priority}
arrivals = {{ poisson = {{ load = 0.2 }} }}
over = {{ rdma = {{ verb = "{verb}", control = "{control}", queue_pairs = "free" }} }}
"""


def test_nics_of_64_hosts_with_limits_are_alike_on_any_number_of_threads() -> None:
    """Two priorities and two verbs share each NIC, one control slows down and one does not."""
    both = (("write", "dcqcn", 3), ("read", "none", 5))
    text = LEAVES + "".join(
        MESSAGES.format(verb=verb, control=control, priority=priority) for verb, control, priority in both
    )
    results = [ps.run(ps.Scenario.from_toml(text), threads=threads) for threads in (1, 2, 3)]
    assert len({result.fingerprint for result in results}) == 1
    pairs = [result.rows("queue_pairs") for result in results]
    assert pairs[0] == pairs[1] == pairs[2]
    assert sum(row["context_fetches"] for row in pairs[0]) > 1000
    # As text, in which what is not a number is like itself.
    assert len({str(result.table("transfers").to_pylist()) for result in results}) == 1


@pytest.mark.parametrize("recovery", ["go_back_n", "selective"])
def test_no_request_for_what_is_missing_comes_that_was_not_sent(recovery: str) -> None:
    """What follows the last packet cannot tell that it is missing: only the timeout asks again."""
    keys = f'verb = "read", recovery = "{recovery}", mtu = "1000 B", timeout = "200 us"'
    lossy = '[switch.buffer]\nqueue = "30 kB"\n'
    reads = [
        flow(n, f"h{n}", "h0", f'{keys}, message = "300 kB"') + 'limit = "300 kB"\n' for n in range(1, 6)
    ]
    rows = run(reads, hosts=6, duration="20 ms", more=lossy).rows("queue_pairs")
    assert [row["messages"] for row in rows] == [1] * 5
    assert all(sum(row[name] for row in rows) > 0 for name in ("timeouts", "naks_received"))
    for row in rows:
        assert row["naks_received"] <= row["naks_sent"]
        assert row["naks_sent"] >= row["timeouts"]


def test_a_message_that_is_read_in_parts_is_delivered_once() -> None:
    """255 READs under way leave 32,640 numbers to each."""
    keys = 'verb = "read", max_reads = 255, mtu = "1 B", message = "50 kB"'
    [row] = run([flow(0, "h1", "h0", keys, frame="75 B") + 'limit = "100 kB"\n'], hosts=2).rows("queue_pairs")
    assert (row["messages"], row["messages_delivered"], row["packets_delivered"]) == (2, 2, 100_000)
