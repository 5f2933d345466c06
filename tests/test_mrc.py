"""Multipath Reliable Connection: planes, failed and congested paths, against algebra and a plain model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import penstock as ps

PLANES = """\
[simulation]
duration = "{duration}"
{probes}
[topology.rails]
segments = 2
servers_per_segment = {servers}
rails = 1
spines = 2
planes = {planes}
rate = "100 Gb/s"
length = "10 m"
phy = "none"
"""
TRANSFER = """\
[[transfers]]
name = "t"
from = {source}
to = {to}
sizes = "{size}"
arrivals = "once"
priority = 3
frame = "4300 B"
over = {{ mrc = {keys} }}
"""
FRAME, AROUND, PAYLOAD = 4202, 20, 4096


DEFAULTS: dict[str, Any] = {
    "planes": 4,
    "servers": 2,
    "size": "50 MB",
    "duration": "4 ms",
    "source": '"h0.0"',
    "to": None,
    "keys": "{}",
    "more": "",
    "probes": '[probes]\nbin = "20 us"',
}


def scenario(**given: Any) -> ps.Scenario:
    """A fabric of planes and a transfer, with these in place of `DEFAULTS`; `more` is TOML behind it."""
    of = {**DEFAULTS, **given}
    of["to"] = of["to"] or f'"h{of["servers"]}.0"'
    return ps.Scenario.from_toml(PLANES.format(**of) + TRANSFER.format(**of) + of["more"])


def fault(link: tuple[str, str], at: str, lasts: str) -> str:
    return f'[[faults]]\nlink = ["{link[0]}", "{link[1]}"]\nat = "{at}"\ndown = true\nduration = "{lasts}"\n'


def only(result: ps.Result, table: str) -> dict[str, Any]:
    (row,) = result.rows(table)
    return dict(row)


def rate(result: ps.Result, begin_us: float, end_us: float) -> float:
    """Mean goodput in Gb/s between two times."""
    times, rates = result.all_series("flow_throughput_bps")["t[h0.0]"]
    chosen = (times >= begin_us * 1e3) & (times < end_us * 1e3)
    return float(rates[chosen].mean()) / 1e9


@pytest.mark.parametrize("planes", [1, 2, 4, 8])
def test_planes_carry_equal_loads_at_line_rate(planes: int) -> None:
    """A message takes as long as its share of packets takes on one link."""
    result = ps.run(scenario(planes=planes, size="8 MB"))
    packets = -(-8_000_000 // PAYLOAD)
    floor = -(-packets // planes) * (FRAME + AROUND) * 8 / 100
    took = only(result, "transfers")
    assert floor <= took["completion_ns"] <= floor + 3_000
    assert took["slowdown"] == pytest.approx(1, abs=0.01)
    sent = [row["frames_sent"] for row in result.rows("ports") if row["port"].startswith("h0.0")]
    assert sum(sent) == packets and max(sent) - min(sent) <= 1


def test_a_plane_that_fails_costs_its_share_and_comes_back() -> None:
    """Both ends know their ports: three of four planes carry on at once, and all four after the repair."""
    for end in ("h0.0", "h2.0"):
        leaf = "leaf0.0.0" if end == "h0.0" else "leaf0.1.0"
        down = fault((leaf, end), "400 us", "400 us")
        result = ps.run(scenario(size="50 MB", more=down))
        before, during, after = rate(result, 100, 400), rate(result, 500, 800), rate(result, 900, 1100)
        assert before == pytest.approx(400 * FRAME / (FRAME + AROUND), rel=0.01)
        assert during == pytest.approx(0.75 * before, rel=0.02), end
        assert after == pytest.approx(before, rel=0.02), end
        assert only(result, "delivery_contexts")["messages_delivered"] == 1


def test_failed_paths_within_a_plane_are_taken_out_probed_and_brought_back() -> None:
    """No port of a host is down: losses show which of the values lead over the spine that is cut off."""
    down = fault(("leaf0.1.0", "spine0.0"), "300 us", "1 ms")
    keys = '{ paths = { mrc = { probe_interval = "200 us" } } }'
    result = ps.run(scenario(size="120 MB", keys=keys, more=down))
    states = only(result, "path_states")
    assert states["paths_taken_out"] >= 16
    assert (states["paths_returned"], states["paths_out"]) == (states["paths_taken_out"], 0)
    assert states["probes_answered"] == 3 * states["paths_returned"]
    # 32 us behind the acknowledgement of a later packet, or the timeout of 100 us.
    assert 32_000 <= states["detection_mean_ns"] <= 60_000
    assert states["detection_max_ns"] <= 110_000
    before = rate(result, 100, 300)
    # Detected within some reorder times; then three and a half planes are left, and no loss.
    assert rate(result, 800, 1300) >= 0.8 * before
    assert only(result, "delivery_contexts")["messages_delivered"] == 1


def test_an_incast_marks_and_takes_no_path_out() -> None:
    marks = "[[switch.queue_managers]]\nclasses = [3]\nstep = { threshold = '60 kB' }\n"
    sources = '["h0.0", "h1.0", "h2.0"]'
    text = scenario(servers=4, source=sources, to='"h4.0"', size="4 MB", more=marks)
    rows = ps.run(text).rows("path_states")
    assert sum(row["turns_skipped"] for row in rows) > 100
    assert sum(row["paths_taken_out"] + row["probes_sent"] + row["losses_ignored"] for row in rows) == 0


def test_with_every_path_failed_a_quarter_of_them_is_tried_on() -> None:
    """All links of the other leaves to spines fail for a while: nothing arrives, and then everything does."""
    down = "".join(
        fault((f"leaf{plane}.1.0", f"spine{plane}.{spine}"), "100 us", "1500 us")
        for plane in range(2)
        for spine in range(2)
    )
    result = ps.run(scenario(planes=2, size="10 MB", duration="30 ms", more=down))
    states, context = only(result, "path_states"), only(result, "delivery_contexts")
    assert context["messages_delivered"] == 1 and context["failed_ns"] is None
    assert context["timeouts"] > 3
    # Of 128 active values and 128 in reserve at most 224 may be out.
    assert states["paths_taken_out"] <= 224
    again = ps.run(scenario(planes=2, size="10 MB", keys="{ exponential_retries = 0 }", more=down))
    assert only(again, "delivery_contexts")["failed_ns"] is not None


def made(row: Any) -> tuple[int, bool]:
    is_data = str(row["kind"]) == "data"
    return row["created_ps"] if is_data else row["time_ps"], is_data


def turns(states: list[str], order: list[int], at: int) -> tuple[int, int]:
    """The place of the next value in turn, and of the one behind it: the rules of the rotation."""
    restored = None
    for _ in order:
        place, at = at, (at + 1) % len(order)
        if states[place] == "good":
            return place, at
        if restored is None:
            states[place], restored = "good", place
    return (at if restored is None else restored), at


def test_turns_follow_a_model_in_plain_python() -> None:
    """Marks of a slow uplink: each value is the one that the rotation yields for the answers so far."""
    more = """\
[[switch.queue_managers]]
classes = [3]
step = { threshold = "20 kB" }
[[faults]]
link = ["leaf0.0", "spine0"]
at = "0 s"
rate = "20 Gb/s"
"""
    late = 'reorder_time = "5 ms", timeout = "10 ms"'
    values = "paths = { mrc = { entropies = 16, reserve = 0 } }"
    keys = f'{{ {values}, control = "none", psn_range = 128, {late} }}'
    probes = '[[probes]]\nwhat = "frames"\nwhich = "h0.0.0->leaf0.0"'
    result = ps.run(scenario(planes=1, size="2 MB", keys=keys, more=more, probes=probes))
    # A packet has its value from when it was made, before it waited for the one before it.
    rows = sorted(result.rows("frames"), key=made)
    first = [row["source_port"] for row in rows if str(row["kind"]) == "data"][:16]
    assert len(set(first)) == 16
    base = min(first)
    order = [port - base for port in first]
    states, at, skipped = ["good"] * 16, 0, 0
    for row in rows:
        kind = str(row["kind"])
        if kind == "marked_ack":
            place = order.index(row["destination_port"] - base)
            skipped += states[place] == "good"
            states[place] = "skip"
        elif kind == "data":
            place, at = turns(states, order, at)
            assert row["source_port"] - base == order[place], row
    assert skipped == only(result, "path_states")["turns_skipped"] > 20
    assert only(result, "path_states")["paths_taken_out"] == 0


def test_results_do_not_depend_on_threads() -> None:
    """64 hosts with four planes, marks, trims, a failed link and a slow one."""
    more = """\
[switch.trimming]
preset = "uec"
threshold = "100 kB"
[[switch.queue_managers]]
classes = [3]
red = { min = "20 kB", max = "80 kB", action = "mark_only" }
[[faults]]
link = ["leaf1.0.0", "spine1.1"]
at = "60 us"
down = true
duration = "150 us"
[[faults]]
link = ["leaf2.1.0", "h40.0"]
at = "50 us"
rate = "40 Gb/s"
"""
    text = scenario(
        servers=32,
        source='"h*.0"',
        to="{ permutation = { shift = 32 } }",
        size="1 MB",
        duration="1 ms",
        keys="{ trimming = true }",
        more=more,
    )
    results = [ps.run(text, threads=threads) for threads in (1, 2, 3)]
    assert len({result.fingerprint for result in results}) == 1
    rows = [result.rows("path_states") for result in results]
    assert list(rows[0]) == list(rows[1]) == list(rows[2])
    counts = Counter[str]()
    for row in results[0].rows("delivery_contexts"):
        counts.update(delivered=row["messages_delivered"], sent=row["packets_sent"])
    assert counts["delivered"] == 64


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{ paths = { mrc = { entropies = 1000, reserve = 25 } } }", "at most 24"),
        ("{ paths = { mrc = { min_active = 0 } } }", "min_active"),
        ("{ psn_range = 100 }", "like 128"),
        ('{ control = "rccc" }', "nscc"),
        ("{ linear_retries = 8 }", "0 to 7"),
        ("{ message = 3 }", "message"),
    ],
)
def test_bad_values_name_what_is_accepted(keys: str, message: str) -> None:
    with pytest.raises(ps.ScenarioError, match=message):
        ps.run(scenario(keys=keys))


def test_other_transports_have_no_probes() -> None:
    text = PLANES.format(planes=2, servers=2, duration="1 ms", probes="") + TRANSFER.format(
        source='"h0.0"', to='"h2.0"', size="1 MB", keys="{}"
    ).replace("mrc = {}", 'rdma = { recovery = "reordering", paths = "mrc" }')
    with pytest.raises(ps.ScenarioError, match="probes"):
        ps.run(ps.Scenario.from_toml(text))


@pytest.mark.parametrize(("over", "links"), [("uet = {}", 1), ('uet = { paths = "oblivious" }', 3)])
def test_slowdown_counts_the_links_in_use(over: str, links: int) -> None:
    """One link where a flow keeps its path, also where switches spray; else all of them."""
    text = PLANES.format(planes=3, servers=2, duration="4 ms", probes="")
    text += TRANSFER.format(source='"h0.0"', to='"h2.0"', size="3 MB", keys="{}").replace("mrc = {}", over)
    row = only(ps.run(ps.Scenario.from_toml(text + '[switch]\npath_choice = "spray"\n')), "transfers")
    packets = -(-3_000_000 // PAYLOAD)
    assert row["ideal_ns"] == pytest.approx(-(-packets // links) * (4198 + AROUND) * 8 / 100, rel=0.02)
    assert 1 <= row["slowdown"] <= 1.15
