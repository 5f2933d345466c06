"""Converts profiles of lossless priority groups (SONiC and its headroom tables) to keys of a scenario.

A profile has `size`, the reserve of a group; `xoff`, its headroom; and a threshold. The threshold is static,
in bytes, or dynamic, a power of two times the free memory of the pool. A paused group resumes at `xon` or at
`xon_offset` below the threshold, whichever is higher.

Source: the schema of SONiC's CONFIG_DB. With NVIDIA, `size` is the sum of XON and headroom if the pool has no
shared headroom.

Not modelled, but reported: an XON other than the reserve with a dynamic threshold, and a limit of each
group's headroom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .piece import size

EXPONENTS = range(-8, 8)
NEVER_BYTES = 1 << 40
"""A resume offset above any threshold: a paused group resumes when it has drained to its reserve."""


@dataclass(frozen=True)
class Profile:
    """A profile, in bytes.

    Attributes
    ----------
    size, xon, xoff : int
        Reserve, level at which a paused group resumes, and headroom.
    xon_offset : int or None
        Distance below the threshold at which it resumes; ``None`` to resume at `xon` only.
    exponent : int or None
        Exponent of two, for a dynamic threshold.
    static : int or None
        Static threshold.
    name : str
        Name of the profile.
    trims : bool
        True if frames that exceed the threshold of a queue with this profile are trimmed.
    """

    size: int
    xon: int
    xoff: int
    xon_offset: int | None = None
    exponent: int | None = None
    static: int | None = None
    name: str = "profile"
    trims: bool = False

    @property
    def has_headroom_in_size(self) -> bool:
        """Returns true if the size includes the headroom, as NVIDIA's does."""
        return self.xoff > 0 and self.size == self.xon + self.xoff

    @property
    def reserve(self) -> int:
        """Bytes reserved for the group."""
        return self.size - self.xoff if self.has_headroom_in_size else self.size

    def dynamic(self) -> tuple[dict[str, Any], list[str]]:
        """Keys of `switch.buffer.dynamic_threshold`, and remarks on values that they cannot express."""
        keys = {
            "alpha": 2.0 ** (self.exponent or 0),
            "minimum": size(self.reserve),
            "resume_offset": size(NEVER_BYTES if self.xon_offset is None else self.xon_offset),
        }
        entries = []
        if self.xon != self.reserve:
            entries.append(
                f"xon is {self.xon} and the reserve {self.reserve}: a paused group resumes at its reserve, "
                "or at the offset below the threshold"
            )
        return keys, entries

    def of_pool(self, pool: str, *, has_shared_headroom: bool) -> tuple[dict[str, Any], list[str]]:
        """Keys of a profile of `switch.buffer.memory`, and remarks on values that they cannot express."""
        entries = []
        reserved = self.size
        if not has_shared_headroom and self.xoff:
            if self.size >= self.xoff:
                reserved = self.size - self.xoff
            else:
                entries.append(
                    f"size is {self.size} and xoff {self.xoff}: headroom is taken as additional to the size"
                )
        keys: dict[str, Any] = {"pool": pool, "reserved": size(reserved)}
        if self.exponent is not None:
            keys["alpha"] = 2.0**self.exponent
        elif self.static is not None:
            keys["threshold"] = size(self.static)
        if self.trims:
            keys["discard_action"] = "trim"
        if self.xoff:
            keys |= {"headroom": size(self.xoff), "xon": size(self.xon)}
            if self.xon_offset is not None:
                keys["xon_offset"] = size(self.xon_offset)
        return keys, entries

    def watermarks(self) -> tuple[dict[str, str], list[str]]:
        """Keys of `flow_control.pfc` for a static threshold, and remarks on what they cannot express."""
        xoff, reported = self.static or 0, []
        xon = self.xon if self.xon_offset is None else max(self.xon, xoff - self.xon_offset)
        if xon != self.xon:
            reported.append(f"xon_offset is {self.xon_offset}: a paused group resumes at {xon} B")
        if self.size not in (0, self.xon + self.xoff):
            reported.append(f"size is {self.size}: a static threshold has no additional reserve")
        return {"xoff": size(xoff), "xon": size(xon), "headroom": size(self.xoff)}, reported
