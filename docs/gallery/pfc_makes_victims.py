"""PFC pauses a flow to an uncongested destination; without PFC it is not delayed, but others lose frames."""

import penstock as ps
from penstock import plots

fabric = ps.Scenario.from_file("congestion-notification").host(clock_tolerance="100 ppm")
with_pfc = fabric.with_value("switch.queue_managers", None).with_value("host.rate_limiters", None)
lossy = with_pfc.with_value("flow_control", None).switch(buffer={"queue": "90 kB"})
results = {"PFC": with_pfc.run(), "losses in place of pauses": lossy.run()}

figure = plots.series(results, "flow_throughput_bps")
plots.save(figure, ".", "pfc_makes_victims", svg=False)

got = {title: {row["flow"]: row for row in result.rows("flows")} for title, result in results.items()}
victims = {title: flows["victim"]["throughput_bps"] for title, flows in got.items()}
assert victims["PFC"] < 0.8 * 8e9 < 0.99 * 8e9 < victims["losses in place of pauses"]
losses = {title: sum(flow["frames_dropped"] for flow in flows.values()) for title, flows in got.items()}
assert losses["PFC"] == 0 < losses["losses in place of pauses"]
