//! No input makes the loader panic, and every diagnostic is positioned within the text.

use proptest::prelude::*;
use scenario::{Diagnostic, load, load_bytes};

const VALID: &str = r#"[simulation]
duration = "10 ms"
warmup = "1 ms"
[probes]
bin = "10 us"
[topology.leaf_spine]
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "10 Gb/s"
length = "300 m"
phy = "none"
[hosts.h1]
queues = [0, 0, 0, 1, 0, 0, 0, 0]
[switch]
forwarding = "cut_through"
path_choice = { flowlet = { gap = "5 us", entries = 64 } }
clock_tolerance = "100 ppm"
queue_managers = [{ classes = [1], red = { min = "5 frames", max = "15 frames" } }, { step = { threshold = "9 frames" } }]
[switch.buffer]
queue = "100 frames"
total = "12 MB"
dynamic_threshold = { alpha = 0.5, headroom = "1 MB", minimum = "1 KiB" }
[switch.scheduler.shaper.scheduler.drr]
weights = [1, 1, 1, 2, 1, 1, 1, 4]
[switch.scheduler.shaper.port.token_bucket]
rate = { share = 0.5 }
depth = "4 KiB"
[flow_control.pfc]
accounting = "egress"
xoff = "66 frames"
xon = "11 frames"
target = { method = "fair_bandwidth", watermark = "55 frames" }
[[flows]]
name = "µ"
from = "h*"
to = { hot_spot = { host = "h3", share = 0.25 } }
frame = { bimodal = { small = "64 B", large = "1522 B", small_share = 0.5 } }
source = { on_off = { peak = "1 Gb/s", on = { exponential = "10 us" }, off = { pareto = { mean = "1 ms", shape = 1.5 } } } }
script = [{ at = "2 ms", stop = true }, { at = "3 ms", start = true, rate = "2 Gb/s" }]
[[flows]]
name = "w"
from = "h0"
to = "h2"
source = { window = { size = "8 frames", ack_every = 2, timeout = "1 ms", ecn = true } }
[[flows]]
name = "r"
from = "h1"
to = "h3"
source = { request_response = { request = "64 B", response = "4 KiB", outstanding = 4, think = { exponential = "10 us" } } }
[[flows]]
name = "c"
from = "h1"
to = "h3"
source = { conversation = { messages = { iscsi_write = { block = "512 KiB" } }, outstanding = 2, service = "20 us", tcp = { preset = "linux" } } }
[[flows]]
name = "m"
from = ["h0", "h1", "h2"]
to = { permutation = { shift = 1 } }
source = { mpi_exchange = { message = "100 KiB", ranks = 2, steps = 20, tcp = { preset = "linux" } } }
[[flows]]
name = "s"
from = "h1"
to = "h3"
frame = "2180 B"
source = { fcoe = { operation = "write", max_burst = "64 KiB", outstanding = 8, service = "20 us", ulp_tov = "10 ms", requires_lossless = false } }
[[flows]]
name = "b"
from = ["h0", "h1"]
to = "h2"
source = "greedy"
route = ["leaf0", "spine1", "leaf1", "h2"]
"#;

fn inside(text: &str, one: &Diagnostic) -> Result<(), TestCaseError> {
    prop_assert!(!one.message.is_empty());
    for word in format!("{} {}", one.message, one.help).split(|letter: char| !letter.is_alphanumeric()) {
        let is_type =
            ["u8", "u16", "u32", "u64", "usize", "i32", "i64", "f64", "struct", "enum"].contains(&word);
        prop_assert!(!is_type || text.contains(word), "a type of Rust in {:?}: {:?}", one.message, one.help);
    }
    prop_assert!(!one.render(false).is_empty() && !one.render(true).is_empty());
    let line = text.split('\n').nth(one.line.wrapping_sub(1));
    prop_assert!(line.is_some(), "line {} of {text:?}", one.line);
    let columns = line.unwrap_or_default().chars().count() + 1;
    prop_assert!((1..=columns).contains(&one.column), "column {} of {:?}: {}", one.column, line, one.message);
    Ok(())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    match load(text, "x.toml", None) {
        Ok(scenario) => {
            for warning in &scenario.warnings {
                inside(text, warning)?;
            }
            let again = load(&scenario.effective_toml(), "y.toml", None);
            prop_assert!(again.is_ok(), "{}", again.unwrap_err());
        }
        Err(why) => {
            prop_assert!(why.errors().next().is_some());
            for one in &why.0 {
                inside(text, one)?;
            }
        }
    }
    Ok(())
}

#[test]
fn the_unchanged_scenario_loads() {
    assert!(load(VALID, "x.toml", None).is_ok());
}

/// Returns a text with typing errors.
fn mutated(edits: &[(usize, usize, String)]) -> String {
    let mut text: Vec<char> = VALID.chars().collect();
    for (at, len, new) in edits {
        let at = at % text.len().max(1);
        let end = (at + len).min(text.len());
        text.splice(at..end, new.chars());
    }
    text.into_iter().collect()
}

/// Generates tokens that often change the meaning without breaking the syntax.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,20}",
        "\\PC{0,4}",
        prop::sample::select(vec![
            "\"",
            "[",
            "]",
            "{",
            "}",
            "=",
            "\n",
            ".",
            "-",
            "nan",
            "inf",
            "true",
            "0",
            "*",
            "all",
            "h0",
            "\"0 s\"",
            "18446744073709551615",
            "[[flows]]\n",
            "\r",
            "\u{7f}",
            "\u{feff}",
            "#",
            "'''",
        ])
        .prop_map(str::to_string),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn slips_of_the_hand(edits in prop::collection::vec((0usize..2700, 0usize..6, token()), 1..4)) {
        check(&mutated(&edits))?;
    }

    #[test]
    fn other_values(line in 0usize..50, value in token(), quoted in any::<bool>()) {
        let value = if quoted { format!("\"{}\"", value.replace(['"', '\\', '\n'], "")) } else { value };
        let lines: Vec<String> = VALID
            .lines()
            .enumerate()
            .map(|(i, old)| match old.split_once(" = ") {
                Some((key, _)) if i == line => format!("{key} = {value}"),
                _ => old.to_string(),
            })
            .collect();
        check(&lines.join("\n"))?;
    }

    #[test]
    fn missing_and_repeated_lines(from in 0usize..50, len in 0usize..3, to in 0usize..50) {
        let mut lines: Vec<&str> = VALID.lines().collect();
        let moved: Vec<&str> = lines.drain(from.min(lines.len())..(from + len).min(lines.len())).collect();
        lines.splice(to.min(lines.len())..to.min(lines.len()), moved);
        check(&lines.join("\n"))?;
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = load_bytes(&bytes, "x.toml", None).map_err(|why| (why.render(true), why.to_json()));
    }

    #[test]
    fn any_text(text in "\\PC{0,100}") {
        check(&text)?;
    }
}
