"""The figures of one choice of the paper's open parameters, for all its criteria at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.scenario import Scenario
from penstock.scenario.traffic import constant
from penstock.studies.reproduce import Context

from . import figures
from .measure import (
    ACKNOWLEDGEMENT,
    DATA,
    FRAME,
    MESSAGES,
    UPLINKS,
    VIDEO,
    Run,
    application_bytes,
    connections,
    deviation_us,
    lost,
    video_lost,
)
from .scenarios import SCENARIOS, Settings, arranged, at_ten_gigabit, marked, path_rates, with_video
from .study import window

STACK_US, THROUGH_US = 38, 2.5
"""Time of an exchange between servers in the end stations, and twice through an empty fabric, in us."""
IPC_BPS = 85e6 / 12
"""Message rate of one connection between servers, in bytes per second."""
WINDOW_S = 0.084
"""Duration of a run with video, as long as the paper's chart; the shares are also measured in it."""
OVERHEAD = 82
"""Overhead of a frame on the wire, in bytes."""


def measure(context: Context, values: Mapping[str, Any], seed: int) -> dict[str, float]:
    """Measures all figures that `search.toml` names."""
    cluster, settings = (
        changed(context.scenario("cluster").with_value("simulation.seed", seed), values),
        settings_of(values),
    )
    plain = {name: Run.of(arranged(cluster, name, settings), late=name == "RED_only") for name in SCENARIOS}
    limiters = settings.limiters
    fast = Run.of(path_rates(at_ten_gigabit(cluster), **limiters), late=False)
    return {
        **figures.database(plain, most(values)),
        **figures.queues(plain),
        **target(cluster, limiters, plain["PRC_only"]),
        **figures.messages(plain, fast),
        **figures.alone(context.scenario("unloaded").run(seed=seed)),
        **talks(cluster, settings, values),
    }


def settings_of(values: Mapping[str, Any]) -> Settings:
    """Settings from the values."""
    least = values["red_min_kb"]
    red = {
        "min": f"{least} kB",
        "max": f"{least * values['red_max']} kB",
        "max_probability": values["red_probability"],
        "weight": values["red_weight"],
        "mean_frame": "1522 B",
    }
    xoff = values["xoff_kib"]
    pause = {"xoff": f"{xoff} KiB", "xon": f"{round(xoff * values['xon'])} KiB"}
    limiters: dict[str, Any] = {
        "prc": {"target_share": values["target"], "interval": values["interval"]},
        "priority_burst": values["burst"],
    }
    if values["limited"] == "database":
        limiters["priorities"] = [2]
    return Settings(red, pause, values["mark_after"], limiters)


def changed(cluster: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The cluster with other messages and another partitioning of its memory."""
    think_us = values["ipc_bytes"] / IPC_BPS * 1e6 - STACK_US - THROUGH_US
    for flow in cluster.to_dict()["flows"]:
        at = f"flows.{flow['name']}.source.conversation"
        if flow["name"].startswith("ipc"):
            cluster = cluster.with_value(f"{at}.messages", [f"{values['ipc_bytes']} B", "64 B"])
            cluster = cluster.with_value(f"{at}.think", {"exponential": f"{think_us:.0f} us"})
            continue
        block = [f"{values['block_kib']} KiB", "64 B"]
        entry = flow["name"].startswith("entry")
        cluster = cluster.with_value(f"{at}.messages", block if entry else block[::-1])
    for station in ("switch", "switches.servers1", "switches.servers2"):
        cluster = cluster.with_value(f"{station}.buffer.dynamic_threshold.alpha", values["alpha"])
    return cluster


def most(values: Mapping[str, Any], *, video: bool = False) -> float:
    """Data bytes per second that the database can exchange; shorter messages take more of the link."""
    count = 4 * IPC_BPS * 2 / values["ipc_bytes"]
    between = count * (values["ipc_bytes"] + OVERHEAD + 64 + OVERHEAD + ACKNOWLEDGEMENT)
    left = UPLINKS - (MESSAGES if values["ipc_bytes"] == 1024 else between) - (VIDEO if video else 0)
    return 2 * left * 2 * DATA / (2 * FRAME + ACKNOWLEDGEMENT)


def target(cluster: Scenario, limiters: Mapping[str, Any], prc: Run) -> dict[str, float]:
    """The target queue: half of the choice's and twice as long, too."""
    share = limiters["prc"]["target_share"]
    lengths = {share: prc.queue}
    for other in (share / 2, share * 2):
        keys = {**limiters, "prc": {**limiters["prc"], "target_share": other}}
        lengths[other] = Run.of(path_rates(cluster, **keys), late=False).queue
    return figures.targets(lengths)


def talks(cluster: Scenario, settings: Settings, values: Mapping[str, Any]) -> dict[str, float]:
    """Figure 10, and the four methods, which are compared with video."""
    talking = seen(cluster, values)
    of = most(values, video=True)
    share, missed, deviation, losses = {}, {}, {}, {}
    for name in SCENARIOS:
        result = window(arranged(talking, name, settings)).run()
        share[name] = exchanged(result) / of
        missed[name], deviation[name] = video_lost(result), deviation_us(result)
        losses[name] = lost(result)
    others = [(exchanged(result), lost(result)) for result in methods(talking, settings)]
    best = (share["PRC_only"] * of, losses["PRC_only"])
    return {**figures.video(share, missed, deviation), **figures.methods(best, others, of)}


def methods(talking: Scenario, settings: Settings) -> Iterator[Any]:
    """Methods 1 to 3."""
    shorter = talking.with_value("simulation.duration", f"{WINDOW_S * 1e3:g} ms")
    yield marked(shorter, settings).run()
    for method, point in (("messages", {"messages": True}), ("round_trip", {})):
        keys = {**settings.limiters, "prc": {**settings.limiters["prc"], "method": method}}
        yield path_rates(shorter, point=point, **keys).run()


def exchanged(result: Any) -> float:
    """Bytes of blocks per second."""
    return application_bytes(connections(result, ("entry", "query"))) / WINDOW_S


def seen(cluster: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The cluster with video: evenly spaced frames, bursts, or pictures whose frames are sent at once."""
    talking = with_video(cluster)
    source = {
        "even": constant("28.3 Mb/s", random_phase=True),
        "bursts of 8": {"bursts": {"rate": "28.3 Mb/s", "frames": 8}},
        "bursts of 32": {"bursts": {"rate": "28.3 Mb/s", "frames": 32}},
        "pictures": {"video": {"rate": "28.3 Mb/s", "interval": "33 ms"}},
    }[values["video"]]
    for flow in talking.to_dict()["flows"]:
        if flow["name"].startswith("video"):
            talking = talking.with_value(f"flows.{flow['name']}.source", source)
    return talking
