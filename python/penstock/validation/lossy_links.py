"""Links that lose frames."""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.result import Result

from .bench import Bench, chain, fill, flow_text, only, summaries
from .registry import Row, case, exact, random

_LOSSES = (
    summaries(warmup="$warmup")
    + chain(2, 1, rate="100 Gb/s")
    + flow_text("probe", "h0.0", "h1.0", 'frame = "$length B"', 'source = { poisson = { rate = "60 Gb/s" } }')
    + flow_text("back", "h1.0", "h0.0", 'frame = "$length B"', 'source = { poisson = { rate = "60 Gb/s" } }')
    + """
[[faults]]
link = $link
frame_loss = $probability
$direction
"""
)


@case(
    "frame-loss",
    "Links with frame loss",
    compared="Poisson frames in both directions over a link that loses each frame with probability p in "
    "one direction only, then over three links that lose frames in both directions.",
    formula="Each link loses a share p of the frames, regardless of their length: over n links 1 − (1 − "
    "p)^n.",
    sources=("Independent losses (Bernoulli)",),
    scenario=fill(
        _LOSSES,
        duration="21 ms",
        warmup="1 ms",
        length=512,
        link='["sw0", "sw1"]',
        probability="0.01",
        direction='towards = "sw1"',
    ),
    ends=(
        "Losses do not come in bursts.",
        "Pause frames are never lost here (they have their own key, pause_loss), so lossless "
        "classes do not overflow.",
    ),
)
def frame_losses(bench: Bench) -> Iterator[Row]:
    """Compares one direction of one link, then both directions of three."""
    for length, probability, ms in ((512, 0.01, 40), (64, 0.05, 4), (1522, 0.3, 10)):
        shares = bench.replicate(
            _LOSSES,
            _losses_by_direction,
            length=length,
            link='["sw0", "sw1"]',
            probability=f"{probability:g}",
            direction='towards = "sw1"',
            **bench.milliseconds(ms, warmup=0.1),
        )
        name = f"{length} B, p = {probability:g}, one direction: "
        yield random(name + "share lost", "", probability, shares["there"], precision=bench.precision(0.015))
        yield exact(name + "lost in the other direction", "", 0, max(shares["back"]))
    for length, probability, ms in ((512, 0.02, 10), (1522, 0.2, 10)):
        shares = bench.replicate(
            _LOSSES,
            _losses_by_direction,
            length=length,
            link='"all"',
            probability=f"{probability:g}",
            direction="",
            **bench.milliseconds(ms, warmup=0.1),
        )
        lost = 1 - (1 - probability) ** 3
        for way in ("there", "back"):
            name = f"{length} B, p = {probability:g}, 3 links, {way}: share lost"
            yield random(name, "", lost, shares[way], precision=bench.precision(0.015))


def _losses_by_direction(result: Result) -> dict[str, float]:
    def share(name: str) -> float:
        flow = only(result.rows("flows"), flow=name)
        lost, delivered = float(flow["frames_dropped"]), float(flow["frames_delivered"])
        return lost / (lost + delivered)

    whole = all(row["cause"] == "link_loss" for row in result.rows("drops"))
    return (
        {"there": share("probe"), "back": share("back")} if whole else {"there": math.nan, "back": math.nan}
    )
