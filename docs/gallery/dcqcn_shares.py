"""DCQCN: each sender that joins gets a share of the link close to the shares of the others."""

import penstock as ps
from penstock import plots

red = {"weight": 1, "min": "100 kB", "max": "400 kB", "max_probability": 0.2, "gentle": False}
red |= {"action": "mark_only", "spacing": "geometric", "at": "dequeue"}
scenario = (
    ps.Scenario(duration="60 ms")
    .topology.star(hosts=4, rate="40 Gb/s", delay="1 us")
    .flow_control.pfc(priorities=[3], accounting="ingress", xoff="400 KiB", xon="380 KiB")
    .switch(queue_managers=[{"classes": [3], "red": red}])
    .probes(bin="500 us")
)
for number in range(3):
    transport = ps.rdma(control={"dcqcn": {"preset": "hpcc"}}, cnp_gap="4 us")
    scenario = scenario.flow(
        f"sender {number}",
        from_=f"h{number}",
        to="h3",
        priority=3,
        start=f"{15 * number} ms",
        source=transport,
    )
result = scenario.run()
results = {"three senders, one every 15 ms": result}

figure = plots.series(results, "flow_throughput_bps")
plots.save(figure, ".", "dcqcn_shares", svg=False)

rates = [result.series("flow_throughput_bps", f"sender {n}")[1][-20:].mean() for n in range(3)]
assert ps.jain(rates) > 0.97 and sum(rates) > 0.85 * 40e9
