"""What the time of messages over RDMA was spent on, in the table and in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from conftest import Command, json_of
from penstock.analysis import messages
from penstock.analysis.why import why
from penstock.errors import InputError
from penstock.result import Result
from penstock.scenario import Scenario

STAR = """
[simulation]
duration = "2 ms"
[topology.star]
hosts = 6
rate = "100 Gb/s"
delay = "1 us"
phy = "none"
[switch.buffer]
total = "1 MiB"
[probes]
bin = "20 us"
"""
MARKS = """
[[switch.queue_managers]]
classes = [3]
red = { weight = 1, min = "40 kB", max = "160 kB", max_probability = 0.2, action = "mark_only" }
"""
PFC = """
[flow_control.pfc]
priorities = [3]
accounting = "ingress"
xoff = "60 KiB"
xon = "50 KiB"
"""


def run(fabric: str, *, over: str, sizes: str = "400 kB", seed: int = 1, duration: str = "2 ms") -> Result:
    """Five writers to one host."""
    writes = f"""
[[transfers]]
name = "writes"
from = "h1..h5"
to = "h0"
arrivals = {{ poisson = {{ load = 0.9 }} }}
sizes = "{sizes}"
priority = 3
frame = "4300 B"
stop = "300 us"
over = {{ rdma = {{ {over} }} }}
"""
    star = STAR.replace("2 ms", duration)
    return Scenario.from_toml(star + fabric + writes).run(seed=seed)


def every(result: Result) -> list[messages.Message]:
    """All messages of a result."""
    names = [row["name"] for row in result.rows("transfers")]
    found = [
        messages.named(result, f"{names[row['transfer']]}#{row['transfer']}")
        for row in result.rows("message_times")
    ]
    return [message for message in found if message is not None]


@pytest.mark.parametrize(
    ("fabric", "over"),
    [
        (PFC + MARKS, 'control = "dcqcn"'),
        (PFC, 'control = "none"'),
        (PFC, 'control = "hpcc"'),
        ("", 'control = "none", recovery = "selective"'),
        ("", 'control = "none", timeout = "100 us"'),
        (PFC, 'control = "none", queue_pairs = "each", window = "20 kB"'),
        (PFC + MARKS, 'control = "dcqcn", verb = "read"'),
        ("", 'control = "none", verb = "read", timeout = "100 us"'),
        ("", 'control = "none", verb = "read", recovery = "selective", queue_pairs = "each"'),
    ],
)
def test_parts_add_up(fabric: str, over: str) -> None:
    """What was spent is the time until all was acknowledged, to the nanosecond that each part is cut to."""
    # Go-back-N with losses takes long to end.
    result = run(fabric, over=over, duration="4 ms")
    found = every(result)
    assert len(found) >= 10
    for message in found:
        spent = sum(value for name, value in message.spent.items() if name.endswith("_ns"))
        assert spent == pytest.approx(message.row["acknowledged_ns"], abs=10)
        assert sum(message.late_by.values()) == pytest.approx(message.late_ns)
        assert min(value for name, value in message.late_by.items() if name != "queues") >= 0
        # Three packets of 4,182 B: one on the wire, two that the NIC has taken early.
        assert message.late_by["queues"] > -3 * 4_182 * 0.08 - 1


def test_each_cause_is_reported() -> None:
    """CNPs and rate, pauses, windows, losses: each where it is."""
    marked = run(PFC + MARKS, over='control = "dcqcn"')
    slow = max(every(marked), key=lambda message: message.late_by["rate"])
    assert slow.spent["cnps"] and slow.late_by["rate"] > 0.3 * slow.late_ns
    output = " ".join(why(marked, f"writes#{slow.transfer}"))
    assert "rate of congestion control" in output and "CNPs" in output and "The lowest rate" in output
    paused = run(PFC, over='control = "none"')
    assert any(message.late_by["pause"] > 0.2 * message.late_ns for message in every(paused))
    assert "Its slowest message" in " ".join(why(paused, "writes"))
    held = run(PFC, over='control = "none", window = "9 kB"')
    assert any(message.late_by["window"] > 0.5 * message.late_ns for message in every(held))
    lost = run("", over='control = "none", timeout = "100 us"', sizes="900 kB")
    again = max(every(lost), key=lambda message: message.late_by["again"])
    assert again.late_by["again"] > 0 and again.row["segments_sent_again"] > 0
    assert "retransmitted" in " ".join(why(lost, f"writes#{again.transfer}"))


def test_series_of_queue_pairs() -> None:
    """They are recorded with those of flows, and hold what the totals say."""
    result = run(PFC + MARKS, over='control = "dcqcn"')
    pairs = {f"{row['flow']}/{row['queue_pair']}": row for row in result.rows("queue_pairs")}
    rates = result.all_series("queue_pair_rate_bps")
    assert set(rates) == set(pairs)
    assert max(values.max() for _, values in rates.values()) == pytest.approx(100e9)
    assert all(values.max() > 0 for _, values in result.all_series("queue_pair_in_flight_bytes").values())
    for name, (_, values) in result.all_series("queue_pair_cnps").items():
        assert values.sum() == pairs[name]["cnps_received"]
    lossy = run("", over='control = "none", recovery = "selective"', sizes="900 kB")
    pairs = {f"{row['flow']}/{row['queue_pair']}": row for row in lossy.rows("queue_pairs")}
    again = lossy.all_series("queue_pair_sent_again")
    assert sum(values.sum() for _, values in again.values()) == sum(
        row["packets_sent_again"] for row in pairs.values()
    )
    assert set(lossy.all_series("queue_pair_window_bytes")) == set(pairs)


def test_messages_that_are_not_there() -> None:
    """Names of messages that no transfer has, and of frames."""
    result = run(PFC, over='control = "none"')
    for name in ("writes#99", "reads#0"):
        with pytest.raises(InputError, match="of this result is none of"):
            why(result, name)
    last = result.table("transfers").num_rows - 1
    with pytest.raises(
        InputError, match=f"'x' is not the number of a transfer; expected its row .*, 0 to {last}$"
    ):
        why(result, "writes#x")
    with pytest.raises(InputError, match="no port, node or flow"):
        why(result, "reads#x")


def test_more_lost_than_late() -> None:
    """A NIC that has taken packets early makes up for some of what was lost: no share is above the whole."""
    result = run(PFC, over='control = "none"')
    known = max(every(result), key=lambda message: message.late_by["pause"])
    spent = {name: 0.0 if name.endswith("_ns") else value for name, value in known.spent.items()}
    row = known.row | {"completion_ns": known.row["ideal_ns"] + 100.0}
    early = dataclasses.replace(known, row=row, spent=spent | {"host_ns": 4_000.0})
    output = " ".join(messages.sentences(result, early))
    assert "Delay 100 ns: NIC busy 4 us (100 %); 3.9 us recovered" in output


def test_json_has_the_message(penstock: Command, tmp_path: Path) -> None:
    """The slowest of a flow, or the one that is named."""
    run(PFC + MARKS, over='control = "dcqcn"').save(tmp_path / "result")
    slowest = json_of(penstock("why", "writes", tmp_path / "result", "--json"))["message"]
    named = json_of(penstock("why", f"writes#{slowest['transfer']}", tmp_path / "result", "--json"))
    assert named["message"] == slowest
    assert sum(slowest["late_by_ns"].values()) == pytest.approx(slowest["late_ns"])
    assert "message" not in json_of(penstock("why", "sw", tmp_path / "result", "--json"))


def test_flows_that_are_named_like_messages_are_flows() -> None:
    text = (
        STAR
        + PFC
        + """
[[transfers]]
name = "writes#1"
from = "h1..h3"
to = "h0"
arrivals = "once"
sizes = "100 kB"
priority = 3
over = { rdma = {} }
"""
    )
    result = Scenario.from_toml(text).run()
    lines = why(result, "writes#1")
    assert lines[0].startswith("writes#1 has 3 senders")
    assert any("Message writes#1#" in line for line in lines)
    assert why(result, "writes#1#2")[0].startswith("Message writes#1#2 (")


def test_reads_are_reported_and_one_that_is_not_whole_is_an_error_that_says_so() -> None:
    result = run(PFC, over='verb = "read"', duration="400 us")
    whole = {row["transfer"] for row in result.rows("message_times")}
    left = next(nth for nth, _ in enumerate(result.rows("transfers")) if nth not in whole)
    output = " ".join(why(result, f"writes#{min(whole)}"))
    assert "wait for its request" in output
    with pytest.raises(InputError, match=f"'writes#{left}': .* expected a complete RDMA message"):
        why(result, f"writes#{left}")


def test_queue_pairs_in_error_are_reported(penstock: Command, tmp_path: Path) -> None:
    """What one host sends is lost: it gives up after the third timeout in a row, from its last packet on."""
    keys = 'control = "none", timeout = "100 us", retries = 2'
    fault = '[[faults]]\nlink = ["h1", "sw"]\ntowards = "sw"\nfrom = "10 us"\nframe_loss = 1.0\n'
    scenario = tmp_path / "dead.toml"
    star = STAR + fault + PFC
    writes = """
[[transfers]]
name = "writes"
from = "h1..h2"
to = "h0"
arrivals = "once"
sizes = "1 MB"
priority = 3
frame = "4300 B"
"""
    scenario.write_text(f"{star}{writes}over = {{ rdma = {{ {keys} }} }}\n")
    ran = penstock("run", str(scenario), "--no-report", "--out", str(tmp_path / "out"))
    text = "in error: 1 of 2, the first of writes[h1] to h0 at 3"
    assert text in " ".join(ran.stdout.split())
    result = Result.load(tmp_path / "out")
    output = [line for line in why(result, "writes[h1]") if "error" in line]
    assert len(output) == 1 and output[0].startswith("Its queue pair entered the error state at 3")
    assert "after 3 timeouts" in output[0]
    assert not any("error" in line for line in why(result, "writes[h2]"))
    assert any("Of its 2 queue pairs one entered the error state" in line for line in why(result, "writes"))
    lost = next(n for n, row in enumerate(result.rows("transfers")) if row["source"] == "h1")
    with pytest.raises(InputError, match=r"message\. Its queue pair entered the error state at"):
        why(result, f"writes#{lost}")
