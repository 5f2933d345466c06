"""QCN keeps a queue near its set point; with PFC alone the queue grows to XOFF and stays there."""

import penstock as ps
from penstock import plots

with_qcn = ps.Scenario.from_file("congestion-notification")
alone = with_qcn.with_value("switch.queue_managers", None).with_value("host.rate_limiters", None)
results = {"QCN and PFC": with_qcn.run(), "PFC alone": alone.run()}

queue = "right.0->r0/3"
figure = plots.series(results, "queue_bytes", [queue])
plots.save(figure, ".", "qcn_keeps_a_queue", svg=False)

rest = {title: result.series("queue_bytes", queue)[1][-100:].mean() for title, result in results.items()}
assert rest["QCN and PFC"] < 45_000 < 90_000 < rest["PFC alone"]  # the set point is 26 kB, XOFF 90 kB
