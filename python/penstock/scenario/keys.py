"""The keys of each table of a scenario, as keyword arguments of the builder.

The builder passes them on as they are: the checker of the scenario file knows their units, ranges and
defaults, and ``penstock explain KEY`` prints them. A trailing underscore stands for a Python keyword:
``from_`` is ``from``. ``None`` is the same as leaving a key out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

Choice = str | Mapping[str, Any]
"""A name, such as ``"drr"``, or a name with keys: ``{"drr": {"weights": [1, 1, 2, 4]}}``."""


class SimulationKeys(TypedDict, total=False):
    """``[simulation]`` beside its duration."""

    name: str | None
    """Default ``"scenario"``."""
    description: str | None
    warmup: str | None
    """When measuring begins. Default ``"0 s"``."""
    seed: int | None
    """Seed of all random streams. Default 1."""
    path_seed: int | str | None
    """Seed of the choice among equal paths, or ``"seed"``. Default 1, whatever `seed` is."""
    on_lossless_drop: str | None
    """``"stop"`` (default) or ``"count"``."""
    on_deadlock: str | None
    """``"stop"`` (default) or ``"count"``."""
    deadlock_interval: str | None
    """Simulated time between two checks for deadlock. Default ``"100 us"``."""
    memory_limit: str | None
    """Such as ``"8 GiB"``. Default ``"available"``: four fifths of the free memory."""


class StationKeys(TypedDict, total=False):
    """What hosts and switches have in common."""

    queues: str | Sequence[int] | None
    """``"per_priority"`` (default), ``"shared"``, or the queue of each priority."""
    scheduler: Choice | None
    flow_control: Choice | None
    """Overrides that of the scenario: ``"off"`` or ``{"pfc": {...}}``."""
    clock_tolerance: str | None
    """Largest clock error, such as the ``"100 ppm"`` of IEEE 802.3. Default: clocks are equal."""


class HostKeys(StationKeys, total=False):
    """``[host]`` or ``[hosts.NAME]``."""

    queue_limit: str | None
    when_full: str | None
    receive: Mapping[str, Any] | None
    """``time_per_frame``, ``rate``, ``buffer`` and ``script``. Default: receives at line rate."""


class SwitchKeys(StationKeys, total=False):
    """``[switch]`` or ``[switches.NAME]``."""

    forwarding: str | None
    """``"store_and_forward"`` (default) or ``"cut_through"``."""
    latency: str | None
    queueing: str | None
    path_choice: Choice | None
    """``"hash"``, ``"spray"``, ``"round_robin"``, ``"least_queued"`` or ``{"flowlet": {"gap": "50 us"}}``."""
    buffer: Mapping[str, Any] | None
    """Limits ``total``, ``port``, ``class`` and ``queue``, such as ``{"queue": "100 frames"}``, and
    ``dynamic_threshold``, such as ``{"alpha": 0.5}``."""
    queue_managers: Sequence[Mapping[str, Any]] | None
    """``red``, ``step`` or ``sampling``, for the named ``classes`` or for all others:
    ``[{"classes": [3], "step": {"threshold": "50 kB"}}, {"red": {}}]``."""


class FlowKeys(TypedDict, total=False):
    """``[[flows]]`` beside ``name``, ``from``, ``to`` and ``source``."""

    priority: int | None
    """0 to 7. Default 0."""
    frame: Choice | None
    """Length from DA to FCS, such as ``"1522 B"`` (default), or a distribution."""
    start: str | None
    """Default: the start of the simulation."""
    stop: str | None
    """Default: the end of the simulation."""
    rate_counts: str | None
    """``"frame"`` (default) or ``"wire"``: which bits the rate counts."""
    limit: str | None
    """The most it sends, such as ``"1 MB"``."""
    jitter: str | None
    """Each frame is delayed by a random time up to this, such as ``"100 ns"``."""
    script: Sequence[Mapping[str, Any]] | None
    """Changes on the way: ``[{"at": "3 ms", "stop": True}]``."""
    route: Sequence[str] | None
    """Nodes to pass, from the first switch to the destination. Default: a shortest path."""


class TransferKeys(TypedDict, total=False):
    """``[[transfers]]`` beside ``name`` and ``arrivals``."""

    from_: str | Sequence[str] | None
    """Hosts; not with a file."""
    to: str | Sequence[str] | Mapping[str, Any] | None
    """Hosts, each transfer to one of them; not with a file."""
    sizes: Choice | None
    """Such as ``"1 MB"``, ``"web_search"``, `uniform`, `pareto`, `log_normal`; not with a file."""
    priority: int | None
    """0 to 7. Default 0."""
    frame: str | None
    """Length of full frames from DA to FCS. Default ``"1522 B"``."""
    header: str | None
    """What of each frame is not of the transfer. Default ``"18 B"``."""
    order: str | None
    """``"round_robin"`` (default) or ``"fifo"``."""
    start: str | None
    """Default: the start of the simulation."""
    stop: str | None
    """From here on none begins. Default: the end of the simulation."""


class FaultKeys(TypedDict, total=False):
    """``[[faults]]``."""

    link: str | Sequence[str] | None
    """The names of its two ends, ``"any"`` or ``"all"``."""
    index: int | None
    """Which of several parallel links. Default 0."""
    switch: str | None
    """The switch that restarts."""
    at: str | None
    """When the link goes down, comes up or changes its rate, or when the switch restarts."""
    down: bool | None
    up: bool | None
    rate: str | None
    """The new rate of the link."""
    bit_error_rate: float | None
    """Probability that a bit is wrong."""
    pause_loss: float | None
    """Probability that a pause frame is lost."""
    frame_loss: float | None
    """Probability that any other frame is lost."""
    towards: str | None
    """The end that lost frames are travelling to. Default: both."""
    from_: str | None
    """Start of the errors or losses. Default: the start of the simulation."""
    until: str | None
    """Their end. Default: the end of the simulation."""
    restart: str | None
    """How long the switch neither sends nor receives."""
    mean_time_between: str | None
    """Mean time between random outages."""
    duration: str | None
    """Length of an outage."""
    reroute: bool | None
    """Whether flows avoid links that are down. Default false."""
    after: str | None
    """Time until they do. Default ``"50 us"``."""
    waiting: str | None
    """Frames that wait for a link that is down are ``"lost"`` (default) or ``"kept"``."""


class PauseKeys(TypedDict, total=False):
    """``[flow_control.pause]``."""

    accounting: str | None
    """``"ingress"`` (default) or ``"egress"``."""
    xoff: str | None
    """High watermark, such as ``"66 frames"``; goes with `xon`. Default: computed."""
    xon: str | None
    """Low watermark."""
    headroom: str | None
    """Room above `xoff` with ingress accounting. Default: what the link needs."""
    pause_quanta: int | None
    """Length of a pause in units of 512 bit times, 1 to 65535. Default 65535."""
    resume: bool | None
    """Whether XON is sent at the low watermark. Default true."""
    refresh: bool | None
    """Whether a pause is renewed before it expires. Default true."""
    response_time: str | None
    """From the end of a pause frame to its effect. Default: the limit of IEEE 802.3 for the rate."""


class PfcKeys(PauseKeys, total=False):
    """``[flow_control.pfc]``."""

    priorities: Sequence[int] | None
    """Lossless priorities, 0 to 7. Default: all that flows use."""
    target: Mapping[str, str] | None
    """``method`` (``"fair_bandwidth"``, ``"random_sampling"``, ``"max_min"``), ``watermark`` and
    ``sampling``."""
