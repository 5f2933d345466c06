"""Experiments beyond the chapter: more ports, more aggressors, bursts, uneven partners, more hops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import penstock as ps
from penstock.running.replications import replicate
from penstock.scenario import Scenario
from penstock.scenario.keys import ExplicitLinkKeys, SourceTable, TargetKeys, TargetMethod
from penstock.studies.reproduce import Context, Outcome

from .measure import Run, gbps, median

LINE_GBPS = 10.0
HW, LW, IN_FLIGHT = 66, 11, 11
"""High and low watermark, and frames in flight; all in frames, as in the scenarios of the chapter."""
DELAY = "6.785 us"
ROOMY_FRAMES = HW // 3
"""High watermark of each ingress port if memory grows with the number of ports: HW for three ports."""
LIGHT = 0.75
"""Offered load of a light partner, relative to its fair share."""
SETTLED_NS = 2e6
"""Start of the measurement; the aggressors begin at 1 ms."""
INGRESS, ROOMY, UNTARGETED, SAMPLING, FAIR, OURS = (
    "PFC by ingress port",
    "PFC by ingress port, 22 frames each",
    "HW-LW",
    "random sampling",
    "fair bandwidth",
    "max-min",
)
METHODS: Mapping[str, TargetMethod] = {SAMPLING: "random_sampling", FAIR: "fair_bandwidth", OURS: "max_min"}
MODES = (INGRESS, ROOMY, UNTARGETED, *METHODS)


@dataclass(frozen=True)
class Case:
    """One fabric with its traffic.

    Parameters
    ----------
    name : str
        Name in the table.
    victims : tuple of float
        Rate of each light partner, Gb/s.
    aggressors : int
        Number of greedy partners.
    source : str
        Kind of source of the victims: ``"constant"`` or ``"poisson"``.
    bursts_us : tuple of float, optional
        Mean length of the bursts and gaps of aggressors (exponential); default: no gaps.
    planned : int
        Number of aggressors for which the target watermark leaves room (N of equation 7.1).
    """

    name: str
    victims: tuple[float, ...]
    aggressors: int = 1
    source: str = "constant"
    bursts_us: tuple[float, float] | None = None
    planned: int = 1

    @property
    def ports(self) -> int:
        """Number of ingress ports."""
        return len(self.victims) + self.aggressors

    def scenario(self, mode: str) -> Scenario:
        """A star with this traffic, and the flow control of this mode."""
        hosts = [f"v{i}" for i in range(len(self.victims))] + [f"a{i}" for i in range(self.aggressors)]
        scenario = Scenario("10 ms", name=f"{self.name}, {mode}").probes(bin="10 us")
        links: list[ExplicitLinkKeys]
        links = [
            {"between": [host, "sw"], "rate": "10 Gb/s", "phy": "none", "delay": DELAY} for host in hosts
        ]
        links.append({"between": ["sw", "sink"], "rate": "10 Gb/s", "phy": "none", "delay": "0 s"})
        scenario = scenario.topology.explicit(hosts=[*hosts, "sink"], switches=["sw"], links=links)
        scenario = paused(scenario, mode, self.ports, self.planned)
        for index, rate in enumerate(self.victims):
            source = getattr(ps, self.source)(f"{rate * 1e6:.0f} kb/s", **self._phase())
            scenario = scenario.flow(
                f"victim-{index}", from_=f"v{index}", to="sink", source=source, rate_counts="wire"
            )
        for index in range(self.aggressors):
            scenario = scenario.flow(
                f"aggressor-{index}",
                from_=f"a{index}",
                to="sink",
                start="1 ms",
                source=self._aggression(),
                rate_counts="wire",
            )
        return scenario

    def _phase(self) -> dict[str, Any]:
        return {"random_phase": True} if self.source == "constant" else {}

    def _aggression(self) -> SourceTable:
        if self.bursts_us is None:
            return ps.constant("10 Gb/s", random_phase=True)
        on, off = self.bursts_us
        return ps.on_off("10 Gb/s", on=ps.exponential(f"{on} us"), off=ps.exponential(f"{off} us"))


def paused(scenario: Scenario, mode: str, ports: int, planned: int) -> Scenario:
    """The flow control of this mode. All except `ROOMY` have the memory of HW and the frames in flight."""
    room = HW + IN_FLIGHT * ports
    if mode in (INGRESS, ROOMY):
        own = ROOMY_FRAMES if mode == ROOMY else max(2, HW // ports)
        return scenario.switch(queues="shared").flow_control.pfc(
            accounting="ingress",
            xoff=f"{own} frames",
            xon=f"{own // 2} frames",
            response_time="0 ns",
        )
    target: TargetKeys | None = None
    if mode in METHODS:
        # Max-min needs room for one partner; it determines the number of partners itself.
        room_for = 1 if mode == OURS else planned
        target = {"method": METHODS[mode], "watermark": f"{HW - room_for * IN_FLIGHT} frames"}
    return scenario.switch(queues="shared", buffer={"queue": f"{room} frames"}).flow_control.pfc(
        accounting="egress", xoff=f"{HW} frames", xon=f"{LW} frames", response_time="0 ns", target=target
    )


def hops(switches: int, mode: str) -> Scenario:
    """A chain: the aggressor behind all switches, a light neighbour at each, the receiver at the last.

    The light neighbors on the path share links with the aggressor; the one at the last switch does not.
    """
    last = switches - 1
    names = [f"s{index}" for index in range(switches)]
    neighbours = [f"v{index}" for index in range(switches)]
    links: list[ExplicitLinkKeys]
    links = [
        {"between": [a, b], "rate": "10 Gb/s", "phy": "none", "delay": DELAY} for a, b in pairwise(names)
    ]
    ends = [("a0", "s0"), *zip(neighbours, names, strict=True)]
    links += [
        {"between": [host, switch], "rate": "10 Gb/s", "phy": "none", "delay": DELAY} for host, switch in ends
    ]
    links.append({"between": [names[last], "sink"], "rate": "10 Gb/s", "phy": "none", "delay": "0 s"})
    scenario = Scenario("10 ms", name=f"{switches} switches, {mode}").probes(bin="10 us")
    scenario = scenario.topology.explicit(hosts=["a0", *neighbours, "sink"], switches=names, links=links)
    scenario = paused(scenario, mode, 3, 1)
    share = LINE_GBPS / (switches + 1)
    for neighbour in neighbours:
        source = ps.constant(f"{LIGHT * share * 1e6:.0f} kb/s", random_phase=True)
        scenario = scenario.flow(neighbour, from_=neighbour, to="sink", source=source, rate_counts="wire")
    source = ps.constant("10 Gb/s", random_phase=True)
    return scenario.flow("aggressor", from_="a0", to="sink", start="1 ms", source=source, rate_counts="wire")


@dataclass(frozen=True)
class Measured:
    """Medians over the seeds of one case in one mode; rates in b/s."""

    deviation: float
    paused: float
    aggressor: float
    utilisation: float
    evenness: float
    queue: float
    lost: int


def measure(scenario: Scenario, seeds: int, first_seed: int = 1) -> Measured:
    """Runs a fabric with victims ``v...``, aggressors ``a...`` and the receiver ``sink``."""
    counted = scenario.with_value("simulation.on_lossless_drop", "count")
    runs = [Run(result, SETTLED_NS) for result in replicate(counted, seeds, seed=first_seed).results]
    hosts = [node["name"] for node in runs[0].result.topology["nodes"] if node["role"] == "host"]
    victims = [host for host in hosts if host.startswith("v")]
    aggressors = [host for host in hosts if host.startswith("a")]
    [port] = [row["port"] for row in runs[0].result.rows("ports") if row["peer"] == "sink"]
    return Measured(
        deviation=median([_mean(run.deviation(host) for host in victims) for run in runs]),
        paused=median([_mean(run.paused(host) for host in victims) for run in runs]),
        aggressor=median([sum(run.rate(host) for host in aggressors) for run in runs]),
        utilisation=median([run.utilisation(port) for run in runs]),
        evenness=median([_evenness([run.rate(host) for host in aggressors]) for run in runs]),
        queue=median([max(int(row["queue_frames_max"]) for row in _switch_queues(run)) for run in runs]),
        lost=max(run.drops for run in runs),
    )


def _switch_queues(run: Run) -> list[dict[str, Any]]:
    switches = {node["name"] for node in run.result.topology["nodes"] if node["role"] == "switch"}
    return [
        row for row in run.result.rows("queues") if row["port"].rsplit("->")[0].rsplit(".")[0] in switches
    ]


def _evenness(rates: Sequence[float]) -> float:
    """The smallest rate divided by the largest."""
    return min(rates) / max(rates)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


Build = Callable[[str], Scenario]
"""Builds the scenario of a case in a mode."""
COLUMNS = (
    "case",
    "mode",
    "victims' deviation (Gb/s)",
    "victims paused",
    "aggressors (Gb/s)",
    "smallest/largest aggressor",
    "link used",
    "longest queue (frames)",
)


@dataclass(frozen=True)
class Experiment:
    """Cases that answer one question."""

    id: str
    file: str
    title: str
    cases: Mapping[str, Build]
    first_seed: int = 1


def _stars(*cases: Case) -> dict[str, Build]:
    return {case.name: case.scenario for case in cases}


_UNSEEN = Experiment(
    "P7-7",
    "beyond-unseen",
    "Cases and seeds that were not used to choose max-min",
    _stars(
        Case("12 ports, 2 aggressors", (0.5,) * 10, 2),
        Case("24 ports, 4 aggressors", (0.25,) * 20, 4),
        Case("10 ports, 5 aggressors in bursts", (0.6,) * 5, 5, bursts_us=(50, 150)),
        Case("6 ports, uneven, 1 aggressor", (2.2, 1.5, 1, 0.7, 0.3)),
        Case("20 ports, random, 2 aggressors", (0.3,) * 18, 2, source="poisson"),
    ),
    first_seed=1001,
)


def experiments() -> list[Experiment]:
    """Experiments on questions that the chapter leaves open."""
    ports = (2, 4, 8, 16, 32)
    one = {n: (LIGHT * LINE_GBPS / n,) * (n - 1) for n in ports}
    of_16 = {k: (LIGHT * LINE_GBPS / 16,) * (16 - k) for k in (2, 3, 8)}
    return [
        Experiment(
            "P7-1",
            "beyond-ports",
            "One aggressor among 2 to 32 ingress ports",
            _stars(*(Case(f"{n} ports", one[n]) for n in ports)),
        ),
        Experiment(
            "P7-2",
            "beyond-aggressors",
            "Several aggressors among 16 ingress ports",
            _stars(
                *(Case(f"{k} aggressors", of_16[k], k) for k in (2, 3, 8)),
                *(Case(f"{k} aggressors, room for {k}", of_16[k], k, planned=k) for k in (2, 3)),
            ),
        ),
        Experiment(
            "P7-3",
            "beyond-bursts",
            "Aggressors that send in bursts (means: 100 us on, 100 or 200 us off)",
            _stars(
                Case("1 of 4 ports", one[4], bursts_us=(100, 100)),
                Case("3 of 16 ports", of_16[3], 3, bursts_us=(100, 200)),
            ),
        ),
        Experiment(
            "P7-4",
            "beyond-uneven",
            "Partners above an equal share but within their max-min share",
            _stars(Case("3.3, 1, 1 Gb/s", (3.3, 1, 1)), Case("4, 0.5, 0.5, 0.5 Gb/s", (4, 0.5, 0.5, 0.5))),
        ),
        Experiment(
            "P7-5",
            "beyond-random",
            "Victims with random (Poisson) arrivals",
            _stars(*(Case(f"{n} ports", one[n], source="poisson") for n in (8, 32))),
        ),
        Experiment(
            "P7-6",
            "beyond-hops",
            "The aggressor behind two and three switches",
            {f"{n} switches": partial(hops, n) for n in (2, 3)},
        ),
        _UNSEEN,
    ]


def run(context: Context) -> tuple[list[Outcome], dict[str, dict[str, dict[str, Measured]]]]:
    """Runs all experiments; returns outcomes, and measures by experiment, case and mode."""
    seeds, shown = (2, (INGRESS, FAIR, OURS)) if context.quick else (10, MODES)
    outcomes, found = [], {}
    for experiment in experiments():
        context.say(f"{experiment.id}: {experiment.title}")
        of = {
            case: {mode: measure(build(mode), seeds, experiment.first_seed) for mode in shown}
            for case, build in experiment.cases.items()
        }
        found[experiment.id] = of
        context.save_table(
            experiment.file,
            f"{experiment.id}: {experiment.title}",
            COLUMNS,
            [_row(case, mode, values) for case, modes in of.items() for mode, values in modes.items()],
            note=f"Median of {seeds} seeds. Smallest/largest aggressor: smallest throughput of an aggressor, "
            "relative to the largest.",
        )
        outcomes.append(_judge(context, experiment, of))
    return outcomes, found


def _row(case: str, mode: str, values: Measured) -> Sequence[str]:
    lost = f", {values.lost} lost" if values.lost else ""
    return (
        case,
        mode,
        gbps(values.deviation),
        f"{values.paused:.1%}",
        gbps(values.aggressor),
        f"{values.evenness:.2f}",
        f"{values.utilisation:.1%}{lost}",
        f"{values.queue:.0f}",
    )


def _judge(context: Context, experiment: Experiment, of: Mapping[str, Mapping[str, Measured]]) -> Outcome:
    """Outcome of an experiment: max-min compared with fair bandwidth, over all cases."""
    pairs = {case: (modes[OURS], modes[FAIR]) for case, modes in of.items()}
    figures = {
        "paused_longer": max(ours.paused - fair.paused for ours, fair in pairs.values()),
        "deviation_ratio": max(ours.deviation / fair.deviation for ours, fair in pairs.values()),
        "used_less": max(fair.utilisation - ours.utilisation for ours, fair in pairs.values()),
        "lost": max(ours.lost for ours, _ in pairs.values()),
    }
    longer = [case for case, (ours, fair) in pairs.items() if ours.paused > fair.paused]
    measured = "; ".join(
        f"{case}: {gbps(ours.deviation)}/{gbps(fair.deviation)}, {ours.paused:.1%}/{fair.paused:.1%}"
        for case, (ours, fair) in pairs.items()
    )
    note = NOTES.get(experiment.id, "")
    if longer:
        note += (
            f" With max-min light partners are paused longer than with fair bandwidth: {', '.join(longer)}."
        )
    return context.judge(
        experiment.id,
        figures,
        measured=f"deviation (Gb/s) and time paused of light partners, max-min/fair bandwidth: {measured}",
        note=note.strip(),
    )


NOTES = {
    "P7-1": "With two ports, random sampling can pick the only victim. The aggressor then fills the link "
    "alone, the queue neither grows to HW nor drains to LW, and the victim stays paused.",
    "P7-2": "Likely cause, not measured: after a pause, a victim sends its backlog at line rate. Fair "
    "bandwidth then takes it for an aggressor and pauses it again. With max-min, aggressors resume one after "
    "the other and share less evenly. PFC by ingress port with 22 frames per port does not pause light "
    "partners at all, but its queue is longer.",
    "P7-6": "A limit of targeting in an egress queue: the queue of a paused switch keeps growing, up to HW. "
    "Fair bandwidth does not target an aggressor that is alone in the queue, because the fair share of one "
    "partner is the whole queue. PFC by ingress port has neither limit.",
}
