//! Scenarios that must load, and what they become.

use scenario::{Scenario, load};

fn loaded(text: &str) -> Scenario {
    load(text, "first-light.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

const STAR: &str = r#"
[simulation]
duration = "10 ms"
[topology.star]
hosts = 4
rate = "10 Gb/s"
delay = "1 us"
[flow_control.pfc]
[[flows]]
name = "incast"
from = "all"
to = "h0"
priority = 3
source = { constant = { rate = "2.5 Gb/s" } }
"#;

#[test]
fn a_star() {
    let scenario = loaded(STAR);
    assert_eq!(scenario.name, "first-light");
    let names: Vec<&str> = scenario.spec.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["incast[h1]", "incast[h2]", "incast[h3]"]);
}
