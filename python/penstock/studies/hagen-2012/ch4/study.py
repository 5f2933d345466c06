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

UNCHANGED, MINIMAL, SIGNIFICANT = 0.05, 0.1, 0.2
ABOUT_THE_SAME, MUCH_LESS, FAR_LESS = 0.75, 0.75, 0.5
WRITES_BELOW = 0.25
"""Qualitative statements of the source as shares of the throughput alone, or of another reduction; the
last one is a number of the source."""

Rates = Mapping[str, float]


def run(context: Context) -> list[Outcome]:
    """All experiments."""
    adapter = context.scenario("adapter")
    context.say("alone")
    alone = {name: delivered(adapter, [name])[name] for name in NAMES}
    together: dict[str, Rates] = {}
    for number, names in MIXES.items():
        context.say(f"{number}: {' and '.join(names)}")
        together[number] = delivered(adapter, names)
    fall = {
        number: {name: 1 - rate / alone[name] for name, rate in rates.items()}
        for number, rates in together.items()
    }
    save(context, alone, together)
    cover = context.save_figure(picture(alone, together), "chapter-4", cover=True)
    return [
        *two_classes(context, fall, [cover]),
        *three_classes(context, fall, together["H4-6"]),
        *with_ets(context, adapter, together["H4-6"]),
        sink(context),
    ]


def delivered(adapter: Scenario, names: Sequence[str]) -> Rates:
    """Rate of delivered data of each of these flows in Gb/s while all of them run.

    The rate of commands is the number of outstanding ones divided by the mean time of an exchange.
    """
    flows = [flow for flow in adapter.to_dict()["flows"] if flow["name"] in names]
    result = adapter.with_value("flows", flows).run(seed=1)
    exchanges = {row["flow"]: row["exchange_mean_ns"] for row in result.rows("connections")}
    streams = {row["flow"]: row["goodput_bps"] for row in result.rows("flows")}
    at_once = {flow["name"]: flow["source"].get("conversation", {}).get("outstanding", 1) for flow in flows}
    blocks = {"read", "write"}
    return {
        name: at_once[name] * BLOCK_BITS / exchanges[name] if name in blocks else streams[name] / 1e9
        for name in names
    }


def told(fall: Rates) -> str:
    """A sentence with the loss of each flow."""
    return ", ".join(f"{NAMES[name]} {-share:+.0%}" for name, share in fall.items())


def two_classes(context: Context, fall: Mapping[str, Rates], pictures: list[str]) -> list[Outcome]:
    """H4-2 to H4-5."""
    reads, writes, beside_reads, beside_writes = (fall[number] for number in list(MIXES)[:4])
    ratio = beside_writes["write"] / beside_writes["udp"]
    passed = {
        "H4-2": abs(reads["tcp"]) <= UNCHANGED and reads["read"] > UNCHANGED,
        "H4-3": abs(writes["tcp"]) <= UNCHANGED and writes["write"] > max(UNCHANGED, reads["read"]),
        "H4-4": beside_reads["read"] <= MINIMAL and beside_reads["udp"] >= SIGNIFICANT,
        "H4-5": ABOUT_THE_SAME <= ratio <= 1 / ABOUT_THE_SAME,
    }
    return [
        context.outcome(
            number,
            measured=told(fall[number]),
            passed=passed[number],
            pictures=pictures if number == "H4-2" else [],
        )
        for number in passed
    ]


def three_classes(context: Context, fall: Mapping[str, Rates], rates: Rates) -> list[Outcome]:
    """H4-6 and H4-7, sentence by sentence."""
    writes, reads = fall["H4-6"], fall["H4-7"]
    part = share(rates)
    return [
        context.outcome(
            "H4-6",
            measured=told(writes),
            passed=writes["tcp"] < MUCH_LESS * min(writes["udp"], writes["write"]),
        ),
        context.outcome(
            "H4-6-share", measured=f"writes have {part:.0%} of the total", passed=part < WRITES_BELOW
        ),
        context.outcome(
            "H4-7",
            measured=told(reads),
            passed=reads["read"] <= FAR_LESS * min(reads["tcp"], reads["udp"]),
        ),
        context.outcome(
            "H4-7-tcp",
            measured=f"{told(reads)}; with two classes TCP {-fall['H4-2']['tcp']:+.0%}",
            passed=reads["tcp"] < reads["udp"] and reads["tcp"] > fall["H4-2"]["tcp"],
        ),
    ]


def share(rates: Rates) -> float:
    """Share of the writes in the total."""
    return rates["write"] / sum(rates.values())


def with_ets(context: Context, adapter: Scenario, rates: Rates) -> list[Outcome]:
    """H4-8, and the check that writes get their configured share."""
    four = adapter.with_value("host.receive.cores", 4)
    before = delivered(four, MIXES["H4-6"])
    after, one = (delivered(it.with_value("host.scheduler", ETS), MIXES["H4-6"]) for it in (four, adapter))
    two = four.with_value("flows.write.source.conversation.outstanding", 2)
    alone = delivered(two, ["write"])["write"]
    got = delivered(two.with_value("host.scheduler", ETS), MIXES["H4-6"])["write"]
    due = 0.9 * min(alone, ETS_PERCENT / 100 * LINK_GBPS)
    return [
        context.outcome(
            "H4-8",
            measured=f"four cores: writes {before['write']:.2f} Gb/s, {share(before):.0%} of the total, with "
            f"ETS {after['write']:.2f} Gb/s, {share(after):.0%}; one core, as in the other experiments: "
            f"{share(rates):.0%} and {share(one):.0%}",
            passed=share(after) > share(before),
        ),
        context.outcome(
            "H4-8-due",
            measured=f"four cores and two commands at a time: {got:.2f} Gb/s of {due:.2f}",
            passed=got >= due,
        ),
    ]


def sink(context: Context) -> Outcome:
    """H4-9."""
    context.say("H4-9: one server and its clients")
    paused = context.scenario("sink")
    flows = [flow for flow in paused.to_dict()["flows"] if flow["name"] == "iscsi"]
    results = [
        it.run(seed=1)
        for it in (paused, paused.with_value("flow_control", "off"), paused.with_value("flows", flows))
    ]
    rates = [
        sum(row["throughput_bps"] for row in result.rows("flows") if row["flow"].startswith("iscsi")) / 1e9
        for result in results
    ]
    lost = [
        sum(row["frames"] for row in result.rows("drops") if row["flow"].startswith("iscsi"))
        for result in results
    ]
    anything = sum(row["frames"] for row in results[0].rows("drops"))
    stopped = {row["node"]: row["paused_s"] * 1e3 for row in results[0].rows("ports")}
    clients, others = [stopped[f"h{n}"] for n in range(2)], [stopped[f"h{n}"] for n in range(2, 6)]
    return context.outcome(
        "H4-9",
        measured=f"TCP and UDP paused for {min(others):.0f} to {max(others):.0f} of 300 ms, iSCSI for "
        f"{sum(clients):.0f}; iSCSI {rates[0]:.2f} Gb/s, {rates[2]:.2f} alone, {anything} lost; without PFC "
        f"{rates[1]:.2f} Gb/s, {lost[1]} of its frames lost: it waits for timeouts, and the memory is full",
        passed=min(others) > 0
        and sum(clients) == anything == 0
        and rates[0] >= 0.99 * rates[2]
        and rates[1] < rates[0]
        and lost[1] > 0,
    )


def save(context: Context, alone: Rates, together: Mapping[str, Rates]) -> None:
    """The table of all rates."""
    rows = [
        (number, NAMES[name], f"{alone[name]:.2f}", f"{rate:.2f}", f"{rate / alone[name] - 1:+.0%}")
        for number, rates in together.items()
        for name, rate in rates.items()
    ]
    context.save_table(
        "rates",
        "Data delivered, alone and together",
        ("experiment", "traffic", "alone (Gb/s)", "together (Gb/s)", "change"),
        rows,
    )


def picture(alone: Rates, together: Mapping[str, Rates]) -> Figure:
    """Each mix beside the throughput of its parts alone."""
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
