"""Switches whose memory is divided into cells, for PF-20: a frame occupies whole cells.

Simulated memory has no cells. All frames here have 64 B, so a cell holds exactly one frame, and memory
sizes are given in frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import loads

from penstock import _core

from .testbed import Table, flow, star, switch

CELL, SMALL = 144, 64
"""Bytes of a cell and of a frame."""
XOFF_CELLS, XON_CELLS = 40, 20


def devices() -> Iterator[tuple[str, Table]]:
    """Yields ports with the headroom computed for a memory with cells, by cable length."""
    for metres in (5, 100, 300):
        link = {"rate": "10 Gb/s", "length": f"{metres} m", "mtu": f"{SMALL} B", "interface_delay": "0 ns"}
        reported = loads(_core.headroom({**link, "cell": f"{CELL} B"}))
        headroom = reported["headroom_memory_bytes"] // CELL
        cells = {"xoff": XOFF_CELLS, "xon": XON_CELLS, "headroom": headroom}
        # Two ports fill the memory.
        memory = {"total": f"{2 * (XOFF_CELLS + headroom) * SMALL} B"}
        scenario = star(
            [flow(f"{one}", 3, sender=one, to="h2", frame=SMALL) for one in ("h0", "h1")],
            hosts=3,
            length=f"{metres} m",
            priorities=[3],
            pfc={key: f"{count * SMALL} B" for key, count in cells.items()},
            switch={"buffer": memory},
        )
        # The slow host pauses the switch, so nothing leaves while the last frames arrive.
        scenario["hosts"] = {"h2": {"receive": {"rate": "0.1 Gb/s", "buffer": "32 KiB"}}}
        yield f"{metres} m", switch(scenario, 0)
