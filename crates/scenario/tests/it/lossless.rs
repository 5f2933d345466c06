//! A scenario that `check` accepts can be run, and no lossless frame is lost with computed or accepted thresholds.

use fabric::{Simulation, pause_needs};
use proptest::prelude::*;
use scenario::{Scenario, load};

fn accepted(text: &str) -> Scenario {
    load(text, "lossless.toml", None).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn refused(text: &str) -> String {
    match load(text, "lossless.toml", None) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(why) => why.to_string(),
    }
}

/// Runs to the end. Returns the number of pauses sent and of frames lost.
fn run(scenario: &Scenario) -> Result<(f64, f64), String> {
    let mut simulation = Simulation::new(&scenario.spec).map_err(|why| why.to_string())?;
    simulation.run().map_err(|why| why.to_string())?;
    let tables = simulation.tables();
    let sum = |table: &str, column: &str| {
        let table = tables.iter().find(|one| one.spec.name == table).expect("the table exists");
        let column = table.columns.iter().find(|one| one.spec.name == column).expect("the column exists");
        match &column.values {
            measure::Values::Integer(values) => values.iter().sum::<u64>() as f64,
            _ => panic!("a count"),
        }
    };
    Ok((sum("ports", "pauses_sent"), sum("flows", "frames_dropped")))
}

/// A random scenario, as text except for the values derived from it.
#[derive(Clone, Debug)]
struct Case {
    topology: String,
    last: &'static str,
    gbps: u64,
    pause: bool,
    own_response: Option<u64>,
    host_response: Option<u64>,
    switch: String,
    host: String,
    sizes: &'static str,
    longest: u64,
    /// Fraction of the rate at which the receiving host processes frames; `None` for all of it.
    receive_share: Option<u64>,
    /// Quanta above the minimum that works; `None` for the maximum.
    more_quanta: Option<u64>,
    /// XOFF watermark; `None` for computed watermarks and headroom.
    xoff: Option<u64>,
}

impl Case {
    fn control(&self, quanta: Option<u64>, response: Option<u64>, headroom: Option<u64>) -> String {
        let kind = if self.pause { "pause" } else { "pfc" };
        let mut text = format!("flow_control.{kind}]\n");
        if let Some(quanta) = quanta {
            text += &format!("pause_quanta = {quanta}\n");
        }
        if let Some(response) = response {
            text += &format!("response_time = \"{response} ns\"\n");
        }
        if let Some((headroom, xoff)) = headroom.zip(self.xoff) {
            text += &format!("xoff = \"{xoff} B\"\nxon = \"{} B\"\nheadroom = \"{headroom} B\"\n", xoff / 2);
        }
        text
    }

    fn text(&self, quanta: Option<u64>, buffer: u64, headroom: Option<u64>, duration_ns: u64) -> String {
        let mut text = format!("[simulation]\nduration = \"{duration_ns} ns\"\n[probes]\nbin = \"off\"\n");
        text += &self.topology;
        text += &format!("[{}", self.control(quanta, self.own_response, headroom));
        if let Some(response) = self.host_response {
            text += &format!("[host.{}", self.control(None, Some(response), None));
        }
        text += &format!("[switch]\n{}[host]\n{}", self.switch, self.host);
        if let Some(share) = self.receive_share {
            let kbps = self.gbps * 1_000_000 * share / 100;
            text += &format!("[host.receive]\nrate = \"{kbps} kb/s\"\nbuffer = \"{buffer} B\"\n");
        }
        // All hosts send to one, in two priorities; frames in the reverse direction delay pause frames.
        for (name, from, to, priority) in [
            ("incast", "\"all\"", self.last, 3),
            ("beside", "\"all\"", self.last, 0),
            ("back", self.last, "\"all\"", 3),
        ] {
            text += &format!(
                "[[flows]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\npriority = {priority}\nsource = \"greedy\"\nframe = {}\n",
                self.sizes
            );
        }
        text
    }
}

fn case() -> impl Strategy<Value = Case> {
    let topology = (
        0u8..4,
        prop::sample::select(vec![1u64, 10, 25, 40, 100, 400]),
        prop::sample::select(vec![2u64, 100, 1_000]),
        prop::sample::select(vec![
            "phy = \"none\"\n",
            "phy = \"none\"\n",
            "",
            "phy = \"slowest\"\n",
            "line_code = \"8b/10b\"\n",
            "line_code = \"64b/66b\"\n",
            "line_code = \"128b/130b\"\n",
        ]),
    );
    let response = || prop_oneof![Just(None), (0u64..20_000).prop_map(Some)];
    let control = (any::<bool>(), response(), response());
    let stations = (
        prop::sample::select(vec![
            "",
            "forwarding = \"cut_through\"\n",
            "queueing = \"virtual_output\"\n",
            "latency = \"700 ns\"\n",
            "queues = \"shared\"\n",
        ]),
        prop::sample::select(vec!["", "queues = \"shared\"\n", "queue_limit = \"9 frames\"\n"]),
        prop::sample::select(vec![
            ("\"64 B\"", 64),
            ("\"1522 B\"", 1522),
            ("\"imix\"", 1518),
            ("{ uniform = { min = \"64 B\", max = \"3000 B\" } }", 3000),
            ("\"9216 B\"", 9216),
            ("\"1 B\"", 1),
            ("{ uniform = { min = \"1 B\", max = \"100 B\" } }", 100),
        ]),
        prop_oneof![Just(None), (5u64..60).prop_map(Some)],
        prop_oneof![2 => (0u64..30).prop_map(Some), 1 => (0u64..2_000).prop_map(Some), 1 => Just(None)],
        prop_oneof![2 => Just(None), 1 => (1u64..20_000).prop_map(Some)],
    );
    (topology, control, stations).prop_map(
        |(
            (shape, gbps, metres, more),
            (pause, own_response, host_response),
            (switch, host, (sizes, longest), receive_share, more_quanta, xoff),
        )| {
            let more = if gbps == 1 && more.starts_with("phy") { "" } else { more };
            let link = format!("rate = \"{gbps} Gb/s\"\nlength = \"{metres} m\"\n{more}");
            let (topology, last) = match shape {
                0 => (format!("[topology.star]\nhosts = 4\n{link}"), "\"h0\""),
                1 => (format!("[topology.chain]\nswitches = 3\nhosts_per_switch = 1\n{link}"), "\"h2.0\""),
                2 => (
                    format!("[topology.leaf_spine]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n{link}"),
                    "\"h0\"",
                ),
                _ => {
                    let mut text = "[topology.explicit]\nhosts = [\"a\", \"b\", \"c\"]\nswitches = [\"s\"]\n"
                        .to_string();
                    for host in ["a", "b", "c"] {
                        text += &format!(
                            "[[topology.explicit.links]]\nbetween = [\"{host}\", \"s\"]\ncount = 2\n{link}"
                        );
                    }
                    (text, "\"a\"")
                }
            };
            let (switch, host) = (switch.to_string(), host.to_string());
            let xoff = xoff.map(|xoff| xoff + longest);
            Case {
                topology,
                last,
                gbps,
                pause,
                own_response,
                host_response,
                switch,
                host,
                sizes,
                longest,
                receive_share,
                more_quanta,
                xoff,
            }
        },
    )
}

fn cases(default: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(24), ..ProptestConfig::default() })]

    #[test]
    fn what_is_accepted_runs_and_loses_nothing(case in case()) {
        // Used to compute what the links require.
        let draft = Case { xoff: None, ..case.clone() };
        let draft = accepted(&draft.text(None, 1 << 24, None, 1_000));
        let needs = pause_needs(&draft.spec);
        let is_host = |node: frame::NodeId| matches!(draft.spec.nodes[node.at()].role, fabric::spec::Role::Host(_));
        let most = |hosts: bool| {
            let own = needs.iter().filter(|need| is_host(need.node) == hosts);
            own.map(|need| need.room.get()).max().unwrap_or(0)
        };
        let least = needs.iter().map(|need| need.least_quanta).max().unwrap_or(1);
        let total = needs.iter().map(|need| need.delay.time().ps()).max().unwrap_or(0);
        // Long enough to reach all levels on the path, and for some refreshes.
        let frame_ps = (case.longest + 20) * 10 * 1_000 / case.gbps;
        let duration_ns = (total * 12 + frame_ps * 40) / 1_000 + 1_000;
        let quanta = case.more_quanta.map(|more| least + more).filter(|&quanta| quanta <= 65_535);
        let (buffer, headroom) = (most(true) + case.longest, Some(most(false)));
        let text = case.text(quanta, buffer, headroom, duration_ns);
        let scenario = accepted(&text);
        prop_assert!(scenario.warnings.iter().all(|one| !one.help.contains("can be lost")), "{:?}\n{}", scenario.warnings, text);
        match run(&scenario) {
            Ok((_, lost)) => prop_assert_eq!(lost, 0.0),
            Err(why) => prop_assert!(false, "{}\n{}", why, text),
        }
        // A value that is one lower is rejected, and the proposed value is the minimum that is accepted.
        if quanta.is_some() && least > 1 {
            let why = refused(&case.text(Some(least - 1), buffer, headroom, duration_ns));
            let proposed = format!("pause_quanta of at least {least}");
            prop_assert!(why.contains(&proposed), "{} is not in {}", proposed, why);
        }
        if case.receive_share.is_some() {
            let why = refused(&case.text(quanta, buffer - 1, headroom, duration_ns));
            prop_assert!(why.contains(&format!("\"{}\"", units::Bytes::new(buffer))), "{}", why);
        }
        if case.xoff.is_some() {
            let why = refused(&case.text(quanta, buffer, headroom.map(|room| room - 1), duration_ns));
            prop_assert!(why.contains("less than the bytes in flight"), "{}", why);
        }
    }
}

const SHORT_PAUSES: &str = r#"
[simulation]
duration = "1 ms"
[topology.star]
hosts = 3
rate = "100 Gb/s"
length = "100 m"
phy = "none"
[flow_control.pfc]
pause_quanta = QUANTA
[host.receive]
rate = "5 Gb/s"
[[flows]]
name = "f"
from = ["h1", "h2"]
to = "h0"
priority = 3
source = "greedy"
"#;

#[test]
fn short_pauses_are_refused_or_work() {
    // A response time of 394 quanta; 1542 B and three times 84 B are 28.03 quanta.
    let text = |quanta: u32| SHORT_PAUSES.replace("QUANTA", &quanta.to_string());
    let why = refused(&text(394));
    assert!(why.contains("obeys it, which takes 2.01728 us") && why.contains("at least 423"), "{why}");
    let why = refused(&text(422));
    assert!(why.contains("before a renewal can take effect") && why.contains("at least 423"), "{why}");
    for quanta in [423, 500, 700, 788, 789, 65_535] {
        let (pauses, lost) = run(&accepted(&text(quanta))).unwrap_or_else(|why| panic!("{quanta}: {why}"));
        assert!(pauses > 0.0 && lost == 0.0, "{quanta}: {pauses} pauses, {lost} lost");
    }
    // A run that counts losses accepts any value.
    let counted = text(100).replace("[simulation]", "[simulation]\non_lossless_drop = \"count\"");
    let scenario = accepted(&counted);
    assert!(scenario.warnings[0].message.contains("a pause of 100 quanta (512 ns) from"));
    assert!(run(&scenario).unwrap().1 > 0.0);
}

#[test]
fn the_headroom_is_for_the_response_of_the_peer() {
    let text = |headroom: u32| {
        format!(
            r#"
[simulation]
duration = "3 ms"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[flow_control.pfc]
priorities = [0]
xoff = "100 KiB"
xon = "50 KiB"
headroom = "{headroom} B"
[host.flow_control.pfc]
priorities = [0]
response_time = "100 us"
[[flows]]
name = "f"
from = ["h0", "h1"]
to = "h2"
source = "greedy"
"#
        )
    };
    // 2 · 1542 B, 84 B, twice 10 ns of cable (200 bits) and 100 us (125000 B); and 1521 B for the frame that crosses.
    let needed = 3_084 + 84 + 25 + 125_000 + 1_521;
    for less in [20 * 1024, needed - 1] {
        let why = refused(&text(less));
        assert!(why.contains("less than the bytes in flight on a link of \"sw\""), "{why}");
        assert!(why.contains(&format!("\"{needed} B\"")), "{why}");
    }
    let (pauses, lost) = run(&accepted(&text(needed))).unwrap();
    assert!(pauses > 0.0 && lost == 0.0);
}

#[test]
fn a_phy_is_a_delay_and_a_response() {
    let text = |link: &str| {
        format!(
            "[simulation]\nduration = \"1 ms\"\n[topology.leaf_spine]\nleaves = 2\nspines = 1\nhosts_per_leaf = 1\n\
             rate = \"10 Gb/s\"\nlength = \"2 m\"\n{link}\n[flow_control.pfc]\n[[flows]]\nname = \"f\"\n\
             from = \"h0\"\nto = \"h1\"\nsource = \"greedy\"\n"
        )
    };
    let links = |link: &str| accepted(&text(link)).spec.links;
    // 12,288 bit times at 10 Gb/s, in addition to 10 ns of cable.
    let named = links("phy = \"10GBASE-R\"");
    assert!(named.iter().all(|link| link.delay.ps() == 10_000 + 1_228_800 && link.response_time.is_none()));
    // Each link at its own rate: 33,792 bit times at 10 Gb/s, 194,048 at 100 Gb/s. 10GBASE-T has a response time of its
    // own.
    let slowest = links("phy = \"slowest\"\nuplink_rate = \"100 Gb/s\"");
    let delays: Vec<u64> = slowest.iter().map(|link| link.delay.ps() - 10_000).collect();
    assert_eq!(delays.iter().filter(|&&delay| delay == 3_379_200).count(), 2, "{delays:?}");
    assert_eq!(delays.iter().filter(|&&delay| delay == 1_940_480).count(), 2, "{delays:?}");
    let response = slowest.iter().filter_map(|link| link.response_time);
    assert_eq!(response.map(|time| time.ps()).collect::<Vec<_>>(), [3_788_800; 2]);
    // The effective scenario keeps the PHY.
    let scenario = accepted(&text("phy = \"10GBASE-T\""));
    let again = accepted(&scenario.effective_toml());
    assert_eq!(format!("{:?}", scenario.spec), format!("{:?}", again.spec));
    let need = pause_needs(&scenario.spec)[0];
    assert_eq!(need.response.ps(), 3_788_800);
}

#[test]
fn a_link_that_gets_faster_has_room_for_what_its_slow_frames_let_in() {
    // A frame of maximum length is being sent in the reverse direction at 10 Gb/s when the link changes to 100 Gb/s.
    // The pause frame waits for it ten times as long as it would at the new rate, at which frames arrive.
    let text = |at: u64| {
        format!(
            r#"
[simulation]
duration = "100 us"
[probes]
bin = "off"
[topology.star]
hosts = 3
rate = "10 Gb/s"
phy = "none"
[flow_control.pfc]
response_time = "0 s"
[[faults]]
link = ["h1", "sw"]
rate = "100 Gb/s"
at = "{at} ns"
[[flows]]
name = "f"
from = ["h1", "h2"]
to = "h0"
frame = "1522 B"
source = "greedy"
[[flows]]
name = "back"
from = "h0"
to = "h1"
frame = "9216 B"
source = "greedy"
"#
        )
    };
    for at in (8_000..90_000).step_by(500) {
        let (_, lost) = run(&accepted(&text(at))).unwrap_or_else(|why| panic!("{at}: {why}"));
        assert_eq!(lost, 0.0, "{at}");
    }
}
