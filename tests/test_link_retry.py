"""Link-level retry: the engine against a second model in plain Python, and what a user sees of it."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

import penstock as ps

BYTE_PS = 800
"""Ten gigabits per second."""
DELAY_PS = 1_000_000
TIMER_PS = 10_000_000
ORDERED_SET_PS = 8 * BYTE_PS
NUMBERS = 1 << 20
COLUMNS = ("frames", "replayed_frames", "replays", "timeouts", "repaired_frames", "nacks_received")
FAR_COLUMNS = (
    "acks_sent",
    "nacks_sent",
    "ordered_sets_lost",
    "damaged_frames",
    "missing_frames",
    "duplicate_frames",
)

SCENARIO = """
[simulation]
duration = "3 ms"

[topology.explicit]
hosts = ["h0", "h1"]
switches = ["sw"]
links = [
  {{ between = ["h0", "sw"], rate = "10 Gb/s", delay = "1 us", phy = "none" }},
  {{ between = ["sw", "h1"], rate = "10 Gb/s", phy = "none" }},
]

[links."h0<->sw"]
llr = {{ outstanding_frames_max = {most}, ctlos_target_spacing = "{spacing} B" }}

[[flows]]
name = "f"
from = "h0"
to = "h1"
frame = "{size} B"
limit = "{limit} B"
source = "greedy"
"""
FAULT = """
[[faults]]
link = ["h0", "sw"]
bit_error_rate = 1.0
from = "{} ns"
until = "{} ns"
"""


@dataclass
class Link:
    """One direction of a link with link-level retry, go-back-N, event by event."""

    size: int
    left: int
    most: int
    spacing_ps: int
    damage: list[tuple[int, int]]
    near: Counter[str] = field(default_factory=Counter)
    far: Counter[str] = field(default_factory=Counter)
    delivered: list[int] = field(default_factory=list)
    repairs_ps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.events: list[tuple[int, int, int, str, int]] = []
        self.ticket = itertools.count()
        self.window: list[int] = []
        self.first_sent: dict[int, int] = {}
        self.repeated: set[int] = set()
        self.next_number = self.expected = 0
        self.to_repeat: list[int] = []
        self.busy_until = self.progress = 0
        self.silent = self.owes = False
        self.last_ack: int | None = None

    def at(self, time: int, rank: int, what: str, number: int = 0) -> None:
        """Schedules an event."""
        heapq.heappush(self.events, (time, rank, next(self.ticket), what, number))

    def run(self) -> Link:
        """Until nothing is left to do."""
        self.at(0, 0, "free")
        while self.events:
            now, _, _, what, number = heapq.heappop(self.events)
            getattr(self, what)(now, number)
        return self

    def is_hit(self, time: int) -> bool:
        """Returns true if what is sent then is damaged."""
        return any(begin <= time < end for begin, end in self.damage)

    def free(self, now: int, _: int) -> None:
        """The transmitter looks for the next frame."""
        if now < self.busy_until:
            return
        if self.to_repeat:
            number, self.progress = self.to_repeat.pop(0), now
            self.near["replayed_frames"] += 1
            self.repeated.add(number)
        elif self.left and len(self.window) < self.most:
            number, self.left = self.next_number, self.left - 1
            self.next_number = (self.next_number + 1) % NUMBERS
            if not self.window:
                self.progress = now
            self.window.append(number)
            self.first_sent[number] = now
            self.near["frames"] += 1
        else:
            return
        self.busy_until = now + (self.size + 20) * BYTE_PS
        self.at(self.busy_until, 0, "free")
        self.at(self.busy_until + DELAY_PS, 1, "damaged" if self.is_hit(now) else "good", number)
        self.at(self.progress + TIMER_PS, 5, "timer")

    def timer(self, now: int, _: int) -> None:
        """The replay timer may have expired."""
        if self.window and not self.to_repeat and now == self.progress + TIMER_PS:
            self.near["timeouts"] += 1
            self.repeat(now)

    def repeat(self, now: int) -> None:
        """Repeats the whole window."""
        self.near["replays"] += 1
        self.to_repeat, self.progress = list(self.window), now
        self.free(now, 0)

    def acknowledged(self, now: int, last: int) -> None:
        """All numbers up to this one have arrived."""
        freed = (last + 1 - (self.window[0] if self.window else self.next_number)) % NUMBERS
        if 0 < freed <= len(self.window):
            gone, self.window, self.progress = self.window[:freed], self.window[freed:], now
            self.to_repeat = [number for number in self.to_repeat if number not in gone]
            if self.window:
                self.at(now + TIMER_PS, 5, "timer")

    def ack(self, now: int, last: int) -> None:
        """An acknowledgement arrives."""
        self.acknowledged(now, last)
        self.free(now, 0)

    def nack(self, now: int, last: int) -> None:
        """A negative acknowledgement arrives."""
        self.near["nacks_received"] += 1
        self.acknowledged(now, last)
        if self.window:
            self.repeat(now)

    def good(self, now: int, number: int) -> None:
        """A frame arrives intact."""
        if number != self.expected:
            self.unexpected(now, number)
            return
        self.delivered.append(number)
        if number in self.repeated:
            began = now - DELAY_PS - (self.size + 20) * BYTE_PS
            self.repairs_ps.append(began - self.first_sent[number])
            self.near["repaired_frames"] += 1
        self.expected, self.silent, self.owes = (number + 1) % NUMBERS, False, True
        self.answer(now, 0)

    def damaged(self, now: int, number: int) -> None:
        """A frame arrives with a wrong checksum."""
        if number != self.expected:
            self.unexpected(now, number)
            return
        self.far["damaged_frames"] += 1
        self.silent = False
        self.refuse(now)

    def unexpected(self, now: int, number: int) -> None:
        """A frame behind a gap, or one that was taken before."""
        if (number - self.expected) % NUMBERS < NUMBERS // 2:
            self.far["missing_frames"] += 1
            self.refuse(now)
            return
        self.far["duplicate_frames"] += 1
        self.owes |= not self.silent
        self.answer(now, 0)

    def refuse(self, now: int) -> None:
        """One NACK, then silence."""
        if not self.silent:
            self.silent, self.owes = True, False
            self.far["nacks_sent"] += 1
            self.ordered_set(now, "nack")

    def answer(self, now: int, _: int) -> None:
        """Acknowledges what is owed, when the distance to the last one allows."""
        if not self.owes:
            return
        due = now if self.last_ack is None else max(now, self.last_ack + self.spacing_ps)
        if due > now:
            self.at(due, 5, "answer")
            return
        self.owes, self.last_ack = False, now
        self.far["acks_sent"] += 1
        self.ordered_set(now, "ack")

    def ordered_set(self, now: int, what: str) -> None:
        """A control ordered set leaves at once."""
        if self.is_hit(now):
            self.far["ordered_sets_lost"] += 1
        else:
            self.at(now + ORDERED_SET_PS + DELAY_PS, 1, what, (self.expected - 1) % NUMBERS)


def on_engine(link: Link, frames: int) -> tuple[dict[str, float], dict[str, float], ps.Result]:
    """The counts of both ends of the same link in the engine."""
    text = SCENARIO.format(
        most=link.most,
        spacing=link.spacing_ps // BYTE_PS,
        size=link.size,
        limit=link.size * frames,
    )
    text += "".join(FAULT.format(begin // 1000, end // 1000) for begin, end in link.damage)
    result = ps.Scenario.from_toml(text).run()
    rows = {row["port"]: row for row in result.rows("link_retries")}
    return rows["h0.0->sw"], rows["sw.0->h0"], result


def test_golden_vector_11() -> None:
    """Frames 1 to 6, the third damaged: one NACK(2), no duplicates, all in order."""
    link = Link(1230, 6, 100, 2048 * BYTE_PS, [(2_000_000, 2_001_000)]).run()
    assert link.delivered == list(range(6))
    assert (link.far["nacks_sent"], link.far["duplicate_frames"], link.near["replayed_frames"]) == (1, 0, 4)


@pytest.mark.parametrize("seed", range(12))
def test_the_engine_counts_what_a_second_model_counts(seed: int) -> None:
    """Frames, replays, ordered sets and times are the same for any damage at any time."""
    draw = random.Random(seed)
    frames, size = draw.randint(5, 60), draw.randint(64, 1518)
    damage = []
    begin = 0
    for _ in range(draw.randint(1, 6)):
        begin += draw.randint(1, 30_000)
        damage.append((begin * 1000, (begin + draw.randint(1, 2_500)) * 1000))
        begin = damage[-1][1] // 1000
    spacing = draw.choice((400, 2048, 9000)) * BYTE_PS
    link = Link(size, frames, draw.choice((2, 7, 100)), spacing, damage).run()
    assert link.delivered == list(range(frames))
    near, far, result = on_engine(link, frames)
    assert {name: near[name] for name in COLUMNS} == {name: link.near[name] for name in COLUMNS}
    assert {name: far[name] for name in FAR_COLUMNS} == {name: link.far[name] for name in FAR_COLUMNS}
    assert near["repair_delay_max_ns"] == pytest.approx(max(link.repairs_ps, default=0) / 1000, abs=1e-6)
    assert result.rows("flows")[0]["frames_delivered"] == frames


@pytest.mark.parametrize(
    ("links", "message", "hint"),
    [
        ('[links."h0"]\nllr = "on"', '"h0" names no link', "names of the two ends"),
        ('[links."h0<->h1"]\nllr = "on"', 'there is no link "h0<->h1"', "two ends of a link"),
        (
            '[links."h0<->s*"]\nllr = "on"\n[links."h*<->sw"]\nllr = "off"',
            "both name the link",
            "without a common",
        ),
        ('[links."h9<->sw"]\nllr = "on"', 'no host or switch matches "h9"', "h"),
        ('[link]\nllr = "yes"', "unknown value `yes`", '"on"'),
        ("[link]\nllr = { outstanding_frames_max = 524289 }", "outstanding_frames_max is 524289", "20 bits"),
        (
            '[link]\nllr = { ctlos_target_spacing = "17297 B" }',
            "ctlos_target_spacing is 17297 B",
            '"17296 B"',
        ),
    ],
)
def test_wrong_settings_of_links(links: str, message: str, hint: str) -> None:
    """The message names the value, and what is accepted."""
    text = SCENARIO.format(most=100, spacing=2048, size=1000, limit=10_000)
    head, _, tail = text.partition('[links."h0<->sw"]')
    text = head + links + "\n\n" + tail[tail.index("[[flows]]") :]
    with pytest.raises(ps.ScenarioError) as failure:
        ps.Scenario.from_toml(text).check()
    assert message in str(failure.value)
    assert hint in str(failure.value)


def test_patterns_and_names_of_links() -> None:
    """A link has the settings under its own name, else those of a pattern, else those of all links."""
    text = SCENARIO.format(most=100, spacing=2048, size=1000, limit=10_000)
    head, _, tail = text.partition('[links."h0<->sw"]')
    tail = tail[tail.index("[[flows]]") :]
    keys = '[link]\nllr = { replay_count_max = 7 }\n[links."sw<->h*"]\nllr = "off"\n'
    keys += '[links."h1<->sw"]\nllr = "on"\n'
    result = ps.Scenario.from_toml(head + keys + tail).run()
    assert {row["port"] for row in result.rows("link_retries")} == {"sw.1->h1", "h1.0->sw"}


def test_a_replay_buffer_below_a_round_trip_is_warned_of() -> None:
    """`check` says how much would be enough."""

    def warned(most: int) -> str:
        text = SCENARIO.format(most=most, spacing=2048, size=1000, limit=10_000)
        return str(ps.Scenario.from_toml(text).run().run["warnings"])

    # 2 us at 10 Gb/s, 2048 B, 8 B and two frames: 6,596 B.
    assert "outstanding_frames_max is less than a round trip" in warned(2)
    assert "at least 7" in warned(6)
    assert "outstanding" not in warned(7)


MANY = """
[simulation]
duration = "400 us"

[topology]
fat_tree = { k = 8, rate = "100 Gb/s", length = "10 m", phy = "none" }

[[transfers]]
name = "m"
from = "h0..h63"
to = { permutation = { shift = 17 } }
sizes = "200 kB"
arrivals = "once"
frame = "4178 B"
priority = 3
over = { rdma = { control = "none", recovery = "selective", window = "bdp", timeout = "100 us" } }
"""
RETRY = '[link]\nllr = { pcs_lost_timeout = "30 us" }\n'
WRONG_BITS = '[[faults]]\nlink = "all"\nbit_error_rate = 2e-7\n'
LOST_FRAMES = '[[faults]]\nlink = "all"\nframe_loss = 0.003\n'
OUTAGE = """
[[faults]]
link = ["edge0.0", "agg0.0"]
at = "10 us"
down = true
duration = "25 us"
waiting = "kept"
"""
PFC = '[flow_control.pfc]\npriorities = [3]\nheadroom = "2 MB"\nxoff = "60 kB"\nxon = "50 kB"\n'
CBFC = '[flow_control.credit]\npreset = "cbfc"\n'
TOGETHER = {
    "wrong bits": RETRY + WRONG_BITS,
    "pauses": RETRY + LOST_FRAMES + PFC,
    "cut-through": RETRY + WRONG_BITS + '[switch]\nforwarding = "cut_through"\n',
    "trimming": RETRY
    + WRONG_BITS
    + '[switch.buffer]\nqueue = "60 kB"\n[switch.trimming]\nsize = "256 B"\ndscp = 48\n',
    "credits": RETRY + WRONG_BITS + CBFC,
    "an outage": RETRY + WRONG_BITS + OUTAGE,
}


@pytest.mark.parametrize("name", TOGETHER)
def test_many_hosts_and_what_else_is_on_a_link(name: str) -> None:
    """Sixty-four senders: nothing is lost, and any number of threads comes to the same."""
    scenario = ps.Scenario.from_toml(MANY + TOGETHER[name])
    runs = [scenario.run(threads=threads) for threads in (1, 2, 3)]
    assert len({one.fingerprint for one in runs}) == 1
    result = runs[0]
    assert result.rows("drops") == []
    assert all(row["completion_ns"] is not None for row in result.rows("transfers"))
    assert sum(row["replayed_frames"] for row in result.rows("link_retries")) > 50


def test_credits_of_lost_frames_come_back() -> None:
    """Without retry wrong bits lose frames, and no channel stops for good."""
    result = ps.Scenario.from_toml(MANY + CBFC + 'cc_message_timer = "20 us"\n' + WRONG_BITS).run()
    assert sum(row["frames"] for row in result.rows("drops")) > 50
    assert all(row["completion_ns"] is not None for row in result.rows("transfers"))
    leaked, restored = (sum(row[name] for row in result.rows("credits")) for name in ("leaked", "restored"))
    assert leaked == restored > 0


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("ethernet", 18),
        ("esun", 22),
        ("sue", 50),
        ("sue_afh1", 22),
        ("sue_afh2", 22),
        ("sue_lite", 20),
        ("30 B", 30),
    ],
)
def test_headers_of_links_by_name(header: str, size: int) -> None:
    """A frame carries what its headers leave."""
    text = f"""
    [simulation]
    duration = "1 ms"
    [topology.star]
    hosts = 2
    rate = "100 Gb/s"
    phy = "none"
    [[transfers]]
    name = "t"
    from = "h0"
    to = "h1"
    sizes = "100 kB"
    arrivals = "once"
    frame = "306 B"
    header = "{header}"
    """
    row = ps.Scenario.from_toml(text).run().rows("transfers")[0]
    assert row["frames"] == -(-100_000 // (306 - size))


def test_a_header_that_is_neither_size_nor_name() -> None:
    """The message says what is accepted."""
    text = MANY.replace("over = { rdma", 'header = "ethernt"\n# over = { rdma')
    with pytest.raises(ps.ScenarioError, match="ethernt"):
        ps.Scenario.from_toml(text).check()
