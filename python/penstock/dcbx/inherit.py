"""A rule that the standard lacks, for switches between core and hosts: ports have what their uplink has.

DCBX is between two ends of a link. An edge switch adopts at its uplink what the core wants; nothing tells its
other ports. By this rule what is in force at the uplink is what the administrator of such a port wants: it is
told to the hosts, and recommended to them.

Source: Hagen 2012 section 3.2.4 names the gap. The rule is ours, and off unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def inherited(settings: Mapping[str, Any], uplink: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a port behind an uplink.

    Parameters
    ----------
    settings : mapping
        What its administrator wants, as keys of a file of settings: whether it is willing, and what it can.
    uplink : mapping
        The state of the agent at the uplink.
    """
    now = uplink["operational"]
    table = dict(now["ets"]["table"])
    # Agents differ in whether a class without ETS has a share; here it has none.
    shares = zip(table["percent"], table["algorithms"], strict=True)
    table["percent"] = [share if algorithm == "ets" else 0 for share, algorithm in shares]
    return {
        **settings,
        "ets": {**settings.get("ets", {}), "own": table, "recommended": table},
        "pfc": {**settings.get("pfc", {}), "priorities": now["pfc"]["enabled"]},
        "applications": now["applications"],
    }
