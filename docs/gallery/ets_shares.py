"""ETS divides a link by percentages while all classes have traffic; unused bandwidth goes to the others."""

import penstock as ps
from penstock import plots

PERCENT = {0: 60, 1: 30, 2: 10}
CLASSES = [{"queues": [0], "percent": 60}, {"queues": [1], "percent": 30}, {"queues": [2], "percent": 10}]
CLASSES += [{"queues": [3, 4, 5, 6, 7], "strict": True}]
scenario = (
    ps.Scenario(duration="4 ms")
    .topology.star(hosts=4, rate="10 Gb/s", length="1 m")
    .switch(scheduler={"ets": {"classes": CLASSES}})
    .flow_control.pfc(priorities=[0, 1, 2])
    .probes(bin="100 us")
    .flow("class 0", from_="h0", to="h3", priority=0, source="greedy", stop="2 ms")
    .flow("class 1", from_="h1", to="h3", priority=1, source="greedy")
    .flow("class 2", from_="h2", to="h3", priority=2, source="greedy")
)
result = scenario.run()
results = {"60, 30 and 10 % of 10 Gb/s; class 0 ends at 2 ms": result}

figure = plots.series(results, "flow_throughput_bps")
plots.save(figure, ".", "ets_shares", svg=False)

for priority, percent in PERCENT.items():
    times, got = result.series("flow_throughput_bps", f"class {priority}")
    share = got[(times > 0.5e6) & (times < 1.5e6)].mean() / 9.85e9
    assert abs(share - percent / 100) < 0.02
