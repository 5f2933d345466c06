"""A simulated port as a device, with the tester at the other end of its link.

The settings of a trial are a scenario, the link of the port, and the station with the port. Frames of the
tester are faults of that scenario (`control_frame`). The operational state is the port's activity so far.
Every query reruns the scenario from its beginning, with bit-identical results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import InputError

from .device import Operational

if TYPE_CHECKING:
    from penstock.result import Result

NS_A_SECOND = 1_000_000_000
PS_A_MICROSECOND = 1_000_000
MOST_FRAMES = 1_000_000
BLOCK_OF_A_FRAME = 6
"""Block type of a pcapng enhanced packet block."""


@dataclass(frozen=True)
class Logged:
    """A frame that a port has sent.

    Attributes
    ----------
    begins_us : float
        Time at which its first bit was sent.
    priority, bytes : int
        Priority; length, DA to FCS.
    kind, flow : str
        Kind and flow in the notation of the table `frames`.
    word : int
        Content: XOFF, XON and quanta of a pause, or the feedback of a congestion message.
    destination : str
        Destination of the frame.
    cn_tag : str
        Flow identifier in its CN-TAG; empty if it has none.
    """

    begins_us: float
    priority: int
    bytes: int
    kind: str
    flow: str
    word: int
    destination: str
    cn_tag: str


@dataclass(frozen=True)
class Traffic:
    """Activity of a simulated device.

    Attributes
    ----------
    result : Result
        The run so far.
    port : str
        Name of the tester's port.
    """

    result: Result
    port: str

    @cached_property
    def _by_port(self) -> dict[str, list[Logged]]:
        found: dict[str, list[Logged]] = {}
        for row in self.result.rows("frames"):
            if row["direction"] == "out" and row["event"] == "sent":
                entries = (
                    row["priority"],
                    row["bytes"],
                    row["kind"],
                    row["flow"],
                    row["word"],
                    row["destination"],
                    row["cn_tag"],
                )
                found.setdefault(row["port"], []).append(Logged(row["time_ps"] / PS_A_MICROSECOND, *entries))
        return found

    def sent(self, port: str | None = None) -> list[Logged]:
        """Frames sent by a logged port, in order; by default the tester's port."""
        return self._by_port.get(port or self.port, [])

    def data(self, port: str | None = None) -> list[Logged]:
        """Frames of flows that the port has sent."""
        return [one for one in self.sent(port) if one.kind not in ("pause", "pfc", "cnm")]

    def pauses(self, port: str | None = None) -> list[Logged]:
        """Pause frames that the port has sent."""
        return [one for one in self.sent(port) if one.kind in ("pause", "pfc")]

    def octets(self) -> list[bytes]:
        """Octets of the frames sent by the tester's port, from a capture, not decoded by the engine."""
        from penstock.interchange.captures import write_capture

        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            file = Path(folder) / "device.pcapng"
            write_capture(self.result, file)
            return packets(file.read_bytes())

    def flow(self, name: str) -> Mapping[str, Any]:
        """Returns the row of a flow."""
        return next(row for row in self.result.rows("flows") if row["flow"] == name)

    def ignored(self) -> int:
        """Number of control frames that were ignored."""
        return sum(row["what"] == "control_frame_ignored" for row in self.result.rows("faults"))


def packets(capture: bytes) -> list[bytes]:
    """The frames of a pcapng file in the byte order of this machine."""
    found, at = [], 0
    while at < len(capture):
        kind, length = (int.from_bytes(capture[at + n : at + n + 4], "little") for n in (0, 4))
        if kind == BLOCK_OF_A_FRAME:
            size = int.from_bytes(capture[at + 20 : at + 24], "little")
            found.append(capture[at + 28 : at + 28 + size])
        at += length
    return found


@dataclass
class SimDevice:
    """A simulated port, with a clock that the case advances."""

    name: str = "sim"
    _trial: Mapping[str, Any] = field(default_factory=dict)
    _now_ns: int = 0
    _faults: list[dict[str, Any]] = field(default_factory=list)
    _seen: tuple[tuple[int, int], Traffic] | None = None

    def start(self, settings: Mapping[str, Any]) -> None:
        """Restarts with a scenario and its port, link and station."""
        self._trial, self._now_ns, self._faults, self._seen = settings, 0, [], None

    def administer(self, settings: Mapping[str, Any]) -> None:  # noqa: ARG002 - as of every device
        """Raises an error: a scenario does not change during a run."""
        raise InputError("the settings of a simulated device cannot be changed")

    def send(self, frame: bytes) -> None:
        """Delivers a frame to the port."""
        self._faults.append(
            {
                "link": list(self._trial["link"]),
                "towards": self._trial["station"],
                "at": f"{self._now_ns} ns",
                "control_frame": frame.hex(),
            }
        )

    def wait(self, seconds: float) -> None:
        """Advances simulated time."""
        self._now_ns += round(seconds * NS_A_SECOND)

    def operational(self) -> Operational:
        """Activity of the port so far."""
        return Operational((), (), (), frozenset(), None, self._traffic())

    def sent(self) -> list[bytes]:
        """Frames that the port has sent, with synthetic headers."""
        return self._traffic().octets()

    def lacks(self, case: str) -> str:
        """Rejects cases of DCBX, which need an agent."""
        return "a simulated port runs no agent: --against agent" if case.startswith("DX-") else ""

    def capture(self, file: Path) -> None:
        """Writes a capture of the frames at the logged ports."""
        from penstock.interchange.captures import write_capture

        write_capture(self._traffic().result, file)

    def close(self) -> None:
        """Does nothing: there are no resources to release."""

    def _traffic(self) -> Traffic:
        key = (self._now_ns, len(self._faults))
        if self._seen is None or self._seen[0] != key:
            self._seen = (key, self._run())
        return self._seen[1]

    def _run(self) -> Traffic:
        import tomli_w

        from penstock import running
        from penstock.library import Source

        trial = self._trial
        scenario = dict(trial["scenario"])
        # The case judges losses; the run must not stop.
        scenario["simulation"] = {"duration": f"{self._now_ns} ns", "on_lossless_drop": "count"}
        scenario["faults"] = [*scenario.get("faults", ()), *self._faults]
        log = {"what": "frames", "which": [trial["port"], *trial.get("watched", ())], "max_rows": MOST_FRAMES}
        scenario["probes"] = [log, {"what": "pauses"}]
        source = Source(tomli_w.dumps(scenario), "the scenario of the trial")
        return Traffic(running.run_source(source, threads=1), trial["port"])
