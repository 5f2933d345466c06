"""Service classes of IEEE 802.1D-2004, and their mapping to channels.

There are seven kinds of traffic, each with a priority. In a fabric with fewer channels (or queues), several
kinds share one channel, which gets the strictest of their requirements::

    from penstock.qos.arbitration import Need, fill
    from penstock.qos.service_classes import channels, merge

    needs = {6: Need(16, 4), 5: Need(12, 6), 4: Need(12, 6), 0: Need(8)}
    three = channels(3)                       # the channel of each priority: flow_control.credit.channels
    table = fill(64, merge(needs, three))     # entries for dtable, by channel

Source: IEEE 802.1D-2004, Annex G and Table 7-2 (the table is recalled, not copied from the standard);
Martinez 2006, Table 1 and section 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import InputError

from .arbitration import Need


@dataclass(frozen=True)
class ServiceClass:
    """A kind of traffic.

    Attributes
    ----------
    name : str
        Two letters.
    meaning : str
        Purpose.
    priority : int
        Priority, 0 to 7.
    latency_s : float or None
        Largest acceptable latency and jitter in seconds; `None` for no limit.
    admitted : bool
        True if its connections request bandwidth (`penstock.qos.admission`).
    """

    name: str
    meaning: str
    priority: int
    latency_s: float | None = None
    admitted: bool = False


SERVICE_CLASSES = (
    ServiceClass("NC", "network control", 7),
    ServiceClass("VO", "voice", 6, 0.010, admitted=True),
    ServiceClass("VI", "video", 5, 0.100, admitted=True),
    ServiceClass("CL", "controlled load", 4, admitted=True),
    ServiceClass("EE", "excellent effort", 3),
    ServiceClass("BE", "best effort", 0),
    ServiceClass("BK", "background", 1),
)
"""Most important first. Priority 2 is spare and ranks between BE and BK."""

_CHANNELS = (
    (0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 1, 1, 1, 1),
    (0, 0, 0, 0, 1, 1, 2, 2),
    (1, 0, 0, 1, 2, 2, 3, 3),
    (1, 0, 0, 1, 2, 3, 4, 4),
    (1, 0, 0, 2, 3, 4, 5, 5),
    (1, 0, 0, 2, 3, 4, 5, 6),
    (2, 0, 1, 3, 4, 5, 6, 7),
)


def channels(count: int) -> list[int]:
    """Returns the channel of each priority, starting with 0: the key ``channels`` of credits, or ``queues``.

    Parameters
    ----------
    count : int
        Number of channels, 1 to 8.

    Raises
    ------
    InputError
        If the number is out of range.
    """
    if not 1 <= count <= len(_CHANNELS):
        raise InputError(f"{count} channels: expected 1 to {len(_CHANNELS)}")
    return list(_CHANNELS[count - 1])


def merge(needs: Mapping[int, Need], channel_of: Sequence[int]) -> dict[int, Need]:
    """Returns the requirements of each channel: total entries of its priorities, and minimum distance.

    Parameters
    ----------
    needs : mapping
        Requirements of priorities, 0 to 7.
    channel_of : sequence of int
        Channel of each of the eight priorities; see `channels`.

    Raises
    ------
    InputError
        If a priority is out of range.
    """
    merged: dict[int, Need] = {}
    for priority, own in needs.items():
        if not 0 <= priority < len(channel_of):
            raise InputError(f"priority {priority}: expected 0 to {len(channel_of) - 1}")
        known = merged.get(channel_of[priority], Need(0))
        distances = [need.distance for need in (known, own) if need.distance is not None]
        merged[channel_of[priority]] = Need(known.entries + own.entries, min(distances, default=None))
    return merged
