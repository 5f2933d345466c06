"""The choices of a scenario that exclude each other: its topology and its flow control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from .keys import PauseKeys, PfcKeys
from .values import given, known

if TYPE_CHECKING:
    from .builder import Scenario


class Topology:
    """Chooses the topology of a scenario. Every call replaces an earlier choice.

    All named topologies take ``rate`` (such as ``"10 Gb/s"``), ``delay`` (one way, such as ``"1 us"``) or
    ``length`` of fibre (such as ``"300 m"``, 5 ns/m; default ``"2 m"``), ``interface_delay`` or ``phy``
    (such as ``"25GBASE-R RS-FEC"``), ``line_code`` (``"8b/10b"``, ``"64b/66b"`` or ``"128b/130b"``: rates
    are those on the wire then), and ``overhead`` (bytes around each frame on the wire; default
    ``"20 B"``).
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def star(self, *, hosts: int, rate: str, **link: str) -> Scenario:
        """Hosts ``h0``... around the switch ``sw``."""
        return self._choose("star", {"hosts": hosts, "rate": rate, **link})

    def dumbbell(
        self,
        *,
        left: int,
        right: int,
        rate: str,
        bottleneck_rate: str | None = None,
        bottleneck_delay: str | None = None,
        **link: str,
    ) -> Scenario:
        """Hosts ``l0``... at the switch ``left``, ``r0``... at ``right``, one link between the switches."""
        keys = {
            "left": left,
            "right": right,
            "rate": rate,
            "bottleneck_rate": bottleneck_rate,
            "bottleneck_delay": bottleneck_delay,
        }
        return self._choose("dumbbell", {**keys, **link})

    def chain(self, *, switches: int, hosts_per_switch: int, rate: str, **link: str) -> Scenario:
        """Switches ``sw0``... in a row, each with hosts ``h{switch}.{i}``."""
        keys = {"switches": switches, "hosts_per_switch": hosts_per_switch, "rate": rate}
        return self._choose("chain", {**keys, **link})

    def ring(self, *, switches: int, hosts_per_switch: int, rate: str, **link: str) -> Scenario:
        """Switches ``sw0``... in a circle, each with hosts ``h{switch}.{i}``."""
        keys = {"switches": switches, "hosts_per_switch": hosts_per_switch, "rate": rate}
        return self._choose("ring", {**keys, **link})

    def leaf_spine(
        self,
        *,
        leaves: int,
        spines: int,
        hosts_per_leaf: int,
        rate: str,
        uplink_rate: str | None = None,
        **link: str,
    ) -> Scenario:
        """Every ``leaf{i}`` has a link to every ``spine{i}``; hosts ``h0``... are numbered across leaves."""
        keys = {
            "leaves": leaves,
            "spines": spines,
            "hosts_per_leaf": hosts_per_leaf,
            "rate": rate,
            "uplink_rate": uplink_rate,
        }
        return self._choose("leaf_spine", {**keys, **link})

    def fat_tree(self, *, k: int, rate: str, **link: str) -> Scenario:
        """The k-ary fat-tree of switches with `k` ports (even): k**3 / 4 hosts ``h0``..."""
        return self._choose("fat_tree", {"k": k, "rate": rate, **link})

    def n_tree(self, *, k: int, n: int, rate: str, **link: str) -> Scenario:
        """The k-ary n-tree: k**n hosts ``h0``... below `n` levels of switches ``s{level}.{i}``."""
        return self._choose("n_tree", {"k": k, "n": n, "rate": rate, **link})

    def explicit(
        self, *, hosts: Sequence[str], switches: Sequence[str], links: Sequence[Mapping[str, Any]]
    ) -> Scenario:
        """Nodes and links by name.

        Parameters
        ----------
        hosts, switches : sequence of str
            Names.
        links : sequence of mappings
            Each with ``between`` (two names), ``rate``, ``delay`` or ``length``, and optionally
            ``line_code``, ``overhead`` and ``count`` (parallel links).
        """
        return self._choose("explicit", {"hosts": hosts, "switches": switches, "links": links})

    def _choose(self, kind: str, keys: Mapping[str, Any]) -> Scenario:
        return self._scenario._replaced(("topology", kind), given(keys, kind))


class FlowControl:
    """Chooses the link-level flow control of all stations. Every call replaces an earlier choice.

    ``penstock explain pfc`` prints the meaning and the default of each key.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def pfc(self, **keys: Unpack[PfcKeys]) -> Scenario:
        """Priority-based flow control (IEEE 802.1Qbb), targeted if `target` is given.

        Parameters
        ----------
        **keys
            `PfcKeys`, such as ``accounting="ingress", xoff="40 frames", xon="20 frames"``.
        """
        return self._scenario._replaced(("flow_control", "pfc"), known(keys, PfcKeys, "pfc"))

    def pause(self, **keys: Unpack[PauseKeys]) -> Scenario:
        """PAUSE (IEEE 802.3x), which stops the whole link.

        Parameters
        ----------
        **keys
            `PauseKeys`: those of `pfc` without `priorities` and `target`.
        """
        return self._scenario._replaced(("flow_control", "pause"), known(keys, PauseKeys, "pause"))

    def off(self) -> Scenario:
        """No link-level flow control."""
        return self._scenario.with_value("flow_control", None)
