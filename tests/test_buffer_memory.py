"""The memory of a switch in pools: sums by hand against what `check --thresholds` says and runs do."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import penstock as ps
from penstock import _core, running
from penstock.errors import ScenarioError
from penstock.library import Source

FRAME = 1_522

SHIPPED = {
    # rate in Gb/s, metres, ports, pool, shared headroom, exponent, size, xoff, xon, xon_offset
    "tomahawk": (100, 40, 3, 10_875_072, 4_194_112, -3, 1_248, 177_632, 2_288, 2_288),
    "tomahawk 5": (400, 40, 3, 166_115_492, 29_423_360, 0, 18_796, 612_140, 0, 3_556),
    "spectrum 4": (400, 40, 3, 142_703_616, None, 0, 19_456, 204_448, 19_456, None),
    "spectrum": (100, 5, 3, 9_047_040, 851_968, 0, 19_456, 47_104, 19_456, None),
}


def scenario(name: str, *, duration: str = "3 ms", extra: str = "") -> str:
    rate, metres, _, pool, shared, exponent, size, xoff, xon, offset = SHIPPED[name]
    headroom = "" if shared is None else f', headroom = "{shared} B"'
    below = "" if offset is None else f', xon_offset = "{offset} B"'
    return f"""[simulation]
duration = "{duration}"
on_lossless_drop = "count"
[topology.star]
hosts = 3
rate = "{rate} Gb/s"
length = "{metres} m"
phy = "none"
[[flows]]
name = "both"
from = "h0..h1"
to = "h2"
priority = 3
source = "greedy"
[flow_control.pfc]
priorities = [3, 4]
[switch.buffer.memory]
attach = [{{ profile = "pg", groups = [3, 4] }}]
pools.lossless = {{ side = "ingress", size = "{pool} B"{headroom} }}
[switch.buffer.memory.profiles]
pg = {{ pool = "lossless", reserved = "{size} B", alpha = {2.0**exponent}, headroom = "{xoff} B", \
xon = "{xon} B"{below} }}
{extra}"""


def thresholds(text: str) -> dict[str, Any]:
    with running.engine_errors():
        found: dict[str, Any] = json.loads(_core.thresholds(text, "s.toml"))
    return found


def group(text: str) -> dict[str, Any]:
    (row,) = (row for row in thresholds(text)["rows"] if row["what"] == "group 3")
    return dict(row)


@pytest.mark.parametrize("name", SHIPPED)
def test_thresholds_of_shipped_profiles_by_hand(name: str) -> None:
    *_, pool, _, exponent, size, xoff, xon, offset = SHIPPED[name]
    alpha = Fraction(2) ** exponent
    alone = size + int(pool * alpha / (1 + alpha))
    row = group(scenario(name))
    assert row["xoff"] == {"bytes": alone}
    assert row["xoff_all_busy"] == {"bytes": size + int(pool * alpha / (1 + 6 * alpha))}
    assert row["xon"] == {"bytes": xon if offset is None else max(xon, alone - offset)}
    assert (row["headroom"], len(row["ports"])) == ({"bytes": xoff}, 3)
    assert row["verdict"] == ""


@pytest.mark.parametrize("name", SHIPPED)
def test_pauses_of_shipped_profiles_by_hand(name: str) -> None:
    """Two ports send to a third: each group rises and falls at half the rate. XOFF is sent at its share
    of the pool, XON where the level is max(xon, threshold - offset) with the threshold rising meanwhile."""
    rate, _, _, pool, _, exponent, size, _, xon, offset = SHIPPED[name]
    alpha = 2.0**exponent
    xoff = size + alpha * pool / (1 + 2 * alpha)
    # Both fall together: own = size + alpha (pool - 2 (own - size)) - offset.
    back = xon if offset is None else max(xon, size + (alpha * pool - offset) / (1 + 2 * alpha))
    fill_us = xoff * 8 / (rate / 2) / 1e3
    result = running.run_source(Source(scenario(name, duration=f"{3 * fill_us:.0f} us"), "s.toml"))
    pauses = [row for row in result.rows("pauses") if row["end_ns"] < 3 * fill_us * 1e3 - 2_000]
    assert pauses
    first = min(pauses, key=lambda row: row["start_ns"])
    assert abs(first["occupancy"] - xoff) <= 2 * FRAME
    # From XOFF the group falls to `back` at half the rate, from above XOFF by what comes until that acts,
    # and XON takes its time as well: each at most what the link has in flight.
    falls_us = (xoff - back) * 8 * (FRAME + 20) / FRAME / (rate / 2) / 1e3
    in_flight_us = group(scenario(name))["in_flight_bytes"] * 8 / rate / 1e3
    lasts_us = (first["end_ns"] - first["start_ns"]) / 1e3
    assert 0.998 * falls_us < lasts_us < 1.002 * falls_us + 2 * in_flight_us, (
        lasts_us,
        falls_us,
        in_flight_us,
    )
    assert result.rows("drops") == []


def lossy(pools: str, profiles: str, attach: str, *, hosts: int = 5, pfc: str = "") -> str:
    return f"""[simulation]
duration = "1 ms"
on_lossless_drop = "count"
[topology.star]
hosts = {hosts}
rate = "100 Gb/s"
length = "300 m"
phy = "none"
[[flows]]
name = "all"
from = "h0..h{hosts - 2}"
to = "h{hosts - 1}"
priority = 3
source = "greedy"
{pfc}
[switch.buffer.memory]
pools = {{ {pools} }}
profiles = {{ {profiles} }}
attach = [{attach}]
"""


IN = 'in = { side = "ingress", size = "1 MB"%s }'
PG = 'pg = { pool = "in", alpha = 0.125, headroom = "%s" }'
OUT = 'out = { side = "egress", size = "%s", mode = "static" }'


def drops(text: str) -> set[tuple[str, str]]:
    result = running.run_source(Source(text, "s.toml"))
    return {(row["cause"], row["pool"]) for row in result.rows("drops")}


def test_a_loss_names_pool_and_limit() -> None:
    pfc = "[flow_control.pfc]\npriorities = [3]"
    of_groups = '{ profile = "pg", groups = [3] }'
    of_queues = '{ profile = "q", queues = [3] }'
    queue = 'q = { pool = "out" }'
    # A link has some 110 kB in flight: 1 kB for each group is too little, and so is 100 kB for four.
    own = lossy(IN % "", PG % "1 kB", of_groups, pfc=pfc)
    assert drops(own) == {("headroom_violation", "in")}
    together = lossy(IN % ', headroom = "100 kB"', PG % "200 kB", of_groups, pfc=pfc)
    assert drops(together) == {("shared_headroom_exhausted", "in")}
    enough = lossy(IN % ', headroom = "800 kB"', PG % "200 kB", of_groups, pfc=pfc)
    assert drops(enough) == set()
    egress = lossy(
        f"{IN % ''}, {OUT % '50 kB'}", f"{PG % '200 kB'}, {queue}", f"{of_groups}, {of_queues}", pfc=pfc
    )
    assert drops(egress) == {("egress_limit", "out")}
    # Without flow control the group's own limit drops.
    assert drops(lossy(IN % "", 'pg = { pool = "in", alpha = 0.125 }', of_groups)) == {
        ("ingress_limit", "in")
    }


def test_check_says_what_cannot_come_about() -> None:
    """Marks from 2 MB on, and a memory of 1 MB with 0.4 MB of headroom: PFC comes first."""
    marks = '[[switch.queue_managers]]\nclasses = [3]\nstep = { threshold = "%s" }\n'
    pfc = "[flow_control.pfc]\npriorities = [3]"
    of_groups = '{ profile = "pg", groups = [3] }'
    text = lossy(IN % ', headroom = "400 kB"', PG % "200 kB", of_groups, pfc=pfc)

    def verdict(threshold: str) -> str:
        (row,) = (row for row in thresholds(text + marks % threshold)["rows"] if row["what"] == "queue 3")
        return str(row["verdict"])

    # Five groups at 1/9 MB each, alone, and 400 kB: 955,555 B at most.
    assert verdict("955555 B") == "marks never: PFC stops the queue first"
    assert verdict("500 kB") == "marks only if 5 ports or more send to it: one is paused at 111111 B"
    assert verdict("100 kB") == "marks before any pause"
    notes = "\n".join(thresholds(text)["notes"])
    assert "has 400000 B of headroom for 1000000 B configured in its groups (2.5 times as much)" in notes
    tight = lossy(
        f"{IN % ''}, {OUT % '500 kB'}",
        f'{PG % "200 kB"}, q = {{ pool = "out" }}',
        f'{of_groups}, {{ profile = "q", queues = [3] }}',
        pfc=pfc,
    )
    assert 'egress limit of profile "q" can bind' in "\n".join(thresholds(tight)["notes"])
    assert "computed" not in json.dumps(thresholds(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lossy(IN % "", PG % "200 kB", '{ profile = "pgs" }'), 'did you mean "pg"?'),
        (lossy(IN % "", PG % "200 kB", '{ profile = "pg", to = ["h99"] }'), 'has a link to "h99"'),
        (
            lossy(
                IN % "",
                PG % "200 kB",
                '{ profile = "pg", groups = [4] }',
                pfc="[flow_control.pfc]\npriorities = [3]",
            ),
            "priority 3 is lossless, but group 3 of port",
        ),
        (
            lossy(IN % "", PG % "200 kB", '{ profile = "pg" }', pfc="[flow_control.pause]"),
            "pauses whole links, but its memory has priority groups",
        ),
        (
            lossy(
                IN % "", PG % "200 kB", '{ profile = "pg" }', pfc='[flow_control.pfc]\naccounting = "egress"'
            ),
            'expected accounting = "ingress"',
        ),
        (
            lossy(IN % "", PG % "200 kB", '{ profile = "pg" }') + "groups = [0, 0, 0, 3, 3, 0, 0, 0]\n"
            "[flow_control.pfc]\npriorities = [3, 4]\n",
            "lossless priorities 3 and 4 in priority group 3",
        ),
        (
            lossy(IN % "", PG % "200 kB", '{ profile = "pg" }') + '[switch.buffer]\ntotal = "1 MB"\n',
            "pools beside other limits",
        ),
    ],
)
def test_what_is_wrong_is_reported(text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught, running.engine_errors():
        _core.check(text, "s.toml")
    assert message in str(caught.value)


ONE_QUEUE = """\
[simulation]
duration = "2 ms"
[topology.star]
hosts = 3
rate = "10 Gb/s"
length = "20 m"
phy = "none"
[switch.buffer]
{limits}
[[flows]]
name = "f"
from = "h0..h1"
to = "h2"
source = {{ poisson = {{ rate = "8 Gb/s" }} }}
"""


@pytest.mark.parametrize("limit", ["20 frames", "30 kB"])
def test_all_limits_are_one_where_a_switch_has_one_queue(limit: str) -> None:
    """Alone, and beside others that do not bind: what waits is counted for the limits that are set."""
    kinds = ("queue", "port", "class", "total")
    alone = [{kind: limit} for kind in kinds]
    beside = [{**dict.fromkeys(kinds, "1 MB"), kind: limit} for kind in kinds]
    seen = set()
    for limits, kind in zip([*alone, *beside], kinds * 2, strict=True):
        text = "\n".join(f'{name} = "{value}"' for name, value in limits.items())
        result = ps.run(ps.Scenario.from_toml(ONE_QUEUE.format(limits=text)))
        [lost] = {row["cause"] for row in result.rows("drops")}
        assert lost == f"{kind}_limit"
        seen.add((result.fingerprint, sum(row["frames"] for row in result.rows("drops"))))
    assert len(seen) == 1
