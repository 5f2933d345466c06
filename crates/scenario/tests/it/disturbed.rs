//! Configured shares hold under any other load of the port, and at any rate. Values that are derived from the rate of a
//! link follow its changes.

use fabric::Simulation;
use measure::{Table, Values};
use proptest::prelude::*;
use scenario::load;

fn run(text: &str) -> Vec<Table> {
    let scenario = load(text, "disturbed.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let mut simulation = Simulation::new(&scenario.spec).unwrap_or_else(|why| panic!("{why}\n{text}"));
    simulation.run().unwrap_or_else(|why| panic!("{why}\n{text}"));
    simulation.tables()
}

/// Returns the bytes received by each flow, in order.
fn received(tables: &[Table]) -> Vec<f64> {
    let flows = tables.iter().find(|one| one.spec.name == "flows").expect("a table");
    match &flows.columns.iter().find(|one| one.spec.name == "bytes_delivered").expect("a column").values {
        Values::Integer(all) => all.iter().map(|&one| one as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// Other load of the link to `d`, in addition to frames of x and y.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Control {
    Nothing,
    /// The port sends pause frames, because `d` overloads a third host.
    PausesSent,
    /// The port is paused as a whole, because `d` processes frames slowly.
    PausesReceived,
    /// The port sends credit updates, because `d` sends frames.
    Updates,
}

/// Disturbance of the port to `d`, and the rates of its link.
#[derive(Clone, Copy, Debug)]
struct Disturbance {
    control: Control,
    /// The rate of the link in Gb/s before and after 100 us.
    rates: [u32; 2],
    /// True if the clock of the switch is off its nominal frequency.
    clock: bool,
    /// True if the port has a shaper in front of the scheduler.
    shaper: bool,
}

fn disturbance() -> impl Strategy<Value = Disturbance> {
    use Control::*;
    let control = prop_oneof![Just(Nothing), Just(PausesSent), Just(PausesReceived), Just(Updates)];
    let rates = prop_oneof![2 => Just([10, 10]), 1 => Just([1, 10]), 1 => Just([10, 1])];
    (control, rates, any::<bool>(), any::<bool>()).prop_map(|(control, rates, clock, shaper)| Disturbance {
        control,
        rates,
        clock,
        shaper,
    })
}

/// Returns a scenario with flows x and y, which always have frames of these lengths at the port from `sw` to `d`.
fn scenario(scheduler: &str, disturbance: Disturbance, lengths: [u32; 2]) -> String {
    use Control::*;
    let ([x, y], Disturbance { control, rates: [before, after], clock, shaper }) = (lengths, disturbance);
    let scheduler = if shaper {
        format!(
            "{{ shaper = {{ scheduler = {scheduler}, port = {{ leaky_bucket = {{ rate = {{ share = 0.33 }} }} }} }} }}"
        )
    } else {
        scheduler.to_string()
    };
    let clock = if clock { "clock_tolerance = \"100 ppm\"" } else { "" };
    let slow =
        if control == PausesReceived { "receive = { rate = \"600 Mb/s\", buffer = \"60 kB\" }" } else { "" };
    let fault = if before == after {
        String::new()
    } else {
        format!("[[faults]]\nlink = [\"sw\", \"d\"]\nat = \"100 us\"\nrate = \"{after} Gb/s\"")
    };
    let tables = match control {
        Nothing => "",
        PausesSent => {
            "[flow_control.pfc]\npriorities = [5]\nxoff = \"12 kB\"\nxon = \"9 kB\"\nheadroom = \"200 kB\""
        }
        PausesReceived => "[flow_control.pause]\nxoff = \"20 kB\"\nxon = \"15 kB\"",
        Updates => {
            "[flow_control.credit]\nbuffer = \"256 KiB\"\nupdate_after = \"1 B\"\nupdate_bytes = \"84 B\""
        }
    };
    let others = match control {
        PausesSent => {
            "[[flows]]\nname = \"p\"\nfrom = [\"d\", \"e\"]\nto = \"g\"\nsource = \"greedy\"\npriority = 5"
        }
        Updates => {
            "[[flows]]\nname = \"u\"\nfrom = \"d\"\nto = \"g\"\nframe = \"300 B\"\nsource = { constant = { rate = \"300 Mb/s\" } }\npriority = 5"
        }
        Nothing | PausesReceived => "",
    };
    format!(
        r#"
[simulation]
duration = "12 ms"
warmup = "2 ms"
seed = 7
[topology.explicit]
hosts = ["a", "b", "d", "e", "g"]
switches = ["sw"]
links = [
  {{ between = ["a", "sw"], rate = "40 Gb/s", delay = "500 ns", phy = "none" }},
  {{ between = ["b", "sw"], rate = "40 Gb/s", delay = "500 ns", phy = "none" }},
  {{ between = ["sw", "d"], rate = "{before} Gb/s", delay = "500 ns", phy = "none" }},
  {{ between = ["e", "sw"], rate = "10 Gb/s", delay = "500 ns", phy = "none" }},
  {{ between = ["sw", "g"], rate = "10 Gb/s", delay = "500 ns", phy = "none" }},
]
[switch]
queues = [0, 1, 1, 1, 1, 2, 2, 2]
scheduler = {scheduler}
{clock}
[hosts.d]
queues = [0, 1, 1, 1, 1, 2, 2, 2]
scheduler = {{ drr = {{}} }}
{slow}
{tables}
[[flows]]
name = "x"
from = "a"
to = "d"
frame = "{x} B"
source = {{ window = {{ size = "900 frames" }} }}
priority = 0
[[flows]]
name = "y"
from = "b"
to = "d"
frame = "{y} B"
source = {{ window = {{ size = "900 frames" }} }}
priority = 1
{others}
{fault}
"#
    )
}

/// Returns schedulers that give two classes shares of accounted bytes by these weights. The second value is the
/// tolerance of a share in bytes, because one round, or one frame of each class, may be incomplete.
fn schedulers(weights: [u32; 2], lengths: [u32; 2]) -> Vec<(String, f64)> {
    let [a, b] = weights;
    let longest = f64::from(lengths[0].max(lengths[1]) + 20);
    // Bytes in a round of quanta. Each quantum is the longest frame, times the weight of the class, over the smallest
    // weight, which is 1 for the third class.
    let round = longest * f64::from(a + b);
    let list = format!("weights = [{a}, {b}, 1]");
    let entries: Vec<String> =
        (0..64).map(|n| if n == 63 { 2 } else { u32::from(n % (a + b) >= a) }.to_string()).collect();
    let total = f64::from(a + b);
    let percent = (100.0 * f64::from(a) / total).round();
    vec![
        (format!("{{ wfq = {{ {list} }} }}"), 3.0 * longest),
        (format!("{{ wfq = {{ {list}, accounted_length = \"frame\" }} }}"), 3.0 * longest),
        (format!("{{ wf2q_plus = {{ {list}, accounted_length = \"wire\" }} }}"), 3.0 * longest),
        (format!("{{ scfq = {{ {list}, accounted_length = \"wire\" }} }}"), 3.0 * longest),
        (format!("{{ scfq_ca = {{ {list}, accounted_length = \"wire\" }} }}"), 3.0 * longest),
        (format!("{{ drr = {{ {list} }} }}"), 2.0 * round),
        (format!("{{ min_bw = {{ weights = [{a}, {b}, 0], accounted_length = \"wire\" }} }}"), 3.0 * longest),
        (
            format!(
                "{{ ets = {{ classes = [{{ queues = [0], percent = {percent} }}, {{ queues = [1], percent = {} }}, \
                 {{ queues = [2], strict = true }}] }} }}",
                100.0 - percent
            ),
            2.0 * longest * 100.0 / percent.min(100.0 - percent),
        ),
        (
            format!("{{ dtable = {{ entries = [{}], accounted_length = \"wire\" }} }}", entries.join(", ")),
            70.0 * 2200.0,
        ),
    ]
}

/// Returns the deviation of x's share from its configured value, in accounted bytes.
fn error(scheduler: &str, disturbance: Disturbance, weights: [u32; 2], lengths: [u32; 2]) -> f64 {
    let got = received(&run(&scenario(scheduler, disturbance, lengths)));
    let around = if scheduler.contains("\"frame\"") { 0.0 } else { 20.0 };
    let cells = scheduler.contains("dtable");
    let accounted = |at: usize| {
        let each = f64::from(lengths[at]) + around;
        let each = if cells { (each / 64.0).ceil() * 64.0 } else { each };
        got[at] / f64::from(lengths[at]) * each
    };
    let (x, y) = (accounted(0), accounted(1));
    let part = if scheduler.contains("ets") {
        (100.0 * f64::from(weights[0]) / f64::from(weights[0] + weights[1])).round() / 100.0
    } else if cells {
        let own = (0..63).filter(|n| n % (weights[0] + weights[1]) < weights[0]).count();
        own as f64 / 63.0
    } else {
        f64::from(weights[0]) / f64::from(weights[0] + weights[1])
    };
    assert!(x + y > 100e3, "{scheduler} {disturbance:?}: {got:?}");
    (x - part * (x + y)).abs()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn shares_of_backlogged_classes_hold_whatever_holds_up_the_port(
        weights in [1u32..6, 1u32..6], lengths in [300u32..1500, 300u32..1500], disturbance in disturbance(),
    ) {
        for (scheduler, allowed) in schedulers(weights, lengths) {
            let error = error(&scheduler, disturbance, weights, lengths);
            prop_assert!(error <= allowed, "{scheduler} {disturbance:?}: {error} B, {allowed} allowed");
        }
    }
}

/// A fabric with a value that is derived from the rate of the link between `end` and the switch.
struct Derived {
    name: &'static str,
    end: &'static str,
    /// Rate of the other links.
    others: &'static str,
    /// Tables in addition to the topology.
    text: &'static str,
    /// Tolerance between the bytes of flows, as a fraction of the total.
    apart: f64,
}

const GREEDY: &str = "[[flows]]\nname = \"x\"\nfrom = \"a\"\nto = \"d\"\nsource = \"greedy\"\n\
                      [[flows]]\nname = \"y\"\nfrom = \"b\"\nto = \"d\"\nsource = \"greedy\"\npriority = 1";
const BUFFERED: &str = "buffer = { queue = \"1 MB\" }\n";

/// All mechanisms with a value that is derived from a rate.
const DERIVED: &[Derived] = &[
    Derived {
        name: "min_bw",
        others: "10 Gb/s",
        end: "d",
        text: "scheduler = { min_bw = { weights = [1, 0], rate = { share = 0.25 }, use_idle_link = false } }",
        apart: 0.002,
    },
    Derived {
        name: "token bucket of a class",
        others: "10 Gb/s",
        end: "d",
        text: "scheduler = { shaper = { classes = [{ class = 1, token_bucket = { rate = { share = 0.3 }, depth = \"4 kB\" } }] } }",
        apart: 0.002,
    },
    Derived {
        name: "leaky bucket of the port",
        others: "10 Gb/s",
        end: "d",
        text: "scheduler = { shaper = { scheduler = { drr = { weights = [1, 3] } }, port = { leaky_bucket = { rate = { share = 0.6 } } } } }",
        apart: 0.002,
    },
    Derived {
        name: "idle slope",
        others: "10 Gb/s",
        end: "d",
        text: "scheduler = { ets = { classes = [{ queues = [0], percent = 100 }, { queues = [1], idle_slope = { share = 0.3 } }] } }",
        apart: 0.002,
    },
    Derived {
        name: "red",
        others: "10 Gb/s",
        end: "d",
        text: "queue_managers = [{ red = { weight = 0.02, min = \"10 frames\", max = \"12 frames\", gentle = false, mean_frame = \"1500 B\" } }]\n\
               [[flows]]\nname = \"x\"\nfrom = \"a\"\nto = \"d\"\nframe = \"1500 B\"\n\
               source = { threads = { rate = \"10 Gb/s\", burst = 40, delay = \"900 us\", random_phase = false } }",
        apart: 0.03,
    },
    Derived {
        name: "crossbar",
        others: "1 Gb/s",
        end: "d",
        text: "queueing = { crossbar = { speedup = 1.0 } }",
        apart: 0.01,
    },
    Derived {
        name: "qcn",
        others: "10 Gb/s",
        end: "a",
        text: "queue_managers = [{ qcn = {} }]\n[host]\nrate_limiters = { qcn = { byte_reset = \"30 kB\", time_reset = \"500 us\" } }",
        // The rates of two sources at one congestion point diverge and converge over seconds. At its old rate, the link
        // would carry a tenth.
        apart: 0.2,
    },
    Derived {
        name: "bcn",
        // A single source, because BCN starves one of two sources.
        others: "5 Gb/s",
        end: "a",
        text: "queue_managers = [{ bcn = {} }]\n[host]\nrate_limiters = { bcn = {} }\n\
               [[flows]]\nname = \"x\"\nfrom = \"a\"\nto = \"d\"\nsource = \"greedy\"",
        apart: 0.03,
    },
    Derived {
        name: "fecn",
        others: "10 Gb/s",
        end: "a",
        text: "queue_managers = [{ fecn = {} }]\n[host]\nrate_limiters = { fecn = {} }",
        apart: 0.03,
    },
    Derived {
        name: "prc",
        others: "10 Gb/s",
        end: "a",
        text: "queue_managers = [{ prc = {} }]\n[host]\nrate_limiters = { prc = {} }",
        apart: 0.06,
    },
    Derived {
        name: "prc by messages",
        others: "10 Gb/s",
        end: "a",
        text: "queue_managers = [{ prc = { messages = true } }]\n[host]\nrate_limiters = { prc = { method = \"messages\" } }",
        apart: 0.06,
    },
    Derived {
        name: "prc by round trips",
        others: "10 Gb/s",
        end: "a",
        text: "[host]\nrate_limiters = { prc = { method = \"round_trip\" } }",
        // The minimum round trip remains that of the slow link, because queues are not empty when the path is probed
        // again.
        apart: 0.15,
    },
    Derived {
        name: "fecn at the bottleneck",
        others: "10 Gb/s",
        end: "d",
        text: "queue_managers = [{ fecn = {} }]\n[host]\nrate_limiters = { fecn = {} }",
        apart: 0.03,
    },
    Derived {
        name: "prc at the bottleneck",
        others: "10 Gb/s",
        end: "d",
        text: "queue_managers = [{ prc = {} }]\n[host]\nrate_limiters = { prc = {} }",
        apart: 0.06,
    },
    Derived {
        name: "bernoulli",
        others: "10 Gb/s",
        end: "a",
        text: "[[flows]]\nname = \"x\"\nfrom = \"a\"\nto = \"d\"\nsource = { bernoulli = { rate = \"500 Mb/s\" } }",
        apart: 0.03,
    },
];

impl Derived {
    /// Returns the throughput of each flow from 60 ms on, if the link has `rate` from the beginning or from 1 ms on.
    fn get(&self, before: &str, rate: &str) -> Vec<f64> {
        let of = |end: &str| if end == self.end { before } else { self.others };
        let flows = if self.text.contains("[[flows]]") { "" } else { GREEDY };
        // Flows that a congestion point slows down share a queue.
        let classes =
            if self.text.contains("rate_limiters") { "\"shared\"" } else { "[0, 1, 1, 1, 1, 1, 1, 1]" };
        let buffer = if self.text.contains("red") || self.text.contains("crossbar") { "" } else { BUFFERED };
        let fault = if before == rate {
            String::new()
        } else {
            format!("[[faults]]\nlink = [\"{}\", \"sw\"]\nat = \"1 ms\"\nrate = \"{rate}\"", self.end)
        };
        received(&run(&format!(
            "[simulation]\nduration = \"160 ms\"\nwarmup = \"60 ms\"\n[topology.explicit]\nhosts = [\"a\", \"b\", \"d\"]\n\
             switches = [\"sw\"]\nlinks = [{}]\n[switch]\nqueues = {classes}\n{buffer}{}\n{flows}\n{fault}\n",
            ["a", "b", "d"]
                .map(|end| format!(
                    "{{ between = [\"{end}\", \"sw\"], rate = \"{}\", delay = \"1 us\", phy = \"none\" }}",
                    of(end)
                ))
                .join(", "),
            self.text
        )))
    }
}

#[test]
fn what_is_derived_from_a_rate_follows_it() {
    let mut wrong = Vec::new();
    for derived in DERIVED {
        for (before, after) in [("1 Gb/s", "10 Gb/s"), ("10 Gb/s", "1 Gb/s")] {
            let (changed, always) = (derived.get(before, after), derived.get(after, after));
            let all: f64 = always.iter().sum();
            let apart = changed.iter().zip(&always).map(|(a, b)| (a - b).abs() / all).fold(0.0, f64::max);
            if apart > derived.apart {
                wrong.push(format!("{} {before} -> {after}: {changed:?} for {always:?}", derived.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
