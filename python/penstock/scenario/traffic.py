"""Values of keys of flows and transfers: a function each gives its table.

Made by `make docs` from the JSON Schema of scenarios; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import keys as k
from .values import table

__all__: list[str] = [
    "bernoulli",
    "bimodal",
    "bitmap",
    "bounded_pareto",
    "bursts",
    "constant",
    "conversation",
    "cubic",
    "dcqcn",
    "dctcp",
    "empirical",
    "eqds",
    "exponential",
    "fcoe",
    "file",
    "hot_spot",
    "hpcc",
    "hpcc_pint",
    "incast",
    "iscsi_read",
    "iscsi_write",
    "iwarp_read",
    "iwarp_send",
    "iwarp_write",
    "log_normal",
    "mixed",
    "mpi_exchange",
    "mrc",
    "multicast",
    "ndp",
    "nscc",
    "oblivious",
    "on_off",
    "pareto",
    "permutation",
    "plb",
    "points",
    "poisson",
    "powertcp",
    "random_spray",
    "rccc",
    "rdma",
    "reordering",
    "reps",
    "request_response",
    "streams",
    "swift",
    "tcp",
    "theta_powertcp",
    "threads",
    "timely",
    "uet",
    "uniform",
    "video",
    "window",
]


def bernoulli(rate: str) -> k.SourceTable:
    """A frame with a fixed probability in each frame time of the link.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.bernoulli(rate="2 Gb/s")
    {'bernoulli': {'rate': '2 Gb/s'}}
    """
    made: k.SourceTable = table("bernoulli", None, rate=rate)
    return made


def bimodal(small: str, large: str, small_share: float) -> k.FrameTable:
    """Two lengths.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.bimodal(small="64 B", large="1522 B", small_share=0.6)
    {'bimodal': {'small': '64 B', 'large': '1522 B', 'small_share': 0.6}}
    """
    made: k.FrameTable = table("bimodal", None, small=small, large=large, small_share=small_share)
    return made


def bitmap(entropies: int | None = None) -> k.PathSelectionTable:
    """All values in turn, but those with a score of marks, trims and timeouts (STrack).

    Examples
    --------
    >>> import penstock as ps
    >>> ps.bitmap(entropies=64)
    {'bitmap': {'entropies': 64}}
    """
    made: k.PathSelectionTable = table("bitmap", None, entropies=entropies)
    return made


def bounded_pareto(shape: float, *, min: str | None = None, max: str | None = None) -> k.FrameTable:
    """Pareto distribution, truncated at the maximum: a greater length is drawn again.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.bounded_pareto(shape=1.5, min="64 B", max="1522 B")
    {'bounded_pareto': {'shape': 1.5, 'min': '64 B', 'max': '1522 B'}}
    """
    made: k.FrameTable = table("bounded_pareto", None, shape=shape, min=min, max=max)
    return made


def bursts(rate: str, *, frames: int | None = None) -> k.SourceTable:
    """Bursts of frames at once to one destination, with exponential gaps.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.bursts(rate="2 Gb/s", frames=16)
    {'bursts': {'rate': '2 Gb/s', 'frames': 16}}
    """
    made: k.SourceTable = table("bursts", None, rate=rate, frames=frames)
    return made


def constant(rate: str, *, random_phase: bool | None = None) -> k.SourceTable:
    """One frame every `bytes * 8 / rate`.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.constant("2.5 Gb/s")
    {'constant': {'rate': '2.5 Gb/s'}}
    """
    made: k.SourceTable = table("constant", None, rate=rate, random_phase=random_phase)
    return made


def conversation(
    messages: k.Messages,
    *,
    outstanding: int | None = None,
    think: k.Delay | None = None,
    service: k.Delay | None = None,
    tcp: k.TcpKeys | None = None,
    rdma: k.RdmaKeys | None = None,
    uet: k.UetKeys | None = None,
) -> k.SourceTable:
    """Exchanges of messages over TCP or RDMA.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.conversation("iscsi_read", outstanding=4, tcp={})
    {'conversation': {'messages': 'iscsi_read', 'outstanding': 4, 'tcp': {}}}
    """
    made: k.SourceTable = table(
        "conversation",
        None,
        messages=messages,
        outstanding=outstanding,
        think=think,
        service=service,
        tcp=tcp,
        rdma=rdma,
        uet=uet,
    )
    return made


def cubic(
    scaling: float | None = None,
    *,
    beta: float | None = None,
    fast_convergence: bool | None = None,
    friendly: bool | None = None,
) -> k.TcpControllerTable:
    """A window that is a cubic function of time.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.cubic(beta=0.7)
    {'cubic': {'beta': 0.7}}
    """
    made: k.TcpControllerTable = table(
        "cubic", None, scaling=scaling, beta=beta, fast_convergence=fast_convergence, friendly=friendly
    )
    return made


def dcqcn(
    preset: k.DcqcnPreset | None = None,
    *,
    g: float | None = None,
    initial_alpha: float | None = None,
    alpha_period: str | None = None,
    monitor_period: str | None = None,
    time_reset: str | None = None,
    byte_reset: str | None = None,
    threshold: int | None = None,
    ai_rate: str | None = None,
    hai_rate: str | None = None,
    scale_rates: bool | None = None,
    gd: int | None = None,
    min_factor: float | None = None,
    min_rate: str | None = None,
    max_rate: str | None = None,
    first_factor: float | None = None,
    clamp_target: bool | None = None,
    clamp_target_after_time: bool | None = None,
) -> k.RdmaControlTable:
    """Rates that CNPs cut, and time and bytes bring back.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.dcqcn(g=0.004)
    {'dcqcn': {'g': 0.004}}
    """
    made: k.RdmaControlTable = table(
        "dcqcn",
        None,
        preset=preset,
        g=g,
        initial_alpha=initial_alpha,
        alpha_period=alpha_period,
        monitor_period=monitor_period,
        time_reset=time_reset,
        byte_reset=byte_reset,
        threshold=threshold,
        ai_rate=ai_rate,
        hai_rate=hai_rate,
        scale_rates=scale_rates,
        gd=gd,
        min_factor=min_factor,
        min_rate=min_rate,
        max_rate=max_rate,
        first_factor=first_factor,
        clamp_target=clamp_target,
        clamp_target_after_time=clamp_target_after_time,
    )
    return made


def dctcp(
    gain: float | None = None,
    *,
    ai_rate: str | None = None,
    min_rate: str | None = None,
    alpha: float | None = None,
) -> Any:
    """A rate that is cut by the share of packets that are marked. Or: Reduces its window by how much is
    marked.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.dctcp(gain=0.0625)
    {'dctcp': {'gain': 0.0625}}
    """
    made: Any = table("dctcp", None, gain=gain, ai_rate=ai_rate, min_rate=min_rate, alpha=alpha)
    return made


def empirical(value: str, /) -> k.FrameTable:
    """Empirical distribution: the path of a CSV file with the columns `bytes` and `weight`, relative to
    the scenario.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.empirical("sizes.csv")
    {'empirical': 'sizes.csv'}
    """
    made: k.FrameTable = table("empirical", value)
    return made


def eqds(
    credit: str | None = None,
    *,
    pull: str | None = None,
    share: float | None = None,
    slow_pulls: bool | None = None,
    pull_order: k.PullOrder | None = None,
) -> k.UetControlTable:
    """Credits of the receiver, packet by packet, without marks.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.eqds(credit="100 kB")
    {'eqds': {'credit': '100 kB'}}
    """
    made: k.UetControlTable = table(
        "eqds", None, credit=credit, pull=pull, share=share, slow_pulls=slow_pulls, pull_order=pull_order
    )
    return made


def exponential(
    value: str | None = None, /, *, mean: str | None = None, min: str | None = None, max: str | None = None
) -> Any:
    """Exponential with this mean. Or: Exponential distribution, clipped to a range: a length outside is
    replaced by the nearest limit.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.exponential(mean="800 B", min="64 B", max="1522 B")
    {'exponential': {'mean': '800 B', 'min': '64 B', 'max': '1522 B'}}
    """
    made: Any = table("exponential", value, mean=mean, min=min, max=max)
    return made


def fcoe(
    operation: k.FcpOperation,
    *,
    block: str | None = None,
    max_burst: str | None = None,
    outstanding: int | None = None,
    think: k.Delay | None = None,
    service: k.Delay | None = None,
    ulp_tov: str | None = None,
    requires_lossless: bool | None = None,
) -> k.SourceTable:
    """Exchanges of Fibre Channel over Ethernet (FCoE).

    Examples
    --------
    >>> import penstock as ps
    >>> ps.fcoe("read", outstanding=8)
    {'fcoe': {'operation': 'read', 'outstanding': 8}}
    """
    made: k.SourceTable = table(
        "fcoe",
        None,
        operation=operation,
        block=block,
        max_burst=max_burst,
        outstanding=outstanding,
        think=think,
        service=service,
        ulp_tov=ulp_tov,
        requires_lossless=requires_lossless,
    )
    return made


def file(value: str, /) -> k.ArrivalsTable:
    """Path of a CSV or Parquet file, relative to the scenario, with one row per transfer in order of
    time.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.file("transfers.csv")
    {'file': 'transfers.csv'}
    """
    made: k.ArrivalsTable = table("file", value)
    return made


def hot_spot(host: str, share: float) -> k.ReceiversTable:
    """Hot spot: each frame to one host with a given probability, otherwise to any other host.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.hot_spot(host="h3", share=0.2)
    {'hot_spot': {'host': 'h3', 'share': 0.2}}
    """
    made: k.ReceiversTable = table("hot_spot", None, host=host, share=share)
    return made


def hpcc(
    eta: float | None = None,
    *,
    max_stage: int | None = None,
    ai_rate: str | None = None,
    min_rate: str | None = None,
    int_bytes: str | None = None,
) -> k.RdmaControlTable:
    """A window that holds the busiest link of its path at a share of its rate, by telemetry.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.hpcc(eta=0.95)
    {'hpcc': {'eta': 0.95}}
    """
    made: k.RdmaControlTable = table(
        "hpcc", None, eta=eta, max_stage=max_stage, ai_rate=ai_rate, min_rate=min_rate, int_bytes=int_bytes
    )
    return made


def hpcc_pint(
    eta: float | None = None,
    *,
    max_stage: int | None = None,
    ai_rate: str | None = None,
    min_rate: str | None = None,
    base: float | None = None,
    probability: float | None = None,
    int_bytes: str | None = None,
) -> k.RdmaControlTable:
    """A window that holds the busiest link of its path at a share of its rate, by one byte of telemetry.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.hpcc_pint(eta=0.95)
    {'hpcc_pint': {'eta': 0.95}}
    """
    made: k.RdmaControlTable = table(
        "hpcc_pint",
        None,
        eta=eta,
        max_stage=max_stage,
        ai_rate=ai_rate,
        min_rate=min_rate,
        base=base,
        probability=probability,
        int_bytes=int_bytes,
    )
    return made


def incast(every: str, *, senders: int | None = None) -> k.ArrivalsTable:
    """Incast in rounds: several senders begin a transfer to one receiver at the same time.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.incast(every="1 ms", senders=2)
    {'incast': {'every': '1 ms', 'senders': 2}}
    """
    made: k.ArrivalsTable = table("incast", None, every=every, senders=senders)
    return made


def iscsi_read(
    block: str | None = None,
    *,
    data_segment: str | None = None,
    first_burst: str | None = None,
    max_burst: str | None = None,
) -> k.MessagesTable:
    """A command.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.iscsi_read(block="8 KiB")
    {'iscsi_read': {'block': '8 KiB'}}
    """
    made: k.MessagesTable = table(
        "iscsi_read",
        None,
        block=block,
        data_segment=data_segment,
        first_burst=first_burst,
        max_burst=max_burst,
    )
    return made


def iscsi_write(
    block: str | None = None,
    *,
    data_segment: str | None = None,
    first_burst: str | None = None,
    max_burst: str | None = None,
) -> k.MessagesTable:
    """Command and data, further data on request.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.iscsi_write(block="8 KiB")
    {'iscsi_write': {'block': '8 KiB'}}
    """
    made: k.MessagesTable = table(
        "iscsi_write",
        None,
        block=block,
        data_segment=data_segment,
        first_burst=first_burst,
        max_burst=max_burst,
    )
    return made


def iwarp_read(message: str | None = None, *, markers: bool | None = None) -> k.MessagesTable:
    """RDMA Read over TCP.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.iwarp_read(message="64 KiB")
    {'iwarp_read': {'message': '64 KiB'}}
    """
    made: k.MessagesTable = table("iwarp_read", None, message=message, markers=markers)
    return made


def iwarp_send(message: str | None = None, *, markers: bool | None = None) -> k.MessagesTable:
    """Send over TCP, and one back.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.iwarp_send(message="64 KiB")
    {'iwarp_send': {'message': '64 KiB'}}
    """
    made: k.MessagesTable = table("iwarp_send", None, message=message, markers=markers)
    return made


def iwarp_write(message: str | None = None, *, markers: bool | None = None) -> k.MessagesTable:
    """RDMA Write over TCP, followed by Sends that notify the peer.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.iwarp_write(message="64 KiB")
    {'iwarp_write': {'message': '64 KiB'}}
    """
    made: k.MessagesTable = table("iwarp_write", None, message=message, markers=markers)
    return made


def log_normal(mean: str, sigma: float, *, min: str | None = None, max: str | None = None) -> Any:
    """Log-normal distribution, clipped to a range: a length outside is replaced by the nearest limit.
    Or: Log-normal distribution.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.log_normal(mean="800 B", sigma=1.0, min="64 B", max="1522 B")
    {'log_normal': {'mean': '800 B', 'sigma': 1.0, 'min': '64 B', 'max': '1522 B'}}
    """
    made: Any = table("log_normal", None, mean=mean, sigma=sigma, min=min, max=max)
    return made


def mixed(entropies: int | None = None) -> k.PathSelectionTable:
    """Values that came back unmarked, else those of the bitmap.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.mixed(entropies=64)
    {'mixed': {'entropies': 64}}
    """
    made: k.PathSelectionTable = table("mixed", None, entropies=entropies)
    return made


def mpi_exchange(
    message: str,
    *,
    ranks: int | None = None,
    steps: int | None = None,
    eager: str | None = None,
    copy_time: str | None = None,
    copy_rate: str | None = None,
    tcp: k.TcpKeys | None = None,
    rdma: k.RdmaKeys | None = None,
    uet: k.UetKeys | None = None,
) -> k.SourceTable:
    """Steps of the ranks of MPI in a ring, over TCP or RDMA.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.mpi_exchange("64 KiB", ranks=2, tcp={})
    {'mpi_exchange': {'message': '64 KiB', 'ranks': 2, 'tcp': {}}}
    """
    made: k.SourceTable = table(
        "mpi_exchange",
        None,
        message=message,
        ranks=ranks,
        steps=steps,
        eager=eager,
        copy_time=copy_time,
        copy_rate=copy_rate,
        tcp=tcp,
        rdma=rdma,
        uet=uet,
    )
    return made


def mrc(
    entropies: int | None = None,
    *,
    reserve: int | None = None,
    min_active: int | None = None,
    probe_interval: str | None = None,
    probe_answers: int | None = None,
    control: k.UetControl | None = None,
    paths: k.PathSelection | None = None,
    payload: str | None = None,
    headers: str | None = None,
    connections: int | None = None,
    ack: str | None = None,
    ack_every: str | None = None,
    psn_range: int | None = None,
    trimming: bool | None = None,
    base_rtt: str | None = None,
    reorder_time: str | None = None,
    timeout: str | None = None,
    linear_retries: int | None = None,
    exponential_retries: int | None = None,
    ack_priority: int | None = None,
) -> Any:
    """Values in rotation. Or: Multipath Reliable Connection (MRC): a transfer is a message of the
    connection between its two hosts, which spreads its packets over the planes of their NICs.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.mrc(paths="mrc")
    {'mrc': {'paths': 'mrc'}}
    """
    made: Any = table(
        "mrc",
        None,
        entropies=entropies,
        reserve=reserve,
        min_active=min_active,
        probe_interval=probe_interval,
        probe_answers=probe_answers,
        control=control,
        paths=paths,
        payload=payload,
        headers=headers,
        connections=connections,
        ack=ack,
        ack_every=ack_every,
        psn_range=psn_range,
        trimming=trimming,
        base_rtt=base_rtt,
        reorder_time=reorder_time,
        timeout=timeout,
        linear_retries=linear_retries,
        exponential_retries=exponential_retries,
        ack_priority=ack_priority,
    )
    return made


def multicast(value: str | Sequence[str], /) -> k.ReceiversTable:
    """Multicast: each frame to all of these hosts, never to the sender.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.multicast(["h1", "h2"])
    {'multicast': ['h1', 'h2']}
    """
    made: k.ReceiversTable = table("multicast", value)
    return made


def ndp(window: int | None = None, *, share: float | None = None) -> k.UetControlTable:
    """A pull of the receiver for each packet that arrives, whole or trimmed.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.ndp(share=0.9)
    {'ndp': {'share': 0.9}}
    """
    made: k.UetControlTable = table("ndp", None, window=window, share=share)
    return made


def nscc(
    target: str | None = None,
    *,
    alpha: float | None = None,
    fair_increase: float | None = None,
    eta: float | None = None,
    fast_increase: float | None = None,
    gamma: float | None = None,
    max_decrease: float | None = None,
    delay_gain: float | None = None,
    quick_adapt: bool | None = None,
    qa_gate: int | None = None,
    qa_threshold: str | None = None,
    initial_window: str | None = None,
    max_window: str | None = None,
) -> k.UetControlTable:
    """A window at the sender that follows delay and ECN marks.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.nscc(target="9 us")
    {'nscc': {'target': '9 us'}}
    """
    made: k.UetControlTable = table(
        "nscc",
        None,
        target=target,
        alpha=alpha,
        fair_increase=fair_increase,
        eta=eta,
        fast_increase=fast_increase,
        gamma=gamma,
        max_decrease=max_decrease,
        delay_gain=delay_gain,
        quick_adapt=quick_adapt,
        qa_gate=qa_gate,
        qa_threshold=qa_threshold,
        initial_window=initial_window,
        max_window=max_window,
    )
    return made


def oblivious(entropies: int | None = None) -> k.PathSelectionTable:
    """All values in turn, in another order each round.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.oblivious(entropies=64)
    {'oblivious': {'entropies': 64}}
    """
    made: k.PathSelectionTable = table("oblivious", None, entropies=entropies)
    return made


def on_off(peak: str, on: k.Period, off: k.Period) -> k.SourceTable:
    """Frames at the peak rate during random on periods, none during random off periods.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.on_off(peak="10 Gb/s", on={"exponential": "100 us"}, off={"exponential": "300 us"})
    {'on_off': {'peak': '10 Gb/s', 'on': {'exponential': '100 us'}, 'off': {'exponential': '300 us'}}}
    """
    made: k.SourceTable = table("on_off", None, peak=peak, on=on, off=off)
    return made


def pareto(mean: str, shape: float) -> Any:
    """Pareto, truncated: no period is longer than 100 times `mean`. Or: Pareto distribution, truncated:
    no transfer is larger than 100 times `mean`.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.pareto(mean="100 us", shape=1.5)
    {'pareto': {'mean': '100 us', 'shape': 1.5}}
    """
    made: Any = table("pareto", None, mean=mean, shape=shape)
    return made


def permutation(shift: int | None = None) -> k.ReceiversTable:
    """Permutation: each sender has its own destination, and each destination one sender.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.permutation(shift=1)
    {'permutation': {'shift': 1}}
    """
    made: k.ReceiversTable = table("permutation", "random", shift=shift)
    return made


def plb(
    entropies: int | None = None, *, rounds: int | None = None, marked_share: float | None = None
) -> k.PathSelectionTable:
    """One path, which changes after congested round trips (PLB).

    Examples
    --------
    >>> import penstock as ps
    >>> ps.plb(rounds=3)
    {'plb': {'rounds': 3}}
    """
    made: k.PathSelectionTable = table(
        "plb", None, entropies=entropies, rounds=rounds, marked_share=marked_share
    )
    return made


def points(value: str, /) -> k.SizesTable:
    """Path of a CSV file with the columns `bytes` and `cdf`, relative to the scenario.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.points("cdf.csv")
    {'points': 'cdf.csv'}
    """
    made: k.SizesTable = table("points", value)
    return made


def poisson(rate: str | None = None, *, load: float | None = None, gap: str | None = None) -> Any:
    """Exponential gaps between frames. Or: Poisson process: each sender begins transfers with
    exponential gaps, drawn from its own random stream.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.poisson("2 Gb/s")
    {'poisson': {'rate': '2 Gb/s'}}
    """
    made: Any = table("poisson", None, rate=rate, load=load, gap=gap)
    return made


def powertcp(
    gamma: float | None = None,
    *,
    eta: float | None = None,
    ai_rate: str | None = None,
    min_rate: str | None = None,
    int_bytes: str | None = None,
) -> k.RdmaControlTable:
    """A window that follows the power of its path, by telemetry.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.powertcp(gamma=0.9)
    {'powertcp': {'gamma': 0.9}}
    """
    made: k.RdmaControlTable = table(
        "powertcp", None, gamma=gamma, eta=eta, ai_rate=ai_rate, min_rate=min_rate, int_bytes=int_bytes
    )
    return made


def random_spray(entropies: int | None = None) -> k.PathSelectionTable:
    """A random value for each packet (OPS).

    Examples
    --------
    >>> import penstock as ps
    >>> ps.random_spray(entropies=64)
    {'random_spray': {'entropies': 64}}
    """
    made: k.PathSelectionTable = table("random_spray", None, entropies=entropies)
    return made


def rccc(
    credit: str | None = None,
    *,
    pull: str | None = None,
    share: float | None = None,
    slow_pulls: bool | None = None,
    oversubscription: float | None = None,
    nscc: k.NsccKeys | None = None,
) -> k.UetControlTable:
    """Credits of the receiver, with or without a window at the sender.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.rccc(credit="100 kB")
    {'rccc': {'credit': '100 kB'}}
    """
    made: k.UetControlTable = table(
        "rccc",
        None,
        credit=credit,
        pull=pull,
        share=share,
        slow_pulls=slow_pulls,
        oversubscription=oversubscription,
        nscc=nscc,
    )
    return made


def rdma(
    control: k.RdmaControl | None = None,
    *,
    mtu: str | None = None,
    headers: str | None = None,
    verb: k.RdmaVerb | None = None,
    max_reads: int | None = None,
    receive_queue: int | None = None,
    receive_time: str | None = None,
    rnr_timer: str | None = None,
    rnr_retries: int | None = None,
    message: str | None = None,
    queue_pairs: k.QueuePairs | None = None,
    recovery: k.RdmaRecovery | None = None,
    window: str | None = None,
    base_rtt: str | None = None,
    ack_every: int | None = None,
    ack_priority: int | None = None,
    nak_gap: str | None = None,
    timeout: str | None = None,
    low_timeout: str | None = None,
    retries: int | None = None,
    cnp_gap: str | None = None,
    cnp_scope: k.CnpScope | None = None,
    cnp_priority: int | None = None,
    paths: k.PathSelection | None = None,
) -> Any:
    """Messages over RDMA (RoCEv2). Or: RDMA (RoCEv2): a transfer is a message of a queue pair.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.rdma(control="dcqcn", message="1 MB")
    {'rdma': {'control': 'dcqcn', 'message': '1 MB'}}
    """
    made: Any = table(
        "rdma",
        None,
        control=control,
        mtu=mtu,
        headers=headers,
        verb=verb,
        max_reads=max_reads,
        receive_queue=receive_queue,
        receive_time=receive_time,
        rnr_timer=rnr_timer,
        rnr_retries=rnr_retries,
        message=message,
        queue_pairs=queue_pairs,
        recovery=recovery,
        window=window,
        base_rtt=base_rtt,
        ack_every=ack_every,
        ack_priority=ack_priority,
        nak_gap=nak_gap,
        timeout=timeout,
        low_timeout=low_timeout,
        retries=retries,
        cnp_gap=cnp_gap,
        cnp_scope=cnp_scope,
        cnp_priority=cnp_priority,
        paths=paths,
    )
    return made


def reordering(
    preset: k.ReorderingPreset | None = None,
    *,
    window: int | None = None,
    distance: int | None = None,
    time: str | None = None,
    nak: bool | None = None,
) -> k.RdmaRecoveryTable:
    """The receiver places packets that arrive out of order.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.reordering(window=256)
    {'reordering': {'window': 256}}
    """
    made: k.RdmaRecoveryTable = table(
        "reordering", None, preset=preset, window=window, distance=distance, time=time, nak=nak
    )
    return made


def reps(
    entropies: int | None = None,
    *,
    buffer: int | None = None,
    freeze: str | None = None,
    explore: int | None = None,
) -> k.PathSelectionTable:
    """Values that came back unmarked, else random ones (REPS).

    Examples
    --------
    >>> import penstock as ps
    >>> ps.reps(entropies=64)
    {'reps': {'entropies': 64}}
    """
    made: k.PathSelectionTable = table(
        "reps", None, entropies=entropies, buffer=buffer, freeze=freeze, explore=explore
    )
    return made


def request_response(
    request: str,
    response: str,
    *,
    outstanding: int | None = None,
    think: k.Delay | None = None,
    service: k.Delay | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
    tcp: k.TcpKeys | None = None,
    rdma: k.RdmaKeys | None = None,
    uet: k.UetKeys | None = None,
) -> k.SourceTable:
    """Requests and responses.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.request_response("1 KiB", "64 KiB", outstanding=4)
    {'request_response': {'request': '1 KiB', 'response': '64 KiB', 'outstanding': 4}}
    """
    made: k.SourceTable = table(
        "request_response",
        None,
        request=request,
        response=response,
        outstanding=outstanding,
        think=think,
        service=service,
        timeout=timeout,
        ecn=ecn,
        tcp=tcp,
        rdma=rdma,
        uet=uet,
    )
    return made


def streams(rate: str, *, count: int | None = None, counted: bool | None = None) -> k.SourceTable:
    """Many streams at a constant rate, with random phases.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.streams("100 Mb/s", count=8)
    {'streams': {'rate': '100 Mb/s', 'count': 8}}
    """
    made: k.SourceTable = table("streams", None, rate=rate, count=count, counted=counted)
    return made


def swift(
    base_target: str | None = None,
    *,
    hop_delay: str | None = None,
    fs_range: str | None = None,
    fs_min: float | None = None,
    fs_max: float | None = None,
    ai: float | None = None,
    beta: float | None = None,
    max_mdf: float | None = None,
    min_window: float | None = None,
) -> k.RdmaControlTable:
    """A window that holds the round trip at a target.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.swift(base_target="25 us")
    {'swift': {'base_target': '25 us'}}
    """
    made: k.RdmaControlTable = table(
        "swift",
        None,
        base_target=base_target,
        hop_delay=hop_delay,
        fs_range=fs_range,
        fs_min=fs_min,
        fs_max=fs_max,
        ai=ai,
        beta=beta,
        max_mdf=max_mdf,
        min_window=min_window,
    )
    return made


def tcp(
    preset: k.TcpPreset | None = None,
    *,
    controller: k.TcpController | None = None,
    recovery: k.LossRecoveryKind | None = None,
    initial_window: str | None = None,
    initial_threshold: str | None = None,
    growth: k.Growth | None = None,
    grows_unused: bool | None = None,
    receive_window: str | None = None,
    window_scaling: bool | None = None,
    send_buffer: str | None = None,
    headers: str | None = None,
    ack: str | None = None,
    ack_every: int | None = None,
    ack_delay: str | None = None,
    duplicates: int | None = None,
    limited_transmit: bool | None = None,
    impatient: bool | None = None,
    proportional: bool | None = None,
    ecn: k.EcnMode | None = None,
    timestamps: bool | None = None,
    min_timeout: str | None = None,
    initial_timeout: str | None = None,
    max_timeout: str | None = None,
    tick: str | None = None,
    restart_after_idle: bool | None = None,
    send_jitter: str | None = None,
    handshake: bool | None = None,
    transfer: str | None = None,
    idle: k.Delay | None = None,
    reconnect: bool | None = None,
) -> Any:
    """A transfer over TCP, or several. Or: TCP: a transfer has exclusive use of a connection, free or
    new.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.tcp(controller="cubic")
    {'tcp': {'controller': 'cubic'}}
    """
    made: Any = table(
        "tcp",
        None,
        preset=preset,
        controller=controller,
        recovery=recovery,
        initial_window=initial_window,
        initial_threshold=initial_threshold,
        growth=growth,
        grows_unused=grows_unused,
        receive_window=receive_window,
        window_scaling=window_scaling,
        send_buffer=send_buffer,
        headers=headers,
        ack=ack,
        ack_every=ack_every,
        ack_delay=ack_delay,
        duplicates=duplicates,
        limited_transmit=limited_transmit,
        impatient=impatient,
        proportional=proportional,
        ecn=ecn,
        timestamps=timestamps,
        min_timeout=min_timeout,
        initial_timeout=initial_timeout,
        max_timeout=max_timeout,
        tick=tick,
        restart_after_idle=restart_after_idle,
        send_jitter=send_jitter,
        handshake=handshake,
        transfer=transfer,
        idle=idle,
        reconnect=reconnect,
    )
    return made


def theta_powertcp(
    gamma: float | None = None, *, ai_rate: str | None = None, min_rate: str | None = None
) -> k.RdmaControlTable:
    """A window that follows the power of its path, by round trips alone.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.theta_powertcp(gamma=0.9)
    {'theta_powertcp': {'gamma': 0.9}}
    """
    made: k.RdmaControlTable = table("theta_powertcp", None, gamma=gamma, ai_rate=ai_rate, min_rate=min_rate)
    return made


def threads(
    rate: str,
    *,
    count: int | None = None,
    burst: int | None = None,
    delay: str | None = None,
    random_phase: bool | None = None,
) -> k.SourceTable:
    """Threads that send in a loop, with a delay after a burst.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.threads("1 Gb/s", count=4)
    {'threads': {'rate': '1 Gb/s', 'count': 4}}
    """
    made: k.SourceTable = table(
        "threads", None, rate=rate, count=count, burst=burst, delay=delay, random_phase=random_phase
    )
    return made


def timely(
    ewma: float | None = None,
    *,
    beta: float | None = None,
    t_low: str | None = None,
    t_high: str | None = None,
    min_rtt: str | None = None,
    delta: str | None = None,
    min_rate: str | None = None,
    initial_rate: str | None = None,
    patched: bool | None = None,
    patched_beta: float | None = None,
) -> k.RdmaControlTable:
    """A rate that follows the gradient of the round-trip time.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.timely(t_low="50 us", t_high="500 us")
    {'timely': {'t_low': '50 us', 't_high': '500 us'}}
    """
    made: k.RdmaControlTable = table(
        "timely",
        None,
        ewma=ewma,
        beta=beta,
        t_low=t_low,
        t_high=t_high,
        min_rtt=min_rtt,
        delta=delta,
        min_rate=min_rate,
        initial_rate=initial_rate,
        patched=patched,
        patched_beta=patched_beta,
    )
    return made


def uet(
    preset: k.UetPreset | None = None,
    *,
    mode: k.UetMode | None = None,
    contexts: int | None = None,
    ses: k.UetSes | None = None,
    control: k.UetControl | None = None,
    payload: str | None = None,
    headers: str | None = None,
    ack: str | None = None,
    message: str | None = None,
    ack_every: str | None = None,
    paths: k.PathSelection | None = None,
    psn_range: int | None = None,
    trimming: bool | None = None,
    loss_inference: bool | None = None,
    base_rtt: str | None = None,
    timeout: str | None = None,
    retries: int | None = None,
    ack_priority: int | None = None,
) -> Any:
    """Messages over Ultra Ethernet Transport (UET). Or: Ultra Ethernet Transport (UET): a transfer is a
    message of the packet delivery context between its two hosts.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.uet(control="nscc")
    {'uet': {'control': 'nscc'}}
    """
    made: Any = table(
        "uet",
        None,
        preset=preset,
        mode=mode,
        contexts=contexts,
        ses=ses,
        control=control,
        payload=payload,
        headers=headers,
        ack=ack,
        message=message,
        ack_every=ack_every,
        paths=paths,
        psn_range=psn_range,
        trimming=trimming,
        loss_inference=loss_inference,
        base_rtt=base_rtt,
        timeout=timeout,
        retries=retries,
        ack_priority=ack_priority,
    )
    return made


def uniform(
    value: str | Sequence[str] | None = None, /, *, min: str | None = None, max: str | None = None
) -> Any:
    """Uniform distribution of all lengths from `min` to `max`. Or: Uniform: each frame to one of these
    hosts, drawn with equal probability, never to the sender. Or: Uniform distribution of all sizes
    from `min` to `max`.


    Examples
    --------
    >>> import penstock as ps
    >>> ps.uniform(min="64 B", max="1522 B")
    {'uniform': {'min': '64 B', 'max': '1522 B'}}
    """
    made: Any = table("uniform", value, min=min, max=max)
    return made


def video(
    rate: str,
    *,
    count: int | None = None,
    counted: bool | None = None,
    interval: str | None = None,
    pattern: str | None = None,
    trace: str | None = None,
) -> k.SourceTable:
    """Video: pictures at a fixed interval, cut into frames.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.video("10 Mb/s", count=4)
    {'video': {'rate': '10 Mb/s', 'count': 4}}
    """
    made: k.SourceTable = table(
        "video",
        None,
        rate=rate,
        count=count,
        counted=counted,
        interval=interval,
        pattern=pattern,
        trace=trace,
    )
    return made


def window(
    size: str | None = None,
    *,
    rate: str | None = None,
    ack: str | None = None,
    ack_every: int | None = None,
    ack_delay: str | None = None,
    timeout: str | None = None,
    ecn: bool | None = None,
) -> k.SourceTable:
    """A transfer with a window and cumulative acknowledgements.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.window(size="64 KiB")
    {'window': {'size': '64 KiB'}}
    """
    made: k.SourceTable = table(
        "window",
        None,
        size=size,
        rate=rate,
        ack=ack,
        ack_every=ack_every,
        ack_delay=ack_delay,
        timeout=timeout,
        ecn=ecn,
    )
    return made
