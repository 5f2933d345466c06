"""The interface of devices under test, and the DCBX agent of this package as a device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from penstock import _core
from penstock.errors import InputError

if TYPE_CHECKING:
    from .sim import Traffic

MAC = "02:00:00:00:00:0b"
"""Address of every device, between the tester's addresses."""
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Operational:
    """Operational state of a device.

    Attributes
    ----------
    pfc : tuple of int
        Priorities with PFC.
    shares : tuple of int
        Share of each traffic class in percent.
    classes : tuple of int
        Traffic class of each priority.
    applications : frozenset of tuple
        Application priorities: selector, protocol and priority.
    conditions : tuple of str or None
        Conditions that the device reports; ``None`` if they cannot be queried.
    traffic : Traffic or None
        Activity of a device that forwards frames; ``None`` for an agent.
    """

    pfc: tuple[int, ...]
    shares: tuple[int, ...]
    classes: tuple[int, ...]
    applications: frozenset[tuple[int, int, int]]
    conditions: tuple[str, ...] | None = None
    traffic: Traffic | None = None


class UnfitError(InputError):
    """Raised if a device cannot be configured as a case requires."""


class Device(Protocol):
    """A device under test: a port, or a switch port to a host with the tester at the uplink."""

    name: str
    """Value of `--against` that selects this device."""

    def start(self, settings: Mapping[str, Any]) -> None:
        """Restarts the device with these settings of its DCBX agent.

        `uplink` has the settings of the uplink; with `inherits`, the port adopts the operational
        parameters of the uplink.
        """

    def administer(self, settings: Mapping[str, Any]) -> None:
        """Changes the administrator's settings."""

    def send(self, frame: bytes) -> None:
        """Delivers a frame of the tester to the device."""

    def wait(self, seconds: float) -> None:
        """Advances time."""

    def operational(self) -> Operational:
        """Operational state, once the device has settled."""

    def sent(self) -> list[bytes]:
        """Frames that the device has sent since its start."""

    def lacks(self, case: str) -> str:
        """Reason why a case does not apply to this device; empty if it does."""

    def close(self) -> None:
        """Releases the resources of the device."""


SELECTORS = {"ether_type": 1, "stream_port": 2, "datagram_port": 3, "port": 4, "dscp": 5}


@dataclass
class AgentDevice:
    """The agent of this package, in memory, with a clock that the case advances."""

    name: str = "agent"
    _agent: _core.DcbxAgent = field(init=False)
    _uplink: _core.DcbxAgent | None = None
    _own: Mapping[str, Any] = field(default_factory=dict)
    _inherits: bool = False
    _now_ns: int = 0
    _sent: list[bytes] = field(default_factory=list)

    def start(self, settings: Mapping[str, Any]) -> None:
        """Restarts the agent."""
        import tomli_w

        octets = bytes.fromhex(MAC.replace(":", ""))
        self._now_ns, self._sent = 0, []
        uplink = settings.get("uplink")
        self._own = {key: value for key, value in settings.items() if key != "uplink"}
        self._inherits = uplink is not None and uplink["inherits"]
        self._agent = _core.DcbxAgent(octets, tomli_w.dumps(self._own), "settings of the case")
        self._uplink = None
        if uplink is not None:
            other = bytes([*octets[:5], octets[5] + 1])
            self._uplink = _core.DcbxAgent(other, tomli_w.dumps(uplink["settings"]), "settings of the case")
        self._serve()

    def administer(self, settings: Mapping[str, Any]) -> None:
        """Changes the administrator's settings."""
        import tomli_w

        self._agent.administer(tomli_w.dumps(settings), "settings of the case", self._now_ns)
        self._serve()

    def send(self, frame: bytes) -> None:
        """Delivers a frame to the agent."""
        (self._uplink or self._agent).receive(frame, self._now_ns)
        self._serve()

    def wait(self, seconds: float) -> None:
        """Advances the clock; each timer expires at its scheduled time."""
        end_ns = self._now_ns + round(seconds * SECOND_NS)
        while (next_ns := self._next_ns()) <= end_ns:
            self._now_ns = max(self._now_ns, next_ns)
            self._serve()
        self._now_ns = end_ns

    def operational(self) -> Operational:
        """Operational state of the agent."""
        now = json.loads(self._agent.state(self._now_ns))["operational"]
        applications = frozenset(
            (SELECTORS[one["selector"]], one["protocol"], one["priority"]) for one in now["applications"]
        )
        table = now["ets"]["table"]
        return Operational(
            pfc=tuple(now["pfc"]["enabled"]),
            shares=tuple(table["percent"]),
            classes=tuple(table["classes"]),
            applications=applications,
            conditions=tuple(now["conditions"]),
        )

    def sent(self) -> list[bytes]:
        """Frames that the agent has sent."""
        return list(self._sent)

    def lacks(self, case: str) -> str:
        """Rejects cases of pauses, shares and congestion, which require a device that forwards frames."""
        return "" if case.startswith("DX-") else "the agent forwards no frames"

    def close(self) -> None:
        """Does nothing: there are no resources to release."""

    def _next_ns(self) -> int:
        both = self._agent if self._uplink is None else self._uplink
        return min(self._agent.next_ns(), both.next_ns())

    def _serve(self) -> None:
        if self._uplink is not None:
            while self._uplink.send(self._now_ns) is not None:
                pass  # frames for the tester are discarded
            if self._inherits:
                self._inherit(self._uplink)
        while (frame := self._agent.send(self._now_ns)) is not None:
            self._sent.append(frame)

    def _inherit(self, uplink: _core.DcbxAgent) -> None:
        import tomli_w

        from penstock.dcbx.inherit import inherited

        reported = inherited(self._own, json.loads(uplink.state(self._now_ns)))
        self._agent.administer(tomli_w.dumps(reported), "settings of the case", self._now_ns)
