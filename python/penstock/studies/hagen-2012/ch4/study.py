"""Three kinds of traffic through one adapter, alone and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from penstock.plots.style import style
from penstock.scenario import Scenario
from penstock.studies.reproduce import Context, Outcome

BLOCK_BITS = 8 << 20
LINK_GBPS = 10.0
MIXES = {
    "H4-2": ("tcp", "read"),
    "H4-3": ("tcp", "write"),
    "H4-4": ("udp", "read"),
    "H4-5": ("udp", "write"),
    "H4-6": ("tcp", "udp", "write"),
    "H4-7": ("tcp", "udp", "read"),
}
NAMES = {"tcp": "TCP", "udp": "UDP", "read": "read", "write": "write"}
ETS_PERCENT = 60
ETS = {
    "ets": {
        "classes": [
            {"queues": [0, 2, 4, 5, 7], "percent": 0},
            {"queues": [1], "percent": 20},
            {"queues": [3], "percent": 20},
            {"queues": [6], "percent": ETS_PERCENT},
        ]
    }
}


Rates = Mapping[str, float]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    adapter, server = context.scenario("adapter"), context.scenario("sink")
    context.say("alone, together, and with ETS")
    ids = [one.id for one in context.study.experiments]
    found = context.over_seeds(lambda seed: mixes(adapter, seed), *ids)
    context.say("H4-9: one server and its clients")
    sinks = context.over_seeds(lambda seed: sink(server, seed), "H4-9")
    figures = [of for of, _, _ in found]
    _, alone, together = found[0]
    save(context, alone, together)
    cover = context.save_figure(picture(alone, together), "chapter-4", cover=True)
    return [
        *(
            context.judge(one, figures, pictures=[cover] if one == "H4-2" else ())
            for one in ids
            if one != "H4-9"
        ),
        context.judge("H4-9", sinks),
    ]


def mixes(adapter: Scenario, seed: int) -> tuple[dict[str, float], Rates, dict[str, Rates]]:
    """Figures of one seed, rates alone, and rates by mix."""
    adapter = adapter.with_value("simulation.seed", seed)
    alone = {name: delivered(adapter, [name])[name] for name in NAMES}
    together = {number: delivered(adapter, names) for number, names in MIXES.items()}
    fall = {
        number: {name: 1 - rate / alone[name] for name, rate in rates.items()}
        for number, rates in together.items()
    }
    figures = {
        f"{name}_in_{'_'.join(MIXES[number])}": share
        for number, of in fall.items()
        for name, share in of.items()
    }
    writes, reads = fall["H4-6"], fall["H4-7"]
    figures |= {
        "tcp_off_reads": abs(fall["H4-2"]["tcp"]),
        "tcp_off_writes": abs(fall["H4-3"]["tcp"]),
        "more_than_reads": fall["H4-3"]["write"] - fall["H4-2"]["read"],
        "alike": fall["H4-5"]["write"] / fall["H4-5"]["udp"],
        "tcp_by_others": writes["tcp"] / min(writes["udp"], writes["write"]),
        "share": share(together["H4-6"]),
        "reads_by_others": reads["read"] / min(reads["tcp"], reads["udp"]),
        "less_than_udp": reads["udp"] - reads["tcp"],
        "more_than_two": reads["tcp"] - fall["H4-2"]["tcp"],
    }
    return figures | with_ets(adapter), alone, together


def delivered(adapter: Scenario, names: Sequence[str]) -> Rates:
    """Rate of delivered data of each of these flows in Gb/s while all of them run.

    The rate of commands is the number of outstanding ones divided by the mean time of an exchange.
    """
    flows = [flow for flow in adapter.to_dict()["flows"] if flow["name"] in names]
    result = adapter.with_value("flows", flows).run()
    exchanges = {row["flow"]: row["exchange_mean_ns"] for row in result.rows("connections")}
    streams = {row["flow"]: row["goodput_bps"] for row in result.rows("flows")}
    at_once = {flow["name"]: flow["source"].get("conversation", {}).get("outstanding", 1) for flow in flows}
    blocks = {"read", "write"}
    return {
        name: at_once[name] * BLOCK_BITS / exchanges[name] if name in blocks else streams[name] / 1e9
        for name in names
    }


def share(rates: Rates) -> float:
    """Share of the writes in the total."""
    return rates["write"] / sum(rates.values())


def with_ets(adapter: Scenario) -> dict[str, float]:
    """H4-8, and H4-8-due: rate of writes relative to the configured share."""
    four = adapter.with_value("host.receive.cores", 4)
    before = delivered(four, MIXES["H4-6"])
    after, one = (delivered(it.with_value("host.scheduler", ETS), MIXES["H4-6"]) for it in (four, adapter))
    two = four.with_value("flows.write.source.conversation.outstanding", 2)
    alone = delivered(two, ["write"])["write"]
    got = delivered(two.with_value("host.scheduler", ETS), MIXES["H4-6"])["write"]
    due = 0.9 * min(alone, ETS_PERCENT / 100 * LINK_GBPS)
    return {
        "ets_more": share(after) - share(before),
        "ets_share": share(after),
        "ets_one_core": share(one),
        "ets_due": got / due,
    }


def sink(paused: Scenario, seed: int) -> dict[str, float]:
    """H4-9 with one seed: with PFC, without, and iSCSI alone."""
    flows = [flow for flow in paused.to_dict()["flows"] if flow["name"] == "iscsi"]
    results = [
        it.run(seed=seed)
        for it in (paused, paused.with_value("flow_control", "off"), paused.with_value("flows", flows))
    ]
    rates = [
        sum(row["throughput_bps"] for row in result.rows("flows") if row["flow"].startswith("iscsi")) / 1e9
        for result in results
    ]
    lost = sum(row["frames"] for row in results[1].rows("drops") if row["flow"].startswith("iscsi"))
    stopped = {row["node"]: row["paused_s"] * 1e3 for row in results[0].rows("ports")}
    return {
        "others_ms": min(stopped[f"h{n}"] for n in range(2, 6)),
        "clients_ms": sum(stopped[f"h{n}"] for n in range(2)),
        "lost": sum(row["frames"] for row in results[0].rows("drops")),
        "of_alone": rates[0] / rates[2],
        "without": rates[1] / rates[0],
        "lost_without": lost,
    }


def save(context: Context, alone: Rates, together: Mapping[str, Rates]) -> None:
    """Table of all rates."""
    rows = [
        (number, NAMES[name], f"{alone[name]:.2f}", f"{rate:.2f}", f"{rate / alone[name] - 1:+.0%}")
        for number, rates in together.items()
        for name, rate in rates.items()
    ]
    context.save_table(
        "rates",
        "Delivered data, alone and together",
        ("experiment", "traffic", "alone (Gb/s)", "together (Gb/s)", "change"),
        rows,
    )


def picture(alone: Rates, together: Mapping[str, Rates]) -> Figure:
    """Throughput in each mix, and alone."""
    with style():
        figure = Figure(figsize=(9.0, 3.4), layout="constrained")
        panels = figure.subplots(
            1, len(together), sharey=True, width_ratios=[len(it) for it in together.values()]
        )
        for axes, (number, rates) in zip(panels, together.items(), strict=True):
            places = range(len(rates))
            axes.bar(
                [n - 0.2 for n in places],
                [alone[name] for name in rates],
                0.4,
                label="alone",
                color="#56B4E9",
            )
            axes.bar([n + 0.2 for n in places], list(rates.values()), 0.4, label="together", color="#0072B2")
            axes.set_xticks(places, [NAMES[name] for name in rates])
            axes.set_title(number)
        panels[0].set_ylabel("delivered (Gb/s)")
        figure.legend(
            *panels[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False
        )
    return figure
