"""A rule beyond the standard for switches between core and hosts: ports inherit the uplink's settings.

DCBX runs between the two ends of a link. An edge switch adopts the core's settings at its uplink, but the
standard does not pass them on to its other ports. With this rule, the operational parameters of the uplink
become the administrator's settings of such a port, which announces and recommends them to the hosts.

Source: Hagen 2012 section 3.2.4 describes the gap. The rule is Penstock's own, and off by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def inherited(settings: Mapping[str, Any], uplink: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a port behind an uplink.

    Parameters
    ----------
    settings : mapping
        The administrator's settings, as keys of a settings file: its willingness and capabilities.
    uplink : mapping
        The state of the agent at the uplink.
    """
    now = uplink["operational"]
    table = dict(now["ets"]["table"])
    # Agents differ in whether they report a share for a class without ETS; here it has none.
    shares = zip(table["percent"], table["algorithms"], strict=True)
    table["percent"] = [share if algorithm == "ets" else 0 for share, algorithm in shares]
    return {
        **settings,
        "ets": {**settings.get("ets", {}), "own": table, "recommended": table},
        "pfc": {**settings.get("pfc", {}), "priorities": now["pfc"]["enabled"]},
        "applications": now["applications"],
    }
