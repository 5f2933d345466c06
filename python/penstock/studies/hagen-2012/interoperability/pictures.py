"""The fabric in each order of the rotation."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.plots.style import DROP_COLOR, INK, PAUSE_COLOR, QUIET_COLOR, style
from penstock.result import Result

from . import arrange
from .arrange import OWN, ROTATION, VENDORS

RUN_MS = 30.0
APART = 0.05
"""Distance between the two directions of a link."""


def orders(alike: Mapping[str, Result], own: Mapping[str, Result]) -> Figure:
    """The three orders of the source, with both DCBX versions everywhere and with versions by vendor."""
    with style():
        figure = Figure(figsize=(11.0, 6.6), layout="constrained")
        axes = figure.subplots(2, len(ROTATION))
        for row, (versions, runs) in zip(
            axes, (("both DCBX versions", alike), ("DCBX versions by vendor", own)), strict=True
        ):
            for panel, order in zip(row, ROTATION, strict=True):
                fabric(panel, order, runs[order], named=runs is own)
            row[0].set_ylabel(versions)
        figure.suptitle(
            "Switches of three vendors in rotation: orange paused (wide: longer), red without PFC"
        )
    return figure


def fabric(panel: Axes, order: str, result: Result, *, named: bool) -> None:
    """Switches in a line, initiators above and targets below."""
    places = dict(zip(order, [(n, 0.0) for n in range(3)], strict=True))
    for n in range(3):
        places[f"i{n + 1}"], places[f"t{n + 1}"] = (n, 1.0), (n, -1.0)
    stopped, has = arrange.paused_ms(result), arrange.in_force(result)
    for port, has_pfc in has.items():
        station, peer = arrange.ends(port)
        link(panel, places[station], places[peer], stopped[port] / RUN_MS, has_pfc=has_pfc)
    for port, frames in arrange.lost(result).items():
        station, peer = arrange.ends(port)
        (x, y), (u, v) = places[station], places[peer]
        panel.annotate(
            f"✕ {frames} lost",
            (x + 0.5 * (u - x), y + 0.5 * (v - y)),
            (0, 14) if y == v else (32, -3),
            textcoords="offset points",
            ha="center",
            color=DROP_COLOR,
            fontsize=8,
        )
    for name, (x, y) in places.items():
        is_switch = name in VENDORS
        panel.text(
            x,
            y,
            f"{name}\n{OWN[name]}" if is_switch and named else name,
            ha="center",
            va="center",
            fontsize=8 if is_switch and named else 10,
            color=INK,
            bbox={"boxstyle": "round" if is_switch else "circle", "facecolor": "white", "edgecolor": INK},
            zorder=4,
        )
    lost = sum(arrange.lost(result).values())
    panel.set_title(
        f"{', '.join(order)}: {lost} iSCSI frames lost" if lost else f"{', '.join(order)}: none lost"
    )
    panel.set_xlim(-0.5, 2.5)
    panel.set_ylim(-1.35, 1.35)
    panel.set_xticks([])
    panel.set_yticks([])
    panel.grid(False)
    panel.spines[:].set_visible(False)


def link(
    panel: Axes, start: tuple[float, float], end: tuple[float, float], share: float, *, has_pfc: bool
) -> None:
    """One direction of a link, offset to its side."""
    (x, y), (u, v) = start, end
    along = abs(u - x) + abs(v - y)
    aside_x, aside_y = APART * (v - y) / along, -APART * (u - x) / along
    color = DROP_COLOR if not has_pfc else PAUSE_COLOR if share > 0 else QUIET_COLOR
    panel.plot(
        (x + aside_x, u + aside_x),
        (y + aside_y, v + aside_y),
        color=color,
        linewidth=1.2 + 5 * share,
        linestyle="-" if has_pfc else "--",
        solid_capstyle="butt",
        zorder=1 + share,
    )
