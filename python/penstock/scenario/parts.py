"""The choices of a scenario that exclude each other.

Made by `make docs` from the JSON Schema of scenarios; do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from . import keys as k
from .values import Chooser, spelled

if TYPE_CHECKING:
    from .builder import Scenario


class Topology(Chooser):
    """Topology of the fabric: exactly one of these. A call replaces an earlier one."""

    _key = "topology"

    @spelled(k.StarKeys)
    def star(self, **keys: Unpack[k.StarKeys]) -> Scenario:
        """One switch `sw` with hosts `h0`, `h1`, ... around it."""
        return self._choose("star", keys, k.StarKeys)

    @spelled(k.DumbbellKeys)
    def dumbbell(self, **keys: Unpack[k.DumbbellKeys]) -> Scenario:
        """Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ..."""
        return self._choose("dumbbell", keys, k.DumbbellKeys)

    @spelled(k.ChainKeys)
    def chain(self, **keys: Unpack[k.ChainKeys]) -> Scenario:
        """Switches `sw0`, `sw1`, ... in a row."""
        return self._choose("chain", keys, k.ChainKeys)

    @spelled(k.RingKeys)
    def ring(self, **keys: Unpack[k.RingKeys]) -> Scenario:
        """Switches `sw0`, `sw1`, ... in a ring."""
        return self._choose("ring", keys, k.RingKeys)

    @spelled(k.LeafSpineKeys)
    def leaf_spine(self, **keys: Unpack[k.LeafSpineKeys]) -> Scenario:
        """Two-tier fabric: leaves `leaf0`, ..., each linked to each of the spines `spine0`, ..."""
        return self._choose("leaf_spine", keys, k.LeafSpineKeys)

    @spelled(k.FatTreeKeys)
    def fat_tree(self, **keys: Unpack[k.FatTreeKeys]) -> Scenario:
        """Three-tier fabric of k-port switches (Al-Fares et al. 2008): `core0`, ..., `agg{pod}.{i}`,
        `edge{pod}.{i}`.
        """
        return self._choose("fat_tree", keys, k.FatTreeKeys)

    @spelled(k.NTreeKeys)
    def n_tree(self, **keys: Unpack[k.NTreeKeys]) -> Scenario:
        """K-ary n-tree (Petrini and Vanneschi 1997): switches `s{level}.{i}`, k^n hosts `h0`, ..."""
        return self._choose("n_tree", keys, k.NTreeKeys)

    @spelled(k.RailsKeys)
    def rails(self, **keys: Unpack[k.RailsKeys]) -> Scenario:
        """Rail-optimized fabric (Spectrum-X, HPN 7.0): hosts `h{server}.{rail}`, the NICs of a rail at the
        same leaf.
        """
        return self._choose("rails", keys, k.RailsKeys)

    @spelled(k.DragonflyKeys)
    def dragonfly(self, **keys: Unpack[k.DragonflyKeys]) -> Scenario:
        """Groups of fully meshed switches `sw{group}.{i}`, joined by global links (Kim et al. 2008)."""
        return self._choose("dragonfly", keys, k.DragonflyKeys)

    @spelled(k.SlimFlyKeys)
    def slim_fly(self, **keys: Unpack[k.SlimFlyKeys]) -> Scenario:
        """Fabric of diameter 2 (Besta and Hoefler 2014): 2q^2 switches `sw{group}.{i}`."""
        return self._choose("slim_fly", keys, k.SlimFlyKeys)

    @spelled(k.TorusKeys)
    def torus(self, **keys: Unpack[k.TorusKeys]) -> Scenario:
        """Grid of switches `sw{x}.{y}`, ... with wrap-around links."""
        return self._choose("torus", keys, k.TorusKeys)

    @spelled(k.ExplicitKeys)
    def explicit(self, **keys: Unpack[k.ExplicitKeys]) -> Scenario:
        """Fabric described link by link: named hosts and switches, and each link."""
        return self._choose("explicit", keys, k.ExplicitKeys)


class FlowControl(Chooser):
    """Link-level flow control: one of these. A call replaces an earlier one."""

    _key = "flow_control"

    def off(self) -> Scenario:
        """None."""
        return self._choose("off")

    @spelled(k.PauseKeys)
    def pause(self, **keys: Unpack[k.PauseKeys]) -> Scenario:
        """PAUSE of IEEE 802.3 Annex 31B: stops the whole link."""
        return self._choose("pause", keys, k.PauseKeys)

    @spelled(k.PauseKeys)
    def pfc(self, **keys: Unpack[k.PauseKeys]) -> Scenario:
        """Priority-based flow control of IEEE 802.1Qbb: stops single priorities."""
        return self._choose("pfc", keys, k.PauseKeys)

    @spelled(k.CreditKeys)
    def credit(self, **keys: Unpack[k.CreditKeys]) -> Scenario:
        """Credit-based flow control, as in Advanced Switching, PCI Express or InfiniBand: frames wait for
        room at the other end of the link.
        """
        return self._choose("credit", keys, k.CreditKeys)

    @spelled(k.ByClassKeys)
    def by_class(self, **keys: Unpack[k.ByClassKeys]) -> Scenario:
        """PFC for some priorities of a link, and credits for others."""
        return self._choose("by_class", keys, k.ByClassKeys)
