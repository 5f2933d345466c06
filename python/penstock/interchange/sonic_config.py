"""CONFIG_DB of SONiC, as `config_db.json` has it: settings of a switch, those of its ports with PFC.

`sonic_port` says what a port has, `sonic_tables` tells what nobody has read. This module says it in the
words of a scenario, which has one set of settings for all ports of a switch; ports that differ are told.

Source: the schema of SONiC's CONFIG_DB. The size of a pool is the part that is shared: reserves and the
headroom of the pool come on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from .json_text import whole
from .lossless_profile import Profile
from .piece import Document, Piece, size
from .shares import percentages
from .sonic_port import ACTIONS, CODE_POINTS, PRIORITIES, Pool, View, Wred, ports, view
from .sonic_tables import Tables

KNOWN = ("PORT_QOS_MAP", "BUFFER_PG", "BUFFER_POOL", "QUEUE")
FRAME_BYTES = 22
"""What the MTU of a port does not count of a frame: addresses, type, VLAN tag and FCS (portsorch)."""
_NAMED = 4


def recognises(document: Document) -> bool:
    """Whether a text is JSON that has a table of queues, buffers or maps of ports."""
    return document.text.lstrip().startswith("{") and any(f'"{name}"' in document.text for name in KNOWN)


def read(document: Document) -> Piece:
    """The settings of the ports that have lossless priorities; without such ports, of all.

    Of ports that differ, those are taken that most others are like, or those like `document.interface`.

    Raises
    ------
    InputError
        If the text is no CONFIG_DB, has no ports, or says what a scenario cannot. The message names table and
        line.
    """
    part = whole(document, "the tables of CONFIG_DB")
    tables = Tables(part)
    if not any(isinstance(part.table.get(name), dict) for name in KNOWN):
        raise document.error("CONFIG_DB", f"has none of the tables {', '.join(KNOWN)}")
    views = {port: view(tables, port) for port in ports(tables)}
    if not views:
        raise document.error("PORT_QOS_MAP", "has no port")
    port, told = _chosen(document, views)
    settings = _Settings(tables, views[port])
    keys = settings.keys()
    chosen = Tables(part)
    view(chosen, port)
    remarks = [f"{document.file}: {line}" for line in (*told, *tables.told)] + tables.ignored()
    return Piece(keys, remarks=remarks, notes=chosen.notes(), links=settings.links())


def _chosen(document: Document, views: Mapping[str, View]) -> tuple[str, list[str]]:
    """The port to read, and how others differ."""
    if document.interface is not None:
        if document.interface not in views:
            known = ", ".join([*views][:_NAMED])
            raise document.error("PORT_QOS_MAP", f"has no port {document.interface}; there are {known}, ...")
        port = document.interface
    else:
        of_pfc = [name for name, one in views.items() if one.lossless] or [*views]
        like = {name: sum(views[other] == views[name] for other in of_pfc) for name in of_pfc}
        port = max(of_pfc, key=lambda name: like[name])
    told = []
    for what in fields(View):
        differ = [
            name for name, one in views.items() if getattr(one, what.name) != getattr(views[port], what.name)
        ]
        if differ:
            named = ", ".join(differ[:_NAMED]) + (
                f" and {len(differ) - _NAMED} more" if len(differ) > _NAMED else ""
            )
            told.append(
                f"{named} set up otherwise than {port} ({_ABOUT[what.name]}): all ports are taken as {port}; "
                "--interface names another"
            )
    return port, told


_ABOUT = {
    "queue_of": "queues of priorities",
    "lossless": "pfc_enable",
    "schedulers": "schedulers",
    "wred": "WRED",
    "groups": "profiles of lossless groups",
    "group_of": "groups of priorities",
    "of_groups": "profiles of lossy groups",
    "of_queues": "profiles of queues",
    "speed": "speed",
    "mtu": "mtu",
    "cable": "cable length",
    "watchdog": "watchdog",
    "class_of_dscp": "maps of DSCP",
    "new_dscp": "new DSCPs",
    "stops": "queues that pauses stop",
    "pause_group": "groups that send pauses",
}


class _Settings:
    """A port in the words of a scenario."""

    def __init__(self, tables: Tables, port: View) -> None:
        self.tables = tables
        self.port = port

    def links(self) -> dict[str, str]:
        """Rate and length of the port's link, as far as they are known."""
        known = {
            "rate": None
            if self.port.speed is None
            else f"{Fraction(self.port.speed, 1_000)} Gb/s"
            if self.port.speed % 1_000 == 0
            else f"{self.port.speed} Mb/s",
            "length": None
            if not self.port.cable or self.port.cable == "0m"
            else self.port.cable.replace("m", " m"),
        }
        return {key: value for key, value in known.items() if value is not None}

    def keys(self) -> dict[str, Any]:
        """All keys."""
        queues = [*self.port.queue_of]
        every = [*range(max(queues) + 1)]
        switch: dict[str, Any] = {"queues": "per_priority" if queues == [*PRIORITIES] else queues}
        if scheduler := self._scheduler(every, set(queues)):
            switch["scheduler"] = scheduler
        if managers := self._managers(set(queues)):
            switch["queue_managers"] = managers
        if maps := self._maps():
            switch["maps"] = maps
        if self.port.mtu is not None:
            switch["mtu"] = f"{self.port.mtu + FRAME_BYTES} B"
        keys: dict[str, Any] = {"switch": switch}
        if self.port.lossless:
            pfc: dict[str, Any] = {"priorities": [*self.port.lossless], "accounting": "ingress"}
            buffer = self._buffer()
            if buffer:
                switch["buffer"] = buffer
            keys["flow_control"] = {"pfc": pfc}
            if self.port.watchdog:
                detection, restoration, action = self.port.watchdog
                keys["watchdog"] = {
                    "detection_time": f"{detection} ms",
                    "restoration_time": f"{restoration} ms",
                    "action": ACTIONS[action],
                }
        elif self.port.watchdog:
            self.tables.tell("PFC_WD", "the port has no priority with PFC: no watchdog")
        return keys

    def _maps(self) -> dict[str, Any]:
        """What DSCPs and pauses stand for, where that is not what it is without maps."""
        maps: dict[str, Any] = {}
        port = self.port
        if port.class_of_dscp is not None:
            maps["dscp_to_tc"] = _shortest(dict(port.class_of_dscp))
        for key, found, usual in (
            ("pfc_to_queue", port.stops, port.queue_of),
            ("pfc_to_group", port.pause_group, port.group_of),
        ):
            if found != usual:
                maps[key] = [*found]
        if remap := self._remap():
            maps["remap"] = [{"to": ["*"], "dscp": remap}]
        return maps

    def _remap(self) -> dict[str, int]:
        """The new code point of each that changes on the way out."""
        port, where = self.port, "TC_TO_DSCP_MAP"
        if port.new_dscp and port.class_of_dscp is None:
            self.tables.tell(where, "the port has no map of DSCP: no frame has one that could change")
            return {}
        class_of = dict.fromkeys(CODE_POINTS, 0) | dict(port.class_of_dscp or ())
        new = dict(port.new_dscp)
        changed = {dscp: new.get(one, dscp) for dscp, one in class_of.items()}
        changed = {dscp: to for dscp, to in changed.items() if to != dscp}
        elsewhere = [
            dscp
            for dscp, to in changed.items()
            if port.queue_of[class_of[dscp]] != port.queue_of[class_of[to]]
        ]
        if elsewhere:
            named = ", ".join(map(str, elsewhere[:_NAMED])) + (", ..." if len(elsewhere) > _NAMED else "")
            self.tables.tell(
                where,
                f"frames of DSCP {named} wait in the queue of their old code point, in a scenario in that of "
                "the new one: they keep their DSCP",
            )
        return {str(dscp): to for dscp, to in changed.items() if dscp not in elsewhere}

    def _scheduler(self, queues: list[int], used: set[int]) -> dict[str, Any] | str | None:
        """How queues share the port; ``None`` if nothing is said."""
        named = {number: self.port.schedulers[number] for number in queues if number in self.port.schedulers}
        if not named:
            self.tables.tell("QUEUE", "queues have no scheduler: that of --like, or strict priority")
            return None
        without = [number for number in queues if number not in named and number in used]
        if without:
            self.tables.tell(
                "QUEUE", f"queues {', '.join(map(str, without))} have no scheduler: taken as strict priority"
            )
        weights = {number: one.weight for number, one in named.items() if one.weight is not None}
        if not weights:
            return "strict_priority"
        shares = percentages(weights)
        exact = all(
            shares[number] * sum(weights.values()) == 100 * weight for number, weight in weights.items()
        )
        if not exact and len(weights) == len(queues):
            return {"drr": {"weights": [weights[number] for number in queues]}}
        if not exact:
            asked = ", ".join(map(str, weights.values()))
            said = ", ".join(map(str, shares.values()))
            self.tables.tell(
                "SCHEDULER", f"weights {asked} beside strict priority: as whole per cent, {said}"
            )
        how: dict[int, dict[str, Any]] = {number: {"percent": shares[number]} for number in weights}
        return {"ets": {"classes": [{"queues": [one], **how.get(one, {"strict": True})} for one in queues]}}

    def _managers(self, queues: set[int]) -> list[dict[str, Any]]:
        """Marks and early drops by queue; queues that are alike are one entry."""
        alike: dict[Wred, list[int]] = {}
        for number, wred in sorted(self.port.wred.items()):
            if number in queues:
                alike.setdefault(wred, []).append(number)
        return [{"classes": numbers, **self._manager(wred)} for wred, numbers in alike.items()]

    def _manager(self, wred: Wred) -> dict[str, Any]:
        if not wred.rises:
            where = "WRED_PROFILE"
            if wred.drops:
                self.tables.tell(where, f"marks above {wred.most} B; frames without ECN pass there")
            self.tables.tell(
                where, f"the probability of {wred.percent} % at {wred.most} B counts for nothing"
            )
            return {"step": {"threshold": size(wred.most)}}
        green = _line(wred)
        keys: dict[str, Any] = {
            "weight": 1.0,
            **green,
            "gentle": False,
            "spacing": "geometric",
            **{color: _other(_line(one), green) for color, one in wred.others},
        }
        if wred.marks or any(one.marks for _, one in wred.others):
            keys["mark_above_max"] = True
        return {"red": keys}

    def _buffer(self) -> dict[str, Any]:
        """The memory of a switch."""
        groups = self.port.groups
        if set(groups.values()) == {None}:
            self.tables.tell("BUFFER_PG", "no profile of the lossless groups: thresholds are computed")
            return {}
        if without := [str(priority) for priority, one in groups.items() if one is None]:
            self.tables.tell(
                "BUFFER_PG", f"priorities {', '.join(without)} have no profile: theirs is that of the others"
            )
        numbers = [self.port.pause_group[priority] for priority in groups]
        if len(set(numbers)) < len(numbers):
            message = "lossless priorities share a priority group; expected one for each"
            raise self.tables.error("TC_TO_PRIORITY_GROUP_MAP", message, "TC_TO_PRIORITY_GROUP_MAP")
        found = {number: one for number, one in zip(numbers, groups.values(), strict=True) if one is not None}
        first = next(iter(found.values()))
        of_groups = {number: found.get(number, first) for number in numbers}
        if any(pool.size is None for _, pool in of_groups.values()):
            self.tables.tell("BUFFER_POOL", "has no size, the switch computes it: so are thresholds")
            return {}
        return {"memory": self._memory(of_groups | self.port.of_groups)}

    def _memory(self, of_groups: Mapping[int, tuple[Profile, Pool]]) -> dict[str, Any]:
        """Pools, profiles, and who has them."""
        pools: dict[str, Any] = {}
        profiles: dict[str, Any] = {}
        attach: list[dict[str, Any]] = []
        for what, entries in (("groups", of_groups), ("queues", self.port.of_queues)):
            members: dict[str, list[int]] = {}
            for number, (profile, pool) in sorted(entries.items()):
                if pool.size is None:
                    self.tables.tell(f"BUFFER_POOL|{pool.name}", "has no size: what it holds is not limited")
                    continue
                keys: dict[str, Any] = {"side": pool.side, "size": size(pool.size), "mode": pool.mode}
                if pool.headroom and pool.side == "ingress":
                    keys["headroom"] = size(pool.headroom)
                pools[pool.name] = keys
                own, told = profile.of_pool(pool.name, has_shared_headroom=bool(pool.headroom))
                for line in told:
                    self.tables.tell(f"BUFFER_PROFILE|{profile.name}", line)
                profiles[profile.name] = own
                members.setdefault(profile.name, []).append(number)
            attach += [{"profile": name, what: numbers} for name, numbers in members.items()]
        self.tables.tell(
            "BUFFER_POOL",
            "size is read as the part that is shared, headroom and reserves as beside it; static templates "
            "of NVIDIA may count them within",
        )
        memory: dict[str, Any] = {"pools": pools, "profiles": profiles, "attach": attach}
        if self.port.group_of != tuple(PRIORITIES):
            memory["groups"] = [*self.port.group_of]
        return memory


def _line(wred: Wred) -> dict[str, Any]:
    """What frames of a color meet between two thresholds."""
    return {
        "min": size(wred.least),
        "max": size(wred.most),
        "max_probability": wred.percent / 100,
        "action": ("mark" if wred.drops else "mark_only") if wred.marks else "drop",
    }


def _other(keys: Mapping[str, Any], green: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in keys.items() if value != green[key]}


def _shortest(named: Mapping[int, int]) -> dict[str, int]:
    """A map of code points. Of one that names all, the most frequent value is that of the others."""
    if len(named) < len(CODE_POINTS):
        return {str(dscp): one for dscp, one in named.items()}
    counts = Counter(named.values())
    other = max(sorted(counts), key=lambda one: counts[one])
    return {str(dscp): one for dscp, one in named.items() if one != other} | {"other": other}
