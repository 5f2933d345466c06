"""Converts packet trimming of SONiC, `SWITCH_TRIMMING|GLOBAL`, to keys of a scenario and back.

A switch trims frames to `size`, and trimmed frames have the code point `dscp_value`. If it is "from-tc", the
code point is the entry for `tc_value` in the `TC_TO_DSCP_MAP` of the egress port. `queue_index` is the queue
of trimmed frames, or "dynamic": the queue of their code point, the only queue that a scenario has for them.
The profiles of BUFFER_QUEUE determine which queues trim (`packet_discard_action`).

Source: the schema of sonic-swss and the YANG model sonic-trimming; at least one field; ranges of SAI. Sizes
in a scenario are 64 B to 4,088 B, from DA to FCS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .piece import size
from .sonic_tables import Entry, Tables
from .wred import whole_bytes

TABLE = "SWITCH_TRIMMING"
KEY = "GLOBAL"
FIELDS = ("size", "dscp_value", "tc_value", "queue_index")
SIZES = range(64, 4_089)
FROM_TC = "from-tc"
DYNAMIC = "dynamic"
QUEUES = 20
"""Number of queues that a port may have in SAI, including multicast queues."""
PRESET_SIZES = {"sonic": 128, "uec": 66, "htsim": 64}
"""Bytes to which frames are trimmed, by preset of `switch.trimming`."""
USUAL_DSCP = 48


def read(
    tables: Tables, new_dscp: Callable[[], Mapping[int, int]], queue_of_dscp: Callable[[int], int]
) -> dict[str, Any] | None:
    """Reads the keys of `switch.trimming`; ``None`` if the configuration has no trimming.

    Parameters
    ----------
    tables : Tables
        The configuration.
    new_dscp : callable
        Returns the code point of each traffic class at the egress of the port, and marks it as read.
    queue_of_dscp : callable
        Returns the queue of a code point.

    Raises
    ------
    InputError
        If there are no fields, or a value is out of range; the message names the field and line.
    """
    entry = tables.entry(TABLE, KEY)
    if entry is None:
        return None
    if not any(entry.text(name) for name in FIELDS):
        known = ", ".join(FIELDS)
        raise entry.error("", f"has no field that sets trimming; expected at least one of {known}")
    keys: dict[str, Any] = {}
    where = f"{TABLE}|{KEY}"
    bytes_left = entry.whole("size", SIZES[0], SIZES[-1])
    if bytes_left is None:
        tables.report(where, f"assumed: no size: frames are trimmed to {PRESET_SIZES['sonic']} B")
    else:
        keys["size"] = size(bytes_left)
    dscp = _dscp(tables, entry, new_dscp)
    if dscp is None:
        tables.report(where, f"assumed: no dscp_value: trimmed frames have DSCP {USUAL_DSCP}")
    else:
        keys["dscp"] = dscp
    _queue(tables, entry, queue_of_dscp(USUAL_DSCP if dscp is None else dscp))
    return keys


def _dscp(tables: Tables, entry: Entry, new_dscp: Callable[[], Mapping[int, int]]) -> int | None:
    """The code point of trimmed frames."""
    where = f"{TABLE}|{KEY}"
    if entry.text("dscp_value") == FROM_TC:
        number = entry.whole("tc_value", 0, 15)
        if number is None:
            message = f"dscp_value is {FROM_TC}, but there is no tc_value; expected 0 to 15"
            raise entry.error("tc_value", message)
        if number not in (dscp_of := new_dscp()):
            known = ", ".join(map(str, dscp_of))
            message = f"tc_value is {number}, which is not in the TC_TO_DSCP_MAP of the port"
            raise entry.error("tc_value", f"{message}; expected {f'one of {known}' if known else 'a map'}")
        tables.report(where, f"traffic class {number} has DSCP {dscp_of[number]} at the imported port")
        return dscp_of[number]
    if entry.text("tc_value"):
        tables.report(where, f"tc_value has no effect: dscp_value is not {FROM_TC}")
        entry.drop(["tc_value"], f"dscp_value is not {FROM_TC}")
    return entry.whole("dscp_value", 0, 63)


def _queue(tables: Tables, entry: Entry, usual: int) -> None:
    """Compares the queue of trimmed frames with the queue of their code point."""
    text = entry.text("queue_index")
    if text is None or text == DYNAMIC:
        return
    if (number := entry.whole("queue_index", 0, QUEUES - 1)) is not None and number != usual:
        tables.report(
            f"{TABLE}|{KEY}",
            f"assumed: queue_index is {number}: trimmed frames use queue {usual}, the queue of their DSCP",
        )


def written(effective: Mapping[str, Any], reported: list[str]) -> dict[str, dict[str, Any]]:
    """The SWITCH_TRIMMING table of an effective scenario; empty if its switches do not trim."""
    keys = effective["switch"].get("trimming")
    if keys is None:
        return {}
    preset = keys.get("preset", "sonic")
    usual = f"{PRESET_SIZES[preset]} B"
    entry = {
        "size": str(whole_bytes("switch.trimming.size", keys.get("size", usual))),
        "dscp_value": str(keys.get("dscp", USUAL_DSCP)),
        "queue_index": DYNAMIC,
    }
    others = ("threshold", "last_hop_threshold", "header_limit", "victim", "last_hop", "dscp_to")
    reported += [
        f"switch.trimming.{name} is left out: SONiC has no field for it" for name in others if name in keys
    ]
    if preset != "sonic":
        reported.append(f"switch.trimming.preset is {preset}: SONiC trims frames that find no room only")
    if "queues" in keys or "memory" not in effective["switch"].get("buffer", {}):
        reported.append(
            "switch.trimming: the queues that trim are left out: SONiC sets them by packet_discard_action in "
            "the profiles of switch.buffer.memory"
        )
    return {TABLE: {KEY: entry}}
